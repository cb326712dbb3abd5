"""A query is planned once, whatever values it is asked with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import apsw

from engramdb.values import GLOBAL

if TYPE_CHECKING:
    from engramdb import Engram


def test_looking_for_a_twin_is_not_planned_again_for_every_statement(engram: Engram) -> None:
    """Admission asks this for each statement; planning it takes thirty times as long as answering it."""
    engram.remember("Maya keeps her passport in the blue drawer")
    asked: list[int] = []

    def permit(*_: Any) -> int:
        """Let everything happen; SQLite asks for each column while it plans a query, and only then."""
        asked.append(1)
        return apsw.SQLITE_OK

    with engram._parts.store.read() as tx:
        connection = tx.memories._connection  # type: ignore[attr-defined]
        connection.authorizer = permit
        tx.memories.active_twin(os.urandom(32), scope=GLOBAL)
        once = len(asked)
        for _ in range(20):
            tx.memories.active_twin(os.urandom(32), scope=GLOBAL)
        connection.authorizer = None

    assert once > 0
    assert len(asked) == once
