"""
Which parts work: the last success and the last failure of each, with the reason.

Each process has one `Health`; `status` shows it. Nothing of a memory's words is in a report.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.errors import (
    AccessDenied,
    ContentTooLarge,
    EdgeNotAllowed,
    EngramError,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatementForgotten,
    StatusNotAllowed,
)
from engramdb.values.report import PartHealth

EMBEDDER = "embedder"
CHAT = "chat model"
READER = "reader"
GUARD_MODEL = "guard model"
JUDGE = "judge"
RERANKER = "reranker"
FOREIGN_INDEX = "index of your own"
REFUSALS = (
    AccessDenied,
    ContentTooLarge,
    EdgeNotAllowed,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatementForgotten,
    StatusNotAllowed,
)
"""What is wrong with a request: a part that refuses it works, and has not failed."""


class Health:
    """How each part fared."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: dict[str, PartHealth] = {}

    @contextmanager
    def watch(self, part: str) -> Iterator[None]:
        """Note whether the block succeeded; its error goes on to the caller, and a refusal is not noted."""
        try:
            yield
        except REFUSALS:
            raise
        except EngramError as exc:
            self.failed(part, exc)
            raise
        except Exception as exc:
            self.crashed(part, place_of(exc))
            raise
        self.succeeded(part)

    def succeeded(self, part: str) -> None:
        """Note that a part has done its work."""
        self._note(part, failure=None)

    def failed(self, part: str, error: EngramError) -> None:
        """Note a failure that was dealt with where it happened."""
        self._note(part, failure=f"{error.code} {error}")

    def crashed(self, part: str, error: str) -> None:
        """Note that a part ended with an unexpected error, by its type and place."""
        self._note(part, failure=error)

    def is_failing(self, part: str) -> bool:
        """Return whether the part's last attempt failed."""
        with self._lock:
            return part in self._parts and self._parts[part].is_failing

    def parts(self) -> tuple[PartHealth, ...]:
        """Return every part that has been used."""
        with self._lock:
            return tuple(self._parts.values())

    def _note(self, part: str, *, failure: str | None) -> None:
        now = self._clock.now()
        with self._lock:
            known = self._parts.get(part, PartHealth(name=part))
            if failure is None:
                self._parts[part] = replace(known, last_success=now)
            else:
                self._parts[part] = replace(
                    known, last_failure=now, failure=failure, failures=known.failures + 1
                )


def place_of(error: BaseException) -> str:
    """Return what was raised and where; never its message, which may quote a memory."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = Path(trace.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"
