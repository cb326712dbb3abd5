"""Verbs of conversations and agents: observe, turns, context, working memory, what agents produce."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from engramdb.values import (
    GLOBAL,
    Brief,
    Memory,
    Role,
    TaskOutcome,
    Turn,
    UnlearnedTurn,
    Window,
    WorkingLine,
    WorkingMemory,
)
from engramdb.values.window import BRIEF_TOKENS
from engramdb.verbs.fields import EXAMPLE_ID, Limit, Moment, Session, Text, Tokens, TurnName
from engramdb.verbs.verb import Command, Page, Route, ScopedRequest, ScopeRule, about, verb

PUT_IN = "Put in"
IN_MIND = "What an agent has in mind"


@verb(
    "observe",
    gives=Turn,
    writes=True,
    http=Route(method="POST", path="/v1/observe", tag="conversations"),
    cli=Command(
        words="observe",
        section=PUT_IN,
        examples=('observe "ugh, vim again. moved everything to helix tbh" --session s1',),
        creates_store=True,
    ),
    mcp="observe",
    example={
        "content": "ugh, vim again. moved everything to helix over the weekend tbh",
        "role": "user",
        "session": "s1",
    },
)
class ObserveRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Store one message of a conversation as it was said.

    It is durable and searchable when this answers. Its sentences become memories, in the speaker's own words,
    soon after: at once for a rule, a correction, a decision and the like.
    """

    content: Annotated[Text, about("The message.")]
    role: Annotated[Role, about("Who spoke.", metavar="NAME")] = Role.USER
    speaker: Annotated[str | None, about("Who spoke, by name.", metavar="NAME")] = None
    session: Session | None = None
    occurred_at: Annotated[Moment | None, about("When it was said; else now.")] = None


class Flushed(Struct, frozen=True):
    """How many turns were read."""

    turns: int
    """Turns that were read."""


@verb(
    "flush",
    gives=Flushed,
    writes=True,
    http=Route(method="POST", path="/v1/flush", tag="conversations"),
    cli=Command(words="flush", section=PUT_IN, examples=("flush --session s1",)),
    example={"session": "s1"},
)
class FlushRequest(ScopedRequest, frozen=True, kw_only=True):
    """Read the turns that still wait for it."""

    session: Annotated[Session | None, about("Only this conversation.")] = None

    def call(self, engram: Any, **options: Any) -> Flushed:
        """Read what waits and count it."""
        return Flushed(engram.flush(**self.arguments(), **options))


@verb(
    "turns",
    gives=list[Turn],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/turns",
        tag="conversations",
        has_etag=True,
        refusals=frozenset({404}),
        page=Page(cursor="before", key="id", is_reversed=True),
    ),
    cli=Command(words="turns", section=PUT_IN, examples=("turns --session s1 --limit 10",)),
)
class TurnsRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show the latest messages as they were said, oldest of them first."""

    session: Annotated[Session | None, about("Only this conversation.")] = None
    limit: Limit = 50
    before: Annotated[
        str | None,
        about("Only those said before this one, by its id or its last 8 characters.", metavar="ID"),
    ] = None


@verb(
    "forget_turn",
    gives=UnlearnedTurn,
    writes=True,
    destructive=True,
    http=Route(method="POST", path="/v1/forget_turn", tag="conversations", refusals=frozenset({404})),
    cli=Command(words="forget-turn", section=PUT_IN, examples=("forget-turn 3f2a9c1b",)),
    example={"turn_id": EXAMPLE_ID, "reason": "sent by mistake"},
)
class ForgetTurnRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Take a message back: drop it, and forget what was learnt from it alone.

    What was said elsewhere too stays, and what the forgotten memories had superseded counts again.
    """

    turn_id: TurnName
    reason: Annotated[str, about("Why, for the history.", metavar="TEXT")] = ""


