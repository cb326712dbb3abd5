"""
Cut a query into words, with a mark in place of each time phrase, name, identifier and quotation.

Called by `intent` and, for identifiers, by `plan`; calls `text` for names and time phrases. With marks,
"who is NAME" is one cue whoever is asked about, and "in March" is one with every other month. Only the
beginning and the end of a long text are read, so that no query takes more than a few milliseconds.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

from engram.text.lazy import lazy
from engram.text.mentions import mentions
from engram.text.moments import find_moments
from engram.values import EntityType

HEAD_CHARACTERS, TAIL_CHARACTERS = 600, 300
"""Of a long text only these are read: what is wanted is said first or last, around what was pasted."""

START, BEGIN, END, COMMA = "^", "^^", "$", ","
"""Where a sentence begins, where the text begins, where it ends, where it pauses."""

TIME, NAME, CODE, QUOTE, CLOCK = "TIME", "NAME", "CODE", "QUOTE", "CLOCK"
SIGNS = {TIME: "\ue000", NAME: "\ue001", CODE: "\ue002", QUOTE: "\ue003", CLOCK: "\ue004"}
"""One private character for each mark, so that a masked text is still a text."""

_NO_SIGNS = {ord(sign): " " for sign in SIGNS.values()}
_MARKS = {sign: mark for mark, sign in SIGNS.items()}
_TOKEN = lazy(r"[\ue000-\ue004]|'s\b|\w+(?:'(?!s\b)\w+)*|[,，、]|[.;:!?…—\n。！？；：]")
_QUOTED = lazy(r"[\"“„«][^\"”“»\ue000-\ue004\n]{2,120}[\"”“»]|`[^`\n]{1,120}`")
_CLOCKED = lazy(r"\b\d{1,2}(?::\d\d| ?[ap]m)\b", re.IGNORECASE)
_HASTY = lazy(r"\b(what|who|where|when|why|how)(?:s|'(d))\b")  # "whats", "how'd"
_ACCENTS = lazy("[\u0300-\u036f]")
_UNSPACED = lazy("[\u3040-\u30ff\u4e00-\u9fff]")
_CAMEL = lazy(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_COMMAS = (",", "，", "、")
_PUNCTUATION = ".,;:!?\"'()[]{}<>"
_ANY_NOW = datetime(2026, 1, 1, tzinfo=UTC)  # whether a phrase speaks of time does not depend on the day


def is_code(word: str) -> bool:
    """Say whether a word is an identifier, a call, a path or a file, and no word of a language."""
    bare = word.strip(_PUNCTUATION)
    if len(bare) < 2 or "@" in bare:
        return False
    is_call = word.rstrip(".,;:!?").endswith("()")
    is_joined = "_" in bare or "::" in bare or _CAMEL.search(bare) is not None
    is_path = bare[0] in "/~" or bare.count("/") > 1 or ("." in bare and "/" in bare)
    is_dotted = "." in bare[1:-1] and not bare.replace(".", "").isdigit() and ".." not in bare
    is_mixed = len(bare) > 5 and any(map(str.isdigit, bare)) and any(map(str.isalpha, bare))
    return is_call or is_joined or is_path or is_dotted or is_mixed


def is_unspaced(text: str) -> bool:
    """Say whether a text holds a script without spaces, in which words cannot be cut apart."""
    return _UNSPACED.search(text) is not None


def masked(text: str) -> str:
    """Return the beginning and the end of a text, with a sign for whatever has a mark."""
    text = _ends(text).translate(_NO_SIGNS)
    names = [found.text for found in mentions(text) if found.type is not EntityType.FILE]
    for moment in sorted(find_moments(text, now=_ANY_NOW), key=lambda one: -one.first):
        text = f"{text[: moment.first]} {SIGNS[TIME]} {text[moment.last :]}"
    text = _CLOCKED.sub(f" {SIGNS[CLOCK]} ", text)
    for name in sorted(names, key=len, reverse=True):
        text = _replaced(text, name, SIGNS[NAME])
    text = " ".join(SIGNS[CODE] if is_code(word) else word for word in text.split(" "))
    return _QUOTED.sub(SIGNS[QUOTE], text)


def words_of(text: str) -> list[str]:
    """Return a masked text's words in small letters without accents, its marks, and where it pauses."""
    spelt = _HASTY.sub(lambda hasty: f"{hasty[1]} did" if hasty[2] else f"{hasty[1]}'s", fold(text))
    return [_word(token) for token in _TOKEN.findall(spelt)]


def fold(text: str) -> str:
    """Return a text in small letters without accents: people leave both out when they search."""
    lower = text.replace("’", "'").lower()
    if lower.isascii():
        return lower
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", lower)))


def _word(token: str) -> str:
    if token in _MARKS:
        return _MARKS[token]
    if token[0].isalnum() or token[0] in "'_":
        return token
    return COMMA if token in _COMMAS else START


def _ends(text: str) -> str:
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"


def _replaced(text: str, name: str, sign: str) -> str:
    """Return the text with a sign wherever the name stands as words of its own."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        is_whole = not (text[max(0, at - 1) : at].isalnum() or text[end : end + 1].isalnum())
        if is_whole or is_unspaced(name):
            text, end = text[:at] + sign + text[end:], at + 1
        at = text.find(name, end)
    return text
