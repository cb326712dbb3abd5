"""
One connection of the server, on which a request has to arrive in time.

Handed to uvicorn by `server`. There are only so many connections, and whoever opens them needs no token:
one that says nothing, or never comes to the end of its headers, would keep its place for ever, and enough
of its like would keep every other caller out. Bodies have a time of their own, in `pressure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

HEAD_SECONDS: Final = 20.0
"""How long the headers of a request may take: as long as a body."""


class PromptConnection(H11Protocol):
    """A connection that is closed where no request comes."""

    head_seconds = HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has come; wait on where that is no whole request yet, also after an earlier one."""
        super().data_received(data)
        if not self._is_idle:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_idle:
            self.transport.close()
