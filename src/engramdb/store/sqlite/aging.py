"""Columns for aging, and the table `sweeps`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engramdb.policy import AgingPolicy
from engramdb.policy.aging import BURST_DAYS
from engramdb.store.contract import RecallCount, Sweep
from engramdb.store.sqlite.connection import corrupt_on_error
from engramdb.store.sqlite.filters import VISIBLE, ScopesTable, scope_columns
from engramdb.store.sqlite.rows import (
    from_json,
    from_microseconds,
    optional_from_microseconds,
    optional_to_microseconds,
    to_json,
    to_microseconds,
)
from engramdb.values import Scope, Status
from engramdb.values.aging import LASTINGS, LAYERS, MAX_RECENT, NEVER, SOURCES, STATUSES, UNREAD
from engramdb.values.memory import DIGESTS, DREAMT, RULE_CATEGORIES, SUMMED_UP

if TYPE_CHECKING:
    import apsw

    from engramdb.values.population import Population


# Memories as the columns that aging computes with, read in pages of keys, and the count of their recalls.
#
# Read by the sweep and the forecast; recalls are counted by the engine, a batch to a write. Counting
# neither marks a memory as changed nor touches an index: being read is no news about what it says.

_AGING = to_json([Status.ACTIVE, Status.CHALLENGED, Status.SUPERSEDED, Status.ARCHIVED])
_SAID = "coalesce(m.said_at, m.created_at)"
_OWN = "m.voice = 'own' AND m.force IN ('asserted', 'rule')"
_CATEGORIES = ", ".join(f"'{name}'" for name in sorted(RULE_CATEGORIES))
_ENDURES = (
    f"m.security = 'confidential' OR (m.lasting = 'permanent' AND {_OWN}) OR "
    f"((m.force = 'rule' OR m.category IN ({_CATEGORIES})) AND m.source = 'human' AND m.voice = 'own' "
    f"AND coalesce(m.extractor, '') NOT LIKE '{DREAMT}%') OR "
    + " OR ".join(f"coalesce(m.extractor, '') LIKE '{maker}%'" for maker in DIGESTS)
)
"""What `Memory.endures` says."""
_DUE = (
    f"max(CASE WHEN m.occurred_at > {_SAID} THEN m.occurred_at ELSE 0 END, "
    f"CASE WHEN m.valid_to > {_SAID} THEN m.valid_to ELSE 0 END, CASE WHEN m.moments = '[]' THEN 0 ELSE "
    "(SELECT coalesce(max(unixepoch(j.value ->> 'end')), 0) * 1000000 FROM json_each(m.moments) j) END)"
)
"""What `Memory.due_at` says, to the second."""
_ASKED = (
    "coalesce((SELECT max(max(g.found_at, coalesce(g.snoozed_until, 0))) FROM gap_memories x "
    "JOIN gaps g ON g.id = x.gap WHERE x.memory = m.key AND g.kind = 'stale' "
    f"AND g.found_at >= max({_SAID}, coalesce(m.confirmed_at, 0))), {NEVER})"
)
"""A question that somebody let rest counts as asked when the rest is over."""
_SELECT = (
    f"SELECT m.key, {_SAID}, max({_SAID}, coalesce(m.confirmed_at, {_SAID})), "
    f"coalesce(m.access_last_at, {_SAID}), coalesce(m.forget_after, {NEVER}), m.updated_at, "
    "m.access_count, m.access_sessions, m.reinforcements, m.confidence, m.importance, m.stability, "
    "m.strength, m.arousal, m.source, m.layer, m.status, m.category, m.scope, m.pinned, m.layer_held, "
    "m.extractor IS NOT NULL, m.kind = 'episode', "
    "CASE WHEN coalesce(m.extractor, '') LIKE 'session-%' THEN NULL ELSE m.session END, "
    "CASE WHEN m.access_count > 0 THEN m.access_recent END, "
    f"coalesce(m.extractor, '') LIKE '{DREAMT}%', {_DUE}, m.lasting, {_ENDURES}, "
    f"coalesce(m.extractor, '') LIKE '{SUMMED_UP}%', {_ASKED} FROM memories m "
    "WHERE m.status IN (SELECT value FROM json_each(?))"
)
_PROJECTS = "SELECT id, min(id) OVER (PARTITION BY project) FROM scopes"
_SESSION_ENDS = (
    "SELECT t.scope, t.session, max(t.occurred_at) FROM turns t WHERE t.session IS NOT NULL "
    "GROUP BY t.session, t.scope HAVING max(t.occurred_at) < ? AND NOT EXISTS (SELECT 1 FROM memories m "
    "WHERE m.session = t.session AND m.scope = t.scope AND m.extractor LIKE 'session-%')"
)
_RECENT = (
    f"SELECT m.id, m.key, m.access_recent, m.stability, m.access_last_at, {_SAID} FROM memories m "
    "WHERE m.id IN (SELECT value FROM json_each(?)) AND m.status <> 'erased'"
)
_COUNT = (
    "UPDATE memories SET access_count = access_count + (j.value ->> 1), "
    "access_sessions = access_sessions + (j.value ->> 2), "
    "access_last_at = max(coalesce(access_last_at, 0), j.value ->> 3), access_recent = j.value ->> 4, "
    "stability = j.value ->> 5 FROM json_each(?) j WHERE memories.key = j.value ->> 0"
)
_SEEN = (
    "INSERT OR IGNORE INTO recall_sessions (memory, session) "
    "SELECT value ->> 0, value ->> 1 FROM json_each(?) RETURNING memory"
)

_LAYER_CODES = {layer.value: code for code, layer in enumerate(LAYERS)}
_STATUS_CODES = {status.value: code for code, status in enumerate(STATUSES)}
_SOURCE_CODES = {source.value: code for code, source in enumerate(SOURCES)}
_LASTING_CODES = {None: UNREAD} | {lasting.value: code for code, lasting in enumerate(LASTINGS)}
_COLUMNS = 31
MICROSECONDS_PER_DAY = 86_400_000_000


class AgesTable:
    """Memories as columns, and their recalls."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def page(
        self,
        *,
        after_key: int,
        limit: int,
        scope: Scope | None = None,
        owner: Scope | None = None,
        session_ends: Mapping[tuple[int, str], int] | None = None,
    ) -> Population:
        """Return the next memories that can age: of all, of what a scope sees, or of exactly one owner."""
        sql, parameters = f"{_SELECT} AND m.key > ?", [_AGING, after_key]
        if scope is not None:
            sql, parameters = f"{sql} AND m.scope IN ({VISIBLE})", [*parameters, *scope_columns(scope)]
        if owner is not None:
            number = ScopesTable(self._connection).owner(owner)
            sql, parameters = f"{sql} AND m.scope = ?", [*parameters, number]
        rows = self._connection.execute(f"{sql} ORDER BY m.key LIMIT ?", (*parameters, limit)).fetchall()
        return self._population(rows, session_ends or {})

    def of(
        self, keys: Sequence[int], *, session_ends: Mapping[tuple[int, str], int] | None = None
    ) -> Population:
        """Return these memories, where they can still age."""
        sql = f"{_SELECT} AND m.key IN (SELECT value FROM json_each(?)) ORDER BY m.key"
        rows = self._connection.execute(sql, (_AGING, to_json(list(keys)))).fetchall()
        return self._population(rows, session_ends or {})

    def session_ends(self, *, before: int) -> dict[tuple[int, str], int]:
        """Return when the sessions without a summary ended, of those that ended before that moment."""
        rows: list[Any] = self._connection.execute(_SESSION_ENDS, (before,)).fetchall()
        return {(scope, session): at for scope, session, at in rows}

    def count_recalls(self, recalled: Sequence[RecallCount], policy: AgingPolicy) -> None:
        """
        Add recalls to the logs of the memories, and to their stability what the policy says.

        None is lost, however many processes count at once.
        """
        by_id = {one.memory_id: one for one in recalled}
        rows: list[Any] = self._connection.execute(_RECENT, (to_json(list(by_id)),)).fetchall()
        seen = [(row[1], session) for row in rows for session in by_id[row[0]].sessions]
        # Statements for all of them: between two statements other threads may run, and others wait to write.
        new_sessions = Counter(key for (key,) in self._connection.execute(_SEEN, (to_json(seen),)).fetchall())
        counted = []
        for memory_id, key, known, before, last, said in rows:
            moments = sorted(map(to_microseconds, by_id[memory_id].moments))
            recent = to_json(sorted([*from_json(known), *moments])[-MAX_RECENT:])
            stability = _stability_after(moments, policy, stability=before, last=last, said=said)
            counted.append((key, len(moments), new_sessions[key], moments[-1], recent, stability))
        self._connection.execute(_COUNT, (to_json(counted),))

    def _population(self, rows: list[Any], session_ends: Mapping[tuple[int, str], int]) -> Population:
        pairs: list[Any] = self._connection.execute(_PROJECTS).fetchall()
        with corrupt_on_error("memories"):
            return _population(rows, dict(pairs), session_ends)


