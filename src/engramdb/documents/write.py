"""Put a document into the store or remove it, with what is remembered from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.capture.pipeline import observe
from engramdb.errors import ContentTooLarge, EngramError, InvalidContent
from engramdb.lifecycle.admission import Prepared, WritePipeline, prepare, put_in_place, save
from engramdb.lifecycle.change import find
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.unlearn import TAKEN_BACK, unlearn_turn
from engramdb.lifecycle.write import Admission
from engramdb.store.contract import Transaction
from engramdb.text.normalize import clean, fingerprint, is_text
from engramdb.text.pii import CONCEALED
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AuditEvent,
    Document,
    Kind,
    Layer,
    Memory,
    MemoryId,
    MemoryType,
    Provenance,
    PutDocument,
    RemoveDocument,
    Scope,
    Status,
    Turn,
    new_id,
)
from engramdb.values.memory import DOCUMENT_EXTRACTOR

# Prepare a document: check it, and take what it says through the first half of admission.
#
# Called before any write, so that an embedder that takes its time holds no one up. A document that JSON
# cannot hold raises here; one whose text may not be remembered is ready
# all the same, with the code of the reason.

MAX_NAME_CHARACTERS = 1000
"""Of a key, and of each name in a place."""
_MAX_DEPTH = 100


def document_gate(pipeline: WritePipeline) -> WritePipeline:
    """Return admission for documents: it takes the same words for the same, and compares nothing else."""
    policy = replace(pipeline.policy, conflict_above=1.0, same_above=1.0, version_overlap_above=1.0)
    return replace(pipeline, policy=policy, judge=None)


def _refuse_mask(value: Any, old: Document | None) -> None:
    """Refuse a masked copy in the place of a document: the secret itself would be lost."""
    if old is not None and CONCEALED in str(value) and CONCEALED not in str(old.value):
        raise InvalidContent(
            f"the document holds {CONCEALED}, which stands for a secret that was not shown",
            hint="Put it with the secret itself, or leave the stored document as it is.",
        )


def to_plain_json(value: Any, *, depth: int = 0) -> Any:
    """Return the value as JSON will give it back; raises for what JSON cannot hold."""
    if depth > _MAX_DEPTH:
        raise InvalidContent(f"the document is nested more than {_MAX_DEPTH} levels deep")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise InvalidContent(f"the document holds {value}, which is no JSON number")
        return value
    if isinstance(value, list | tuple):
        return [to_plain_json(one, depth=depth + 1) for one in value]
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise InvalidContent("the document has a field whose name is not text")
        return {name: to_plain_json(one, depth=depth + 1) for name, one in value.items()}
    raise InvalidContent(
        f"the document holds a {type(value).__name__}, which is not JSON",
        hint="Use texts, numbers, true, false, null, lists and objects.",
    )


class PreparedDocument(Struct, frozen=True, kw_only=True):
    """A document with its statement checked and embedded, outside any write."""

    putting: PutDocument
    value: Any
    scope: Scope
    prepared: Prepared | None = None
    refusal: str | None = None
    """The code of the reason why nothing may be remembered of it."""


def prepare_document(
    putting: PutDocument, pipeline: WritePipeline, *, scope: Scope, now: datetime
) -> PreparedDocument:
    """Check a document and its statement, and embed it; raises where it cannot be stored."""
    check_names((*putting.place, putting.key or ""))
    made = PreparedDocument(putting=putting, value=to_plain_json(putting.value), scope=scope)
    text = None if putting.memory_id is not None or putting.text is None else clean(putting.text)
    if not text or not is_text(text):
        return made
    draft = Draft(
        content=fit_text(text, pipeline.policy.max_memory_bytes),
        scope=scope,
        # Whatever it says, it is there until its program takes it away.
        layer=Layer.SEMANTIC,
        type=MemoryType.FACT,
        kind=Kind.NOTE,
        category="general",
        provenance=Provenance(source=putting.source),
        forget_after=None if putting.lifetime is None else now + putting.lifetime,
        extractor=DOCUMENT_EXTRACTOR,
    )
    refusals: list[EngramError] = []
    prepared = prepare([draft], pipeline, now=now, on_rejection=refusals.append)
    if refusals:
        return replace(made, refusal=refusals[0].code)
    return replace(made, prepared=prepared)


def check_names(names: Sequence[str]) -> None:
    """Raise unless these can name a place and a key."""
    for name in names:
        if not isinstance(name, str) or not is_text(name):
            raise InvalidContent("a key or a name in a place is not text")
        if len(name) > MAX_NAME_CHARACTERS:
            raise ContentTooLarge(
                f"a key or a name in a place has {len(name)} characters, at most {MAX_NAME_CHARACTERS}"
            )


def fit_text(text: str, max_bytes: int) -> str:
    """Return as much of the beginning of a text as may be stored, up to a space where there is one."""
    written = text.encode(errors="replace")
    if len(written) <= max_bytes:
        return text
    cut = written[:max_bytes].decode(errors="ignore")
    return cut.rsplit(None, 1)[0] if " " in cut else cut


# Store or remove a document, and let what is remembered of it follow.
#
# The text of a document goes through admission like every statement, but is not settled against its
# neighbors: two documents stay two, and a program that changes its data overwrites one of them, which
# corrects the memory. Only what the document store itself has made, and no other document points to, is
# corrected or forgotten with a document. What admission refuses stays a document, unremembered.

PRUNE_ACTOR = Actor(name="shelf", kind=ActorKind.RULE)
REMOVED_REASON = "its document was removed"
EXPIRED_REASON = "its document has expired"
OVERWRITTEN_REASON = "its document was overwritten"
ENDS_WITH = "it ends with its last document"


class DocumentWrite(Struct, kw_only=True):
    """One write to the document store, and the turns that were heard in it."""

    tx: Transaction
    pipeline: WritePipeline
    actor: Actor
    now: datetime
    heard: list[Turn] = field(default_factory=list)
    is_all_embedded: bool = True

    @property
    def _writer(self) -> MemoryWriter:
        return MemoryWriter(self.tx, self.actor, self.now)

    def put(self, ready: PreparedDocument) -> Document:
        """Put a document in place of what lies under its key."""
        putting, scope = ready.putting, ready.scope
        turn = self._observe_turn(ready)
        old = self._under(putting.key, ready)
        memory_id = self._resolve_memory(ready, old)
        key = (memory_id or new_id(self.now)) if putting.key is None else putting.key
        old = old or self._under(key, ready)
        _refuse_mask(ready.value, old)
        item = self.tx.documents.put(
            putting.place,
            key,
            ready.value,
            scope=scope,
            now=self.now,
            memory_id=memory_id,
            turn_id=None if turn is None else turn.id,
            lifetime=putting.lifetime,
        )
        self._forget_memory_of(old, OVERWRITTEN_REASON)
        self.align(item.memory_id, scope)
        self._note(Action.SHELVE, item, {} if ready.refusal is None else {"refused": ready.refusal})
        return item

    def remove(self, removing: RemoveDocument, scope: Scope) -> Document | None:
        """Take a document from the document store, and forget what was made of it."""
        item = self.tx.documents.get_any(removing.place, removing.key, scope=scope)
        if item is not None:
            self.drop([item], REMOVED_REASON)
        return item

    def drop(self, items: Sequence[Document], reason: str) -> None:
        """Take documents from the document store, and forget what was made of them."""
        self.tx.documents.drop([item.id for item in items])
        for item in items:
            self._forget_memory_of(item, reason)
            self._note(Action.UNSHELVE, item, {})

    def unsay(self, item: Document) -> None:
        """Take the message of a document back: the turn, and what was read out of it alone."""
        turn = None if item.turn_id is None else self.tx.turns.get(item.turn_id, scope=item.scope)
        self.drop([item], TAKEN_BACK)
        if turn is None:
            return
        unlearn_turn(self._writer, turn, reason=TAKEN_BACK, is_wish=False)

    def prune(self, *, limit: int) -> int:
        """Take documents away whose time is over, and return how many."""
        items = self.tx.documents.expired(self.now, limit=limit)
        if items:
            by_rule = DocumentWrite(tx=self.tx, pipeline=self.pipeline, actor=PRUNE_ACTOR, now=self.now)
            by_rule.drop(items, EXPIRED_REASON)
        return len(items)

    def align(self, memory_id: MemoryId | None, scope: Scope) -> None:
        """Let a memory that the document store has made end with the last of its documents."""
        memory = None if memory_id is None else self.tx.memories.get(memory_id, scope=scope)
        if memory is None or not _is_document_memory(memory):
            return
        ends = [item.expires_at for item in self.tx.documents.pointing_to(memory.id)]
        dated = [end for end in ends if end is not None]
        last = max(dated) if dated and len(dated) == len(ends) else None
        self._writer.update(memory, Action.SHELVE, reason=ENDS_WITH, forget_after=last)

    def _under(self, key: str | None, ready: PreparedDocument) -> Document | None:
        """Return what lies where a document is to be put."""
        return None if key is None else self.tx.documents.get_any(ready.putting.place, key, scope=ready.scope)

    def _observe_turn(self, ready: PreparedDocument) -> Turn | None:
        said = ready.putting.said
        if said is None or not clean(said.content) or not is_text(said.content):
            return None
        turn = observe(
            fit_text(said.content, self.pipeline.policy.max_turn_bytes),
            role=said.role,
            speaker=said.speaker,
            session=said.session,
            occurred_at=None,
            scope=ready.scope,
            store=self.pipeline.store,
            policy=self.pipeline.policy,
            actor=self.actor,
            now=self.now,
        )
        self.heard.append(turn)
        return turn

    def _resolve_memory(self, ready: PreparedDocument, old: Document | None) -> MemoryId | None:
        """Return the memory that stands for a document from now on: the same, a corrected, a new one."""
        if ready.putting.memory_id is not None:
            return find(self.tx, ready.putting.memory_id, ready.scope).id
        if ready.prepared is None:
            return None
        (candidate,) = ready.prepared.candidates
        known = self._memory_of(old)
        if known is not None and known.status.is_indexed and _says_text(known, candidate.memory):
            return known.id  # no new evidence, also where someone has corrected it since
        admission = self._admit(ready.prepared, None if old is None else self._obsolete_memory(known, old))
        self.is_all_embedded &= admission.is_embedded
        return None if admission.is_withheld else admission.memory.id

    def _admit(self, prepared: Prepared, leaving: Memory | None) -> Admission:
        """Store a statement, in the place of one that leaves with its document."""
        if leaving is None:
            (admission,) = save(self.tx, prepared, self.pipeline, actor=self.actor, now=self.now)
            return admission
        return put_in_place(
            self.tx,
            leaving,
            _as_new_version(leaving, prepared),
            self.pipeline,
            reason=OVERWRITTEN_REASON,
            actor=self.actor,
            now=self.now,
        )

    def _memory_of(self, item: Document | None) -> Memory | None:
        if item is None or item.memory_id is None:
            return None
        return self.tx.memories.get(item.memory_id, scope=item.scope)

    def _obsolete_memory(self, memory: Memory | None, item: Document) -> Memory | None:
        """Return a memory that is the document store's own and that no other document points to."""
        if memory is None or memory.status.is_terminal or not _is_document_memory(memory):
            return None
        others = [one for one in self.tx.documents.pointing_to(memory.id) if one.id != item.id]
        return None if others else memory

    def _forget_memory_of(self, item: Document | None, reason: str) -> None:
        """Forget what was made of a document that is gone or says something else now."""
        memory = self._memory_of(item)
        if memory is None or item is None or self.tx.documents.pointing_to(memory.id):
            return
        if self._obsolete_memory(memory, item) is not None:
            self._forget(memory, reason)

    def _forget(self, memory: Memory, reason: str) -> None:
        self._writer.set_status(memory, Status.FORGOTTEN, action=Action.FORGET, reason=reason)

    def _note(self, action: Action, item: Document, more: Mapping[str, str]) -> None:
        made = {"memory": item.memory_id, "turn": item.turn_id}
        detail = {**{name: one for name, one in made.items() if one is not None}, **more}
        target = f"shelf:{item.id}"
        self.tx.audit.add(
            AuditEvent(
                at=self.now, action=action, actor=self.actor, scope=item.scope, target=target, detail=detail
            )
        )


def _is_document_memory(memory: Memory) -> bool:
    """Return whether the document store has made a memory, and no one else vouches for it."""
    return memory.extractor == DOCUMENT_EXTRACTOR and not memory.provenance.turns and not memory.pinned


def _says_text(memory: Memory, new: Memory) -> bool:
    """Return whether a memory has the words that are put now; a document put again says nothing new."""
    mine, theirs = (fingerprint(one.content, speaker=one.provenance.speaker) for one in (memory, new))
    return mine == theirs


def _as_new_version(old: Memory, prepared: Prepared) -> Prepared:
    """Return the statement that was prepared as a new version of an old one."""
    (candidate,) = prepared.candidates
    memory = candidate.memory.evolve(
        supersedes=old.id,
        version=old.version + 1,
        layer=old.layer,
        layer_held=old.layer_held,
        importance=max(old.importance, candidate.memory.importance),
    )
    return replace(prepared, candidates=[replace(candidate, memory=memory)])
