"""
Edit JSON with comments and trailing commas, and leave the rest of the text, to the last blank and comment.

Stricter than some programs: what cannot be read is refused, so that nothing is guessed. What is put in takes
the file's own indentation and line ends; taking it out again gives the text of before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

MAX_DEPTH = 100
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class Unreadable(ValueError):
    """The text is not what it should be; the message says what and in which line."""


class Node(Struct, frozen=True):
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


class Member(Struct, frozen=True):
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
    if depth > MAX_DEPTH:
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


Path = tuple[str | int, ...]
_INDENTED = re.compile(r"\n([ \t]+)\S")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*(?=\r?\n))")
_USUAL = "  "


def node_at(text: str, path: Path) -> Node | None:
    """Return what stands at a path of names and numbers, or None."""
    node: Node | None = parse(text)
    for step in path:
        if node is None:
            return None
        if isinstance(step, int):
            node = node.items[step] if step < len(node.items) else None
        else:
            member = node.member(step)
            node = None if member is None else member.node
    return node


def set_member(text: str, path: Path, value: Any) -> str:
    """Put a value under a name of an object that is there, in place of the one that it may have."""
    *above, key = path
    if node_at(text, path) is not None:
        return set_value(text, path, value)
    holder = _there(text, tuple(above))
    return _insert(text, holder, [one.node for one in holder.members], json.dumps(key) + ": ", value)


def set_value(text: str, path: Path, value: Any) -> str:
    """Put a value in the place of one that is there."""
    there = _there(text, path)
    return text[: there.start] + _written(text, value, _indent_at(text, there.start)) + text[there.end :]


def append_item(text: str, path: Path, value: Any) -> str:
    """Put a value at the end of a list that is there."""
    holder = _there(text, path)
    return _insert(text, holder, holder.items, "", value)


def remove(text: str, path: Path) -> str:
    """Take out a member or an item, with the comma that it no longer needs."""
    *above, step = path
    holder = _there(text, tuple(above))
    if isinstance(step, int):
        spans = [(one.start, one.end) for one in holder.items]
        number = step
    else:
        spans = [(one.start, one.node.end) for one in holder.members]
        number = max(i for i, one in enumerate(holder.members) if one.key == step)
    return _without(text, holder, spans, number)


def _there(text: str, path: Path) -> Node:
    """Return what stands at a path where the caller knows that something does."""
    node = node_at(text, path)
    if node is None:
        raise KeyError(path)
    return node


def _insert(text: str, holder: Node, inner: Sequence[Node], lead: str, value: Any) -> str:
    if not inner:
        return _insert_first(text, holder, lead, value)
    last = inner[-1]
    comma = skip(text, last.end)
    has_comma = text[comma : comma + 1] == ","
    if "\n" not in text[holder.start : holder.end]:
        new = lead + json.dumps(value, ensure_ascii=False)
        if has_comma:
            return f"{text[: comma + 1]} {new},{text[comma + 1 :]}"
        return f"{text[: last.end]}, {new}{text[last.end :]}"
    indent = _indent_at(text, inner[0].start)
    new = _newline(text) + indent + lead + _written(text, value, indent)
    after = comma + 1 if has_comma else last.end
    remark = _REST_OF_LINE.match(text, after)
    place = remark.end() if remark else after
    if has_comma:
        return f"{text[:place]}{new},{text[place:]}"
    return f"{text[: last.end]},{text[last.end : place]}{new}{text[place:]}"


def _insert_first(text: str, holder: Node, lead: str, value: Any) -> str:
    """Put a value into an object or list that holds none, after the comments that it may hold."""
    inside = text[holder.start + 1 : holder.end - 1]
    outer = _indent_at(text, holder.start)
    indent, line = outer + _unit(text), _newline(text)
    comments = inside.rstrip()
    new = f"{line}{indent}{lead}{_written(text, value, indent)}{line}{outer}"
    return f"{text[: holder.start + 1]}{comments}{new}{text[holder.end - 1 :]}"


def _without(text: str, holder: Node, spans: Sequence[tuple[int, int]], number: int) -> str:
    start, end = spans[number]
    after = skip(text, end)
    has_comma = text[after : after + 1] == ","
    if number + 1 < len(spans):  # what follows takes its place
        rest = after + 1
        rest += len(text[rest:]) - len(text[rest:].lstrip())
        return text[:start] + text[rest:]
    blank = len(text[:start].rstrip())
    if number == 0:
        inside = text[holder.start + 1 : blank], text[after + has_comma : holder.end - 1]
        if not "".join(inside).strip():
            return text[: holder.start + 1] + text[holder.end - 1 :]
        return text[:blank] + text[after + has_comma if has_comma else end :]
    if has_comma:
        return text[:blank] + text[after + 1 :]
    comma = skip(text, spans[number - 1][1])
    return text[:comma] + text[comma + 1 : blank] + text[end:]


def _written(text: str, value: Any, indent: str) -> str:
    if "\n" not in text.strip():
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _indent_at(text: str, at: int) -> str:
    """Return the blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one step of indentation as the file has it."""
    found = _INDENTED.search(text)
    return found[1] if found else _USUAL


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
