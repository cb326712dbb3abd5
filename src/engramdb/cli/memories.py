"""Commands on memories: remember, get, list, correct, forget, pin, history, links."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from engramdb.cli.options import (
    Limit,
    MemoryId,
    Narrowing,
    Reason,
    Shared,
    Text,
    among,
    given_text,
    moment,
    moment_or_duration,
)
from engramdb.cli.output import (
    dim,
    feedbacks,
    indented,
    minute,
    one_line,
    out,
    present,
    short,
    show_lines,
    show_memory,
    talk,
    warning,
)
from engramdb.recall.fuse import SUPPRESS_DAYS
from engramdb.text.pii import is_withheld
from engramdb.values import (
    Edge,
    EdgeType,
    HistoryEvent,
    Kind,
    Layer,
    Memory,
    MemoryType,
    SecurityTier,
    Source,
    Status,
)
from engramdb.verbs.shared import hidden_scope

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


# Say what became of a statement that was given: new, known already, in place of another, or against one.

_UNDER = " " * 12
_TOLD = {EdgeType.SUPERSEDES: "in place of", EdgeType.CONTRADICTS: "disputes"}
_TIERS = {
    SecurityTier.SENSITIVE: "stored as sensitive (personal): left out of notebooks and exports",
    SecurityTier.CONFIDENTIAL: "stored as confidential (a secret): left out of files and most prompts",
}
_FLAGS = {"injection": "reads like an instruction to an agent: kept out of automatic context"}


def look_beside(engram: Engram, memory: Memory) -> list[tuple[EdgeType, Memory]]:
    """Return the memories that this one replaced or disputes; none where it was known already."""
    if memory.reinforcements:
        return []
    return [
        (edge.type, engram.get(edge.target))
        for edge in engram.links(memory.id)
        if edge.source == memory.id and edge.type in _TOLD
    ]


def show_stored(memory: Memory, beside: Sequence[tuple[EdgeType, Memory]] = ()) -> None:
    """Show what became of a statement."""
    if memory.reinforcements:
        done = f"reinforced ({memory.reinforcements}×)"
    else:
        done = "remembered" if memory.status is Status.ACTIVE else f"stored as {memory.status}"
    out(f"{done} {short(memory.id)}  {one_line(memory.content)}")
    for relation, other in beside:
        out(_UNDER + dim(f"{_TOLD[relation]} {short(other.id)}  {one_line(other.content)}"))
    if memory.security in _TIERS and is_withheld(memory.content, memory.security):
        out(_UNDER + warning(_TIERS[memory.security]))
    for flag in memory.flags:
        out(_UNDER + warning(_FLAGS.get(flag, flag)))
    if memory.reinforcements:
        out(_UNDER + dim("known already; nothing new was stored"))


# Say that other scopes hold memories.


def elsewhere(engram: Engram) -> str | None:
    """Return a line about memories that the command's scope does not see, if there are any."""
    name = hidden_scope(engram.status().by_scope, engram.scope)
    if name is None:
        return None
    return f"Other scopes hold memories, such as {one_line(name)}; `engram status` lists them."


# `engram remember`: store one statement.


