"""
The records of CrewAI's memory: documents on the shelf that point to what Engram has remembered.

Used by `EngramMemory`, and by CrewAI's `Memory` itself as its storage for everything but searching:
listing, changing and deleting by path, category, age and metadata. What a record states goes through the
gate, so what contradicts an older statement takes its place and keeps the record's id; reports are kept
as they are.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crewai.memory.types import MemoryRecord, ScopeInfo

from engram.capture.draft import Draft
from engram.errors import InvalidContent, MemoryNotFound
from engram.surfaces.adapters.crewai.reading import is_report
from engram.surfaces.adapters.lineage import latest
from engram.values import Provenance, Putting, Removing, Source
from engram.values.memory import SHELVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram import Engram, Memory, Scope
    from engram.values import ShelfItem

ROOT = "crewai"
"""The first name of every place on the shelf that belongs to these records."""


class Records:
    """The records of a scope; a path such as `/crew/research` is where they lie in it."""

    def __init__(self, engram: Engram, scope: Scope | None) -> None:
        self._engram = engram
        self._scope = engram.scope if scope is None else scope

    def __deepcopy__(self, memo: dict[int, Any]) -> Records:
        """Return itself: a copied crew remembers in the same store."""
        return self

    def keep(self, record: MemoryRecord, *, importance: float | None = None) -> MemoryRecord:
        """Remember what a record says; returns it, or the one that says the same or the contrary here."""
        place, value = place_of(record.scope), _value(record, importance)
        if is_report(record.content):
            return self._kept_whole(Putting(place=place, key=record.id, value=value, text=record.content))
        statement = self._stated(record.content, importance)
        same = [item for item in self.holders(statement) if item.place == place]
        key = same[0].key if same else record.id
        putting = Putting(place=place, key=key, value=value, memory_id=statement.id)
        (item,) = self._engram.shelf.write([putting], scope=self._scope)
        assert item is not None  # noqa: S101 - a putting always has one
        return record_of(item, statement)

    def _stated(self, content: str, importance: float | None) -> Memory:
        """
        Return the memory of a statement; the same words again are no evidence.

        The source is a document, not the assistant: a crew recalls before every task, and what an assistant
        says after a recall may be taken for an echo of it, and dropped.
        """
        with contextlib.suppress(MemoryNotFound):
            return self._engram.get(content, scope=self._scope)
        draft = Draft(
            content=content,
            scope=self._scope,
            importance=importance,
            provenance=Provenance(source=Source.INGEST),
            extractor=SHELVED,  # it leaves with the record, unless somebody else states it too
        )
        (statement,) = self._engram.remember_many([draft])
        return statement

    def _kept_whole(self, putting: Putting) -> MemoryRecord:
        """Keep a report by its words alone: two that differ in one name must not be taken for the same."""
        (item,) = self._engram.shelf.write([putting], scope=self._scope)
        statement = None if item is None else self.current(item)
        if item is None or statement is None:
            self._engram.shelf.write([Removing(place=putting.place, key=str(putting.key))], scope=self._scope)
            raise InvalidContent(
                "the report was refused at the gate", hint="`engram audit` names the reason."
            )
        return record_of(item, statement)

    def holders(self, statement: Memory) -> list[ShelfItem]:
        """Return the documents that speak for a statement, or for what it took the place of."""
        while True:
            held = self._engram.shelf.holders(statement.id, scope=self._scope)
            own = [item for item in held if item.place[0] == ROOT and item.scope == self._scope]
            if own or statement.supersedes is None:
                return own
            statement = self._engram.get(statement.supersedes, scope=self._scope)

    def current(self, item: ShelfItem) -> Memory | None:
        """Return what stands today for a document."""
        return None if item.memory_id is None else latest(self._engram, item.memory_id, self._scope)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return one record, or None."""
        for item in self._engram.shelf.find((ROOT,), record_id, scope=self._scope):
            statement = self.current(item)
            if statement is not None and item.scope == self._scope:
                return record_of(item, statement)
        return None

    def update(self, record: MemoryRecord) -> None:
        """Let a record say something else, or lie elsewhere."""
        for item in self._engram.shelf.find((ROOT,), record.id, scope=self._scope):
            statement = self.current(item)
            if statement is not None and item.scope == self._scope:
                self._engram.shelf.write(_rewritten(item, record, statement), scope=self._scope)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records for which everything holds that is named, and return how many."""
        end = None if older_than is None else in_utc(older_than)

        def is_meant(item: ShelfItem) -> bool:
            about = item.value["metadata"]
            return (
                (record_ids is None or item.key in record_ids)
                and (not categories or bool(set(categories) & set(item.value["categories"])))
                and (end is None or item.created_at < end)
                and all(about.get(name) == wanted for name, wanted in (metadata_filter or {}).items())
            )

        meant = self._items(scope_prefix, keep=is_meant)
        changes = [Removing(place=item.place, key=item.key) for item in meant]
        if changes:
            self._engram.shelf.write(changes, scope=self._scope)
        return len(meant)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget every record of a path; memories of other doors stay."""
        self.delete(scope_prefix)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """Return records, the newest first; of several that say the same today, the newest."""
        if limit <= 0 or offset < 0:
            return []
        return list(self._records(scope_prefix))[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return how many records lie at a path and below it, of which categories and times."""
        records = list(self._records(scope))
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=path_of(place_of(scope)),
            record_count=len(records),
            categories=sorted({one for record in records for one in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the paths right below a path that hold a record, or have one below them."""
        place = place_of(parent)
        below = self._engram.shelf.places(place, scope=self._scope)
        return sorted({path_of(one[: len(place) + 1]) for one in below if len(one) > len(place)})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records each category has."""
        return dict(Counter(one for record in self._records(scope_prefix) for one in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records there are."""
        return len(list(self._records(scope_prefix)))

    def _records(self, path: str | None) -> Iterator[MemoryRecord]:
        shown: set[str] = set()
        for item in reversed(self._items(path)):
            statement = self.current(item)
            if statement is not None and statement.id not in shown:
                shown.add(statement.id)
                yield record_of(item, statement)

    def _items(
        self, path: str | None, *, keep: Callable[[ShelfItem], bool] | None = None
    ) -> Sequence[ShelfItem]:
        return self._engram.shelf.list(place_of(path), keep=keep, scope=self._scope)


def place_of(path: str | None) -> tuple[str, ...]:
    """Return where on the shelf a path is."""
    return (ROOT, *(name for name in (path or "").split("/") if name))


def path_of(place: tuple[str, ...]) -> str:
    """Return the path of a place on the shelf."""
    return "/" + "/".join(place[1:])


def record_of(item: ShelfItem, statement: Memory) -> MemoryRecord:
    """Return a document, with what stands for it today, as CrewAI has it."""
    value = item.value
    return MemoryRecord(
        id=item.key,
        content=statement.content,
        scope=path_of(item.place),
        categories=value["categories"],
        metadata=value["metadata"],
        importance=statement.importance if value["importance"] is None else value["importance"],
        created_at=_naive(item.created_at),
        last_accessed=_naive(statement.access.last_at or item.updated_at),
        source=value["source"],
        private=value["private"],
    )


def record_from(statement: Memory) -> MemoryRecord:
    """Return a memory that came in through another door as CrewAI would have it."""
    return MemoryRecord(
        id=statement.id,
        content=statement.content,
        categories=[statement.category],
        importance=statement.importance,
        created_at=_naive(statement.created_at),
        last_accessed=_naive(statement.access.last_at or statement.updated_at),
    )


def in_utc(moment: datetime) -> datetime:
    """Return a moment with its time zone; CrewAI's own have none, and are meant in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _rewritten(item: ShelfItem, record: MemoryRecord, statement: Memory) -> list[Putting | Removing]:
    """Return what puts a record in the place of a document; other words correct the statement."""
    place, value = place_of(record.scope), _value(record, record.importance)
    moved = Putting(place=place, key=item.key, value=value, memory_id=statement.id)
    changes: list[Putting | Removing] = [moved]
    if place != item.place:
        changes.append(Removing(place=item.place, key=item.key))
    if record.content.strip() != statement.content:
        changes.append(replace(moved, memory_id=None, text=record.content))
    return changes


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _value(record: MemoryRecord, importance: float | None) -> dict[str, Any]:
    told: dict[str, Any] = record.model_dump(mode="json", include={"categories", "metadata", "source"})
    return {**told, "private": record.private, "importance": importance}
