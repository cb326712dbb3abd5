"""
Find the people, places, projects and things that a text names.

Called by the entity registry for every admitted memory; calls the vocabulary of technologies and the rules
for each sort of name. Precision first: a capital letter alone proves little, so each type asks for a list, a
suffix or a cue, and what stays unclear is `unknown` or nothing. Numbers: docs/lab/0009-entities.md.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from engram.kept import kept
from engram.text.entity_names import fold_name, name_lists
from engram.text.name_cues import capitals_prove_nothing
from engram.text.name_runs import Run, Word, runs, words_of
from engram.text.plain_names import lower_case_names, relations, set_apart
from engram.text.run_types import Placed, run_mention
from engram.text.technologies import find_technologies
from engram.text.unspaced_names import unspaced_mentions
from engram.values import EntityType, Mention

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_MENTIONS = 50
"""A statement names a handful of things; a longer list is a document's."""

MAX_RUNS = 100
"""Capitalised names that are looked at: enough for fifty mentions, and a bound on the time of a bad text."""

MAX_CHARACTERS = 10_000
"""What lies behind is not looked at; a memory is shorter."""

_HOSTED = frozenset({"cloud", "code host", "work tool", "ci"})
"""Classes of technology that are used as a service."""


def mentions(text: str, *, speaker: str | None = None) -> tuple[Mention, ...]:
    """
    Return what the text names, in order, each thing once.

    "My sister" is a mention only when the speaker is known, and then as "Tom's sister"; with a name beside
    it ("my sister Ana"), the name is the mention.
    """
    apart, bare, words = _read(text[:MAX_CHARACTERS])
    found = _Spans([*apart, *relations(bare, speaker)])
    found.add_free(lower_case_names(bare))
    found.add_free(_capitalised(bare, words, found))
    every = [*found.placed, *unspaced_mentions(bare)]
    in_order = [mention for _, _, mention in sorted(every, key=lambda placed: placed[:2])]
    return _distinct(in_order)[:MAX_MENTIONS]


def possible_names(text: str) -> tuple[str, ...]:
    """
    Return words that may be names but prove nothing by themselves, for a look at what is known already.

    A capitalised first word that is on no list ("Microsft renewed"), or a given name in small letters.
    """
    _, bare, words = _read(text[:MAX_CHARACTERS])
    first = [bare[run.start : run.end] for run in runs(bare, words) if _may_be_name(run)]
    given = name_lists().given
    small = [bare[word.start : word.end] for word in words if not word.is_capital and word.folded in given]
    return tuple(dict.fromkeys([*first, *small]))[:MAX_MENTIONS]


@kept(64)  # a statement is asked what it names, and what it may name
def _read(text: str) -> tuple[list[Placed], str, list[Word]]:
    """Return what is set apart of a text, the rest, and its words."""
    apart, bare = set_apart(text)
    return apart, bare, words_of(bare)


def type_of(name: str) -> EntityType:
    """Return what a name by itself seems to be, as when an extractor gives only the name."""
    whole = [found.type for found in mentions(f"about {name}") if fold_name(found.text) == fold_name(name)]
    return whole[0] if whole else EntityType.UNKNOWN


def _distinct(found: list[Mention]) -> tuple[Mention, ...]:
    """Return each thing once; a name whose type is clear in one place is not unclear in another."""
    clear = {fold_name(mention.text) for mention in found if mention.type is not EntityType.UNKNOWN}
    distinct: dict[tuple[str, EntityType], Mention] = {}
    for mention in found:
        if mention.type is not EntityType.UNKNOWN or fold_name(mention.text) not in clear:
            distinct.setdefault((fold_name(mention.text, mention.type), mention.type), mention)
    return tuple(distinct.values())


def _may_be_name(run: Run) -> bool:
    lists = name_lists()
    first = run.words[0].folded
    is_plain = first in lists.starters or first in lists.not_names or run.words[-1].is_owner
    return run.starts_sentence and not is_plain


def _capitalised(text: str, words: list[Word], taken: _Spans) -> Iterator[Placed]:
    """Yield what runs of capitalised words name, and technologies in whatever case."""
    tools = _Spans([placed for placed in _tools(text) if taken.is_free(placed)])
    named = _Spans([])
    if any(map(str.islower, text)):  # a text in capitals throughout says nothing by its capitals
        is_german = capitals_prove_nothing(text)
        found = (
            run_mention(text, run, is_tool=tools.has(run.start, run.end), is_german=is_german)
            for run in runs(text, words)[:MAX_RUNS]
        )
        named.add_free(placed for placed in found if placed is not None)
    named.add_free(tools.placed)
    yield from named.placed


def _tools(text: str) -> Iterator[Placed]:
    for one in find_technologies(text):
        kind = EntityType.SERVICE if one.kind in _HOSTED else EntityType.TECHNOLOGY
        yield one.start, one.end, Mention(text[one.start : one.end], kind)


class _Spans:
    """Mentions that do not overlap, kept in order so that asking whether a place is free is quick."""

    def __init__(self, placed: Iterable[Placed]) -> None:
        self.placed: list[Placed] = []
        self._starts: list[int] = []
        self.add_free(placed)

    def add_free(self, others: Iterable[Placed]) -> None:
        """Keep those whose place is free."""
        for placed in list(others):
            if self.is_free(placed):
                at = bisect_right(self._starts, placed[0])
                self._starts.insert(at, placed[0])
                self.placed.insert(at, placed)

    def is_free(self, placed: Placed) -> bool:
        """Say whether nothing stands where this does."""
        return not self.has(placed[0], placed[1])

    def has(self, start: int, end: int) -> bool:
        """Say whether something stands between these places."""
        at = bisect_right(self._starts, start)
        is_before = at > 0 and self.placed[at - 1][1] > start
        return is_before or (at < len(self._starts) and self._starts[at] < end)