def remember(
    shared: Shared,
    text: Text,
    *,
    category: Annotated[str, typer.Option(metavar="NAME", help="Such as fact or preference.")] = "general",
    importance: Annotated[float | None, typer.Option(metavar="SHARE", help="From 0 to 1.")] = None,
    confidence: Annotated[float | None, typer.Option(metavar="SHARE", help="From 0 to 1.")] = None,
    layer: Annotated[
        Layer, typer.Option(metavar="NAME", help=among("How long it is meant to live", Layer))
    ] = Layer.EPISODIC,
    type: Annotated[  # noqa: A002 - the word users know
        MemoryType, typer.Option(metavar="NAME", help=among("What it holds", MemoryType))
    ] = MemoryType.FACT,
    kind: Annotated[
        Kind, typer.Option(metavar="NAME", help=among("Happened once, or holds until replaced", Kind))
    ] = Kind.NOTE,
    source: Annotated[
        Source, typer.Option(metavar="NAME", help=among("Where it came from", Source))
    ] = Source.HUMAN,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation.")] = None,
    occurred_at: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=moment, help="When it happened (ISO 8601).")
    ] = None,
    forget_after: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", parser=moment_or_duration, help="A time, or 12h, 30d, 8w from now."),
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Keep it from every automatic loss.")] = False,
) -> None:
    """
    Store one statement; one that is already known becomes stronger.

    Example: engram remember "The API uses JWT tokens" --category fact --importance 0.8
    """
    content = given_text(text)
    with shared.open_or_create() as engram:
        memory = engram.remember(
            content,
            category=category,
            importance=importance,
            confidence=confidence,
            layer=layer,
            type=type,
            kind=kind,
            source=source,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            forget_after=forget_after,
            pinned=pinned,
        )
        beside = [] if shared.json else look_beside(engram, memory)

    present(memory, lambda stored: show_stored(stored, beside), as_json=shared.json)


# `engram get`: show one memory.


