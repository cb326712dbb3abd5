"""
The engine of the server, opened when the client has been greeted and not before.

Used by `server`. Clients give a server a few seconds to shake hands, and opening a store and its models
may take longer; so the handshake waits for neither. A store that cannot be opened is the answer of every
call, with the reason, and the next call tries again: a file that was locked for a moment does not end
the server.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from engram.errors import EngramError, StoreClosed
from engram.surfaces.mcp.failures import foreseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.engine.engram import Engram


class Opening:
    """An engine that is opened once, by whoever comes first, and closed once."""

    def __init__(self, open_engine: Callable[[], Engram]) -> None:
        self._open_engine = open_engine
        self._lock = threading.Lock()
        self._engram: Engram | None = None
        self._is_closed = False

    def begin(self) -> None:
        """Open it in the background, unless it is open or being opened."""
        if self._engram is None and not self._lock.locked():
            threading.Thread(target=self._try, name="engram-opening", daemon=True).start()

    def engram(self) -> Engram:
        """Return the engine, opened if need be; raises why it cannot be."""
        with self._lock:
            if self._is_closed:
                raise StoreClosed("the server is ending")
            if self._engram is None:
                self._engram = self._open_engine()
            return self._engram

    def close(self) -> None:
        """Close the engine if it was opened; no call opens it again."""
        with self._lock:
            self._is_closed = True
            if self._engram is not None:
                self._engram.close()
                self._engram = None

    def _try(self) -> None:
        with suppress(EngramError):  # the next call meets the same and answers with it
            foreseen(self.engram, what="opening")
