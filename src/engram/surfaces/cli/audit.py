"""
`engram audit`: who did what in the store.

Calls `Engram.audit`. Newest first, for the whole store whatever the scope: ids, counts and reasons, never a
word of a memory. Pages follow one another by `--before` and the last number shown.
"""

from collections.abc import Sequence

from engram.surfaces.cli.options import BeforeNumber, Limit, Shared
from engram.surfaces.cli.output import minute, one_line, present, talk
from engram.surfaces.cli.table import show_table
from engram.values import AuditEvent


def audit(shared: Shared, *, limit: Limit = 50, before: BeforeNumber = None) -> None:
    """
    Show who did what in the store, newest first; no line holds a memory's words.

    Example: engram audit --limit 20
    """
    with shared.open_existing() as engram:
        found = engram.audit(limit=limit, before=before)

    present(found, _show, as_json=shared.json)
    if not found:
        talk("Nothing was done." if before is None else "Nothing was done before that.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --before {found[-1].number}")


def _show(found: Sequence[AuditEvent]) -> None:
    if found:
        header = ["number", "when", "who", "did", "to", "detail"]
        show_table(header, [_row(event) for event in found], numbers={0})


def _row(event: AuditEvent) -> list[str]:
    detail = ", ".join(f"{name}={value}" for name, value in event.detail.items())
    who = f"{event.actor.name} ({event.actor.kind})"
    return [
        str(event.number),
        minute(event.at),
        one_line(who),
        str(event.action),
        event.target or "",
        one_line(detail),
    ]
