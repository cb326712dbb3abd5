"""
Engram as the memory of a CrewAI crew, agent or flow: CrewAI's `Memory`, without an embedder or a key.

Saving and recalling are Engram's own; listing, changing and deleting are CrewAI's, on records: documents that
point to what Engram has remembered. CrewAI's events report every save and every question, as with its own
memory. A save is durable when the call returns, so nothing waits to be drained.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from engramdb.capture.extract import SentenceExtractor
from engramdb.errors import EngramError, InvalidContent, InvalidQuery, MemoryNotFound, MissingExtra
from engramdb.integrations.documents import latest
from engramdb.lifecycle.drafts import Draft
from engramdb.text.sentences import sentences
from engramdb.values import Document, Hit, Provenance, PutDocument, RemoveDocument, Role, Source, Turn
from engramdb.values.memory import DOCUMENT_EXTRACTOR
from engramdb.values.query import MAX_LIMIT, MAX_QUERY_CHARACTERS

if TYPE_CHECKING:
    from engramdb import Engram, Memory, Scope

try:
    from crewai.events.event_bus import crewai_event_bus
    from crewai.events.types.memory_events import (
        MemoryQueryCompletedEvent,
        MemoryQueryFailedEvent,
        MemoryQueryStartedEvent,
        MemorySaveCompletedEvent,
        MemorySaveFailedEvent,
        MemorySaveStartedEvent,
    )
    from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
    from crewai.memory.unified_memory import Memory as CrewMemory
    from pydantic import PrivateAttr
except ImportError as exc:
    raise MissingExtra("crewai is not installed", hint="pip install 'engramdb[crewai]'") from exc


MAX_TASK_CHARACTERS = 1000
"""How much of a task's description is remembered: with its result it must fit into 8 KiB."""
_OPENINGS = ("Task: ", "Input: ")
_RESULT = "\nResult: "
_REPORT = re.compile(
    r"(?P<opening>Task|Input): (?P<asked>.*?)\nAgent: (?P<agent>[^\n]*)\n"
    r"(?:Expected result: .*?\n)?Result: (?P<result>.*)",
    re.DOTALL,
)


def is_report(content: str) -> bool:
    """Return whether a text is a report, not a statement."""
    return _RESULT in content and content.startswith(_OPENINGS)


def statements_in(text: str, *, now: datetime) -> list[str]:
    """Return the statements of a report's result, or the report itself where the rules do not read all."""
    report = _REPORT.fullmatch(text)
    if report is None:
        return [text.strip()] if text.strip() else []
    result = report["result"].strip()
    if not result:
        return []
    read = _read(result, speaker=report["agent"].strip() or None, now=now)
    asked = textwrap.shorten(report["asked"], MAX_TASK_CHARACTERS, placeholder=" …")
    return read or [f"{report['opening']}: {asked}{_RESULT}{result}"]


def _read(result: str, *, speaker: str | None, now: datetime) -> list[str]:
    """Return what the rules read, or nothing where they miss a sentence."""
    turns = [
        Turn(
            id=str(place),
            content=sentence,
            role=Role.USER,  # of the assistant's words the rules would read only promises
            occurred_at=now,
            created_at=now,
            speaker=speaker,
        )
        for place, sentence in enumerate(sentences(result))
    ]
    found = SentenceExtractor().extract(turns, context=[])
    is_all = {one.turn_id for one in found} == {turn.id for turn in turns}
    return [one.content for one in found] if is_all else []


ROOT = "crewai"
"""The first name of every place in the document store that belongs to these records."""