def _stability_after(
    moments: Sequence[int], policy: AgingPolicy, *, stability: float, last: int | None, said: int
) -> float:
    """Return the stability after recalls at these moments, in their order."""
    for moment in moments:
        idle_days = (moment - (said if last is None else last)) / MICROSECONDS_PER_DAY
        idle_days = max(BURST_DAYS, idle_days) if last is None else idle_days
        stability = policy.stability_after(stability, idle_days=idle_days)
        last = moment if last is None else max(last, moment)
    return stability


def _population(
    rows: list[Any], projects: dict[int, int], session_ends: Mapping[tuple[int, str], int]
) -> Population:
    import numpy as np  # noqa: PLC0415 - most commands compute nothing

    from engramdb.values.population import Population  # noqa: PLC0415 - most commands compute nothing

    columns = list(zip(*rows, strict=True)) or [()] * _COLUMNS
    scopes, sessions, recents = columns[18], columns[23], columns[24]
    recent = [
        (row, moment) for row, text in enumerate(recents) if text is not None for moment in from_json(text)
    ]
    ends = session_ends.get
    return Population(
        keys=np.array(columns[0], np.int64),
        said=np.array(columns[1], np.int64),
        confirmed=np.array(columns[2], np.int64),
        recalled=np.array(columns[3], np.int64),
        forget_after=np.array(columns[4], np.int64),
        due=np.array(columns[26], np.int64),
        asked=np.array(columns[30], np.int64),
        changed=np.array(columns[5], np.int64),
        recalls=np.array(columns[6], np.int64),
        sessions=np.array(columns[7], np.int64),
        confirmations=np.array(columns[8], np.int64),
        confidence=np.array(columns[9], np.float64),
        importance=np.array(columns[10], np.float64),
        stability=np.array(columns[11], np.float64),
        strength=np.array(columns[12], np.float64),
        arousal=np.array(columns[13], np.float64),
        sources=np.array([_SOURCE_CODES[source] for source in columns[14]], np.int8),
        layers=np.array([_LAYER_CODES[layer] for layer in columns[15]], np.int8),
        statuses=np.array([_STATUS_CODES[status] for status in columns[16]], np.int8),
        lastings=np.array([_LASTING_CODES[lasting] for lasting in columns[27]], np.int8),
        categories=np.array(columns[17], np.str_),
        projects=np.array([projects[scope] for scope in scopes], np.int64),
        pinned=np.array(columns[19], np.bool_),
        held=np.array(columns[20], np.bool_),
        extracted=np.array(columns[21], np.bool_),
        derived=np.array(columns[25], np.bool_),
        summaries=np.array(columns[29], np.bool_),
        enduring=np.array(columns[28], np.bool_),
        episodes=np.array(columns[22], np.bool_),
        session_ended=np.array(
            [ends((scope, session), NEVER) for scope, session in zip(scopes, sessions, strict=True)], np.int64
        ),
        recent_rows=np.array([row for row, _ in recent], np.int64),
        recent_moments=np.array([moment for _, moment in recent], np.int64),
    )


