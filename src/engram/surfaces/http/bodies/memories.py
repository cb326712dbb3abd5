"""
The bodies of what is stated: remember, correct, forget, erase, import.

Read by `routes.memories`. A statement among many is the same object as a single one, without a scope of its
own: one request writes into one place.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from engram.capture.draft import Draft
from engram.surfaces.http.bodies.shared import EXAMPLE_ID, Body, Moment, Reasoned, Scoped, example
from engram.values import ImportKind, Kind, Layer, MemoryType, Provenance, Scope, Source

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
    mapping: dict[str, str] = {}  # noqa: RUF012 - copied by pydantic
    """The columns of a table by the fields they fill, such as {"content": "text"}."""
    dry_run: bool = False
    """Whether to take nothing in and only count."""
