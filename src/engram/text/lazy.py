"""
Patterns that are compiled when they are first used.

Used for the patterns in the bodies of modules: there are some three hundred, compiling them takes a third of
the time that a command needs to start, and one command uses few of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import Any


class _Lazy:
    """Stands for a pattern; from the second use of a method on it is as fast as the pattern itself."""

    def __init__(self, expression: str, flags: int) -> None:
        self.pattern = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        found = getattr(compiled, name)
        setattr(self, name, found)
        return found


def lazy(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern of an expression; a mistake in the expression shows when it is first used."""
    return cast("re.Pattern[str]", _Lazy(expression, int(flags)))
