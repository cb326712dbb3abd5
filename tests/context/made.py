"""Memories, hits and ways to build a window without a store's help, for the tests of this room."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engramdb.context.budget import Measure
from engramdb.context.build import WindowRequest, WindowSources, build_window
from engramdb.context.sections import StandingMemories
from engramdb.models.capabilities import counter_for
from engramdb.policy import ContextPolicy
from engramdb.text.detail import levels
from engramdb.values import GLOBAL, Hit, Memory, Quality, Query, Recall, Trust

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engramdb.store.contract import Store
    from engramdb.values import Window

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EXACT = counter_for("o200k")
MEASURE = Measure(EXACT)


def memory(content: str, number: int = 0, **fields: Any) -> Memory:
    """A memory of some days ago with its levels of detail."""
    at = NOW - timedelta(days=10 + number % 7, minutes=number)
    given: dict[str, Any] = {"created_at": at, "updated_at": at} | fields
    if "detail" not in given:
        given["detail"] = levels(content)
    return Memory(id=f"m{number}", content=content, **given)


def hit(found: Memory, score: float = 0.8) -> Hit:
    """A memory that was recalled."""
    trust = Trust(relevance=score, accuracy=1.0, freshness=1.0, utility=0.5, composite=score)
    return Hit(memory=found, score=score, trust=trust)


def recalling(hits: Sequence[Hit]) -> Callable[[int], Recall]:
    """A way to recall that knows the answer already."""
    return lambda limit: Recall(query=Query(text="?"), hits=tuple(hits[:limit]), quality=Quality())


@dataclass(frozen=True, slots=True)
class Maker:
    """Builds windows over a store, which may be empty."""

    store: Store
    policy: ContextPolicy = ContextPolicy()

    def window(self, budget: int, hits: Sequence[Hit] = (), **given: Any) -> Window:
        """A window for a message, of these hits; `sources` are further fields of `Sources`."""
        sources = WindowSources(
            store=self.store,
            standing=StandingMemories(self.policy),
            recall=recalling(hits),
            measure=MEASURE,
            policy=self.policy,
            **given.pop("sources", {}),
        )
        asked = WindowRequest(message="deploy it", scope=GLOBAL, now=NOW, budget=budget, **given)
        return build_window(asked, sources)


def cost(window: Window) -> int:
    """What a window's blocks cost, counted by the exact tokenizer as they will be sent."""
    blocks = (window.standing, window.conversation, window.present)
    return sum(EXACT.count(block) for block in blocks if block)
