"""
Several parts of ours in one file: Gemini CLI keeps its servers and its hooks in the same one.

Used by `clients`, and planned like any other part. What holds for each of the parts holds for all: those that
somebody has taken out by hand are not brought back when the others are taken out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram.surfaces.connect.part import Part


@dataclass(frozen=True, slots=True)
class Several:
    """Parts of one JSON file, put in one after the other."""

    parts: tuple[Part, ...]

    def is_in(self, text: str) -> bool:
        """Say whether any of the parts stands there."""
        return any(part.is_in(text) for part in self.parts)

    def like_in(self, text: str) -> Several:
        """Return the parts that stand in a text, as it has them."""
        return Several(tuple(part.like_in(text) for part in self.parts if part.is_in(text)))

    def put(self, text: str) -> str:
        """Return the text with every part."""
        for part in self.parts:
            text = part.put(text)
        return text

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without any of the parts."""
        for part in reversed(self.parts):
            text = part.take_out(text, original)
        return text

    def snippet(self) -> str:
        """Return the parts as they would stand together in an empty file."""
        whole: dict[str, Any] = {}
        for part in self.parts:
            whole |= json.loads(part.snippet())
        return json.dumps(whole, indent=2, ensure_ascii=False)
