"""
Find quotations: whole ones that can be cut out of a message, and those inside a sentence.

A quotation of oneself is none, nor is what follows a request to remember it: those are the writer's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engramdb.text.lexicons import voice_cues
from engramdb.text.line_shapes import LineShape, plain_words, shape_of
from engramdb.text.normalize import lazy

PAIRS = ("“”", "„“", "„”", "«»", "»«", "‹›", "›‹", "「」", "『』", "❝❞", "＂＂")
"""Marks that open and close a quotation and stand for nothing else."""
DOUBLE_MARKS = '"”' + "".join(sorted({pair[0] for pair in PAIRS}))
"""Those that open one; the single marks are apostrophes as well."""
OPENING_MARKS = f"{DOUBLE_MARKS}'‘"
CLOSING_MARKS = "\"'’" + "".join(sorted({pair[1] for pair in PAIRS}))

MAX_QUOTATION_CHARACTERS = 2000
"""What is longer is not looked for: a lone mark would make half a message a quotation."""
MIN_WHOLE_WORDS = 5
LOOK_BACK_CHARACTERS = 120


def paired(limit: int, *, in_line: bool = False) -> str:
    """Return a pattern for marks of one pair and what stands between them, up to a limit of characters."""
    end = r"\n" if in_line else ""
    return "|".join(f"{pair[0]}[^{pair}{end}]{{1,{limit}}}{pair[1]}" for pair in PAIRS)


# No branch looks past the next mark that opens the same kind, or every mark of a long row would be followed
# by a look at the next two thousand characters.
_QUOTATION = lazy(
    r"\"(?=\S)[^\"]{1,N}(?:(?<=\d'\d)\"[^\"]{1,N}){0,3}(?<=\S)(?<!\d'\d)\"(?!\w)"
    rf"|{paired(MAX_QUOTATION_CHARACTERS)}"
    r"|„[^„“”\"]{1,N}\""
    r"|(?<!\w)”(?=\S)[^“”]{1,N}(?<=\S)”"
    r"|(?<![`\w])``(?=[^\s`])(?:[^`'\n]|'(?!')){1,N}''(?!')"
    r"|(?<!['\w])''(?=[^\s'])(?:[^'\n]|'(?!')){1,N}''(?!['\w])"
    r"|(?P<set>`[^`\n]{1,N}`|(?<![\w*])\*(?=[^\s*])[^*\n]{1,N}(?<=\S)\*(?![\w*]))"
    r"|(?<![\w'’])['‘](?=[^\W_])(?:[^'‘’\n]|(?<=\w)['’](?=\w)){1,N}['’](?!\w)".replace(
        "N", str(MAX_QUOTATION_CHARACTERS)
    )
)
_OWN_SPEECH = lazy(voice_cues("own_speech"), re.IGNORECASE)
_SENTENCE_END = lazy(r"[.!?…][\"'”’»)]*(?:\s|\Z)|[。！？]")
_BREAK = lazy(r"[.!?…\n]\s")
_WORD = lazy(r"\w+")
_TWO_SENTENCES = lazy(r"[.!?] [A-Z]")
_NAMES_SOURCE = lazy(r"[.,]? ?(?:[–—~(]|--?(?=\s?\w))")


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of quotations of others, marks included; quotations of oneself are left out."""
    for start, end in _enclosed(text, 0, len(text)):
        before = text[max(0, start - LOOK_BACK_CHARACTERS) : start]
        own_sentence = _BREAK.split(before.rstrip() if before.rstrip().endswith(":") else before)[-1]
        if not _OWN_SPEECH.search(own_sentence):
            yield start, end


def _enclosed(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield what marks enclose, in code and emphasis too where that is no sentence itself."""
    for found in _QUOTATION.finditer(text, first, last):
        if found["set"] and not _is_set_sentence(text, *found.span()):
            yield from _enclosed(text, found.start() + 1, found.end() - 1)
        else:
            yield found.span()


def _is_set_sentence(text: str, start: int, end: int) -> bool:
    """Return whether back ticks or stars, which mostly set off code and emphasis, enclose a sentence."""
    inner = text[start + 1 : end - 1]
    is_code = text[start] == "`"
    if is_code and _TWO_SENTENCES.search(inner):
        return True
    words = inner.split()
    is_plain = len(words) >= MIN_WHOLE_WORDS and plain_words(words) * 4 >= len(words) * 3
    if not is_plain or shape_of(inner) is not LineShape.PROSE:
        return False
    is_named = _NAMES_SOURCE.match(text, end) is not None
    if not (is_named or inner[0].isupper()):
        return False
    before, after = text[max(0, start - 3) : start].rstrip(" \t"), text[end : end + 1]
    stands_alone = (not before or before[-1] in ":：\n") and after in ("", "\n", "\r", ".")
    return is_code or is_named or stands_alone


def whole_quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of quotations that stand for themselves: several sentences, or one after a colon."""
    for start, end in quotations(text):
        inner = text[start + 1 : end - 1]
        words = len(_WORD.findall(inner))
        if words < MIN_WHOLE_WORDS:
            continue
        before = text[max(0, start - LOOK_BACK_CHARACTERS) : start].rstrip(" \t")
        stands_alone = not before or before[-1] in ":：\n"
        if stands_alone or len(_SENTENCE_END.findall(inner)) >= 2:
            yield start, end + len(text[end : end + 3]) - len(text[end : end + 3].lstrip(".,;!?"))


def unquoted(text: str) -> str:
    """Return what stands between quotation marks where nothing else does, and otherwise the text."""
    bare = text.strip().rstrip(".")
    found = _QUOTATION.fullmatch(bare)
    if found is None or found["set"]:
        return text
    return bare.strip("'`") if bare.startswith(("''", "``")) else bare[1:-1]
