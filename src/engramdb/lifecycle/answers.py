"""
The answer to an open question, and what follows from it for the memories that it is about.

Yes confirms and no invalidates; of two that contradict each other one is chosen, both are kept or neither is;
a value goes through the write pipeline as the person's own statement and supersedes what was asked about. An
agent may report what the person said, but what is pinned or about health only the person changes: what an
agent says against it makes it disputed, and the question stays open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import InvalidQuery
from engramdb.lifecycle.admission import (
    Prepared,
    WritePipeline,
    prepare,
    prepared_write,
    put_in_place,
    replacement,
    save,
)
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.guard import may_replace
from engramdb.lifecycle.pair_rules import is_negation
from engramdb.lifecycle.questions import (
    CONTRADICTED,
    asked_about,
    contradiction_question,
    find_open_question,
    is_quotable,
    topic_of,
)
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import challenge, refuse_forgotten
from engramdb.store.contract import Transaction
from engramdb.text.changes import WordSort, word_sorts
from engramdb.text.grammar import is_exclusive
from engramdb.text.guarded import is_guarded
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.relations import read_statement
from engramdb.text.replies import Reply, ReplyKind, read_reply
from engramdb.text.terms import STOP_WORDS, query_terms
from engramdb.values import (
    BELIEVED,
    Action,
    Actor,
    ActorKind,
    Answered,
    AnswerOutcome,
    AuditEvent,
    EdgeType,
    Gap,
    GapKind,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Source,
    Status,
)

SNOOZE_DAYS = 14.0
"""How long a question rests after "not now"."""
MAX_FRAGMENT_WORDS = 4
"""A longer answer says what it is about by itself."""
MAX_NEW_TERMS = 2
"""An answer with more words than the chosen memory has tells something new."""
REASON = "the answer to a question"
_DISPUTING = frozenset({EdgeType.CONTRADICTS, EdgeType.DOUBTS})
_HINTS = {
    GapKind.CONTRADICTION: "Answer first, second, both or neither, or state what holds.",
    GapKind.INTERFERENCE: "Say what tells them apart, or first, second, both or neither.",
    GapKind.MISSING_FIELD: "State the answer in words; `close-gap` settles the question without one.",
}
_HINT = "Answer yes or no, or state what holds."
_LEADING = lazy(r"^(?:it'?s|it is|that'?s|that is|they'?re|now|since then)\s+(?:now\s+)?", re.IGNORECASE)
_TRAILING = lazy(r"\s+(?:now|these days|instead|by now)[.!]*$|[.!]+$", re.IGNORECASE)


class AnswerRequest(Struct, frozen=True, kw_only=True):
    """Who answers, where and when, and where the words of the answer come from."""

    pipeline: WritePipeline
    scope: Scope
    actor: Actor
    now: datetime
    provenance: Provenance = Provenance()
    closed_by: ActorKind | None = None
    """Who settles the question, where a rule has read the words of a person."""

    @property
    def is_persons_word(self) -> bool:
        """Whether a person says so, in a verb or in a conversation."""
        return (self.closed_by or self.actor.kind) is ActorKind.PERSON

    def may_retire(self, memory: Memory) -> bool:
        """Return whether a memory may go on this actor's word."""
        return may_replace(memory, self.actor)


class Decision(Struct, frozen=True):
    """What an answer says of the memories that it is about."""

    outcome: AnswerOutcome
    chosen: Memory | None = None
    statement: str = ""
    """What is to be stored."""


# What does it say?


def decide(gap: Gap, reply: Reply, about: Sequence[Memory]) -> Decision:
    """Return what a reply says to a question about these memories; raises where that is not plain."""
    if reply.kind is ReplyKind.LATER and not reply.rest:
        return Decision(AnswerOutcome.SNOOZED)
    if gap.kind is GapKind.SAME_ENTITY and reply.kind in (ReplyKind.YES, ReplyKind.NO) and not reply.rest:
        return Decision(AnswerOutcome.CLOSED)
    if gap.kind in (GapKind.MISSING_FIELD, GapKind.SAME_ENTITY):
        if reply.kind is not ReplyKind.VALUE:
            raise _unclear(gap)
        return Decision(AnswerOutcome.REMEMBERED, statement=reply.rest)
    if len(about) > 1 and gap.kind is not GapKind.DOUBT:
        return _decide_pair(gap, reply, about[0], about[1])
    return _decide_single(gap, reply, about[-1])


