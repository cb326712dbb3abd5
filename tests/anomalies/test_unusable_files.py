"""A path that is not a store of ours is refused by name, and its bytes are left alone."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram
from engramdb.errors import (
    EngramError,
    NotAnEngramStore,
    StoreLocked,
    StoreNotFound,
    StoreTooNew,
    StoreUnreadable,
)
from engramdb.store.sqlite.migrations import FORMAT_VERSION
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"


def open_quietly(path: Path | str, *, must_exist: bool = False) -> Engram:
    """Open without background threads."""
    return Engram.open(path, embedder=TinyEmbedder(), background=False, must_exist=must_exist)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"Dear diary, today I wrote a text file.\n", NotAnEngramStore),
        (PNG, NotAnEngramStore),
        (b"\x00", NotAnEngramStore),
        (b"SQLite format 3\x00", EngramError),
        (b"SQLite format 3\x00" + b"\xff" * 5000, NotAnEngramStore),
        (b"x" * 8192, StoreLocked),
    ],
    ids=["text", "png", "one byte", "only the magic", "magic and rubbish", "whole pages of text"],
)
def test_what_is_not_a_database_is_refused_untouched(
    store_path: Path, content: bytes, error: type[EngramError]
) -> None:
    """Whatever the file is, opening it as a store raises our error and changes no byte."""
    store_path.write_bytes(content)

    with pytest.raises(error):
        open_quietly(store_path).close()

    assert store_path.read_bytes() == content
    assert os.listdir(store_path.parent) == [store_path.name]  # noqa: PTH208


def test_another_programs_database_is_refused_untouched(store_path: Path) -> None:
    """A SQLite file of someone else keeps its bytes, its journal mode and its tables."""
    with sqlite3.connect(store_path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
    other.close()
    before = store_path.read_bytes()

    with pytest.raises(NotAnEngramStore):
        open_quietly(store_path)

    assert store_path.read_bytes() == before
    assert sorted(os.listdir(store_path.parent)) == [store_path.name]  # noqa: PTH208


def test_a_store_of_a_newer_version_is_refused_untouched(store_path: Path) -> None:
    """A file from the future is not migrated, not switched to another journal mode, not written at all."""
    open_quietly(store_path).close()
    other = apsw.Connection(str(store_path))
    other.pragma("user_version", FORMAT_VERSION + 1)
    other.pragma("wal_checkpoint", "truncate")
    other.close()
    before = store_path.read_bytes()

    with pytest.raises(StoreTooNew) as refused:
        open_quietly(store_path)

    assert refused.value.code == "E1009"
    assert str(FORMAT_VERSION + 1) in str(refused.value)
    assert store_path.read_bytes() == before


def test_an_empty_file_becomes_a_store(store_path: Path) -> None:
    """A file of no bytes is nobody's: `touch memory.db` and `mktemp` are fine."""
    store_path.touch()

    with open_quietly(store_path) as engram:
        engram.remember("I like tea")

        assert engram.doctor().ok


def test_a_folder_is_unreadable(tmp_path: Path) -> None:
    """A folder in the place of the file is named as such."""
    with pytest.raises(StoreUnreadable, match="is a folder"):
        open_quietly(tmp_path)


def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    """A mistyped path does not leave folders behind."""
    with pytest.raises(StoreNotFound):
        open_quietly(tmp_path / "no" / "such" / "memory.db")

    assert list(tmp_path.iterdir()) == []


def test_a_store_that_must_exist_is_not_made(store_path: Path) -> None:
    """Asking for an existing store never creates an empty one."""
    with pytest.raises(StoreNotFound):
        open_quietly(store_path, must_exist=True)

    assert not store_path.exists()


@pytest.mark.parametrize("name", ["nul\x00byte.db", "x" * 300 + ".db"], ids=["NUL", "too long"])
def test_an_impossible_name_is_unreadable(tmp_path: Path, name: str) -> None:
    """A path that the operating system refuses is an error of ours, whether or not it must exist."""
    with pytest.raises(StoreUnreadable):
        open_quietly(tmp_path / name)
    with pytest.raises(EngramError):
        open_quietly(tmp_path / name, must_exist=True)


def test_a_pipe_is_unreadable(tmp_path: Path) -> None:
    """What is neither file nor folder is refused at once, without waiting for it."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StoreUnreadable, match="not a file"):
        open_quietly(tmp_path / "pipe")


def test_the_store_follows_its_file_when_the_process_changes_folder(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path means the folder at the time of opening, for readers that are opened later too."""
    elsewhere = store_path.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(store_path.parent)
    with open_quietly(store_path.name) as engram:
        stored = engram.remember("I like tea")
        monkeypatch.chdir(elsewhere)

        found = engram.get(stored.id)

        assert found == stored
        assert list(elsewhere.iterdir()) == []


def test_a_file_that_was_taken_away_is_named(store_path: Path) -> None:
    """Looking at a store whose file is gone is an error of ours."""
    with open_quietly(store_path) as engram:
        engram.remember("I like tea")
        store_path.unlink()

        with pytest.raises(StoreUnreadable):
            engram.status()


def test_a_file_called_memory_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's magic name `:memory:` would lose everything; here it is a name like any other."""
    monkeypatch.chdir(tmp_path)

    with open_quietly(":memory:") as engram:
        engram.remember("I like tea")

    with open_quietly(":memory:", must_exist=True) as engram:
        assert [memory.content for memory in engram.list()] == ["I like tea"]
