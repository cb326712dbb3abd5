"""
What requests look like: the bodies and parameters of the API.

Parsed by FastAPI, turned into the engine's values here, and unknown anywhere else.
A field that does not exist is an error that names it, so that a misspelt option is never silently ignored.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, field_validator

from engram.text.normal import is_text
from engram.values import Filters, Kind, Layer, MemoryType, Mode, Scope, Source, Status


def _in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without a time zone is taken to be in it."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]


class Body(BaseModel):
    """A JSON object without unknown fields, whose texts can be written as UTF-8."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @field_validator("*")
    @classmethod
    def _check_text(cls, value: object) -> object:
        """Refuse half a surrogate pair, which JSON can spell and nothing can store."""
        texts = [value] if isinstance(value, str) else value if isinstance(value, frozenset) else ()
        if not all(is_text(text) for text in texts):
            raise ValueError("holds half a surrogate pair")
        return value


class ScopeBody(Body):
    """Who a memory belongs to; what is left out is not restricted."""

    project: str | None = None
    """The project of the scope."""
    squad: str | None = None
    """The squad of the scope."""
    agent: str | None = None
    """The agent of the scope."""
    channel: str | None = None
    """The channel of the scope."""
    user: str | None = None
    """The user of the scope."""

    def scope(self) -> Scope:
        """Return the same as the engine says it."""
        return Scope(**self.model_dump())


class Scoped(Body):
    """A request inside a scope, the server's own unless it names another."""

    scope: ScopeBody | None = None
    """The scope; the server's own where left out."""

    def chosen_scope(self) -> Scope | None:
        """Return the scope named, if any."""
        return None if self.scope is None else self.scope.scope()


class OneMemory(Scoped):
    """Which memory is meant."""

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


class RememberBody(Scoped):
    """One statement."""

    content: str
    """The statement, as one would say it."""
    category: str = "general"
    """Such as `fact` or `preference`."""
    importance: float | None = None
    """From 0 to 1."""
    confidence: float | None = None
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

    def options(self) -> dict[str, object]:
        """Return what `Engram.remember` takes beside content and scope."""
        return {
            name: getattr(self, name) for name in type(self).model_fields if name not in ("content", "scope")
        }


class RecallBody(Scoped):
    """One question."""

    query: str
    """The question."""
    limit: int = 10
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


class FeedbackBody(OneMemory):
    """Which memory helped or did not, and for which question."""

    helpful: bool
    """Whether it helped."""
    query: str | None = None
    """The question; kept as a fingerprint and a vector, not as words."""


class ForgetBody(Reasoned):
    """Which memory to forget, and why."""


class RestoreBody(Reasoned):
    """Which memory to bring back, and why."""


class LayerBody(Reasoned):
    """Which memory to put into another layer, and why."""

    layer: Layer | None = None
    """The layer; the next one where left out."""


class AgeBody(Body):
    """Whether to let the store age, or only to tell what that would do."""

    dry_run: bool = False
    """Whether to change nothing and only tell."""


class CorrectBody(Reasoned):
    """Which memory to replace, and by what."""

    content: str
    """The new statement."""
