"""
What the calls of chat models have cost, and how they ended.

Noted by `chat.ask`, shown by `status`, kept by the engine's ledger, which exists also where no model does: so
this stands apart from the prompts and replies themselves. Numbers and error codes only, never a text.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the calls for one purpose, or for all, have cost and how they ended."""

    calls: int = 0
    failures: int = 0
    """Calls that brought no reply."""
    invalid: int = 0
    """Replies that could not be read."""
    dropped: int = 0
    """Parts of readable replies that were left out: malformed, or said by nobody."""
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    last_error: str | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            failures=self.failures + other.failures,
            invalid=self.invalid + other.invalid,
            dropped=self.dropped + other.dropped,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            milliseconds=self.milliseconds + other.milliseconds,
            last_error=other.last_error or self.last_error,
        )


@dataclass(slots=True)
class CallLog:
    """Counts the calls of all threads by purpose; `status` shows it."""

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _purposes: dict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    _last_error: str | None = None

    def note(self, purpose: str, happened: Usage) -> None:
        """Add what happened to what is known of the purpose."""
        with self._lock:
            self._purposes[purpose] += happened
            self._last_error = happened.last_error or self._last_error

    def by_purpose(self) -> dict[str, Usage]:
        """Return the counts of every purpose that has been asked for."""
        with self._lock:
            return dict(self._purposes)

    def total(self) -> Usage:
        """Return the counts of all purposes together, with the error that came last of all."""
        with self._lock:
            return replace(sum(self._purposes.values(), Usage()), last_error=self._last_error)
