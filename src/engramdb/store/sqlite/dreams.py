"""The tables of dreams, replays and feedback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from engramdb.store.contract import DreamRun, MergeRecord, Objection, Outline, StepMark
from engramdb.store.sqlite.connection import corrupt_on_error
from engramdb.store.sqlite.edges import PATH
from engramdb.store.sqlite.filters import ScopesTable
from engramdb.store.sqlite.rows import (
    SELECTED,
    from_json,
    from_microseconds,
    from_row,
    optional_from_microseconds,
    optional_to_microseconds,
    scope_from,
    to_json,
    to_microseconds,
)
from engramdb.values import DreamReport, Layer, Memory, MemoryId, Scope, SecurityTier, Source, Status

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray


# The tables `leases`, `dreams`, `dream_steps` and `merges`, and what a dream reads of the others.
#
# Called through the store. A lease is taken and renewed inside a write, so two processes cannot both have
# it.

_IS_WHOLE = "report ->> '$.scope' IS NULL"
_IS_OF = "json(report -> '$.scope') = json(?)"
_read_report = msgspec.json.Decoder(DreamReport).decode
_RUN = "key, started_at, finished_at, policy, steps, step, report"
_MERGE = "g.key, k.id, l.id, g.at, g.given, g.undone_at"
_MERGES = (
    f"SELECT {_MERGE} FROM merges g JOIN memories k ON k.key = g.keeper JOIN memories l ON l.key = g.loser"
)
_SCOPES = (
    "SELECT DISTINCT s.project, s.squad, s.agent, s.channel, s.user FROM memories m "
    "JOIN scopes s ON s.id = m.scope WHERE m.change > ? AND m.status = 'active' ORDER BY s.id"
)
_OUTLINES = (
    "SELECT key, id, content, speaker, subject, predicate, object, category, layer, security, extractor, "
    "episodes, max(1 + reinforcements, json_array_length(turns), json_array_length(episodes)), confidence, "
    "importance, access_count, pinned, change > ? FROM memories "
    "WHERE scope = ? AND status = 'active' AND instr(flags, '\"injection\"') = 0 ORDER BY key"
)
_UNCOMPARED = (
    "SELECT m.key, s.project, s.squad, s.agent, s.channel, s.user FROM memories m "
    "JOIN scopes s ON s.id = m.scope LEFT JOIN comparisons c ON c.memory = m.key "
    "WHERE m.status IN ('active', 'challenged') AND m.voice = 'own' AND m.force IN ('asserted', 'rule') "
    "AND c.judge IS NOT ?1 AND (?2 IS NULL OR m.scope = ?2) AND instr(m.flags, '\"injection\"') = 0 "
    "AND substr(coalesce(m.extractor, ''), 1, 6) <> 'dream.' "
    "AND substr(coalesce(m.extractor, ''), 1, 8) <> 'session-' ORDER BY m.key DESC LIMIT ?3"
)
_CONTRADICTIONS = (
    "SELECT e.source, e.target FROM edges e JOIN memories a ON a.key = e.source "
    "JOIN memories b ON b.key = e.target WHERE e.type = 'contradicts' "
    "AND a.status IN ('active', 'challenged') AND b.status IN ('active', 'challenged') AND a.scope = b.scope "
    "AND instr(a.flags || b.flags, '\"injection\"') = 0 AND (?1 IS NULL OR a.scope = ?1) "
    "ORDER BY max(e.source, e.target), e.source, e.target"
)
_OLD = {
    "handed_out": "SELECT scope, session, memory_id FROM handed_out WHERE at < ? ORDER BY at LIMIT ?",
    "audit": "SELECT key FROM audit WHERE at < ? "
    "AND key <= (SELECT max(key) FROM audit) - ? ORDER BY key LIMIT ?",
    "dreams": "SELECT key FROM dreams WHERE finished_at < ? "
    "AND key NOT IN (SELECT key FROM dreams ORDER BY key DESC LIMIT ?) ORDER BY key LIMIT ?",
    "sweeps": "SELECT key FROM sweeps WHERE finished_at < ? "
    "AND key NOT IN (SELECT key FROM sweeps ORDER BY key DESC LIMIT ?) ORDER BY key LIMIT ?",
    "recall_sessions": "SELECT r.memory, r.session FROM recall_sessions r "
    "JOIN memories m ON m.key = r.memory "
    "WHERE m.status NOT IN ('active', 'challenged') AND m.updated_at < ? LIMIT ?",
}
"""What may go of each table: notes of what was given, of what was done, and of recalls of what is gone."""
_DROP = {
    "handed_out": "DELETE FROM handed_out WHERE (scope, session, memory_id) IN "
    "(SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))",
    "recall_sessions": "DELETE FROM recall_sessions WHERE (memory, session) IN "
    "(SELECT value ->> 0, value ->> 1 FROM json_each(?))",
}
_DROP_BY_KEY = "DELETE FROM {} WHERE key IN (SELECT value ->> 0 FROM json_each(?))"
_NO_LIMIT = -1


def _named(scope: Scope | None) -> list[str]:
    return [] if scope is None else [to_json(scope)]


def _number(run: DreamRun | None) -> int:
    return 0 if run is None else run.report.number or 0


def replace_number(run: DreamRun) -> DreamRun:
    """Return a run with its place among all runs, for those who see all."""
    return replace(run, report=replace(run.report, number=run.key))


class LeasesTable:
    """Leases by what they are for."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def take(
        self, kind: str, owner: str, *, now: datetime, until: datetime, is_gone: Callable[[str], bool]
    ) -> bool:
        """Become the holder and say so, unless another one holds it whose time has not run out."""
        sql = "SELECT owner, expires_at FROM leases WHERE kind = ?"
        row: Any = self._connection.execute(sql, (kind,)).fetchone()
        end = to_microseconds(until)
        if row is not None and row[0] != owner and row[1] > to_microseconds(now) and not is_gone(row[0]):
            if row[1] > end:  # taken before the clock went back; who still holds it renews it by the new time
                self._connection.execute("UPDATE leases SET expires_at = ? WHERE kind = ?", (end, kind))
            return False
        taken = (kind, owner, end)
        self._connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", taken)
        return True

    def renew(self, kind: str, owner: str, *, until: datetime) -> bool:
        """Hold it for longer; says False where someone else has taken it over."""
        sql = "UPDATE leases SET expires_at = ? WHERE kind = ? AND owner = ? RETURNING kind"
        return bool(self._connection.execute(sql, (to_microseconds(until), kind, owner)).fetchall())

    def release(self, kind: str, owner: str) -> None:
        """Give it back, if it is still held by this owner."""
        self._connection.execute("DELETE FROM leases WHERE kind = ? AND owner = ?", (kind, owner))

    def expire(self, *, before: datetime) -> None:
        """Forget those whose time ran out before a moment: anybody could have taken them since."""
        self._connection.execute("DELETE FROM leases WHERE expires_at < ?", (to_microseconds(before),))


