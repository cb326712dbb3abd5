"""Tools of the MCP server."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from engramdb.mcp.render import (
    Moment,
    as_data,
    hit_line,
    hit_shape,
    line,
    listed,
    missing_shape,
    moment,
    shape,
    short,
    shortfalls,
)
from engramdb.mcp.tool import Answer, Arguments, MemoryName, Tool, Visit, Why
from engramdb.values import EdgeType, Filters, Memory, Recall, Role, Source
from engramdb.verbs.shared import is_far_off

# The tool `remember`: store one statement.


class Remember(Arguments, frozen=True):
    """One statement and what is known about it."""

    content: Annotated[
        str,
        Meta(description="One self-contained sentence: names instead of pronouns, dates instead of 'today'"),
    ]
    category: Annotated[
        str, Meta(description="fact, preference, decision, instruction, person, project, procedure, …")
    ] = "general"
    from_user: Annotated[bool, Meta(description="True if the user said it; false if you concluded it")] = (
        False
    )
    importance: Annotated[float, Meta(ge=0, le=1, description="0 to 1")] | None = None
    occurred_at: Annotated[Moment | None, Meta(description="When it happened, if not now")] = None
    forget_after: Annotated[Moment | None, Meta(description="When it stops mattering")] = None


def remember(visit: Visit, asked: Remember) -> Answer:
    """
    Store one lasting statement for later conversations: a fact, preference, decision or lesson. Call it
    when you learn something worth knowing next month or the user asks to remember; one call per
    statement. Not for small talk, secrets, or what `recall` just gave you; if a stored memory became
    wrong, use `correct`.
    """
    memory = visit.engram.remember(
        asked.content,
        category=asked.category,
        importance=asked.importance,
        source=Source.HUMAN if asked.from_user else Source.ASSISTANT,
        session=visit.session,
        occurred_at=moment("occurred_at", asked.occurred_at),
        forget_after=moment("forget_after", asked.forget_after),
    )
    return Answer(f"{_what_happened(memory)} {line(memory)}", {"memory": shape(memory)})


def _what_happened(memory: Memory) -> str:
    if memory.reinforcements:
        return "It was known already and counts for more now:"
    if memory.supersedes:
        return "Remembered in place of an older memory:"
    return "Remembered:"


TOOL_REMEMBER = Tool(takes=Remember, does=remember)


# The tool `recall`: ask a question.

NOTHING = "No stored memory fits. That is an answer, not an error: say that you do not know."

FAR_OFF = "None of these fits well; they are only the nearest. The answer may not be known."


class Ask(Arguments, frozen=True):
    """One question and what narrows it."""

    query: Annotated[str, Meta(description="A question or topic, in words that the memory may use")]
    limit: Annotated[int, Meta(ge=1, le=50)] = 8
    category: Annotated[str | None, Meta(description="Only this one")] = None
    since: Annotated[Moment | None, Meta(description="ISO date; only what happened from then on")] = None
    until: Annotated[Moment | None, Meta(description="ISO date; only what happened before")] = None
    as_of: Annotated[Moment | None, Meta(description="ISO date; answer as believed then")] = None


def recall(visit: Visit, asked: Ask) -> Answer:
    """
    Search long-term memory by meaning, words, names and time; best first, with trust. Call it before you
    answer about the user, their projects, people, preferences or anything said earlier, and before you
    ask what may be known. Not for general knowledge or for what this conversation already holds.
    """
    answer = visit.engram.recall(
        asked.query,
        limit=asked.limit,
        filters=Filters(
            categories=frozenset({asked.category} if asked.category else ()),
            since=moment("since", asked.since),
            until=moment("until", asked.until),
        ),
        session=visit.session,
        as_of=moment("as_of", asked.as_of),
    )
    return Answer(in_words(answer), in_values(answer))


def in_words(answer: Recall) -> str:
    """Return an answer as lines, what was missing from it first."""
    found = as_data(hit_line(hit) for hit in answer.hits) or NOTHING
    warned = [FAR_OFF] if is_far_off(answer) else []
    return "\n".join([*shortfalls(answer.quality.missing), *warned, found])


def in_values(answer: Recall) -> dict[str, object]:
    """Return an answer as values."""
    return {"hits": [hit_shape(hit) for hit in answer.hits], "missing": missing_shape(answer.quality.missing)}


TOOL = Tool(takes=Ask, does=recall, reads_only=True)


# The tool `correct`: put a new statement in the place of an old one.


class Correction(Arguments, frozen=True):
    """Which memory, and what is true instead."""

    memory: MemoryName
    content: Annotated[str, Meta(description="The whole statement as it is true now")]
    reason: Why = ""


def correct(visit: Visit, asked: Correction) -> Answer:
    """
    Replace a stored memory that is wrong or out of date. Find it with `recall` first. Prefer this to
    `remember` plus `forget`: the old statement stays in the history and stops being recalled.
    """
    memory = visit.engram.correct(asked.memory, asked.content, reason=asked.reason)
    return Answer(f"Corrected; from now on: {line(memory)}", {"memory": shape(memory)})


TOOL_CORRECT = Tool(takes=Correction, does=correct)


# The tool `forget`: take a memory out of every index.


class Forgetting(Arguments, frozen=True):
    """Which memory, and why."""

    memory: MemoryName
    reason: Why = ""


def forget(visit: Visit, asked: Forgetting) -> Answer:
    """
    Make one memory unfindable at once; only a person can bring it back. Call it when the user asks to
    forget something, or when a memory is rubbish. If it is merely out of date, use `correct`.
    """
    memory = visit.engram.forget(asked.memory, reason=asked.reason)
    # Its words are not repeated: they were to be gone.
    return Answer(f"Forgotten: {short(memory.id)}.", {"id": memory.id, "status": memory.status})


TOOL_FORGET = Tool(takes=Forgetting, does=forget, destroys=True, is_idempotent=True)


# The tool `list`: show memories, newest first.


class Page(Arguments, frozen=True):
    """Which memories."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    before: Annotated[str | None, Meta(description="The last id of the page before, for the next page")] = (
        None
    )
    category: Annotated[str | None, Meta(description="Only this one")] = None
    since: Annotated[Moment | None, Meta(description="ISO date; only what happened from then on")] = None


