"""
`engram recall`: ask a question.

Calls `Engram.recall`. Hits go to stdout; what did not take part in the answer goes to stderr, every time,
so that an empty answer is never mistaken for a failed one.
"""

from datetime import datetime
from typing import Annotated

import typer

from engram.surfaces.cli.answer import show_recall, show_recall_explained
from engram.surfaces.cli.elsewhere import elsewhere
from engram.surfaces.cli.moments import moment
from engram.surfaces.cli.options import Limit, Narrowing, Shared, among, given_text
from engram.surfaces.cli.output import minute, one_line, present, talk, warning
from engram.surfaces.fit import is_far_off
from engram.values import Mode, Recall


def recall(
    narrowing: Narrowing,
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to look for, or - for stdin.")],
    *,
    limit: Limit = 10,
    mode: Annotated[
        Mode, typer.Option(metavar="NAME", help=among("How much of what is known may be given", Mode))
    ] = Mode.FULL_CONTEXT,
    as_of: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", parser=moment, help="Answer from what was believed at this moment."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Order by score, rrf, mmr, rrf_then_mmr or cross_encoder; else as the policy says.",
        ),
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation that asks.")] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the plan, every signal, what was left out, and all timings."),
    ] = False,
) -> None:
    """
    Ask a question and see the memories that fit, best first.

    Example: engram recall "which editor do I use?" --limit 3 --explain
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        answer = engram.recall(
            asked,
            limit=limit,
            mode=mode,
            filters=narrowing.filters,
            session=session,
            as_of=as_of,
            strategy=strategy,
            explain=explain,
        )
        beyond = None if answer.hits else elsewhere(engram)

    present(answer, show_recall_explained if explain else show_recall, as_json=shared.json)
    _tell_quality(answer)
    if beyond is not None:
        talk(beyond)
    if as_of is not None:
        talk(f"This is what was believed at {minute(as_of)}.")


def _tell_quality(answer: Recall) -> None:
    for missing in answer.quality.missing:
        talk(warning(f"{missing.index} did not take part fully: {one_line(missing.reason)}"))
    if not answer.hits:
        talk("Nothing was found.")
    elif is_far_off(answer):
        talk("None of this fits well: it is only what comes nearest.")
