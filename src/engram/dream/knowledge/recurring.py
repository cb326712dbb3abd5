"""
Find steps that follow one another again and again, and steps that a statement lists.

Called by the step `procedures`; pure. A pattern is a stretch of the same things in the same order on several
occasions; one that only ever occurs inside a longer pattern is left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from engram.text.lazy import lazy
from engram.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from datetime import datetime, timedelta

LONGEST_STEP_CHARACTERS = 200

_NUMBERED = lazy(r"(?:^|[\s:;,.])\(?(\d{1,2})[.)]\s+")
_ARROW = lazy(r"\s*(?:->|=>|→|⇒)\s*")
_THEN = lazy(r"[,;.]?\s+(?:and\s+)?(?:then|after that|afterwards|finally|lastly|next)[,:]?\s+", re.IGNORECASE)
_FIRST = lazy(r"\b(?:first(?:ly)?|start by)[,:]?\s+", re.IGNORECASE)
_PURPOSE = lazy(
    r"(?:(?:how )?to|when|whenever|before|after|in order to|for)\s+(?P<what>[^,:;]{3,120})[,:]\s*"
    r"(?:we |i |you )?",
    re.IGNORECASE,
)
_EDGES = " \t\n.,;:!-–—"


def occasions(
    moments: Sequence[tuple[datetime, Hashable]], *, silence: timedelta
) -> list[list[tuple[datetime, Hashable]]]:
    """Return what happened, in the order of time, cut where nothing happened for longer than the silence."""
    cut: list[list[tuple[datetime, Hashable]]] = []
    for moment, what in moments:
        if not cut or moment - cut[-1][-1][0] > silence:
            cut.append([])
        cut[-1].append((moment, what))
    return cut


def patterns(
    sequences: Sequence[Sequence[Hashable]], *, least: int, longest: int
) -> dict[tuple[Hashable, ...], list[int]]:
    """
    Return the stretches of two or more that stand in at least so many sequences, with the places of those.

    The longest come first. A stretch inside a longer one that stands in as many sequences is not told apart.
    """
    found: defaultdict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for place, sequence in enumerate(sequences):
        for stretch in dict.fromkeys(_stretches(sequence, longest)):
            found[stretch].append(place)
    often = {stretch: places for stretch, places in found.items() if len(places) >= least}
    covered: Counter[tuple[Hashable, ...]] = Counter()
    for stretch, places in often.items():
        for inner in (stretch[1:], stretch[:-1]):
            covered[inner] = max(covered[inner], len(places))
    whole = [stretch for stretch in often if covered[stretch] < len(often[stretch])]
    return {stretch: often[stretch] for stretch in sorted(whole, key=lambda one: (-len(one), often[one]))}


def steps_in(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Return what a statement says to do in order, two steps or more, and what for; or no steps."""
    whole = " ".join(text.split())
    purpose = _PURPOSE.match(whole)
    rest = whole[purpose.end() :] if purpose else whole
    parts = _numbered(rest) or _apart(_ARROW, rest) or _then(rest)
    steps = tuple(part.strip(_EDGES) for part in parts)
    if len(steps) < 2 or any(not terms(step) or len(step) > LONGEST_STEP_CHARACTERS for step in steps):
        return None, ()
    return (purpose["what"].strip(_EDGES) if purpose else None), steps


def same_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """Return the form in which two ways of writing the same steps are equal."""
    return tuple(" ".join(terms(step)) for step in steps)


def _stretches(sequence: Sequence[Hashable], longest: int) -> Iterator[tuple[Hashable, ...]]:
    for start in range(len(sequence)):
        for end in range(start + 2, min(start + longest, len(sequence)) + 1):
            yield tuple(sequence[start:end])


def _numbered(text: str) -> list[str]:
    """Return the points of a list that counts 1, 2, 3; any other numbers are no list."""
    marks = list(_NUMBERED.finditer(text))
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _apart(mark: re.Pattern[str], text: str) -> list[str]:
    parts = mark.split(text)
    return parts if len(parts) > 1 else []


def _then(text: str) -> list[str]:
    """Return the parts of "first a, then b, finally c"; commas before the first "then" part steps as well."""
    parts = _apart(_THEN, text)
    if not parts:
        return []
    first = _FIRST.search(parts[0])
    return [parts[0][first.end() :] if first else parts[0], *parts[1:]]
