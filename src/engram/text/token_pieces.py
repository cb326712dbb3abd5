"""
Cut a text into the pieces that tokenizers make tokens of, and count the pieces by kind.

Used by `tokens`, which knows what each kind costs, and by `evals.tokens`, which measures it; calls nothing.
Words are counted by the language that the small words before them speak, other scripts by their letters.
A piece is counted by itself and by what stands before it, never by what follows: so a text that is
continued keeps all its counts, and an estimate made of them can only grow.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from engram.kept import kept
from engram.text.token_letters import (
    COMMON_HAN,
    ENGLISH_WORDS,
    FAR_LETTERS,
    FAR_WORDS,
    NEAR_WORDS,
    NOT_RUSSIAN,
    PIECE,
    PUNCTUATION,
    RUSSIAN,
    SCRIPT_STARTS,
    SCRIPTS,
    TRADITIONAL_HAN,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Piece: TypeAlias = tuple[str, str, str]
"""The group of the pattern that a piece is of, the piece, and what its kinds depend on."""

SILENT_WORDS: Final = 8
"""So many running words without a small word of English are not English."""

OVER: Final = (3, 5, 8, 12)
"""Letters from which on each further one of a word costs more."""

WIDE: Final = 8
"""Blanks that one token may hold."""

LONGEST_WORD: Final = 40
"""Letters of a word that are read for its language; those that are remembered must not fill the memory."""

FEW_HUMPS: Final = 2
"""Capitals after small letters in a name that a person gave; encoded bytes have more."""

TONGUES: Final = ("english", "near", "far")
"""English, the languages that vocabularies know nearly as well, and those that are cut into many pieces."""

_PLAIN: Final = frozenset(
    (
        *("apostrophe", "blank before digits", "capital", "contraction", "digit", "gap", "hump", "indent"),
        *("line", "line after mark", "mark", "mark after blank", "mark again", "more humps", "more lines"),
        *("more marks", "tab", "three digits", "upper", "wide blank"),
    )
)
_SCRIPT_NAMES: Final = {name for _, name in SCRIPTS if name != "rare"} | {
    *("hangul", "kana", "other cyrillic", "russian"),
}
KINDS: Final = frozenset(
    (
        *_PLAIN,
        *TONGUES,
        *(f"{tongue} glued" for tongue in TONGUES),
        *(f"{tongue} over {over}" for tongue in TONGUES for over in OVER),
        *("accent", "far accent", "two accents"),
        *("common han", "traditional han", "other han"),
        *_SCRIPT_NAMES,
        *(f"more {name}" for name in _SCRIPT_NAMES),
        *("emoji", "punctuation", "rare byte", "sign", "sign again", "small sign"),
    )
)
"""All that a piece can count as."""

_GLUE: Final = ("mark", "digits")
_TAILS: Final = frozenset(("s", "t", "re", "ve", "m", "ll", "d"))
_APOSTROPHES: Final = ("'", "’")
_OVER_KINDS: Final = {tongue: tuple((over, f"{tongue} over {over}") for over in OVER) for tongue in TONGUES}
_GLUED_KINDS: Final = {tongue: f"{tongue} glued" for tongue in TONGUES}
_INDENTED: Final = {tongue: f"{tongue} indented" for tongue in TONGUES}


def cut(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text in order, each with what its kinds depend on."""
    heard = _Heard()
    before = previous = last = ""
    for match in PIECE.finditer(text):
        group, piece = match.lastgroup or "sign", match.group()
        setting = previous
        if group == "word":
            is_tail = last in _APOSTROPHES and before == "word" and piece in _TAILS
            setting = "contraction" if is_tail else heard.word(piece, previous)
        elif group == "letters":
            setting = heard.letters(piece)
        elif piece == last:
            setting = "again"
        yield group, piece, setting
        before, previous, last = previous, group, piece


def composition(text: str) -> dict[str, int]:
    """Return how many of each kind of piece a text is made of; the names are those of `token_ratios`."""
    counts: dict[str, int] = {}
    for piece in cut(text):
        for kind, count in kinds(piece):
            counts[kind] = counts.get(kind, 0) + count
    return counts


def kinds(piece: Piece) -> Iterator[tuple[str, int]]:
    """Yield what one piece counts as."""
    group, text, setting = piece
    return _COUNTED[group](text, setting)


def margin_class(kind: str) -> str:
    """Return which margin a kind of piece has: of plain text, near or far languages, or other scripts."""
    first = kind.partition(" ")[0]
    if first in ("near", "accent"):
        return "near"
    if first == "far" or kind == "two accents":
        return "far"
    return "plain" if first == "english" or kind in _PLAIN else "script"