def _decide_single(gap: Gap, reply: Reply, asked: Memory) -> Decision:
    if reply.kind is ReplyKind.YES and not reply.rest:
        return Decision(AnswerOutcome.CONFIRMED)
    if reply.kind is ReplyKind.NO and not reply.rest:
        return Decision(AnswerOutcome.INVALIDATED)
    if reply.kind not in (ReplyKind.NO, ReplyKind.VALUE):
        raise _unclear(gap)
    if normalize_text(reply.rest) == normalize_text(asked.content):
        return Decision(AnswerOutcome.CONFIRMED)
    return _correction(gap, reply, [asked])


def _decide_pair(gap: Gap, reply: Reply, first: Memory, second: Memory) -> Decision:
    plain = {ReplyKind.FIRST: first, ReplyKind.SECOND: second}
    if reply.kind in plain and not reply.rest:
        return Decision(AnswerOutcome.CHOSEN, plain[reply.kind])
    if reply.kind is ReplyKind.BOTH and not reply.rest:
        return Decision(AnswerOutcome.KEPT_BOTH)
    if reply.kind is ReplyKind.NEITHER and not reply.rest:
        return Decision(AnswerOutcome.INVALIDATED)
    if not reply.rest or reply.kind not in (ReplyKind.NO, ReplyKind.VALUE):
        raise _unclear(gap)
    if gap.kind is GapKind.INTERFERENCE:
        return Decision(AnswerOutcome.REMEMBERED, statement=reply.rest)
    chosen = named_by(reply.rest, first, second)
    if chosen is not None:
        return Decision(AnswerOutcome.CHOSEN, chosen)
    if is_negation(reply.rest):
        raise _unclear(gap)  # that one is wrong does not say that the other is right
    return _correction(gap, reply, [second, first])


def _correction(gap: Gap, reply: Reply, asked: Sequence[Memory]) -> Decision:
    """Return what a reply states instead; raises where it may be about something else."""
    statement = completed(reply.rest, asked, is_instead=reply.kind is ReplyKind.NO)
    if statement is None:
        raise _unclear(gap)
    return Decision(AnswerOutcome.CORRECTED, statement=statement)


def named_by(text: str, first: Memory, second: Memory) -> Memory | None:
    """Return which of two memories a short answer names by a word that only that one has, if one alone."""
    said, one, two = (set(query_terms(words)) for words in (text, first.told, second.told))
    if len(said - one - two) > MAX_NEW_TERMS or read_reply(text).kind is not ReplyKind.VALUE:
        return None
    names_first, names_second = bool(said & (one - two)), bool(said & (two - one))
    if names_first == names_second or _adds_name(text, first if names_first else second):
        return None
    return first if names_first else second


def _adds_name(text: str, memory: Memory) -> bool:
    """Return whether an answer denies, or has a name or a number that the memory has not."""
    told = set(query_terms(memory.told))
    special = [word for word in text.split() if word[:1].isupper() or any(one.isdigit() for one in word)]
    names = [word for word in special if normalize_text(word) not in STOP_WORDS]
    return is_negation(text) or any(told.isdisjoint(query_terms(word)) for word in names)


def completed(answer: str, asked: Sequence[Memory], *, is_instead: bool = False) -> str | None:
    """
    Return an answer as a statement, or None where it does not say what holds.

    A mere "Ghent" stands in the place of what the memory said of that, and must be of the same sort; a
    sentence must be about what was asked. Of one memory, what follows a "no" (`is_instead`) or "it's" is.
    """
    lead = _LEADING.sub("", answer.strip())
    bare = _TRAILING.sub("", lead).strip(" ,;")
    is_said = len(asked) == 1 and (is_instead or lead != answer.strip())
    if not bare or len(bare.split()) > MAX_FRAGMENT_WORDS or read_statement(answer) is not None:
        return answer if is_said or _may_be_about(answer, asked) else None
    names_all = len(asked) > 1 and all(_shares_words(bare, one) for one in asked)
    if names_all or is_negation(bare):
        return None
    for memory in asked:
        thing = memory.object or ""
        if thing and memory.content.count(thing) == 1 and (is_said or _sorts(bare) & _sorts(thing)):
            return memory.content.replace(thing, bare)
    return answer if is_said or _may_be_about(answer, asked) else None


def is_about(text: str, asked: Sequence[Memory]) -> bool:
    """Return whether a sentence speaks of what memories say: in a word of theirs, or the same of the same."""
    if any(_shares_words(text, one) for one in asked):
        return True
    stated = read_statement(text)
    claimed = "" if stated is None else stated.predicate
    return is_exclusive(claimed) and claimed in {one.predicate for one in asked}


