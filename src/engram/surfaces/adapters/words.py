"""
What a document of another program says, put into words that can be remembered.

Used by the LangGraph adapter for items whose paths nobody named. Pure. A document's own text is taken
where it has one, also inside a wrapper as LangMem has it; otherwise every value with its name, so that
"dark" is remembered as "theme: dark". What is nested too deep to be a document at all is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OWN_TEXTS = ("content", "text", "memory", "data", "fact", "summary")
"""Fields that hold what a document says, the usual ones first."""
DEEPEST = 20
"""So many levels are looked into."""


def words_of(value: Any, *, depth: int = 0) -> str | None:
    """Return what a value says, or None where it says nothing."""
    if isinstance(value, Mapping) and depth < DEEPEST:
        for name in OWN_TEXTS:
            if value.get(name):
                return words_of(value[name], depth=depth + 1)
    told = "; ".join(_told(value, depth)) if isinstance(value, Mapping) else _flat(value, depth)
    return told.strip() or None


def _told(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield "name: value" for every field that holds something."""
    for name, one in value.items():
        words = _flat(one, depth + 1)
        if words:
            yield f"{str(name).replace('_', ' ')}: {words}"


def _flat(value: Any, depth: int) -> str:
    if depth > DEEPEST:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(_told(value, depth))
    if isinstance(value, list | tuple):
        return ", ".join(words for words in (_flat(one, depth + 1) for one in value) if words)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
