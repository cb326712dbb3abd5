"""
Topics of a fixed list that a text is plainly about.

The list is in data/topics.toml. Better none than a wrong one: a word that means other things too ("run",
"match", "table") counts only beside another word of the same topic, and words of a figure of speech
("sleep on it") count for nothing. Numbers: docs/lab/0055-topics-and-names.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy

MAX_NAMED = 3
"""A statement is about one thing or two; more topics say nothing of it."""

MAX_WORDS = 400
"""A text says early what it is about."""

_SURE, _MAYBE = 2, 1
"""What a word adds; a topic is named from two on."""

_WORD = lazy(r"[^\W_](?:[\w&+#/'’.:-]*[\w+#])?")
_PLURALS = ("s", "es")
_OWNERS = ("'s", "s'")


class _Lists(Struct, frozen=True):
    sure: dict[str, tuple[str, ...]]
    """The topics of each word or row of words that one of is enough."""
    maybe: dict[str, tuple[str, ...]]
    idioms: frozenset[str]
    longest: dict[str, int]
    """How many words the longest row has that begins with a word."""


class _Votes:
    """What speaks for one topic: different words, and where the first of them stands."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.sure: set[str] = set()
        self.maybe: set[str] = set()

    @property
    def total(self) -> int:
        """How much speaks for it."""
        return _SURE * len(self.sure) + _MAYBE * len(self.maybe)


def named_topics(text: str) -> list[str]:
    """Return the topics that the words of a text leave little doubt about, the best first."""
    votes: dict[str, _Votes] = {}
    lists = _lists()
    for place, found in enumerate(_entries(text)):
        for topic in lists.sure.get(found, ()):
            votes.setdefault(topic, _Votes(place)).sure.add(found)
        for topic in lists.maybe.get(found, ()):
            votes.setdefault(topic, _Votes(place)).maybe.add(found)
    enough = {topic: each for topic, each in votes.items() if each.total >= _SURE}
    ranked = sorted(enough, key=lambda topic: (-enough[topic].total, enough[topic].first, topic))
    return _without_doubt(ranked, enough)[:MAX_NAMED]


@cache
def topic_names() -> frozenset[str]:
    """Return the names of the fixed list."""
    return frozenset(registry("topics")["topics"])


def is_topic_word(word: str) -> bool:
    """Return whether a word stands on the list of some topic, so that it is no name by itself."""
    return any(form in _lists().sure or form in _lists().maybe for form in _forms(word))


def _without_doubt(ranked: list[str], votes: dict[str, _Votes]) -> list[str]:
    """
    Return the topics that a sure word speaks for, and the first where more speaks for it than for any other.

    Words that each mean several things point to several topics: with nothing else to go by, to none.
    """
    sure = [topic for topic in ranked if votes[topic].sure]
    if not ranked or votes[ranked[0]].sure:
        return sure
    is_alone = len(ranked) == 1 or votes[ranked[1]].total < votes[ranked[0]].total
    return [ranked[0], *sure] if is_alone else sure


def _entries(text: str) -> Iterator[str]:
    """Yield the words and rows of words that stand on a list, each word in one of them at most."""
    lists = _lists()
    found = islice(_WORD.finditer(text), MAX_WORDS)
    words = [match.group().casefold().replace("’", "'") for match in found]
    at = 0
    while at < len(words):
        row = _longest_row(words, at, lists)
        if row is None:
            single = next(
                (form for form in _forms(words[at]) if form in lists.sure or form in lists.maybe), None
            )
            if single is not None:
                yield single
            at += 1
            continue
        if row not in lists.idioms:
            yield row
        at += row.count(" ") + 1


def _longest_row(words: list[str], at: int, lists: _Lists) -> str | None:
    """Return the longest row of words on a list that begins here."""
    for length in range(min(lists.longest.get(words[at], 1), len(words) - at), 1, -1):
        row = " ".join(words[at : at + length])
        if row in lists.idioms or row in lists.sure:
            return row
        singular = row.removesuffix("s")
        if singular in lists.sure:
            return singular
    return None


def _forms(word: str) -> Iterator[str]:
    """Yield a word as it stands, and without an ending of many or of an owner."""
    yield word
    for ending in (*_OWNERS, *_PLURALS):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            yield word.removesuffix(ending)


@cache
def _lists() -> _Lists:
    data = registry("topics")
    sure: dict[str, list[str]] = {}
    maybe: dict[str, list[str]] = {}
    for topic, words in data["topics"].items():
        for told, by_word in ((words["sure"], sure), (words["maybe"], maybe)):
            for word in told.split():
                by_word.setdefault(word.replace("_", " "), []).append(topic)
    idioms = frozenset(" ".join(one.split()) for one in data["idioms"].split(","))
    longest: dict[str, int] = {}
    for row in (*sure, *idioms):
        first, *others = row.split(" ")
        longest[first] = max(longest.get(first, 1), len(others) + 1)
    return _Lists(
        {word: tuple(topics) for word, topics in sure.items()},
        {word: tuple(topics) for word, topics in maybe.items()},
        idioms,
        longest,
    )
