"""How many entries are asked for is a whole number within bounds, whatever else is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram
from engramdb.errors import InvalidQuery
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engram(store_path: Path) -> Iterator[Engram]:
    """An engine on an empty store."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as opened:
        yield opened


@pytest.mark.parametrize("limit", ["5", 1.5, None, 0, -1, 1001, 2**70])
@pytest.mark.parametrize("verb", ["audit", "dreams", "gaps", "turns", "list"])
def test_a_limit_of_another_kind_is_refused_as_one(engram: Engram, verb: str, limit: Any) -> None:
    """It is the caller's mistake, and neither the store's nor a bare TypeError."""
    with pytest.raises(InvalidQuery, match="limit="):
        getattr(engram, verb)(limit=limit)
