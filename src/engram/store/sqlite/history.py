"""
The tables `history` and `audit`: what happened to each memory, and who did what.

Rows are only ever added, in the transaction of the change that they tell of.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from engram.store.sqlite.failures import readable
from engram.store.sqlite.rows import from_json, to_json
from engram.store.sqlite.times import from_microseconds, to_microseconds
from engram.values import Action, Actor, ActorKind, AuditEvent, HistoryEvent, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

    from engram.values import MemoryId

_HISTORY = "memory_id, at, action, actor, actor_kind, old_status, new_status, reason, changes"
_AUDIT = "at, action, actor, actor_kind, target, detail"


class HistoryTable:
    """What happened to each memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, event: HistoryEvent) -> None:
        """Record a change."""
        who = (event.actor.name, event.actor.kind)
        statuses = (event.old_status, event.new_status)
        row = (event.memory_id, to_microseconds(event.at), event.action, *who, *statuses, event.reason)
        sql = f"INSERT INTO history ({_HISTORY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(sql, (*row, to_json(event.changes)))

    def of(self, memory_id: MemoryId) -> list[HistoryEvent]:
        """Return a memory's changes, oldest first."""
        sql = f"SELECT {_HISTORY} FROM history WHERE memory_id = ? ORDER BY key"
        return _events(self._connection.execute(sql, (memory_id,)).fetchall())

    def since(self, memory_ids: Sequence[MemoryId], moment: datetime) -> dict[MemoryId, list[HistoryEvent]]:
        """Return what happened to these memories after a moment, oldest first, where anything did."""
        among = "memory_id IN (SELECT value FROM json_each(?))"
        sql = f"SELECT {_HISTORY} FROM history WHERE {among} AND at > ? ORDER BY key"
        rows = self._connection.execute(sql, (to_json(list(memory_ids)), to_microseconds(moment))).fetchall()
        found: defaultdict[MemoryId, list[HistoryEvent]] = defaultdict(list)
        for event in _events(rows):
            found[event.memory_id].append(event)
        return dict(found)


def _events(rows: list[Any]) -> list[HistoryEvent]:
    with readable("history"):
        return [
            HistoryEvent(
                memory_id=memory,
                at=from_microseconds(at),
                action=Action(action),
                actor=Actor(actor, ActorKind(kind)),
                old_status=Status(old) if old else None,
                new_status=Status(new) if new else None,
                reason=reason,
                changes={name: (before, after) for name, (before, after) in from_json(changes).items()},
            )
            for memory, at, action, actor, kind, old, new, reason, changes in rows
        ]


class AuditTable:
    """Who did what in the store."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, event: AuditEvent) -> None:
        """Record an action."""
        row = (to_microseconds(event.at), event.action, event.actor.name, event.actor.kind, event.target)
        sql = f"INSERT INTO audit ({_AUDIT}) VALUES (?, ?, ?, ?, ?, ?)"
        self._connection.execute(sql, (*row, to_json(event.detail)))

    def recent(self, *, limit: int, before: int | None = None) -> list[AuditEvent]:
        """Return the latest actions, newest first, or those before the one with a number."""
        earlier, named = ("", []) if before is None else ("WHERE key < ?", [before])
        sql = f"SELECT key, {_AUDIT} FROM audit {earlier} ORDER BY key DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, (*named, limit)).fetchall()
        with readable("audit"):
            return [
                AuditEvent(
                    number=key,
                    at=from_microseconds(at),
                    action=Action(action),
                    actor=Actor(actor, ActorKind(kind)),
                    target=target,
                    detail=from_json(detail),
                )
                for key, at, action, actor, kind, target, detail in rows
            ]