@verb(
    "end_session",
    gives=Memory | None,
    writes=True,
    http=Route(method="POST", path="/v1/end_session", tag="conversations"),
    cli=Command(words="end-session", section=PUT_IN, examples=("end-session s1",)),
    example={"session": "s1"},
)
class EndSessionRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Read what still waits of a conversation, and store a summary of it.

    A short conversation gives none.
    """

    session: Annotated[str, about("The conversation that is over.", metavar="SESSION", positional=True)]


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message that was said before."""

    role: Annotated[Role, about("Who spoke.")]
    content: Annotated[str, about("The message.")]


class WorkingText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that an agent has in mind."""

    text: Annotated[str, about("Its words.")]
    source: Annotated[str, about("How it came to mind.")] = "explicit"
    activation: Annotated[float, Meta(ge=0, le=1), about("How active it is, from 0 to 1.")] = 1.0


@verb(
    "context",
    gives=Window,
    writes=False,
    http=Route(method="POST", path="/v1/context", tag="questions", computed=("text", "messages")),
    cli=Command(
        words="context",
        section="Ask",
        examples=('context "deploy it" --model claude-opus-4-6 --session s1',),
    ),
    mcp="context",
    example={"message": "deploy it", "model": "claude-opus-4-6", "session": "s1"},
)
class ContextRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Make the prompt for a message: who is speaking, what is in mind, what was said, what fits.

    `text` is all of it as one prompt, `messages` the same for a chat interface; `losses` and `missing` say
    what was shortened, left out or could not take part. What is shown counts as recalled.
    """

    message: Annotated[Text, about("What the user says.", metavar="MESSAGE")]
    model: Annotated[str | None, about("The chat model, whose window is filled.", metavar="NAME")] = None
    history: Annotated[
        tuple[Message, ...] | None,
        about("What was said before; the turns of the session where left out.", only=("http",)),
    ] = None
    fixed: Annotated[
        tuple[str, ...], about("A part that your prompt begins with anyway (repeatable).", metavar="TEXT")
    ] = ()
    budget: Annotated[Tokens | None, about("Tokens for memories; else what the model has room for.")] = None
    reserve: Annotated[Tokens | None, about("Tokens that the reply may take.")] = None
    working: Annotated[
        tuple[WorkingText, ...], about("What the agent has in mind, most active first.", only=("http",))
    ] = ()
    session: Annotated[Session | None, about("The conversation, whose turns are the history.")] = None

    def arguments(self) -> dict[str, Any]:
        """Return what the engine takes: messages as mappings, and lines of working memory."""
        history = None if self.history is None else [msgspec.to_builtins(one) for one in self.history]
        working = [WorkingLine(**msgspec.structs.asdict(one)) for one in self.working]
        return super().arguments() | {"history": history, "working": working}


@verb(
    "brief",
    gives=Brief,
    writes=False,
    http=Route(method="GET", path="/v1/brief", tag="questions"),
    cli=Command(words="brief", section="Ask", examples=("brief --budget 800",)),
)
class BriefRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Show what a session begins with: your rules, what stands, and what matters most of what is known.

    It is what hooks give an agent before anything is asked.
    """

    budget: Annotated[Tokens, about("Tokens for all of it.")] = BRIEF_TOKENS
    session: Annotated[Session | None, about("The conversation that begins.")] = None


class AgentRequest(ScopedRequest, frozen=True, kw_only=True):
    """A request about one agent's working memory; the scope's own agent unless another is named."""

    agent: Annotated[
        str | None, about("The agent, inside the scope; the scope's own where left out.", only=("http",))
    ] = None


@verb(
    "working_memory",
    gives=WorkingMemory,
    writes=False,
    idempotent=True,
    scope=ScopeRule.AGENT,
    http=Route(method="GET", path="/v1/working_memory", tag="agents"),
    cli=Command(
        words="working-memory", section=IN_MIND, examples=("working-memory --agent coder --user ann",)
    ),
)
class WorkingMemoryRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show what an agent has in mind now, the most active first."""

    def arguments(self) -> dict[str, Any]:
        """Return the agent, and the scope around it: an agent named alone is one of the engine's scope."""
        named = self.scope or GLOBAL
        around = replace(named, agent=None)
        return {"agent": named.agent, "scope": None if around == GLOBAL else around}


