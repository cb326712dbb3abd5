"""The table of imports says which memory a record became."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engramdb.settings import Settings
from engramdb.store.contract import Imported
from engramdb.store.opening import open_store
from engramdb.values import ImportKind, new_id

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_mark_leads_to_the_memory_that_its_record_became(store_path: Path) -> None:
    """A message became a turn and no memory, and an unknown mark became nothing."""
    memory_id, turn_id = new_id(NOW), new_id(NOW)
    with closing(open_store(Settings(store=str(store_path)), now=NOW)) as store, store.atomic() as tx:
        tx.imports.add(
            [
                Imported(mark=b"statement", kind=ImportKind.ENGRAM, place="a", memory_id=memory_id),
                Imported(mark=b"message", kind=ImportKind.CHATGPT, place="b", turn_id=turn_id),
            ],
            at=NOW,
        )

        became = tx.imports.memories_of([b"statement", b"message", b"unknown"])

    assert became == {b"statement": memory_id}
