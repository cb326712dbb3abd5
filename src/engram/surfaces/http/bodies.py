"""
What requests look like: the bodies and parameters of the API.

Parsed by FastAPI, turned into the engine's values here, and unknown anywhere else.
A field that does not exist is an error that names it, so that a misspelt option is never silently ignored.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from engram.text.normal import is_text
from engram.values import Filters, Kind, Layer, MemoryType, Scope, Source, Status


def _in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without a time zone is taken to be in it."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]


class Body(BaseModel):
    """A JSON object without unknown fields, whose texts can be written as UTF-8."""

    model_config = ConfigDict(extra="forbid")

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
    squad: str | None = None
    agent: str | None = None
    channel: str | None = None
    user: str | None = None

    def scope(self) -> Scope:
        """Return the same as the engine says it."""
        return Scope(**self.model_dump())


class Scoped(Body):
    """A request inside a scope, the server's own unless it names another."""

    scope: ScopeBody | None = Field(None, description="The scope; the server's own where left out.")

    def chosen_scope(self) -> Scope | None:
        """Return the scope named, if any."""
        return None if self.scope is None else self.scope.scope()


class FiltersBody(Body):
    """What a memory must be to count; an empty part lets everything through."""

    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    layers: frozenset[Layer] = frozenset()
    types: frozenset[MemoryType] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    categories: frozenset[str] = frozenset()
    since: Moment | None = None
    until: Moment | None = None
    entities: frozenset[str] = frozenset()
    technologies: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    languages: frozenset[str] = frozenset()
    sentiments: frozenset[str] = frozenset()
    speakers: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()

    def filters(self) -> Filters:
        """Return the same as the engine says it."""
        return Filters(**{name: getattr(self, name) for name in type(self).model_fields})


class RememberBody(Scoped):
    """One statement."""

    content: str
    category: str = "general"
    importance: float | None = None
    confidence: float | None = None
    layer: Layer = Layer.EPISODIC
    type: MemoryType = MemoryType.FACT
    kind: Kind = Kind.NOTE
    source: Source = Source.HUMAN
    speaker: str | None = None
    session: str | None = None
    occurred_at: Moment | None = None
    forget_after: Moment | None = None
    pinned: bool = False

    def options(self) -> dict[str, object]:
        """Return what `Engram.remember` takes beside content and scope."""
        return {
            name: getattr(self, name) for name in type(self).model_fields if name not in ("content", "scope")
        }


class RecallBody(Scoped):
    """One question."""

    query: str
    limit: int = 10
    filters: FiltersBody = FiltersBody()
    session: str | None = None
    as_of: Moment | None = None
    strategy: str | None = None
    explain: bool = False


class FeedbackBody(Scoped):
    """Which memory helped or did not, and for which question."""

    id: str
    helpful: bool
    query: str | None = None


class ForgetBody(Scoped):
    """Which memory to forget, and why."""

    id: str
    reason: str = ""


class RestoreBody(Scoped):
    """Which memory to bring back, and why."""

    id: str
    reason: str = ""


class LayerBody(Scoped):
    """Which memory to put into another layer, and why; without a layer, into the next one."""

    id: str
    layer: Layer | None = None
    reason: str = ""


class AgeBody(Body):
    """Whether to let the store age, or only to tell what that would do."""

    dry_run: bool = False


class CorrectBody(Scoped):
    """Which memory to replace, and by what."""

    id: str
    content: str
    reason: str = ""
