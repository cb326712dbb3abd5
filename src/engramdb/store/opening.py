"""Open the store that a location names."""

from __future__ import annotations

from datetime import datetime

from engramdb.errors import InvalidSettings
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.store.sqlite.store import SqliteStore


def open_store(settings: Settings, *, now: datetime, is_copy: bool = False) -> Store:
    """Open or create the store that the settings name; beside one that is a copy no room is kept free."""
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
        keeps_reserve=not is_copy,
    )