def _may_be_about(text: str, asked: Sequence[Memory]) -> bool:
    """Return whether a sentence speaks of what memories say, or of a value of the same sort."""
    return is_about(text, asked) or any(_sorts(text) & _sorts(one.told) for one in asked)


def _shares_words(text: str, memory: Memory) -> bool:
    return not set(query_terms(text)).isdisjoint(query_terms(memory.told))


def _sorts(text: str) -> set[WordSort]:
    """Return the sorts of values in a few words or a sentence: names, numbers, days."""
    is_sentence = len(text.split()) > MAX_FRAGMENT_WORDS
    return set(word_sorts(text, is_sentence=is_sentence).values()) - {WordSort.WORD}


def _unclear(gap: Gap) -> InvalidQuery:
    return InvalidQuery("the answer does not say plainly what holds", hint=_HINTS.get(gap.kind, _HINT))


# What follows?


def answer_question(question_id: str, text: str, request: AnswerRequest) -> Answered:
    """Read an answer to an open question of exactly this scope, and make it true."""
    with request.pipeline.store.read() as tx:
        gap = find_open_question(tx, question_id, request.scope)
        about = _read(tx, gap)
    return settle_question(gap, decide(gap, read_reply(text), about), about, request)


def settle_question(
    gap: Gap,
    decision: Decision,
    about: Sequence[Memory],
    request: AnswerRequest,
    *,
    stated: MemoryId | None = None,
) -> Answered:
    """Make a decision true in one write; `stated` is a memory that says already what it would store."""
    drafts, leaving = [], None
    if decision.statement and stated is None:
        replaced = about[-1] if decision.outcome is AnswerOutcome.CORRECTED else None
        replaced = replaced if replaced is not None and request.may_retire(replaced) else None
        drafts = [_draft(gap, decision.statement, replaced, request)]
        leaving = None if replaced is None else replaced.id
    pipeline = request.pipeline
    ready = prepared_write(pipeline, lambda: prepare(drafts, pipeline, now=request.now, leaving=leaving))
    with ready as (tx, prepared):
        gap = find_open_question(tx, gap.id, request.scope)
        tx.acts.begin(Action.ANSWER, actor=request.actor, scope=request.scope, at=request.now)
        settling = _Settling(tx, gap, request, prepared if drafts else None, stated)
        answered = settling.settle(decision, _read(tx, gap))
        detail = {"question": answered.outcome.value}
        tx.audit.add(
            AuditEvent(
                at=request.now,
                action=Action.FEEDBACK,
                actor=request.actor,
                scope=request.scope,
                target=gap.id,
                detail=detail,
            )
        )
        return answered


def _read(tx: Transaction, gap: Gap) -> list[Memory]:
    """Return the memories that a question is about, in its order; raises where one does not hold any more."""
    found = [tx.memories.get(memory_id, scope=gap.scope) for memory_id in gap.memories]
    living = [one for one in found if one is not None and one.status in BELIEVED]
    if gap.kind.is_about_words and len(living) < len(gap.memories):
        raise InvalidQuery(f"what question {gap.id} was about is settled meanwhile")
    return living


def _draft(gap: Gap, statement: str, old: Memory | None, request: AnswerRequest) -> Draft:
    """Return what an answer states as a statement of the person's own, in the place of an old one or not."""
    if old is None:
        asked = gap.question if gap.kind is GapKind.MISSING_FIELD else None
        return Draft(content=statement, scope=gap.scope, provenance=request.provenance, answers=asked)
    speaker = old.provenance.speaker if old.provenance.source is Source.HUMAN else None
    provenance = replace(request.provenance, speaker=request.provenance.speaker or speaker)
    draft = replace(replacement(old, statement, request.now), provenance=provenance, occurred_at=None)
    is_fragment = len(statement.split()) <= MAX_FRAGMENT_WORDS and is_quotable(old)
    return replace(draft, answers=f"What holds about {topic_of(old)}?") if is_fragment else draft


