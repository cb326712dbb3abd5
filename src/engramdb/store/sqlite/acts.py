"""
The tables `acts`, `undone_acts`, `edge_history` and `withdrawn_words`: which changes belong together.

The tables of memories' history, of links and of questions ask here for the act of the write that they are
part of. An act is of one scope: a write that reaches several is an act in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.store.contract.acts import EdgeChange, WithdrawnWords
from engramdb.store.sqlite.connection import corrupt_on_error, single_value
from engramdb.store.sqlite.filters import ScopesTable
from engramdb.store.sqlite.rows import (
    actor_from,
    from_json,
    from_microseconds,
    optional_from_microseconds,
    to_json,
    to_microseconds,
)
from engramdb.values import (
    Act,
    ActId,
    Action,
    Actor,
    ActorKind,
    EdgeType,
    HistoryEvent,
    MemoryId,
    Scope,
    Status,
    new_id,
)

if TYPE_CHECKING:
    import apsw

EVENTS = (
    "SELECT h.memory_id, h.at, h.action, h.actor, h.actor_kind, h.surface, h.token, h.old_status, "
    "h.new_status, h.reason, h.changes, a.id FROM history h LEFT JOIN acts a ON a.key = h.act"
)
"""What to select for `history_events`."""
_RANKS = {ActorKind.RULE: 0, ActorKind.AGENT: 1, ActorKind.PERSON: 2}
_NAMING = frozenset({Action.CORRECT, Action.ANSWER})
"""What an act is called after, whatever was written first."""
_KEY = "(SELECT key FROM memories WHERE id = ?)"
_INSERT = "INSERT INTO acts (id, part_of, scope, at, action, actor, actor_kind) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_GROUP = "INSERT OR IGNORE INTO act_groups (id, at, action, actor, actor_kind) VALUES (?, ?, ?, ?, ?)"
_TOUCHED = (
    "SELECT memory_id FROM history WHERE act IN ({0}) UNION SELECT m.id FROM edge_history e "
    "JOIN memories m ON m.key IN (e.source, e.target) WHERE e.act IN ({0})"
)
_SELECT = (
    "SELECT a.id, a.at, a.action, a.actor, a.actor_kind, "
    f"(SELECT count(*) FROM ({_TOUCHED.format('a.key')})), json_array(a.key) FROM acts a"
)
_GROUPED = "SELECT a.key FROM acts a WHERE a.part_of = g.key AND a.scope = ?1 ORDER BY a.key"
_SELECT_GROUPS = (
    "SELECT g.id, g.at, g.action, g.actor, g.actor_kind, "
    f"(SELECT count(*) FROM ({_TOUCHED.format(_GROUPED)})), "
    f"(SELECT json_group_array(key) FROM ({_GROUPED})) FROM act_groups g"
)
_SELECT_ONE_GROUP = f"{_SELECT_GROUPS} WHERE g.key = ?2"
_FIRST_KEY = (
    "(SELECT min(b.key) FROM acts b LEFT JOIN act_groups g ON g.key = b.part_of "
    "WHERE b.scope = ?1 AND (b.id = ?3 OR g.id = ?3))"
)
_LINKS = (
    "SELECT s.id, t.id, e.type, e.old_weight, e.old_created_at, e.new_weight, e.key FROM edge_history e "
    "JOIN memories s ON s.key = e.source JOIN memories t ON t.key = e.target WHERE e.act = ? ORDER BY e.key"
)
_LATER_LINKS = (
    "SELECT DISTINCT a.id FROM edge_history e JOIN acts a ON a.key = e.act "
    f"WHERE e.key > ? AND e.source = {_KEY} AND e.target = {_KEY} AND e.type = ? ORDER BY a.key"
)
_LATER = (
    f"{EVENTS} JOIN (SELECT memory_id, max(key) AS last FROM history WHERE act = ?1 GROUP BY memory_id) o "
    "ON o.memory_id = h.memory_id WHERE h.key > o.last AND h.act <> ?1 ORDER BY h.key"
)
_LAST_KEY = "(SELECT coalesce(max(key), 0) FROM history WHERE act = a.key)"
_ENDING = 8
_BATCH = 100


def history_events(rows: Sequence[Any]) -> list[HistoryEvent]:
    """Return events from the columns of `EVENTS`."""
    with corrupt_on_error("history"):
        return [
            HistoryEvent(
                memory_id=memory,
                at=from_microseconds(at),
                action=Action(action),
                actor=actor_from(actor, kind, surface, token),
                old_status=Status(old) if old else None,
                new_status=Status(new) if new else None,
                reason=reason,
                changes={name: (before, after) for name, (before, after) in from_json(changes).items()},
                act=act,
            )
            for memory, at, action, actor, kind, surface, token, old, new, reason, changes, act in rows
        ]


class OpenAct(Struct):
    """The act that a write is part of in one scope, and what it is called after so far."""

    key: int
    id: ActId
    rank: tuple[int, int]
    """How well its present name fits: what a person does counts before what a rule does because of it."""


class ActsTable:
    """Acts by scope, and the acts that this write is part of."""

    def __init__(self, connection: apsw.Connection, group: Act | None = None) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)
        self._opened: dict[int, OpenAct] = {}
        self._latest: tuple[MemoryId, int] | None = None
        """The memory that was asked for last, and its scope: its links follow."""
        self._group = group
        """What this write is part of, where that is more than the write."""

    @contextmanager
    def kept_on_success(self) -> Iterator[None]:
        """Let go of the acts that were begun in a write that is rolled back."""
        before = {scope: replace(opened) for scope, opened in self._opened.items()}
        try:
            yield
        except BaseException:
            self._opened, self._latest = before, None
            raise

    # --- the act of this write ------------------------------------------------------------------------------

    def join(self, action: Action, *, actor: Actor, scope: Scope, at: datetime) -> ActId:
        """Return the act of this write in a scope, begun if need be, for what changes no memory."""
        return self._joined(self._scopes.make(scope), action, actor, at, is_change=True).id

    def begin(self, action: Action, *, actor: Actor, scope: Scope, at: datetime) -> ActId:
        """Begin an act: what this write changes in the scope from now on belongs to it."""
        number = self._scopes.make(scope)
        self._opened.pop(number, None)
        begun = self._joined(number, action, actor, at, is_change=True)
        begun.rank = (len(_RANKS), 1)  # no change that follows gives it another name
        return begun.id

    def key_for(self, memory_id: MemoryId, action: Action, actor: Actor, at: datetime) -> int | None:
        """Return the key of the act that a change of a memory is part of; None where there is no memory."""
        return self._key_in_scope_of(memory_id, action, actor, at, is_change=True)

    def key_for_link(self, source: MemoryId, actor: Actor, at: datetime) -> int | None:
        """Return the key of the act that a link from a memory is part of; None where there is no memory."""
        return self._key_in_scope_of(source, Action.LINK, actor, at, is_change=False)

    def open_key(self, scope: int) -> int | None:
        """Return the key of the act that this write is part of in a scope, if it changed anything there."""
        opened = self._opened.get(scope)
        return None if opened is None else opened.key

    def end(self) -> None:
        """End the acts of this write: what it changes from now on belongs to others."""
        self._opened, self._latest = {}, None

    def _key_in_scope_of(
        self, memory_id: MemoryId, action: Action, actor: Actor, at: datetime, *, is_change: bool
    ) -> int | None:
        if self._latest is None or self._latest[0] != memory_id:
            row = self._connection.execute("SELECT scope FROM memories WHERE id = ?", (memory_id,)).fetchone()
            if row is None:
                return None
            self._latest = (memory_id, row[0])
        return self._joined(self._latest[1], action, actor, at, is_change=is_change).key

    def _joined(self, scope: int, action: Action, actor: Actor, at: datetime, *, is_change: bool) -> OpenAct:
        rank = (_RANKS[actor.kind], is_change + (action in _NAMING))
        opened = self._opened.get(scope)
        if opened is None:
            act_id = new_id(at)
            named = (to_microseconds(at), action, actor.name, actor.kind)
            self._connection.execute(_INSERT, (act_id, self._group_key(), scope, *named))
            opened = self._opened[scope] = OpenAct(self._connection.last_insert_rowid(), act_id, rank)
        elif rank > opened.rank:
            sql = "UPDATE acts SET action = ?, actor = ?, actor_kind = ? WHERE key = ?"
            self._connection.execute(sql, (action, actor.name, actor.kind, opened.key))
            opened.rank = rank
        return opened

    def _group_key(self) -> int | None:
        if self._group is None:
            return None
        one = self._group
        named = (one.id, to_microseconds(one.at), one.action, one.actor.name, one.actor.kind)
        self._connection.execute(_INSERT_GROUP, named)
        key: int = single_value(self._connection, "SELECT key FROM act_groups WHERE id = ?", (one.id,))
        return key

    # --- what acts did --------------------------------------------------------------------------------------

    def find(self, name: str, *, scope: Scope) -> Sequence[Act]:
        """Return the acts and groups of exactly this scope with this id, or with an id that ends so."""
        named = "{0}.id = ?2" if len(name) > _ENDING else "substr({0}.id, -8) = ?2"
        within = "g.key IN (SELECT part_of FROM acts WHERE scope = ?1)"
        given = (self._scopes.find(scope), name)
        acts = self._acts(f"{_SELECT} WHERE a.scope = ?1 AND {named.format('a')}", given)
        return [*acts, *self._acts(f"{_SELECT_GROUPS} WHERE {within} AND {named.format('g')}", given)]

    def recent(self, *, scope: Scope, limit: int, before: ActId | None = None) -> Sequence[Act]:
        """Return the latest acts of exactly this scope, newest first, a group as one; or those before one."""
        number = self._scopes.find(scope)
        earlier = "" if before is None else f"AND key < {_FIRST_KEY}"
        sql = (
            f"SELECT part_of IS NULL, coalesce(part_of, key) FROM acts WHERE scope = ?1 {earlier} "
            "GROUP BY 1, 2 ORDER BY max(key) DESC LIMIT ?2"
        )
        given = (number, limit) if before is None else (number, limit, before)
        rows: list[Any] = self._connection.execute(sql, given).fetchall()
        return [self._one(number, key, is_single=bool(is_single)) for is_single, key in rows]

    def latest_of(self, memory_id: MemoryId, *, scope: Scope) -> Act | None:
        """Return the last act that changed a memory, stands and is no undo."""
        sql = "SELECT DISTINCT act FROM history WHERE memory_id = ? AND act IS NOT NULL ORDER BY act DESC"
        number = self._scopes.find(scope)
        rows: list[Any] = self._connection.execute(sql, (memory_id,)).fetchall()
        found = (self._one(number, key, is_single=True) for (key,) in rows)
        return next((one for one in found if one.can_be_undone), None)

    def latest_by(self, actor: Actor, *, scope: Scope) -> Act | None:
        """Return the last act or group of an actor that stands and is no undo."""
        sql = (
            "SELECT a.key, a.part_of FROM acts a LEFT JOIN act_groups g ON g.key = a.part_of "
            "WHERE a.scope = ? AND a.action <> 'undo' AND coalesce(g.actor, a.actor) = ? "
            "AND coalesce(g.actor_kind, a.actor_kind) = ? ORDER BY a.key DESC LIMIT ? OFFSET ?"
        )
        number, offset = self._scopes.find(scope), 0
        while True:
            given = (number, actor.name, actor.kind, _BATCH, offset)
            rows: list[Any] = self._connection.execute(sql, given).fetchall()
            for key, group in rows:
                if self._stands(key):
                    return self._one(number, key if group is None else group, is_single=group is None)
            if len(rows) < _BATCH:
                return None
            offset += _BATCH

    def parts(self, act_id: ActId, *, scope: Scope) -> Sequence[Act]:
        """Return what a group consists of in a scope and still stands, or the one act itself."""
        of = "a.id = ?2 OR a.part_of = (SELECT key FROM act_groups WHERE id = ?2)"
        found = self._acts(f"{_SELECT} WHERE a.scope = ?1 AND ({of})", (self._scopes.find(scope), act_id))
        return [one for one in found if one.undone_by is None]

    def by_ids(self, act_ids: Sequence[ActId]) -> Sequence[Act]:
        """Return these acts, the one whose changes end last first."""
        where = f"WHERE a.id IN (SELECT value FROM json_each(?)) ORDER BY {_LAST_KEY} DESC, a.key DESC"
        return self._acts(f"{_SELECT} {where}", (to_json(list(act_ids)),))

    def events(self, act_id: ActId) -> Sequence[HistoryEvent]:
        """Return what an act did to memories, in order."""
        sql = f"{EVENTS} WHERE h.act = ? ORDER BY h.key"
        return history_events(self._connection.execute(sql, (self._key(act_id),)).fetchall())

    def later_events(self, act_id: ActId) -> Sequence[HistoryEvent]:
        """Return what happened to the same memories after the act, in order, as far as it still stands."""
        act = self._key(act_id)
        found = history_events(self._connection.execute(_LATER, (act,)).fetchall())
        standing = {one for one in {event.act for event in found} if one and self._counts(one, after=act)}
        return [event for event in found if event.act in standing]

    def links(self, act_id: ActId) -> Sequence[EdgeChange]:
        """Return what an act did to links, in order."""
        rows: list[Any] = self._connection.execute(_LINKS, (self._key(act_id),)).fetchall()
        with corrupt_on_error("edge_history"):
            return [
                EdgeChange(
                    source=source,
                    target=target,
                    type=EdgeType(kind),
                    old_weight=old,
                    old_created_at=optional_from_microseconds(old_at),
                    new_weight=new,
                    number=number,
                )
                for source, target, kind, old, old_at, new, number in rows
            ]

    def later_link_acts(self, change: EdgeChange) -> Sequence[ActId]:
        """Return the acts that changed the same link after that and still stand, in order."""
        named = (change.number, change.source, change.target, change.type)
        rows: list[Any] = self._connection.execute(_LATER_LINKS, named).fetchall()
        after: int = single_value(
            self._connection, "SELECT act FROM edge_history WHERE key = ?", (change.number,)
        )
        return [one for (one,) in rows if self._counts(one, after=after)]

    def mark_undone(self, act_ids: Sequence[ActId], *, by: ActId) -> None:
        """Note that an act has undone others; an undo that is undone itself does not count."""
        undo = self._key(by)
        rows = [(self._key(one), undo) for one in act_ids]
        self._connection.executemany("INSERT INTO undone_acts (act, undo) VALUES (?, ?)", rows)

    def undid(self, act_id: ActId) -> Sequence[ActId]:
        """Return what an act has undone, the latest first."""
        sql = "SELECT a.id FROM undone_acts u JOIN acts a ON a.key = u.act WHERE u.undo = ?"
        rows = self._connection.execute(f"{sql} ORDER BY a.key DESC", (self._key(act_id),))
        return [one for (one,) in rows]

    def open_gaps(self, act_id: ActId) -> None:
        """Open the questions again that an act has closed."""
        sql = "UPDATE gaps SET closed_at = NULL, closed_by = NULL WHERE closed_act = ?"
        self._connection.execute(sql, (self._key(act_id),))

    def close_gaps(self, act_id: ActId, *, at: datetime, by: ActorKind) -> None:
        """Close the questions again that an act had closed before it was undone."""
        sql = "UPDATE gaps SET closed_at = ?, closed_by = ? WHERE closed_act = ? AND closed_at IS NULL"
        self._connection.execute(sql, (to_microseconds(at), by, self._key(act_id)))

    # --- words that others have lost ------------------------------------------------------------------------

    def keep_words(self, words: WithdrawnWords, *, scope: Scope) -> None:
        """Set aside what a memory loses with this write, until the act is undone or the words are erased."""
        act = self.open_key(self._scopes.make(scope))
        sql = f"INSERT OR IGNORE INTO withdrawn_words VALUES (?, {_KEY}, ?, ?)"
        self._connection.execute(sql, (act, words.memory_id, words.answers, to_json(words.refers_to)))

    def kept_words(self, act_id: ActId) -> Sequence[WithdrawnWords]:
        """Return what was set aside with an act."""
        sql = (
            "SELECT m.id, w.answers, w.refers_to FROM withdrawn_words w JOIN memories m ON m.key = w.memory "
            "WHERE w.act = ? ORDER BY w.memory"
        )
        rows: list[Any] = self._connection.execute(sql, (self._key(act_id),)).fetchall()
        return [
            WithdrawnWords(memory_id=memory, answers=answers, refers_to=tuple(from_json(refers_to)))
            for memory, answers, refers_to in rows
        ]

    def drop_words(self, *, scope: Scope) -> None:
        """Let go of what this write has set aside: it cannot be brought back."""
        act = self.open_key(self._scopes.make(scope))
        self._connection.execute("DELETE FROM withdrawn_words WHERE act = ?", (act,))

    # --- reading --------------------------------------------------------------------------------------------

    def _one(self, scope: int | None, key: int, *, is_single: bool) -> Act:
        select = f"{_SELECT} WHERE a.scope = ?1 AND a.key = ?2" if is_single else _SELECT_ONE_GROUP
        return self._acts(select, (scope, key))[0]

    def _acts(self, sql: str, named: Sequence[Any]) -> list[Act]:
        rows: list[Any] = self._connection.execute(sql, named).fetchall()
        with corrupt_on_error("acts"):
            return [
                Act(
                    id=act_id,
                    at=from_microseconds(at),
                    action=Action(action),
                    actor=Actor(name=actor, kind=ActorKind(kind)),
                    memories=memories,
                    undone_by=self._all_undone_by(from_json(keys)),
                )
                for act_id, at, action, actor, kind, memories, keys in rows
            ]

    def _all_undone_by(self, acts: Sequence[int]) -> ActId | None:
        """Return the undo that undid the last of these, where all of them are undone."""
        found = [self._undone_by(act) for act in acts]
        return None if None in found or not found else found[-1]

    def _undone_by(self, act: int) -> ActId | None:
        """Return the undo that holds an act undone, if one does: none that was undone in turn."""
        sql = "SELECT u.undo, a.id FROM undone_acts u JOIN acts a ON a.key = u.undo WHERE u.act = ?"
        rows: list[Any] = self._connection.execute(sql, (act,)).fetchall()
        return next((name for undo, name in rows if self._stands(undo)), None)

    def _stands(self, act: int) -> bool:
        return self._undone_by(act) is None

    def _counts(self, act_id: ActId, *, after: int | None) -> bool:
        """Return whether an act stands and changed what was there: no undo of what came later, too."""
        act = self._key(act_id)
        if act is None or after is None or not self._stands(act):
            return False
        sql = "SELECT min(act) FROM undone_acts WHERE undo = ?"
        first: Any = self._connection.execute(sql, (act,)).fetchall()[0][0]
        return first is None or first < after

    def _key(self, act_id: ActId) -> int | None:
        row = self._connection.execute("SELECT key FROM acts WHERE id = ?", (act_id,)).fetchone()
        return None if row is None else row[0]
