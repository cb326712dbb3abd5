"""
`engram context`: the best prompt for a message, a model and a number of tokens.

Calls `Engram.context`. The prompt goes to stdout as it is meant for a model; what was left out, shortened or
could not take part goes to stderr, and `--sections` shows what each part costs instead of its words.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared, given_text
from engram.surfaces.cli.output import one_line, out, present, talk, visible, warning
from engram.surfaces.cli.table import show_table
from engram.values import Window


def context(
    shared: Shared,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What the user says, or - for stdin.")],
    *,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The chat model, whose window is filled.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="Tokens for memories; else what the model has room for."),
    ] = None,
    reserve: Annotated[
        int | None, typer.Option(metavar="TOKENS", help="Tokens that the reply may take.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="The conversation, whose turns are the history.")
    ] = None,
    fixed: Annotated[str, typer.Option(metavar="TEXT", help="What your prompt begins with anyway.")] = "",
    sections: Annotated[
        bool, typer.Option("--sections", help="Show what each part costs instead of its words.")
    ] = False,
) -> None:
    """
    Make the prompt for a message: who is speaking, what is in mind, what was said, what fits.

    Example: engram context "deploy it" --model claude-opus-4-6 --session s1
    """
    asked = given_text(message)
    with shared.open_existing() as engram:
        window = engram.context(
            asked, model=model, budget=budget, reserve=reserve, session=session, fixed=fixed
        )

    present(window, _show_sections if sections else _show, as_json=shared.json)
    _tell_shortfalls(window)


def _show(window: Window) -> None:
    out(visible(window.text))


def _show_sections(window: Window) -> None:
    show_table(
        ["section", "tokens", "of", "memories"],
        [
            [str(one.name), str(one.tokens), str(one.allowance), str(len(one.holds))]
            for one in window.sections
        ],
        numbers={1, 2, 3},
    )
    counted = window.counter if window.is_exact else f"{window.counter}, rounded up"
    out(f"{window.tokens} of {window.budget} tokens, beside {window.fixed_tokens} fixed; by {counted}")


def _tell_shortfalls(window: Window) -> None:
    for missing in window.missing:
        talk(warning(f"{missing.index} did not take part fully: {one_line(missing.reason)}"))
    for loss in window.losses:
        talk(f"{loss.section}: {loss.count} {loss.fate}, {one_line(loss.reason)}")