def list_memories(visit: Visit, asked: Page) -> Answer:
    """
    List memories, newest first, page by page. For an overview or an audit of what is stored; to find
    something, use `recall`.
    """
    wanted = Filters(
        categories=frozenset({asked.category} if asked.category else ()), since=moment("since", asked.since)
    )
    memories = visit.engram.list(limit=asked.limit, before=asked.before, filters=wanted)
    following = memories[-1].id if len(memories) == asked.limit else None
    text = listed(memories) or "There are no such memories."
    if following:
        text += f"\nThere may be more: before={short(following)}"
    return Answer(text, {"memories": [shape(memory) for memory in memories], "next": following})


TOOL_LIST = Tool(name="list", takes=Page, does=list_memories, reads_only=True)


# The tool `pin`: keep a memory from every automatic loss, or let it age again.


class Pinning(Arguments, frozen=True):
    """Which memory, and whether to hold it or to let go."""

    memory: MemoryName
    pinned: Annotated[bool, Meta(description="False lets it age again")] = True


def pin(visit: Visit, asked: Pinning) -> Answer:
    """
    Keep a memory from fading and every other automatic loss. Only for what must never be lost, such as
    an allergy or a standing rule; most memories should be free to age.
    """
    change = visit.engram.pin if asked.pinned else visit.engram.unpin
    memory = change(asked.memory)
    return Answer(f"{'Pinned' if memory.pinned else 'Let go'}: {line(memory)}", {"memory": shape(memory)})


