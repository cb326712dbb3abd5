"""
What a model pack is on disk: a folder of files and a manifest that vouches for them.

Written by `pack_install`, read by `e5` and `models`; knows nothing about models or downloads.
A pack that does not match its manifest is never used: wrong vectors are worse than none, because they are
stored. The revision names the recipe, not the bytes, so that two machines that build it share a space.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from engram.errors import ModelPackBroken

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class PackFile:
    """One file of a pack."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pack says about itself."""

    name: str
    dimension: int
    revision: str
    source: str
    files: dict[str, PackFile]


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_decode_manifest = msgspec.json.Decoder(Manifest).decode


@dataclass(frozen=True, slots=True)
class Pack:
    """An installed pack: where it is and what it holds."""

    folder: Path
    manifest: Manifest

    def file(self, name: str) -> Path:
        """Return the path of one file after checking that it still is what was installed."""
        path, expected = self.folder / name, self.manifest.files.get(name)
        try:
            found = hash_file(path)
        except OSError as exc:
            raise _broken(self.manifest.name, f"{name} cannot be read: {type(exc).__name__}") from exc
        if expected is None or found != expected.sha256:
            raise _broken(self.manifest.name, f"{name} is not the file that was installed")
        return path

    def check(self) -> None:
        """Check every file; raises `ModelPackBroken` for the first that is not as it was."""
        for name in self.manifest.files:
            self.file(name)


def pack_folder(name: str, home: Path) -> Path:
    """Return where a pack lives, whether it is there or not."""
    return home / "models" / name


def find_pack(name: str, home: Path) -> Pack | None:
    """
    Return the pack, or nothing when it was never added.

    Reads the manifest and the sizes of the files only; a folder without a sound manifest is an error.
    """
    folder = pack_folder(name, home)
    if not folder.exists():
        return None
    manifest = _read_manifest(name, folder)
    for file_name, expected in manifest.files.items():
        _check_size(name, folder / file_name, expected)
    return Pack(folder, manifest)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _read_manifest(name: str, folder: Path) -> Manifest:
    try:
        manifest = _decode_manifest((folder / MANIFEST).read_bytes())
    except (OSError, msgspec.DecodeError) as exc:
        raise _broken(name, f"its manifest cannot be read: {type(exc).__name__}") from exc
    if manifest.name != name:
        raise _broken(name, f"its manifest is for {manifest.name!r}")
    return manifest


def _check_size(name: str, path: Path, expected: PackFile) -> None:
    try:
        size = path.stat().st_size
    except OSError as exc:
        raise _broken(name, f"{path.name} is missing") from exc
    if size != expected.size_bytes:
        raise _broken(name, f"{path.name} has {size} bytes instead of {expected.size_bytes}")


def _broken(name: str, reason: str) -> ModelPackBroken:
    return ModelPackBroken(
        f"model pack {name!r}: {reason}", hint=f"Add it again: `engram models add {name}`."
    )
