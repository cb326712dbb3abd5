"""A store is made for what comes in, and not for a file that brings nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from engramdb.cli.main import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ROW = '{"content": "Maya is allergic to peanuts"}\n'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the store would be; the built-in embedder, whatever the environment says."""
    monkeypatch.setenv("ENGRAM_EMBEDDER", "static")
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "memory.db"))
    return tmp_path / "memory.db"


def run(*arguments: str) -> Result:
    """Run one command in this process."""
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("content", "options", "exit_code"),
    [
        (b"\x00\xff\xfe nothing that anybody wrote", [], 2),
        (b'{"foo": 1}', [], 2),
        (b"", ["--from", "text"], 1),
        (b"\x00\xff\xfe", ["--from", "chatgpt"], 1),
        (ROW.encode(), ["--map", "contents=content"], 2),
    ],
    ids=["of no kind", "of no known shape", "empty", "not what it is said to be", "a column of no field"],
)
def test_what_brings_nothing_leaves_nothing(
    tmp_path: Path, store: Path, content: bytes, options: list[str], exit_code: int
) -> None:
    """A file that cannot be read is refused or reported, and the folder is as it was."""
    path = tmp_path / "given"
    path.write_bytes(content)

    done = run("import", str(path), *options)

    assert done.exit_code == exit_code, done.output
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(store.name)] == []


def test_a_dry_run_makes_no_store_and_tells_the_same(tmp_path: Path, store: Path) -> None:
    """What would come in is told without a store, and as it is told with one."""
    path = tmp_path / "rows.jsonl"
    path.write_text(ROW)

    without = run("import", str(path), "--dry-run")
    was_made = store.exists()
    run("remember", "The boat is red")
    beside = run("import", str(path), "--dry-run")

    assert not was_made
    assert "would have added 1 memory" in without.stdout
    assert without.stdout == beside.stdout


def test_something_that_comes_in_has_its_store(tmp_path: Path, store: Path) -> None:
    """One line that can be read is enough, whatever stands beside it."""
    path = tmp_path / "rows.jsonl"
    path.write_text(ROW + "not JSON\n")

    done = run("import", str(path))

    assert done.exit_code == 0, done.output
    assert store.exists()
    assert "Maya is allergic to peanuts" in run("list").stdout
