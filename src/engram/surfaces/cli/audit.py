"""
`engram audit`: who did what in the store.

Calls `Engram.audit`. Newest first, for the whole store whatever the scope: ids, counts and reasons, never a
word of a memory.
"""

from collections.abc import Sequence

from engram.surfaces.cli.options import Limit, Shared
from engram.surfaces.cli.output import minute, one_line, present
from engram.surfaces.cli.table import show_table
from engram.values import AuditEvent


def audit(shared: Shared, *, limit: Limit = 50) -> None:
    """
    Show who did what in the store, newest first; no line holds a memory's words.

    Example: engram audit --limit 20
    """
    with shared.open_existing() as engram:
        found = engram.audit(limit=limit)

    present(found, _show, as_json=shared.json)


def _show(found: Sequence[AuditEvent]) -> None:
    if found:
        show_table(["when", "who", "did", "to", "detail"], [_row(event) for event in found])


def _row(event: AuditEvent) -> list[str]:
    detail = ", ".join(f"{name}={value}" for name, value in event.detail.items())
    who = f"{event.actor.name} ({event.actor.kind})"
    return [minute(event.at), one_line(who), str(event.action), event.target or "", one_line(detail)]
