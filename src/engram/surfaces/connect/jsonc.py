"""
Read JSON as editors write it, with comments and trailing commas, and know where everything stands.

Called by `json_edit`, which changes the text at these places and nowhere else; knows nothing of what the
file is for. Stricter than some programs: what it cannot read it refuses, so that nothing is guessed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

DEEPEST = 100
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class Unreadable(ValueError):
    """The text is not what it should be; the message says what and in which line."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: from `start` to before `end`."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()
    """Of an object."""
    items: tuple[Node, ...] = ()
    """Of a list."""

    def member(self, key: str) -> Member | None:
        """Return the member of this name; where there are several, the last, as other readers do."""
        return next((one for one in reversed(self.members) if one.key == key), None)


@dataclass(frozen=True, slots=True)
class Member:
    """A name in an object, and its value; `start` is where the name begins."""

    start: int
    key: str
    node: Node


def parse(text: str) -> Node:
    """Return the one value of a text."""
    node, at = _value(text, skip(text, 0), 0)
    if skip(text, at) != len(text):
        raise _wrong(text, skip(text, at), "something follows the value")
    return node


def skip(text: str, at: int) -> int:
    """Return the next place that is neither blank nor comment."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > DEEPEST:
        raise _wrong(text, at, "it is nested too deeply")
    mark = text[at : at + 1]
    if mark == "{":
        return _object(text, at, depth)
    if mark == "[":
        return _list(text, at, depth)
    found = (_STRING if mark == '"' else _SCALAR).match(text, at)
    if found is None:
        raise _wrong(text, at, "no value stands there")
    return Node(at, found.end(), _decoded(text, found)), found.end()


def _object(text: str, start: int, depth: int) -> tuple[Node, int]:
    members: list[Member] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "}":
        name = _STRING.match(text, at)
        if name is None:
            raise _wrong(text, at, "no name stands there")
        colon = skip(text, name.end())
        if text[colon : colon + 1] != ":":
            raise _wrong(text, colon, "a colon is missing")
        node, end = _value(text, skip(text, colon + 1), depth + 1)
        members.append(Member(at, _decoded(text, name), node))
        at = _after_comma(text, end, "}")
    value = {one.key: one.node.value for one in members}
    return Node(start, at + 1, value, members=tuple(members)), at + 1


def _list(text: str, start: int, depth: int) -> tuple[Node, int]:
    items: list[Node] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "]":
        node, end = _value(text, at, depth + 1)
        items.append(node)
        at = _after_comma(text, end, "]")
    return Node(start, at + 1, [one.value for one in items], items=tuple(items)), at + 1


def _after_comma(text: str, at: int, closing: str) -> int:
    """Return where the next member begins, or the closing mark stands."""
    at = skip(text, at)
    if text[at : at + 1] == ",":
        return skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise _wrong(text, at, f"a comma or {closing} is missing")
    return at


def _decoded(text: str, found: re.Match[str]) -> Any:
    try:
        return json.loads(found[0], strict=False)
    except ValueError as exc:
        raise _wrong(text, found.start(), "a text is not well formed") from exc


def _wrong(text: str, at: int, what: str) -> Unreadable:
    return Unreadable(f"line {text.count(chr(10), 0, at) + 1}: {what}")
