"""
`engram domains` and `engram summaries`: the fields of knowledge, and what they come to in short.

Call `Engram.domains` and `Engram.summaries`. Both are what the last dream found; before the first there are
none, and a line says so.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Shared, among, given_text
from engram.surfaces.cli.output import bold, dim, minute, one_line, out, present, talk, visible
from engram.surfaces.cli.table import show_table
from engram.text.counted import memories
from engram.values import Breadth, Domain, Summary

NONE_YET = "There are none yet; `engram dream` finds them."


def domains(shared: Shared) -> None:
    """
    Show the fields of knowledge, the best known first, and how well each is known.

    Example: engram domains --project shop
    """
    with shared.open_existing() as engram:
        found = engram.domains()

    present(found, _show_domains, as_json=shared.json)
    if not found:
        talk(NONE_YET)


def summaries(
    shared: Shared,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="What fits this first, or - for stdin.")
    ] = None,
    *,
    breadth: Annotated[
        Breadth, typer.Option(metavar="NAME", help=among("How much one summary speaks of", Breadth))
    ] = Breadth.DOMAIN,
    limit: Limit = 5,
) -> None:
    """
    Show what is known in short: by cluster, by domain or all of it.

    Example: engram summaries "the deployment" --breadth cluster
    """
    asked = None if question is None else given_text(question)
    with shared.open_existing() as engram:
        found = engram.summaries(asked, breadth=breadth, limit=limit)

    present(found, _show_summaries, as_json=shared.json)
    if not found:
        talk(NONE_YET)


def _show_domains(found: Sequence[Domain]) -> None:
    if found:
        show_table(
            ["confidence", "depth", "fresh", "unsure", "memories", "gaps", "latest", "domain"],
            [_domain_row(one) for one in found],
            numbers={0, 1, 2, 3, 4, 5},
        )


def _domain_row(one: Domain) -> list[str]:
    numbers = (one.confidence, one.depth, one.freshness, one.uncertainty)
    latest = minute(one.latest_at) if one.latest_at else ""
    return [
        *(f"{number:.2f}" for number in numbers),
        str(one.members),
        str(one.gaps),
        latest,
        one_line(one.title),
    ]


def _show_summaries(found: Sequence[Summary]) -> None:
    for one in found:
        out(f"{bold(one_line(one.title))}  {dim(f'{one.breadth}, {memories(one.members)}')}")
        out(visible(one.text))
        out()
