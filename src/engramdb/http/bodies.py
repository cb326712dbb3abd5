"""Request bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from engramdb.lifecycle.drafts import Draft
from engramdb.text.normalize import is_text
from engramdb.values import (
    EdgeType,
    Filters,
    ImportKind,
    Kind,
    Layer,
    MemoryType,
    Mode,
    Outcome,
    Provenance,
    Role,
    Scope,
    Source,
    Status,
)
from engramdb.values.query import MAX_LIMIT
from engramdb.values.scope import MAX_NAME_CHARACTERS

# What the bodies of several routes have in common: a scope, a memory that is meant, filters.
#
# Imported by the other bodies and by `parameters`. Texts are checked here, once, for what cannot be stored.

EXAMPLE_ID = "0197c4a8-3f10-7a3e-9c55-5d2f3f2a9c1b"
LIMITS: dict[str, Any] = {"minimum": 1, "maximum": MAX_LIMIT}
"""What the engine takes as a limit; told in the description, and refused by the engine in its own words."""
REHEARSED = "age, dream, erase and import"


def _in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without a time zone is taken to be in it."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as exc:
        raise ValueError("is outside the years 1 to 9999 in UTC") from exc


Moment = Annotated[datetime, AfterValidator(_in_utc)]
Limit = Annotated[int, Field(json_schema_extra=LIMITS)]
Name = Annotated[str | None, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS})]


def example(**fields: Any) -> ConfigDict:
    """Return the configuration of a body with an example of it."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Body(BaseModel):
    """A JSON object without unknown fields, whose texts can be written as UTF-8."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _check_rehearsal(cls, sent: object) -> object:
        """Refuse to rehearse what cannot be: whoever asks for that must not get the real thing."""
        if isinstance(sent, Mapping) and "dry_run" in sent and "dry_run" not in cls.model_fields:
            raise ValueError(f"this cannot be rehearsed; dry_run is for {REHEARSED}")
        return sent

    @field_validator("*")
    @classmethod
    def _check_text(cls, value: object) -> object:
        """Refuse half a surrogate pair, which JSON can spell and nothing can store."""
        if not all(is_text(text) for text in _texts(value)):
            raise ValueError("holds half a surrogate pair")
        return value


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a field; objects inside it have checked their own."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from (one for one in pair if isinstance(one, str))
    elif isinstance(value, frozenset | tuple):
        yield from (one for one in value if isinstance(one, str))


class ScopeBody(Body):
    """Who a memory belongs to; what is left out is not restricted."""

    project: Name = None
    """The project of the scope."""
    squad: Name = None
    """The squad of the scope."""
    agent: Name = None
    """The agent of the scope."""
    channel: Name = None
    """The channel of the scope."""
    user: Name = None
    """The user of the scope."""

    def scope(self) -> Scope:
        """Return the same as the engine says it."""
        return Scope(**{name: getattr(self, name) for name in ScopeBody.model_fields})


class Scoped(Body):
    """A request inside a scope, the server's own unless it names another."""

    scope: ScopeBody | None = None
    """The scope; the server's own where left out."""

    def chosen_scope(self) -> Scope | None:
        """Return the scope named, if any."""
        return None if self.scope is None else self.scope.scope()


class OneMemory(Scoped):
    """Which memory is meant."""

    model_config = example(id=EXAMPLE_ID)

    id: str
    """The memory's id, or its last 8 characters."""


class Reasoned(OneMemory):
    """Which memory is meant, and why."""

    reason: str = ""
    """Why, for the history."""


class FiltersBody(Body):
    """What a memory must be to count: every part, by any of its members; an empty part lets all through."""

    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    """What became of it."""
    layers: frozenset[Layer] = frozenset()
    """How long it is meant to live."""
    types: frozenset[MemoryType] = frozenset()
    """What it holds."""
    kinds: frozenset[Kind] = frozenset()
    """Whether it happened once, or holds until replaced."""
    categories: frozenset[str] = frozenset()
    """Such as `preference`."""
    since: Moment | None = None
    """From this moment on."""
    until: Moment | None = None
    """Before this moment."""
    entities: frozenset[str] = frozenset()
    """Names, or ids, of people and things that it speaks of."""
    technologies: frozenset[str] = frozenset()
    """In any spelling."""
    paths: frozenset[str] = frozenset()
    """Files that it names, or folders of them."""
    languages: frozenset[str] = frozenset()
    """Programming languages."""
    sentiments: frozenset[str] = frozenset()
    """Of `positive`, `negative` and `neutral`."""
    speakers: frozenset[str] = frozenset()
    """Who said it."""
    sessions: frozenset[str] = frozenset()
    """The conversations that it was said in."""

    def filters(self) -> Filters:
        """Return the same as the engine says it."""
        return Filters(**{name: getattr(self, name) for name in type(self).model_fields})


# The bodies of what is stated: remember, correct, forget, erase, import.
#
# Read by `routes.memories`. A statement among many is the same object as a single one, without a scope of its
# own: one request writes into one place.

MOST_AT_ONCE = 1000
"""Statements in one request; a writer with more sends several, and learns after each what is durable."""
Share = Annotated[float | None, Field(json_schema_extra={"minimum": 0, "maximum": 1})]
FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$"


