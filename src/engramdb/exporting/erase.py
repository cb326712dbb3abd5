"""Take erased memories out of an export that was written before: their lines go, the others stay."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from engramdb.exporting.export import MARK
from engramdb.text.normalize import normalize_text
from engramdb.values import ErasedFile, FileKind, FileOutcome, MemoryId

GONE = "it is no longer there; if you have moved or copied it, delete it yourself"
MAX_LOOK_BYTES = 20_000_000
"""A larger export is not looked through by `doctor`."""
_TOLD = ("content", "verbatim", "statement")
"""What of a line tells the words of a memory."""
FOREIGN = "it is no longer an export of Engram, so it was not touched: delete it yourself"


def erase_from_export(
    path: Path, ids: Collection[MemoryId], texts: Collection[str], *, dry_run: bool
) -> ErasedFile:
    """Write an export again without the lines of memories, or that hold their words."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return _done(path, FileOutcome.NAMED, GONE)
    except OSError as exc:
        return _done(path, FileOutcome.NAMED, f"it cannot be read: {exc.strerror}; delete it yourself")
    erased, words = frozenset(ids), frozenset(normalize_text(text) for text in texts)
    try:
        kept = [line for line in lines if not _holds(line, erased, words)]
    except (ValueError, RecursionError):
        return _done(path, FileOutcome.NAMED, FOREIGN)
    if len(kept) == len(lines):
        return _done(path, FileOutcome.CLEANED, "nothing of it was there")
    if not dry_run:
        try:
            _write_again(path, b"".join(kept))
        except OSError as exc:
            return _done(path, FileOutcome.NAMED, f"it cannot be written: {exc.strerror}; delete it yourself")
    return _done(path, FileOutcome.REWRITTEN, f"without {len(lines) - len(kept)} of {len(lines)} lines")


def _holds(line: bytes, ids: frozenset[MemoryId], texts: frozenset[str]) -> bool:
    """Return whether a line is of an erased memory or tells its words; raises where it is none of ours."""
    if not line.strip():
        return False
    told = json.loads(line)
    if not isinstance(told, dict) or MARK not in told:
        raise ValueError("not a line of an export")
    if told.get("id") in ids:
        return True
    return any(normalize_text(str(told[name])) in texts for name in _TOLD if told.get(name))


def _write_again(path: Path, content: bytes) -> None:
    """Put the new file in the place of the old one in one step; a copy of the old one is left nowhere."""
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def exported_ids(path: Path) -> frozenset[MemoryId] | None:
    """Return the memories that an export holds; None where it is too large to look at, or no export."""
    try:
        if path.stat().st_size > MAX_LOOK_BYTES:
            return None
        lines = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except (OSError, ValueError, RecursionError):
        return None
    return frozenset(str(line["id"]) for line in lines if isinstance(line, dict) and "id" in line)


def _done(path: Path, outcome: FileOutcome, why: str) -> ErasedFile:
    return ErasedFile(kind=FileKind.EXPORT, path=str(path), outcome=outcome, why=why)