def get(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show one memory with everything that is known about it.

    Example: engram get 3f2a9c1b
    """
    with shared.open_existing() as engram:
        memory = engram.get(memory_id)

    present(memory, show_memory, as_json=shared.json)


# `engram list`: show memories, newest first.


def list_memories(
    narrowing: Narrowing,
    shared: Shared,
    *,
    limit: Limit = 50,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Only those older than this one.")] = None,
) -> None:
    """
    Show memories, newest first.

    Example: engram list --limit 20 --category preference
    """
    with shared.open_existing() as engram:
        memories = engram.list(limit=limit, before=before, filters=narrowing.filters)
        beyond = None if memories else elsewhere(engram)

    present(memories, show_lines, as_json=shared.json)
    if not memories:
        talk("There are no such memories.")
        if beyond is not None:
            talk(beyond)
    elif len(memories) == limit and not shared.json:
        talk(f"There may be more: engram list --before {short(memories[-1].id)}")


# `engram correct`: put a new statement in the place of an old one.


def correct(shared: Shared, memory_id: MemoryId, text: Text, *, reason: Reason = "") -> None:
    """
    Put a new statement in the place of an old one.

    Example: engram correct 3f2a9c1b "The API uses session cookies" --reason "changed in May"
    """
    content = given_text(text)
    with shared.open_existing() as engram:
        memory = engram.correct(memory_id, content, reason=reason)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    replaced = f" in place of {short(memory.supersedes)}" if memory.supersedes else ""
    out(f"corrected {short(memory.id)}{replaced}  {one_line(memory.content)}")


# `engram forget`: take a memory out of every index.


def forget(shared: Shared, memory_id: MemoryId, *, reason: Reason = "") -> None:
    """
    Forget a memory: it is gone from every answer at once.

    Example: engram forget 3f2a9c1b --reason "no longer true"
    """
    with shared.open_existing() as engram:
        memory = engram.forget(memory_id, reason=reason)

    present(memory, _show_forget, as_json=shared.json)


def _show_forget(memory: Memory) -> None:
    out(f"forgot {short(memory.id)}  {one_line(memory.content)}")


# `engram pin` and `engram unpin`: keep a memory from every automatic loss, or let it age again.


def pin(shared: Shared, memory_id: MemoryId) -> None:
    """
    Keep a memory from every automatic loss.

    Example: engram pin 3f2a9c1b
    """
    with shared.open_existing() as engram:
        memory = engram.pin(memory_id)

    present(memory, _show_pin, as_json=shared.json)


def unpin(shared: Shared, memory_id: MemoryId) -> None:
    """
    Let a memory age again.

    Example: engram unpin 3f2a9c1b
    """
    with shared.open_existing() as engram:
        memory = engram.unpin(memory_id)

    present(memory, _show_pin, as_json=shared.json)


def _show_pin(memory: Memory) -> None:
    out(f"{'pinned' if memory.pinned else 'unpinned'} {short(memory.id)}  {one_line(memory.content)}")


# `engram promote` and `engram demote`: put a memory into another layer by hand.

Into = Annotated[
    Layer | None, typer.Option(metavar="NAME", help=among("Into this layer instead of the next", Layer))
]


def promote(shared: Shared, memory_id: MemoryId, *, layer: Into = None, reason: Reason = "") -> None:
    """
    Put a memory one layer up, from working to episodic to semantic, where rules leave it.

    Example: engram promote 3f2a9c1b --reason "we rely on this"
    """
    with shared.open_existing() as engram:
        memory = engram.promote(memory_id, layer=layer, reason=reason)

    present(memory, _show_promote, as_json=shared.json)


def demote(shared: Shared, memory_id: MemoryId, *, layer: Into = None, reason: Reason = "") -> None:
    """
    Put a memory one layer down, from semantic to episodic to working, where rules leave it.

    Example: engram demote 3f2a9c1b --layer episodic
    """
    with shared.open_existing() as engram:
        memory = engram.demote(memory_id, layer=layer, reason=reason)

    present(memory, _show_promote, as_json=shared.json)


def _show_promote(memory: Memory) -> None:
    out(f"{memory.layer} from now on: {short(memory.id)}  {one_line(memory.content)}")


# `engram restore`: bring back what a rule removed.


def restore(shared: Shared, memory_id: MemoryId, *, reason: Reason = "") -> None:
    """
    Bring back what a rule archived, forgot or pruned.

    Example: engram restore 3f2a9c1b --reason "still true"
    """
    with shared.open_existing() as engram:
        memory = engram.restore(memory_id, reason=reason)

    present(memory, _show_restore, as_json=shared.json)


def _show_restore(memory: Memory) -> None:
    out(f"restored {short(memory.id)}  {one_line(memory.content)}")


# `engram set-status`: move a memory to another status by hand.


def set_status(
    shared: Shared,
    memory_id: MemoryId,
    status: Annotated[Status, typer.Argument(metavar="STATUS", help=among("The new one", Status))],
    *,
    reason: Reason = "",
) -> None:
    """
    Move a memory to another status, with a reason for its history.

    Example: engram set-status 3f2a9c1b active --reason "it is true after all"
    """
    with shared.open_existing() as engram:
        memory = engram.set_status(memory_id, status, reason=reason)

    present(memory, _show_set_status, as_json=shared.json)


def _show_set_status(memory: Memory) -> None:
    out(f"{memory.status} {short(memory.id)}  {one_line(memory.content)}")


# `engram history`: show what happened to a memory.

ID_LENGTH = 36
_UNDER_HISTORY = " " * 19


def history(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show everything that happened to a memory, oldest first.

    Example: engram history 3f2a9c1b
    """
    with shared.open_existing() as engram:
        events = engram.history(memory_id)

    present(events, _show_history, as_json=shared.json)


def _show_history(events: Sequence[HistoryEvent]) -> None:
    for event in events:
        moved = f"{event.old_status or 'new'} → {event.new_status}" if event.new_status else ""
        changed = [_changed(name, old, new) for name, (old, new) in event.changes.items()]
        what = "; ".join(part for part in (moved, ", ".join(changed), event.reason) if part)
        first = f"{dim(minute(event.at))}  {event.action:<10}  by {one_line(event.actor.name)}  "
        out(indented(first, one_line(what), indent=_UNDER_HISTORY).rstrip())


def _changed(name: str, old: object, new: object) -> str:
    """Return what became of a field; one that was empty before has no old value to show."""
    field = name.replace("_", " ")
    if new is None:
        return f"no {field}" if old is None else f"no {field} any more"
    return f"{field} {_told(new)}" if old is None else f"{field} {_told(old)} → {_told(new)}"


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str):
        return _told_text(value)
    return str(value)


