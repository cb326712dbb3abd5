"""
CrewAI's `Memory` on an open Engram: the same calls, answered without an embedder and without a key.

Given to a crew, an agent or a flow as `memory=`. Saving and recalling are Engram's own; listing, changing
and deleting are CrewAI's, on the records of `records`. CrewAI's events tell of every save and every
question, as with its own memory. A save is durable when the call returns, so nothing waits to be drained.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import (
    MemoryQueryCompletedEvent,
    MemoryQueryFailedEvent,
    MemoryQueryStartedEvent,
    MemorySaveCompletedEvent,
    MemorySaveFailedEvent,
    MemorySaveStartedEvent,
)
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr

from engram.errors import EngramError, InvalidQuery
from engram.surfaces.adapters.crewai.reading import statements_in
from engram.surfaces.adapters.crewai.records import (
    Records,
    path_of,
    place_of,
    record_from,
    record_of,
)
from engram.values.query import MAX_LIMIT, MAX_QUERY_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram import Engram, Scope
    from engram.values import Hit, ShelfItem

    Sees = Callable[[ShelfItem], bool]

SOURCE = "engram"
"""What the events say they come from."""


NO_MODEL = "engram/give-the-memory-to-the-crew-not-to-the-agent"
"""
Stands where CrewAI would name a company's model: nobody serves this one, so nothing is ever sent.

