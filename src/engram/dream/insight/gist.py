"""
Say in short what a group of memories says, in their own words.

Called by `canopy` and the step `tree`; pure. A title names what most members name; a summary lines up the
statements of those that stand in the middle and matter. Nothing is invented and nothing confidential comes
in: the caller hands over only what may be quoted, and is told which of it was.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.text.detail import levels
from engram.text.normal import normalise
from engram.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.values import Memory

MAKER = "gist/1"
FACT_TOKENS = 30
"""Longer statements are quoted by their summary."""
CLUSTER_FACTS = 5
CLUSTER_TOKENS = 100
DOMAIN_TOKENS = 70
TITLE_NAMES = 2
LEAST_SUPPORT = 2
"""A name stands in a title when so many members share it, so it is not one memory's alone."""
LONGEST_TITLE = 60
NO_TITLE = "various"


@dataclass(frozen=True, slots=True)
class Fact:
    """What one memory says at its shortest."""

    key: int
    text: str


@dataclass(frozen=True, slots=True)
class Gist:
    """A summary, and the memories whose words it uses."""

    text: str
    quoted: tuple[int, ...]


def fact_of(key: int, memory: Memory) -> Fact:
    """
    Return what a memory says, whole if it is short, or else its own summary.

    Not its key fact: subject, predicate and object alone make "puts sugar in coffee" of "never puts".
    """
    text = memory.content
    cost = memory.detail.tokens.get("full") or count_tokens(text)
    if cost > FACT_TOKENS:
        text = memory.detail.summary or levels(text, category=memory.category).summary or text
    return Fact(key, " ".join(text.split()).rstrip(" .;"))


def title(names: Iterable[str], topics: Iterable[str], *, members: int) -> str:
    """Return what to call a group: the names that most of it shares, or else its topics."""
    least = min(LEAST_SUPPORT, members)
    shared = [word for word, count in _ranked(names) if count >= least]
    if not shared:
        shared = [word for word, count in _ranked(topics) if count >= least]
    chosen: list[str] = []
    for word in shared:
        if len(chosen) < TITLE_NAMES and len(", ".join([*chosen, word])) <= LONGEST_TITLE:
            chosen.append(word)
    return ", ".join(chosen) or NO_TITLE


def cluster_gist(facts: Sequence[Fact]) -> Gist:
    """Return the key facts of a cluster, given best first."""
    return _lined_up([(fact.key, fact.text) for fact in facts], most=CLUSTER_FACTS, tokens=CLUSTER_TOKENS)


def domain_gist(best: Sequence[tuple[str, Fact]]) -> Gist:
    """Return one fact of each cluster of a domain, given as titles and facts, the largest cluster first."""
    return _lined_up([(fact.key, _headed(name, fact)) for name, fact in best], most=8, tokens=DOMAIN_TOKENS)


def global_gist(best: Sequence[tuple[str, Fact]], *, tokens: int) -> Gist:
    """Return one fact of each domain, given as titles and facts, the largest domain first."""
    return _lined_up([(fact.key, _headed(name, fact)) for name, fact in best], most=len(best), tokens=tokens)


def _headed(name: str, fact: Fact) -> str:
    """Return a fact behind the name of its group, unless it says the name itself."""
    is_said = name == NO_TITLE or any(word in normalise(fact.text) for word in normalise(name).split(", "))
    return fact.text if is_said else f"{name}: {fact.text}"


def _lined_up(texts: Sequence[tuple[int, str]], *, most: int, tokens: int) -> Gist:
    """Return different texts in a row, as many as there is room for."""
    chosen: dict[str, tuple[int, str]] = {}
    room = tokens
    for key, text in texts:
        cost = count_tokens(text)
        if text and len(chosen) < most and cost <= room and normalise(text) not in chosen:
            chosen[normalise(text)] = (key, text)
            room -= cost
    while chosen and count_tokens("; ".join(text for _, text in chosen.values())) > tokens:
        chosen.popitem()  # in a row they may cost more than one by one
    return Gist("; ".join(text for _, text in chosen.values()), tuple(key for key, _ in chosen.values()))


def _ranked(words: Iterable[str]) -> list[tuple[str, int]]:
    """Return words by how often they come, the most frequent first, and equal ones by name."""
    return sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))
