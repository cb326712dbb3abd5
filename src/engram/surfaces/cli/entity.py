"""
`engram entity`: everything about one person, project or thing.

Calls `Engram.entity`. Memories by layer, the newest first; then what they say it does, with whom it appears,
and how much was told of it month by month. Others of the same name are shown with the id to ask for them by.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Shared, given_text
from engram.surfaces.cli.output import bold, dim, minute, one_line, out, present, short
from engram.surfaces.cli.show import show_line
from engram.surfaces.cli.table import show_table
from engram.text.counted import memories
from engram.values import Entity, EntityProfile


def entity(
    shared: Shared,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the id of an entity.")],
    *,
    limit: Limit = 20,
) -> None:
    """
    Show everything about a person, project or thing: memories of all layers, relations, company, months.

    Example: engram entity "Project Alpha" --limit 5
    """
    asked = given_text(name)
    with shared.open_existing() as engram:
        found = engram.entity(asked, limit=limit)

    present(found, _show, as_json=shared.json)


def _show(found: EntityProfile) -> None:
    _show_entity(found.entity)
    for layer, held in found.memories.items():
        _head(layer)
        for memory in held:
            show_line(memory)
    if found.relations:
        _head("relations")
        show_table(
            ["memory", "subject", "predicate", "object"],
            [
                [short(one.memory_id), *map(_cell, (one.subject, one.predicate, one.object))]
                for one in found.relations
            ],
        )
    _show_counts("together with", {one.entity.name: one.memories for one in found.companions})
    _show_counts("by month", found.months)
    _show_namesakes(found.namesakes)


def _show_entity(one: Entity) -> None:
    out(f"{bold(one_line(one.name))}  {one.type}, id {one.id}")
    if one.aliases:
        out(f"also called {', '.join(map(one_line, one.aliases))}")
    out(f"{memories(one.mentions)}, from {minute(one.first_seen)} to {minute(one.last_seen)}")


def _show_counts(title: str, counted: Mapping[str, int]) -> None:
    if counted:
        _head(title)
        show_table(
            ["memories", ""],
            [[str(number), one_line(name)] for name, number in counted.items()],
            numbers={0},
        )


def _show_namesakes(others: Sequence[Entity]) -> None:
    if others:
        _head("others of that name")
        show_table(
            ["id", "type", "name"],
            [[one.id, str(one.type), one_line(one.name)] for one in others],
        )


def _head(title: str) -> None:
    out()
    out(dim(title))


def _cell(text: str | None) -> str:
    return one_line(text) if text else ""
