"""
`engram working-memory`, `engram suspend` and `engram resume`: what an agent has in mind.

Call the verbs of the same names. The agent is `--agent`, part of the scope like the rest: two users of one
agent have minds of their own. What was forgotten meanwhile is in no mind any more.
"""

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import dim, one_line, out, present, short, talk
from engram.surfaces.cli.table import show_table
from engram.values import Item, Restored, WorkingMemory

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
    present(found, _show, as_json=shared.json)
    if not found.items:
        talk("Nothing is in mind.")


def _show(found: WorkingMemory) -> None:
    left = f", {found.topics} topics left open" if found.topics else ""
    out(dim(f"{_STATES[found.restored]}; {found.tokens} tokens{left}"))
    if found.items:
        show_table(["active", "from", "id", "content"], [_row(item) for item in found.items], numbers={0})


def _row(item: Item) -> list[str]:
    slot = item.slot
    named = short(slot.reference) if slot.reference else ""
    return [f"{slot.activation:.2f}", str(slot.source), named, one_line(item.content)]
