"""
Tell what a model read in the turns from what it made up.

Called by `extract.believe` for every statement of a reply; pure.
A statement may bring a few words of its own, since "I'm a nurse" becomes "User works as a nurse", but most of
its words must have been said. Numbers are held to more: an invented amount is worse than a lost statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engram.text.lazy import lazy
from engram.text.passage import long_date
from engram.text.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

SMALLEST_SHARE: Final = 0.5
"""Of the telling words of a statement, how many must have been said: where "mostly" begins."""

LARGEST_FREE_NUMBER: Final = 100
"""Up to here a number may stand for a word ("ten years", "two kids"), so it counts as any other word does."""

_NUMBER = lazy(r"\d+(?:[.,'’]\d+)*")
_MARKS = lazy(r"\D")

_TURNS_OF_PHRASE = frozenset(
    term
    for word in (
        *("user", "assistant", "person", "name", "call", "use", "work", "live", "want", "plan", "prefer"),
        *("dislike", "favourite", "favorite", "own", "belong", "say", "state", "mention", "decide", "agree"),
        *("currently", "current", "longer", "previously", "previous", "formerly", "instead", "anymore"),
    )
    for term in query_terms(word)
)
"""What turns the first person into the third: these words prove nothing and are not held against anyone."""


@dataclass(frozen=True, slots=True)
class Said:
    """The words and numbers of the turns that a reply is about, and of what was said before them."""

    own: frozenset[str]
    """The words of the turns alone: a statement needs one of them, or an old turn would be read twice."""
    words: frozenset[str]
    numbers: frozenset[str]
    folded: str

    @classmethod
    def of(cls, texts: Sequence[str], *, earlier: Sequence[str] = (), days: Sequence[datetime] = ()) -> Said:
        """Return what the texts hold; the days are those from which "last year" is reckoned."""
        text, before = "\n".join(texts), "\n".join(earlier)
        own = frozenset(terms(text))
        years = {str(year) for day in days for year in (day.year - 1, day.year, day.year + 1)}
        return cls(
            own=own,
            words=own | frozenset(terms(before)),
            numbers=frozenset({*_numbers(text), *_numbers(before), *years}),
            folded=f"{text}\n{before}".casefold(),
        )

    def supports(self, content: str, *, day: datetime | None = None) -> bool:
        """Say whether the statement could have been read out of the turns; `day` is when it happened."""
        if any(int(number) > LARGEST_FREE_NUMBER for number in self._strange_numbers(content, day)):
            return False
        excused = _TURNS_OF_PHRASE | _date_terms(day)
        telling = [term for term in query_terms(content) if term not in excused]
        known = [term for term in telling if term in self.words]
        return len(known) >= SMALLEST_SHARE * len(telling) and any(term in self.own for term in known)

    def mentions(self, name: str) -> bool:
        """Say whether the name was said as it is."""
        return name.casefold() in self.folded

    def _strange_numbers(self, content: str, day: datetime | None) -> set[str]:
        return _numbers(content) - self.numbers - ({str(day.year)} if day else set())


def _date_terms(day: datetime | None) -> frozenset[str]:
    """Return the terms of a date however it is written: nobody says "7 May" who says "yesterday"."""
    if day is None:
        return frozenset()
    return frozenset(terms(f"{day.date().isoformat()} {long_date(day)} {day.month}"))


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text by their digits, so that 5,000 and 5000 are the same one."""
    return {_MARKS.sub("", match).lstrip("0")[:20] or "0" for match in _NUMBER.findall(text)}