class DreamsTable:
    """Runs, the marks of their steps, merges, and what a dream reads."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    # --- runs -----------------------------------------------------------------------------------------------

    def latest(self, scope: Scope | None = None) -> DreamRun | None:
        """Return the run that was begun last, of the whole store or of exactly this scope."""
        found = self._runs(_IS_WHOLE if scope is None else _IS_OF, _named(scope), limit=1)
        return found[0] if found else None

    def recent(
        self, *, limit: int, before: int | None = None, scope: Scope | None = None
    ) -> Sequence[DreamRun]:
        """Return the latest runs, newest first, all or a scope's, or those before the one with a number."""
        number = "key" if scope is None else "report ->> '$.number'"
        earlier, named = ("", []) if before is None else (f" AND {number} < ?", [before])
        found = self._runs(("true" if scope is None else _IS_OF) + earlier, [*_named(scope), *named], limit)
        return found if scope is not None else [replace_number(run) for run in found]

    def _runs(self, condition: str, named: Sequence[Any], limit: int) -> Sequence[DreamRun]:
        sql = f"SELECT {_RUN} FROM dreams WHERE {condition} ORDER BY key DESC LIMIT ?"
        rows: list[Any] = self._connection.execute(sql, (*named, limit)).fetchall()
        with corrupt_on_error("dreams"):
            return [
                DreamRun(
                    started_at=from_microseconds(started),
                    finished_at=optional_from_microseconds(finished),
                    policy=policy,
                    steps=tuple(from_json(steps)),
                    step=step,
                    report=_read_report(report),
                ).at(key)
                for key, started, finished, policy, steps, step, report in rows
            ]

    def put(self, run: DreamRun) -> DreamRun:
        """Store how far a run came; a new one has key 0 and is given its own, and one by scope a number."""
        scope = run.report.scope
        if not run.key and scope is not None:
            latest = self.latest(scope)
            run = replace(run, report=replace(run.report, number=1 + _number(latest)))
        row = (
            to_microseconds(run.started_at),
            optional_to_microseconds(run.finished_at),
            *(run.policy, to_json(run.steps), run.step, to_json(run.report)),
        )
        sql = f"INSERT OR REPLACE INTO dreams ({_RUN}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(sql, (run.key or None, *row))
        return run if run.key else run.at(self._connection.last_insert_rowid())

    def mark(self, step: str) -> StepMark | None:
        """Return up to where a step has looked, or None where it never came to its end."""
        sql = "SELECT started_at, cursor FROM dream_steps WHERE name = ?"
        row: Any = self._connection.execute(sql, (step,)).fetchone()
        return None if row is None else StepMark(from_microseconds(row[0]), row[1])

    def set_mark(self, step: str, mark: StepMark) -> None:
        """Note up to where a step has looked."""
        row = (step, to_microseconds(mark.started_at), mark.cursor)
        self._connection.execute("INSERT OR REPLACE INTO dream_steps VALUES (?, ?, ?)", row)

    # --- what a run looks at --------------------------------------------------------------------------------

    def fresh_scopes(self, *, since: int) -> Sequence[Scope]:
        """Return the scopes in which an active memory has changed since this change."""
        rows: list[Any] = self._connection.execute(_SCOPES, (since,)).fetchall()
        with corrupt_on_error("scopes"):
            return [scope_from(row) for row in rows]

    def outlines(self, scope: Scope, *, since: int) -> Sequence[Outline]:
        """Return the active memories of exactly this scope that nothing warns of, in order of their keys."""
        rows = self._connection.execute(_OUTLINES, (since, self._scopes.find(scope)))
        with corrupt_on_error("memories"):
            return [_outline(row) for row in rows]

    def open_contradictions(self, *, scope: Scope | None = None) -> Sequence[tuple[int, int]]:
        """Return the pairs of active memories of one scope that are linked as contradicting, oldest first."""
        pairs: list[Any] = self._connection.execute(_CONTRADICTIONS, (self._scopes.owner(scope),)).fetchall()
        return pairs

    def withdrawn_memories(self, fingerprint: bytes, *, scope: Scope) -> Sequence[Memory]:
        """Return the memories of exactly this scope that once said this and are not active any more."""
        sql = (
            f"SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope "
            "WHERE m.scope = ? AND m.fingerprint = ? AND m.status <> 'active' ORDER BY m.key"
        )
        rows: list[Any] = self._connection.execute(sql, (self._scopes.find(scope), fingerprint)).fetchall()
        return [from_row(row) for row in rows]

    # --- what a judge has compared --------------------------------------------------------------------------

    def uncompared(
        self, judge: str, *, limit: int, scope: Scope | None = None
    ) -> Sequence[tuple[int, Scope]]:
        """Return the keys and scopes of what a judge has not compared with what is near it, newest first."""
        rows: list[Any] = self._connection.execute(
            _UNCOMPARED, (judge, self._scopes.owner(scope), limit)
        ).fetchall()
        with corrupt_on_error("scopes"):
            return [(row[0], scope_from(row[1:])) for row in rows]

    def mark_compared(self, keys: Sequence[int], judge: str) -> None:
        """Note that a judge has compared these memories with what was near them."""
        sql = "INSERT OR REPLACE INTO comparisons (memory, judge) SELECT key, ? FROM memories WHERE key = ?"
        self._connection.executemany(sql, [(judge, key) for key in keys])

    # --- merges ---------------------------------------------------------------------------------------------

    def add_merge(self, merged: MergeRecord) -> None:
        """Note that a memory was merged into another, and what that one was given."""
        key = "(SELECT key FROM memories WHERE id = ?)"
        sql = f"INSERT INTO merges (keeper, loser, at, given) VALUES ({key}, {key}, ?, ?)"
        row = (merged.keeper, merged.loser, to_microseconds(merged.at), to_json(merged.given))
        self._connection.execute(sql, row)

    def merges_into(self, memory_id: MemoryId) -> Sequence[MergeRecord]:
        """Return what was merged into a memory and not taken back, oldest first."""
        sql = f"{_MERGES} WHERE k.id = ? AND g.undone_at IS NULL ORDER BY g.key"
        return _merge_records(self._connection.execute(sql, (memory_id,)).fetchall())

    def merge_of(self, memory_id: MemoryId) -> MergeRecord | None:
        """Return the merge by which a memory was lost, unless it was taken back."""
        sql = f"{_MERGES} WHERE l.id = ? AND g.undone_at IS NULL ORDER BY g.key DESC LIMIT 1"
        found = _merge_records(self._connection.execute(sql, (memory_id,)).fetchall())
        return found[0] if found else None

    def undo_merge(self, key: int, *, at: datetime) -> None:
        """Note that a merge was taken back, so that no rule makes it again."""
        self._connection.execute("UPDATE merges SET undone_at = ? WHERE key = ?", (to_microseconds(at), key))

    def redo_merge(self, memory_id: MemoryId) -> None:
        """Note that the last merge of a memory into another holds after all."""
        latest = "SELECT max(g.key) FROM merges g JOIN memories l ON l.key = g.loser WHERE l.id = ?"
        self._connection.execute(f"UPDATE merges SET undone_at = NULL WHERE key = ({latest})", (memory_id,))

    def split_pairs(self, memory_ids: Sequence[MemoryId]) -> set[frozenset[MemoryId]]:
        """Return the pairs with any of these memories whose merge someone took back."""
        among = "(SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(?1)))"
        is_apart = "(g.undone_at IS NOT NULL OR l.status = 'active')"  # brought back in whatever way
        sql = f"{_MERGES} WHERE {is_apart} AND (g.keeper IN {among} OR g.loser IN {among})"
        rows = self._connection.execute(sql, (to_json(list(memory_ids)),)).fetchall()
        return {frozenset((one.keeper, one.loser)) for one in _merge_records(rows)}

    # --- what may go ----------------------------------------------------------------------------------------

    def count_old(self, table: str, *, before: datetime, keep: int) -> int:
        """Return how many rows of a table may go: older than `before`, and not among the latest `keep`."""
        return len(self._old(table, before, keep, _NO_LIMIT))

    def drop_old(self, table: str, *, before: datetime, keep: int, limit: int) -> int:
        """Drop the oldest of them, at most `limit`, and return how many went."""
        rows = self._old(table, before, keep, limit)
        self._connection.execute(_DROP.get(table, _DROP_BY_KEY.format(table)), (to_json(rows),))
        return len(rows)

    def _old(self, table: str, before: datetime, keep: int, limit: int) -> list[Any]:
        sql = _OLD[table]
        kept_rows = (keep,) if sql.count("?") == 3 else ()
        rows: list[Any] = self._connection.execute(
            sql, (to_microseconds(before), *kept_rows, limit)
        ).fetchall()
        return rows


