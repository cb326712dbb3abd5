"""
The entry of our MCP server in a JSON or a TOML file.

Used by `clients`, which knows under which name each program keeps its servers. Every change is checked by
reading the result: it must differ from what was there in our entry and in nothing else, or it is not made.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from dataclasses import dataclass, replace
from typing import Any, Self

from engram.surfaces.connect import json_edit
from engram.surfaces.connect.entry import is_our_server
from engram.surfaces.connect.jsonc import Unreadable, parse
from engram.surfaces.connect.part import CannotEdit

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonServer:
    """An entry under `key` in a JSON file, comments allowed."""

    key: str
    name: str
    entry: dict[str, Any]

    def is_in(self, text: str) -> bool:
        """Say whether our server stands there."""
        return is_our_server(_servers(read_json(text), self.key).get(self.name))

    def like_in(self, text: str) -> Self:
        """Return the entry as a text has it."""
        return replace(self, entry=_servers(read_json(text), self.key)[self.name])

    def put(self, text: str) -> str:
        """Return the text with our server; fields that somebody added to it stay."""
        text = text if text.strip(" \t\r\n\ufeff") else text + "{\n}\n"
        before = read_json(text)
        there = _our_own(_servers(before, self.key), self.name)
        wanted = {**(there or {}), **self.entry}
        if there == wanted:
            return text
        expected = copy.deepcopy(before)
        expected.setdefault(self.key, {})[self.name] = wanted
        if self.key in before:
            changed = json_edit.set_member(text, (self.key, self.name), wanted)
        else:
            changed = json_edit.set_member(text, (self.key,), {self.name: wanted})
        return checked(changed, read_json, expected)

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without our server."""
        if not self.is_in(text):
            return text
        expected = copy.deepcopy(read_json(text))
        changed = json_edit.remove(text, (self.key, self.name))
        del expected[self.key][self.name]
        if not expected[self.key] and (original is None or self.key not in read_json(original)):
            changed = json_edit.remove(changed, (self.key,))
            del expected[self.key]
        return checked(changed, read_json, expected)

    def snippet(self) -> str:
        """Return the entry as it would stand in an empty file."""
        return json.dumps({self.key: {self.name: self.entry}}, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlServer:
    """A table `[key.name]` in a TOML file."""

    key: str
    name: str
    entry: dict[str, Any]

    def is_in(self, text: str) -> bool:
        """Say whether our server stands there."""
        return is_our_server(_servers(read_toml(text), self.key).get(self.name))

    def like_in(self, text: str) -> Self:
        """Return the entry as a text has it."""
        return replace(self, entry=_servers(read_toml(text), self.key)[self.name])

    def put(self, text: str) -> str:
        """Return the text with our table at its end, or in the place of the one that is there."""
        before = read_toml(text)
        there = _our_own(_servers(before, self.key), self.name)
        wanted = {**(there or {}), **self.entry}
        if there == wanted:
            return text
        expected = copy.deepcopy(before)
        expected.setdefault(self.key, {})[self.name] = wanted
        rest, place = self._cut(text) if there is not None else (text, len(text))
        return checked(self._joined(rest, place, wanted), read_toml, expected)

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without our table and the blank line above it."""
        if not self.is_in(text):
            return text
        expected = copy.deepcopy(read_toml(text))
        del expected[self.key][self.name]
        if not expected[self.key]:
            del expected[self.key]
        rest, place = self._cut(text)
        head, tail = rest[:place], rest[place:]
        line = _line_end(text)
        if head.endswith(line * 2) and not (original or "").endswith(line * 2):
            head = head[: -len(line)]
        return checked(head + tail, read_toml, expected)

    def snippet(self) -> str:
        """Return the table."""
        return self._table(self.entry, "\n").rstrip()

    def _joined(self, rest: str, place: int, wanted: dict[str, Any]) -> str:
        line = _line_end(rest)
        head, tail = rest[:place], rest[place:]
        if head and not head.endswith("\n"):
            head += line
        gap = line if head.strip() and not head.endswith(line * 2) else ""
        return head + gap + self._table(wanted, line) + tail

    def _table(self, entry: dict[str, Any], line: str) -> str:
        rows = [f"{_toml_name(name)} = {_toml(value)}" for name, value in entry.items()]
        return line.join([f"[{self.key}.{_toml_name(self.name)}]", *rows, ""])

    def _cut(self, text: str) -> tuple[str, int]:
        """Return the text without our tables, and where the first of them stood."""
        name = re.escape(_toml_name(self.name))
        ours = re.compile(
            rf"""^[ \t]*\[\s*{self.key}\s*\.\s*["']?{name}["']?\s*(?:\.[^\]\n]*)?\][^\n]*\n?""", re.MULTILINE
        )
        first, place = ours.search(text), 0
        if first is None:
            raise CannotEdit(f"the server {self.name} is not written as a table of its own")
        place = first.start()
        while (found := ours.search(text)) is not None:
            following = _HEADER.search(text, found.end())
            end = following.start() if following else len(text)
            text = text[: found.start()] + _kept_behind(text[found.end() : end]) + text[end:]
        return text, place


def read_json(text: str) -> dict[str, Any]:
    """Return the object that a file holds; an empty file holds an empty one."""
    if not text.strip(" \t\r\n\ufeff"):
        return {}
    try:
        value = parse(text).value
    except Unreadable as exc:
        raise CannotEdit(f"it is not JSON that we can read, {exc}") from exc
    if not isinstance(value, dict):
        raise CannotEdit("it does not hold a JSON object")
    return value


def read_toml(text: str) -> dict[str, Any]:
    """Return what a TOML file holds."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise CannotEdit("it is not TOML that we can read") from exc


def checked(text: str, read: Any, expected: dict[str, Any]) -> str:
    """Return a changed text if it now holds exactly what it should."""
    if read(text) != expected:
        raise CannotEdit("it is written in a way that we cannot change without touching more than our entry")
    return text


def _servers(whole: dict[str, Any], key: str) -> dict[str, Any]:
    servers = whole.get(key, {})
    if not isinstance(servers, dict):
        raise CannotEdit(f"its {key} is not what it should be")
    return servers


def _our_own(servers: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return our entry, or None where nothing has its name; what somebody else calls so is refused."""
    if name in servers and not is_our_server(servers[name]):
        raise CannotEdit(f"it has another server that is called {name}; choose a name with --name")
    return servers.get(name)


def _kept_behind(rows: str) -> str:
    """Return the blank lines and comments at the end of a table: they belong to what follows."""
    lines = rows.splitlines(keepends=True)
    inner = [place for place, line in enumerate(lines, start=1) if line.strip() and line.lstrip()[0] != "#"]
    return "".join(lines[max(inner, default=0) :])


def _toml(value: Any) -> str:
    """Return a value as TOML writes it: as JSON does, but for objects."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_name(name)} = {_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _toml_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
