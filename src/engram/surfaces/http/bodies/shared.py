"""
What the bodies of several routes have in common: a scope, a memory that is meant, filters.

Imported by the other bodies and by `parameters`. Texts are checked here, once, for what cannot be stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from engram.text.normal import is_text
from engram.values import Filters, Kind, Layer, MemoryType, Scope, Status
from engram.values.query import MAX_LIMIT
from engram.values.scope import MAX_NAME_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

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
