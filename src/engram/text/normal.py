"""
Bring text to one form, and give it a fingerprint.

Called by the gate before anything is stored. Two statements with the same fingerprint say the same
thing: case, spacing, Unicode form and sentence punctuation do not count, but nothing that carries
meaning is dropped, so "C", "C++" and "C#" differ, and so do 1.5 and 15.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import TYPE_CHECKING

from engram.text.lazy import lazy

if TYPE_CHECKING:
    import re

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
    """Say whether the text can be written as UTF-8; half a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def normalise(text: str) -> str:
    """Return the form in which two ways of writing one statement are equal."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (word.strip(_EDGE_PUNCTUATION) or word for word in _SPACES.split(folded.strip()))
    return " ".join(words)


def fingerprint(content: str, *, speaker: str | None = None) -> bytes:
    """
    Return the SHA-256 of a normalised statement and of who made it.

    The speaker counts because "I like tea" is another fact when someone else says it.
    """
    owner = normalise(speaker) if speaker else ""
    return hashlib.sha256(f"{owner}\x1f{normalise(content)}".encode()).digest()
