"""A store that may be read and not written answers questions and refuses writes by name."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunChild

# The process starts as it is and then becomes `nobody`, because permissions mean nothing to root.
TRY_TO_WRITE = """
    import os, sys
    from engramdb import Engram, EngramError, Settings
    from engramdb.testing import TinyEmbedder

    with Engram.open("warm.db", embedder=TinyEmbedder(), background=False) as warm:
        warm.remember("every module is loaded before the privileges go")
        warm.recall("module")
    settings = Settings()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        with Engram.open(sys.argv[1], settings=settings, embedder=TinyEmbedder(), background=False) as engram:
            print("found", len(engram.recall("tea").hits), end=" ")
            engram.remember("more")
    except EngramError as error:
        print(type(error).__name__)
"""


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="engram-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def stored(shared_folder: Path) -> Path:
    """A store with one memory in it."""
    path = shared_folder / "memory.db"
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
    return path


def test_a_read_only_file_is_read_and_not_written(stored: Path, child: RunChild) -> None:
    """In a folder that can be written, a read-only file still answers; a write names the reason."""
    stored.chmod(0o444)
    stored.parent.chmod(0o777)

    said = child(TRY_TO_WRITE, stored)

    assert said == "found 1 StoreReadOnly"


def test_a_store_in_a_read_only_folder_is_read_and_not_written(stored: Path, child: RunChild) -> None:
    """The two files that SQLite wants beside the store are not needed to read it."""
    stored.chmod(0o444)
    stored.parent.chmod(0o555)

    said = child(TRY_TO_WRITE, stored)

    assert said == "found 1 StoreReadOnly"
    assert [one.name for one in stored.parent.iterdir()] == ["memory.db"]


def test_a_new_store_in_a_read_only_folder_is_refused_by_name(shared_folder: Path, child: RunChild) -> None:
    """The folder is at fault and the error says so, not that the file cannot be read."""
    shared_folder.chmod(0o555)

    said = child(TRY_TO_WRITE, shared_folder / "new.db")

    assert said == "StoreReadOnly"
    assert list(shared_folder.iterdir()) == []


def test_a_file_that_may_not_be_read_is_unreadable(stored: Path, child: RunChild) -> None:
    """Without permission to read there is nothing to open."""
    stored.chmod(0o000)

    said = child(TRY_TO_WRITE, stored)

    assert said == "StoreUnreadable"


def test_a_folder_that_may_not_be_entered_is_unreadable(stored: Path, child: RunChild) -> None:
    """A path that cannot even be looked at is an error of ours and not of the operating system."""
    stored.parent.chmod(0o700 if os.getuid() == 0 else 0o000)

    said = child(TRY_TO_WRITE, stored)

    assert said == "StoreUnreadable"
