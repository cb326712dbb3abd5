"""Normal form, fingerprints, counted nouns and patterns compiled on first use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, cast

# Numbers with their nouns: 1 memory, 2 memories.


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun, in groups of three digits where it is long."""
    return f"{number if number < 10_000 else f'{number:,}'} {one if number == 1 else many}"


def memories(number: int) -> str:
    """Return a number of memories, the most frequent of all."""
    return counted(number, "memory", "memories")


# Patterns that are compiled when they are first used.


class _Lazy:
    """Stands for a pattern; from the second use of a method on it is as fast as the pattern itself."""

    def __init__(self, expression: str, flags: int) -> None:
        self.pattern = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        found = getattr(compiled, name)
        setattr(self, name, found)
        return found


def lazy(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern of an expression; a mistake in the expression shows when it is first used."""
    return cast("re.Pattern[str]", _Lazy(expression, int(flags)))


# What the rules of grammar are tried on: a matcher that backtracks takes the square of a run of blanks or
# letters.

MAX_GRAMMAR_CHARACTERS = 2_000
"""What is longer is not taken apart: a list, a log or an attack, and no sentence that a rule can read."""
_RUN = lazy(r"\s{33,}|\w{161,}|[^\w\s]{81,}")
"""So many blanks, letters or marks in a row are a table, a key or an attack."""


def is_like_a_sentence(text: str) -> bool:
    """Return whether a text can be one sentence, so that taking it apart is worth while and costs little."""
    return len(text) <= MAX_GRAMMAR_CHARACTERS and _RUN.search(text) is None


# Bring text to one form, and give it a fingerprint.

_EDGE_PUNCTUATION = ".,;:!?…\"'`´‘’“”«»()[]{}、。！？，；：「」『』"
_CONTROLS = lazy(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SPACES = lazy(r"\s+")


def clean(text: str) -> str:
    """Return the text as it will be stored: composed, with plain line ends, without NUL or outer space."""
    if not text.isprintable():
        text = _CONTROLS.sub(_meant, text.replace("\r\n", "\n").replace("\r", "\n"))
    return unicodedata.normalize("NFC", text).strip()


def _meant(control: re.Match[str]) -> str:
    """Return a control character as what it stands for: a form feed separates words, a NUL is nothing."""
    return " " if control.group().isspace() else ""


def is_text(text: str) -> bool:
    """Return whether the text can be written as UTF-8; half a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def normalize_text(text: str) -> str:
    """Return the form in which two ways of writing one statement are equal."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (word.strip(_EDGE_PUNCTUATION) or word for word in _SPACES.split(folded.strip()))
    return " ".join(words)


def fingerprint(content: str, *, speaker: str | None = None, days: Sequence[str] = ()) -> bytes:
    """
    Return the SHA-256 of a normalised statement, of who made it, and of the days that its words mean.

    The speaker counts because "I like tea" is another fact when someone else says it, and the days because
    "the release is tomorrow" is another one a week later.
    """
    import hashlib  # noqa: PLC0415 - loads OpenSSL, which a command that stores nothing does not need

    owner = normalize_text(speaker) if speaker else ""
    said = "\x1f".join((owner, normalize_text(content), *days))
    return hashlib.sha256(said.encode()).digest()
