"""
`engram timeline`: tell how what is known of a topic came to be.

Calls `Engram.timeline`. Oldest first, one line per change, and below it what was replaced or doubted and why.
The times are those at which the store learned of something, which may be long after it happened.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Shared, given_text
from engram.surfaces.cli.output import (
    bold,
    counted,
    dim,
    indented,
    minute,
    one_line,
    out,
    present,
    short,
    talk,
)
from engram.values import BusyPeriod, Memory, Timeline, TimelineEntry

_UNDER_CONTENT = " " * 44
"""As wide as the moment, the change, the short id and the gaps behind them."""


def timeline(
    shared: Shared,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What it is about, or - for stdin.")],
    *,
    entity: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only what speaks of this person or thing.")
    ] = None,
    limit: Limit = 50,
) -> None:
    """
    Show how what is known of a topic came to be, oldest first.

    Example: engram timeline "the deployment" --entity Falcon
    """
    asked = given_text(topic)
    with shared.open_existing() as engram:
        found = engram.timeline(asked, entities=entity or (), limit=limit)

    present(found, _show, as_json=shared.json)
    if not found.entries:
        talk("Nothing is known of this topic.")


def _show(found: Timeline) -> None:
    for entry in found.entries:
        _show_entry(entry)
    if len(found.entries) > 1:
        out()
        out(f"{dim('busiest')}  {', '.join(_named(period) for period in found.busiest)}")


def _show_entry(entry: TimelineEntry) -> None:
    first = f"{minute(entry.at)}  {bold(f'{entry.change:<13}')}  {short(entry.memory.id)}  "
    out(indented(first, one_line(entry.memory.content), indent=_UNDER_CONTENT))
    for relation, other in (("in place of", entry.replaced), ("against", entry.disputed)):
        if other is not None:
            _show_below(f"{relation} {_quoted(other)}")
    if entry.reason:
        _show_below(f"reason: {one_line(entry.reason)}")


def _show_below(text: str) -> None:
    out(indented(_UNDER_CONTENT, text, indent=_UNDER_CONTENT))


def _quoted(memory: Memory) -> str:
    return f"{short(memory.id)}  {one_line(memory.content)}"


def _named(period: BusyPeriod) -> str:
    """Return a day, a week or a month with its number of changes."""
    days = (period.end - period.start).days
    name = f"{period.start:%Y-%m-%d}"
    if days > 1:
        name = f"week of {name}" if days == 7 else f"{period.start:%B %Y}"
    return f"{name} ({counted(period.entries, 'change', 'changes')})"