class _Heard:
    """Which languages spoke last."""

    __slots__ = ("_cyrillic", "_silence", "_tongue")

    def __init__(self) -> None:
        self._tongue, self._cyrillic = "english", "cyrillic"
        self._silence = 0

    def word(self, word: str, previous: str) -> str:
        """Return the language of the words before this one, whose own evidence is for the next."""
        tongue, evidence = self._tongue, _evidence(word[:LONGEST_WORD])
        if evidence == "accent":
            self._tongue = "near" if tongue == "english" else tongue
        elif evidence:
            self._tongue, self._silence = evidence, 0
        elif previous == "word" and tongue == "english":
            self._silence += 1
            self._tongue = "far" if self._silence >= SILENT_WORDS else tongue
        if word[0] == " ":
            return _INDENTED[tongue] if previous == "line" else tongue
        return _GLUED_KINDS[tongue] if previous in _GLUE else tongue

    def letters(self, letters: str) -> str:
        """Return the script; Russian costs a third less than the other languages of its letters."""
        script = SCRIPTS[bisect_right(SCRIPT_STARTS, ord(letters[0])) - 1][1]
        if script != "cyrillic":
            return script
        script = self._cyrillic
        if NOT_RUSSIAN.search(letters):
            self._cyrillic = "other cyrillic"
        elif RUSSIAN.search(letters):
            self._cyrillic = "russian"
        return script


@kept(4096)
def _evidence(word: str) -> str:
    """Return the language that a word speaks for, if any."""
    lower = word.strip().lower()
    if lower in ENGLISH_WORDS:
        return "english"
    if lower in NEAR_WORDS:
        return "near"
    if lower in FAR_WORDS or FAR_LETTERS.search(lower):
        return "far"
    return "" if lower.isascii() else "accent"


def _word(word: str, setting: str) -> Iterator[tuple[str, int]]:
    if setting == "contraction":
        yield setting, 1
        return
    tongue, _, place = setting.partition(" ")
    if place == "indented":
        yield "indent", 1
    yield setting if place == "glued" else tongue, 1
    word = word.lstrip()
    for over, kind in _OVER_KINDS[tongue]:
        if len(word) > over:
            yield kind, len(word) - over
    if not (word.islower() and word.isascii()):
        yield from _shape(word)


def _shape(word: str) -> Iterator[tuple[str, int]]:
    """Yield what is unusual about the letters of a word."""
    after = [before.isupper() for before, letter in pairwise(word) if letter.isupper()]
    humps = len(after) - sum(after)
    counted = {
        "accent": sum("\x7f" < letter <= "\xff" for letter in word),
        "far accent": sum("\xff" < letter < "\u1e00" for letter in word),
        "two accents": sum(letter >= "\u1e00" for letter in word),
        "capital": int(word[0].isupper()),
        "upper": sum(after),
        "hump": humps,
        "more humps": max(0, humps - FEW_HUMPS),
    }
    yield from ((kind, count) for kind, count in counted.items() if count)


def _blank(blank: str, setting: str) -> Iterator[tuple[str, int]]:
    if setting == "line":
        yield "indent", 1
    elif len(blank) > 1:
        yield "gap", 1
    if len(blank) > WIDE:
        yield "wide blank", 1
    if "\t" in blank:
        yield "tab", blank.count("\t")


def _line(line: str, setting: str) -> Iterator[tuple[str, int]]:
    yield "line after mark" if setting == "mark" else "line", 1
    if len(line) > 1:
        yield "more lines", len(line) - 1


def _mark(marks: str, setting: str) -> Iterator[tuple[str, int]]:
    if marks[0] == "'" and setting == "word":
        yield "apostrophe", 1
    else:
        yield "mark after blank" if setting in ("blank", "line") else "mark", 1
    if len(marks) > 1:
        again = sum(map(str.__eq__, marks, marks[1:]))
        yield "mark again", again
        yield "more marks", len(marks) - 1 - again


def _digits(digits: str, setting: str) -> Iterator[tuple[str, int]]:
    yield "digit", len(digits)
    yield "three digits", (len(digits) + 2) // 3
    if setting == "blank":
        yield "blank before digits", 1


def _sign(sign: str, setting: str) -> Iterator[tuple[str, int]]:
    size = len(sign.encode("utf-8", "replace"))
    if size == 1:
        yield "mark", 1
    elif setting == "again":  # of pieces only single signs can be: the pattern takes all else in runs
        yield "sign again", 1
    elif sign == "’" and setting == "word":
        yield "apostrophe", 1
    elif PUNCTUATION.match(sign):
        yield "punctuation", 1
    else:
        yield "small sign" if size < 3 else "sign" if size == 3 else "emoji", 1


def _han(letters: str, _setting: str) -> Iterator[tuple[str, int]]:
    common = sum(map(COMMON_HAN.__contains__, letters))
    traditional = sum(map(TRADITIONAL_HAN.__contains__, letters))
    yield "common han", common
    yield "traditional han", traditional
    yield "other han", len(letters) - common - traditional


def _letters(letters: str, setting: str) -> Iterator[tuple[str, int]]:
    if setting == "rare":
        yield "rare byte", len(letters.encode("utf-8", "replace"))
    else:
        yield setting, 1
        yield f"more {setting}", len(letters) - 1


def _kana(letters: str, _setting: str) -> Iterator[tuple[str, int]]:
    return _letters(letters, "kana")


def _hangul(letters: str, _setting: str) -> Iterator[tuple[str, int]]:
    return _letters(letters, "hangul")


_COUNTED: Final = {
    "word": _word,
    "blank": _blank,
    "line": _line,
    "mark": _mark,
    "digits": _digits,
    "sign": _sign,
    "han": _han,
    "kana": _kana,
    "hangul": _hangul,
    "letters": _letters,
}
"""How each group of the pattern is counted."""