# The table `sweeps`: how far each aging sweep came, so that an interrupted one goes on where it stopped.

_SWEEP_COLUMNS = "key, started_at, finished_at, policy, after_key, looked_at, by_rule"


class SweepsTable:
    """Sweeps, the latest of which may be unfinished."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def latest(self) -> Sweep | None:
        """Return the sweep that was begun last."""
        sql = f"SELECT {_SWEEP_COLUMNS} FROM sweeps ORDER BY key DESC LIMIT 1"
        row: Any = self._connection.execute(sql).fetchone()
        if row is None:
            return None
        with corrupt_on_error("sweeps"):
            return Sweep(
                key=row[0],
                started_at=from_microseconds(row[1]),
                finished_at=optional_from_microseconds(row[2]),
                policy=row[3],
                after_key=row[4],
                looked_at=row[5],
                by_rule=from_json(row[6]),
            )

    def put(self, sweep: Sweep) -> Sweep:
        """Store how far a sweep came; a new one has key 0 and is given its own."""
        row = (
            to_microseconds(sweep.started_at),
            optional_to_microseconds(sweep.finished_at),
            *(sweep.policy, sweep.after_key, sweep.looked_at, to_json(sweep.by_rule)),
        )
        sql = f"INSERT OR REPLACE INTO sweeps ({_SWEEP_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(sql, (sweep.key or None, *row))
        return sweep if sweep.key else sweep.at(self._connection.last_insert_rowid())
