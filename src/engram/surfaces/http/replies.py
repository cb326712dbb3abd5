"""
What answers look like: the engine's values as JSON, and errors as `{code, message, hint}`.

Used by the routes, the guard and the application's error answers.
The JSON is the same that the command line prints: fields of the values, nothing added, nothing renamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from engram.surfaces.errors import answer_for

if TYPE_CHECKING:
    from engram.errors import EngramError

JSON = "application/json"


def reply(value: object, *, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type=JSON)


def reply_error(error: EngramError) -> Response:
    """Return an error with the status that the table gives it."""
    return refuse(answer_for(error).http_status, error)


def refuse(status: int, error: EngramError) -> Response:
    """Return an error with a status of HTTP's own, such as 415."""
    return reply({"code": error.code, "message": error.message, "hint": error.hint}, status=status)
