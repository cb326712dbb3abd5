"""
Find in a query's words the cues that intent_cues.toml lists.

Called by `intent`; reads the file once. A cue is a run of words that is looked up in a table, so the
time grows with the words of the query and not with the length of the list, and nothing can run away as a
pattern can. Each cue of the file counts once in a query, in whichever of its spellings it occurs.
"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from engram.recall.intent_words import BEGIN, COMMA, SIGNS, START, fold, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Words: TypeAlias = tuple[str, ...]

_SIGNPOSTS = (START, BEGIN, "$", *SIGNS)


@dataclass(frozen=True, slots=True)
class Cue:
    """One spelling of a listed cue: what it speaks for, how strongly, and what must follow."""

    line: int
    speaks_for: str
    strength: str
    then: tuple[Words, ...] = ()
    """Runs of words that have to come later, in this order."""


@dataclass(frozen=True, slots=True)
class Cues:
    """The whole file, ready to be looked up."""

    runs: dict[Words, list[Cue]] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    """How many words the longest run has that begins with this one."""
    unspaced: dict[str, Cue] = field(default_factory=dict)
    leads: frozenset[Words] = frozenset()
    leads_before_question: frozenset[Words] = frozenset()
    question_words: frozenset[str] = frozenset()
    heads: frozenset[str] = frozenset()
    """Words for one thing as a whole: asked about, "our landlord" is as good as a name."""
    objects: frozenset[str] = frozenset()
    """Words that follow the verb of an order."""
    particles: frozenset[str] = frozenset()
    """Words that may stand between the verb of an order and its object."""
    no_orders: frozenset[str] = frozenset()
    """Words with which an order does not begin."""
    comparatives: frozenset[str] = frozenset()


def found_cues(words: Sequence[str]) -> Iterator[tuple[Cue, int]]:
    """Yield each cue of these words and the place behind it, every one of the file at most once."""
    counted = set[int]()
    missed = set[Cue]()  # what does not follow here does not follow further on either
    for cue, end in _begun(words):
        if cue.line in counted or cue in missed:
            continue
        behind = _behind(words, end, cue.then)
        if behind is None:
            missed.add(cue)
        else:
            counted.add(cue.line)
            yield cue, behind


def found_unspaced(text: str) -> Iterator[Cue]:
    """Yield the cues of a text in a script without spaces."""
    folded = fold(text)
    for piece, cue in cues().unspaced.items():
        if piece in folded:
            yield cue


def without_lead(words: Sequence[str]) -> Sequence[str]:
    """Return the words without "ok, can you tell me" before the question proper."""
    while length := _lead(words):
        words = words[length:]
    return words


@cache
def cues() -> Cues:
    """Return the file, read once."""
    listed = tomllib.loads((Path(__file__).parent / "intent_cues.toml").read_text("utf-8"))
    lead, subject, grammar = (listed.pop(name) for name in ("lead", "subject", "grammar"))
    found = Cues(
        leads=frozenset(_spellings(lead["always"])),
        leads_before_question=frozenset(_spellings(lead["before_question"])),
        question_words=_single(lead["question_words"]),
        heads=_single(subject["heads"]),
        objects=_single(grammar["objects"]),
        particles=_single(grammar["particles"]),
        no_orders=_single(grammar["no_orders"]),
        comparatives=_single(grammar["comparatives"]),
    )
    lines = itertools.count()
    for speaks_for, lists in listed.items():
        _add(found, lists, speaks_for, lines)
    return found


def _add(found: Cues, lists: dict[str, Any], speaks_for: str, lines: Iterator[int]) -> None:
    for strength, pieces in lists.pop("unspaced", {}).items():
        for piece in pieces:
            found.unspaced[fold(piece)] = Cue(next(lines), speaks_for, strength)
    for strength, phrases in lists.items():
        for phrase, line in zip(phrases, lines, strict=False):
            for first, *then in map(_runs, _alternatives(phrase)):
                found.runs.setdefault(first, []).append(Cue(line, speaks_for, strength, tuple(then)))
                found.longest[first[0]] = max(len(first), found.longest.get(first[0], 0))


def _begun(words: Sequence[str]) -> Iterator[tuple[Cue, int]]:
    """Yield each cue whose first run of words stands here, and the place behind that run."""
    runs, longest = cues().runs, cues().longest
    for at, word in enumerate(words):
        for end in range(at + 1, min(at + longest.get(word, 0), len(words)) + 1):
            for cue in runs.get(tuple(words[at:end]), ()):
                yield cue, end


def _behind(words: Sequence[str], at: int, runs: Sequence[Words]) -> int | None:
    """Return the place behind these runs, found one after another, or none if one is missing."""
    for run in runs:
        places = range(at, len(words) - len(run) + 1)
        place = next((place for place in places if tuple(words[place : place + len(run)]) == run), None)
        if place is None:
            return None
        at = place + len(run)
    return at


def _lead(words: Sequence[str]) -> int:
    """Return how many words at the front come before the question proper."""
    if words and words[0] in (START, COMMA):
        return 1
    listed = cues()
    for length in range(min(6, len(words) - 1), 0, -1):
        run = tuple(words[:length])
        if run in listed.leads:
            return length
        if run in listed.leads_before_question and words[length] in listed.question_words:
            return length
    return 0


def _alternatives(phrase: str) -> Iterator[str]:
    """Yield each spelling of a phrase in which "a/b" stands for either."""
    choices = [word.split("/") for word in phrase.split()]
    return (" ".join(chosen) for chosen in itertools.product(*choices))


def _runs(spelling: str) -> list[Words]:
    """Return the runs of words that "…" divides."""
    return [_words(part) for part in spelling.split("…")]


def _words(part: str) -> Words:
    return tuple(itertools.chain.from_iterable(map(_written, part.split())))


@cache
def _written(word: str) -> Words:
    """Return a word of the file as it is met in a query; a text that begins also begins a sentence."""
    if word in _SIGNPOSTS:
        return (BEGIN, START) if word == BEGIN else (word,)
    return tuple(words_of(word))


def _spellings(phrases: Iterable[str]) -> Iterator[Words]:
    return (_words(spelling) for phrase in phrases for spelling in _alternatives(phrase))


def _single(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word if word in SIGNS else fold(word) for line in lines for word in line.split())
