"""Validation of policy numbers."""

from __future__ import annotations

from engramdb.errors import InvalidSettings


def require_positive(part: object, *names: str) -> None:
    """Raise unless each of these fields is above 0."""
    for name in names:
        if not getattr(part, name) > 0:
            raise InvalidSettings(f"policy: {name}={getattr(part, name)} must be above 0")


def require_share(part: object, *names: str) -> None:
    """Raise unless each of these fields is in [0, 1]."""
    for name in names:
        if not 0 <= getattr(part, name) <= 1:
            raise InvalidSettings(f"policy: {name}={getattr(part, name)} is outside 0 to 1")
