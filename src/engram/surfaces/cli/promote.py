"""
`engram promote` and `engram demote`: put a memory into another layer by hand.

Call `Engram.promote` and `Engram.demote`. A layer that a person chose is left alone by every rule.
Two commands and not one with a switch, because that is how people say it.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import MemoryId, Reason, Shared, among
from engram.surfaces.cli.output import one_line, out, present, short
from engram.values import Layer, Memory

Into = Annotated[
    Layer | None, typer.Option(metavar="NAME", help=among("Into this layer instead of the next", Layer))
]


def promote(shared: Shared, memory_id: MemoryId, *, layer: Into = None, reason: Reason = "") -> None:
    """
    Put a memory one layer up, from working to episodic to semantic, where rules leave it.

    Example: engram promote 3f2a9c1b --reason "we rely on this"
    """
    with shared.open_existing() as engram:
        memory = engram.promote(memory_id, layer=layer, reason=reason)

    present(memory, _show, as_json=shared.json)


def demote(shared: Shared, memory_id: MemoryId, *, layer: Into = None, reason: Reason = "") -> None:
    """
    Put a memory one layer down, from semantic to episodic to working, where rules leave it.

    Example: engram demote 3f2a9c1b --layer episodic
    """
    with shared.open_existing() as engram:
        memory = engram.demote(memory_id, layer=layer, reason=reason)

    present(memory, _show, as_json=shared.json)


def _show(memory: Memory) -> None:
    out(f"{memory.layer} from now on: {short(memory.id)}  {one_line(memory.content)}")