TOOL_PIN = Tool(takes=Pinning, does=pin, is_idempotent=True)


# The tool `restore`: bring back what a rule removed.


class Return(Arguments, frozen=True):
    """Which memory, and why."""

    memory: MemoryName
    reason: Why = ""


def restore(visit: Visit, asked: Return) -> Answer:
    """
    Bring back a memory that ageing archived or pruned and that turns out to be needed. Not for what was
    forgotten on purpose: only a person brings that back.
    """
    memory = visit.engram.restore(asked.memory, reason=asked.reason)
    return Answer(f"Restored: {line(memory)}", {"memory": shape(memory)})


TOOL_RESTORE = Tool(takes=Return, does=restore)


# The tool `feedback`: say whether a memory helped.


class Feedback(Arguments, frozen=True):
    """Which memory, whether it helped, and for which question."""

    memory: MemoryName
    helpful: Annotated[bool, Meta(description="Whether it helped")]
    query: Annotated[str | None, Meta(description="The question it was recalled for")] = None


def feedback(visit: Visit, asked: Feedback) -> Answer:
    """
    Say whether a recalled memory helped, so that later answers rank better. Unhelpful with its `query`
    keeps it from such questions for a while. For a memory that is wrong, use `correct`.
    """
    memory = visit.engram.feedback(asked.memory, helpful=asked.helpful, query=asked.query)
    counted = {"id": memory.id, "helped": memory.helped, "unhelpful": memory.unhelpful}
    told = f"helped {memory.helped}, did not help {memory.unhelpful}"
    return Answer(f"Noted for {short(memory.id)}: {told}.", counted)


TOOL_FEEDBACK = Tool(takes=Feedback, does=feedback)


# The tool `relate`: say how one memory relates to another, or take that back.


class Relating(Arguments, frozen=True):
    """Two memories and what holds between them."""

    memory: MemoryName
    other: MemoryName
    type: Annotated[
        Literal["related_to", "supports", "contradicts", "caused_by", "instance_of"],
        Meta(description="What the first is to the other"),
    ] = "related_to"
    related: Annotated[bool, Meta(description="False takes the link away")] = True


def relate(visit: Visit, asked: Relating) -> Answer:
    """
    Link two memories, so that recalling one brings the other: a cause and its effect, evidence for a
    claim, two statements that cannot both be true.
    """
    kind = EdgeType(asked.type)
    words = f"{short(asked.memory)} {kind} {short(asked.other)}"
    if asked.related:
        visit.engram.relate(asked.memory, asked.other, type=kind)
        return Answer(f"Linked: {words}.", {"linked": True})
    was_there = visit.engram.unrelate(asked.memory, asked.other, type=kind)
    return Answer(f"{'Taken away' if was_there else 'There was no such link'}: {words}.", {"linked": False})


TOOL_RELATE = Tool(takes=Relating, does=relate, is_idempotent=True)


# The tool `observe`: keep one message as it was said.


class Said(Arguments, frozen=True):
    """One message."""

    content: Annotated[str, Meta(description="The message, word for word")]
    role: Annotated[Role, Meta(description="Who spoke")] = Role.USER
    speaker: Annotated[str, Meta(max_length=200, description="Who said it, by name")] | None = None
    occurred_at: Annotated[Moment | None, Meta(description="When, if not now")] = None


def observe(visit: Visit, asked: Said) -> Answer:
    """
    Keep one message of the conversation word for word; memories are drawn from it in the background. For
    agents that record whole conversations. To store a single statement, use `remember`.
    """
    turn = visit.engram.observe(
        asked.content,
        role=asked.role,
        speaker=asked.speaker,
        session=visit.session,
        occurred_at=moment("occurred_at", asked.occurred_at),
    )
    return Answer(f"Kept as turn {short(turn.id)}.", {"turn": turn.id, "session": turn.session})


TOOL_OBSERVE = Tool(takes=Said, does=observe)