CrewAI comes to call it only in a copy of an agent, in which it has put a memory of its own in the place
of this one; its error then says what to do.
"""


def _no_embedder(texts: list[str]) -> list[list[float]]:  # noqa: ARG001 - CrewAI gives them
    """Stand where CrewAI would build an embedder that asks somebody over the network, with the same end."""
    raise InvalidQuery(
        "CrewAI has copied an agent and lost its EngramMemory", hint="Give the memory to the crew instead."
    )


class EngramMemory(Memory):
    """
    The memory of a crew, an agent or a flow: `Crew(memory=EngramMemory(engram))`.

    With `llm`, that model reads what is worth keeping out of every result, as in CrewAI's own memory, one
    call a task; without, rules do where they can, or the result is kept whole. `scope` is whose memories
    they are in Engram, `root_scope` a path for those of this crew. The engine stays open when the memory
    is let go of.
    """

    _engram: Any = PrivateAttr()
    _whose: Any = PrivateAttr()

    def __init__(self, engram: Engram, *, scope: Scope | None = None, llm: Any = None, **fields: Any) -> None:
        super().__init__(storage=Records(engram, scope), embedder=_no_embedder, llm=llm or NO_MODEL, **fields)
        self._engram = engram
        self._whose = engram.scope if scope is None else scope

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> EngramMemory:
        """Return itself: a copied crew has the same memory."""
        return self

    def remember(  # noqa: PLR0917 - CrewAI's signature
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember one statement and return its record: a new one, or the one that it belongs to."""
        if self.read_only:
            return None
        record = MemoryRecord(
            content=content,
            scope=self._path(scope, self.root_scope if root_scope is None else root_scope),
            categories=categories or [],
            metadata=metadata or {},
            source=source,
            private=private,
        )
        with self._saving(content, metadata, agent_role):
            return self._records.keep(record, importance=importance)

    def remember_many(self, contents: list[str], **about: Any) -> list[MemoryRecord]:
        """
        Remember several statements, each like `remember`, and return their records.

        One that Engram refuses is told in an event, and keeps neither the others nor the task from being
        finished.
        """
        kept: list[MemoryRecord] = []
        for content in contents:
            try:
                record = self.remember(content, **about)
            except EngramError:  # `_saving` has told it
                continue
            if record is not None:
                kept.append(record)
        return kept

    def extract_memories(self, content: str) -> list[str]:
        """Return what is worth remembering of a report, read by the model or else by rules."""
        if self.llm != NO_MODEL:
            extracted: list[str] = super().extract_memories(content)
            return extracted
        return statements_in(content, now=datetime.now(UTC))

    def recall(  # noqa: PLR0917 - CrewAI's signature
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",  # noqa: ARG002 - Engram's recall has one depth
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """
        Return what fits a question, best first.

        At the root, that is everything that Engram knows here, through whichever door it came; with a
        path or categories, only records.
        """

        def sees(item: ShelfItem) -> bool:
            value = item.value
            is_own = source is not None and value["source"] == source
            is_visible = include_private or is_own or not value["private"]
            return is_visible and (not categories or bool(set(categories) & set(value["categories"])))

        path = self._path(scope, self.root_scope)
        asked = query[:MAX_QUERY_CHARACTERS]
        with self._asking(query, limit) as found:
            if not asked.strip() or limit <= 0:
                return found
            most = min(limit, MAX_LIMIT)
            is_all = path == "/" and not categories
            found.extend(
                self._everywhere(asked, sees, most) if is_all else self._below(path, asked, sees, most)
            )
        return found

    @property
    def _embedder(self) -> Callable[[list[str]], list[list[float]]]:
        """Give CrewAI no vectors where it changes a record: Engram makes its own."""
        return lambda _: []

    @property
    def _records(self) -> Records:
        records: Records = self._storage
        return records

    def _path(self, inner: str | None, root: str | None) -> str:
        return path_of(place_of(f"{root or ''}/{inner or ''}"))

    def _everywhere(self, query: str, sees: Sees, limit: int) -> list[MemoryMatch]:
        """Return what fits of all that is known; more is asked for where private records hide some."""
        matches: list[MemoryMatch] = []
        for wanted in (limit, MAX_LIMIT):
            hits = self._engram.recall(query, limit=wanted, scope=self._whose).hits
            matches = [match for hit in hits if (match := self._match(hit, sees)) is not None]
            if len(matches) >= limit or len(hits) < wanted:
                break
        return matches[:limit]

    def _match(self, hit: Hit, sees: Sees) -> MemoryMatch | None:
        """Return a hit as CrewAI has it, or None where all its records are private to others."""
        held = self._records.holders(hit.memory)
        seen = [item for item in held if sees(item)]
        if held and not seen:
            return None
        record = record_of(seen[0], hit.memory) if seen else record_from(hit.memory)
        reasons = [reason.index for reason in hit.reasons]
        return MemoryMatch(record=record, score=hit.score, match_reasons=reasons)

    def _below(self, path: str, query: str, sees: Sees, limit: int) -> list[MemoryMatch]:
        """Return the records at a path and below it that fit."""
        hits = self._engram.shelf.search(
            query, place_of(path), limit=limit, keep=sees, follow=True, scope=self._whose
        )
        matches: dict[str, MemoryMatch] = {}
        for hit in hits:
            statement = self._records.current(hit.item)
            if statement is not None and hit.score:
                record = record_of(hit.item, statement)
                matches.setdefault(statement.id, MemoryMatch(record=record, score=hit.score))
        return list(matches.values())

    @contextmanager
    def _saving(
        self, content: str, metadata: dict[str, Any] | None, agent_role: str | None
    ) -> Iterator[None]:
        """Tell CrewAI's listeners that something is saved, and how that went."""
        about = {
            "value": content,
            "metadata": metadata or {},
            "agent_role": agent_role,
            "source_type": SOURCE,
        }
        crewai_event_bus.emit(self, MemorySaveStartedEvent(**about))
        start = time.perf_counter()
        try:
            yield
        except EngramError as exc:
            crewai_event_bus.emit(self, MemorySaveFailedEvent(error=str(exc), **about))
            raise
        crewai_event_bus.emit(self, MemorySaveCompletedEvent(save_time_ms=_since(start), **about))

    @contextmanager
    def _asking(self, query: str, limit: int) -> Iterator[list[MemoryMatch]]:
        """Tell CrewAI's listeners that something is looked for, and what was found."""
        about = {"query": query, "limit": limit, "source_type": SOURCE}
        crewai_event_bus.emit(self, MemoryQueryStartedEvent(**about))
        start = time.perf_counter()
        found: list[MemoryMatch] = []
        try:
            yield found
        except EngramError as exc:
            crewai_event_bus.emit(self, MemoryQueryFailedEvent(error=str(exc), **about))
            raise
        crewai_event_bus.emit(
            self, MemoryQueryCompletedEvent(results=found, query_time_ms=_since(start), **about)
        )


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
