"""
The tool `recall`: ask a question.

Calls `Engram.recall`. The answer says what did not take part in it, so that an empty answer is never
mistaken for a failed one. A recall counts what it gives, yet changes no memory: it is offered as
reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from engram.surfaces.fit import is_far_off
from engram.surfaces.mcp.moments import Moment, moment
from engram.surfaces.mcp.render import as_data, hit_line, hit_shape, missing_shape, shortfalls
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit
from engram.values import Filters

if TYPE_CHECKING:
    from engram.values import Recall

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