def _outline(row: Sequence[Any]) -> Outline:
    return Outline(
        key=row[0],
        id=row[1],
        content=row[2],
        speaker=row[3],
        subject=row[4],
        predicate=row[5],
        object=row[6],
        category=row[7],
        layer=Layer(row[8]),
        security=SecurityTier(row[9]),
        extractor=row[10],
        episodes=() if row[11] == "[]" else tuple(from_json(row[11])),
        evidence=row[12],
        confidence=row[13],
        importance=row[14],
        recalls=row[15],
        is_pinned=bool(row[16]),
        is_fresh=bool(row[17]),
    )


def _merge_records(rows: Sequence[Any]) -> list[MergeRecord]:
    with corrupt_on_error("merges"):
        return [
            MergeRecord(
                key=key,
                keeper=keeper,
                loser=loser,
                at=from_microseconds(at),
                given=from_json(given),
                undone_at=optional_from_microseconds(undone),
            )
            for key, keeper, loser, at, given, undone in rows
        ]


# The table `replays`, and which memories are worth replaying or checking.

_USABLE = f"m.status = '{Status.ACTIVE}' AND instr(m.flags, '\"injection\"') = 0"
_RECEIVED = (
    f"SELECT m.key FROM memories m WHERE m.source = '{Source.INGEST}' AND {_USABLE} AND NOT EXISTS "
    "(SELECT 1 FROM replays r WHERE r.memory = m.key) AND (?1 IS NULL OR m.scope = ?1) "
    "ORDER BY m.key LIMIT ?2"
)
_UNREPLAYED = (
    f"SELECT m.key FROM memories m WHERE {_USABLE} AND NOT EXISTS "
    "(SELECT 1 FROM replays r WHERE r.memory = m.key) AND (?1 IS NULL OR m.scope = ?1) "
    "ORDER BY m.arousal > ?2 DESC, m.key DESC LIMIT ?3"
)
_NAMING_FILES = (
    f"SELECT DISTINCT m.key FROM memories m JOIN memory_traits t ON t.memory = m.key AND t.kind = '{PATH}' "
    f"WHERE m.key > ?2 AND m.layer = '{Layer.CODEBASE}' AND {_USABLE} AND (?1 IS NULL OR m.scope = ?1) "
    "ORDER BY m.key LIMIT ?3"
)
MOVING_AROUSAL = 0.6
"""From this arousal on a memory is replayed before others of its age."""


