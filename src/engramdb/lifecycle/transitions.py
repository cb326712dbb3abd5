"""
Every change of a memory: the only module that writes memory rows.

A change writes the row, its history and audit events, the indexes that its status belongs to, its links and
what dreams derived from it, all in the caller's transaction. Capture, dreams, aging, imports, documents, the
notebook and the verbs call it; a test looks for writes elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from engramdb.errors import StatementForgotten, StatusNotAllowed
from engramdb.lifecycle.questions import question_of_link
from engramdb.lifecycle.recorded import differences
from engramdb.store.contract import Transaction, WithdrawnWords
from engramdb.text.identity import FORGOTTEN_WORDS, fingerprint_of
from engramdb.text.normalize import normalize_text
from engramdb.text.terms import repeats
from engramdb.values import (
    BELIEVED,
    Action,
    Actor,
    ActorKind,
    AuditEvent,
    Edge,
    EdgeType,
    EmbedderIdentity,
    HistoryEvent,
    Layer,
    Memory,
    MemoryId,
    Scope,
    SecurityTier,
    Status,
    TurnId,
    check_move,
    new_id,
)
from engramdb.vault.indexing import index_terms
from engramdb.vault.masking import mask_reason

if TYPE_CHECKING:  # a pin or a forget needs no arrays
    import numpy as np
    from numpy.typing import NDArray

SOURCE_FORGOTTEN = "something that it was made of was forgotten"
SOURCE_UNDONE = "something that it was made of no longer holds"
WITHDRAWING = Actor(name="forgetting", kind=ActorKind.RULE)
UNDOING = frozenset({Status.SUPERSEDED, Status.INVALIDATED})
"""Statuses that say a memory does not hold: what was derived from it does not hold either."""
DISPUTING = (EdgeType.CONTRADICTS, EdgeType.DOUBTS)
"""Links from a memory to what is challenged because of it."""
WITHDRAWN = frozenset({Status.INVALIDATED, Status.FORGOTTEN, Status.PRUNED})
"""Statuses of what never held or must not count: it disputes nothing any more."""
UNDISPUTED = "what disputed it no longer counts"
INHERIT_CONFIDENCE = 0.2
"""The share of the superseded statement's confidence that its successor is given."""


def ended_at(old: Memory, new: Memory) -> datetime:
    """Return until when a memory held that another supersedes: until that begins, never before itself."""
    until = max(old.holds_from, new.holds_from)
    return until if old.valid_to is None else min(until, old.valid_to)


def inherited(new: Memory, old: Memory) -> dict[str, Any]:
    """Return what a memory takes over from the one that it supersedes, where something contradicts."""
    return {
        "confidence": max(
            new.confidence,
            min(new.provenance.max_confidence, new.confidence + INHERIT_CONFIDENCE * old.confidence),
        ),
        "importance": max(new.importance, old.importance),
        "supersedes": new.supersedes or old.id,
        "version": max(new.version, old.version + 1),
    }


def _say_same(one: Memory, other: Memory) -> bool:
    """Return whether two memories are one, or claim the same of the same."""
    is_claim = one.predicate is not None and one.object is not None and one.is_negated == other.is_negated
    mine, theirs = ((it.subject, it.predicate, it.object) for it in (one, other))
    is_same_claim = is_claim and normalize_text(str(mine)) == normalize_text(str(theirs))
    return one.id == other.id or is_same_claim or normalize_text(one.told) == normalize_text(other.told)


MIN_QUOTED_WORDS = 2
"""A single word stands in too many sentences to say whose it is."""
CONTEXT_FORGOTTEN = "what it leaned on was forgotten"


def _unless_repeated(words: str | None, gone: str, *, is_retold: bool) -> str | None:
    """Return words unless they hold, or are part of, what is gone, or ask about it in other words."""
    return FORGOTTEN_WORDS if repeats(words or "", gone, is_retold=is_retold) else words


