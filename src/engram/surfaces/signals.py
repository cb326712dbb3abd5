"""
What each index and signal of a recall looks at, in a person's words.

Read by the command line and the page, so that both call a thing the same; `--explain` and JSON keep the
engine's own names. A name that is not listed stands for itself, so a new signal is shown at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.values import Reason


@dataclass(frozen=True, slots=True)
class Wording:
    """One signal: a word for a short list, and a phrase that completes "found by …"."""

    word: str
    phrase: str


WORDINGS: Final = {
    "lexical": Wording("words", "its words"),
    "topic": Wording("topic", "what it is about"),
    "vector": Wording("meaning", "its meaning"),
    "session": Wording("neighbours", "what was said around it"),
    "subject": Wording("who", "whom it is about or who said it"),
    "time": Wording("when", "the time it is about"),
    "graph": Wording("links", "its links to others"),
    "linked": Wording("links", "its links to others"),
    "entity": Wording("names", "the names in it"),
}


def word(index: str) -> str:
    """Return what an index or signal looks at, in a word."""
    return WORDINGS[index].word if index in WORDINGS else index


def phrase(index: str) -> str:
    """Return the same so that it completes "found by …"."""
    return WORDINGS[index].phrase if index in WORDINGS else index


def words(reasons: Iterable[Reason]) -> list[str]:
    """Return what spoke for a hit, each once, what gave most first."""
    best_first = sorted(reasons, key=lambda reason: -reason.contribution)
    return list(dict.fromkeys(word(reason.index) for reason in best_first if reason.contribution > 0))
