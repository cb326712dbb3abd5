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
from engram.values import Section, Window


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
        [*map(_row, window.sections), *_frame(window), _whole(window)],
        numbers={1, 2, 3},
    )
    counter = window.counter if window.is_exact else f"{window.counter}, rounded up"
    beside = f"beside {window.fixed_tokens} of fixed parts and the message"
    out(f"{window.tokens} of {window.budget} tokens, {beside}; counted by {counter}")


def _row(section: Section) -> list[str]:
    held = str(len(section.holds)) if section.holds else ""
    return [str(section.name), str(section.tokens), str(section.allowance), held]


def _frame(window: Window) -> list[list[str]]:
    """Return the row of what stands around the sections: headings, and that memories are no orders."""
    around = window.tokens - sum(one.tokens for one in window.sections)
    return [["frame", str(around), "", ""]] if around > 0 else []


def _whole(window: Window) -> list[str]:
    return [
        "all",
        str(window.tokens),
        str(window.budget),
        str(sum(len(one.holds) for one in window.sections)),
    ]


def _tell_shortfalls(window: Window) -> None:
    for missing in window.missing:
        talk(warning(f"{missing.index} did not take part fully: {one_line(missing.reason)}"))
    for loss in window.losses:
        talk(f"{loss.section}: {loss.count} {loss.fate}, {one_line(loss.reason)}")
