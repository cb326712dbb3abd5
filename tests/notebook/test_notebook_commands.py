"""The commands of the notebook: what they say, how they end, and that `watch` keeps both sides in step."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from engramdb import Engram
from engramdb.cli.importing import opened
from engramdb.cli.main import app
from engramdb.cli.notebook import keep_in_step
from engramdb.errors import InvalidContent
from engramdb.testing import TinyEmbedder

from .notebooks import Notebook, active

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

PATIENCE_SECONDS = 60.0


@pytest.fixture(autouse=True)
def plain_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in embedder, whatever the environment says."""
    monkeypatch.setenv("ENGRAM_EMBEDDER", "static")


def run(*arguments: object) -> Result:
    """Run one command in this process."""
    return CliRunner().invoke(app, [str(one) for one in arguments])


def wait_for(is_there: Callable[[], bool]) -> None:
    """Wait until something is so; fails after a while."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_there():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def test_a_sync_says_what_it_did(tmp_path: Path) -> None:
    """Numbers first, then the files; a conflict is shown with where the words are, and ends in 1."""
    run("remember", "Maya likes green tea")
    first = run("notebook", "sync", tmp_path / "notes")
    (path,) = (tmp_path / "notes" / "facts").rglob("*.md")
    again = run("notebook", "sync", tmp_path / "notes")
    path.write_text(path.read_text().replace("green", "white"))
    told = run("notebook", "sync", tmp_path / "notes", "--dry-run")
    run("correct", path.stem[-8:], "Maya likes red tea")
    done = run("notebook", "sync", tmp_path / "notes")
    listed = json.loads(run("notebook", "sync", tmp_path / "notes", "--json").stdout)

    assert (first.exit_code, again.exit_code, told.exit_code, done.exit_code) == (0, 0, 0, 1), done.output
    assert "1 memory in the notebook; 1 written" in first.stdout
    assert again.stdout == "1 memory in the notebook, nothing to do\n"
    assert "would be: 1 corrected" in told.stdout
    assert "changed on both sides" in done.stdout
    assert ".conflict-" in done.stdout
    assert listed["memories"] == 1
    assert len(listed["open_copies"]) == 1


def test_a_folder_of_somebody_is_refused_with_a_hint(tmp_path: Path) -> None:
    """The way on is named."""
    run("remember", "Maya likes green tea")
    (tmp_path / "diary.md").write_text("Dear diary")

    refused = run("notebook", "sync", tmp_path)

    assert refused.exit_code == 2
    assert "E4005" in refused.stderr
    assert "adopt" in refused.stderr


def test_an_export_is_a_file_that_import_takes(tmp_path: Path) -> None:
    """It is its owner's alone, is not written over by accident, and says what was left out."""
    path = tmp_path / "all.jsonl"
    run("remember", "Maya likes green tea")
    run("remember", "My card is 4111 1111 1111 1111")

    done = run("export", path)
    again = run("export", path)
    forced = json.loads(run("export", path, "--force", "--sensitive", "--json").stdout)
    taken = run("import", path, "--store", tmp_path / "other.db")
    piped = run("export", "-", "--category", "preference")

    assert "exported 1 memory\nleft out 1" in done.stdout
    assert (path.stat().st_mode & 0o777, again.exit_code) == (0o600, 2)
    assert (forced["memories"], forced["withheld"]) == (2, 0)
    assert "added 2 memories" in taken.stdout
    assert json.loads(piped.stdout)["content"] == "Maya likes green tea"
    assert [one.name for one in tmp_path.iterdir() if "engram-" in one.name] == []


@pytest.mark.parametrize("name", ["~nobody-of-this-name/all.jsonl", "/dev/full", ".", "no/folder/x"])
def test_an_export_goes_to_a_file_or_nowhere(name: str) -> None:
    """A device is not replaced by a file, and a slip of the pen is said in our words."""
    run("remember", "Maya likes green tea")

    assert run("export", name, "--force").exit_code == 2


def test_an_export_that_finds_no_room_leaves_nothing(tmp_path: Path) -> None:
    """The half that was written is taken away."""

    def write() -> None:
        with opened(str(tmp_path / "all"), force=False) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InvalidContent, match="No space"):
        write()

    assert list(tmp_path.iterdir()) == []


def test_watch_outlives_a_folder_that_is_away(tmp_path: Path) -> None:
    """Something else stands in the place of a disk that was pulled out; it goes on when that is gone."""
    stop, syncs = threading.Event(), []
    with Engram.open(tmp_path / "m.db", embedder=TinyEmbedder(), background=False) as engram:
        (tmp_path / "notes").write_text("a file where the folder was")
        watcher = threading.Thread(
            target=keep_in_step,
            args=(engram, str(tmp_path / "notes"), lambda: syncs.append(1)),
            kwargs={"settled": "as it was", "stop": stop, "every_seconds": 0.01},
        )
        watcher.start()
        try:
            stop.wait(0.05)
            (tmp_path / "notes").unlink()
            wait_for(lambda: bool(syncs))
        finally:
            stop.set()
            watcher.join()

    assert syncs == [1]


def test_watch_keeps_both_sides_in_step(tmp_path: Path) -> None:
    """An edit reaches the memory, another process's memory reaches the folder, and then it is quiet."""
    stop, syncs = threading.Event(), []
    with (
        Engram.open(tmp_path / "m.db", embedder=TinyEmbedder(), background=False) as engram,
        Engram.open(tmp_path / "m.db", embedder=TinyEmbedder(), background=False) as elsewhere,
    ):
        notebook = Notebook(engram, tmp_path / "notes")
        settled = engram.notebook_mark(notebook.folder)

        def sync() -> None:
            syncs.append(notebook.sync().is_unchanged)

        watcher = threading.Thread(
            target=keep_in_step,
            args=(engram, str(notebook.folder), sync),
            kwargs={"settled": settled, "stop": stop, "every_seconds": 0.02},
        )
        watcher.start()
        try:
            elsewhere.remember("Maya likes green tea")
            wait_for(lambda: notebook.words() == {"Maya likes green tea"})
            notebook.edit("green tea", "black coffee")
            wait_for(lambda: "Maya likes black coffee" in active(elsewhere))
            wait_for(lambda: bool(syncs) and syncs[-1])
            quiet = len(syncs)
            time.sleep(0.2)
        finally:
            stop.set()
            watcher.join()

    assert len(syncs) == quiet
    assert notebook.copies() == []


def test_watch_takes_no_sooner_look_than_it_can(tmp_path: Path) -> None:
    """A watch that never sleeps is refused."""
    assert run("watch", tmp_path / "notes", "--every", "0").exit_code == 2


def test_ctrl_c_ends_a_watch_in_good_order(tmp_path: Path) -> None:
    """It says so, loses nothing and ends with 0; what was there at the start is in the folder."""
    run("remember", "Maya likes green tea")
    command = [sys.executable, "-m", "engramdb", "watch", str(tmp_path / "notes"), "--every", "0.1"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr is not None
        assert watching.stderr.readline() == "Watching; Ctrl-C ends it.\n"
        watching.send_signal(signal.SIGINT)
        told, talk = watching.communicate(timeout=PATIENCE_SECONDS)

    assert watching.returncode == 0
    assert talk == "Stopped watching.\n"
    assert told.startswith("1 memory in the notebook; 1 written")
