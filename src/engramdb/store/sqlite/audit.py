"""The table `audit`: who did what, where, and how it ended; never a memory's words or a question's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engramdb.store.sqlite.connection import corrupt_on_error
from engramdb.store.sqlite.rows import actor_from, from_json, from_microseconds, to_json, to_microseconds
from engramdb.values import Action, AuditEvent, AuditFilters, Outcome, Scope

if TYPE_CHECKING:
    import apsw

_COLUMNS = "at, action, actor, actor_kind, surface, token, scope, outcome, target, detail"
_INSERT = f"INSERT INTO audit ({_COLUMNS}, is_search) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_COUNT = "UPDATE audit SET detail = json_set(detail, '$.times', ?) WHERE key = ?"
_PRUNE = (
    "DELETE FROM audit WHERE is_search AND key <= "
    "(SELECT key FROM audit WHERE is_search ORDER BY key DESC LIMIT 1 OFFSET ?)"
)


class AuditTable:
    """Who did what in the store."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, event: AuditEvent) -> int:
        """Record an action, and return its number."""
        self._connection.execute(_INSERT, _row(event))
        return self._connection.last_insert_rowid()

    def add_searches(self, events: Sequence[AuditEvent], *, most: int) -> None:
        """Record searches, and drop the oldest where there are more than `most`."""
        self._connection.executemany(_INSERT, [_row(event) for event in events])
        self._connection.execute(_PRUNE, (most,))

    def set_times(self, number: int, times: int) -> None:
        """Note how often an event has happened since it was recorded."""
        self._connection.execute(_COUNT, (times, number))

    def recent(
        self, *, limit: int, before: int | None = None, filters: AuditFilters = AuditFilters()
    ) -> list[AuditEvent]:
        """Return the latest actions that pass, newest first, or those before the one with a number."""
        conditions = [*_conditions(filters)]
        if before is not None:
            conditions.append(("key < ?", before))
        where = " AND ".join(sql for sql, _ in conditions) or "1"
        sql = f"SELECT key, {_COLUMNS} FROM audit WHERE {where} ORDER BY key DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(
            sql, (*(value for _, value in conditions), limit)
        ).fetchall()
        with corrupt_on_error("audit"):
            return [_event(row) for row in rows]


def _conditions(filters: AuditFilters) -> Iterator[tuple[str, Any]]:
    """Yield conditions in SQL, each with the value that it is bound to."""
    for column in ("actor", "token", "action", "outcome"):
        value = getattr(filters, column)
        if value is not None:
            yield f"{column} = ?", value
    if filters.since is not None:
        yield "at >= ?", to_microseconds(filters.since)
    if filters.scope is None:
        return
    if filters.is_exact:
        yield "scope = ?", _scope_text(filters.scope)
        return
    for part, name in zip(Scope.__struct_fields__, filters.scope.parts, strict=True):
        if name is not None:
            yield f"scope ->> '{part}' = ?", name


def _row(event: AuditEvent) -> tuple[Any, ...]:
    actor = event.actor
    return (
        to_microseconds(event.at),
        event.action,
        *(actor.name, actor.kind, actor.surface, actor.token),
        None if event.scope is None else _scope_text(event.scope),
        event.outcome,
        event.target,
        to_json(event.detail),
        int(event.action.is_search and event.outcome is Outcome.DONE),
    )


def _event(row: Any) -> AuditEvent:
    number, at, action, name, kind, surface, token, scope, outcome, target, detail = row
    return AuditEvent(
        number=number,
        at=from_microseconds(at),
        action=Action(action),
        actor=actor_from(name, kind, surface, token),
        scope=None if scope is None else Scope(**from_json(scope)),
        outcome=Outcome(outcome),
        target=target,
        detail=from_json(detail),
    )


def _scope_text(scope: Scope) -> str:
    """Return a scope as it is compared: names only, in their order."""
    pairs = zip(Scope.__struct_fields__, scope.parts, strict=True)
    return to_json({part: name for part, name in pairs if name is not None})
