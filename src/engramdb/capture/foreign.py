"""
The commonest first-person facts in German, French, Spanish, Russian, Chinese and Japanese.

Used by the heuristic extractor for sentences that are not English. Only what name, home, work, taste, tools
and allergies look like is known; the words are kept as they were said, with the speaker as the subject,
because rewriting a person in six languages would invent more than it would help.
"""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.text.lexicons import languages
from engramdb.text.normalize import lazy


class Foreign(Struct, frozen=True):
    """A clause in another language, with what it says of the speaker."""

    text: str
    predicate: str
    object: str
    is_negated: bool = False

    @property
    def category(self) -> str:
        """Return the category, which the predicate decides."""
        return "preference" if self.predicate in ("likes", "dislikes", "prefers") else "fact"


_END = r"(?=[,.;!。！，、]|\s+(?:und|et|y|и|aber|mais|pero|но|seit|depuis|desde|als|comme|como)\b|\Z)"
_WORDS = rf"(?P<object>[^,.;!?。！？，、]{{1,60}}?){_END}"
_PATTERNS = tuple(
    (predicate, lazy(rf"(?<!\w)(?P<head>{said}){_WORDS}", re.IGNORECASE) if one.spaced else lazy(said))
    for one in languages().values()
    for predicate, said in one.facts.items()
)
_MARKS = lazy(
    r"[^\x00-\x7f]|\b(?:ich|je|j['’]|mein|yo|vivo|trabajo|soy|me|mi|uso|prefiero|arbeite|travaille|mon)\b",
    re.IGNORECASE,
)
_ENGLISH = lazy(r"\b(?:I|I['’]m|the|is|and|my|you|of|that|with|are)\b")
_NOT = lazy(
    r"\b(?:nicht mehr|nicht|kein|keine|ne .{1,20} (?:pas|plus)|no|ya no|не|больше не)\b", re.IGNORECASE
)
_SEPARATE = lazy(r",?\s+(?:und|et|y|и|aber|mais|pero|но)\s+(?=\S)|[,;，；]\s*", re.IGNORECASE)


def read_foreign(sentence: str) -> list[Foreign]:
    """Return what a sentence in another language says of its speaker."""
    if not _MARKS.search(sentence) or _ENGLISH.search(sentence):
        return []
    pieces = _SEPARATE.split(sentence)
    found = [fact for piece in pieces if (fact := _read(piece.strip(" .!。！")))]
    return found if len(found) == len(pieces) or len(pieces) == 1 else _whole(sentence, found)


def _whole(sentence: str, found: list[Foreign]) -> list[Foreign]:
    """Keep the sentence together where a comma did not separate two facts."""
    if len(found) != 1:
        return found
    only = found[0]
    return [Foreign(sentence.strip(" .!。！"), only.predicate, only.object, only.is_negated)]


def _read(piece: str) -> Foreign | None:
    for predicate, pattern in _PATTERNS:
        if match := pattern.search(piece):
            return Foreign(piece, predicate, match["object"].strip(), bool(_NOT.search(piece)))
    return None
