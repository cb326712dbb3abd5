"""Accidents with a notebook: what looks like a deletion and is none, kills at any moment, large folders."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.errors import EngramError, InvalidContent, StorageError
from engramdb.notebook.folder import Folder
from engramdb.notebook.note import MAX_NOTE_BYTES
from engramdb.notebook.state import STATE_FILE, State, read_state, write_state
from engramdb.testing import TinyEmbedder
from engramdb.values import NotebookAct

from .notebooks import Notebook, active, acts, paths

if TYPE_CHECKING:
    from pathlib import Path

CITIES = ("Porto", "Lima", "Oslo", "Turin", "Kyoto", "Accra", "Quito", "Delhi")


@pytest.fixture
def notebook(engram: Engram, tmp_path: Path) -> Notebook:
    """A notebook of eight memories, synced once."""
    for number, city in enumerate(CITIES):
        engram.remember(f"Boat {number} lies in {city}", category="fact")
    one = Notebook(engram, tmp_path / "notes")
    one.sync()
    return one


def cities(notebook: Notebook) -> set[str]:
    """The cities that are still remembered."""
    return {words.split()[-1] for words in active(notebook.engram)}


# --- deletions that are none -------------------------------------------------------------------------------


def test_most_of_a_notebook_is_not_forgotten_by_accident(notebook: Notebook) -> None:
    """A folder that was emptied stops a sync that may forget, dry or not; without that word all come back."""
    for city in CITIES[:5]:
        notebook.file(city).unlink()

    for dry_run in (True, False):
        with pytest.raises(InvalidContent) as caught:
            notebook.sync(delete=True, dry_run=dry_run)
    assert "Boat" not in str(caught.value)
    assert cities(notebook) == set(CITIES)
    assert len(notebook.files()) == 3

    restored = notebook.sync()
    assert acts(restored) == {"restored": 5}


def test_many_are_forgotten_when_that_is_said(notebook: Notebook) -> None:
    """`delete_many` needs no second word beside it."""
    for city in CITIES[:5]:
        notebook.file(city).unlink()

    report = notebook.sync(delete_many=True)

    assert acts(report)["forgotten"] == 5
    assert cities(notebook) == set(CITIES[5:])


@pytest.mark.parametrize("count", [1, 4])
def test_a_few_are_forgotten_without_ado(notebook: Notebook, count: int) -> None:
    """Up to half of a small notebook may go at once."""
    for city in CITIES[:count]:
        notebook.file(city).unlink()

    assert acts(notebook.sync(delete=True))["forgotten"] == count


def test_a_note_that_became_a_link_is_not_deleted(notebook: Notebook, tmp_path: Path) -> None:
    """Programs that keep files elsewhere put a link in their place: nothing is forgotten, nothing doubled."""
    path = notebook.file("Oslo")
    path.rename(tmp_path / "kept.md")
    path.symlink_to(tmp_path / "kept.md")

    report = notebook.sync(delete=True)

    assert paths(report, NotebookAct.UNREADABLE) == [path.relative_to(notebook.folder).as_posix()]
    assert cities(notebook) == set(CITIES)
    assert len(notebook.files()) == len(CITIES)
    assert path.is_symlink()


def test_a_note_with_its_ending_in_capitals_is_the_same_note(notebook: Notebook) -> None:
    """Some systems and cameras write so."""
    path = notebook.file("Oslo")
    path.rename(path.with_suffix(".MD"))

    report = notebook.sync(delete=True)

    assert report.counts == {}
    assert cities(notebook) == set(CITIES)


def test_a_note_that_was_moved_out_of_facts_is_named_and_kept(notebook: Notebook) -> None:
    """It is neither read, nor forgotten, nor written again beside itself; moved back, all is as before."""
    path = notebook.file("Oslo")
    moved = notebook.folder / "archive" / "old boats" / "oslo.md"
    moved.parent.mkdir(parents=True)
    path.rename(moved)

    report, again = notebook.sync(delete=True), notebook.sync()
    moved.rename(path)
    back = notebook.sync(delete=True)

    assert paths(report, NotebookAct.OUTSIDE) == ["archive/old boats/oslo.md"]
    assert again.is_unchanged
    assert back.counts == {}
    assert cities(notebook) == set(CITIES)


def test_a_part_that_cannot_be_listed_stops_the_sync(notebook: Notebook) -> None:
    """A folder that nobody may look into is no folder of deleted files."""
    lost = notebook.file("Oslo")
    place = os.open(notebook.folder / "facts", os.O_RDONLY)
    for _ in range(18):  # deeper than a path may be long
        os.mkdir("d" * 250, dir_fd=place)
        deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = deeper
    os.close(place)
    lost.unlink()

    with pytest.raises(StorageError):
        notebook.sync(delete=True)

    assert cities(notebook) == set(CITIES)


def test_a_copy_of_what_became_sensitive_leaves_with_it(notebook: Notebook) -> None:
    """The same words in a second file are no less sensitive; words of its own are kept beside it."""
    path = notebook.edit("in Oslo", "in Oslo, card 4111 1111 1111 1111")
    notebook.write("facts/same.md", path.read_text("utf-8"))
    notebook.write("facts/other.md", path.read_text("utf-8").replace("Oslo", "Bergen"))

    notebook.sync()
    again = notebook.sync()

    assert again.is_unchanged
    assert not (notebook.folder / "facts" / "same.md").exists()
    assert [copy.name[:5] for copy in notebook.copies()] == ["other"]


# --- killed, and large -------------------------------------------------------------------------------------


def test_a_first_sync_that_is_killed_can_be_run_again(tmp_path: Path) -> None:
    """What it had written is recognised: no other word is needed, and nothing is a conflict."""
    path = tmp_path / "m.db"
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        for city in CITIES:
            engram.remember(f"A boat lies in {city}")
    child = os.fork()
    if child == 0:
        with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
            engram.notebook_sync(tmp_path / "notes", progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))
        os._exit(0)
    os.waitpid(child, 0)

    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        notebook = Notebook(engram, tmp_path / "notes")
        begun = len(notebook.files())
        report = notebook.sync()

    assert begun == 1
    assert acts(report) == {"written": len(CITIES) - 1}
    assert notebook.copies() == []


def test_what_a_killed_sync_left_half_written_is_cleared_away(notebook: Notebook) -> None:
    """Such a file holds words of memories, and nobody would ever look at it."""
    half = notebook.folder / "facts" / ".engram-abc123.tmp"
    half.write_text("Boat 9 lies in")
    own = notebook.write("facts/.engram-mine.md", "mine")

    notebook.sync(dry_run=True)
    assert half.exists()
    notebook.sync()

    assert not half.exists()
    assert own.exists()


def test_the_state_of_a_large_notebook_is_read_whole(notebook: Notebook) -> None:
    """It has half a kilobyte for each memory, and may be far larger than a note may be."""
    path = notebook.folder / STATE_FILE
    state = read_state(path.read_bytes())
    many = {f"entities/{'page' * 100}-{number}.md": "0" * 32 for number in range(9_500)}
    path.write_bytes(write_state(State(memories=state.memories, pages={**state.pages, **many})))

    assert path.stat().st_size > MAX_NOTE_BYTES
    assert notebook.sync(dry_run=True).is_unchanged


def test_a_large_page_is_not_taken_for_an_edited_one(tmp_path: Path) -> None:
    """A page that many facts stand on is compared whole."""
    folder = Folder(tmp_path)
    content = b"- a line\n" * (MAX_NOTE_BYTES // 8)

    assert folder.put("entities/maya.md", content, instead_of=None)
    assert folder.read("entities/maya.md") == content


@pytest.mark.parametrize("name", ["~nobody-of-this-name/notes", "x" * 300])
def test_a_path_that_cannot_be_is_said_in_our_words(engram: Engram, tmp_path: Path, name: str) -> None:
    """A slip of the pen is not a mistake in Engram."""
    place = name if name.startswith("~") else tmp_path / name

    with pytest.raises(EngramError):
        engram.notebook_sync(place)
    with pytest.raises(EngramError):
        engram.notebook_mark(place)
