"""
The resources: what a client may put before a conversation without the model asking.

Listed by `server`; each reads the engine and answers with lines, as the tools do. The profile is what
holds about the people of this scope until somebody says otherwise; today is what came in since midnight,
local time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from engram.surfaces.mcp.render import listed
from engram.surfaces.mcp.tools import gaps, status
from engram.values import Filters, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.surfaces.mcp.tool import Visit
    from engram.values import Memory

ABOUT_PEOPLE: Final = frozenset(
    {"preference", "instruction", "principle", "person", "relationship", "commitment", "skill", "entity"}
)
"""The categories of statements that say who somebody is and how they want to be dealt with."""
_LOOKED_AT = 300
_PROFILE_LINES = 40
_DAY_LINES = 100
_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource."""

    uri: str
    description: str
    reads: Callable[[Visit], str]

    @property
    def name(self) -> str:
        """The last word of the address."""
        return self.uri.rpartition("/")[2]


def profile(visit: Visit) -> str:
    """Return what holds about the people of this scope, pinned and important things first."""
    wanted = Filters(categories=ABOUT_PEOPLE, kinds=frozenset({Kind.NOTE}))
    found = [one for one in visit.engram.list(limit=_LOOKED_AT, filters=wanted) if not one.flags]
    best = sorted(found, key=_weight, reverse=True)[:_PROFILE_LINES]
    return listed(best) or "Nothing is known yet about preferences, people or standing wishes."


def today(visit: Visit) -> str:
    """Return memories of what was said or happened since midnight, newest first."""
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    found = visit.engram.list(limit=_DAY_LINES, filters=Filters(since=midnight.astimezone(UTC)))
    return listed(found) or "Nothing of today is remembered."


def questions(visit: Visit) -> str:
    """Return what should be known and is not."""
    return gaps.in_words(visit.engram.gaps(limit=_QUESTIONS))


def state(visit: Visit) -> str:
    """Return how the memory fares."""
    return status.in_words(visit.engram.status())


def _weight(memory: Memory) -> tuple[bool, float]:
    return memory.pinned, memory.importance * memory.confidence


RESOURCES: Final = (
    Resource("engram://profile", "Preferences, people and standing wishes that are known.", profile),
    Resource("engram://today", "Memories of today.", today),
    Resource("engram://gaps", "Open questions: missing facts, contradictions, old beliefs.", questions),
    Resource("engram://status", "How the memory fares: counts, what waits, what fails.", state),
)
