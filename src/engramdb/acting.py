"""
Who acts now: the one that a surface has recognized by its credential, for as long as one call lasts.

An engine has an actor of its own, the one that it was opened for. A server opens it once and serves many: it
says here who asks, so that history and audit name the one who did it. Work that is left to the background is
the work of rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from engramdb.values import Actor

_CURRENT: Final[ContextVar[Actor | None]] = ContextVar("engram_actor", default=None)


def current_actor() -> Actor | None:
    """Return who acts now; None where no surface has said so."""
    return _CURRENT.get()


@contextmanager
def acting_as(actor: Actor | None) -> Iterator[None]:
    """Let everything inside the block be done by an actor; by the one as before where it is None."""
    if actor is None:
        yield
        return
    before = _CURRENT.set(actor)
    try:
        yield
    finally:
        _CURRENT.reset(before)
