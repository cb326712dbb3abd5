"""Commands of conversations: observe, flush, turns, context, working memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from engramdb.cli.options import Limit, Shared, Text, among, given_text, moment
from engramdb.cli.output import (
    bold,
    dim,
    indented,
    minute,
    one_line,
    out,
    present,
    short,
    show_table,
    talk,
    visible,
    warning,
)
from engramdb.text.normalize import counted
from engramdb.values import Memory, Restored, Role, Section, Turn, Window, WorkingItem, WorkingMemory

# `engram observe`: keep one message as it was said.


def observe(
    shared: Shared,
    text: Text,
    *,
    role: Annotated[Role, typer.Option(metavar="NAME", help=among("Who spoke", Role))] = Role.USER,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who spoke, by name.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation.")] = None,
    occurred_at: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=moment, help="When it was said; else now.")
    ] = None,
) -> None:
    """
    Keep one message of a conversation as it was said.

    Example: engram observe "I switched from vim to Helix" --role user --session s1
    """
    content = given_text(text)
    with shared.open_or_create() as engram:
        turn = engram.observe(content, role=role, speaker=speaker, session=session, occurred_at=occurred_at)

    present(turn, _show, as_json=shared.json)


def _show(turn: Turn) -> None:
    out(f"observed {short(turn.id)}  {turn.role}: {one_line(turn.content)}")


# `engram flush`: read now what still waits.


def flush(
    shared: Shared,
    *,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only this conversation.")] = None,
) -> None:
    """
    Read memories out of the turns that still wait for it.

    Example: engram flush --session s1
    """
    with shared.open_existing() as engram:
        count = engram.flush(session=session)

    present({"turns": count}, _show_flush, as_json=shared.json)


def _show_flush(read: dict[str, int]) -> None:
    out(f"read {counted(read['turns'], 'turn', 'turns')}")


# `engram turns` and `engram end-session`: what was said, and what it came to.

_UNDER_CONTENT = " " * 10


def turns(
    shared: Shared,
    *,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this conversation.")] = None,
    limit: Limit = 50,
    before: Annotated[str | None, typer.Option(metavar="ID", help="Only those said before this one.")] = None,
) -> None:
    """
    Show the latest messages as they were said, oldest of them first.

    Example: engram turns --session s1 --limit 10
    """
    with shared.open_existing() as engram:
        found = engram.turns(session=session, limit=limit, before=before)

    present(found, _show_turns, as_json=shared.json)
    if not found:
        talk("Nothing was said." if before is None else "Nothing was said before that.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --before {short(found[0].id)}")


def end_session(
    shared: Shared,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The conversation that is over.")],
) -> None:
    """
    Read what still waits of a conversation, and store a summary of it.

    Example: engram end-session s1
    """
    with shared.open_existing() as engram:
        summary = engram.end_session(session)

    present(summary, _show_summary, as_json=shared.json)


def _show_turns(found: Sequence[Turn]) -> None:
    for turn in found:
        who = one_line(turn.speaker) if turn.speaker else str(turn.role)
        first = f"{short(turn.id)}  {dim(minute(turn.occurred_at))}  {bold(who)}: "
        out(indented(first, one_line(turn.content), indent=_UNDER_CONTENT))


def _show_summary(summary: Memory | None) -> None:
    if summary is None:
        talk("The session was too short for a summary.")
    else:
        out(f"remembered {short(summary.id)}  {one_line(summary.content)}")


# `engram context`: the best prompt for a message, a model and a number of tokens.
#
# Calls `Engram.context`. The prompt goes to stdout as it is meant for a model; what was left out, shortened
# or
# could not take part goes to stderr, and `--sections` shows what each part costs instead of its words.


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

    present(window, _show_sections if sections else _show_context, as_json=shared.json)
    _tell_shortfalls(window)


def _show_context(window: Window) -> None:
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


# `engram working-memory`, `engram suspend` and `engram resume`: what an agent has in mind.

_STATES = {
    Restored.HELD: "as it is",
    Restored.FULL: "as it was left",
    Restored.DECAYED: "fainter than it was left",
    Restored.FRESH: "begun anew with what matters most",
}


def working_memory(shared: Shared) -> None:
    """
    Show what an agent has in mind now, the most active first.

    Example: engram working-memory --agent coder --user ann
    """
    with shared.open_existing() as engram:
        found = engram.working_memory()

    _present(shared, found)


def suspend(shared: Shared) -> None:
    """
    Keep what an agent has in mind as of now, to be resumed later, and show it.

    Example: engram suspend --agent coder
    """
    with shared.open_existing() as engram:
        found = engram.suspend()

    _present(shared, found)
    talk(f"Kept; `engram resume` brings it back: {len(found.items)} in mind.")


def resume(shared: Shared) -> None:
    """
    Bring an agent's working memory back, and say in what state it comes.

    Example: engram resume --agent coder
    """
    with shared.open_existing() as engram:
        found = engram.resume()

    _present(shared, found)


def _present(shared: Shared, found: WorkingMemory) -> None:
    present(found, _show_working_memory, as_json=shared.json)
    if not found.items:
        talk("Nothing is in mind.")


def _show_working_memory(found: WorkingMemory) -> None:
    left = f", {found.topics} topics left open" if found.topics else ""
    out(dim(f"{_STATES[found.restored]}; {found.tokens} tokens{left}"))
    if found.items:
        show_table(
            ["active", "from", "id", "content"],
            [_row_working_memory(item) for item in found.items],
            numbers={0},
        )


def _row_working_memory(item: WorkingItem) -> list[str]:
    slot = item.slot
    named = short(slot.reference) if slot.reference else ""
    return [f"{slot.activation:.2f}", str(slot.source), named, one_line(item.content)]
