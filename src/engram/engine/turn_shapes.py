"""
What a turn is made of: who asked for it, what it was given, what came of it.

Passed between `Engram.turn`, the `with` block and the steps in `lifecycle`; frozen, without behaviour of
their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.values import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.attention.mind import Message
    from engram.attention.momentum import Momentum
    from engram.values import Recall, Scope, Slot, TopicShift, Turn, Window, WorkingMemory


class TurnKind(StrEnum):
    """Who runs the agent; every one of them gets the whole lifecycle."""

    CHAT = "chat"
    TASK = "task"
    CRON = "cron"
    ORCHESTRATOR = "orchestrator"
    SWARM = "swarm"
    FLOW = "flow"

    @property
    def role(self) -> Role:
        """Whose words the message is: a person's, another agent's, or those of a schedule."""
        if self in (TurnKind.CHAT, TurnKind.TASK):
            return Role.USER
        return Role.SYSTEM if self in (TurnKind.CRON, TurnKind.FLOW) else Role.ASSISTANT


class Ended(StrEnum):
    """How a turn ended, as the audit has it."""

    DONE = "done"
    FAILED = "failed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What a turn was asked for with, scope and session resolved."""

    message: str
    scope: Scope
    kind: TurnKind = TurnKind.CHAT
    agent: str | None = None
    model: str | None = None
    session: str | None = None
    speaker: str | None = None
    history: Sequence[Turn | Mapping[str, str]] | None = None
    fixed: str | Sequence[str] = ()
    reserve: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """Something that came up in a turn."""

    role: Role
    text: str
    speaker: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Begun:
    """A turn that is under way, named by the id of its stored message."""

    id: str
    request: TurnRequest
    message: Message
    working: WorkingMemory
    shift: TopicShift
    recall: Recall
    window: Window
    sensory: tuple[Slot, ...] = ()
    """What was said a while ago, to be kept in mind."""
    is_anticipated: bool = False
    """Whether the recall had been prepared."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expected:
    """What the next recall is prepared from."""

    text: str
    momentum: Momentum
    limit: int
    """How many memories the last window asked for, and the next may."""
