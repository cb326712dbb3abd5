"""
Our parts of configuration files: a server in JSON or TOML, hooks, and a plugin that stands for them.

Every change is checked by reading the result: it must differ from what was there in our entry and in nothing
else, or it is not made. Hooks of others, also in the same list, are neither moved nor changed.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from engramdb.connect import json_edit
from engramdb.connect.entries import OwnEntries, is_our_hook, is_our_server
from engramdb.connect.json_edit import Unreadable, parse
from engramdb.hooks.events import CLAUDE_CODE, AgentProgram


class CannotEdit(Exception):
    """The file is not what we can change safely; the message says why, and never quotes a value."""


class ConfigPart(Protocol):
    """One place of ours in a file."""

    def is_in(self, text: str) -> bool:
        """Return whether something of ours stands there."""
        ...

    def like_in(self, text: str) -> Self:
        """Return the same part with what a text, in which it is, has it say."""
        ...

    def put(self, text: str) -> str:
        """Return the text with what we have to say; the same text where it says so already."""
        ...

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without anything of ours, and without what we made that the original had not."""
        ...

    def snippet(self) -> str:
        """Return what a person may paste instead."""
        ...


_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


class JsonServer(Struct, frozen=True, kw_only=True):
    """An entry under `key` in a JSON file, comments allowed."""

    key: str
    name: str
    entry: dict[str, Any]

    def is_in(self, text: str) -> bool:
        """Return whether our server stands there."""
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


class TomlServer(Struct, frozen=True, kw_only=True):
    """A table `[key.name]` in a TOML file."""

    key: str
    name: str
    entry: dict[str, Any]

    def is_in(self, text: str) -> bool:
        """Return whether our server stands there."""
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
            text = text[: found.start()] + _trailing_comments(text[found.end() : end]) + text[end:]
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


def _trailing_comments(rows: str) -> str:
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


KEY = "hooks"


class HookEntries(Struct, frozen=True):
    """The calls of `engram hook`: a group for each event that we answer."""

    groups: Mapping[str, dict[str, Any]]

    @classmethod
    def of(cls, own: OwnEntries, program: AgentProgram = CLAUDE_CODE) -> HookEntries:
        """Return the hooks that our entries are to be."""
        return cls({event: own.hook(event, program) for event in program.events})

    def is_in(self, text: str) -> bool:
        """Return whether a hook of ours stands there."""
        return next(_ours(read_json(text)), None) is not None

    def like_in(self, text: str) -> HookEntries:
        """Return the hooks as a text has them."""
        whole = read_json(text)
        return HookEntries({event: whole[KEY][event][group] for event, group, _ in _ours(whole)})

    def put(self, text: str) -> str:
        """Return the text with one hook of ours for each event."""
        text = text if text.strip(" \t\r\n\ufeff") else text + "{\n}\n"
        before = read_json(text)
        self._check_shape(before)
        if KEY not in before:
            return json_edit.set_member(text, (KEY,), self._wanted())
        changed = text
        for event, group in self._wanted().items():
            changed = self._put_one(changed, event, group)
        if _without_ours(read_json(changed)) != _without_ours(before):
            raise CannotEdit("its hooks are written in a way that we cannot change safely")
        return changed

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without our hooks, and without the groups and lists that are then empty."""
        had = None if original is None else read_json(original)
        original_events = {} if had is None else had.get(KEY, {})
        changed = text
        while (found := next(_ours(read_json(changed)), None)) is not None:
            event, group, place = found
            changed = _taken(changed, event, group, place, is_kept=event in original_events)
        is_left_over = changed != text and not read_json(changed)[KEY] and (had is None or KEY not in had)
        return json_edit.remove(changed, (KEY,)) if is_left_over else changed

    def snippet(self) -> str:
        """Return the hooks as they would stand in an empty file."""
        return json.dumps({KEY: self._wanted()}, indent=2, ensure_ascii=False)

    def _wanted(self) -> dict[str, Any]:
        return {event: [group] for event, group in self.groups.items()}

    def _check_shape(self, whole: dict[str, Any]) -> None:
        events = whole.get(KEY, {})
        is_listed = isinstance(events, dict) and all(
            isinstance(events.get(one, []), list) for one in self.groups
        )
        if not is_listed:
            raise CannotEdit("its hooks are not what they should be")

    def _put_one(self, text: str, event: str, groups: list[Any]) -> str:
        there = read_json(text)[KEY].get(event)
        if there is None:
            return json_edit.set_member(text, (KEY, event), groups)
        ours = [found for found in _ours(read_json(text)) if found[0] == event]
        for _, group, place in reversed(ours[1:]):
            text = _taken(text, event, group, place, is_kept=True)
        wanted = groups[0]
        if not ours:
            return json_edit.append_item(text, (KEY, event), wanted)
        _, group, place = ours[0]
        is_alone = len(there[group][KEY]) == 1
        if is_alone and {**there[group], **wanted} != there[group]:
            return json_edit.set_value(text, (KEY, event, group), wanted)
        if not is_alone and there[group][KEY][place] != wanted[KEY][0]:
            return json_edit.set_value(text, (KEY, event, group, KEY, place), wanted[KEY][0])
        return text


def _taken(text: str, event: str, group: int, place: int, *, is_kept: bool) -> str:
    """Return the text without one hook; a list that would be empty goes too, unless it is to be kept."""
    groups = read_json(text)[KEY][event]
    if len(groups[group][KEY]) > 1:
        return json_edit.remove(text, (KEY, event, group, KEY, place))
    if len(groups) > 1 or is_kept:
        return json_edit.remove(text, (KEY, event, group))
    return json_edit.remove(text, (KEY, event))


def _ours(whole: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield where hooks of ours stand: event, group and place."""
    events = whole.get(KEY)
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get(KEY) if isinstance(group, dict) else None
            for place, one in enumerate(hooks if isinstance(hooks, list) else ()):
                if is_our_hook(one):
                    yield event, number, place


