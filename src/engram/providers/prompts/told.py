"""
Lines that a model writes about numbered statements, each with the numbers that it rests on.

Used by the prompts that ask for such lines; pure. A line without a number of the list rests on nothing and is
left out; a list of which no line is left is a bad reply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engram.providers.chat import BadReply

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "statements": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["text", "statements"],
    "additionalProperties": False,
}
"""The form of one line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, and the places, from 0, of the statements that it rests on."""

    text: str
    places: tuple[int, ...]


def numbered(statements: Sequence[str]) -> list[dict[str, Any]]:
    """Return the statements as records, numbered from 1."""
    return [{"number": number, "statement": one} for number, one in enumerate(statements, start=1)]


def read_lines(value: object, *, count: int, name: str) -> tuple[Line, ...]:
    """Return the lines of a reply about that many statements."""
    if not isinstance(value, list):
        raise BadReply(f'it has no list "{name}"')
    found = tuple(line for line in (_line(entry, count) for entry in value) if line is not None)
    if value and not found:
        raise BadReply(f'no entry of "{name}" has a text and numbers of the list')
    return found


def _line(entry: object, count: int) -> Line | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return None
    numbers = entry.get("statements")
    places = {number - 1 for number in numbers if type(number) is int} if isinstance(numbers, list) else set()
    text = " ".join(entry["text"].split())
    return Line(text, tuple(sorted(places))) if text and places and places <= set(range(count)) else None
