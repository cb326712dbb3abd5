"""
Make rows of a damaged file readable again, column by column.

A word that lost a letter is the word that it can only have been. What else makes no sense gets its default;
where a default could make something known, trusted or found again, the careful choice is taken instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import apsw

from engramdb.errors import InvalidScope, StoreCorrupt
from engramdb.store.sqlite.acts import EVENTS, history_events
from engramdb.store.sqlite.connection import NOT_A_VALUE
from engramdb.store.sqlite.rows import (
    COLUMNS,
    DECODERS,
    SELECTED,
    from_microseconds,
    from_row,
    spans_from_json,
    to_json,
    to_microseconds,
    to_row,
)
from engramdb.store.sqlite.turns import SELECT_TURNS, turn_from_row
from engramdb.values import Action, ActorKind, EdgeType, Memory, Role, Scope, SecurityTier, Source, Status
from engramdb.values.memory import QUARANTINED, Voice
from engramdb.values.privacy import PiiKind, PiiSpan

_CAREFUL: Final[Mapping[str, Any]] = {
    "status": Status.ARCHIVED,
    "security": SecurityTier.CONFIDENTIAL,
    "source": Source.INGEST,
    "voice": Voice.QUOTED,
    "flags": to_json([QUARANTINED]),
    "fingerprint": bytes(32),
    "change": 0,
    "role": Role.TOOL,
    "private": to_json([PiiSpan(0, 0, PiiKind.CREDENTIAL)]),  # somewhere in it
}
"""Instead of the defaults: nothing is brought back, shown or believed because a letter was lost."""
_NEEDED = frozenset({"id", "content", "scope", "key"})
"""Without one of these a row says nothing."""
_TIMES = ("created_at", "updated_at", "occurred_at")
_FRACTIONS = frozenset({"confidence", "importance"})
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (float, int),
    "BLOB": (bytes,),
}
_MAX_LETTERS = 2
"""A word that differs in more places is another one."""
_DEED: Final[Mapping[str, Callable[[Any], Any]]] = {"action": Action, "actor_kind": ActorKind}
_DECODERS: Final[Mapping[str, Mapping[str, Callable[[Any], Any]]]] = {
    "memories": DECODERS,
    "turns": {
        "role": Role,
        "occurred_at": from_microseconds,
        "created_at": from_microseconds,
        "private": spans_from_json,
    },
    "history": {**_DEED, "old_status": Status, "new_status": Status},
    "acts": _DEED,
    "act_groups": _DEED,
    "audit": _DEED,
    "edges": {"type": EdgeType},
    "edge_history": {"type": EdgeType},
}
"""How columns are read, by table; those that are taken as they are, are not here."""


class Mender:
    """Mends the rows of one table."""

    def __init__(self, table: str, described: Sequence[Sequence[Any]], now: datetime) -> None:
        """`described` is what `PRAGMA table_info` says of the table."""
        self._columns = [str(row[1]) for row in described]
        self._kinds = [_KINDS.get(str(row[2]).upper(), (object,)) for row in described]
        self._is_needed = [bool(row[3]) for row in described]
        self._is_scopes = table == "scopes"
        self._decoders = _DECODERS.get(table)
        self._has_defaults = table in ("memories", "turns")
        self._now = to_microseconds(now)
        self._defaults = {**dict(zip(COLUMNS, to_row(_plain(now)), strict=True)), **_CAREFUL}
        self.mended: set[str] = set()
        """The ids of memories and turns that are not as they were."""

    def mend(self, row: Sequence[Any]) -> Sequence[Any]:
        """Return the row as it can be read, as far as that is possible."""
        if self._is_scopes:
            return self._scope(row)
        return row if self._decoders is None else self._mended(row, self._decoders)

    def _scope(self, row: Sequence[Any]) -> Sequence[Any]:
        got = dict(zip(self._columns, row, strict=True))
        for part in Scope.__struct_fields__:
            try:
                Scope(**{part: got[part] or None})
            except (InvalidScope, TypeError):
                got[part] = f"salvaged-{got['id']}"
        return tuple(got.values())

    def _mended(self, row: Sequence[Any], decoders: Mapping[str, Callable[[Any], Any]]) -> Sequence[Any]:
        got = dict(zip(self._columns, row, strict=True))
        lettered = [name for name in _NEEDED if isinstance(got.get(name), bytes)]
        for name in lettered:  # a flipped bit in its type makes bytes of a text
            got[name] = got[name].decode("utf-8", "replace")
        wrong = [
            name
            for name, kinds, is_needed in zip(self._columns, self._kinds, self._is_needed, strict=True)
            if name not in _NEEDED and not _makes_sense(name, got[name], kinds, is_needed, decoders.get(name))
        ]
        for name in wrong:
            got[name] = self._instead(name, got, wrong, decoders.get(name))
        if (wrong or lettered) and self._has_defaults:
            self.mended.add(str(got["id"]))
        return tuple(got.values())

    def _instead(
        self, name: str, got: Mapping[str, Any], wrong: Sequence[str], decode: Callable[[Any], Any] | None
    ) -> Any:
        word = got[name]
        if isinstance(decode, type) and issubclass(decode, StrEnum) and isinstance(word, str):
            near = [
                one for one in decode if len(one) == len(word) and _differences(one, word) <= _MAX_LETTERS
            ]
            if len(near) == 1:
                return str(near[0])
        if not self._has_defaults:
            return None
        if name in _TIMES and self._is_needed[self._columns.index(name)]:
            others = [got.get(one) for one in _TIMES if one not in wrong]
            return next((one for one in others if one is not None), self._now)
        return self._defaults.get(name)


def _makes_sense(
    name: str, value: Any, kinds: tuple[type, ...], is_needed: bool, decode: Callable[[Any], Any] | None
) -> bool:
    if value is None:
        return not is_needed
    if not isinstance(value, kinds):
        return False
    if name in _FRACTIONS and isinstance(value, (int, float)) and not 0 <= value <= 1:
        return False
    if decode is bool:
        return value in (0, 1)
    try:
        if decode is not None:
            decode(value)
    except NOT_A_VALUE:
        return False
    return True


def _differences(one: str, other: str) -> int:
    return sum(mine != theirs for mine, theirs in zip(one, other, strict=True))


def _plain(now: datetime) -> Memory:
    return Memory(id="", content="", created_at=now, updated_at=now)


def drop_unreadable(new: apsw.Connection) -> dict[str, list[str]]:
    """Remove memories, turns and their history that still make no sense, and return the ids by table."""
    new.execute("BEGIN")
    dropped = {table: list(_drop(new, table, *looks)) for table, looks in _LOOKS.items()}
    new.execute("COMMIT")
    return dropped


def _drop(
    new: apsw.Connection, table: str, select: str, decode: Callable[[Sequence[Any]], Any]
) -> Iterator[str]:
    for row in new.execute(select).fetchall():
        try:
            decode(row)
        except (*NOT_A_VALUE, StoreCorrupt):
            new.execute(f"DELETE FROM {table} WHERE key = ?", (row[-1],))
            yield str(row[0])


_LOOKS: Final[Mapping[str, tuple[str, Callable[[Sequence[Any]], Any]]]] = {
    "memories": (f"SELECT {SELECTED}, m.key FROM memories m JOIN scopes s ON s.id = m.scope", from_row),
    "turns": (SELECT_TURNS, turn_from_row),
    "history": (EVENTS.replace(" FROM", ", h.key FROM", 1), lambda row: history_events([row[:-1]])),
}
