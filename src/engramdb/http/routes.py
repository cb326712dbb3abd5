"""
Routes of the API, derived from the verbs: one route for each verb that declares one.

A GET changes nothing but the count of recalls and takes its fields in the address, a POST takes them in a
JSON body. Each makes one engine call, in a worker thread, and answers with the engine's value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from engramdb.errors import InvalidQuery
from engramdb.http import etags, paging
from engramdb.http.replies import reply, reply_memory, reply_read, reply_with
from engramdb.http.requests import read_body_as, read_query_as
from engramdb.values import Memory
from engramdb.values.query import check_limit
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Page, Request, Verb, fields_of
from engramdb.verbs.verb import Route as RouteDeclaration

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


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
        value, cursor = self._paged(asked, self._page, given)
        following = paging.next_address(request, self._page.cursor, cursor)
        return reply_read(value, known=known, following=following)

    def _carry_out(self, body: bytes, if_match: str | None) -> Response:
        asked = read_body_as(self._verb.request, body)
        if not self._verb.changes_one_memory:
            return self._reply(asked.call(self._engram))
        named, seen = etags.expected(self._engram, asked, if_match)
        return self._reply(named.call(self._engram, expected_version=seen))

    def _paged(self, asked: Request, page: Page, given: dict[str, str]) -> tuple[Any, str | None]:
        if page.cut:
            return paging.cut_by_server(asked.call(self._engram), page, given)
        found = paging.paged_by_engine(self._engram, asked, page)
        return found.entries, found.following

    def _check_cursor(self, request: HttpRequest) -> None:
        """Refuse a cursor that is no number as one that is not there, where entries have numbers."""
        cursor = request.query_params.get(self._page.cursor) if self._page else None
        if cursor is not None and self._page is not None and self._page.key == "number":
            paging.check_number(cursor)

    def _reply(self, value: Any, *, known: str | None = None) -> Response:
        if self._verb.gives is Memory:
            return reply_memory(value, known=known)
        if self._route.computed:
            return reply_with(value, *self._route.computed)
        return reply_read(value, known=known) if self._route.has_etag else reply(value)
