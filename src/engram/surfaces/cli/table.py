"""
Write columns below one another, in plain characters.

Used by the commands that compare numbers. Numbers are set to the right and words to the left; the last column
is never padded, and on a terminal its words are wrapped under themselves. There are no frames: a table can be
read without colour and taken apart with `awk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.cli.output import dim, indented, out

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

GAP = "  "


def show_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    indent: str = "",
) -> None:
    """Show rows of cells; `numbers` are the places of the columns that are set to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if any(header):
        out(indent + dim(_line(header, widths, numbers).rstrip()))
    for row in rows:
        *first, last = row
        before = indent + (_line(first, widths, numbers) + GAP if first else "")
        is_number = len(row) - 1 in numbers
        out(
            indented(before, last.rjust(widths[-1]) if is_number else last, indent=" " * len(before)).rstrip()
        )


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Collection[int]) -> str:
    return GAP.join(
        cell.rjust(width) if place in numbers else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=False))
    )
