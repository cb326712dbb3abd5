"""
A pattern and the words without which it cannot match.

Used by the finders of PII; knows nothing about what they look for.
Looking for a substring costs next to nothing, running a pattern over a page costs milliseconds, and compiling
it more; so each pattern names pieces of text of which one must occur, and is compiled when one first does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Cued:
    """A pattern that is only run on a text with one of its cues."""

    cues: tuple[str, ...]
    pattern: str

    def matches(self, text: str, lower: str) -> Iterator[re.Match[str]]:
        """Return the matches in the text, whose lower-case form the caller has at hand."""
        for cue in self.cues:  # a plain loop: asked forty times for every statement
            if cue in lower:
                return compiled(self.pattern).finditer(text)
        return iter(())


def cued(cues: str, pattern: str) -> Cued:
    """Return a pattern with its cues, given in lower case with a comma between them."""
    return Cued(tuple(cues.split(",")), pattern)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern compiled, once per process."""
    return re.compile(pattern)
