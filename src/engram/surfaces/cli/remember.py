"""
`engram remember`: store one statement.

Calls `Engram.remember`. The memory is durable, and every process can recall it, when the command returns.
What is printed says what became of it: new, known already, or in place of another.
"""

from datetime import datetime
from typing import Annotated

import typer

from engram.surfaces.cli.moments import moment, moment_or_duration
from engram.surfaces.cli.options import Shared, Text, among, given_text
from engram.surfaces.cli.output import present
from engram.surfaces.cli.stored import look_beside, show_stored
from engram.values import Kind, Layer, MemoryType, Source


def remember(
    shared: Shared,
    text: Text,
    *,
    category: Annotated[str, typer.Option(metavar="NAME", help="Such as fact or preference.")] = "general",
    importance: Annotated[float | None, typer.Option(metavar="SHARE", help="From 0 to 1.")] = None,
    confidence: Annotated[float | None, typer.Option(metavar="SHARE", help="From 0 to 1.")] = None,
    layer: Annotated[
        Layer, typer.Option(metavar="NAME", help=among("How long it is meant to live", Layer))
    ] = Layer.EPISODIC,
    type: Annotated[  # noqa: A002 - the word users know
        MemoryType, typer.Option(metavar="NAME", help=among("What it holds", MemoryType))
    ] = MemoryType.FACT,
    kind: Annotated[
        Kind, typer.Option(metavar="NAME", help=among("Happened once, or holds until replaced", Kind))
    ] = Kind.NOTE,
    source: Annotated[
        Source, typer.Option(metavar="NAME", help=among("Where it came from", Source))
    ] = Source.HUMAN,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation.")] = None,
    occurred_at: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=moment, help="When it happened (ISO 8601).")
    ] = None,
    forget_after: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", parser=moment_or_duration, help="A time, or 12h, 30d, 8w from now."),
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Keep it from every automatic loss.")] = False,
) -> None:
    """
    Store one statement; one that is already known becomes stronger.

    Example: engram remember "The API uses JWT tokens" --category fact --importance 0.8
    """
    content = given_text(text)
    with shared.open_or_create() as engram:
        memory = engram.remember(
            content,
            category=category,
            importance=importance,
            confidence=confidence,
            layer=layer,
            type=type,
            kind=kind,
            source=source,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            forget_after=forget_after,
            pinned=pinned,
        )
        beside = [] if shared.json else look_beside(engram, memory)

    present(memory, lambda stored: show_stored(stored, beside), as_json=shared.json)
