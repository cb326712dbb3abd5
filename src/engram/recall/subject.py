"""
Whom does the question name? What they said, and what is about them, comes first.

Called by `recall.signals` with the candidates; compares names only, with no list of names of its own. A
question that names everybody prefers nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text.entity_names import fold_name
from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.store.contract import Sketch


_PRONOUNS = frozenset(
    {"i", "we", "you", "he", "she", "it", "they", "this", "that", "there", "the user", "user"}
)
_POSSESSIVE = lazy(r"['’]s\b")


def subjects(question: str, sketches: Mapping[int, Sketch]) -> list[int]:
    """Return the candidates that were said by, or are about, somebody whom the question names."""
    asked = f" {fold_name(_POSSESSIVE.sub('', question))} "
    known: dict[str, bool] = {}

    def is_named(name: str | None) -> bool:
        if not name or name.casefold() in _PRONOUNS:
            return False
        if name not in known:
            folded = fold_name(name)
            known[name] = bool(folded) and any(f" {part} " in asked for part in (folded, folded.split()[0]))
        return known[name]

    return [key for key, one in sketches.items() if is_named(one.speaker) or is_named(one.subject)]
