"""
`engram recall`: ask a question.

Calls `Engram.recall`. Hits go to stdout; what did not take part in the answer goes to stderr, every time,
so that an empty answer is never mistaken for a failed one.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Narrowing, Shared, given_text
from engram.surfaces.cli.output import one_line, present, talk, warning
from engram.surfaces.cli.show import show_recall, show_recall_explained
from engram.values import Recall


def recall(
    narrowing: Narrowing,
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to look for, or - for stdin.")],
    *,
    limit: Limit = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show every reason and all timings.")] = False,
) -> None:
    """
    Ask a question and see the memories that fit, best first.

    Example: engram recall "which editor do I use?" --limit 3 --explain
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        answer = engram.recall(asked, limit=limit, filters=narrowing.filters)

    present(answer, show_recall_explained if explain else show_recall, as_json=shared.json)
    _tell_quality(answer)


def _tell_quality(answer: Recall) -> None:
    for missing in answer.quality.missing:
        talk(warning(f"{missing.index} did not take part fully: {one_line(missing.reason)}"))
    if not answer.hits:
        talk("Nothing was found.")
