"""What a server takes at once and how long each step may last: the same for the API and for MCP."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

MAX_BODY_BYTES: Final = 2_000_000
"""Twice the largest turn that a policy admits, for the JSON around it."""
BODY_SECONDS: Final = 20.0
"""How long a body may take to arrive: two megabytes over a poor line."""
RETRY_SECONDS: Final = 1
"""When one that was sent away may come again."""


class Limits(Struct, frozen=True, kw_only=True):
    """How much a server takes at once, and how long each step may last."""

    max_connections: int = 500
    """At once, also of those who say nothing; a process may usually hold about a thousand files."""
    max_connections_per_address: int = 250
    """More than the requests that one server has in hand, so that one machine can use it whole."""
    max_header_bytes: int = 16_384
    header_seconds: float = 20.0
    """How long the headers of a request may take: as long as a body."""
    idle_seconds: int = 5
    """How long a connection stays open for the next request."""
    max_body_bytes: int = MAX_BODY_BYTES
    body_seconds: float = BODY_SECONDS
    max_working: int = 32
    """Requests carried out at once: below the framework's forty threads, some of which watch and follow."""
    max_waiting: int = 128
    """Requests that wait their turn beside them; each may hold a body."""
    wait_seconds: float = 15.0
    """How long one waits before it is sent away."""
    send_seconds: float = 30.0
    """How long a caller may leave a piece of its answer unread."""
    max_streams: int = 64
    """MCP clients that listen for messages of the server."""
    max_sessions: int = 1_000
    """MCP clients of the older protocol that are connected at once."""
    session_idle_seconds: float = 1_800.0
    """When such a client is let go that asks nothing and does not listen."""

    @property
    def max_open_connections(self) -> int:
        """Connections at once, as far as half the files that this process may open go."""
        try:
            import resource  # noqa: PLC0415 - not on every system
        except ImportError:
            return self.max_connections
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return self.max_connections if files < 0 else min(self.max_connections, max(1, files // 2))