class ReplaysTable:
    """Replays by memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def since(self, moment: datetime, *, scope: Scope | None = None) -> dict[int, datetime]:
        """Return which memories, of exactly this scope or of any, were replayed after a moment, and when."""
        sql = (
            "SELECT r.memory, r.at FROM replays r JOIN memories m ON m.key = r.memory "
            "WHERE r.at > ?2 AND (?1 IS NULL OR m.scope = ?1) ORDER BY r.memory"
        )
        asked = (self._scopes.owner(scope), to_microseconds(moment))
        rows: list[Any] = self._connection.execute(sql, asked).fetchall()
        return {key: from_microseconds(at) for key, at in rows}

    def mark(self, keys: Sequence[int], *, at: datetime) -> bool:
        """Note that these memories are replayed at this moment, and return whether that was news of any."""
        sql = (
            "INSERT INTO replays (memory, at) SELECT value, ?2 FROM json_each(?1) WHERE true "
            "ON CONFLICT (memory) DO UPDATE SET at = ?2 WHERE at <> ?2"
        )
        before = self._connection.total_changes()
        self._connection.execute(sql, (to_json(list(keys)), to_microseconds(at)))
        return self._connection.total_changes() > before

    def received_unreplayed(self, *, limit: int, scope: Scope | None = None) -> Sequence[int]:
        """Return the keys of active memories that came from others and were never replayed, oldest first."""
        rows: list[Any] = self._connection.execute(_RECEIVED, (self._scopes.owner(scope), limit)).fetchall()
        return [key for (key,) in rows]

    def unreplayed(self, *, limit: int, scope: Scope | None = None) -> Sequence[int]:
        """Return the keys of active memories never replayed, the most moving and then the newest first."""
        asked = (self._scopes.owner(scope), MOVING_AROUSAL, limit)
        rows: list[Any] = self._connection.execute(_UNREPLAYED, asked).fetchall()
        return [key for (key,) in rows]

    def naming_files(self, *, after_key: int, limit: int, scope: Scope | None = None) -> Sequence[int]:
        """Return the keys of the next active memories about code that name files."""
        asked = (self._scopes.owner(scope), after_key, limit)
        rows: list[Any] = self._connection.execute(_NAMING_FILES, asked).fetchall()
        return [key for (key,) in rows]


# The table `feedback`: which memory helped or did not, for a question stored as fingerprint and vector only.

_ADD = "INSERT INTO feedback (memory, at, helpful, question, space, vector) VALUES (?, ?, ?, ?, ?, ?)"
_OBJECTIONS = (
    "SELECT memory, question, space, vector FROM feedback WHERE helpful = 0 AND is_undone = 0 AND at > ? "
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

    def set_undone(self, memory_id: MemoryId, *, at: datetime, is_undone: bool) -> None:
        """Let what was said of a memory at a moment count no more, or count again."""
        memory = "(SELECT key FROM memories WHERE id = ?)"
        sql = f"UPDATE feedback SET is_undone = ? WHERE memory = {memory} AND at = ?"
        self._connection.execute(sql, (is_undone, memory_id, to_microseconds(at)))

    def objections(self, keys: Sequence[int], *, since: datetime) -> list[Objection]:
        """Return the questions for which these memories were of no help since then."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        rows: list[Any] = self._connection.execute(
            _OBJECTIONS, (to_microseconds(since), to_json(list(keys)))
        ).fetchall()
        return [
            Objection(key, question, space, None if blob is None else np.frombuffer(blob, "<f4"))
            for key, question, space, blob in rows
        ]
