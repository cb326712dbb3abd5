"""One empty store for all tests of this room that only read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.settings import Settings
from engramdb.store.opening import open_store

from .made import NOW, Maker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Maker]:
    """Builds windows over an empty store: what is in them is what the test hands in."""
    path = tmp_path_factory.mktemp("context") / "memory.db"
    store = open_store(Settings(store=str(path), durability="relaxed"), now=NOW)
    yield Maker(store)
    store.close()
