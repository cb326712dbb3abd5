"""Replies: the engine's values as JSON with their ETags, and errors as `{code, message, hint}`."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

from engramdb.errors import EngramError
from engramdb.http import etags
from engramdb.http.requests import request_id
from engramdb.values import Memory
from engramdb.verbs.errors import answer_for

JSON: Final = "application/json"


def reply(value: object, *, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type=JSON)


def reply_with(value: object, *computed: str) -> Response:
    """Return a value as JSON, and beside its fields what it computes under these names."""
    fields: dict[str, Any] = msgspec.to_builtins(value)
    return reply(fields | {name: getattr(value, name) for name in computed})


def reply_memory(memory: Memory, *, known: str | None = None) -> Response:
    """Return a memory with its ETag; 304 where the caller knows this very state of it."""
    body = msgspec.json.encode(memory)
    return _with_etag(body, etags.memory_tag(memory, body), known)


def reply_read(value: object, *, known: str | None, following: str | None = None) -> Response:
    """Return a value with its ETag and the address of the next page, or 304 where it is known."""
    body = msgspec.json.encode(value)
    response = _with_etag(body, etags.tag_of(body), known)
    if following is not None:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


def reply_error(error: EngramError) -> Response:
    """Return an error with the status that the table gives it."""
    return refuse(answer_for(error).http_status, error)


def refuse(status: int, error: EngramError) -> Response:
    """Return an error with a status of HTTP's own, such as 415."""
    told = {"code": error.code, "message": error.message, "hint": error.hint}
    return reply(told | ({"request_id": request_id()} if request_id() else {}), status=status)


def _with_etag(body: bytes, tag: str, known: str | None) -> Response:
    if known is not None and etags.is_among(tag, known):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type=JSON, headers={"ETag": tag})
