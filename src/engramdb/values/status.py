"""The status machine of a memory: which status may follow which, and who may change it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from engramdb.errors import StatusNotAllowed


class Status(StrEnum):
    """Where a memory stands. Only `active` is recalled by default."""

    ACTIVE = "active"
    CHALLENGED = "challenged"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    INVALIDATED = "invalidated"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"
    PRUNED = "pruned"
    ERASED = "erased"

    @property
    def is_terminal(self) -> bool:
        """Whether only a person may bring the memory back."""
        return self not in (Status.ACTIVE, Status.CHALLENGED)

    @property
    def is_indexed(self) -> bool:
        """Whether the text and vector indexes still hold the memory."""
        return self not in (Status.FORGOTTEN, Status.PRUNED, Status.ERASED)


class ActorKind(StrEnum):
    """Who stands behind a change."""

    PERSON = "person"
    AGENT = "agent"
    RULE = "rule"


class Actor(Struct, frozen=True, kw_only=True):
    """The one who changes something: a person, an agent that acts for one, or a rule of ours."""

    name: str = "user"
    """What the one is called."""
    kind: ActorKind = ActorKind.PERSON
    """Whether it is a person, an agent or a rule."""


BELIEVED = frozenset({Status.ACTIVE, Status.CHALLENGED})
"""What is held to be true, the disputed included."""
_GOING = frozenset({Status.ARCHIVED, Status.PRUNED, Status.ERASED})
_REPLACED = frozenset({Status.SUPERSEDED, Status.MERGED, Status.INVALIDATED})

RULE_MOVES: dict[Status, frozenset[Status]] = {
    Status.ACTIVE: _GOING | _REPLACED | {Status.CHALLENGED, Status.FORGOTTEN},
    Status.CHALLENGED: _GOING | _REPLACED | {Status.ACTIVE, Status.FORGOTTEN},
    Status.SUPERSEDED: _GOING,
    Status.MERGED: _GOING,
    Status.INVALIDATED: _GOING,
    Status.ARCHIVED: frozenset({Status.PRUNED, Status.ERASED}),
    Status.FORGOTTEN: frozenset({Status.ERASED}),
    Status.PRUNED: frozenset({Status.ERASED}),
    Status.ERASED: frozenset(),
}


def check_move(old: Status, new: Status, *, actor: Actor, reason: str) -> None:
    """Raise `StatusNotAllowed` unless this actor may make this move."""
    if old is new:
        raise StatusNotAllowed(f"the memory is already {old}")
    if old is Status.ERASED:
        raise StatusNotAllowed(f"an erased memory cannot become {new}: nothing is left of it")
    if actor.kind is ActorKind.RULE and new not in RULE_MOVES[old]:
        raise StatusNotAllowed(
            f"a rule may not turn {old} into {new}", hint="Only a person can bring it back."
        )
    if old.is_terminal and not new.is_terminal and not reason.strip():
        raise StatusNotAllowed(f"bringing a memory back from {old} needs a reason", hint="Give reason='…'.")
