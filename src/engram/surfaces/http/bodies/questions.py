"""
The bodies of questions: recall, context, reason, and the verdict on what they gave.

Read by `routes.questions`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engram.surfaces.http.bodies.shared import (
    EXAMPLE_ID,
    Body,
    FiltersBody,
    Limit,
    Moment,
    OneMemory,
    Scoped,
    example,
)
from engram.values import Mode, Role

MOST_TOKENS = 10_000_000
"""More than any window that a model has; a larger number is a mistake."""
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class RecallBody(Scoped):
    """One question."""

    model_config = example(query="which editor do I use?", limit=5)

    query: str
    """The question."""
    limit: Limit = 10
    """How many hits at most."""
    mode: Mode = Mode.FULL_CONTEXT
    """How much of what is known may be given."""
    filters: FiltersBody = FiltersBody()
    """What a memory must be to count."""
    session: str | None = None
    """The conversation that asks."""
    as_of: Moment | None = None
    """Answer from what was believed at this moment; such an answer counts as no recall."""
    strategy: str | None = None
    """`score`, `rrf`, `mmr`, `rrf_then_mmr` or `cross_encoder`; else as the policy says."""
    explain: bool = False
    """Whether to show the candidates that were left out, too."""


class MessageBody(Body):
    """One message that was said before."""

    role: Role
    """Who spoke."""
    content: str
    """The message."""


class WorkingLineBody(Body):
    """One thing that an agent has in mind."""

    text: str
    """Its words."""
    source: str = "explicit"
    """How it came to mind."""
    activation: Annotated[float, Field(ge=0, le=1)] = 1.0
    """How active it is, from 0 to 1."""


class ContextBody(Scoped):
    """A message, and the room that there is for what belongs to it."""

    model_config = example(message="deploy it", model="claude-opus-4-6", session="s1")

    message: str
    """What the user says."""
    model: str | None = None
    """The chat model, whose window is filled."""
    history: tuple[MessageBody, ...] | None = None
    """What was said before; the turns of the session where left out."""
    fixed: tuple[str, ...] = ()
    """The parts that your prompt begins with anyway."""
    reserve: Tokens | None = None
    """Tokens that the reply may take."""
    budget: Tokens | None = None
    """Tokens for memories; what the model has room for where left out."""
    working: tuple[WorkingLineBody, ...] = ()
    """What the agent has in mind, most active first."""
    session: str | None = None
    """The conversation."""


class ReasonBody(Scoped):
    """A question that one recall may not answer."""

    model_config = example(question="Why did we leave MySQL, and who decided it?", depth=2)

    question: str
    """The question."""
    depth: int | None = Field(None, json_schema_extra={"minimum": 1, "maximum": 5})
    """How many levels of questions are asked."""
    limit: Limit = 20
    """How many memories each of them looks at."""
    calls: Tokens | None = None
    """How often a chat model may be asked."""
    tokens: Tokens | None = None
    """For how many tokens in all."""
    session: str | None = None
    """The conversation that asks."""


class FeedbackBody(OneMemory):
    """Which memory helped or did not, and for which question."""

    model_config = example(id=EXAMPLE_ID, helpful=True, query="which editor do I use?")

    helpful: bool
    """Whether it helped."""
    query: str | None = None
    """The question; kept as a fingerprint and a vector, not as words."""
