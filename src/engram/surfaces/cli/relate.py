"""
`engram relate`, `engram unrelate` and `engram links`: say how two memories relate, and see it.

Call the engine's verbs of the same names. Recall follows such a link at once.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from engram.surfaces.cli.options import MemoryId, Shared
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Edge, EdgeType


class Relation(StrEnum):
    """What the first memory is to the other."""

    RELATED_TO = "related_to"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    CAUSED_BY = "caused_by"
    INSTANCE_OF = "instance_of"


Other = Annotated[str, typer.Argument(metavar="OTHER", help="The other memory's id.")]
As = Annotated[Relation, typer.Option("--as", metavar="RELATION", help=f"One of {', '.join(Relation)}.")]


def relate(
    shared: Shared,
    memory_id: MemoryId,
    other: Other,
    *,
    relation: As = Relation.RELATED_TO,
    weight: Annotated[float, typer.Option(help="How close, from 0 to 1.")] = 1.0,
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = "",
) -> None:
    """
    Say how a memory relates to another.

    Example: engram relate 3f2a9c1b 77d0e4a2 --as caused_by
    """
    with shared.open_existing() as engram:
        edge = engram.relate(memory_id, other, type=EdgeType(relation), weight=weight, reason=reason)

    present(edge, lambda edge: out(_words(edge)), as_json=shared.json)


def unrelate(
    shared: Shared, memory_id: MemoryId, other: Other, *, relation: As = Relation.RELATED_TO
) -> None:
    """
    Take back that a memory relates to another.

    Example: engram unrelate 3f2a9c1b 77d0e4a2 --as caused_by
    """
    with shared.open_existing() as engram:
        was_there = engram.unrelate(memory_id, other, type=EdgeType(relation))

    present(
        was_there, lambda was: out("taken away" if was else "there was no such link"), as_json=shared.json
    )


def links(shared: Shared, memory_id: MemoryId) -> None:
    """
    Show what a memory is linked to, by whom it may have been: a person, the gate or a dream.

    Example: engram links 3f2a9c1b
    """
    with shared.open_existing() as engram:
        edges = engram.links(memory_id)
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        texts = {end: engram.get(end).content for end in ends}

    def show(edges: Sequence[Edge]) -> None:
        for edge in edges:
            out(f"{_words(edge)}  {one_line(texts[edge.source])} → {one_line(texts[edge.target])}")
        if not edges:
            out("nothing")

    present(edges, show, as_json=shared.json)


def _words(edge: Edge) -> str:
    return f"{short(edge.source)} {edge.type} {short(edge.target)}"
