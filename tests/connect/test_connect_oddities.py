"""Files that people and other tools wrote in their own way: nothing in them is lost or stands in our way."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from engramdb.connect import json_edit
from engramdb.connect.entries import is_our_hook, own_entries
from engramdb.connect.parts import HookEntries, JsonServer, TomlServer, read_json

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command

OURS = own_entries(store="/x/memory.db", scope={"user": "maya"}, environment={})
SERVER = JsonServer(key="mcpServers", name="engram", entry=OURS.server())
TABLE = TomlServer(key="mcp_servers", name="engram", entry=OURS.server())


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home."""
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,}',
        '{"mcpServers": {"theirs": {},}}',
        '{\n  "mcpServers": {"theirs": {\n} /* one */} /* two */\n}',
        '{\r\n\t"a": 1, // one, }\r\n\t"b": [] /* "two" */\r\n}\r\n',
        '\ufeff{\n  "a": 1\n}',
    ],
    ids=["comma", "inner-comma", "comments-behind-braces", "crlf", "byte-order-mark"],
)
@pytest.mark.parametrize("part", [SERVER, HookEntries.of(OURS)], ids=["server", "hooks"])
def test_what_was_put_in_comes_out_to_the_byte(part: JsonServer | HookEntries, text: str) -> None:
    """Commas and comments are theirs, wherever they stand; no copy of the file is needed for it."""
    put = part.put(text)

    assert part.put(put) == put
    assert part.take_out(put, text) == text


def test_a_hook_of_ours_among_those_of_others_leaves_them_as_they_are() -> None:
    """Somebody has moved it into their own group, behind a comment of theirs."""
    ours = json.dumps(OURS.hook("Stop")["hooks"][0])
    text = '{\n  "hooks": {"Stop": [{"hooks": [\n    {"command": "lint"}, // ours\n    %s,\n  ]}]}\n}\n'

    left = HookEntries.of(OURS).take_out(text % ours, None)

    assert left == text.replace("    %s,\n", "")
    assert read_json(left)["hooks"]["Stop"] == [{"hooks": [{"command": "lint"}]}]


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        ("/opt/venv/bin/engram hook Stop --user maya", True),
        ("'/my tools/python' -P -m engramdb hook 'UserPromptSubmit'", True),
        ("/opt/venv/bin/python -P -m engram hook Stop", True),
        ("/opt/venv/bin/engramdb hook Stop", True),
        ("engram hook --client codex Stop", True),
        ("C:\\\\tools\\\\engram.exe hook Stop", True),
        ("echo 'engram hook failed' >> log", False),
        ("notify engram hook", False),
        ("not-engram hook Stop", False),
        ("engramdbx hook Stop", False),
    ],
)
def test_a_hook_that_only_speaks_of_us_is_not_ours(command: str, *, is_ours: bool) -> None:
    """Removing us must not remove what somebody wrote about us."""
    assert is_our_hook({"type": "command", "command": command}) is is_ours


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_a_table_with_remarks_of_its_owner_can_be_changed_and_taken_out(line: str) -> None:
    """A remark or an empty line inside our table does not end it; what stands above the next one is kept."""
    before = "model = 'x'\n".replace("\n", line)
    added = "# slow machine\n\nstartup_timeout_sec = 20\n\n# about others\n[other]\na = 1\n".replace(
        "\n", line
    )
    text = TABLE.put(before) + added
    changed = TomlServer(key="mcp_servers", name="engram", entry={**TABLE.entry, "args": ["mcp"]}).put(text)

    left = TABLE.take_out(text, before)

    assert tomllib.loads(changed)["mcp_servers"]["engram"]["startup_timeout_sec"] == 20
    assert tomllib.loads(changed)["mcp_servers"]["engram"]["args"] == ["mcp"]
    assert left == before + "\n# about others\n[other]\na = 1\n".replace("\n", line)


def test_a_mark_of_the_byte_order_is_no_reason_to_refuse_toml() -> None:
    """Some editors of Windows write one, and Codex reads the file."""
    text = "\ufeffmodel = 'x'\n"

    assert TABLE.take_out(TABLE.put(text), text) == text


def test_a_folder_that_is_a_link_to_nowhere_is_left_alone_and_named_as_such(
    person: Path, engram_command: Command
) -> None:
    """What it leads to may be a disk that is not there at the moment."""
    (person / ".codex").symlink_to(person / "dots" / "codex")

    done = engram_command("connect", "codex", "--yes")

    assert done.exit_code == 1
    assert done.stderr.count("a link that leads nowhere") == 2
    assert not (person / "dots").exists()


@pytest.mark.parametrize("value", [{}, {"k": [1]}])
def test_a_list_on_one_line_keeps_its_last_comma(value: dict[str, Any]) -> None:
    """What follows it is put behind it, with a comma of its own."""
    put = json_edit.append_item("[1, 2,]", (), value)

    assert read_json(f'{{"a": {put}}}') == {"a": [1, 2, value]}
    assert json_edit.remove(put, (2,)) == "[1, 2,]"