class Records:
    """
    The records of a scope; a path such as `/crew/research` is where they lie in it.

    CrewAI's `Memory` uses them as its storage for everything but searching. What a record states goes through
    the write pipeline, so what contradicts an older statement supersedes it and keeps the record's id;
    reports are stored as they are.
    """

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
            return self._kept_whole(PutDocument(place=place, key=record.id, value=value, text=record.content))
        statement = self._stated(record.content, importance)
        same = [item for item in self.holders(statement) if item.place == place]
        key = same[0].key if same else record.id
        putting = PutDocument(place=place, key=key, value=value, memory_id=statement.id)
        (item,) = self._engram.documents.write([putting], scope=self._scope)
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
            extractor=DOCUMENT_EXTRACTOR,  # it leaves with the record, unless somebody else states it too
        )
        (statement,) = self._engram.remember_many([draft])
        return statement

    def _kept_whole(self, putting: PutDocument) -> MemoryRecord:
        """Keep a report by its words alone: two that differ in one name must not be taken for the same."""
        (item,) = self._engram.documents.write([putting], scope=self._scope)
        statement = None if item is None else self.current(item)
        if item is None or statement is None:
            self._engram.documents.write(
                [RemoveDocument(place=putting.place, key=str(putting.key))], scope=self._scope
            )
            raise InvalidContent(
                "the report was refused on admission", hint="`engram audit` names the reason."
            )
        return record_of(item, statement)

    def holders(self, statement: Memory) -> list[Document]:
        """Return the documents that speak for a statement, or for what it took the place of."""
        while True:
            held = self._engram.documents.holders(statement.id, scope=self._scope)
            own = [item for item in held if item.place[0] == ROOT and item.scope == self._scope]
            if own or statement.supersedes is None:
                return own
            statement = self._engram.get(statement.supersedes, scope=self._scope)

    def current(self, item: Document) -> Memory | None:
        """Return what stands today for a document."""
        return None if item.memory_id is None else latest(self._engram, item.memory_id, self._scope)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return one record, or None."""
        for item in self._engram.documents.find((ROOT,), record_id, scope=self._scope):
            statement = self.current(item)
            if statement is not None and item.scope == self._scope:
                return record_of(item, statement)
        return None

    def update(self, record: MemoryRecord) -> None:
        """Let a record say something else, or lie elsewhere."""
        for item in self._engram.documents.find((ROOT,), record.id, scope=self._scope):
            statement = self.current(item)
            if statement is not None and item.scope == self._scope:
                self._engram.documents.write(_rewritten(item, record, statement), scope=self._scope)

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

        def is_meant(item: Document) -> bool:
            about = item.value["metadata"]
            return (
                (record_ids is None or item.key in record_ids)
                and (not categories or bool(set(categories) & set(item.value["categories"])))
                and (end is None or item.created_at < end)
                and all(about.get(name) == wanted for name, wanted in (metadata_filter or {}).items())
            )

        meant = self._items(scope_prefix, keep=is_meant)
        changes = [RemoveDocument(place=item.place, key=item.key) for item in meant]
        if changes:
            self._engram.documents.write(changes, scope=self._scope)
        return len(meant)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget every record of a path; memories of other interfaces stay."""
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
        below = self._engram.documents.places(place, scope=self._scope)
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
        self, path: str | None, *, keep: Callable[[Document], bool] | None = None
    ) -> Sequence[Document]:
        return self._engram.documents.list(place_of(path), keep=keep, scope=self._scope)


def place_of(path: str | None) -> tuple[str, ...]:
    """Return where in the document store a path is."""
    return (ROOT, *(name for name in (path or "").split("/") if name))


def path_of(place: tuple[str, ...]) -> str:
    """Return the path of a place in the document store."""
    return "/" + "/".join(place[1:])


def record_of(item: Document, statement: Memory) -> MemoryRecord:
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
    """Return a memory that came in through another interface as CrewAI would have it."""
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


def _rewritten(item: Document, record: MemoryRecord, statement: Memory) -> list[PutDocument | RemoveDocument]:
    """Return what puts a record in the place of a document; other words correct the statement."""
    place, value = place_of(record.scope), _value(record, record.importance)
    moved = PutDocument(place=place, key=item.key, value=value, memory_id=statement.id)
    changes: list[PutDocument | RemoveDocument] = [moved]
    if place != item.place:
        changes.append(RemoveDocument(place=item.place, key=item.key))
    if record.content.strip() != statement.content:
        changes.append(replace(moved, memory_id=None, text=record.content))
    return changes


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _value(record: MemoryRecord, importance: float | None) -> dict[str, Any]:
    fields: dict[str, Any] = record.model_dump(mode="json", include={"categories", "metadata", "source"})
    return {**fields, "private": record.private, "importance": importance}


Sees = Callable[[Document], bool]

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


class EngramMemory(CrewMemory):
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

        One that Engram refuses is reported in an event, and stops neither the others nor the task.
        """
        records: list[MemoryRecord] = []
        for content in contents:
            try:
                record = self.remember(content, **about)
            except EngramError:  # `_saving` has reported it
                continue
            if record is not None:
                records.append(record)
        return records

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

        At the root, that is everything that Engram knows here, through whichever interface it came; with a
        path or categories, only records.
        """

        def sees(item: Document) -> bool:
            value = item.value
            is_own = source is not None and value["source"] == source
            is_visible = include_private or is_own or not value["private"]
            return is_visible and (not categories or bool(set(categories) & set(value["categories"])))

        path = self._path(scope, self.root_scope)
        asked = query[:MAX_QUERY_CHARACTERS]
        with self._asking(query, limit) as found:
            if not asked.strip() or limit <= 0:
                return found
            wanted = min(limit, MAX_LIMIT)
            is_all = path == "/" and not categories
            found.extend(
                self._everywhere(asked, sees, wanted) if is_all else self._below(path, asked, sees, wanted)
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
            hits = self._engram.recall(query, limit=wanted, turns=False, scope=self._whose).hits
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
        hits = self._engram.documents.search(
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