class _Settling(Struct, frozen=True):
    """One answer in its write."""

    tx: Transaction
    gap: Gap
    request: AnswerRequest
    prepared: Prepared | None
    stated: MemoryId | None

    @property
    def writer(self) -> MemoryWriter:
        return MemoryWriter(self.tx, self.request.actor, self.request.now)

    def settle(self, decision: Decision, about: Sequence[Memory]) -> Answered:
        """Change what the decision is about, and settle the question unless it stays open."""
        asked = [one for one in about if one.id in asked_about(self.gap)]
        if decision.outcome is AnswerOutcome.SNOOZED:
            until = self.request.now + timedelta(days=SNOOZE_DAYS)
            self.tx.gaps.snooze(self.gap.id, until=until)
            return Answered(outcome=decision.outcome, question=replace(self.gap, snoozed_until=until))
        if decision.outcome is AnswerOutcome.CHOSEN:
            winner = next(one for one in asked if decision.chosen and one.id == decision.chosen.id)
            return self._give_way(decision, self.confirm(winner), [o for o in asked if o.id != winner.id])
        if decision.outcome is AnswerOutcome.INVALIDATED:
            return self._invalidate(decision, asked)
        is_relayed = not self.request.is_persons_word
        if decision.outcome is AnswerOutcome.KEPT_BOTH and is_relayed and any(map(is_guarded, asked)):
            return Answered(outcome=AnswerOutcome.CHALLENGED, question=self.gap)
        if decision.outcome is AnswerOutcome.CORRECTED:
            return self._correct(decision, asked)
        return self._closed(decision, holds=self._held(decision, asked))

    def _held(self, decision: Decision, asked: Sequence[Memory]) -> list[Memory]:
        """Return what holds by an answer that retires nothing."""
        if decision.outcome is AnswerOutcome.KEPT_BOTH:
            return self._keep_both(asked)
        if decision.outcome is AnswerOutcome.REMEMBERED:
            return [self._stored()]
        is_confirmed = decision.outcome is AnswerOutcome.CONFIRMED
        return [self.confirm(one) for one in asked] if is_confirmed else []

    def confirm(self, memory: Memory) -> Memory:
        """Let a memory hold because the person said so; no other question about it alone is left."""
        self._undisputed(memory)
        if memory.status is Status.CHALLENGED and not self.tx.memories.has_active_twin(memory.id):
            memory = self.writer.set_status(memory, Status.ACTIVE, action=Action.REINFORCE, reason=REASON)
        gain = self.request.pipeline.policy.reinforce_confidence_by
        surer = min(memory.provenance.max_confidence, memory.confidence + gain)
        memory = self.writer.update(
            memory,
            Action.REINFORCE,
            reason=REASON,
            confidence=1.0 if self.request.is_persons_word else max(memory.confidence, surer),
            reinforcements=memory.reinforcements + 1,
            confirmed_at=self.request.now,
        )
        for gap in self.tx.gaps.open_about([memory.id], scope=self.gap.scope):
            if gap.kind is not GapKind.MISSING_FIELD and set(asked_about(gap)) == {memory.id}:
                self._close(gap, AnswerOutcome.CONFIRMED)
        return memory

    def _undisputed(self, memory: Memory) -> None:
        """Take away what a change made doubtful, once somebody says that it holds."""
        for edge in self.tx.edges.of(memory.id):
            if edge.type is EdgeType.DOUBTS and edge.target == memory.id:
                self._unlink(edge.source, memory, edge.type)

    def _keep_both(self, asked: Sequence[Memory]) -> list[Memory]:
        """Let two memories hold beside each other, with no link that says otherwise."""
        for one in asked:
            for edge in self.tx.edges.of(one.id):
                other = edge.target if edge.source == one.id else edge.source
                if edge.type in _DISPUTING and edge.source == one.id and other in self.gap.memories:
                    target = next(memory for memory in asked if memory.id == other)
                    self._unlink(one.id, target, edge.type)
        return [self.confirm(one) for one in asked]

    def _unlink(self, source_id: MemoryId, target: Memory, kind: EdgeType) -> None:
        source = self.tx.memories.get(source_id, scope=target.scope)
        self.writer.unlink(source_id, target.id, kind)
        if source is not None:
            self.writer.note_link(
                source, target, kind, action=Action.UNLINK, reason=REASON, within=target.scope
            )

    def _give_way(self, decision: Decision, winner: Memory, others: Sequence[Memory]) -> Answered:
        """Let a memory that holds supersede others, or dispute those that only a person may retire."""
        kept = [one for one in others if not self.request.may_retire(one)]
        for one in kept:
            challenge(self.writer, one, by=winner, reason=REASON, chance=1.0)
            winner = self._again(winner)
        gone = [self.writer.supersede(one, winner, reason=REASON) for one in others if one not in kept]
        if kept:
            return Answered(
                outcome=AnswerOutcome.CHALLENGED, question=self.gap, holds=(winner,), retired=tuple(gone)
            )
        return self._closed(decision, holds=[winner], retired=gone)

    def _invalidate(self, decision: Decision, asked: Sequence[Memory]) -> Answered:
        """Let memories no longer hold; what a change made doubtful held until then."""
        kept = [one for one in asked if not self.request.may_retire(one)]
        gone = [self._ended(one) for one in asked if one not in kept]
        for one in map(self._again, kept):
            if one.status is Status.ACTIVE:
                self.writer.set_status(one, Status.CHALLENGED, action=Action.WEAKEN, reason=REASON)
            if gone:  # the question about both is over
                self.tx.gaps.put(
                    contradiction_question(one, None, priority=CONTRADICTED, now=self.request.now)
                )
        displaced = [found for one in gone for found in displaced_by(self.tx, one)]
        if kept:
            return Answered(outcome=AnswerOutcome.CHALLENGED, question=self.gap, retired=tuple(gone))
        return self._closed(decision, retired=gone, displaced=displaced)

    def _ended(self, memory: Memory) -> Memory:
        if self.gap.kind in (GapKind.DOUBT, GapKind.STALE):  # it was true until something changed
            memory = self.writer.update(
                memory, Action.WEAKEN, reason=REASON, valid_to=self._changed_at(memory)
            )
        return self.writer.set_status(memory, Status.INVALIDATED, action=Action.SET_STATUS, reason=REASON)

    def _changed_at(self, memory: Memory) -> datetime:
        if self.gap.kind is not GapKind.DOUBT:
            return self.request.now
        change = self.tx.memories.get(self.gap.memories[0], scope=self.gap.scope)
        return self.request.now if change is None else max(memory.holds_from, change.holds_from)

    def _correct(self, decision: Decision, asked: Sequence[Memory]) -> Answered:
        """Put what the answer states in the place of what was asked about."""
        *others, old = asked
        if self.prepared is not None and self.request.may_retire(old):
            admission = put_in_place(
                self.tx,
                old,
                self.prepared,
                self.request.pipeline,
                reason=REASON,
                actor=self.request.actor,
                now=self.request.now,
                is_explicit=True,
            )
            refuse_forgotten([admission])
            new, gone = admission.memory, [self._again(old)]
        else:
            new, gone, others = self._stored(), [], [*asked]
        left = [self._again(one) for one in others if one.id != new.id]
        answered = self._give_way(decision, new, [one for one in left if one.status in BELIEVED])
        return replace(answered, retired=(*gone, *answered.retired))

    def _again(self, memory: Memory) -> Memory:
        return self.tx.memories.get(memory.id, scope=memory.scope) or memory

    def _stored(self) -> Memory:
        """Return the memory that says what the answer states, stored now or before."""
        if self.stated is not None:
            found = self.tx.memories.get(self.stated, scope=self.gap.scope)
            if found is None or found.status not in BELIEVED:
                raise InvalidQuery("what the answer stated is gone meanwhile")
            return found
        if self.prepared is None:
            raise InvalidQuery("the answer states nothing")
        request = self.request
        (admission,) = save(
            self.tx,
            self.prepared,
            request.pipeline,
            actor=request.actor,
            now=request.now,
            is_explicit=True,
        )
        refuse_forgotten([admission])
        return admission.memory

    def _closed(
        self,
        decision: Decision,
        *,
        holds: Sequence[Memory] = (),
        retired: Sequence[Memory] = (),
        displaced: Sequence[Memory] = (),
    ) -> Answered:
        self._close(self.gap, decision.outcome)
        return Answered(
            outcome=decision.outcome,
            question=replace(self.gap, closed_at=self.request.now),
            holds=tuple(holds),
            retired=tuple(retired),
            displaced=tuple(displaced),
        )

    def _close(self, gap: Gap, outcome: AnswerOutcome) -> None:
        by = self.request.closed_by or self.request.actor.kind
        self.tx.gaps.close(gap.id, at=self.request.now, by=by, because=outcome)


def displaced_by(tx: Transaction, memory: Memory) -> list[Memory]:
    """Return what a memory had superseded and is still superseded by it."""
    old = None if memory.supersedes is None else tx.memories.get(memory.supersedes, scope=memory.scope)
    is_displaced = old is not None and old.status is Status.SUPERSEDED and old.superseded_by == memory.id
    return [old] if old is not None and is_displaced else []
