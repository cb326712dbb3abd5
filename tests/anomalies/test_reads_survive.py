"""An intact store is read by every verb on a full disk, a read-only mount, and beside a killed writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from disks import SmallDisk

from engramdb import Engram, Settings
from engramdb.errors import DiskFull, EngramError
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunChild

KEY = "5c" * 32
MEMORIES = 12

WRITE = """
    import sys
    from engramdb import Engram, Settings
    from engramdb.testing import TinyEmbedder

    settings = Settings(key=sys.argv[2])
    engram = Engram.open(sys.argv[1], settings=settings, embedder=TinyEmbedder(), background=False)
    for number in range(12):
        engram.remember(f"note {number} is about tea number {number}")
    engram.observe("tea is ready", session="s1")
    print("written", flush=True)
    sys.stdin.readline()
    engram.close()
"""

READ = """
    import sys
    from engramdb import Engram, EngramError, Scope, Settings
    from engramdb.testing import TinyEmbedder

    settings = Settings(key=sys.argv[2])
    options = {"settings": settings, "embedder": TinyEmbedder(), "background": sys.argv[3] == "1"}
    with Engram.open(sys.argv[1], **options) as engram:
        found = engram.list(limit=50)
        one = found[0].id
        reads = [
            lambda: engram.get(one), lambda: engram.history(one), lambda: engram.recall("tea"),
            lambda: engram.context("tea", model="gpt-4o"), lambda: engram.turns(),
            lambda: engram.timeline("tea"), lambda: engram.entity("tea"), lambda: engram.gaps(),
            lambda: engram.audit(), lambda: engram.status(),
            lambda: engram.confidence("tea"), lambda: engram.reason("tea"), lambda: engram.changes(),
            lambda: engram.dreams(), lambda: engram.forecast(), lambda: engram.doctor(),
            lambda: engram.acts(),
        ]
        failed = []
        for number, read in enumerate(reads):
            try:
                read()
            except EngramError as error:
                if error.code.startswith("E1"):
                    failed.append((number, error.code, str(error)))
        assert len(engram.recall("tea").hits) > 3
        try:
            engram.remember("more")
            wrote = "written"
        except EngramError as error:
            wrote = type(error).__name__
        status = engram.status()
        print(len(found), engram.doctor().ok, failed, wrote, (status.read_only or "None")[:5], sep=" | ")
"""

REMEMBER = """
    import sys
    from engramdb import Engram
    from engramdb.testing import TinyEmbedder

    with Engram.open(sys.argv[1], embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like plums")
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of 16 MB."""
    found = SmallDisk(tmp_path / "disk", 16)
    yield found
    found.unmount()


def write(path: Path, child: RunChild, *, key: str = "", is_killed: bool) -> None:
    """Let another process write the memories, and end it well or kill it."""
    writer = child.start(WRITE, path, key)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "written\n"
    if is_killed:
        writer.kill()
    writer.communicate("\n")


@pytest.mark.parametrize("background", [False, True], ids=["alone", "background"])
@pytest.mark.parametrize("key", ["", KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
@pytest.mark.parametrize("state", ["full", "nearly full", "read-only"])
def test_every_verb_that_reads_answers(
    disk: SmallDisk, child: RunChild, *, state: str, is_killed: bool, key: str, background: bool
) -> None:
    """All memories are there, also those that only the log holds; a write says why it is refused."""
    path = disk.folder / "memory.db"
    write(path, child, key=key, is_killed=is_killed)
    if state == "read-only":
        disk.set_read_only()
    else:
        disk.fill(free_bytes=0 if state == "full" else 20_000)

    count, is_sound, failed, wrote, read_only = child(READ, path, key, int(background)).split(" | ")

    assert (int(count), is_sound, failed) == (MEMORIES, "True", "[]")
    assert wrote == ("StoreReadOnly" if state == "read-only" else "DiskFull")
    assert read_only == "E1006" if state == "read-only" else read_only in ("E1003", "None")


def test_an_index_of_the_log_with_holes_ends_no_reader(disk: SmallDisk, child: RunChild) -> None:
    """A page that the full disk cannot back would end the process (SIGBUS); it is not touched."""
    path = disk.folder / "memory.db"
    write(path, child, is_killed=True)
    index = path.with_name("memory.db-shm")
    index.unlink()
    with index.open("wb") as file:
        file.truncate(32768)
    disk.fill()

    assert child(READ, path, "", 0).startswith("12 | True | []")


def test_a_store_can_be_written_as_soon_as_there_is_room(disk: SmallDisk, child: RunChild) -> None:
    """A process that opened the store on a full disk needs no restart."""
    path = disk.folder / "memory.db"
    write(path, child, is_killed=False)
    disk.fill()

    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        with pytest.raises(DiskFull):
            engram.remember("there is no room")
        assert engram.status().read_only is not None
        disk.empty()
        engram.remember("there is room again")

        assert engram.status().read_only is None
        assert engram.status().memories == MEMORIES + 1
        assert engram.doctor().ok


def test_a_reader_without_locks_sees_what_another_process_writes(disk: SmallDisk, child: RunChild) -> None:
    """Once there is room and somebody writes, the next question is answered from the new state."""
    path = disk.folder / "memory.db"
    write(path, child, is_killed=False)
    disk.fill()
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        before = engram.status().memories
        disk.empty()
        write(path, child, is_killed=False)
        child(
            "import sys; from engramdb import Engram; Engram.open(sys.argv[1]).remember('I like plums')", path
        )
        after = engram.status().memories

    assert (before, after) == (MEMORIES, MEMORIES + 1)


def test_a_new_store_on_a_full_disk_is_refused(disk: SmallDisk) -> None:
    """Nothing can be read from what is not there: opening says that the disk is full."""
    disk.fill()

    with pytest.raises(EngramError) as refused:
        Engram.open(disk.folder / "new.db", settings=Settings(), embedder=TinyEmbedder(), background=False)

    assert refused.value.code == "E1003"


@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
@pytest.mark.parametrize("verb", ["forget", "erase", "age"])
def test_forgetting_finds_room_on_a_full_disk(
    disk: SmallDisk, child: RunChild, *, verb: str, is_killed: bool
) -> None:
    """What is kept free for it is used; other writes are refused before and after."""
    path = disk.folder / "memory.db"
    write(path, child, is_killed=False)
    write(path, child, is_killed=is_killed)  # the second opening sets room aside
    disk.fill()

    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        with pytest.raises(DiskFull):
            engram.remember("there is no room " * 300)
        one = engram.list(limit=1)[0]
        if verb == "age":
            assert engram.age() is not None
        else:
            getattr(engram, verb)(one.id)
            assert one.content not in {memory.content for memory in engram.list(limit=50)}
        assert engram.doctor().ok

    disk.empty()
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        assert engram.remember("there is room again").content == "there is room again"
    assert path.with_name("memory.db-reserve").exists()


def test_without_a_reserve_there_is_no_room(disk: SmallDisk, child: RunChild) -> None:
    """The room is what makes the difference: without it forgetting is refused too."""
    path = disk.folder / "memory.db"
    write(path, child, is_killed=False)
    disk.fill()

    with (
        Engram.open(path, embedder=TinyEmbedder(), background=False) as engram,
        pytest.raises(DiskFull),
    ):
        engram.forget(engram.list(limit=1)[0].id)
