"""
What recall asks about candidates before it fetches any: who stands beside whom, who said it, who passes.

Read by `recall`. Every answer is about keys that the reader may see; what it may not see is not named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.store.contract import Sketch
from engram.store.sqlite.filters import where
from engram.store.sqlite.rows import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from engram.values import Filters, Scope

_AMONG = "m.key IN (SELECT value FROM json_each(?))"
_SKETCHES = f"SELECT m.key, m.speaker, m.subject, m.when_at FROM memories m WHERE {_AMONG}"
_PLACES = f"SELECT m.key, m.session, m.scope FROM memories m WHERE {_AMONG} AND m.session IS NOT NULL"
_BESIDE = "SELECT key FROM memories WHERE session = ? AND scope = ? AND status = 'active' AND key"
_BEFORE = f"{_BESIDE} < ? ORDER BY key DESC LIMIT ?"
_AFTER = f"{_BESIDE} > ? ORDER BY key LIMIT ?"


class CandidatesTable:
    """Memories by key, as far as ranking needs them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def sketches(self, keys: Sequence[int]) -> dict[int, Sketch]:
        """Return what ranking needs to know of memories that were found."""
        rows: list[Any] = self._connection.execute(_SKETCHES, (to_json(list(keys)),)).fetchall()
        return {key: Sketch(speaker, subject, when) for key, speaker, subject, when in rows}

    def passing(self, keys: Sequence[int], *, scope: Scope, filters: Filters) -> set[int]:
        """Return which of these memories the scope may see and the filters let through."""
        condition, parameters = where(scope, filters)
        sql = f"SELECT m.key FROM json_each(?) k CROSS JOIN memories m ON m.key = k.value WHERE {condition}"
        rows: list[Any] = self._connection.execute(sql, (to_json(list(keys)), *parameters)).fetchall()
        return {key for (key,) in rows}

    def beside(
        self, keys: Sequence[int], *, reach: int, scope: Scope, filters: Filters
    ) -> list[tuple[int, int, int]]:
        """Return (memory, neighbour, distance) for the active memories beside each in its own session."""
        rows: list[Any] = self._connection.execute(_PLACES, (to_json(list(keys)),)).fetchall()
        found: list[tuple[int, int, int]] = []
        for key, session, place in rows:
            for sql in (_BEFORE, _AFTER):
                near = self._connection.execute(sql, (session, place, key, reach))
                found += [(key, beside, distance) for distance, (beside,) in enumerate(near, start=1)]
        passing = self.passing([beside for _, beside, _ in found], scope=scope, filters=filters)
        return [one for one in found if one[1] in passing]
