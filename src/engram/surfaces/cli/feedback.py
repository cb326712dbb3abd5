"""
`engram feedback`: say whether a memory helped.

Calls `Engram.feedback`. Feedback moves how far a memory is trusted; together with the question it also keeps
one that was of no help from answering such a question again for a while, and no other question.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import MemoryId, Shared, given_text
from engram.surfaces.cli.output import one_line, out, present, short, talk
from engram.surfaces.cli.show import feedbacks
from engram.values import Memory


def feedback(
    shared: Shared,
    memory_id: MemoryId,
    *,
    helpful: Annotated[
        bool | None, typer.Option("--helpful/--unhelpful", help="Whether it helped; one must be said.")
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            "--question", "--query", metavar="TEXT", help="Which one; kept as a fingerprint, not as words."
        ),
    ] = None,
) -> None:
    """
    Say whether a memory helped, and for which question.

    Example: engram feedback 3f2a9c1b --unhelpful --question "which editor do I use?"
    """
    if helpful is None:
        raise typer.BadParameter("say --helpful or --unhelpful")
    asked = None if question is None else given_text(question)
    with shared.open_existing() as engram:
        memory = engram.feedback(memory_id, helpful=helpful, query=asked)

    present(memory, _show, as_json=shared.json)
    if not helpful and question is not None:
        days = shared.settings().chosen_policy().recall.suppress_days
        talk(f"Such questions do not find it for {days:g} days; others do.")


def _show(memory: Memory) -> None:
    out(f"{feedbacks(memory)}: {short(memory.id)}  {one_line(memory.content)}")
