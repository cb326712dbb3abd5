"""
Patterns of many words that are tried only where a text may match: where a word begins as they do.

Python's `re` tries every alternative at every character, and a cue has hundreds of them in ten languages. The
beginnings are read from the parsed patterns, so the answer is the same as that of one search for all.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from re import _constants as codes
from re import _parser
from typing import Any, ClassVar, Final, NamedTuple

from engramdb.erasable_cache import cached
from engramdb.text.normalize import lazy

START_LENGTHS: Final = (1, 2, 3, 5, 8)
"""How many characters from the beginning of a word on are looked at: enough to tell most phrases apart."""
MAX_STARTS: Final = 4_000
"""A pattern that may begin in more ways is always tried."""
_MAX_SET: Final = 8
_REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT)
_WORD_START: Final = lazy(r"\b\w")


class AnyOf:
    """Whether a text matches any of some patterns."""

    def __init__(self, patterns: Iterable[str]) -> None:
        always: dict[str, list[str]] = {}
        foreign, by_start, starts = list[str](), list[str](), set[str]()
        for one in (part for pattern in patterns for each in alternatives(pattern) for part in parted(each)):
            begins = word_starts(one)
            if begins is not None:
                by_start.append(one)
                starts |= begins
            elif needs_other_script(one):
                foreign.append(one)
            else:
                always.setdefault(needle(one), []).append(one)
        self._bit = _Register.enter(starts)
        self._by_start, self._foreign = _joined(by_start), _joined(foreign)
        self._always = [(needed, _joined(some)) for needed, some in always.items()]

    def is_in(self, text: str) -> bool:
        """Return whether one of the patterns is found in the text."""
        for needed, pattern in self._always:
            if needed in text and pattern is not None and pattern.search(text) is not None:
                return True
        if self._foreign is not None and not text.isascii() and self._foreign.search(text) is not None:
            return True
        if self._by_start is None or not _bits_in(text, _Register.entered) & self._bit:
            return False
        return self._by_start.search(text) is not None


class _Register:
    """Which patterns a word may belong to by how it begins, a bit for each `AnyOf`: one look serves all."""

    bits: ClassVar[dict[str, int]] = {}
    entered: ClassVar[int] = 0
    _lock: ClassVar = threading.Lock()

    @classmethod
    def enter(cls, starts: Iterable[str]) -> int:
        """Give the patterns with these beginnings a bit, and return it."""
        with cls._lock:
            bit = 1 << cls.entered
            for start in starts:
                cls.bits[start] = cls.bits.get(start, 0) | bit
            cls.entered += 1
            return bit


def _joined(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return lazy("|".join(patterns)) if patterns else None


@cached(1024)  # one text is asked for many cues, and again when it is settled
def _bits_in(text: str, _entered: int) -> int:
    """Return the bits of the patterns that a text may match; asked again when more of them were entered."""
    places = [match.start() for match in _WORD_START.finditer(text)]
    starts = {text[at : at + length] for length in START_LENGTHS for at in places}
    found, bits = 0, _Register.bits
    for start in starts & bits.keys():
        found |= bits[start]
    return found


def alternatives(pattern: str, *, is_in_group: bool = False) -> Iterator[str]:
    """Yield what stands between the bars of a pattern, or of the group that it begins within."""
    begin = depth = 0
    is_set = is_escaped = False
    for place, one in enumerate(pattern):
        if is_escaped:
            is_escaped = False
        elif one == "\\":
            is_escaped = True
        elif is_set:
            is_set = one != "]"
        elif one == "[":
            is_set = True
        elif one in "()":
            depth += 1 if one == "(" else -1
            if depth < 0 and is_in_group:
                yield pattern[begin:place]
                return
        elif one == "|" and depth == 0:
            yield pattern[begin:place]
            begin = place + 1
    yield pattern[begin:]


_GROUP_FIRST: Final = r"\b(?:"


def parted(pattern: str) -> list[str]:
    """Return a pattern that begins with a group in parts: what begins with known words, and all others."""
    if not pattern.startswith(_GROUP_FIRST) or word_starts(pattern) is not None:
        return [pattern]
    inside = list(alternatives(pattern.removeprefix(_GROUP_FIRST), is_in_group=True))
    rest = pattern[len(_GROUP_FIRST) + len("|".join(inside)) :]
    known = [one for one in inside if _starts_of(_heads(list(_parser.parse(rf"\b{one}")))) is not None]
    others = [[one] for one in inside if one not in known]
    return [f"{_GROUP_FIRST}{'|'.join(some)}{rest}" for some in (known, *others) if some]


def word_starts(pattern: str) -> frozenset[str] | None:
    """Return the beginnings of words, one of which a text must have to match; None where that is not sure."""
    nodes, is_anchored = list(_parser.parse(pattern)), False
    for place, node in enumerate(nodes):
        found = _starts_of(_heads(nodes[place:], is_anchored=is_anchored))
        if found is not None:
            return found
        is_anchored = _parts_words(*node) or (is_anchored and _may_be_absent(*node))
    return None


def _starts_of(heads: list[_Head] | None) -> frozenset[str] | None:
    if not heads or not all(head.text and head.is_word for head in heads):
        return None
    return frozenset(head.text[: _looked_at(len(head.text))] for head in heads)


def _heads(nodes: Sequence[tuple[Any, Any]], *, is_anchored: bool = False) -> list[_Head] | None:
    return _extended([_Head(is_anchored=is_anchored)], nodes)


def _parts_words(kind: Any, given: Any) -> bool:
    """Return whether what a node stands for ends with what is no part of a word, such as a space."""
    if kind is codes.SUBPATTERN:
        return bool(given[3]) and _parts_words(*given[3][-1])
    if kind in _REPEATS:
        least, _, nodes = given
        return least > 0 and _parts_words(*nodes[-1])
    if kind is codes.BRANCH:
        return all(branch and _parts_words(*branch[-1]) for branch in given[1])
    characters = _characters(kind, given)
    return characters is not None and not any(map(_is_of_word, characters))


def _may_be_absent(kind: Any, given: Any) -> bool:
    """Return whether a node stands for nothing, or for what ends with what is no part of a word."""
    if kind is codes.SUBPATTERN:
        return len(given[3]) == 1 and _may_be_absent(*given[3][0])
    return kind in _REPEATS and given[0] == 0 and _parts_words(*given[2][-1])


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _looked_at(length: int) -> int:
    return max(one for one in START_LENGTHS if one <= length)


def needle(pattern: str) -> str:
    """Return the longest text that every match of a pattern has in it, as far as that is plain to see."""
    found = [""]
    for kind, given in _parser.parse(pattern):
        if kind is codes.LITERAL:
            found[-1] += chr(given)
        else:
            found.append("")
    return max(found, key=len)


def needs_other_script(pattern: str) -> bool:
    """Return whether every match begins with a character that is not ASCII."""
    heads = _heads(list(_parser.parse(pattern)))
    return heads is not None and all(head.text and not head.text[0].isascii() for head in heads)


class _Head(NamedTuple):
    """How a match may begin, as far as that has been read."""

    text: str = ""
    is_anchored: bool = False
    """Whether what comes next stands at the beginning of a word or of the text."""
    is_word: bool = False
    """Whether the first character is the first of a word."""
    is_closed: bool = False
    """Whether nothing is known of what follows."""

    def then(self, character: str) -> _Head:
        is_word = self.is_word if self.text else self.is_anchored and _is_of_word(character)
        text = self.text + character
        return _Head(text, is_word=is_word, is_closed=len(text) >= START_LENGTHS[-1])


def _extended(heads: list[_Head], nodes: Iterable[tuple[Any, Any]]) -> list[_Head] | None:
    """Return the heads with what the nodes of a parsed pattern add to them; None where there are too many."""
    for kind, given in nodes:
        if all(head.is_closed for head in heads):
            break
        done = [head for head in heads if head.is_closed]
        longer = _after([head for head in heads if not head.is_closed], kind, given)
        if longer is None or len(done) + len(longer) > MAX_STARTS:
            return None
        heads = list(dict.fromkeys([*done, *longer]))
    return heads


def _after(heads: list[_Head], kind: Any, given: Any) -> list[_Head] | None:
    """Return open heads with one node of a parsed pattern."""
    if kind is codes.AT:
        is_start = given in (codes.AT_BOUNDARY, codes.AT_BEGINNING, codes.AT_BEGINNING_STRING)
        return [head._replace(is_anchored=head.is_anchored or is_start) for head in heads]
    if kind in (codes.ASSERT, codes.ASSERT_NOT):  # they only take away from what matches
        return heads
    if kind is codes.BRANCH or (kind is codes.SUBPATTERN and not given[1]):  # without flags of its own
        return _any_branch(heads, [given[3]] if kind is codes.SUBPATTERN else given[1])
    if kind in _REPEATS:
        return _repeated(heads, *given)
    characters = _characters(kind, given)
    if characters is None:
        return [head._replace(is_closed=True) for head in heads]
    return [head.then(one) for head in heads for one in characters]


def _any_branch(heads: list[_Head], branches: Sequence[Any]) -> list[_Head] | None:
    found: list[_Head] = []
    for branch in branches:
        longer = _extended(heads, branch)
        if longer is None:
            return None
        found += longer
    return found


def _repeated(heads: list[_Head], least: int, most: int, nodes: Any) -> list[_Head] | None:
    once = _extended(heads, nodes)
    if once is None:
        return None
    after = once if most == 1 else [head._replace(is_closed=True) for head in once]
    return after if least else [*heads, *after]


def _characters(kind: Any, given: Any) -> list[str] | None:
    """Return the few characters that a node stands for; None where they are many."""
    if kind is codes.LITERAL:
        return [chr(given)]
    if kind is not codes.IN or len(given) > _MAX_SET:
        return None
    literals = [chr(value) for sort, value in given if sort is codes.LITERAL]
    return literals if len(literals) == len(given) else None
