"""
Find runs of capitalised words, the raw material of names.

Called by `mentions`, which decides what each run names. Knows only words and what stands between them:
"Dr. Anna van der Berg" is one run, "Anna. Berlin" two, and so is "Tom's Emma". One pass over the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.text.entity_names import fold, name_lists
from engram.text.lazy import lazy

_WORD = lazy(r"[^\W_](?:\w|[&'’.\-](?=\w))*[+#]{0,2}")
_BREAK = lazy(r"[.!?:;\n…•\"“„«»(\[*>]|(?:\A|\n)\s*-\s|。|！|？")
_POSSESSIVE = ("'s", "’s")
MAX_WORDS = 6
"""Longer runs are headlines, not names."""


@dataclass(slots=True)
class Word:
    """One word where it stands; `end` leaves out a possessive 's."""

    start: int
    end: int
    folded: str
    is_capital: bool
    is_owner: bool
    starts_sentence: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Capitalised words in a row; `starts_sentence` says that the first capital may mean nothing."""

    words: tuple[Word, ...]
    starts_sentence: bool

    @property
    def start(self) -> int:
        """Where it begins in the text."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.words[-1].end

    @property
    def folded(self) -> str:
        """The words without case and accents."""
        return " ".join(word.folded for word in self.words)

    def without_first(self) -> Run:
        """Return the rest, whose capital does mean something."""
        return Run(self.words[1:], starts_sentence=False)


def words_of(text: str) -> list[Word]:
    """Return the words of a text in order."""
    found: list[Word] = []
    before = 0
    for match in _WORD.finditer(text):
        start, end = match.span()
        written = match.group()
        is_owner = written.endswith(_POSSESSIVE) and len(written) > 2
        end -= 2 if is_owner else 0
        is_first = before == 0 or (
            text[before:start] != " " and _BREAK.search(text, before, start) is not None
        )
        core = text[start:end]
        is_capital = core[0].isupper() and core != "I"
        found.append(Word(start, end, fold(core), is_capital, is_owner, is_first))
        before = match.end()
    return found


def runs(text: str, words: list[Word]) -> list[Run]:
    """Return the runs of capitalised words, none longer than a name may be."""
    found: list[Run] = []
    at = 0
    while at < len(words):
        last = _end_of_run(text, words, at) if _begins(text, words, at) else at
        if last > at:
            if last - at <= MAX_WORDS:
                found.append(Run(tuple(words[at:last]), words[at].starts_sentence))
            at = last
        else:
            at += 1
    return found


def _begins(text: str, words: list[Word], at: int) -> bool:
    """Say whether a run may begin here: at a capital, or at a small title before one ("señora García")."""
    if words[at].is_capital:
        return True
    is_title = words[at].folded in name_lists().person_titles
    return is_title and at + 1 < len(words) and words[at + 1].is_capital and _joined(text, words, at)


def _end_of_run(text: str, words: list[Word], at: int) -> int:
    """Return the place after the last word of the run that begins here."""
    particles = name_lists().particles
    last = at
    while last + 1 < len(words) and not words[last].is_owner and _joined(text, words, last):
        following = last + 1
        if words[following].is_capital:
            last = following
            continue
        while (
            following + 1 < len(words)
            and following - last <= 2
            and words[following].folded in (_OF if _is_head(words[last]) else particles)
            and _joined(text, words, following)
        ):
            following += 1
        if following == last + 1 or not words[following].is_capital:
            break
        last = following
    return last + 1


_OF = frozenset({"of", "the", "für", "fur", "de", "des", "for"})


def _is_head(word: Word) -> bool:
    return word.folded in name_lists().organisation_heads


def _joined(text: str, words: list[Word], at: int) -> bool:
    """Say whether a word and the next belong together: a space between, or the dot of "Dr." or "J."."""
    gap = text[words[at].end : words[at + 1].start]
    if gap == " ":
        return True
    is_short = words[at].end - words[at].start == 1 or words[at].folded in name_lists().person_titles
    return (gap == ". " and is_short) or gap == " & "
