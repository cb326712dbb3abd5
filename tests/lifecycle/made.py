"""
Memories for the tests of aging, and what becomes of them.

Every memory is born at one moment, so that a test says only how much later it asks.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Settings
from engramdb.lifecycle.curves import importance_of, retention_of
from engramdb.lifecycle.rules import STAYS, judge
from engramdb.testing import TinyEmbedder
from engramdb.text.terms import index_terms
from engramdb.values import AccessLog, Affect, Memory, Role, Turn, new_id
from engramdb.values.aging import LAYERS
from engramdb.values.memory import Moment
from engramdb.values.population import population_of, to_microseconds
from engramdb.values.reading import Lasting

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.policy import AgingPolicy
    from engramdb.testing import ManualClock
    from engramdb.values import Layer
    from engramdb.values.population import Population

BORN = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EXTRACTOR = "heuristic-1"


def stated(**fields: Any) -> Memory:
    """A memory that a person asked to remember."""
    return Memory(id=new_id(BORN), content="a statement", created_at=BORN, updated_at=BORN).evolve(**fields)


def extracted(**fields: Any) -> Memory:
    """A memory that was read out of a turn."""
    return stated(**({"extractor": EXTRACTOR} | fields))


def aroused(arousal: float) -> Affect:
    """A feeling of this arousal."""
    return Affect(arousal=arousal)


def promised(*, day: float = 0.0, **fields: Any) -> Memory:
    """A promise that is due so many days after birth, in the memory of who gave it."""
    at = BORN + timedelta(days=day)
    named = Moment(words="that day", start=at - timedelta(days=1), end=at)
    return stated(**({"category": "commitment", "lasting": Lasting.DATED, "moments": (named,)} | fields))


def recalls(count: int, *, days: float = 0.0, sessions: int = 0) -> AccessLog:
    """So many recalls, all of them so many days after birth."""
    at = BORN + timedelta(days=days)
    return AccessLog(count=count, last_at=at, recent=(at,) * min(count, 20), sessions=sessions)


def left(memory: Memory, policy: AgingPolicy, days: float) -> float:
    """How much is left of a memory so many days after birth."""
    return retention_of(memory, policy, BORN + timedelta(days=days))


def matters(memory: Memory, policy: AgingPolicy, days: float) -> float:
    """How important a memory is so many days after birth."""
    return importance_of(memory, policy, BORN + timedelta(days=days)).value


def leaves(memory: Memory | Population, policy: AgingPolicy, after: timedelta) -> str | None:
    """By which rule a memory leaves so long after birth; None while it stays."""
    population = population_of([memory]) if isinstance(memory, Memory) else memory
    verdicts = judge(population, policy, to_microseconds(BORN + after))
    place = int(verdicts.leaving[0])
    return None if place == STAYS else verdicts.rules[place].name


def is_due(rule: str, memory: Memory, policy: AgingPolicy, after: timedelta) -> bool:
    """Whether a rule that chooses would consider a memory so long after birth."""
    verdicts = judge(population_of([memory]), policy, to_microseconds(BORN + after))
    return bool(verdicts.due[rule][0])


def layer_after(memory: Memory, policy: AgingPolicy, after: timedelta) -> Layer:
    """The layer that a memory belongs to so long after birth."""
    verdicts = judge(population_of([memory]), policy, to_microseconds(BORN + after))
    return LAYERS[int(verdicts.layers[0])]


def days(number: float) -> timedelta:
    """So many days."""
    return timedelta(days=number)


def open_aging(path: Path, clock: ManualClock, preset: str, **aging: object) -> Engram:
    """A memory under a preset with some fields of its aging replaced, without threads or disk waits."""
    settings = Settings(policy=preset, overrides={"aging": aging}, durability="relaxed")
    return Engram.open(path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False)


def keep(engram: Engram, *memories: Memory) -> None:
    """Store memories as they are, past the write pipeline, which would decide about them."""
    with engram._parts.store.atomic() as tx:
        for one in memories:
            key = tx.memories.add(one, fingerprint=one.id.encode())
            tx.terms.put(key, index_terms(one))
            tx.memories.mark_enriched(key)


def said(engram: Engram, session: str, *texts: str) -> None:
    """Store turns of a session as they are, so that nothing is read out of them."""
    now = engram._parts.clock.now()
    with engram._parts.store.atomic() as tx:
        for text in texts:
            turn = Turn(
                id=new_id(now), content=text, role=Role.USER, occurred_at=now, created_at=now, session=session
            )
            tx.turns.add(turn)
