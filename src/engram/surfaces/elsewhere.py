"""
Notice that other scopes hold memories, where somebody may be looking in the wrong one.

Called by the page and by commands that show or take along what a scope sees. An agent is often connected
with a scope, and a person who looks without it would take silence for an empty memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.values import Scope


def hidden_scope(names: Iterable[str], scope: Scope) -> str | None:
    """Return the first of the scopes in words that this scope does not see, if there is one."""
    seen = {str(one) for one in scope.visible()}
    return next((name for name in names if name not in seen), None)
