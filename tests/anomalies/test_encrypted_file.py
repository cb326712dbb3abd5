"""An encrypted store opens with its key only, and shows nothing of its content to anyone else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.errors import InvalidSettings, StorageError, StoreLocked, WrongKey
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

KEY = "0123456789abcdef" * 4
OTHER_KEY = "fedcba9876543210" * 4
HINT = "xylophone"


def open_with(path: Path, key: str = "") -> Engram:
    """Open with a key, without background threads."""
    return Engram.open(path, settings=Settings(key=key), embedder=TinyEmbedder(), background=False)


@pytest.fixture
def locked(store_path: Path) -> Path:
    """An encrypted store with one memory."""
    with open_with(store_path, KEY) as engram:
        engram.remember(f"My password hint is {HINT}")
    return store_path


def test_the_right_key_opens_the_store(locked: Path) -> None:
    """With its key an encrypted store is like any other, doctor included."""
    with open_with(locked, KEY) as engram:
        answer = engram.recall(HINT)

        assert HINT in answer.hits[0].memory.content
        assert engram.status().encrypted
        assert engram.doctor().ok


def test_a_wrong_key_opens_nothing_and_changes_nothing(locked: Path) -> None:
    """The error names the key, and the file is as it was."""
    before = locked.read_bytes()

    with pytest.raises(WrongKey) as refused:
        open_with(locked, OTHER_KEY)

    assert refused.value.code == "E4002"
    assert locked.read_bytes() == before


def test_no_key_opens_nothing_and_changes_nothing(locked: Path) -> None:
    """Without a key the store says that it is locked."""
    before = locked.read_bytes()

    with pytest.raises(StoreLocked) as refused:
        open_with(locked)

    assert refused.value.code == "E1001"
    assert locked.read_bytes() == before


def test_a_key_on_a_plain_file_is_refused(store_path: Path) -> None:
    """A plain store is not silently taken for an encrypted one, so nobody believes it is protected."""
    open_with(store_path).close()

    with pytest.raises(WrongKey, match="not encrypted"):
        open_with(store_path, KEY)


@pytest.mark.parametrize("key", ["short", "zz" * 32, "ab" * 31], ids=["short", "not hexadecimal", "31 bytes"])
def test_a_malformed_key_is_refused_without_being_shown(key: str) -> None:
    """A key of the wrong form never reaches the file, and never an error message."""
    with pytest.raises(InvalidSettings) as refused:
        Settings(key=key)

    assert key not in str(refused.value)
    assert key not in repr(Settings())


def test_nothing_readable_is_in_the_file_or_its_log(store_path: Path) -> None:
    """Neither the words nor the log of the last writes shows the content, while open and when closed."""
    with open_with(store_path, KEY) as engram:
        for number in range(50):
            engram.remember(f"{HINT} number {number} lives in Timbuktu", scope=None)
        while_open = b"".join(file.read_bytes() for file in store_path.parent.iterdir() if file.is_file())
    when_closed = store_path.read_bytes()

    for leaked in (HINT.encode(), b"Timbuktu", b"timbuktu", b"SQLite format", b"CREATE TABLE"):
        assert leaked not in while_open
        assert leaked not in when_closed


def test_the_plain_file_would_have_shown_the_words(store_path: Path) -> None:
    """The same look at a plain store finds the words, so not finding them means something."""
    with open_with(store_path) as engram:
        engram.remember(f"{HINT} lives in Timbuktu")

    assert b"Timbuktu" in store_path.read_bytes()


@pytest.mark.parametrize("place", [0.3, 0.5, 0.7])
def test_a_changed_byte_in_an_encrypted_file_is_noticed(locked: Path, place: float) -> None:
    """Pages are authenticated: a single flipped byte is an error, not a wrong memory."""
    content = bytearray(locked.read_bytes())
    content[int(len(content) * place)] ^= 0xFF
    locked.write_bytes(content)

    try:
        with open_with(locked, KEY) as engram:
            is_sound = engram.doctor().ok
    except (StorageError, WrongKey):
        is_sound = False

    assert not is_sound
