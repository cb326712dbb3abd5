"""The command `engram import`: what it says, in words and in JSON, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from engramdb.cli.main import app

from . import sources

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(autouse=True)
def plain_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in embedder, whatever the environment says."""
    monkeypatch.setenv("ENGRAM_EMBEDDER", "static")


def run(*arguments: str) -> Result:
    """Run one command in this process."""
    return CliRunner().invoke(app, list(arguments))


def test_a_dry_run_tells_and_the_import_does(tmp_path: Path) -> None:
    """What would come in is counted by kind; afterwards it is there, enriched, and twice adds nothing."""
    path = tmp_path / "dump.json"
    path.write_text(json.dumps([*sources.mem0_dump()["results"], {"id": "broken"}]))

    told = run("import", str(path), "--user", "maya", "--dry-run")
    before = run("list", "--user", "maya")
    done = run("import", str(path), "--user", "maya")
    listed = run("list", "--user", "maya")
    again = json.loads(run("import", str(path), "--user", "maya", "--json").stdout)
    state = json.loads(run("status", "--json").stdout)

    assert told.exit_code == done.exit_code == 0, told.stderr + done.stderr
    assert "would have added 2 memories" in told.stdout
    assert before.stdout == ""
    assert "E4005  dump.json: record 3" in done.stdout
    assert "Maya is allergic to peanuts" in listed.stdout
    assert (again["added"], again["already"]) == (0, 2)
    assert state["awaiting_enrichment"] == 0


def test_a_table_is_mapped_by_options(tmp_path: Path) -> None:
    """FIELD=COLUMN says where a table has what."""
    path = tmp_path / "rows.tsv"
    path.write_text("Was\tWann\nThe boat is red\t2024-05-01\n")

    done = run("import", str(path), "--from", "csv", "--map", "content=Was", "--map", "occurred_at=Wann")
    listed = run("list")

    assert done.exit_code == 0, done.stderr
    assert "2024-05-01 00:00Z" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["absent.zip"], "E4005"),
        (["rows.csv", "--map", "contents=text"], "E2004"),
    ],
)
def test_a_mistake_is_answered_with_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: str
) -> None:
    """Misuse ends with exit code 2 and a line that names the error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text\nFine\n")

    done = run("import", *arguments)

    assert done.exit_code == 2
    assert code in done.stderr
