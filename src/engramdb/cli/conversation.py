"""Show conversations: what was said, the prompt for a message, what an agent has in mind."""

from __future__ import annotations

from collections.abc import Sequence

import click

from engramdb.cli.derive import Run, runs, shows
from engramdb.cli.output import (
    bold,
    dim,
    indented,
    minute,
    one_line,
    out,
    short,
    show_table,
    talk,
    visible,
    warning,
)
from engramdb.errors import MemoryNotFound
from engramdb.text.dates import readable
from engramdb.text.normalize import counted
from engramdb.values import (
    Brief,
    Memory,
    Restored,
    Section,
    Turn,
    UnlearnedTurn,
    Window,
    WorkingItem,
    WorkingMemory,
)
from engramdb.values.recall import UNREADABLE_ROW
from engramdb.verbs.conversation import Flushed

_UNDER_CONTENT = " " * 10
_STATES = {
    Restored.HELD: "as it is",
    Restored.FULL: "as it was left",
    Restored.DECAYED: "fainter than it was left",
    Restored.FRESH: "started afresh with what matters most",
}


@shows("observe")
def show_observed(turn: Turn) -> None:
    """Show the message that was stored."""
    out(f"observed {short(turn.id)}  {turn.role}: {one_line(turn.content)}")


@shows("flush")
def show_flushed(read: Flushed) -> None:
    """Show how many turns were read."""
    out(f"read {counted(read.turns, 'turn', 'turns')}")


@runs("turns")
def turns(run: Run) -> None:
    """Show what was said, and how the list goes on."""
    found: Sequence[Turn] = run.answer()
    run.present(found, show_turns)
    if not found:
        talk("Nothing was said." if run.asked.before is None else "Nothing was said before that.")
    elif len(found) == run.asked.limit and not run.shared.json:
        talk(f"There may be more; add --before {short(found[0].id)}")


def show_turns(found: Sequence[Turn]) -> None:
    """Show messages, a line for each."""
    for turn in found:
        who = one_line(turn.speaker) if turn.speaker else str(turn.role)
        first = f"{short(turn.id)}  {dim(minute(turn.occurred_at))}  {bold(who)}: "
        out(indented(first, one_line(turn.content), indent=_UNDER_CONTENT))


@shows("forget_turn")
def show_unlearned(found: UnlearnedTurn) -> None:
    """Show what was forgotten with a message, and what was not."""
    out(f"took the message back and forgot {counted(len(found.forgotten), 'memory', 'memories')}")
    if found.kept:
        talk(f"{counted(len(found.kept), 'memory was', 'memories were')} said elsewhere too and stay")
    if found.restored:
        talk(f"{counted(len(found.restored), 'memory counts', 'memories count')} again")


@runs("end_session")
def end_session(run: Run) -> None:
    """Sum a session up; one in which nothing was said is told from one that was too short."""
    with run.open() as engram:
        summary: Memory | None = run.call(engram)
        if summary is None and not engram.turns(session=run.asked.session, limit=1):
            raise MemoryNotFound(
                f"no session {run.asked.session[:40]!r} is known in scope {engram.scope}",
                hint="Check the name and the scope.",
            )
    run.present(summary, show_summary)


def show_summary(summary: Memory | None) -> None:
    """Show the summary of a session, or that there is none."""
    if summary is None:
        talk("The session was too short for a summary.")
    else:
        out(f"remembered {short(summary.id)}  {one_line(readable(summary))}")


@runs(
    "context",
    click.Option(["--sections"], is_flag=True, help="Show what each part costs instead of its words."),
)
def context(run: Run) -> None:
    """Show the prompt on stdout, and on stderr what was left out, shortened or could not take part."""
    window: Window = run.answer()
    run.present(window, show_sections if run.extra["sections"] else show_context)
    _tell_shortfalls(window)


@runs("brief")
def brief(run: Run) -> None:
    """Show the block on stdout, and on stderr what had no room."""
    found: Brief = run.answer()
    run.present(found, lambda one: out(visible(one.text)))
    if not found.text and not found.left_out:
        talk("Nothing is known yet.")
    elif found.left_out:
        which = f"{found.left_out} more" if found.text else counted(found.left_out, "memory", "memories")
        talk(f"{which} had no room in {found.budget} tokens.")
    for one in found.unreadable:
        talk(f"Memory {one_line(one)} is missing: {UNREADABLE_ROW}.")


def show_context(window: Window) -> None:
    """Show the prompt as it is meant for a model."""
    out(visible(window.text))


def show_sections(window: Window) -> None:
    """Show what each part of the prompt costs."""
    show_table(
        ["section", "tokens", "of", "memories"],
        [*map(_section_row, window.sections), *_frame(window), _whole(window)],
        numbers={1, 2, 3},
    )
    counter = window.counter if window.is_exact else f"{window.counter}, rounded up"
    beside = f"beside {window.fixed_tokens} of fixed parts and the message"
    out(f"{window.tokens} of {window.budget} tokens, {beside}; counted by {counter}")


def _section_row(section: Section) -> list[str]:
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


@runs("working_memory")
def working_memory(run: Run) -> None:
    """Show what an agent has in mind."""
    _present(run, run.answer())


@runs("suspend")
def suspend(run: Run) -> None:
    """Save what an agent has in mind, and say how to bring it back."""
    found: WorkingMemory = run.answer()
    _present(run, found)
    talk(f"Kept; `engram resume` brings it back: {len(found.items)} in mind.")


@runs("resume")
def resume(run: Run) -> None:
    """Bring back what an agent has in mind."""
    _present(run, run.answer())


def _present(run: Run, found: WorkingMemory) -> None:
    run.present(found, show_working_memory)
    if not found.items:
        talk("Nothing is in mind.")


def show_working_memory(found: WorkingMemory) -> None:
    """Show what an agent has in mind."""
    left = f", {found.topics} topics left open" if found.topics else ""
    out(dim(f"{_STATES[found.restored]}; {found.tokens} tokens{left}"))
    if found.items:
        show_table(
            ["active", "from", "id", "content"],
            [_item_row(item) for item in found.items],
            numbers={0},
        )


def _item_row(item: WorkingItem) -> list[str]:
    slot = item.slot
    named = short(slot.reference) if slot.reference else ""
    return [f"{slot.activation:.2f}", str(slot.source), named, one_line(item.content)]
