"""
Shorten a statement without losing what makes it true: negations, exceptions, conditions, hedges and numbers.

"The API must NOT be called from the browser except in staging" cut after ten words says something else. So
a shorter form is the beginning of the statement and every clause in which something qualifies it; what is
left out between them is marked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.normalize import lazy
from engramdb.text.sentences import sentences

CUT = "…"
UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Scripts that are written without spaces."""
UNIT = lazy(rf"[{UNSPACED}]{{1,2}}|[^\s{UNSPACED}]+")
"""A word, or two characters where words are not told apart."""
SENTENCE_END = lazy(r"[.!?](?=\s|\Z)|[。！？]|\n+")
CLAUSE_END = lazy(
    r"[,;:](?=\s)|[，；：、]|\s[–—-](?=\s)|\s(?=(?:and|but|because|which|so|although|while|if)\s)"
)
EDGES = " \t\n.,;:!?…。！？，；：、\"'“”()[]`*-–—"

MIN_SENTENCE_WORDS = 3
"""A shorter sentence, such as "No.", says nothing without the next."""
MAX_CLAUSE_WORDS = 16
"""Of a longer clause only the surroundings of what qualifies are kept:"""
WORDS_BEFORE, WORDS_AFTER = 4, 7
"""so many before it, which say what, and after it, which say how far."""
MAX_GAP = 2
"""No more words than this are worth leaving out between two that stay."""
WORTH_CUTTING = 0.9
"""A form that is hardly shorter is not worth its gaps."""

_CUES = [
    (cue, one.spaced)
    for one in LANGUAGES.values()
    for cue in f"{one.sentences.turning}|{one.sentences.qualifying}".split("|")
    if cue
]
_WORDS = frozenset(cue.casefold() for cue, is_spaced in _CUES if is_spaced and cue.isalpha())
_PHRASES = any_pattern([cue for cue, is_spaced in _CUES if is_spaced and not cue.isalpha()])
_UNSPACED = any_pattern([cue for cue, is_spaced in _CUES if not is_spaced])
_PHRASE = lazy(rf"\b(?:{_PHRASES})\b|{_UNSPACED}|않", re.IGNORECASE)
_WORD_OR_NUMBER = lazy(r"[^\W\d_]+(?:['’]t\b)?|\d(?:[\d.,:/-]*\d)?")
_GOES_ON = lazy(r"\s*(?:except|unless|but|however|only|until|or else|otherwise)\b", re.IGNORECASE)
"""With such a word a sentence takes back a part of the one before."""


def qualifiers(text: str) -> list[str]:
    """Return what qualifies a text, in small letters: "not", "except", "until", "30"."""
    return [text[start:end].casefold() for start, end in _find(text)]


def _find(text: str) -> list[tuple[int, int]]:
    """Return where something qualifies a text; words are looked up: one large pattern is slow."""
    spans = [found.span() for found in _PHRASE.finditer(text)]
    for found in _WORD_OR_NUMBER.finditer(text):
        word = found[0]
        if word[0].isdigit() or word[-2:] in ("'t", "’t") or word.casefold() in _WORDS:
            spans.append(found.span())
    return spans


def keeps_qualifiers(short: str, text: str) -> bool:
    """Return whether a shorter form has every negation, exception, condition, hedge and number of a text."""
    return not Counter(qualifiers(text)) - Counter(qualifiers(short))


def first_sentence(text: str) -> str:
    """Return the first sentence that says something, with those after it that take a part of it back."""
    if not SENTENCE_END.search(text.rstrip(EDGES)):
        return text.strip()
    end = units = 0
    for one in sentences(text):
        if units >= MIN_SENTENCE_WORDS and not _GOES_ON.match(one):
            break
        end = text.find(one, end) + len(one)
        units += len(UNIT.findall(one))
    return text[:end].strip()


def condense(text: str, words: int) -> str:
    """Return about so many words of a statement: its beginning, and every clause that qualifies it."""
    units = list(UNIT.finditer(text))
    if len(units) <= words:
        return text.strip()
    kept = set(range(_beginning(text, units, words)))
    ends, clauses = [unit.end() for unit in units], _clauses(text, units)
    clause_ends = [last for _, last in clauses]
    for start, end in _find(text):
        place = bisect_right(ends, start)
        first, last = clauses[bisect_right(clause_ends, place)]
        if last - first > MAX_CLAUSE_WORDS:
            first, last = max(first, place - WORDS_BEFORE), min(last, place + WORDS_AFTER)
        kept.update(range(first, last), range(place, bisect_right(ends, end - 1) + 1))
    if len(kept) > WORTH_CUTTING * len(units):
        return text.strip()
    return _joined(text, units, sorted(kept))


def _beginning(text: str, units: list[re.Match[str]], words: int) -> int:
    """Return how many units a statement begins with: up to the last end of a clause, where there is one."""
    limit = units[words - 1].end() + 1
    ends = [found.start() for found in CLAUSE_END.finditer(text, 0, limit)]
    count = sum(unit.start() < ends[-1] for unit in units) if ends else 0
    return count if count > words // 2 else words


def _clauses(text: str, units: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Return where clauses begin and end, in units."""
    ends = sorted({found.end() for end in (CLAUSE_END, SENTENCE_END) for found in end.finditer(text)})
    spans, first = list[tuple[int, int]](), 0
    for end in ends:
        last = first
        while last < len(units) and units[last].start() < end:
            last += 1
        if last > first:
            spans.append((first, last))
            first = last
    return [*spans, (first, len(units))]


def _joined(text: str, units: list[re.Match[str]], kept: list[int]) -> str:
    """Return the units that stay as text, and a mark wherever more than a word or two is left out."""
    parts = list[str]()
    for first, last in _runs(kept):
        words = text[units[first].start() : units[last].end()].strip()
        parts.append(words if last == len(units) - 1 else words.rstrip(EDGES))
    tail = "" if kept[-1] == len(units) - 1 else CUT
    return f" {CUT} ".join(parts) + tail


def _runs(kept: Iterable[int]) -> list[tuple[int, int]]:
    runs = list[tuple[int, int]]()
    for place in kept:
        if runs and place - runs[-1][1] <= MAX_GAP + 1:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs
