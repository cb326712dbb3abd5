"""
The table `feedback`: which memory helped or did not, for a question kept as fingerprint and vector only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engram.store.contract import Objection
from engram.store.sqlite.rows import to_json
from engram.store.sqlite.times import to_microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw
    from numpy.typing import NDArray

_ADD = "INSERT INTO feedback (memory, at, helpful, question, space, vector) VALUES (?, ?, ?, ?, ?, ?)"
_AGAINST = (
    "SELECT memory, question, space, vector FROM feedback WHERE helpful = 0 AND at > ? "
    "AND memory IN (SELECT value FROM json_each(?))"
)


class FeedbackTable:
    """Feedback by memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(
        self,
        key: int,
        *,
        at: datetime,
        is_helpful: bool,
        question: bytes | None,
        space: int | None,
        vector: NDArray[np.float32] | None,
    ) -> None:
        """Note that a memory helped or did not; the question is its fingerprint and its vector."""
        blob = None if vector is None or space is None else vector.astype("<f4").tobytes()
        row = (key, to_microseconds(at), int(is_helpful), question, space if blob else None, blob)
        self._connection.execute(_ADD, row)

    def against(self, keys: Sequence[int], *, since: datetime) -> list[Objection]:
        """Return the questions for which these memories were of no help since then."""
        rows: list[Any] = self._connection.execute(
            _AGAINST, (to_microseconds(since), to_json(list(keys)))
        ).fetchall()
        return [
            Objection(key, question, space, None if blob is None else np.frombuffer(blob, "<f4"))
            for key, question, space, blob in rows
        ]
