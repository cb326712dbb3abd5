"""The write pipeline: every memory from every way in goes through here."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import (
    EmbeddingError,
    EngramError,
    MemoryChanged,
    SecurityError,
    StatementForgotten,
    StatusNotAllowed,
)
from engramdb.lifecycle.candidates import Candidate, as_stated_by, candidate
from engramdb.lifecycle.change import find_own
from engramdb.lifecycle.displaced import reinstate_displaced
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.forgotten import (
    ForgottenStatements,
    Recognition,
    Returning,
    Wordings,
    without_forgotten,
)
from engramdb.lifecycle.guard import may_replace
from engramdb.lifecycle.neighbors import FindsByWords, JudgesPairs, NeighborIndex, ask_judge, gather
from engramdb.lifecycle.pair_rules import may_doubt, may_settle
from engramdb.lifecycle.screening import JudgesHostility, Screen
from engramdb.lifecycle.settle import Neighbor
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.lifecycle.write import (
    Admission,
    AdmissionOutcome,
    Write,
    challenge,
    refuse_forgotten,
    store_candidate,
)
from engramdb.models.calibration import Likeness
from engramdb.policy import CapturePolicy, DreamPolicy
from engramdb.settings import DateOrder
from engramdb.store.contract import Store, Transaction
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    EdgeType,
    EmbedderIdentity,
    Memory,
    MemoryId,
    Outcome,
    Provenance,
    Scope,
    Source,
    Status,
)
from engramdb.values.memory import DOCUMENT_EXTRACTOR
from engramdb.vault.finding import FindsPersonalData
from engramdb.vault.indexing import passage

NEAR_SHARE = 0.25
OBJECTED = "an agent says otherwise"
MAX_JUDGING_SECONDS = 0.05
"""After so long a write asks no judge any more; what is left is judged in the background. A question that is
under way is waited for: a chat model's one, or a pair of 8 ms."""
MAX_PREPARATIONS = 3
"""After so many a write looks again itself: whoever forgets in a loop must not keep others from writing."""


