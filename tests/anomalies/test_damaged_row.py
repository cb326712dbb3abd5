"""One damaged row of memories takes nothing else along: answers hold the rest and say which one they lack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import apsw
import pytest
from click.testing import CliRunner, Result
from surfaces.in_process import client_of

from engramdb import Engram, Settings
from engramdb.cli.main import app
from engramdb.errors import StoreCorrupt
from engramdb.http.app import create_app
from engramdb.http.routes import UNREADABLE
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAMAGE = {"moments": "[{", "created_at": 2**62, "flags": '{"a": 1}'}
"""A column, and what Engram never wrote there."""
NOTES = ("the harbor crane is green", "the harbor office opens at nine", "the harbor cat is called Miso")


def opened(path: Path) -> Engram:
    """Open without background threads."""
    return Engram.open(path, settings=Settings(), embedder=TinyEmbedder(), background=False)


def damage(path: Path, memory_id: str, column: str, value: object) -> None:
    """Write something into a row behind Engram's back."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute(f"UPDATE memories SET {column} = ? WHERE id = ?", (value, memory_id))  # noqa: S608
    connection.close()


@pytest.fixture
def ids(store_path: Path) -> list[str]:
    """The ids of three memories."""
    with opened(store_path) as engram:
        return [engram.remember(note, pinned=note is NOTES[1]).id for note in NOTES]


@pytest.fixture(params=list(DAMAGE))
def damaged(request: pytest.FixtureRequest, store_path: Path, ids: list[str]) -> Iterator[Engram]:
    """A store in which the second of them cannot be read."""
    damage(store_path, ids[1], request.param, DAMAGE[request.param])
    with opened(store_path) as engram:
        yield engram


def run(*words: str, store: Path) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, [*words, "--store", str(store)])


def test_a_list_holds_the_others_and_names_the_one_it_lacks(damaged: Engram, ids: list[str]) -> None:
    """Pages are as long as they were asked to be, so that paging goes on to the end."""
    every = damaged.list()
    first = damaged.list(limit=1)
    rest = damaged.list(limit=1, before=first[-1].id)

    assert [one.id for one in every] == [ids[2], ids[0]]
    assert every.unreadable == (ids[1],)
    assert first.unreadable == ()
    assert [one.id for one in rest] == [ids[0]]
    assert rest.unreadable == (ids[1],)


def test_recall_and_the_window_say_what_they_lack(damaged: Engram, ids: list[str]) -> None:
    """The other memories of the harbor are found; the damaged one stands among what is missing."""
    answer = damaged.recall("harbor")
    window = damaged.context("what about the harbor?")
    brief = damaged.brief()

    assert {hit.memory.id for hit in answer.hits} == {ids[0], ids[2]}
    assert [one.index for one in answer.quality.missing if one.index.startswith("memory")] == [
        f"memory {ids[1]}"
    ]
    assert [one.index for one in window.missing if one.index.startswith("memory")] == [f"memory {ids[1]}"]
    assert "Miso" in window.text
    assert brief.unreadable == (ids[1],)


def test_an_export_holds_the_others_and_ends_with_the_error(damaged: Engram, ids: list[str]) -> None:
    """Nobody takes it for whole."""
    lost: list[str] = []
    found = [one.memory.id for one in damaged.export(note_unreadable=lost.append)]

    assert found == [ids[0], ids[2]]
    assert lost == [ids[1]]
    with pytest.raises(StoreCorrupt, match=ids[1]):
        list(damaged.export())


def test_the_commands_name_it(store_path: Path, ids: list[str], tmp_path: Path) -> None:
    """`list`, `export` and `doctor` each say which memory it is."""
    damage(store_path, ids[1], "moments", DAMAGE["moments"])
    file = tmp_path / "export.jsonl"

    listed = run("list", "--json", store=store_path)
    exported = run("export", str(file), store=store_path)
    doctor = run("doctor", store=store_path)

    assert [one["id"] for one in json.loads(listed.stdout)] == [ids[2], ids[0]]
    assert ids[1] in listed.stderr
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == [ids[0], ids[2]]
    assert exported.exit_code
    assert ids[1] in exported.stderr
    assert doctor.exit_code == 1
    assert ids[1] in doctor.output


def test_a_list_over_http_names_it_in_a_header(damaged: Engram, ids: list[str]) -> None:
    """The body holds what can be read."""
    answer = client_of(create_app(damaged)).get("/v1/memories")

    assert [one["id"] for one in answer.json()] == [ids[2], ids[0]]
    assert answer.headers[UNREADABLE] == ids[1]


def test_what_compares_files_with_memories_still_stops(damaged: Engram, tmp_path: Path) -> None:
    """A notebook would take the memory for deleted."""
    with pytest.raises(StoreCorrupt):
        damaged.notebook_sync(tmp_path / "notes")
