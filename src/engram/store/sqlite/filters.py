"""
A scope and filters as a WHERE clause over `memories m`.

Used by the listing and by the text search, so that both let the same memories through.
Every value is bound; only fixed fragments are joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.store.sqlite.rows import to_json
from engram.store.sqlite.scopes import VISIBLE, names
from engram.store.sqlite.times import to_microseconds

if TYPE_CHECKING:
    from engram.values import Filters, Scope


def where(scope: Scope, filters: Filters) -> tuple[str, list[str | int]]:
    """Return the condition and its parameters."""
    conditions = [f"m.scope IN ({VISIBLE})"]
    parameters: list[str | int] = [*names(scope)]
    sets = {
        "status": filters.statuses,
        "layer": filters.layers,
        "type": filters.types,
        "kind": filters.kinds,
        "category": filters.categories,
    }
    for column, allowed in sets.items():
        if allowed or column == "status":
            conditions.append(f"m.{column} IN (SELECT value FROM json_each(?))")
            parameters.append(to_json(sorted(allowed)))
    if filters.since is not None:
        conditions.append("m.when_at >= ?")
        parameters.append(to_microseconds(filters.since))
    if filters.until is not None:
        conditions.append("m.when_at < ?")
        parameters.append(to_microseconds(filters.until))
    return " AND ".join(conditions), parameters
