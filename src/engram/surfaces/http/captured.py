"""
An answer held back: what an application would have sent, to be looked at or sent in another form.

Used by `once`, which keeps answers, and by `progress`, which sends them as events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers

if TYPE_CHECKING:
    from starlette.types import Message, Send


class Captured:
    """Stands in for `send` and remembers."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def take(self, message: Message) -> None:
        """Remember a message of the answer."""
        self._messages.append(message)

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self._messages[0]["status"])

    @property
    def headers(self) -> Headers:
        """The headers of the answer."""
        return Headers(raw=self._messages[0]["headers"])

    @property
    def body(self) -> bytes:
        """The whole body of the answer."""
        return b"".join(one.get("body", b"") for one in self._messages[1:])

    async def send(self, send: Send) -> None:
        """Send it as it came."""
        for message in self._messages:
            await send(message)
