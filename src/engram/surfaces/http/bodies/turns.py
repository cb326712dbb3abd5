"""
The bodies of what is said and of what agents produce beside talk.

Read by `routes.turns` and `routes.agents`.
"""

from __future__ import annotations

from engram.surfaces.http.bodies.shared import Moment, Scoped, example
from engram.text.affect import Outcome
from engram.values import Role


class ObserveBody(Scoped):
    """One message as it was said."""

    model_config = example(content="I switched from vim to Helix last week", role="user", session="s1")

    content: str
    """The message."""
    role: Role = Role.USER
    """Who spoke, in the words of chat models."""
    speaker: str | None = None
    """Who spoke, by name."""
    session: str | None = None
    """The conversation."""
    occurred_at: Moment | None = None
    """When it was said; now where left out."""


class FlushBody(Scoped):
    """Which turns to read now."""

    model_config = example(session="s1")

    session: str | None = None
    """The conversation; all of them where left out."""


class EndSessionBody(Scoped):
    """Which conversation is over."""

    model_config = example(session="s1")

    session: str
    """The conversation."""


class CompactionBody(Scoped):
    """A summary that took the place of older messages."""

    model_config = example(summary="The team chose Postgres. Maya reviews every migration.", session="s1")

    summary: str
    """The summary."""
    session: str | None = None
    """The conversation."""


class TaskResultBody(Scoped):
    """How a task ended."""

    model_config = example(task="Upgrade the otter server", result="Debian 13 runs on it", outcome="success")

    task: str
    """What was to be done."""
    result: str
    """What came of it."""
    outcome: Outcome = Outcome.SUCCESS
    """How it ended."""
    session: str | None = None
    """The conversation."""


class FindingBody(Scoped):
    """Something that was found out."""

    model_config = example(
        statement="SQLite allows one writer at a time", urls=["https://sqlite.org"], topic="databases"
    )

    statement: str
    """What was found out."""
    urls: tuple[str, ...] = ()
    """Where it was found."""
    topic: str | None = None
    """What it is about."""


class ToolRunBody(Scoped):
    """One run of a tool or a flow."""

    model_config = example(tool="pytest", purpose="check a change before it is sent", outcome="success")

    tool: str
    """The tool."""
    purpose: str
    """What it was run for."""
    outcome: Outcome = Outcome.SUCCESS
    """How it ended."""
    session: str | None = None
    """The conversation."""


class MindBody(Scoped):
    """Whose working memory is meant."""

    model_config = example(agent="otto")

    agent: str | None = None
    """The agent, inside the scope; the scope's own where left out."""