class MemoryWriter(Struct, frozen=True):
    """Changes memories inside one transaction, in the name of one actor, at one moment."""

    tx: Transaction
    actor: Actor
    now: datetime

    def create(
        self,
        memory: Memory,
        *,
        fingerprint: bytes,
        action: Action = Action.REMEMBER,
        reason: str = "",
        names: Sequence[str] = (),
        is_enriched: bool = True,
        is_judged: bool = True,
        is_introduced: bool = True,
    ) -> int:
        """
        Store a new memory with its terms and entities, and return its key.

        One that is not enriched or judged yet waits for `enrich_pending` and `judge_pending`. Vectors are put
        by `embed`, many at once.
        """
        key = self.tx.memories.add(memory, fingerprint=fingerprint)
        if not is_judged:
            self.tx.memories.mark_judged(key, is_judged=False)
        self.tx.terms.put(key, index_terms(memory))
        self._history(memory, action, reason=reason, new_status=memory.status)
        self._audit(memory, action, reason)
        if is_enriched:
            self.tx.memories.mark_enriched(key)
            if is_introduced:
                self._introduce(memory, names)
        return key

    def embed(self, identity: EmbedderIdentity, keys: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Store the vectors of memories."""
        self.tx.vectors.put(self.tx.vectors.make_space(identity), list(keys), vectors)

    def enrich(self, key: int, memory: Memory) -> None:
        """Store what was inferred from the words of a memory; no change of what it says, so no history."""
        self.tx.memories.replace(memory)
        self.tx.memories.mark_enriched(key)
        self.tx.terms.put(key, index_terms(memory))
        if memory.security is SecurityTier.CONFIDENTIAL:
            self.tx.vectors.remove(key)  # it may be of the whole words; made anew of the others
        self._introduce(memory)

    def refile(self, old: Memory, new: Memory, *, reason: str) -> None:
        """File a memory otherwise; what it says and when that last changed stay, so aging does not notice."""
        self.tx.memories.replace(new)
        if any(getattr(old, name) != getattr(new, name) for name in ("layer", "type", "kind", "category")):
            self._note(old, new, Action.RELABEL, reason)

    def update(self, old: Memory, action: Action, *, reason: str = "", **changes: Any) -> Memory:
        """Change fields of a memory that leave its status; where nothing changes, nothing is noted."""
        new = old.evolve(**changes)
        if new == old:
            return old
        return self.write(old, new.evolve(updated_at=self.now), action=action, reason=reason)

    def set_status(self, memory: Memory, status: Status, *, action: Action, reason: str) -> Memory:
        """Move a memory to another status; raises `StatusNotAllowed` where this actor may not."""
        check_move(memory.status, status, actor=self.actor, reason=reason)
        if status is Status.ERASED:
            return self.erase(memory, reason=reason)
        changes: dict[str, Any] = {"status": status, "updated_at": self.now}
        if status is Status.ACTIVE:
            self.refuse_active_twin(memory)
            changes |= self._brought_back(memory)
        return self.write(memory, memory.evolve(**changes), action=action, reason=reason)

    def forget(self, memory: Memory, *, reason: str, action: Action = Action.FORGET) -> Memory:
        """
        Take a memory out because somebody wishes so: what it says comes back by the person alone.

        What a rule takes out may come back.
        """
        gone = self.set_status(memory, Status.FORGOTTEN, action=action, reason=reason)
        if self.actor.kind is not ActorKind.RULE:
            self._keep_away(gone)
        return gone

    def _keep_away(self, memory: Memory) -> None:
        """Keep what a memory says from coming back, in the wordings of what was merged into it too."""
        for one in self._stood_for(memory):
            self.tx.forgotten.add(one.id, scope=one.scope, at=self.now, since=new_id(self.now))

    def supersede(
        self,
        old: Memory,
        new: Memory,
        *,
        reason: str,
        action: Action = Action.SUPERSEDE,
        until: datetime | None = None,
    ) -> Memory:
        """
        Let a stored memory take the place of another from the moment that it holds; return the other one.

        What the other one had superseded ends there too, if it lasted longer; `until` says that something
        else ended it. Raises `EdgeNotAllowed` where that would close a circle.
        """
        self.link(new, old, EdgeType.SUPERSEDES)
        until = until or ended_at(old, new)
        gone = old.evolve(status=Status.SUPERSEDED, superseded_by=new.id, valid_to=until, updated_at=self.now)
        reason = self.open_reason(reason, old, new)
        self._pass_on_disputes(old, new)
        self.write(old, gone, action=action, reason=reason)
        self.end_earlier(gone, new.holds_from)
        return gone

    def end_earlier(self, memory: Memory, at: datetime) -> None:
        """End what a memory had superseded, and what that had, at a moment, where it lasted longer."""
        waiting = self.superseded_by(memory)
        while waiting:
            one = waiting.pop()
            if one.valid_to is not None and one.valid_to <= at:
                continue  # and so has whatever stands before it
            one = self.update(one, Action.LINK, valid_to=max(at, one.holds_from))
            waiting += self.superseded_by(one)

    def superseded_by(self, memory: Memory) -> list[Memory]:
        """Return what a memory took the place of, as far as it can still be found."""
        taken = [
            self.tx.memories.get(edge.target, scope=memory.scope)
            for edge in self.tx.edges.of(memory.id)
            if edge.source == memory.id and edge.type is EdgeType.SUPERSEDES
        ]
        return [
            one
            for one in taken
            if one is not None and one.superseded_by == memory.id and one.status.is_indexed
        ]

    def _pass_on_disputes(self, old: Memory, new: Memory) -> None:
        """Let the successor of a memory dispute what that disputed, unless it says the same."""
        for edge in self.tx.edges.of(old.id):
            if edge.source != old.id or edge.type not in DISPUTING:
                continue
            self.unlink(edge.source, edge.target, edge.type)
            disputed = self.tx.memories.get(edge.target, scope=old.scope)
            if disputed is None or _say_same(disputed, new):
                self._release(edge.target, old.scope)
            else:
                self.copy_link(edge, source=new.id, target=edge.target)

    def _release_disputed(self, memory: Memory) -> None:
        """Let what a memory disputed that no longer counts hold again, unless something else disputes it."""
        for edge in self.tx.edges.of(memory.id):
            if edge.source == memory.id and edge.type in DISPUTING:
                self.unlink(edge.source, edge.target, edge.type)
                self._release(edge.target, memory.scope)

    def _release(self, memory_id: MemoryId, scope: Scope) -> None:
        disputed = self.tx.memories.get(memory_id, scope=scope)
        if disputed is None or disputed.status is not Status.CHALLENGED:
            return
        if not self.disputers(disputed):
            self._by_rule().set_status(disputed, Status.ACTIVE, action=Action.SET_STATUS, reason=UNDISPUTED)

    def disputers(self, memory: Memory) -> list[Memory]:
        """Return the memories that are believed and dispute this one."""
        edges = [one for one in self.tx.edges.of(memory.id) if one.target == memory.id]
        read = [
            self.tx.memories.get(one.source, scope=memory.scope) for one in edges if one.type in DISPUTING
        ]
        return [one for one in read if one is not None and one.status in BELIEVED]

    def make_way(self, old: Memory) -> None:
        """
        Let a memory stand aside until `supersede` follows in the same transaction.

        A successor with the same words could not be stored beside it, or would be taken for a repetition.
        """
        self.tx.memories.replace(old.evolve(status=Status.SUPERSEDED))

    def stand_again(self, memory: Memory) -> None:
        """Take back `make_way`: what was stored meanwhile has found another place."""
        self.tx.memories.replace(memory)

    def set_layer(self, memory: Memory, layer: Layer, *, reason: str, is_held: bool) -> Memory:
        """Put a memory into another layer; one that is held there is not moved by rules."""
        order = list(Layer)
        action = Action.PROMOTE if order.index(layer) > order.index(memory.layer) else Action.DEMOTE
        return self.update(memory, action, reason=reason, layer=layer, layer_held=is_held)

    def erase(self, memory: Memory, *, reason: str) -> Memory:
        """Take the words of a memory, and of what was derived from it, out of the file for good."""
        self._release_disputed(memory)
        gone = memory.evolve(status=Status.ERASED, content="", private=UNSET, updated_at=self.now)
        key = self.tx.memories.replace(gone)
        self.tx.terms.remove(key)
        self.tx.vectors.remove(key)
        self.tx.entities.unlink(memory.id)
        for derived in self._derived_from(memory):
            self._by_rule().erase(derived, reason=SOURCE_FORGOTTEN)
        for edge in self.tx.edges.of(memory.id):
            self.tx.edges.remove(edge.source, edge.target, edge.type)
        self.tx.memories.erase_words(memory.id)
        self._withdraw_words(memory)
        self._note(memory, gone, Action.ERASE, reason)
        return gone

    def link(self, source: Memory, target: Memory, kind: EdgeType, *, weight: float = 1.0) -> Edge:
        """
        Link two memories; raises `EdgeNotAllowed` where that would close a circle of reasons.

        A link that disputes or doubts something opens the question about it.
        """
        edge = Edge(source=source.id, target=target.id, type=kind, weight=weight, created_at=self.now)
        self.tx.edges.add(edge, by=self.actor)
        self._ask(source, target, kind)
        return edge

    def put_back_link(self, edge: Edge) -> None:
        """Store a link as it was before it was taken away or weighed otherwise."""
        self.tx.edges.add(edge, by=self.actor)

    def _ask(self, source: Memory, target: Memory, kind: EdgeType) -> None:
        asked = question_of_link(source, target, kind, now=self.now)
        if asked is not None:
            self.tx.gaps.put(asked)

    def ask_again(self, memory: Memory) -> None:
        """Open the questions about a memory that counts again: what it disputes and what disputes it."""
        for edge in self.tx.edges.of(memory.id):
            ends = [self.tx.memories.get(one, scope=memory.scope) for one in (edge.source, edge.target)]
            source, target = ends
            if edge.type in DISPUTING and source is not None and target is not None:
                self._ask(source, target, edge.type)

    def unask(self, source: MemoryId, target: MemoryId, kind: EdgeType, *, scope: Scope) -> None:
        """Close the question that a link had raised which is taken away, unless another one raises it."""
        ends = [self.tx.memories.get(one, scope=scope) for one in (source, target)]
        first, second = ends
        if first is None or second is None or self.tx.edges.weight(target, source, kind) is not None:
            return
        asked = question_of_link(first, second, kind, now=self.now)
        if asked is not None:
            self.tx.gaps.close(asked.id, at=self.now, by=ActorKind.RULE, because=UNDISPUTED)

    def link_related(self, source: Memory, others: Mapping[MemoryId, float]) -> None:
        """Link a memory to those that have to do with it, each with its weight, in one go."""
        self.tx.edges.add_all(
            [
                Edge(
                    source=source.id,
                    target=target,
                    type=EdgeType.RELATED_TO,
                    weight=weight,
                    created_at=self.now,
                )
                for target, weight in others.items()
            ],
            by=self.actor,
        )

    def copy_link(self, edge: Edge, *, source: MemoryId, target: MemoryId) -> None:
        """Repeat a link between other memories."""
        copy = replace(edge, source=source, target=target, created_at=self.now)
        self.tx.edges.add(copy, by=self.actor)

    def unlink(self, source: MemoryId, target: MemoryId, kind: EdgeType) -> None:
        """Take a link away."""
        self.tx.edges.remove(source, target, kind, by=self.actor, at=self.now)

    def note_link(
        self, source: Memory, target: Memory, kind: EdgeType, *, action: Action, reason: str, within: Scope
    ) -> None:
        """Note a link, or its end, in the history of its ends within a scope, and in the audit."""
        for memory, other, name in ((source, target, "link_to"), (target, source, "link_from")):
            if memory.scope == within:
                link = f"{kind} {other.id}"
                changes = {name: (None, link) if action is Action.LINK else (link, None)}
                told = self.open_reason(reason, source, target)
                self._history(memory, action, reason=told, changes=changes)
        self._audit(source, action, reason, {"other": target.id, "type": kind.value})

    def audit_link(self, source: Memory, target: Memory, kind: EdgeType, *, reason: str) -> None:
        """Note in the audit that a rule linked two memories."""
        self._audit(source, Action.LINK, reason, {"type": kind, "to": target.id})

    def write(
        self,
        old: Memory,
        new: Memory,
        *,
        action: Action,
        reason: str,
        noted: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> Memory:
        """
        Store a memory as it is now: row, indexes, history, audit, and what was derived from it.

        What is `noted` stands in the history beside what has changed.
        """
        self._write(old, new, action, reason, noted)
        return new

    def count_feedback(self, memory: Memory, *, is_helpful: bool) -> tuple[Memory, int]:
        """Count that a memory helped or did not, and return it with its key; what it says keeps its date."""
        name = "helped" if is_helpful else "unhelpful"
        counted = memory.evolve(**{name: getattr(memory, name) + 1})
        return counted, self._write(memory, counted, Action.FEEDBACK, "")

    def _write(
        self,
        old: Memory,
        new: Memory,
        action: Action,
        reason: str,
        noted: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> int:
        if new.status is not old.status:
            check_move(old.status, new.status, actor=self.actor, reason=reason)
        key = self.tx.memories.replace(new)
        if old.status.is_indexed and not new.status.is_indexed:
            self.tx.terms.remove(key)
            self.tx.vectors.remove(key)
        elif new.status.is_indexed and not old.status.is_indexed:
            self.tx.terms.put(key, index_terms(new))
        self._note(old, new, action, reason, noted)
        if new.status is not old.status:
            is_unforgotten = action is Action.UNDO and old.status is Status.FORGOTTEN
            if is_unforgotten or (old.status.is_terminal and not new.status.is_terminal):
                self._let_back(new)
            elif action is Action.UNDO and (new.status is Status.FORGOTTEN or new.forgotten_before):
                self._keep_away(new)  # that it had come back was undone
            self._withdraw_derived(new)
            if new.status in WITHDRAWN:
                self._release_disputed(new)
            if new.status is Status.FORGOTTEN:
                for one in self._stood_for(new):
                    self._withdraw_words(one, is_kept=True)
                    self._withdraw_summaries_of(one)
        return key

    def _let_back(self, memory: Memory) -> None:
        """Let what was forgotten count again, if it is the person who brings it back."""
        ids = [one.id for one in self._stood_for(memory)]
        if self.actor.kind is not ActorKind.PERSON and self.tx.forgotten.of_memories(ids):
            raise StatementForgotten(
                f"memory {memory.id} was forgotten, and only the person can bring it back"
            )
        self.tx.forgotten.drop(ids)

    def _withdraw_words(self, memory: Memory, *, is_kept: bool = False) -> None:
        """Take the words of a memory out of what others lean on, in every session in which it was said."""
        for session in self._sessions_of(memory):
            self.withdraw_context(
                memory.content, session=session, scope=memory.scope, is_retold=True, is_kept=is_kept
            )

    def _sessions_of(self, memory: Memory) -> list[str | None]:
        said = (self.tx.turns.get(turn, scope=memory.scope) for turn in memory.provenance.turns)
        return list(dict.fromkeys([memory.provenance.session, *(turn.session for turn in said if turn)]))

    def _withdraw_summaries_of(self, memory: Memory) -> None:
        """Take back the summaries of the turns that a forgotten memory was read from; one may tell it."""
        if memory.is_session_summary:
            return  # and no other account of the same turns
        for session in self._sessions_of(memory):
            self.withdraw_summaries(memory.provenance.turns, session=session, scope=memory.scope)

    def withdraw_summaries(
        self, turn_ids: Sequence[TurnId], *, session: str | None, scope: Scope, reason: str = SOURCE_FORGOTTEN
    ) -> list[MemoryId]:
        """
        Prune the summaries of a session that cover one of these turns, or all where none are given.

        What is left of their turns may be summed up again. An older version is not brought back.
        """
        found = [
            one
            for one in self.tx.memories.summaries_of(session, scope=scope)
            if not turn_ids or set(turn_ids) & set(one.provenance.turns)
        ]
        for one in found:
            self._by_rule().set_status(one, Status.PRUNED, action=Action.SET_STATUS, reason=reason)
            self.tx.turns.unmark_summarized(one.provenance.turns)
        return [one.id for one in found]

    def withdraw_context(
        self,
        text: str,
        *,
        session: str | None,
        scope: Scope,
        is_retold: bool = False,
        is_kept: bool = False,
    ) -> None:
        """
        Take words that are forgotten out of what the memories of their session lean on.

        With `is_retold` also what tells them in other words, as the question after them does. With `is_kept`
        they are set aside until that is undone, or the words are erased.
        """
        gone = normalize_text(text)
        if len(gone.split()) < MIN_QUOTED_WORDS:
            return
        for other in self.tx.memories.leaning(session, scope=scope).values():
            context = (other.answers, *other.refers_to)
            answers, *refers_to = (_unless_repeated(words, gone, is_retold=is_retold) for words in context)
            if context == (answers, *refers_to):
                continue
            left = tuple(words for words in refers_to if words)
            self._lean_on(other, answers, left, action=Action.FORGET, reason=CONTEXT_FORGOTTEN)
            if is_kept:
                lost = WithdrawnWords(memory_id=other.id, answers=other.answers, refers_to=other.refers_to)
                self.tx.acts.keep_words(lost, scope=other.scope)

    def give_back_context(self, memory: Memory, words: WithdrawnWords, *, reason: str) -> None:
        """Let a memory lean again on words that were forgotten, as far as they still are not."""
        told = self.tx.erasures.forgotten_words(memory.provenance.turns).values()
        gone = [normalize_text(one) for several in told for one in several]
        gone = [one for one in gone if len(one.split()) >= MIN_QUOTED_WORDS]
        now, back = [memory.answers, *memory.refers_to], [words.answers, *words.refers_to]
        for one in gone:
            back = [_unless_repeated(text, one, is_retold=True) for text in back]
        if len(back) == len(now):  # another one may have been brought back before
            pairs = zip(now, back, strict=True)
            back = [was if text == FORGOTTEN_WORDS else text for was, text in pairs]
        answers, *refers_to = back
        left = tuple(one for one in refers_to if one)
        self._lean_on(memory, answers, left, action=Action.UNDO, reason=reason)

    def _lean_on(
        self,
        memory: Memory,
        answers: str | None,
        refers_to: tuple[str, ...],
        *,
        action: Action,
        reason: str,
    ) -> None:
        new = memory.evolve(answers=answers, refers_to=refers_to, updated_at=self.now)
        key = self.tx.memories.replace(new)
        self.tx.memories.set_fingerprint(key, fingerprint_of(new))
        self.tx.vectors.remove(key)  # it is embedded again, with them or without
        self._note(memory, new, action, reason)

    def refuse_active_twin(self, memory: Memory) -> None:
        """Raise `StatusNotAllowed` where another active memory says the same."""
        if self.tx.memories.has_active_twin(memory.id):
            raise StatusNotAllowed(
                f"memory {memory.id} cannot become active: another active memory says the same",
                hint="Use the other one.",
            )

    def _brought_back(self, memory: Memory) -> dict[str, Any]:
        """Return what changes when a memory counts again: nothing replaces it, no date ends it at once."""
        if memory.superseded_by is not None:
            self.unlink(memory.superseded_by, memory.id, EdgeType.SUPERSEDES)
        return {"superseded_by": None, "valid_to": None, **self.vouched_for(memory)}

    def vouched_for(self, memory: Memory) -> dict[str, Any]:
        """Return what changes when somebody vouches for a memory: no rule takes it again at once."""
        is_over = memory.forget_after is not None and memory.forget_after <= self.now
        return {"confirmed_at": self.now, "forget_after": None if is_over else memory.forget_after}

    def _withdraw_derived(self, memory: Memory) -> None:
        """
        Take back what dreams made of a memory that no longer holds; the next dream makes it of what is left.

        Of a forgotten one nothing may be found any more, older versions included. Pinned ones stay.
        """
        if memory.status is Status.FORGOTTEN:
            status, reason = Status.PRUNED, SOURCE_FORGOTTEN
        elif memory.status in UNDOING:
            status, reason = Status.INVALIDATED, SOURCE_UNDONE
        else:
            return
        for one in self._stood_for(memory):
            for derived in self._derived_from(one):
                is_found = (
                    derived.status.is_indexed if status is Status.PRUNED else not derived.status.is_terminal
                )
                if is_found and not derived.pinned:
                    self._by_rule().set_status(derived, status, action=Action.SET_STATUS, reason=reason)

    def _stood_for(self, memory: Memory) -> Iterator[Memory]:
        """Yield a memory and what was merged into it, however far: what was made of those falls with it."""
        yield memory
        for merged in self.tx.dreams.merges_into(memory.id):
            loser = self.tx.memories.get(merged.loser, scope=memory.scope)
            if loser is not None and loser.status is Status.MERGED:
                yield from self._stood_for(loser)

    def _derived_from(self, memory: Memory) -> list[Memory]:
        """Return what dreams have stated because of a memory; derived memories are of the same scope."""
        made = [
            self.tx.memories.get(edge.source, scope=memory.scope)
            for edge in self.tx.edges.of(memory.id)
            if edge.target == memory.id and edge.type in (EdgeType.DERIVED_FROM, EdgeType.INFERRED_FROM)
        ]
        return [one for one in made if one is not None and one.status is not Status.ERASED and one.is_derived]

    def _introduce(self, memory: Memory, names: Sequence[str] = ()) -> None:
        """Register whom and what a memory speaks of."""
        from engramdb.lifecycle.entities import introduce  # noqa: PLC0415 - only a new memory needs name matching

        introduce(self.tx, memory, names=names, now=self.now)

    def _by_rule(self) -> MemoryWriter:
        return MemoryWriter(self.tx, WITHDRAWING, self.now)

    def _note(
        self,
        old: Memory,
        new: Memory,
        action: Action,
        reason: str,
        noted: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> None:
        is_moved = old.status is not new.status
        reason = self.open_reason(reason, old, new)
        self._history(
            old,
            action,
            reason=reason,
            old_status=old.status if is_moved else None,
            new_status=new.status if is_moved else None,
            changes=differences(old, new) | dict(noted or {}),
        )
        moved = {"status": new.status} if is_moved else {}
        self._audit(old, action, reason, moved | ({"layer": new.layer} if old.layer is not new.layer else {}))

    def _history(
        self,
        memory: Memory,
        action: Action,
        *,
        reason: str = "",
        old_status: Status | None = None,
        new_status: Status | None = None,
        changes: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> None:
        self.tx.history.add(
            HistoryEvent(
                memory_id=memory.id,
                at=self.now,
                action=action,
                actor=self.actor,
                old_status=old_status,
                new_status=new_status,
                reason=self.open_reason(reason, memory),
                changes=changes or {},
            )
        )

    def open_reason(self, reason: str, *about: Memory) -> str:
        """Return why memories are changed, as it is stored: without a secret, theirs or another."""
        if not reason or self.actor.kind is ActorKind.RULE:
            return reason  # a rule's reason never quotes a memory
        return mask_reason(reason, about, by=self.actor.kind)

    def _audit(
        self, memory: Memory, action: Action, reason: str, detail: Mapping[str, Any] | None = None
    ) -> None:
        """Note a change in the audit; a rule's reason never quotes a memory, a person's may."""
        why = {"reason": reason} if reason and self.actor.kind is ActorKind.RULE else {}
        self.tx.audit.add(
            AuditEvent(
                at=self.now,
                action=action,
                actor=self.actor,
                scope=memory.scope,
                target=memory.id,
                detail={**why, **(detail or {})},
            )
        )