def _without_ours(whole: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with everything but our hooks, and without what is empty then."""
    events = {}
    for event, groups in whole.get(KEY, {}).items():
        left = [
            {**group, KEY: [one for one in group[KEY] if not is_our_hook(one)]} if _is_group(group) else group
            for group in (groups if isinstance(groups, list) else [groups])
        ]
        events[event] = [group for group in left if not _is_group(group) or group[KEY]]
    return {**whole, KEY: {event: groups for event, groups in events.items() if groups}}


def _is_group(group: object) -> bool:
    return isinstance(group, dict) and isinstance(group.get(KEY), list)


PLUGIN_MARK = "// Written by `engram connect "


class PluginFile(Struct, frozen=True):
    """A file that is ours as a whole: what a program loads in place of hooks."""

    text: str

    @classmethod
    def of(cls, own: OwnEntries, program: AgentProgram) -> PluginFile:
        """Return the plugin of a program, which calls `engram hook` as our entries would."""
        source = resources.files("engramdb.connect").joinpath(f"{program.name}_plugin.js").read_text("utf-8")
        return cls(source.replace("__HOOK__", json.dumps(own.hook_words(program), ensure_ascii=False)))

    def is_in(self, text: str) -> bool:
        """Return whether the file is ours."""
        return text.startswith(PLUGIN_MARK)

    def like_in(self, text: str) -> PluginFile:
        """Return the file as it is."""
        return PluginFile(text)

    def put(self, text: str) -> str:
        """Return the file as we write it."""
        if text.strip() and not self.is_in(text):
            raise CannotEdit("it is a plugin of somebody else")
        return self.text

    def take_out(self, text: str, original: str | None) -> str:
        """Return what is left of the file, which is nothing where it is ours."""
        return (original or "") if self.is_in(text) else text

    def snippet(self) -> str:
        """Return the file."""
        return self.text


class CombinedPart(Struct, frozen=True):
    """Parts of one JSON file: Gemini CLI has its servers and its hooks in the same one."""

    parts: tuple[ConfigPart, ...]

    def is_in(self, text: str) -> bool:
        """Return whether any of the parts stands there."""
        return any(part.is_in(text) for part in self.parts)

    def like_in(self, text: str) -> CombinedPart:
        """Return the parts that stand in a text, as it has them."""
        return CombinedPart(tuple(part.like_in(text) for part in self.parts if part.is_in(text)))

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
