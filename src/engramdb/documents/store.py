"""The document store: verbatim documents of other programs, and recall among them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Protocol

from msgspec.structs import replace

from engramdb.capture.reading import TurnReader
from engramdb.clock import Clock
from engramdb.documents.search import follow_pointers, rank_documents, recall_pointers
from engramdb.documents.write import (
    REMOVED_REASON,
    DocumentWrite,
    check_names,
    document_gate,
    prepare_document,
)
from engramdb.errors import EngramError, InvalidQuery, InvalidScope
from engramdb.health import Health
from engramdb.lifecycle.access_log import AccessRecorder
from engramdb.lifecycle.admission import WritePipeline
from engramdb.recall.gather import Sources
from engramdb.recall.service import AnswerLog
from engramdb.store.contract import DocumentRange, Store
from engramdb.values import (
    Actor,
    Document,
    DocumentHit,
    Hit,
    MemoryId,
    PutDocument,
    RemoveDocument,
    Scope,
    Source,
)
from engramdb.values.query import MAX_LIMIT


class DocumentParts(Protocol):
    """What the document store needs of the engine."""

    @property
    def actor(self) -> Actor: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def store(self) -> Store: ...
    @property
    def pipeline(self) -> WritePipeline: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def answers(self) -> AnswerLog: ...
    @property
    def access_log(self) -> AccessRecorder: ...
    @property
    def turn_reader(self) -> TurnReader: ...
    def write_notes(self) -> None:
        """Write what recalls have noted, so that the write sees it."""

    def embed_later(self) -> None:
        """Have what waits embedded in the background, where there is one."""

    def embed_changed(self) -> None:
        """Have what has lost its vector embedded: in the background, or now where there is none."""

    def forget_texts(self) -> None:
        """Drop every text that this process holds, because some of it was taken back."""


DocumentFilter = Callable[[Document], bool]
REFRESH_SHARE = 0.01
"""A lifetime begins again once more than this share of it has passed: reading must not always write."""
PRUNED_AT_ONCE = 100
"""Expired documents removed per write, so that none takes long."""


class DocumentStore:
    """
    Documents of other programs by place and key, and recall among what they say: `engram.documents`.

    A write is durable, and found by every process, when it returns. Reading changes nothing but lifetimes,
    which begin again where a reader asks for that, and the count of what was recalled.
    """

    def __init__(self, parts: DocumentParts, *, scope: Scope) -> None:
        self._parts = parts
        self._scope = scope
        self._pipeline = document_gate(parts.pipeline)

    def get(
        self, place: tuple[str, ...], key: str, *, refresh: bool = False, scope: Scope | None = None
    ) -> Document | None:
        """Return a document, or None; with `refresh` its lifetime begins again."""
        with self._parts.store.read() as tx:
            item = tx.documents.get(place, key, scope=self._in(scope), now=self._parts.clock.now())
        if item is not None and refresh:
            self._refresh([item])
        return item

    def list(
        self,
        place: tuple[str, ...] = (),
        *,
        limit: int | None = None,
        offset: int = 0,
        keep: DocumentFilter | None = None,
        refresh: bool = False,
        within: bool = False,
        scope: Scope | None = None,
    ) -> Sequence[Document]:
        """Return the documents of a place and below it, first stored first; `keep` says which count."""
        _check_page(limit, offset)
        end = None if limit is None else offset + limit
        document_range = self._range(place, scope, within=within)
        skipped = offset if keep is None else 0
        with (
            self._parts.store.read() as tx,
            contextlib.closing(tx.documents.iterate(document_range, offset=skipped)) as walk,
        ):
            if keep is None:
                found = list(islice(walk, limit))
            else:
                found = list(islice(filter(keep, walk), offset, end))
        if refresh:
            self._refresh(found)
        return found

    def latest(
        self,
        place: tuple[str, ...],
        *,
        limit: int | None = None,
        within: bool = False,
        scope: Scope | None = None,
    ) -> Sequence[Document]:
        """Return the documents of a place that were stored last, or all, the oldest of them first."""
        with self._parts.store.read() as tx:
            found = tx.documents.latest(self._range(place, scope, within=within), limit=limit)
        return list(reversed(found))

    def places(
        self, place: tuple[str, ...] = (), *, within: bool = False, scope: Scope | None = None
    ) -> Sequence[tuple[str, ...]]:
        """Return the places that hold a document, this one and those below it, in order."""
        with self._parts.store.read() as tx:
            return tx.documents.places(self._range(place, scope, within=within))

    def find(self, place: tuple[str, ...], key: str, *, scope: Scope | None = None) -> Sequence[Document]:
        """Return what goes by a key in a place or below it, in this scope and every narrower one."""
        check_names([key])
        document_range = replace(self._range(place, scope, within=True), key=key)
        with self._parts.store.read() as tx:
            return list(tx.documents.iterate(document_range))

    def holders(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[Document]:
        """Return the documents that point to a memory and belong to this scope or a narrower one."""
        with self._parts.store.read() as tx:
            found = tx.documents.pointing_to(memory_id)
        return [item for item in found if item.scope.sees(self._in(scope))]

    def search(
        self,
        query: str,
        place: tuple[str, ...] = (),
        *,
        limit: int = 10,
        offset: int = 0,
        keep: DocumentFilter | None = None,
        refresh: bool = False,
        follow: bool = False,
        within: bool = False,
        scope: Scope | None = None,
    ) -> Sequence[DocumentHit]:
        """
        Return the documents of a place and below it that fit a question best, best first.

        What does not fit comes last, with a score of 0, and then what has no text, without a score. With
        `follow` a document whose memory was superseded counts for what took its place, and says so.
        """
        if not query.strip():
            raise InvalidQuery("the query is empty", hint="Ask for something, or use `list`.")
        _check_page(limit, offset)
        self._parts.turn_reader.wait()
        document_range = self._range(place, scope, within=within)
        with self._parts.store.read() as tx:
            pointers = list(tx.documents.pointers(document_range))
            pointers = follow_pointers(tx, pointers) if follow else pointers
        end = offset + limit
        found: Sequence[DocumentHit] = []
        for wanted in (end, MAX_LIMIT):
            with self._parts.health.watch("recall"):
                answers = recall_pointers(
                    query, pointers, self._parts.sources, wanted=wanted, now=document_range.now
                )
            hits = [hit for answer in answers for hit in answer.hits]
            found = self._documents(rank_documents(pointers, hits), document_range.now, keep=keep, end=end)
            if len(hits) < wanted or len([one for one in found if one.score]) >= end:
                break
        for answer in answers:
            self._parts.answers.add(answer)
        current = {pointer.id: pointer.memory_id for pointer in pointers}
        shown = [_with_memory_id(hit, current[hit.item.id]) for hit in found[offset:end]]
        self._count_recalls(shown, hits)
        if refresh:
            self._refresh([hit.item for hit in shown])
        return shown

    def put(
        self,
        place: tuple[str, ...],
        key: str,
        value: Any,
        *,
        text: str | None = None,
        lifetime: timedelta | None = None,
        source: Source = Source.INGEST,
        scope: Scope | None = None,
    ) -> Document:
        """
        Put a document under a key, in place of what lies there, and remember its `text`.

        Another text than before corrects the memory; none forgets it. A document with a `lifetime`
        expires so long after it was last written or read.
        """
        putting = PutDocument(place=place, key=key, value=value, text=text, lifetime=lifetime, source=source)
        (item,) = self.write([putting], scope=scope)
        assert item is not None  # noqa: S101 - a putting always has one
        return item

    def write(
        self, changes: Sequence[PutDocument | RemoveDocument], *, scope: Scope | None = None
    ) -> Sequence[Document | None]:
        """Put and remove documents in one write, in this order, and return what lies or lay there."""
        place, now = self._in(scope), self._parts.clock.now()
        wanted = [
            prepare_document(one, self._pipeline, scope=self._inner(one.scope, place), now=now)
            if isinstance(one, PutDocument)
            else one
            for one in changes
        ]
        self._parts.write_notes()
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            shelving = DocumentWrite(tx=tx, pipeline=self._pipeline, actor=self._parts.actor, now=now)
            done = [
                shelving.remove(one, self._inner(one.scope, place))
                if isinstance(one, RemoveDocument)
                else shelving.put(one)
                for one in wanted
            ]
            shelving.prune(limit=PRUNED_AT_ONCE)
        for turn in shelving.heard:
            self._parts.turn_reader.turn_stored(turn)
        if not shelving.is_all_embedded:
            self._parts.embed_later()
        return done

    def remove(self, place: tuple[str, ...], key: str, *, scope: Scope | None = None) -> bool:
        """Take a document away and forget what was remembered of it; returns whether there was one."""
        (item,) = self.write([RemoveDocument(place=place, key=key)], scope=scope)
        return item is not None

    def clear(self, place: tuple[str, ...], *, within: bool = False, scope: Scope | None = None) -> int:
        """
        Take away every document of a place and below it, and return how many there were.

        Turns stay, and so does what was read out of them.
        """
        now = self._parts.clock.now()
        document_range = DocumentRange(scope=self._in(scope), now=now, place=place, within=within)
        self._parts.write_notes()
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            items = list(tx.documents.iterate(document_range))
            DocumentWrite(tx=tx, pipeline=self._pipeline, actor=self._parts.actor, now=now).drop(
                items, REMOVED_REASON
            )
        return len(items)

    def take_back(
        self, place: tuple[str, ...], *, limit: int = 1, scope: Scope | None = None
    ) -> Sequence[Document]:
        """
        Take the latest documents of a place away, and return them, the last one first.

        The turns that they were heard as leave with them, and what was read out of these alone.
        """
        now = self._parts.clock.now()
        document_range = DocumentRange(scope=self._in(scope), now=now, place=place)
        self._parts.write_notes()
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            latest = tx.documents.latest(document_range, limit=limit)
            for item in latest:
                DocumentWrite(tx=tx, pipeline=self._pipeline, actor=self._parts.actor, now=now).unsay(item)
        if any(item.turn_id for item in latest):
            self._parts.forget_texts()
            self._parts.embed_changed()  # what quoted a turn has lost those words
        return latest

    def prune_quietly(self) -> None:
        """Take away what has expired; where that cannot be written now, the next write does so."""
        with contextlib.suppress(EngramError):
            self.prune()

    def prune(self) -> int:
        """Take away what has expired, and return how many documents that were."""
        now, total = self._parts.clock.now(), 0
        while True:
            with self._parts.store.read() as tx:
                if not tx.documents.expired(now, limit=1):
                    return total
            with self._parts.store.atomic() as tx:
                shelving = DocumentWrite(tx=tx, pipeline=self._pipeline, actor=self._parts.actor, now=now)
                total += shelving.prune(limit=PRUNED_AT_ONCE)

    def _documents(
        self,
        ranked: Sequence[tuple[int, float | None]],
        now: datetime,
        *,
        keep: DocumentFilter | None,
        end: int,
    ) -> Sequence[DocumentHit]:
        """Return the best documents that count, fetched a page at a time until there are enough."""
        found: list[DocumentHit] = []
        page = max(end, 64)
        with self._parts.store.read() as tx:
            for start in range(0, len(ranked), page):
                part = ranked[start : start + page]
                items = tx.documents.by_ids([number for number, _ in part], now=now)
                found += [
                    DocumentHit(item=items[number], score=score)
                    for number, score in part
                    if number in items and (keep is None or keep(items[number]))
                ]
                if len(found) >= end:
                    break
        return found[:end]

    def _count_recalls(self, shown: Sequence[DocumentHit], hits: Sequence[Hit]) -> None:
        """Count what was given as recalled, in the scope of each."""
        by_id = {hit.memory.id: hit for hit in hits}
        for scope in {one.item.scope for one in shown}:
            ids = {one.item.memory_id for one in shown if one.item.scope == scope}
            self._parts.access_log.note_hits([by_id[one] for one in ids if one in by_id], scope)

    def _refresh(self, items: Sequence[Document]) -> None:
        """Let lifetimes begin again, of those that have used up some of theirs."""
        now = self._parts.clock.now()
        due = [item for item in items if _needs_refresh(item, now)]
        if not due:
            return
        with self._parts.store.atomic() as tx:
            shelving = DocumentWrite(tx=tx, pipeline=self._pipeline, actor=self._parts.actor, now=now)
            for item in tx.documents.touch([item.id for item in due], now=now):
                shelving.align(item.memory_id, item.scope)

    def _range(self, place: tuple[str, ...], scope: Scope | None, *, within: bool) -> DocumentRange:
        return DocumentRange(scope=self._in(scope), now=self._parts.clock.now(), place=place, within=within)

    def _in(self, scope: Scope | None) -> Scope:
        return self._scope if scope is None else scope

    def _inner(self, scope: Scope | None, around: Scope) -> Scope:
        """Return the scope of one document, which must not lie outside the scope of the call."""
        if scope is None:
            return around
        if not scope.sees(around):
            raise InvalidScope(f"scope {scope} is not inside {around}")
        return scope


def _check_page(limit: int | None, offset: int) -> None:
    """Raise where no page of an answer can be meant."""
    if offset < 0 or (limit is not None and limit < 0):
        raise InvalidQuery(f"limit={limit} and offset={offset} must not be negative")


def _needs_refresh(item: Document, now: datetime) -> bool:
    if item.lifetime is None or item.expires_at is None:
        return False
    return now + item.lifetime - item.expires_at > item.lifetime * REFRESH_SHARE


def _with_memory_id(hit: DocumentHit, memory_id: MemoryId | None) -> DocumentHit:
    """Return the hit with the memory that stands for its document today."""
    return (
        hit if memory_id == hit.item.memory_id else replace(hit, item=replace(hit.item, memory_id=memory_id))
    )
