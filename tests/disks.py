"""Disks that are small, full or read-only, mounted for a test where this user may mount."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_READ_ONLY, _REMOUNT, _DETACH = 1, 32, 2
_BLOCK = 4096


class SmallDisk:
    """A disk in memory."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        folder.mkdir()
        self.folder = folder
        self._libc = cast("Any", ctypes.CDLL(None, use_errno=True))
        if not hasattr(self._libc, "mount") or self._mount(0, f"size={megabytes}m") != 0:
            pytest.skip("this user may not mount a small disk")

    def fill(self, *, free_bytes: int = 0) -> None:
        """Leave no more room than this."""
        with (self.folder / "ballast").open("ab") as ballast:
            room = os.statvfs(self.folder).f_bavail * _BLOCK
            os.posix_fallocate(ballast.fileno(), ballast.tell(), max(_BLOCK, room - free_bytes))

    def empty(self) -> None:
        """Make room again."""
        (self.folder / "ballast").unlink()

    def set_read_only(self, *, read_only: bool = True) -> None:
        """Let nothing be written on it, or anything again."""
        assert self._mount(_REMOUNT | (_READ_ONLY if read_only else 0), "") == 0

    def unmount(self) -> None:
        """Take it away."""
        self._libc.umount2(bytes(self.folder), _DETACH)

    def _mount(self, flags: int, options: str) -> int:
        found: int = self._libc.mount(b"none", bytes(self.folder), b"tmpfs", flags, options.encode())
        return found
