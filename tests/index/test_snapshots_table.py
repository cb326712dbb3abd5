"""Snapshots of the vector index come back as they were kept, and an erased memory leaves no bit in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engramdb.store.contract import SnapshotPart
from engramdb.store.sqlite.vectors import SnapshotsTable

from .made import IDENTITY, families, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path


def parts(width: int = 6) -> list[SnapshotPart]:
    """Two parts of ten memories each."""
    rng = np.random.default_rng(0)
    return [
        SnapshotPart(
            cursor=7,
            head=b"{}",
            keys=np.arange(first, first + 10),
            columns=rng.bytes(10 * 3),
            codes=rng.bytes(10 * width),
        )
        for first in (1, 11)
    ]


def test_parts_come_back_and_an_erased_memory_is_wiped_from_them(store_path: Path) -> None:
    """Only the erased memory's bits are overwritten, and the columns stay for the change feed to correct."""
    store = open_store(store_path)
    fill(store, families(2))
    kept = parts()
    with store.atomic() as tx:
        space = tx.vectors.make_space(IDENTITY)
        table = SnapshotsTable(tx.vectors._connection)
        table.save_snapshot(space, kept)
        before = table.load_snapshot(space)
        table.wipe(13)
        table.wipe(99)
        after = table.load_snapshot(space)
        table.save_snapshot(space, kept[:1])
        again = table.load_snapshot(space)

    assert [(one.cursor, one.head, one.columns, one.codes) for one in before] == [
        (one.cursor, one.head, one.columns, one.codes) for one in kept
    ]
    assert after[0].codes == kept[0].codes
    assert after[1].codes == kept[1].codes[:12] + bytes(6) + kept[1].codes[18:]
    assert after[1].columns == kept[1].columns
    assert len(again) == 1
    store.close()
