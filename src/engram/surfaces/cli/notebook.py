"""
`engram notebook sync`: keep a folder of Markdown files and the memories of a scope in step.

Calls `Engram.notebook_sync`; `watch` shows its reports with the same words. Trouble is shown first, because
it is what a person has to do something about, and by the names of files, never by what is in them.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import counted, dim, one_line, out, present, short, warning
from engram.surfaces.cli.progress import counting
from engram.surfaces.errors import FAILED
from engram.values import NotebookAct, NotebookChange, NotebookReport

SHOWN = 20
"""So many changes are shown; `--json` gives up to a thousand."""
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of the notebook.")]
Delete = Annotated[bool, typer.Option("--delete", help="Forget the memories of files that were deleted.")]
Adopt = Annotated[
    bool, typer.Option("--adopt", help="Take a folder that holds other things; they are left alone.")
]

_SAYING = {
    NotebookAct.ADDED: "taken in as a new memory",
    NotebookAct.CORRECTED: "edited, and so corrected",
    NotebookAct.RELABELLED: "relabelled",
    NotebookAct.FORGOTTEN: "deleted, and so forgotten",
    NotebookAct.WRITTEN: "written",
    NotebookAct.UPDATED: "brought up to date",
    NotebookAct.REMOVED: "removed",
    NotebookAct.RESTORED: "had been deleted and is back; --delete forgets instead",
    NotebookAct.CONFLICT: "changed on both sides: the file shows the memory, your words are in",
    NotebookAct.PAGE_EDITED: "is made by Engram: it was made anew, your edit is in",
    NotebookAct.NOT_TAKEN: "cannot be changed so",
    NotebookAct.REFUSED: "not let in",
    NotebookAct.KNOWN: "says what is known already",
    NotebookAct.DUPLICATE: "has the id of another file: remove the id to make it a memory of its own",
    NotebookAct.UNKNOWN: "has an id that is not known here: remove the id to take it in",
    NotebookAct.UNREADABLE: "cannot be read",
    NotebookAct.OUTSIDE: "was moved out of facts: move it back, or remove its id to be rid of it here",
    NotebookAct.BUSY: "was being changed; the next sync looks again",
}


def sync(
    shared: Shared,
    folder: Folder,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    delete: Delete = False,
    delete_many: Annotated[
        bool, typer.Option("--delete-many", help="Like --delete, also where most files were deleted.")
    ] = False,
    adopt: Adopt = False,
) -> None:
    """
    Bring a folder of Markdown notes and memories to the same state, both ways.

    Example: engram notebook sync ~/notes/memory --dry-run
    """
    with shared.open_or_create() as engram, counting("syncing") as progress:
        report = engram.notebook_sync(
            folder,
            dry_run=dry_run,
            delete=delete,
            delete_many=delete_many,
            adopt=adopt,
            progress=progress,
        )

    present(report, show_report, as_json=shared.json)
    if any(one.act is NotebookAct.CONFLICT for one in report.changes):
        raise typer.Exit(FAILED)


def show_report(report: NotebookReport) -> None:
    """Show what was done: a line of numbers, then each file, trouble first."""
    out(f"{counted(report.memories, 'memory', 'memories')} in the notebook{_told(report)}")
    for one in report.changes[:SHOWN]:
        show_change(one)
    hidden = sum(report.counts.values()) - min(len(report.changes), SHOWN)
    if hidden:
        out(f"  and {hidden} more; --json shows up to a thousand")
    if report.withheld:
        left = counted(report.withheld, "memory", "memories")
        out(dim(f"{left} kept out of the notebook: too sensitive for a plain file"))
    if report.open_copies:
        out(warning(f"{counted(len(report.open_copies), 'copy', 'copies')} of your words to look at:"))
        for path in report.open_copies[:SHOWN]:
            out(f"  {one_line(path)}")


def show_change(one: NotebookChange) -> None:
    """Show one file in a line."""
    about = f" ({one_line(one.why)})" if one.why else ""
    copy = f" {one_line(one.copy)}" if one.copy else ""
    told = f"{_SAYING[one.act]}{about}{copy}"
    known = f"{short(one.memory_id)}  " if one.memory_id else f"{'':8}  "
    out(f"  {known}{one_line(one.path)}: {warning(told) if one.is_trouble else told}")


def _told(report: NotebookReport) -> str:
    if report.is_unchanged:
        return ", nothing to do"
    named = [f"{number} {act}" for act, number in report.counts.items()]
    if report.pages_changed:
        named.append(f"{counted(report.pages_changed, 'page', 'pages')} made anew")
    return f"; {'would be: ' if report.dry_run else ''}{', '.join(named)}"
