"""A private copy of a store that a killed process left behind is removed; one that is read stays."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.errors import StoreReadOnly
from engramdb.store.sqlite.read_only import ReadOnlyFile

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, sys
from pathlib import Path
from engramdb.errors import StoreReadOnly
from engramdb.store.sqlite.read_only import ReadOnlyFile
reading = ReadOnlyFile(Path(sys.argv[1]), StoreReadOnly("x"), print)
reading.read_copy(lambda path: None)
os._exit(9)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of our own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_copies_of_the_killed_are_swept(engram: Engram, store_path: Path, temporary: Path) -> None:
    """By an erasure; what somebody reads is left."""
    memory = engram.remember("I like tea")
    reading = ReadOnlyFile(store_path, StoreReadOnly("x"), lambda _connection: None)
    reading.read_copy(lambda _path: None)
    (live,) = temporary.iterdir()
    subprocess.run([sys.executable, "-c", KILLED, str(store_path)], check=False, timeout=60)
    assert len(list(temporary.iterdir())) == 2
    (temporary / "engram-read-begun").mkdir()  # of a process that has not locked it yet

    engram.erase(memory.id)

    assert {one.name for one in temporary.iterdir()} == {live.name, "engram-read-begun"}
    reading.close()
    assert not live.exists()
