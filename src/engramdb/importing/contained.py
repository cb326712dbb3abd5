"""
Read a text of a stranger in a process of its own, with limits on time, memory and what comes back.

The server hands the text over a pipe and gets records back the same way; the child never sees the store and
cannot write a file of any size, so nothing is left behind whichever of the two is killed. What is stored is
decided by the server, after the child has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from engramdb.errors import ContentTooLarge, ImportStopped, InvalidContent, ServerBusy
from engramdb.importing.read import KindedRecord, read_source
from engramdb.importing.source import BrokenRecord, SkippedFile, SourceFile, SourceMessage, SourceStatement
from engramdb.settings import child_environment
from engramdb.text.normalize import is_text
from engramdb.values import ImportKind

MAX_SECONDS: Final = 20.0
"""How long a child may take, by the clock; two megabytes of Markdown take a second or two."""
MAX_CPU_SECONDS: Final = 15
MAX_MEMORY_BYTES: Final = 1 << 30
"""The address space of a child: the interpreter and our modules take 200 MB of it, a full text 300 MB."""
MAX_RECORDS_BYTES: Final = 64_000_000
"""What may come back: records are some times as long as the text that they were read from."""
MAX_CHILDREN: Final = 2
"""Imports that are read at the same time; a further one is told to come again."""
_WAIT_SECONDS: Final = 5.0
_TYPES: Final = {kind.__name__: kind for kind in (SourceStatement, SourceMessage, BrokenRecord, SkippedFile)}
_ERRORS: Final = {kind.__name__: kind for kind in (InvalidContent, ContentTooLarge)}
_slots = threading.BoundedSemaphore(MAX_CHILDREN)


class ReadLimits(Struct, frozen=True, kw_only=True):
    """What a child may take."""

    seconds: float = MAX_SECONDS
    cpu_seconds: int = MAX_CPU_SECONDS
    memory_bytes: int = MAX_MEMORY_BYTES
    records_bytes: int = MAX_RECORDS_BYTES


class _Task(Struct, frozen=True, kw_only=True):
    """What a child is given."""

    name: str
    text: bytes
    limits: ReadLimits
    kind: ImportKind | None = None
    mapping: dict[str, str] = field(default_factory=dict)


class _Result(Struct, frozen=True, kw_only=True):
    """What a child gives back: records by type and kind, or why there are none."""

    records: list[tuple[str, str | None, msgspec.Raw]] = field(default_factory=list)
    error: tuple[str, str, str] | None = None


_TASK: Final = msgspec.msgpack.Decoder(_Task)
_RESULT: Final = msgspec.msgpack.Decoder(_Result)
_RECORDS: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {
    name: msgspec.msgpack.Decoder(kind) for name, kind in _TYPES.items()
}


def text_source(name: str, content: bytes) -> SourceFile:
    """Return a text that is in memory as a source of its own."""
    return SourceFile(name, len(content), lambda: contextlib.closing(BytesIO(content)))


def read_contained(
    name: str,
    text: str,
    *,
    kind: ImportKind | None,
    mapping: Mapping[str, str] | None,
    limits: ReadLimits = ReadLimits(),
) -> Iterator[KindedRecord]:
    """Yield the records of a text, read by a child; raises `ImportStopped` where it comes to no end."""
    if not all(is_text(one) for one in (name, text, *(mapping or {}).keys(), *(mapping or {}).values())):
        raise InvalidContent("a text holds half a surrogate pair", hint="Decode the text properly first.")
    task = _Task(name=name, text=text.encode(), kind=kind, mapping=dict(mapping or {}), limits=limits)
    if not _slots.acquire(timeout=_WAIT_SECONDS):
        raise ServerBusy(f"{MAX_CHILDREN} imports are being read already")
    try:
        answer = _answer_of_child(task)
    finally:
        _slots.release()
    result = _RESULT.decode(answer)
    if result.error is not None:
        error, message, hint = result.error
        raise _ERRORS[error](message, hint=hint)
    for type_name, found, raw in result.records:
        yield None if found is None else ImportKind(found), _RECORDS[type_name].decode(raw)


def _answer_of_child(task: _Task) -> bytes:
    """Run a child to its end or to its limit, and return what it says."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "engramdb.importing.contained"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        start_new_session=True,
    )
    deadline = threading.Timer(task.limits.seconds, child.kill)
    deadline.start()
    try:
        answer = _converse(child, msgspec.msgpack.encode(task), limit=task.limits.records_bytes)
    finally:
        deadline.cancel()
        child.kill()
        status = child.wait()
    if status != 0 or answer is None:
        raise ImportStopped("the text takes more time or memory to read than it may; nothing was stored")
    return answer


def _converse(child: subprocess.Popen[bytes], task: bytes, *, limit: int) -> bytes | None:
    """Hand a child its task and return its answer; None where that is too long, or it ended before."""
    if child.stdin is None or child.stdout is None:
        return None
    with child.stdout, contextlib.suppress(BrokenPipeError):
        with child.stdin:
            child.stdin.write(task)
        answer = child.stdout.read(limit + 1)
        child.wait()
        return answer if len(answer) <= limit else None
    return None


# What follows runs in the child.


def main() -> None:
    """Read a task from standard input, and write what was found to standard output."""
    with os.fdopen(0, "rb") as given:
        task = _TASK.decode(given.read())
    _limit(task.limits)
    with os.fdopen(1, "wb") as answer:
        answer.write(msgspec.msgpack.encode(_read(task)))


def _read(task: _Task) -> _Result:
    try:
        source = text_source(task.name, task.text)
        found = [
            (type(record).__name__, None if kind is None else kind.value, _packed(record))
            for kind, record in read_source(source, kind=task.kind, mapping=task.mapping)
        ]
    except (InvalidContent, ContentTooLarge) as exc:
        return _Result(error=(type(exc).__name__, exc.message, exc.hint))
    return _Result(records=found)


def _packed(record: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(record))


def _limit(limits: ReadLimits) -> None:
    """Give up what this process needs not: memory, time, files, core dumps, which would hold the text."""
    try:
        import resource  # noqa: PLC0415 - not on every system; the server's clock ends the child everywhere
    except ImportError:
        return
    wanted = {
        "RLIMIT_AS": limits.memory_bytes,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0,
    }
    for name, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # a stricter limit stands already
            resource.setrlimit(getattr(resource, name), (most, most))
    if hasattr(signal, "setitimer"):  # so that it ends by itself when the server is gone
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)


if __name__ == "__main__":
    main()
