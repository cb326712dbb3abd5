"""Room is kept free beside a store on every system, and half a reserve is never left behind."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import pytest

from engramdb.store.sqlite.reserve import RESERVE_BYTES, make_reserve, release_reserve

if TYPE_CHECKING:
    from pathlib import Path


def test_room_is_kept_where_the_system_cannot_set_it_aside(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS and Windows have no call for it, and some disks refuse: zeros are written then."""
    monkeypatch.delattr(os, "posix_fallocate", raising=False)

    make_reserve(store_path)

    reserve = store_path.with_name(f"{store_path.name}-reserve")
    assert reserve.stat().st_size == RESERVE_BYTES
    assert reserve.stat().st_blocks * 512 >= RESERVE_BYTES
    assert release_reserve(store_path)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), MemoryError(), KeyboardInterrupt()]
)
def test_half_a_reserve_is_not_left_behind(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """It would be taken for room that is not there."""

    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(os, "posix_fallocate", fail, raising=False)
    monkeypatch.setattr(os, "write", fail)

    with suppress(MemoryError, KeyboardInterrupt):
        make_reserve(store_path)

    assert not store_path.with_name(f"{store_path.name}-reserve").exists()
