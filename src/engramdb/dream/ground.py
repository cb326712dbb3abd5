"""
What a dream may build on, and what earlier dreams have built.

Asked by every step that states something new. Ground is what was stated and stands: not what a dream made,
or it would feed on itself; not what reads like an attack; not a secret, which is repeated nowhere. What a
person took away is never stated again, and what lost a source is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from engramdb.dream.step import Derive, Dreaming, Restatus, Skipped
from engramdb.store.contract import Transaction
from engramdb.store.contract.capture import DreamFilter
from engramdb.text.normalize import clean, fingerprint
from engramdb.values import ActorKind, Memory, MemoryId, Scope, SecurityTier, Status

PAGE_ROWS = 500
"""Memories read in one snapshot: a few milliseconds."""

_UNDONE = frozenset(
    {Status.FORGOTTEN, Status.ERASED, Status.INVALIDATED, Status.SUPERSEDED, Status.CHALLENGED}
)
"""Statuses of a source that pull away what rests on it; what was only archived or merged still holds."""


class EarlierDerivation(Struct, frozen=True):
    """Something that a step stated before."""

    memory: Memory
    sources: frozenset[MemoryId]
    has_lost_source: bool
    """Whether a source of it no longer holds."""
    repeats_itself: bool
    """Whether two of its sources have become one since: it says twice what is one statement."""
    is_refused: bool
    """Whether a person or agent, not a rule, took it away."""

    @property
    def is_active(self) -> bool:
        """Whether it is active."""
        return self.memory.status is Status.ACTIVE

    @property
    def is_shaken(self) -> bool:
        """Whether it no longer says what its sources say."""
        return self.has_lost_source or self.repeats_itself

    @property
    def was_withdrawn(self) -> bool:
        """Whether a rule took it back because its ground was gone."""
        return self.memory.status in (Status.INVALIDATED, Status.PRUNED) and not self.is_refused

    @property
    def is_replaceable(self) -> bool:
        """Whether a step may put a new version in its place: a pinned one stays as it is."""
        return self.is_active and not self.memory.pinned


def is_usable_source(memory: Memory) -> bool:
    """Return whether something may be concluded from a memory."""
    return (
        memory.status is Status.ACTIVE
        and memory.security is not SecurityTier.CONFIDENTIAL
        and not memory.is_suspicious
        and not memory.is_derived
    )


def scopes_to_visit(dreaming: Dreaming, *, changed: bool = False) -> list[Scope]:
    """Return the scopes to look at; with `changed`, those in which anything has changed since last time."""
    with dreaming.store.read() as tx:
        every = dreaming.among(tx.dream_reads.scopes())
        if not changed or not dreaming.cursor:
            return every
        return [scope for scope in every if tx.dream_reads.has_changed(scope, since=dreaming.cursor)]


def usable_statements(
    dreaming: Dreaming, scope: Scope, matching: DreamFilter | None = None
) -> Iterator[tuple[int, Memory]]:
    """Yield what may be built on in a scope, with its key, a page to a snapshot, the oldest first."""
    after = 0
    while True:
        if dreaming.is_stopped():  # asked before every page, which also shows that the run is alive
            raise Skipped("stopped before its end")
        with dreaming.store.read() as tx:
            page = tx.dream_reads.page(
                scope=scope, matching=matching or DreamFilter(), after_key=after, limit=PAGE_ROWS
            )
        yield from ((key, memory) for key, memory in page.items() if is_usable_source(memory))
        if len(page) < PAGE_ROWS:
            return
        after = max(page)


def usable_by_key(tx: Transaction, keys: Sequence[int]) -> dict[int, Memory]:
    """Return those of these memories that may be built on, by key, in the order of the keys."""
    found = tx.memories.by_keys(keys)
    return {key: found[key] for key in keys if key in found and is_usable_source(found[key])}


def earlier_derivations(dreaming: Dreaming, maker: str, scope: Scope) -> list[EarlierDerivation]:
    """Return what makers whose name begins so have stated in a scope, oldest first."""
    with dreaming.store.read() as tx:
        return [
            EarlierDerivation(
                made.memory,
                frozenset(made.sources),
                has_lost_source=any(status in _UNDONE for status in made.sources.values()),
                repeats_itself=_has_merged_pair(tx, made.sources, scope),
                is_refused=_is_refused(tx, made.memory),
            )
            for made in tx.dream_reads.derived_by(maker, scope=scope)
        ]


def _has_merged_pair(tx: Transaction, sources: Mapping[MemoryId, Status], scope: Scope) -> bool:
    """Return whether two of these memories stand for one statement now."""
    if Status.MERGED not in sources.values():
        return False
    heads = [_head(tx, one, scope) if status is Status.MERGED else one for one, status in sources.items()]
    return len(set(heads)) < len(heads)


def _head(tx: Transaction, memory_id: MemoryId, scope: Scope) -> MemoryId:
    """Return the memory that stands for one that was merged, maybe more than once."""
    seen: set[MemoryId] = set()
    while memory_id not in seen:
        seen.add(memory_id)
        found = tx.memories.get(memory_id, scope=scope)
        if found is None or found.status is not Status.MERGED or found.superseded_by is None:
            break
        memory_id = found.superseded_by
    return memory_id


def find_stored(dreaming: Dreaming, new: Derive) -> Memory | None:
    """Return the memory that says now what a step has proposed to state, if there is one."""
    speakers = {one.provenance.speaker for one in new.sources}
    mark = fingerprint(clean(new.content), speaker=speakers.pop() if len(speakers) == 1 else None)
    with dreaming.store.read() as tx:
        return tx.memories.active_twin(mark, scope=new.sources[0].scope)


def propose_if_changed(proposal: Derive, known: EarlierDerivation | None) -> Derive | None:
    """
    Return what to propose where a step would state something now and knew something before, if anything.

    The same words from the same sources are no news. A version that someone took away, or pinned, is left,
    and so is one that has aged out of use, until something is added to its sources.
    """
    if known is None:
        return proposal
    if known.is_refused or (known.is_active and known.memory.pinned):
        return None
    has_news = not {one.id for one in proposal.sources} <= known.sources
    if known.is_active and known.memory.content != proposal.content:
        return replace(proposal, replaces=known.memory)
    return proposal if has_news or known.was_withdrawn else None


def propose_withdrawals(
    known: Iterable[EarlierDerivation], *, except_ids: Iterable[MemoryId] = ()
) -> Iterator[Restatus]:
    """Yield the withdrawal of what has lost a source or repeats itself, except those in `except_ids`."""
    excepted = set(except_ids)
    for one in known:
        if one.is_replaceable and one.is_shaken and one.memory.id not in excepted:
            lost, repeated = "something that it was made of no longer holds", "what it lists has become one"
            yield Restatus(
                memory=one.memory,
                status=Status.INVALIDATED,
                reason=lost if one.has_lost_source else repeated,
            )


def _is_refused(tx: Transaction, memory: Memory) -> bool:
    if memory.status in (Status.ACTIVE, Status.CHALLENGED):
        return False
    moves = [event for event in tx.history.of(memory.id) if event.new_status is memory.status]
    return bool(moves) and moves[-1].actor.kind is not ActorKind.RULE