class EmbedsTexts(Protocol):
    """The part of an embedder that the write pipeline needs."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    @property
    def similarity_floor(self) -> float: ...
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]: ...
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class WritePipeline(Struct, frozen=True, kw_only=True):
    """What the write pipeline needs to do its work."""

    store: Store
    embedder: EmbedsTexts
    index: NeighborIndex
    likeness: Likeness
    policy: CapturePolicy
    judge: JudgesPairs | None = None
    """What is asked beside the rules, where there is something stronger."""
    words: FindsByWords | None = None
    """What finds memories by rare words that they share with a statement, for the judge."""
    forgotten: ForgottenStatements | None = None
    """What knows what must not come back."""
    merging: DreamPolicy = DreamPolicy()
    """How what a judge finds repeated is merged."""
    date_order: DateOrder = "auto"
    """How a date in digits is read."""
    hostility: JudgesHostility | None = None
    """What is asked beside the patterns whether a text tries to steer a later agent."""

    personal: FindsPersonalData | None = None
    """What is asked beside the rules which words of a text are private."""

    @property
    def screen(self) -> Screen:
        """What tells attempts to steer an agent from statements, and private words from others."""
        return Screen(self.policy, self.hostility, self.personal)


class Prepared(Struct, frozen=True):
    """Candidates, and by place the vectors and neighbors of those that seemed new."""

    candidates: list[Candidate]
    identity: EmbedderIdentity | None = None
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)
    neighbors: dict[int, list[Neighbor]] = field(default_factory=dict)
    far: dict[int, int] = field(default_factory=dict)
    """How many of the nearest memories were too far to look at."""
    siblings: dict[int, dict[int, float]] = field(default_factory=dict)
    """How alike a candidate is to earlier ones of its scope, by their places, where that is worth a look."""
    unjudged: frozenset[int] = frozenset()
    """The places of candidates that are to be judged later."""
    forgotten: dict[int, Recognition] = field(default_factory=dict)
    """What somebody had forgotten, by the places of candidates that say it."""
    forgotten_stamp: tuple[int, str] = (0, "")
    """Until when forgetting was looked at."""


def admit(
    drafts: Sequence[Draft],
    pipeline: WritePipeline,
    *,
    actor: Actor,
    now: datetime,
    enrich: bool = True,
    is_explicit: bool = False,
) -> list[Admission]:
    """
    Store all drafts in one write, in their order; if one is not valid, raises and writes none.

    What somebody had forgotten is withheld, unless a person states it outright (`is_explicit`). Without
    `enrich`, as for bulk, what is inferred from the words is left to `enrich_pending`, and neighbors are
    looked for by relation and not by likeness.
    """
    ready = prepared_write(pipeline, lambda: prepare(drafts, pipeline, now=now, enrich=enrich, actor=actor))
    with ready as (tx, prepared):
        return save(tx, prepared, pipeline, actor=actor, now=now, is_explicit=is_explicit)


@contextmanager
def prepared_write(
    pipeline: WritePipeline, prepare_again: Callable[[], Prepared]
) -> Iterator[tuple[Transaction, Prepared]]:
    """
    Prepare outside, then open a write; where something was forgotten in between, leave it and begin again.

    A write holds up everybody else, so nothing is embedded or judged in it.
    """
    for left in reversed(range(MAX_PREPARATIONS)):
        prepared = prepare_again()
        with pipeline.store.atomic() as tx:
            if _is_current(tx, prepared) or not left:
                yield tx, prepared
                return


def _is_current(tx: Transaction, prepared: Prepared) -> bool:
    """Return whether nothing was forgotten, or came back, since the candidates were looked at."""
    return tx.forgotten.stamp() == prepared.forgotten_stamp


def prepare(
    drafts: Sequence[Draft],
    pipeline: WritePipeline,
    *,
    now: datetime,
    leaving: MemoryId | None = None,
    enrich: bool = True,
    most_siblings: int | None = None,
    on_rejection: Callable[[EngramError], None] | None = None,
    actor: Actor | None = None,
) -> Prepared:
    """
    Check the drafts, embed what is not stored yet and find what is near it.

    A memory that is `leaving` in the same write counts as not stored. With `most_siblings` a draft is settled
    against so many of its own batch, the most alike. A draft that may not enter raises, or goes to
    `on_rejection` where that is given, and the others go on. What an agent (`actor`) brings is not
    taken for a person's own words, whatever source it names.
    """
    found = _candidates(drafts, pipeline, now=now, enrich=enrich, on_rejection=on_rejection, actor=actor)
    candidates = list(found)
    with pipeline.store.read() as tx:
        candidates, recognized, stamp = _recognized(tx, candidates, pipeline)
    prepared = _prepared(candidates, pipeline, leaving=leaving, enrich=enrich, most_siblings=most_siblings)
    return replace(prepared, forgotten=recognized, forgotten_stamp=stamp)


def _prepared(
    candidates: list[Candidate],
    pipeline: WritePipeline,
    *,
    leaving: MemoryId | None,
    enrich: bool,
    most_siblings: int | None,
) -> Prepared:
    """Embed what is not stored yet and find what is near it."""
    places = _novel(candidates, pipeline.store, leaving)
    if not places:
        return Prepared(candidates)
    identity, vectors = _embed([candidates[place] for place in places], pipeline)
    by_place = dict(zip(places, vectors, strict=False))
    if not pipeline.policy.settles:
        return Prepared(candidates, identity, by_place)
    settling = {place: candidates[place] for place in places if may_settle(candidates[place].memory)}
    with pipeline.store.read() as tx:
        neighbors, far = gather(
            tx,
            settling,
            {place: row for place, row in by_place.items() if place in settling} if enrich else {},
            index=pipeline.index,
            floor=near_floor(pipeline.embedder.similarity_floor),
            likeness=pipeline.likeness,
            words=pipeline.words if pipeline.judge is not None and enrich else None,
        )
    neighbors, unjudged = _judged(candidates, neighbors, pipeline, at_once=enrich)
    siblings = _siblings(candidates, pipeline, most=most_siblings)
    if pipeline.judge is not None:
        unjudged |= siblings.keys() | {place for place in places if may_doubt(candidates[place].memory)}
    return Prepared(candidates, identity, by_place, neighbors, far, siblings, frozenset(unjudged))


def _recognized(
    tx: Transaction, candidates: list[Candidate], pipeline: WritePipeline
) -> tuple[list[Candidate], dict[int, Recognition], tuple[int, str]]:
    """Return what the candidates say of all that was forgotten, and them without words that lean on it."""
    known, stamp = pipeline.forgotten, tx.forgotten.stamp()
    if known is None or not stamp[0] or not candidates:
        return candidates, {}, stamp
    bare = [without_forgotten(tx, one, known) for one in candidates]
    found = known.recognize(tx, [Wordings.of(one.memory) for one in bare])
    return bare, {place: one for place, one in enumerate(found) if one is not None}, stamp


def _recognized_again(tx: Transaction, prepared: Prepared, pipeline: WritePipeline) -> Prepared:
    """Return what was prepared, by what is forgotten now; a vector of words that are gone is made later."""
    bare, recognized, stamp = _recognized(tx, prepared.candidates, pipeline)
    same = {place for place, one in enumerate(bare) if one is prepared.candidates[place]}
    vectors = {place: row for place, row in prepared.vectors.items() if place in same}
    return replace(prepared, candidates=bare, vectors=vectors, forgotten=recognized, forgotten_stamp=stamp)


def _judged(
    candidates: Sequence[Candidate],
    neighbors: dict[int, list[Neighbor]],
    pipeline: WritePipeline,
    *,
    at_once: bool,
) -> tuple[dict[int, list[Neighbor]], set[int]]:
    """Ask the judge, where there is one, as long as a write may wait; return whose turn comes later."""
    if pipeline.judge is None:
        return neighbors, set()
    if not at_once:
        return neighbors, set(neighbors)
    until = time.monotonic() + MAX_JUDGING_SECONDS
    found: dict[int, list[Neighbor]] = {}
    later: set[int] = set()
    for place, near in neighbors.items():
        left = until - time.monotonic()
        found[place], is_done = near, False
        if left > 0:
            memory = candidates[place].memory
            found[place], is_done = ask_judge(memory, near, pipeline.judge, pipeline.policy, seconds=left)
        if not is_done:
            later.add(place)
    return found, later


def save(
    tx: Transaction,
    prepared: Prepared,
    pipeline: WritePipeline,
    *,
    actor: Actor,
    now: datetime,
    is_explicit: bool = False,
    is_objection: bool = False,
) -> list[Admission]:
    """Settle and write the candidates, each against the store and against those before it."""
    writer = MemoryWriter(tx, actor, now)
    has_judge = pipeline.judge is not None
    write = Write(writer, pipeline.policy, pipeline.likeness, pipeline.merging, has_judge, is_objection)
    returning = Returning(tx, pipeline.forgotten, actor=actor, is_explicit=is_explicit)
    prepared = prepared if _is_current(tx, prepared) else _recognized_again(tx, prepared, pipeline)
    admissions = []
    for place, prepared_one in enumerate(prepared.candidates):
        one = as_stated_by(prepared_one, actor)
        found = prepared.forgotten.get(place)
        entering = one if found is None else returning.admitted(one, found)
        if entering is None:
            admissions.append(_withheld(writer, one, found))
            continue
        admissions.append(
            store_candidate(
                write,
                entering,
                place,
                neighbors=prepared.neighbors.get(place, []),
                far=prepared.far.get(place, 0),
                siblings=prepared.siblings.get(place, {}),
                vector=prepared.vectors.get(place),
                is_judged=place not in prepared.unjudged,
            )
        )
        if len(prepared.candidates) > 1:
            tx.acts.end()  # each statement can be undone by itself
    if write.vectors and prepared.identity is not None:
        writer.embed(prepared.identity, list(write.vectors), np.stack(list(write.vectors.values())))
    return admissions


def _withheld(writer: MemoryWriter, one: Candidate, found: Recognition | None) -> Admission:
    """Note that a draft was not stored because the person had asked to forget what it says."""
    writer.tx.audit.add(
        AuditEvent(
            at=writer.now,
            action=Action.REJECT,
            actor=writer.actor,
            scope=one.memory.scope,
            outcome=Outcome.DENIED,
            detail={"code": StatementForgotten.code},
        )
    )
    at = None if found is None else found.at
    return Admission(one.memory, AdmissionOutcome.WITHHELD, forgotten_at=at)


def near_floor(similarity_floor: float) -> float:
    """Return the cosine from which a neighbor is worth reading: some way up from unrelated to the same."""
    return similarity_floor + NEAR_SHARE * (1 - similarity_floor)


def _candidates(
    drafts: Sequence[Draft],
    pipeline: WritePipeline,
    *,
    now: datetime,
    enrich: bool,
    on_rejection: Callable[[EngramError], None] | None,
    actor: Actor | None,
) -> Iterator[Candidate]:
    for draft in drafts:
        try:
            yield candidate(
                draft,
                pipeline.policy,
                now=now,
                enrich=enrich,
                date_order=pipeline.date_order,
                screen=pipeline.screen,
                actor=actor,
            )
        except SecurityError as exc:
            if on_rejection is None:
                raise
            on_rejection(exc)


def _novel(candidates: Sequence[Candidate], store: Store, leaving: MemoryId | None) -> list[int]:
    """Return the places of candidates that neither the store nor an earlier candidate holds."""
    first: defaultdict[Scope, dict[bytes, int]] = defaultdict(dict)
    for place, one in enumerate(candidates):
        first[one.memory.scope].setdefault(one.fingerprint, place)
    places: list[int] = []
    with store.read() as tx:
        for scope, marks in first.items():
            twins = tx.memories.active_twins(list(marks), scope=scope)
            places += [place for mark, place in marks.items() if twins.get(mark, leaving) == leaving]
    return sorted(places)


def _siblings(
    candidates: Sequence[Candidate], pipeline: WritePipeline, *, most: int | None
) -> dict[int, dict[int, float]]:
    """Return how alike the candidates are to the nearest of those before them, in one comparison for all."""
    if len(candidates) < 2:
        return {}
    alike = pipeline.likeness.within([one.memory.told for one in candidates])
    numbers: dict[Scope, int] = {}
    homes = np.array([numbers.setdefault(one.memory.scope, len(numbers)) for one in candidates])
    settles = np.array([may_settle(one.memory) for one in candidates])
    is_near = np.tril(alike > pipeline.policy.link_above, k=-1) & (homes[:, None] == homes)
    is_near &= settles[:, None] & settles
    found = {}
    for place in np.flatnonzero(is_near.any(axis=1)).tolist():
        earlier = np.flatnonzero(is_near[place])
        if most is not None:
            earlier = earlier[np.argsort(-alike[place, earlier], kind="stable")[:most]]
        found[place] = dict(zip(earlier.tolist(), alike[place, earlier].tolist(), strict=True))
    return found


def _embed(
    candidates: Sequence[Candidate], pipeline: WritePipeline
) -> tuple[EmbedderIdentity | None, Sequence[NDArray[np.float32]]]:
    try:
        rows = pipeline.embedder.embed_documents([passage(one.memory) for one in candidates])
        return pipeline.embedder.identity, list(rows)
    except EmbeddingError:  # counted by the engine, shown by `status` and by every recall until mended
        return None, []


# A statement in the place of another one.


def correct(
    memory_id: MemoryId,
    text: str,
    pipeline: WritePipeline,
    *,
    scope: Scope,
    reason: str,
    actor: Actor,
    now: datetime,
    reinstate: bool = False,
    expected_version: Memory | None = None,
    is_explicit: bool = False,
) -> Admission:
    """
    Put a new statement in the place of an old one, which stays in the history, and return the new.

    With `reinstate`, what the old one had displaced counts again. What is pinned or about health only a
    person replaces: the statement of anybody else is stored beside it, and makes it disputed.
    Raises `StatementForgotten`, and the old one stays, where it says what was forgotten; see `admit`.
    """
    with pipeline.store.read() as tx:
        old = find_own(tx, memory_id, scope, expected_version=expected_version)
    is_objection = not may_replace(old, actor)
    draft = replacement(old, text, now)
    draft = objection(draft) if is_objection else draft
    ready = prepared_write(
        pipeline, lambda: prepare([draft], pipeline, now=now, leaving=memory_id, actor=actor)
    )
    with ready as (tx, prepared):
        old = find_own(tx, memory_id, scope, expected_version=expected_version)
        if old.status.is_terminal:
            raise StatusNotAllowed(f"memory {memory_id} is {old.status} and cannot be corrected")
        if may_replace(old, actor) is is_objection:
            raise MemoryChanged(f"memory {memory_id} was pinned, or is no longer, since it was looked at")
        if reinstate and not is_objection:
            reinstate_displaced(MemoryWriter(tx, actor, now), old)
        put = put_beside if is_objection else put_in_place
        admission = put(
            tx, old, prepared, pipeline, reason=reason, actor=actor, now=now, is_explicit=is_explicit
        )
        refuse_forgotten([admission])  # with all that was done for it
        return admission


def renew(
    old: Memory, draft: Draft, pipeline: WritePipeline, *, reason: str, actor: Actor, now: datetime
) -> Admission:
    """Put a newer version in the place of a memory that somebody else may have changed meanwhile."""
    newer = replace(draft, pinned=old.pinned, supersedes=old.id, version=old.version + 1)
    ready = prepared_write(pipeline, lambda: prepare([newer], pipeline, now=now, leaving=old.id, actor=actor))
    with ready as (tx, prepared):
        still = find_own(tx, old.id, old.scope)
        if still.status.is_terminal:  # then there is nothing to take the place of
            (admission,) = save(tx, prepared, pipeline, actor=actor, now=now)
            return admission
        return put_in_place(tx, still, prepared, pipeline, reason=reason, actor=actor, now=now)


def put_in_place(
    tx: Transaction,
    old: Memory,
    prepared: Prepared,
    pipeline: WritePipeline,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    is_explicit: bool = False,
) -> Admission:
    """Store the one statement that was prepared where an old one stood; if it is withheld, that stays."""
    writer = MemoryWriter(tx, actor, now)
    writer.make_way(old)
    (admission,) = save(tx, prepared, pipeline, actor=actor, now=now, is_explicit=is_explicit)
    if admission.is_withheld:
        writer.stand_again(old)
        return admission
    is_known = admission.outcome is AdmissionOutcome.REINFORCED  # it may have begun long ago
    until = max(now, old.holds_from) if is_known else None
    writer.supersede(old, admission.memory, action=Action.CORRECT, reason=reason, until=until)
    return admission


def put_beside(
    tx: Transaction,
    old: Memory,
    prepared: Prepared,
    pipeline: WritePipeline,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    is_explicit: bool = False,
) -> Admission:
    """Store the one statement that was prepared and let it dispute an old one, unless it is withheld."""
    writer = MemoryWriter(tx, actor, now)
    writer.make_way(old)
    (admission,) = save(
        tx, prepared, pipeline, actor=actor, now=now, is_explicit=is_explicit, is_objection=True
    )
    writer.stand_again(old)
    if admission.is_withheld:
        return admission
    if old.status is Status.ACTIVE:
        challenge(writer, old, by=admission.memory, reason=reason or OBJECTED, chance=1.0)
    else:
        writer.link(admission.memory, old, EdgeType.CONTRADICTS)
    return replace(admission, disputed=old.id)


def objection(draft: Draft) -> Draft:
    """Return what would take the place of a memory as what somebody states who may not replace it."""
    said = Provenance(source=Source.ASSISTANT)  # confidence follows from it
    return replace(draft, provenance=said, pinned=False, supersedes=None, version=1)


def replacement(old: Memory, text: str, now: datetime) -> Draft:
    """Return a draft of the new statement that keeps what the correction does not touch."""
    return Draft(
        content=text,
        scope=old.scope,
        layer=old.layer,
        type=old.type,
        category=old.category,
        kind=old.kind,
        provenance=old.provenance,
        # The moment of the old words goes with them; one that somebody gave stays.
        occurred_at=None if any(one.start == old.occurred_at for one in old.moments) else old.occurred_at,
        said_at=now,
        # A document ends, but not what somebody has put in the place of what it says.
        forget_after=None if old.extractor == DOCUMENT_EXTRACTOR else old.forget_after,
        importance=old.importance,
        pinned=old.pinned,
        supersedes=old.id,
        version=old.version + 1,
    )
