"""
The table `parts`: how each part of the engine has fared, across processes.

Written when a process closes the store, and now and then by one that stays; holds names, moments, numbers and
the text of the last error, which never quotes a memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.contract.parts import Tally
from engram.store.sqlite.times import optional_from_microseconds, optional_to_microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

_COLUMNS = (
    "name, last_success, last_failure, failure, failures, calls, input_tokens, output_tokens, milliseconds"
)
_LATER = "nullif(max(coalesce(parts.{0}, 0), coalesce(excluded.{0}, 0)), 0)"
_ADD = (
    f"INSERT INTO parts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "failure = CASE WHEN coalesce(excluded.last_failure, 0) >= coalesce(parts.last_failure, 1) "
    "THEN excluded.failure ELSE parts.failure END, "
    f"last_success = {_LATER.format('last_success')}, last_failure = {_LATER.format('last_failure')}, "
    + ", ".join(
        f"{name} = parts.{name} + excluded.{name}"
        for name in ("failures", "calls", "input_tokens", "output_tokens", "milliseconds")
    )
)


class PartsTable:
    """Parts by name."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, tally: Tally) -> None:
        """Add what happened since the last time; an older moment does not replace a later one."""
        moments = (optional_to_microseconds(one) for one in (tally.last_success, tally.last_failure))
        numbers = (tally.failures, tally.calls, tally.input_tokens, tally.output_tokens, tally.milliseconds)
        self._connection.execute(_ADD, (tally.name, *moments, tally.failure, *numbers))

    def list(self) -> Sequence[Tally]:
        """Return every part that was ever noted, by name."""
        rows: Any = self._connection.execute(f"SELECT {_COLUMNS} FROM parts ORDER BY name")
        return [_tally(*row) for row in rows]


def _tally(name: str, success: int | None, failed: int | None, failure: str | None, *numbers: Any) -> Tally:
    failures, calls, input_tokens, output_tokens, milliseconds = numbers
    return Tally(
        name=name,
        last_success=optional_from_microseconds(success),
        last_failure=optional_from_microseconds(failed),
        failure=failure,
        failures=failures,
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        milliseconds=milliseconds,
    )
