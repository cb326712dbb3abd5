"""
Who makes the request under way: a token's name, and how far it reaches.

Set by `bearer`, read by `allowed`, `once`, `events` and the routes. Carried in a context variable, which
follows the request into its worker thread; where no token is asked for, everybody is the owner.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engram.values import GLOBAL, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: a token's name, and how far it reaches."""

    key: str = ""
    """What tells this token from every other, also from a later one of the same name."""
    scope: Scope = GLOBAL
    """The scope that it is limited to; global is no limit."""
    is_read_only: bool = False
    may_narrow: bool = False
    """Whether a request may add names below its scope, such as the user of its project."""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything in the store that it may not see."""
        return self.scope != GLOBAL


OWNER: Final = Caller()
"""Whoever asks where no token is asked for."""
_CURRENT: Final[ContextVar[Caller]] = ContextVar("engram_caller", default=OWNER)
_IS_KNOWN: Final[ContextVar[Callable[[], bool]]] = ContextVar("engram_is_known", default=lambda: True)


def caller() -> Caller:
    """Return who makes the request under way."""
    return _CURRENT.get()


def is_still_known() -> bool:
    """Say whether who makes the request under way would be let in now; asked by what goes on for long."""
    return _IS_KNOWN.get()()


@contextmanager
def calling(who: Caller, *, is_known: Callable[[], bool]) -> Iterator[None]:
    """Say who makes the request while the block runs, and how to ask whether that is still so."""
    before, known_before = _CURRENT.set(who), _IS_KNOWN.set(is_known)
    try:
        yield
    finally:
        _IS_KNOWN.reset(known_before)
        _CURRENT.reset(before)
