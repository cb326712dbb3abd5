"""Other programs' configuration files: what we put in comes out again, and everything else stays."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.connect import json_edit
from engramdb.connect.entries import OwnEntries
from engramdb.connect.json_edit import Unreadable, parse
from engramdb.connect.parts import CannotEdit, HookEntries, JsonServer, TomlServer, read_json

ENTRY = {"command": "/opt/engram", "args": ["mcp", "--user", "maya"]}
OWN = OwnEntries(command=("/opt/engram",), python="/opt/python", options=("--user", "maya"))
HOOKS = HookEntries.of(OWN)

scalars = st.none() | st.booleans() | st.integers(-9, 99) | st.text(st.characters(codec="utf-8"), max_size=6)
names = st.sampled_from(["a", "b", "engram", "mcpServers", "hooks", "Stop", "ü", 'q"uote'])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=4)


class Hand:
    """A person who writes JSON anyhow: on one line or many, with comments and trailing commas."""

    def __init__(self, seed: int, line: str) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - a style, not a secret
        self._line = line

    def writes(self, value: Any, depth: int = 0) -> str:
        """Return the value as this person writes it."""
        if not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=False)
        marks = "{}" if isinstance(value, dict) else "[]"
        pairs = value.items() if isinstance(value, dict) else [(None, one) for one in value]
        rows = [
            ("" if key is None else f"{json.dumps(key)}: ") + self.writes(one, depth + 1)
            for key, one in pairs
        ]
        if self._line not in "".join(rows) and self._rng.random() < 0.2:
            return marks[0] + ", ".join(rows) + marks[1]
        return marks[0] + self._spread(rows, "   " * (depth + 1)) + self._line + "   " * depth + marks[1]

    def _spread(self, rows: list[str], indent: str) -> str:
        text = ""
        for number, row in enumerate(rows, start=1):
            remark = f"{indent}// {number}{self._line}" if self._rng.random() < 0.2 else ""
            comma = "," if number < len(rows) or self._rng.random() < 0.3 else ""
            text += self._line + remark + indent + row + comma
            text += self._rng.choice(["", "", " // why", " /* so */"])
        return text


@settings(max_examples=40)
@given(objects, st.integers(0, 10**6), st.sampled_from(["\n", "\r\n"]))
def test_what_is_put_into_json_comes_out_again(value: dict[str, Any], seed: int, line: str) -> None:
    """Whatever the style of a file, a new name changes nothing else, and removing it gives the same bytes."""
    text = Hand(seed, line).writes(value)

    put = json_edit.set_member(text, ("new",), ENTRY)

    assert parse(text).value == value
    assert parse(put).value == {**value, "new": ENTRY}
    assert parse(json_edit.remove(put, ("new",))).value == value
    if value:
        assert json_edit.remove(put, ("new",)) == text


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["Stop", "SessionEnd", "Other"]), st.lists(objects, max_size=2)))
def test_hooks_of_others_are_neither_moved_nor_changed(theirs: dict[str, Any]) -> None:
    """Ours are added once and taken out whole, whatever else stands in the same lists."""
    text = json.dumps({"hooks": theirs, "model": "opus"}, indent=4) + "\n"

    put = HOOKS.put(text)

    assert HOOKS.put(put) == put
    assert all(read_json(put)["hooks"][event][: len(groups)] == groups for event, groups in theirs.items())
    assert read_json(HOOKS.take_out(put, text)) == read_json(text)


@pytest.mark.parametrize(
    "broken", ["[", '{"a" 1}', '{"a": 1}{', "nonsense", "{\"a\": 'b'}", '{"a": 1 /* }', "[" * 300]
)
def test_what_is_no_json_is_refused(broken: str) -> None:
    """Nothing is guessed about a file that cannot be read, and the reason quotes none of it."""
    with pytest.raises(Unreadable):
        parse(broken)
    with pytest.raises(CannotEdit):
        JsonServer(key="mcpServers", name="engram", entry=ENTRY).put(broken)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"mcpServers": []}',
        '{"mcpServers": {"engram": null}}',
        '{"mcpServers": {"engram": {"command": "npx", "args": ["engram-mcp"]}}}',
        '{"mcpServers": {"engram": {"command": "/x/engram", "args": ["serve"]}}}',
    ],
)
def test_a_shape_that_is_not_ours_is_left_alone(text: str) -> None:
    """A list in the wrong place or somebody else's server of our name is a refusal, not a repair."""
    with pytest.raises(CannotEdit):
        JsonServer(key="mcpServers", name="engram", entry=ENTRY).put(text)


def test_fields_that_somebody_added_to_our_entry_stay() -> None:
    """A newer command replaces the older one; what the person set beside it is kept."""
    text = '{"mcpServers": {"engram": {"command": "engram", "args": ["mcp"], "disabled": true}}}'

    put = JsonServer(key="mcpServers", name="engram", entry=ENTRY).put(text)

    assert read_json(put)["mcpServers"]["engram"] == {**ENTRY, "disabled": True}


TOML = TomlServer(key="mcp_servers", name="engram", entry={**ENTRY, "env": {"ENGRAM_HOME": "/x"}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        'model = "o5"\n',
        "# mine\r\n[mcp_servers.other]\r\ncommand = 'x' # why\r\n",
        'a = """\n[mcp_servers.engram]\n"""\n\n[z]\nb = 1\n',
    ],
)
def test_a_toml_file_keeps_everything_else(text: str) -> None:
    """A table is added at the end, changed in its place, and taken out again."""
    put = TOML.put(text)

    assert put.startswith(text.rstrip())
    assert TOML.put(put) == put
    assert TOML.is_in(put)


def test_a_toml_table_is_changed_where_it_stands() -> None:
    """What follows our table stays behind it, comments too."""
    before = 'a = 1\n\n[mcp_servers.engram]\ncommand = "engram"\nargs = ["mcp"]\n\n# next\n[tail]\nb = 2\n'

    put = TOML.put(before)
    bare = TOML.take_out(put, None)

    assert put.index("ENGRAM_HOME") < put.index("# next\n[tail]\nb = 2\n")
    assert bare == "a = 1\n\n# next\n[tail]\nb = 2\n"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { engram = { command = "engram", args = ["mcp"] } }\n',
        "[[mcp_servers]]\na = 1\n",
        "= 1",
    ],
)
def test_toml_that_cannot_be_changed_safely_is_refused(text: str) -> None:
    """An inline table would have to be rewritten, so it is left to the person."""
    with pytest.raises(CannotEdit):
        TOML.put(text)