class StatementBody(Body):
    """One statement and what is known of it."""

    model_config = example(content="The API uses JWT tokens", category="fact", importance=0.8)

    content: str
    """The statement, as one would say it."""
    category: str = "general"
    """Such as `fact` or `preference`."""
    importance: Share = None
    """From 0 to 1."""
    confidence: Share = None
    """From 0 to 1."""
    layer: Layer = Layer.EPISODIC
    """How long it is meant to live."""
    type: MemoryType = MemoryType.FACT
    """What it holds."""
    kind: Kind = Kind.NOTE
    """Whether it happened once, or holds until replaced."""
    source: Source = Source.HUMAN
    """Where it came from."""
    speaker: str | None = None
    """Who said it."""
    session: str | None = None
    """The conversation."""
    occurred_at: Moment | None = None
    """When it happened."""
    forget_after: Moment | None = None
    """When it may go."""
    pinned: bool = False
    """Whether it is kept from every automatic loss."""

    def options(self) -> dict[str, Any]:
        """Return what `Engram.remember` takes beside content and scope."""
        return {name: getattr(self, name) for name in StatementBody.model_fields if name != "content"}

    def draft(self, scope: Scope) -> Draft:
        """Return the same as `Engram.remember_many` takes it."""
        options = self.options()
        told = Provenance(**{name: options.pop(name) for name in ("source", "speaker", "session")})
        return Draft(content=self.content, scope=scope, provenance=told, **options)


class RememberBody(StatementBody, Scoped):
    """One statement, and whose it is."""


class RememberManyBody(Scoped):
    """Many statements of one scope."""

    model_config = example(
        statements=[
            {"content": "The API uses JWT tokens", "category": "fact"},
            {"content": "Maya is allergic to peanuts", "pinned": True},
        ]
    )

    statements: Annotated[tuple[StatementBody, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]
    """The statements, stored in their order."""


class CorrectBody(Reasoned):
    """Which memory to replace, and by what."""

    model_config = example(id=EXAMPLE_ID, content="My editor is Helix", reason="switched")

    content: str
    """The new statement."""


class ForgetBody(Reasoned):
    """Which memory to forget, and why."""

    model_config = example(id=EXAMPLE_ID, reason="no longer true")


class EraseBody(Scoped):
    """Which memory, or which user, to take out of the file for good; exactly one of the two."""

    model_config = example(user="discord:42", reason="asked to be forgotten", dry_run=True)

    id: str | None = None
    """The memory's id, or its last 8 characters."""
    user: str | None = None
    """The user, in every scope of that name inside this one."""
    reason: str = ""
    """Why, for the audit."""
    dry_run: bool = False
    """Whether to erase nothing and only count."""


class ImportBody(Scoped):
    """A text file that another program wrote."""

    model_config = example(
        name="notes.md", text="# Kitchen\n\nMaya is allergic to peanuts.\n", kind="markdown", dry_run=True
    )

    name: Annotated[str, Field(pattern=FILE_NAME)]
    """What the file is called, such as `notes.md`; the same name tells the same source the next time."""
    text: str
    """What it holds. A zip archive, a PDF or more than a request can carry is for `engram import`."""
    kind: ImportKind | None = None
    """Which program wrote it; told from the content where left out."""
    mapping: dict[str, str] = {}
    """The columns of a table by the fields they fill, such as {"content": "text"}."""
    dry_run: bool = False
    """Whether to take nothing in and only count."""


# The bodies of what decides how long memories live: pins, layers, links, ageing, dreams, questions.
#
# Read by `routes.life`, `routes.links` and `routes.dreams`.


class PinBody(OneMemory):
    """Which memory to keep, or no longer to keep, from every automatic loss."""


class RestoreBody(Reasoned):
    """Which memory to bring back, and why."""

    model_config = example(id=EXAMPLE_ID, reason="she does")


class LayerBody(Reasoned):
    """Which memory to put into another layer, and why."""

    layer: Layer | None = None
    """The layer; the next one where left out."""


class StatusBody(Reasoned):
    """Which memory to move to another status, and why."""

    model_config = example(id=EXAMPLE_ID, status="archived", reason="the project is over")

    status: Status
    """The status; bringing a memory back to `active` needs a reason."""


class AgeBody(Body):
    """Whether to let the store age, or only to tell what that would do."""

    model_config = example(dry_run=True)

    dry_run: bool = False
    """Whether to change nothing and only tell."""


class DreamBody(Body):
    """Whether to consolidate the store, or only to tell what that would do."""

    model_config = example(dry_run=True, steps=["merge", "gaps"])

    dry_run: bool = False
    """Whether to change nothing and only tell."""
    steps: tuple[str, ...] | None = None
    """The steps to take, in the dream's own order; all of them where left out."""


class UnmergeBody(Reasoned):
    """Which memory to take apart again, and why."""

    model_config = example(id=EXAMPLE_ID, reason="these are two")


class OneGap(Scoped):
    """Which open question is meant."""

    id: str
    """The question's id, as `GET /v1/gaps` shows it."""


class AnswerGapBody(OneGap):
    """Which open question to answer, and how."""

    model_config = example(id="4f1c77ab0d52", answer="Ada's birthday is on 10 December")

    answer: str
    """The answer; it is remembered like any other statement."""


class CloseGapBody(OneGap):
    """Which open question to settle without an answer, and why."""

    model_config = example(id="4f1c77ab0d52", reason="nobody needs to know")

    reason: str = ""
    """Why, for the record."""


class UnrelateBody(Reasoned):
    """Which link between two memories to take away, and why."""

    model_config = example(id=EXAMPLE_ID, other="5d2f3f2b", type="supports")

    other: str
    """The memory at its other end, by its id or its last 8 characters."""
    type: EdgeType = EdgeType.RELATED_TO
    """What the link says."""


class RelateBody(UnrelateBody):
    """How a memory relates to another, and why."""

    weight: float = Field(1.0, json_schema_extra={"minimum": 0, "maximum": 1})
    """How strongly, from 0 to 1."""


# The bodies of questions: recall, context, reason, and the verdict on what they gave.
#
# Read by `routes.questions`.

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


# The bodies of what is said and of what agents produce beside talk.
#
# Read by `routes.turns` and `routes.agents`.


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
