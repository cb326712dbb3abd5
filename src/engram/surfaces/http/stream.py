"""
The form of server-sent events: how one is written, and what a stream begins and lives with.

Used by `events` and `progress`. A line that begins with a colon is a comment: it tells whoever sits
between that the stream is alive, and the server whether anybody still listens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Message

BEAT_SECONDS: Final = 15.0
BEAT: Final = b": alive\n\n"
MEDIA_TYPE: Final = "text/event-stream; charset=utf-8"
START: Final[Message] = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", MEDIA_TYPE.encode())],
}


def event(name: str, body: bytes, *, cursor: int | None = None) -> bytes:
    """Return one event; a body of several lines becomes several lines of the event."""
    place = b"" if cursor is None else b"id: %d\n" % cursor
    lines = b"".join(b"data: %s\n" % line for line in body.split(b"\n"))
    return b"event: %s\n%s%s\n" % (name.encode(), place, lines)


def place(cursor: int) -> bytes:
    """Return a comment that moves the listener's place on without telling anything."""
    return b": here\nid: %d\n\n" % cursor
