"""What the tests of the steps that state something new share: a dream of one step, and what it has made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb import Engram, Settings
from engramdb.dream.run import DreamRunner, dream
from engramdb.dream.service import dreaming_of, statement_tools
from engramdb.lifecycle.drafts import Draft
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import GLOBAL, Filters, Memory, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from engramdb.dream.step import DreamStep
    from engramdb.models.chat import ChatModel
    from engramdb.values import Edge, StepReport

ANY = frozenset(Status)


def awake(path: Path, clock: ManualClock, **knowledge: Any) -> Engram:
    """A memory without background threads, with these numbers in place of the preset's."""
    settings = Settings(durability="relaxed", overrides={"knowledge": knowledge} if knowledge else {})
    return Engram.open(path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False)


def take(engram: Engram, step: str) -> StepReport:
    """Dream of one step and return what it did."""
    return engram.dream(steps=[step]).steps[0]


def interrupted(engram: Engram, step: DreamStep, *, after: int) -> None:
    """Dream of one step, and stop when it has asked so often whether to."""
    asked = iter(range(after))
    dreaming = replace(dreaming_of(engram._parts), is_stopped=lambda: next(asked, None) is None)
    dream(
        DreamRunner(
            dreaming=dreaming,
            steps=(step,),
            policy_name="balanced",
            clock=lambda: dreaming.now,
            tools=statement_tools(engram._parts),
        )
    )


def tell(engram: Engram, *contents: str, scope: Scope = GLOBAL, **fields: Any) -> list[Memory]:
    """Store statements through the write pipeline."""
    return list(engram._parts.writer.admit([Draft(content=one, scope=scope, **fields) for one in contents]))


def made(engram: Engram, maker: str, *, scope: Scope = GLOBAL) -> list[Memory]:
    """What a step has stated in exactly a scope and what holds, oldest first."""
    found = engram.list(limit=1000, scope=scope)
    return [one for one in reversed(found) if one.scope == scope and (one.extractor or "").startswith(maker)]


def contents(memories: Iterable[Memory]) -> list[str]:
    """What they say."""
    return [one.content for one in memories]


def links(engram: Engram, memory: Memory) -> list[Edge]:
    """The links that leave or reach a memory."""
    with engram._parts.store.read() as tx:
        return tx.edges.of(memory.id)


def everything(engram: Engram) -> list[tuple[str, ...]]:
    """What memories say, where they stand and how often they worked, to compare."""
    with engram._parts.store.read() as tx:
        found = tx.memories.list(scope=GLOBAL, filters=Filters(statuses=ANY), limit=1000, before=None)
    return sorted(
        (one.content, one.status, one.layer, f"{one.strength:.6f} {one.successes} {one.failures}")
        for one in found
    )


def with_chat(engram: Engram, chat: ChatModel) -> None:
    """Let a memory that is open already dream with this chat model."""
    object.__setattr__(engram._parts, "chat", chat)
