"""
A LangGraph store: items under namespaces and keys, with search by meaning, in an Engram file.

Given to a graph as `store=`. An item is a document and comes back as it went in; what it
says is remembered, so that every other interface of Engram can recall it. Reads of a batch see the store as
it was before the writes of that batch, as with LangGraph's own stores. Expired items are never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engramdb.errors import InvalidContent, MissingExtra
from engramdb.integrations.documents import matches, words_of
from engramdb.integrations.transcript import in_thread
from engramdb.values import Document, PutDocument, RemoveDocument

if TYPE_CHECKING:
    from langgraph.store.base import MatchCondition, Op, Result, TTLConfig

    from engramdb import Engram, Scope

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        PutOp,
        SearchItem,
        SearchOp,
        get_text_at_path,
    )
except ImportError as exc:
    raise MissingExtra("langgraph is not installed", hint="pip install 'engramdb[langgraph]'") from exc


ROOT = "langgraph"
"""The first name of every place in the document store that belongs to these stores."""


MAX_MINUTES = 100 * 366 * 24 * 60
"""A lifetime that ends within a hundred years is one that a date can hold."""


class EngramStore(BaseStore):
    """
    A LangGraph store on an open Engram.

    `fields` are the paths whose text is remembered of an item that does not say itself, as in
    LangGraph's index configuration; without them, an item's own text, or its fields put into words.
    `scope_of` says to whom the items of a namespace belong, such as `lambda names:
    Scope(user=names[1])`: another user's recall, window or dream then never sees them. The engine stays
    open when the store is let go of.
    """

    supports_ttl = True

    def __init__(
        self,
        engram: Engram,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        scope: Scope | None = None,
        scope_of: Callable[[tuple[str, ...]], Scope] | None = None,
    ) -> None:
        self._engram = engram
        self._fields = None if fields is None else tuple(fields)
        self._scope = scope
        self._scope_of = scope_of
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things at once: all reads first, then all writes, in one durable write."""
        results: list[Result] = []
        changes: dict[tuple[tuple[str, ...], str], PutDocument | RemoveDocument] = {}
        for op in ops:
            if isinstance(op, PutOp):
                changes[op.namespace, op.key] = self._change(op)
                results.append(None)
            else:
                results.append(self._read(op))
        if changes:
            self._engram.documents.write(list(changes.values()), scope=self._scope)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a worker thread, so that the event loop goes on."""
        return await in_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        item = self._engram.documents.get(
            _place(op.namespace), op.key, refresh=op.refresh_ttl, scope=self._scope_for(op.namespace)
        )
        return None if item is None else Item(**_fields(item))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        condition = op.filter
        asked: dict[str, Any] = {
            "limit": op.limit,
            "offset": op.offset,
            "keep": (lambda item: matches(item.value, condition)) if condition else None,
            "refresh": op.refresh_ttl,
            "within": self._scope_of is not None,
            "scope": self._scope,
        }
        documents, place = self._engram.documents, _place(op.namespace_prefix)
        if op.query and op.query.strip():
            hits = documents.search(op.query, place, **asked)
            return [SearchItem(**_fields(hit.item), score=hit.score) for hit in hits]
        return [SearchItem(**_fields(item)) for item in documents.list(place, **asked)]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = self._engram.documents.places((ROOT,), within=self._scope_of is not None, scope=self._scope)
        names = [place[1:] for place in found]
        for condition in op.match_conditions or ():
            names = [one for one in names if _fits(one, condition)]
        cut = sorted({one[: op.max_depth] for one in names})
        return cut[op.offset : op.offset + op.limit]

    def _change(self, op: PutOp) -> PutDocument | RemoveDocument:
        place, scope = _place(op.namespace), self._scope_for(op.namespace)
        if op.value is None:
            return RemoveDocument(place=place, key=op.key, scope=scope)
        value = dict(op.value)
        return PutDocument(
            place=place,
            key=op.key,
            value=value,
            text=self._text(value, op.index),
            lifetime=None if op.ttl is None else _minutes(op.ttl),
            scope=scope,
        )

    def _text(self, value: dict[str, Any], index: object) -> str | None:
        """Return what is remembered of an item: nothing, the paths it names, or what it says."""
        if index is False:
            return None
        paths = self._fields if index is None else index
        if paths is None:
            return words_of(value)
        if not isinstance(paths, list | tuple):
            raise InvalidContent(f"index is a list of paths or False, not {type(paths).__name__}")
        texts = [text for path in paths for text in get_text_at_path(value, path)]
        return "\n".join(dict.fromkeys(texts)) or None

    def _scope_for(self, namespace: tuple[str, ...]) -> Scope | None:
        return self._scope if self._scope_of is None else self._scope_of(namespace)


def _minutes(ttl: float) -> timedelta:
    if not abs(ttl) <= MAX_MINUTES:
        raise InvalidContent(f"ttl={ttl} is not a number of minutes up to {MAX_MINUTES}")
    return timedelta(minutes=ttl)


def _place(namespace: Iterable[str]) -> tuple[str, ...]:
    return (ROOT, *namespace)


def _fields(item: Document) -> dict[str, Any]:
    return {
        "value": item.value,
        "key": item.key,
        "namespace": item.place[1:],
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _fits(names: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends like a path, in which `*` stands for any one name."""
    path = tuple(condition.path)
    if len(names) < len(path):
        return False
    if condition.match_type == "prefix":
        compared = names[: len(path)]
    elif condition.match_type == "suffix":
        compared = names[len(names) - len(path) :]
    else:
        raise ValueError(f"unknown match type {condition.match_type!r}")
    return all(wanted in ("*", name) for name, wanted in zip(compared, path, strict=True))
