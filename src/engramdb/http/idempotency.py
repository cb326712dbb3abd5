"""
Idempotency: a write that is sent again with the same `Idempotency-Key` is answered as before and done once.

Answers are stored before they are sent, by caller and key. A request whose process ended before it answered
is carried out again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.engine.idempotency import ids_in
from engramdb.errors import EngramError, InvalidContent, KeyReused, ReplyErased, RequestUnderWay
from engramdb.http.auth import caller
from engramdb.http.guard import API, read_body, replay
from engramdb.http.limits import MAX_BODY_BYTES, RETRY_SECONDS
from engramdb.http.requests import CapturedResponse, reply_error, request_id, retrying
from engramdb.verbs.table import VERBS

if TYPE_CHECKING:
    from engramdb.engine.idempotency import ReplyStore
    from engramdb.store.contract.documents import StoredReply

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
_SANE: Final = re.compile(r"[\x21-\x7e]{1,255}")
_CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_STORED_HEADERS: Final = ("content-type", "etag", "location", "link")
_WORDLESS: Final = frozenset({f"{API}erase"})
"""Their answers name what is erased and hold no word of it, so they may stay."""
_MAY_PASS: Final = frozenset({401, 403, 408, 412, 425, 429})
"""412 as well: nothing was done, and the same request with a newer `If-Match` is to be."""
_log = logging.getLogger("engramdb.http")


class IdempotencyKeys:
    """ASGI middleware that answers a write that was carried out before."""

    def __init__(self, app: ASGIApp, *, replies: ReplyStore) -> None:
        self._app = app
        self._replies = replies
        self._under_way: set[tuple[str, str]] = set()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on, once, or answer as before."""
        key = Headers(scope=scope).get(HEADER) if _is_write(scope) else None
        if key is None:
            await self._app(scope, receive, send)
            return
        if not _SANE.fullmatch(key):
            error = InvalidContent(f"{HEADER} must be 1 to 255 visible ASCII characters")
            await reply_error(error)(scope, receive, send)
            return
        caller_key = (caller().key, key)
        if caller_key in self._under_way:
            under_way = RequestUnderWay("a request with this key is under way")
            await _come_again(under_way)(scope, receive, send)
            return
        self._under_way.add(caller_key)
        try:
            await self._by_key(caller_key, scope, receive, send)
        finally:
            self._under_way.discard(caller_key)

    async def _by_key(
        self, caller_key: tuple[str, str], scope: AsgiScope, receive: Receive, send: Send
    ) -> None:
        body = await read_body(receive, max_bytes=MAX_BODY_BYTES) or b""
        request = _fingerprint(scope, body)
        try:
            known = await run_in_threadpool(self._replies.begin, *caller_key, request=request)
        except RequestUnderWay as exc:  # in another process, which shares nothing with us but the store
            await _come_again(exc)(scope, receive, send)
            return
        # One without an answer was cut off by the end of a process: it is carried out again.
        if known is not None and (known.status is not None or known.request != request):
            await _as_before(known, request)(scope, receive, send)
            return
        answer = CapturedResponse()
        with retrying(None if known is None else known.at):
            async with self._held(caller_key):
                await self._app(scope, replay(body, receive), answer.take)
        shown = frozenset() if scope["path"] in _WORDLESS else ids_in(answer.body)
        await self._store(caller_key, answer, shown)
        await answer.send(send)

    @asynccontextmanager
    async def _held(self, caller_key: tuple[str, str]) -> AsyncIterator[None]:
        """Hold a key while the block runs: a request that takes long is not one that was cut off."""
        renewing = asyncio.create_task(self._renew(caller_key))
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

    async def _renew(self, caller_key: tuple[str, str]) -> None:
        """Give signs of life until there is nothing to hold any more; one that fails is not the last."""
        is_held = True
        while is_held:
            await asyncio.sleep(self._replies.renew_seconds)
            try:
                is_held = await run_in_threadpool(self._replies.renew, *caller_key)
            except EngramError as exc:
                _log.warning("%s: a key could not be held, request %s", exc.code, request_id())
        _log.warning("another server carries out the same key, request %s", request_id())

    async def _store(
        self, caller_key: tuple[str, str], answer: CapturedResponse, shown: frozenset[str]
    ) -> None:
        """Store the answer; where that fails the write is still done, and is answered as done."""
        try:
            if answer.status >= 500 or answer.status in _MAY_PASS:
                await run_in_threadpool(self._replies.drop, *caller_key)
                return
            headers = {name: answer.headers[name] for name in _STORED_HEADERS if name in answer.headers}
            await run_in_threadpool(
                self._replies.keep,
                *caller_key,
                status=answer.status,
                headers=headers,
                body=answer.body,
                subjects=shown,
            )
        except EngramError as exc:
            _log.warning("%s: an answer could not be stored, request %s", exc.code, request_id())


def _is_write(scope: AsgiScope) -> bool:
    """Return whether a request changes something; a question is asked again each time."""
    if scope["type"] != "http" or scope["method"] not in _CHANGING or not scope["path"].startswith(API):
        return False
    return scope["path"] not in _questions()


def _questions() -> frozenset[str]:
    """Return the paths to which questions are posted."""
    return frozenset(one.http.path for one in VERBS.values() if one.http and not one.writes)


def _fingerprint(scope: AsgiScope, body: bytes) -> bytes:
    parts = (scope["method"].encode(), scope["path"].encode(), scope["query_string"], body)
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).digest()


def _as_before(known: StoredReply, request: bytes) -> Response:
    if known.status is not None and known.body is None:
        return reply_error(ReplyErased("what this request was about has been erased since"))
    if known.request != request or known.status is None:
        return reply_error(KeyReused("this key came with another request before"))
    response = Response(known.body, status_code=known.status, headers=dict(known.headers))
    response.headers[REPLAYED] = "true"
    return response


def _come_again(error: RequestUnderWay) -> Response:
    response = reply_error(error)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
