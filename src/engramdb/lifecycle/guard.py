"""
What may be done to a memory that is guarded, that is pinned or about health, and by whom.

A person may do anything. An agent may read it, add to it and dispute it; whatever takes away the memory, its
guard or a dispute about it waits for the person. Rules have limits of their own: aging, dreams, settling.
"""

from __future__ import annotations

from engramdb.errors import AccessDenied
from engramdb.text.guarded import is_guarded
from engramdb.values import BELIEVED, Actor, ActorKind, Memory, Status


def may_replace(memory: Memory, actor: Actor) -> bool:
    """Return whether a memory may go on somebody's word."""
    return actor.kind is ActorKind.PERSON or not is_guarded(memory)


def may_move(memory: Memory, status: Status, actor: Actor) -> bool:
    """Return whether a memory may get a status on somebody's word; anybody may dispute and bring back."""
    is_return = status is Status.ACTIVE and memory.status not in BELIEVED
    return status is Status.CHALLENGED or is_return or may_replace(memory, actor)


def refuse_agent(memory: Memory, actor: Actor, doing: str) -> None:
    """Raise `AccessDenied` where an agent is about to do to a guarded memory what only a person may."""
    if actor.kind is not ActorKind.AGENT or not is_guarded(memory):
        return
    why = "pinned" if memory.pinned else "about health"
    raise AccessDenied(
        f"memory {memory.id} is {why}: only the person may {doing} it, not an agent",
        hint="Tell the user, who can do it with the `engram` command or on the page. To say that it is wrong "
        "use `correct`: it then counts as disputed until the user answers.",
        reason="guarded",
    )
