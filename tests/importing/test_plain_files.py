"""What people find in the files that are theirs: their own names and towns, nothing twice, and no riddles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from engramdb import Engram
from engramdb.cli.main import app
from engramdb.testing import TinyEmbedder
from engramdb.values import SecurityTier

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(autouse=True)
def plain_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in embedder, whatever the environment says."""
    monkeypatch.setenv("ENGRAM_EMBEDDER", "static")


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    """Run one command in this process."""
    return CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)


def test_a_home_town_is_in_the_notebook_and_in_the_export(tmp_path: Path) -> None:
    """It is labelled as sensitive all the same; a mail address stays out of both."""
    with Engram.open(tmp_path / "life.db", embedder=TinyEmbedder(), background=False) as engram:
        home = engram.remember("I live in Oslo")
        engram.remember("Reach me at maya@example.org")

        report = engram.notebook_sync(tmp_path / "notes")
        exported = [one.memory.content for one in engram.export()]

    assert home.security is SecurityTier.SENSITIVE
    assert (report.memories, report.withheld, exported) == (1, 1, ["I live in Oslo"])


def test_only_what_is_left_out_is_announced_as_sensitive() -> None:
    """The first thing that people type is where they live, and needs no warning; the second one does."""
    home = run("remember", "I live in Oslo").stdout
    mail = run("remember", "Reach me at maya@example.org").stdout

    assert "sensitive" not in home
    assert "left out of notebooks and exports" in mail


def test_a_note_that_leaves_the_folder_says_why(tmp_path: Path) -> None:
    """Somebody who wrote a note finds it gone: the report says that it is kept, and where."""
    run("notebook", "sync", tmp_path / "notes")
    (tmp_path / "notes" / "facts").mkdir(exist_ok=True)
    (tmp_path / "notes" / "facts" / "mail.md").write_text("Reach me at maya@example.org\n")

    told = run("notebook", "sync", tmp_path / "notes").stdout

    assert "facts/mail.md: removed (too sensitive for a file; it is in the store)" in told


def test_an_export_can_be_piped_into_another_store(tmp_path: Path) -> None:
    """Without a path it goes to standard output, and `-` reads it, also a single line."""
    run("remember", "Maya likes green tea", "--category", "preference")

    piped = run("export").stdout_bytes
    taken = run("import", "-", "--store", tmp_path / "other.db", stdin=piped)
    other = json.loads(run("list", "--json", "--store", tmp_path / "other.db").stdout)

    assert "added 1 memory" in taken.stdout
    assert [(one["content"], one["category"]) for one in other] == [("Maya likes green tea", "preference")]


def test_what_a_pipe_holds_is_asked_for_where_it_cannot_be_told(tmp_path: Path) -> None:
    """A note looks like any text, so the answer says which option tells it."""
    note = "# Boats\n\n- The red one leaks\n"

    unknown = run("import", "-", "--store", tmp_path / "other.db", stdin=note)
    told = run("import", "-", "--from", "markdown", "--store", tmp_path / "other.db", stdin=note)

    assert unknown.exit_code == 2
    assert "--from" in unknown.stderr
    assert "added 1 memory" in told.stdout


def test_a_note_named_like_its_heading_says_so_once(tmp_path: Path) -> None:
    """`trip.md` with the heading "Trip" is about one thing."""
    (tmp_path / "trip.md").write_text("# Trip\n\nTom pays for the car.\n")

    run("import", tmp_path / "trip.md")

    assert "trip: Tom pays for the car." in run("list").stdout


def test_a_file_that_cannot_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    """A code alone would send people to the reference."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "good.md").write_text("The red boat leaks.\n")
    (vault / "broken.md").write_bytes(b"caf\xe9 au lait\n")

    told = run("import", vault).stdout

    assert "E4005  broken.md\n  E4005 means: A memory is empty or is not text." in told
