"""
Scopes that knew nothing when an export of Engram was first taken into them.

Asked by `engine.intake`. What stood side by side in one store was settled there; settled anew, in another
order and against fewer neighbours, some of it would replace the rest, and a round trip would lose statements.
So in such a scope it stands as it stood. Where something is known, it is settled against that as everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.values import ImportKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.capture.admit import Prepared
    from engram.store.contract import Store
    from engram.values import Scope


class BareScopes:
    """Which scopes were empty when an import came to them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._was_bare: dict[Scope, bool] = {}

    def among(self, places: Iterable[tuple[ImportKind, Scope]]) -> frozenset[Scope]:
        """Return those of a batch's scopes that were empty and that nothing but exports go to."""
        every = set(places)
        with self._store.read() as tx:
            for _, scope in every:
                if scope not in self._was_bare:
                    self._was_bare[scope] = tx.scopes.find(scope) is None
        mixed = {scope for kind, scope in every if kind is not ImportKind.ENGRAM}
        return frozenset(scope for _, scope in every if self._was_bare[scope] and scope not in mixed)


def left_standing(prepared: Prepared, scopes: frozenset[Scope]) -> Prepared:
    """Return what was prepared without anything to settle against in these scopes."""
    if not scopes:
        return prepared
    settled = {place for place, one in enumerate(prepared.candidates) if one.memory.scope not in scopes}
    return replace(
        prepared,
        neighbours={place: near for place, near in prepared.neighbours.items() if place in settled},
        siblings={place: alike for place, alike in prepared.siblings.items() if place in settled},
    )
