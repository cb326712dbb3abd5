"""Stores to dream over: statements put in as they are, and everything that a store holds, to compare."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Settings
from engramdb.dream.run import DreamRunner, select_steps
from engramdb.dream.step import Dreaming
from engramdb.models.calibration import Likeness
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.policy import PRESETS
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.text.normalize import fingerprint
from engramdb.text.relations import read_statement
from engramdb.text.terms import index_terms
from engramdb.values import GLOBAL, Filters, Memory, Provenance, Scope, Status, new_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engramdb.store.contract import Store, Transaction

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANY = frozenset(Status)
LIKENESS = Likeness(StatementEmbedder(StaticEmbedder()))


def opened(path: Path, *, policy: str = "balanced", clock: ManualClock | None = None, **dream: Any) -> Engram:
    """A memory without background threads, with these numbers of the dream in place of the preset's."""
    settings = Settings(policy=policy, durability="relaxed", overrides={"dream": dream} if dream else {})
    clock = clock or ManualClock(NOW)
    return Engram.open(path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False)


def keep(engram: Engram, content: str, *, at: datetime = NOW, **fields: Any) -> Memory:
    """Store a statement as it is, past the write pipeline, which would take some of them for one."""
    return put(engram._parts.store, content, at=at, **fields)


def put(store: Store, content: str, *, at: datetime = NOW, **fields: Any) -> Memory:
    """Put a statement into a store that nobody has opened an Engram over."""
    made: Provenance = fields.setdefault("provenance", Provenance())
    found = read_statement(content, speaker=made.speaker)
    if found is not None:
        said = {"subject": found.subject, "predicate": found.predicate, "object": found.object}
        fields = {**said, **fields}
    memory = Memory(id=new_id(at), content=content, created_at=at, updated_at=at, **fields)
    with store.atomic() as tx:
        key = tx.memories.add(memory, fingerprint=fingerprint(content, speaker=made.speaker))
        tx.terms.put(key, index_terms(memory))
        tx.memories.mark_enriched(key)
    return memory


def runner(
    store: Store, *, policy: str = "balanced", steps: Sequence[str] | None = None, **options: Any
) -> DreamRunner:
    """What a dream over a bare store works with: opening a whole Engram would take most of a test's time."""
    return DreamRunner(
        dreaming=Dreaming(
            store=store,
            policy=PRESETS[policy],
            now=NOW,
            since=None,
            likeness=LIKENESS,
        ),
        steps=select_steps(steps),
        policy_name=policy,
        clock=lambda: NOW,
        **options,
    )


def every(engram: Engram, scope: Scope = GLOBAL) -> dict[str, Memory]:
    """All memories that a scope sees, in any status, by id."""
    return stored(engram._parts.store, scope)


def stored(store: Store, scope: Scope = GLOBAL) -> dict[str, Memory]:
    """The same of a bare store."""
    with store.read() as tx:
        found = tx.memories.list(scope=scope, filters=Filters(statuses=ANY), limit=1000, before=None)
    return {one.id: one for one in found}


def active(engram: Engram, scope: Scope = GLOBAL) -> list[str]:
    """What is said and holds, sorted."""
    return sorted(one.content for one in engram.list(limit=1000, scope=scope))


def reading(engram: Engram) -> Any:
    """A snapshot of the store."""
    return engram._parts.store.read()


def status_of(tx: Transaction, memory: Memory) -> Status:
    """Where a memory stands now."""
    current = tx.memories.get(memory.id, scope=memory.scope)
    assert current is not None
    return current.status
