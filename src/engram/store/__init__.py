"""
Where memories are kept: the only room with SQL.

`contract` says what a store can do; `open_store` returns the one that a location asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.errors import InvalidSettings
from engram.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from datetime import datetime

    from engram.settings import Settings
    from engram.store.contract import Store


def open_store(settings: Settings, *, now: datetime) -> Store:
    """Open or create the store that the settings name."""
    location = settings.store_location
    if "://" in location:
        scheme = location.partition("://")[0]
        raise InvalidSettings(
            f"no store is known for {scheme}://",
            hint="This version keeps memories in a file: give a path such as memory.db.",
        )
    return SqliteStore.open(
        location,
        now=now,
        key=bytes.fromhex(settings.key),
        is_durable=settings.durability == "full",
        readers=settings.readers,
        max_waiting_writers=settings.max_waiting_writers,
        busy_timeout_seconds=settings.busy_timeout_seconds,
    )
