"""
`engram gaps`, `engram answer-gap` and `engram close-gap`: what should be known and is not.

Call `Engram.gaps`, `answer_gap` and `close_gap`. The questions were found by the last dream; an answer is
remembered like any other statement, and a question that was settled is not asked again. Pages follow one
another by `--after` and the last id shown.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Reason, Shared, Text, given_text
from engram.surfaces.cli.output import bold, one_line, out, present, talk
from engram.surfaces.cli.stored import show_stored
from engram.surfaces.cli.table import show_table
from engram.values import Gap

GapId = Annotated[str, typer.Argument(metavar="GAP", help="The question's id, as `engram gaps` shows it.")]


def gaps(
    shared: Shared,
    *,
    limit: Limit = 20,
    after: Annotated[str | None, typer.Option(metavar="GAP", help="Only those that follow this one.")] = None,
) -> None:
    """
    Show open questions, the weightiest first: missing facts, contradictions, beliefs grown old.

    Example: engram gaps --limit 5
    """
    with shared.open_existing() as engram:
        found = engram.gaps(limit=limit, after=after)

    present(found, _show, as_json=shared.json)
    if not found:
        talk("No question is open; `engram dream` looks for some." if after is None else "No other is open.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --after {found[-1].id}")


def answer_gap(shared: Shared, gap: GapId, text: Text) -> None:
    """
    Answer an open question: the answer is remembered, and the question is closed.

    Example: engram answer-gap 4f1c77ab0d52 "Ada's birthday is on 10 December"
    """
    content = given_text(text)
    with shared.open_existing() as engram:
        memory = engram.answer_gap(gap, content)

    present(memory, show_stored, as_json=shared.json)


def close_gap(shared: Shared, gap: GapId, *, reason: Reason = "") -> None:
    """
    Settle a question without an answer; it is not asked again.

    Example: engram close-gap 4f1c77ab0d52 --reason "nobody needs to know"
    """
    with shared.open_existing() as engram:
        closed = engram.close_gap(gap, reason=reason)

    present(closed, _show_closed, as_json=shared.json)


def _show(found: Sequence[Gap]) -> None:
    if found:
        show_table(
            ["id", "weight", "kind", "question"],
            [[gap.id, f"{gap.priority:.2f}", str(gap.kind), one_line(gap.question)] for gap in found],
            numbers={1},
        )


def _show_closed(gap: Gap) -> None:
    out(f"{bold('closed')} {gap.id}  {one_line(gap.question)}")
