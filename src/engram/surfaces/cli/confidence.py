"""
`engram confidence`: whether a question can be answered from memory at all.

Calls `Engram.confidence`. It gives no memory and counts as no recall; what could not be looked at is told on
stderr, because a judgement that rests on less is another judgement.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared, given_text
from engram.surfaces.cli.output import bold, one_line, out, present, talk, warning
from engram.surfaces.cli.show import show_rows
from engram.text.counted import memories
from engram.values import Confidence


def confidence(
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question, or - for stdin.")],
) -> None:
    """
    Say how well a question is covered: confident, uncertain or unknown, and why.

    Example: engram confidence "when is Ada's birthday?"
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        found = engram.confidence(asked)

    present(found, _show, as_json=shared.json)
    for missing in found.missing:
        talk(warning(f"this rests on less: {one_line(missing)}"))


def _show(found: Confidence) -> None:
    out(f"{bold(found.certainty)}: {one_line(found.reason)}")
    show_rows(
        {
            "confidence": f"{found.confidence:.2f}",
            "best memory": f"fits by {found.evidence:.2f}",
            "supporting": memories(found.supporting),
            "open questions": str(found.gaps) if found.gaps else None,
            "domain": one_line(found.domain.title) if found.domain else None,
        }
    )
