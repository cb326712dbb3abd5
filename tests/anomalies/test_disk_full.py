"""A disk without room refuses the write, keeps what it has, and works again once there is room."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, cast

import pytest

from engramdb import Engram, EngramError, Scope
from engramdb.errors import DiskFull
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunChild

STATEMENT = "note {} about something that takes some room: " + "word " * 80

FILE_SIZE_LIMIT = """
    import resource, signal, sys
    from pathlib import Path
    from engramdb import Engram, EngramError
    from engramdb.testing import TinyEmbedder

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    engram = Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False)
    largest = max(one.stat().st_size for one in Path(sys.argv[1]).parent.glob("*.db*"))  # of an empty store
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 2_000_000, resource.RLIM_INFINITY))
    stored = 0
    try:
        while stored < 10_000:
            engram.remember(f"note {stored} " + "word " * 80)
            stored += 1
    except EngramError as error:
        print(error.code)
    found = len(engram.recall("note 0").hits) > 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    engram.remember("there is room again")
    engram.close()
    print(stored, found)
"""


def fill(engram: Engram) -> Iterator[str]:
    """Remember one statement after the other and yield the id of each."""
    for number in range(10_000):
        yield engram.remember(STATEMENT.format(number)).id


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes, where this user may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    libc = cast("Any", ctypes.CDLL(None, use_errno=True))
    if not hasattr(libc, "mount") or libc.mount(b"none", bytes(folder), b"tmpfs", 0, b"size=2m") != 0:
        pytest.skip("this user may not mount a small disk")
    yield folder
    libc.umount2(bytes(folder), 2)


def test_a_full_disk_loses_nothing_and_works_again(small_disk: Path) -> None:
    """Every acknowledged memory survives ENOSPC, none is half there, and freed room is used."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(600_000))
    stored: list[str] = []

    with Engram.open(small_disk / "memory.db", embedder=TinyEmbedder(), background=False) as engram:
        with pytest.raises(DiskFull) as refused:
            stored.extend(fill(engram))
        ballast.unlink()
        engram.remember("there is room again")

    with Engram.open(small_disk / "memory.db", embedder=TinyEmbedder(), background=False) as engram:
        assert refused.value.code == "E1003"
        assert stored
        assert all(engram.get(memory_id) for memory_id in stored)
        assert engram.status().memories == len(stored) + 1
        assert engram.doctor().ok


def test_a_disk_that_is_full_when_the_store_is_made_says_so(small_disk: Path) -> None:
    """Opening a new store without room is an error of ours, and succeeds once there is room."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize))

    with pytest.raises(EngramError):
        Engram.open(small_disk / "memory.db", embedder=TinyEmbedder(), background=False)
    ballast.unlink()

    with Engram.open(small_disk / "memory.db", embedder=TinyEmbedder(), background=False) as engram:
        assert engram.remember("there is room now").content == "there is room now"


def test_a_full_disk_still_answers_questions(small_disk: Path) -> None:
    """Reading needs no room: recall and list work while writes are refused."""
    with Engram.open(small_disk / "memory.db", embedder=TinyEmbedder(), background=False) as engram:
        with pytest.raises(DiskFull):
            list(fill(engram))

        answer = engram.recall("note 0")

        assert answer.hits
        assert engram.list(limit=5)


def test_a_file_that_may_not_grow_is_refused_with_a_code(store_path: Path, child: RunChild) -> None:
    """A limit on file sizes (EFBIG) is a storage error with a code, and nothing stored is lost."""
    code, stored, found = child(FILE_SIZE_LIMIT, store_path).split()

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        assert code.startswith("E1")
        assert int(stored) > 10
        assert found == "True"
        assert engram.status().memories == int(stored) + 1
        assert engram.doctor().ok


def test_a_write_that_does_not_fit_leaves_nothing_behind(engram: Engram) -> None:
    """When a bulk write runs out of pages in the middle, none of its memories is stored or indexed."""
    engram.remember("the first note")
    writer = engram._parts.store._writer  # type: ignore[attr-defined]
    writer.pragma("max_page_count", writer.pragma("page_count") + 4)

    with pytest.raises(DiskFull):
        list(fill(engram))
    count = engram.status().memories
    with engram._parts.store.read() as tx:
        indexed = tx.terms.statistics([], scope=Scope()).memories
    writer.pragma("max_page_count", 1_000_000)

    assert indexed == count
    assert engram.remember("there is room again").content == "there is room again"
    assert engram.doctor().ok