@verb(
    "suspend",
    gives=WorkingMemory,
    writes=True,
    scope=ScopeRule.AGENT,
    http=Route(method="POST", path="/v1/suspend", tag="agents"),
    cli=Command(words="suspend", section=IN_MIND, examples=("suspend --agent coder",)),
    example={"agent": "otto"},
)
class SuspendRequest(AgentRequest, frozen=True, kw_only=True):
    """Save what an agent has in mind as of now, to be resumed later, and show it."""


@verb(
    "resume",
    gives=WorkingMemory,
    writes=True,
    scope=ScopeRule.AGENT,
    http=Route(method="POST", path="/v1/resume", tag="agents"),
    cli=Command(words="resume", section=IN_MIND, examples=("resume --agent coder",)),
    example={"agent": "otto"},
)
class ResumeRequest(AgentRequest, frozen=True, kw_only=True):
    """
    Bring an agent's working memory back, and say in what state it comes.

    `restored` says so: `fresh` after long.
    """


@verb(
    "capture_compaction",
    engine="capture.compaction",
    gives=list[Memory],
    writes=True,
    http=Route(method="POST", path="/v1/capture/compaction", tag="agents"),
    mcp="report_compaction",
    example={"summary": "The team chose Postgres. Maya reviews every migration.", "session": "s1"},
)
class CompactionRequest(ScopedRequest, frozen=True, kw_only=True):
    """Store what a summary states that replaced older messages, and return each statement."""

    summary: Annotated[Text, about("The summary.")]
    session: Session | None = None


@verb(
    "capture_task_result",
    engine="capture.task_result",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/capture/task_result", tag="agents"),
    mcp="report_task",
    example={"task": "Upgrade the otter server", "result": "Debian 13 runs on it", "outcome": "done"},
)
class TaskResultRequest(ScopedRequest, frozen=True, kw_only=True):
    """Store how a task ended."""

    task: Annotated[Text, about("What was to be done.", metavar="TASK")]
    result: Annotated[Text, about("What came of it.", metavar="RESULT")]
    outcome: Annotated[TaskOutcome, about("How it ended.", metavar="NAME")] = TaskOutcome.DONE
    parent: Annotated[str | None, about("The larger task that it is part of.", metavar="TASK")] = None
    session: Session | None = None


@verb(
    "capture_finding",
    engine="capture.finding",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/capture/finding", tag="agents"),
    mcp="report_finding",
    example={
        "statement": "SQLite allows one writer at a time",
        "urls": ["https://sqlite.org"],
        "topic": "databases",
    },
)
class FindingRequest(ScopedRequest, frozen=True, kw_only=True):
    """Store something that was found out, with where it was found."""

    statement: Annotated[Text, about("What was found out.")]
    urls: Annotated[tuple[str, ...], about("Where it was found.", metavar="URL", flat="url")] = ()
    topic: Annotated[str | None, about("What it is about.", metavar="TOPIC")] = None


@verb(
    "capture_tool_run",
    engine="capture.tool_run",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/capture/tool_run", tag="agents"),
    mcp="report_tool_run",
    example={"tool": "pytest", "purpose": "check a change before it is sent", "outcome": "done"},
)
class ToolRunRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Count a run of a tool for a purpose, and return the procedural memory that counts them.

    With the command and its output, what failed in the session and then, changed, worked is learned as well.
    """

    tool: Annotated[Text, about("The tool.", metavar="TOOL")]
    purpose: Annotated[Text, about("What it was run for.", metavar="PURPOSE")]
    outcome: Annotated[TaskOutcome, about("How it ended.", metavar="NAME")] = TaskOutcome.DONE
    command: Annotated[str | None, about("The command line that was run.", metavar="COMMAND")] = None
    output: Annotated[str | None, about("What it printed; its end is enough.", metavar="TEXT")] = None
    session: Session | None = None