def _told_text(text: str) -> str:
    """Return a moment to the minute, an id by its end, and any other text as it is."""
    if len(text) == ID_LENGTH and text.count("-") == 4:
        return short(text)
    if "T" in text and text[:4].isdigit():
        with suppress(ValueError):
            return minute(datetime.fromisoformat(text))
    return text


# `engram relate`, `engram unrelate` and `engram links`: say how two memories relate, and see it.
#
# Call the engine's verbs of the same names. Recall follows such a link at once.


class Relation(StrEnum):
    """What the first memory is to the other."""

    RELATED_TO = "related_to"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    CAUSED_BY = "caused_by"
    INSTANCE_OF = "instance_of"


Other = Annotated[str, typer.Argument(metavar="OTHER", help="The other memory's id.")]
As = Annotated[Relation, typer.Option("--as", metavar="RELATION", help=f"One of {', '.join(Relation)}.")]


def relate(
    shared: Shared,
    memory_id: MemoryId,
    other: Other,
    *,
    relation: As = Relation.RELATED_TO,
    weight: Annotated[float, typer.Option(help="How close, from 0 to 1.")] = 1.0,
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = "",
) -> None:
    """
    Say how a memory relates to another.

    Example: engram relate 3f2a9c1b 77d0e4a2 --as caused_by
    """
    with shared.open_existing() as engram:
        edge = engram.relate(memory_id, other, type=EdgeType(relation), weight=weight, reason=reason)

    present(edge, lambda edge: out(_words(edge)), as_json=shared.json)


def unrelate(
    shared: Shared, memory_id: MemoryId, other: Other, *, relation: As = Relation.RELATED_TO
) -> None:
    """
    Take back that a memory relates to another.

    Example: engram unrelate 3f2a9c1b 77d0e4a2 --as caused_by
    """
    with shared.open_existing() as engram:
        was_there = engram.unrelate(memory_id, other, type=EdgeType(relation))

    present(
        was_there, lambda was: out("taken away" if was else "there was no such link"), as_json=shared.json
    )


def links(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show what a memory is linked to, by whom it may have been: a person, the write pipeline or a dream.

    Example: engram links 3f2a9c1b
    """
    with shared.open_existing() as engram:
        edges = engram.links(memory_id)
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        texts = {end: engram.get(end).content for end in ends}

    def show(edges: Sequence[Edge]) -> None:
        for edge in edges:
            out(f"{_words(edge)}  {one_line(texts[edge.source])} → {one_line(texts[edge.target])}")
        if not edges:
            out("nothing")

    present(edges, show, as_json=shared.json)


def _words(edge: Edge) -> str:
    return f"{short(edge.source)} {edge.type} {short(edge.target)}"


# `engram feedback`: say whether a memory helped.


def feedback(
    shared: Shared,
    memory_id: MemoryId,
    *,
    helpful: Annotated[
        bool | None, typer.Option("--helpful/--unhelpful", help="Whether it helped; one must be said.")
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            "--question", "--query", metavar="TEXT", help="Which one; kept as a fingerprint, not as words."
        ),
    ] = None,
) -> None:
    """
    Say whether a memory helped, and for which question.

    Example: engram feedback 3f2a9c1b --unhelpful --question "which editor do I use?"
    """
    if helpful is None:
        raise typer.BadParameter("say --helpful or --unhelpful")
    asked = None if question is None else given_text(question)
    with shared.open_existing() as engram:
        memory = engram.feedback(memory_id, helpful=helpful, query=asked)

    present(memory, _show_feedback, as_json=shared.json)
    if not helpful and question is not None:
        days = SUPPRESS_DAYS
        talk(f"Such questions do not find it for {days:g} days; others do.")


def _show_feedback(memory: Memory) -> None:
    out(f"{feedbacks(memory)}: {short(memory.id)}  {one_line(memory.content)}")
