"""A new store can be read by its owner alone; rights that somebody gave it are left as they are."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of this kind are POSIX's")


def rights(path: Path) -> int:
    """The nine bits of a file's rights."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    """The file, the log beside it and the home that is made for it, whatever the umask allows."""
    home = tmp_path / "home"
    before = os.umask(0)
    try:
        with Engram.open(settings=Settings(home=home, embedder="static"), background=False) as engram:
            engram.remember("The safe is behind the painting")
            found = {path.name: rights(path) for path in home.iterdir()}
    finally:
        os.umask(before)

    assert {"memory.db", "memory.db-wal"} <= found.keys()
    assert set(found.values()) == {0o600}
    assert rights(home) == 0o700


def test_rights_that_somebody_gave_stay(store_path: Path) -> None:
    """Whoever shares the file with a group meant it."""
    with Engram.open(store_path, background=False):
        pass
    store_path.chmod(0o660)

    with Engram.open(store_path, background=False) as engram:
        engram.remember("Lunch is at noon")

    assert rights(store_path) == 0o660
