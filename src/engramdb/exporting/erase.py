"""Take erased memories out of an export that was written before: their lines go, the others stay."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from engramdb.exporting.export import MARK
from engramdb.lifecycle.transitions import MIN_QUOTED_WORDS
from engramdb.text.normalize import normalize_text
from engramdb.text.terms import repeats
from engramdb.values import ErasedFile, FileKind, FileOutcome, MemoryId

GONE = "it is no longer there; if you have moved or copied it, delete it yourself"
MAX_LOOK_BYTES = 20_000_000
"""A larger export is not looked through by `doctor`."""
_TOLD = ("content", "verbatim", "statement")
"""What of a line tells the words of a memory."""
_LENT = ("answers", "refers_to")
"""What of a line tells what was said before, which counts in other words too."""
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
        cleaned = [_cleaned(line, erased, words) for line in lines]
    except (ValueError, RecursionError):
        return _done(path, FileOutcome.NAMED, FOREIGN)
    kept = [line for line in cleaned if line is not None]
    if kept == lines:
        return _done(path, FileOutcome.CLEANED, "nothing of it was there")
    if not dry_run:
        try:
            _write_again(path, b"".join(kept))
        except OSError as exc:
            return _done(path, FileOutcome.NAMED, f"it cannot be written: {exc.strerror}; delete it yourself")
    changed = sum(new is not None and new != old for new, old in zip(cleaned, lines, strict=True))
    told = f"without {len(lines) - len(kept)} of {len(lines)} lines"
    return _done(path, FileOutcome.REWRITTEN, f"{told}, and {changed} shortened" if changed else told)


def _cleaned(line: bytes, ids: frozenset[MemoryId], texts: frozenset[str]) -> bytes | None:
    """
    Return a line without erased words, or None where it is of an erased memory or tells its words.

    What another memory leans on, and whatever else repeats the words beside its own statement, is taken out.
    """
    if not line.strip():
        return line
    told = json.loads(line)
    if not isinstance(told, dict) or MARK not in told:
        raise ValueError("not a line of an export")
    if told.get("id") in ids or any(
        normalize_text(str(told[name])) in texts for name in _TOLD if told.get(name)
    ):
        return None
    own = normalize_text(str(told.get("content", "")))
    gone = [text for text in texts if len(text.split()) >= MIN_QUOTED_WORDS and text not in own]
    kept = {name: _without(value, gone, is_lent=name in _LENT) for name, value in told.items() if value}
    left = {name: kept.get(name, value) for name, value in told.items() if kept.get(name, value) is not None}
    return line if left == told else msgspec.json.encode(left) + b"\n"


def _without(value: Any, gone: Collection[str], *, is_lent: bool = False) -> Any:
    """Return a value of a line without what repeats erased words; None where nothing of it is left."""
    if isinstance(value, str):
        return None if _holds(value, gone, is_lent=is_lent) else value
    if isinstance(value, list):
        return [
            one for one in value if not any(_holds(words, gone, is_lent=is_lent) for words in _texts(one))
        ]
    if isinstance(value, dict):
        return {name: one if one is None else _without(one, gone) for name, one in value.items()}
    return value


def _holds(words: str, gone: Collection[str], *, is_lent: bool) -> bool:
    if is_lent:
        return any(repeats(words, text) for text in gone)
    folded = normalize_text(words)
    return any(text in folded for text in gone)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, at whatever depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


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
