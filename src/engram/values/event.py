"""
What happened: the history of one memory and the audit trail of the whole store.

Written in the same transaction as the change they describe. Neither ever holds memory text, so
erasing a memory does not have to rewrite them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from engram.values.status import Actor, Status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from engram.values.ids import MemoryId


class Action(StrEnum):
    """The verbs that change a store."""

    OBSERVE = "observe"
    REMEMBER = "remember"
    REINFORCE = "reinforce"
    CORRECT = "correct"
    SUPERSEDE = "supersede"
    WEAKEN = "weaken"
    REJECT = "reject"
    EXTRACT = "extract"
    COUNT = "count"
    FORGET = "forget"
    RESTORE = "restore"
    PROMOTE = "promote"
    DEMOTE = "demote"
    AGE = "age"
    ERASE = "erase"
    FEEDBACK = "feedback"
    FOREIGN_INDEX = "foreign_index"
    PIN = "pin"
    UNPIN = "unpin"
    RELABEL = "relabel"
    SET_STATUS = "set_status"
    RELATE = "relate"
    UNRELATE = "unrelate"
    REBUILD = "rebuild"
    BACK_UP = "back_up"
    DREAM = "dream"
    DERIVE = "derive"
    MERGE = "merge"
    UNMERGE = "unmerge"
    TURN = "turn"
    SHELVE = "shelve"
    UNSHELVE = "unshelve"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One change of one memory; `changes` maps a field to its old and new value, never to text."""

    memory_id: MemoryId
    at: datetime
    action: Action
    actor: Actor = Actor()
    old_status: Status | None = None
    new_status: Status | None = None
    reason: str = ""
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """Who did what, when; `target` is an id and `detail` holds counts and reasons only."""

    number: int | None = field(default=None, compare=False)
    """Its place in the trail, given by the store: `audit(before=…)` tells what came before it."""

    at: datetime
    action: Action
    actor: Actor = Actor()
    target: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
