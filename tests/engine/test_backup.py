"""A copy of a store in use is whole, locked as its original is, and never takes another file's place."""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.errors import InvalidContent, StoreLocked, StoreNotFound

if TYPE_CHECKING:
    from pathlib import Path

KEY = "ab" * 32


def test_a_copy_holds_all_that_was_acknowledged_before(store_path: Path, tmp_path: Path) -> None:
    """Also what still stands in the log beside the file, and while somebody writes on."""
    target, is_over = tmp_path / "copy.db", threading.Event()
    with Engram.open(store_path, background=False) as engram:
        before = [engram.remember(f"Parcel {number} is on shelf {number}") for number in range(40)]

        def write_on() -> None:
            number = 100
            while not is_over.is_set():
                engram.remember(f"Parcel {number} is on shelf {number}")
                number += 1

        writer = threading.Thread(target=write_on)
        writer.start()
        done = engram.backup(target)
        is_over.set()
        writer.join()

    assert done.size_bytes == target.stat().st_size > 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with Engram.open(target, background=False, must_exist=True) as copy:
        assert {copy.get(one.id).content for one in before} == {one.content for one in before}
        assert copy.doctor().ok
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db", "copy.db-reserve"]


def test_a_copy_of_an_encrypted_store_needs_its_key(tmp_path: Path) -> None:
    """No word of it can be read without."""
    secret = Settings(store=str(tmp_path / "memory.db"), key=KEY, embedder="static")
    with Engram.open(settings=secret, background=False) as engram:
        kept = engram.remember("The safe is behind the painting")
        engram.backup(tmp_path / "copy.db")

    assert b"painting" not in (tmp_path / "copy.db").read_bytes()
    with pytest.raises(StoreLocked):
        Engram.open(tmp_path / "copy.db", background=False)
    with Engram.open(tmp_path / "copy.db", settings=secret, background=False) as copy:
        assert copy.get(kept.id).content == kept.content


def test_a_copy_takes_nobodys_place(store_path: Path, tmp_path: Path) -> None:
    """Not that of a file, of the store itself, nor of a folder that is not there."""
    target = tmp_path / "notes.txt"
    target.write_text("mine")
    with Engram.open(store_path, background=False) as engram:
        for place in (target, store_path):
            with pytest.raises(InvalidContent):
                engram.backup(place)
        with pytest.raises(StoreNotFound):
            engram.backup(tmp_path / "nowhere" / "copy.db")

        assert target.read_text() == "mine"
        assert engram.doctor().ok
