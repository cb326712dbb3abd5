"""Routes derived from the verbs, and paging."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from engramdb.errors import InvalidContent, InvalidQuery
from engramdb.http import etags
from engramdb.http.requests import read_body_as, read_query_as, reply, reply_memory, reply_read, reply_with
from engramdb.values import Memory, MemoryList
from engramdb.values.query import MAX_LIMIT, check_limit
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Page, Request, Verb, fields_of
from engramdb.verbs.verb import Page as PageRule
from engramdb.verbs.verb import Route as RouteDeclaration

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

One = TypeVar("One")
UNREADABLE: Final = "Engram-Unreadable"
"""Names the memories that a list lacks because their rows are damaged."""
_CURSOR_BYTES: Final = 9
_DIGITS: Final = 19
"""Of the largest number that a store gives."""
_BEGIN_AGAIN: Final = "Begin again without a cursor."


class ListPage(Struct, Generic[One], frozen=True):
    """Some entries of a list, and the cursor of those that follow, if any do."""

    entries: Sequence[One]
    following: str | None
    unreadable: tuple[str, ...] = ()
    """The ids of entries that the list lacks because they cannot be read."""


def paged_by_engine(engram: Engram, asked: Request, rule: PageRule) -> ListPage[Any]:
    """Return the page that a request asks the engine for; one entry more tells whether another follows."""
    limit: int = asked.limit  # type: ignore[attr-defined] # what the engine pages takes one
    check_limit(limit)
    found = msgspec.structs.replace(asked, limit=min(limit + 1, MAX_LIMIT)).call(engram)
    newest_first = found[::-1] if rule.is_reversed else found
    cut = shown(newest_first, lambda one: getattr(one, rule.key), limit=limit)
    if isinstance(found, MemoryList):
        return msgspec.structs.replace(cut, unreadable=found.unreadable)
    return ListPage(cut.entries[::-1], cut.following) if rule.is_reversed else cut


def cut_by_server(answer: Any, rule: PageRule, given: dict[str, str]) -> tuple[Any, str | None]:
    """Return an answer with one page of its entries, and the cursor of the next."""
    entries = getattr(answer, rule.entries) if rule.entries else answer
    names = numbers(entries) if rule.cut == "numbers" else fingerprints(entries)
    limit = _size(given.get(rule.size), rule)
    cut = page(entries, names, limit=limit, behind=given.get(rule.cursor))
    if not rule.entries:
        return cut.entries, cut.following
    return msgspec.structs.replace(answer, **{rule.entries: tuple(cut.entries)}), cut.following


def next_address(request: HttpRequest, cursor: str, value: str | None) -> str | None:
    """Return the address of the same request with another cursor; None where no page follows."""
    if value is None:
        return None
    others = [pair for pair in request.query_params.multi_items() if pair[0] != cursor]
    return f"{request.url.path}?{urlencode([*others, (cursor, value)])}"


def shown(found: Sequence[One], cursor: Callable[[One], object], *, limit: int) -> ListPage[One]:
    """
    Return the entries of a page that the engine gave, and the cursor of those that follow.

    At the largest limit nothing could be asked for beyond it, so a full page may be followed by an empty one.
    """
    entries = found[:limit]
    is_more = len(found) > limit or len(entries) == MAX_LIMIT
    return ListPage(entries, str(cursor(entries[-1])) if is_more else None)


def page(entries: Sequence[One], names: Sequence[str], *, limit: int, behind: str | None) -> ListPage[One]:
    """Return the entries behind the one that a cursor names, or the first; `names` are the cursors."""
    check_limit(limit)
    start = 0 if behind is None else _position(names, behind)
    end = start + limit
    return ListPage(entries[start:end], names[end - 1] if end < len(entries) else None)


def numbers(entries: Sequence[object]) -> list[str]:
    """Return cursors for a list that only grows at its end."""
    return [str(number) for number, _ in enumerate(entries, start=1)]


def fingerprints(entries: Sequence[object]) -> list[str]:
    """Return cursors for a list that grows at its beginning; equal entries are counted from the end."""
    seen: Counter[str] = Counter()
    names = []
    for one in reversed(entries):
        written = blake2b(msgspec.json.encode(one), digest_size=_CURSOR_BYTES).hexdigest()
        names.append(f"{written}.{seen[written]}")
        seen[written] += 1
    return names[::-1]


def check_number(cursor: str) -> None:
    """Raise as the engine does where a cursor that is a number is none."""
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _DIGITS):
        raise InvalidQuery(f"no entry has the cursor {cursor[:40]!r}", hint=_BEGIN_AGAIN)


def _size(given: str | None, rule: PageRule) -> int:
    if given is None:
        return rule.default
    try:
        return msgspec.convert(given, int, strict=False)
    except msgspec.ValidationError as exc:
        raise InvalidContent(f"{rule.size}: {exc}") from exc


def _position(names: Sequence[str], behind: str) -> int:
    if behind not in names:
        raise InvalidQuery(f"no entry has the cursor {behind[:40]!r} any more", hint=_BEGIN_AGAIN)
    return names.index(behind) + 1


def verb_routes(engram: Engram) -> list[Route]:
    """Return the route of every verb that has one, and those at the paths that it had before."""
    found = []
    for verb in VERBS.values():
        if verb.http is not None:
            endpoint = VerbEndpoint(engram, verb, verb.http)
            answer = endpoint.get if verb.http.method == "GET" else endpoint.post
            found += [
                Route(path, answer, methods=[verb.http.method], name=verb.name)
                for path in (verb.http.path, *verb.http.old_paths)
            ]
    return found


class VerbEndpoint:
    """Answers the requests for one verb."""

    def __init__(self, engram: Engram, verb: Verb, route: RouteDeclaration) -> None:
        self._engram = engram
        self._verb = verb
        self._route = route
        self._page = route.page
        self._apart = (route.page.size, route.page.cursor) if route.page and route.page.cut else ()
        self._has_limit = any(one.name == "limit" for one in fields_of(verb.request))

    async def post(self, request: HttpRequest) -> Response:
        """Answer a request with a body; a `dry_run` in the address must not turn into the real thing."""
        if request.url.query:
            raise InvalidQuery("a POST takes everything in its body", hint="Move the parameters there.")
        body = await request.body()
        return await run_in_threadpool(self._carry_out, body, request.headers.get("if-match"))

    def get(self, request: HttpRequest) -> Response:
        """Answer a request that only reads."""
        self._check_cursor(request)
        asked, given = read_query_as(self._verb.request, request, apart=self._apart)
        if self._has_limit:
            check_limit(asked.limit)  # type: ignore[attr-defined] # looked up when the route was made
        known = request.headers.get("if-none-match")
        if self._page is None:
            return self._reply(asked.call(self._engram), known=known)
        found = self._paged(asked, self._page, given)
        following = next_address(request, self._page.cursor, found.following)
        response = reply_read(found.entries, known=known, following=following)
        if found.unreadable:
            response.headers[UNREADABLE] = ", ".join(quote(one) for one in found.unreadable)
        return response

    def _carry_out(self, body: bytes, if_match: str | None) -> Response:
        asked = read_body_as(self._verb.request, body)
        if not self._verb.changes_one_memory:
            return self._reply(asked.call(self._engram))
        named, seen = etags.expected(self._engram, asked, if_match)
        return self._reply(named.call(self._engram, expected_version=seen))

    def _paged(self, asked: Request, page: Page, given: dict[str, str]) -> ListPage[Any]:
        if page.cut:
            return ListPage(*cut_by_server(asked.call(self._engram), page, given))
        return paged_by_engine(self._engram, asked, page)

    def _check_cursor(self, request: HttpRequest) -> None:
        """Refuse a cursor that is no number as one that is not there, where entries have numbers."""
        cursor = request.query_params.get(self._page.cursor) if self._page else None
        if cursor is not None and self._page is not None and self._page.key == "number":
            check_number(cursor)

    def _reply(self, value: Any, *, known: str | None = None) -> Response:
        if self._verb.gives is Memory:
            return reply_memory(value, known=known)
        if self._route.computed:
            return reply_with(value, *self._route.computed)
        return reply_read(value, known=known) if self._route.has_etag else reply(value)
