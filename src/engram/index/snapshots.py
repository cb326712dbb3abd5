"""
The vector index at rest: enough to answer at once after a start, without reading every memory again.

Taken by the mirror and kept by whatever the engine gives it, in parts of some thousand rows, so that no
part is too large for a database and the bits of one erased memory can be wiped in place. Only columns
and codes are kept; the vectors themselves are in the store already. What was changed since then comes by
the feed of changes. Measured: docs/lab/0015-vector-indexes.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

import msgspec
import numpy as np

from engram.errors import StoreCorrupt
from engram.index.backend import Snapshot
from engram.store.contract import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PART_ROWS: Final = 8192
"""Rows in a part: half a megabyte, so that wiping a row touches little."""


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """The roster and the backend, as far as one change of the store."""

    cursor: int
    scan: Literal["exact", "compressed"]
    keys: NDArray[np.int64]
    roster: Snapshot
    backend: Snapshot


class KeepsParts(Protocol):
    """Where snapshots are kept, one for each space; wiping the codes of erased memories is its duty."""

    def load_snapshot(self, space: int) -> Sequence[Part]:
        """Return the parts in order, or none."""
        ...

    def save_snapshot(self, space: int, parts: Sequence[Part]) -> None:
        """Keep these parts in place of any earlier ones."""
        ...


@dataclass(frozen=True, slots=True)
class _Head:
    rows: int
    scan: Literal["exact", "compressed"]
    roster: bytes
    backend: bytes


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_head = msgspec.json.Decoder(_Head).decode


def cut(snapshot: IndexSnapshot) -> list[Part]:
    """Return a snapshot as parts, in the order of the keys of its rows."""
    keys = snapshot.keys
    head = msgspec.json.encode(_Head(len(keys), snapshot.scan, snapshot.roster.head, snapshot.backend.head))
    order, parts = np.argsort(keys), []
    for start in range(0, len(keys), PART_ROWS):
        rows = order[start : start + PART_ROWS]
        columns, codes = snapshot.roster.rows[rows].tobytes(), snapshot.backend.rows[rows].tobytes()
        parts.append(Part(snapshot.cursor, head, keys[rows], columns, codes))
    return parts


def join(parts: Sequence[Part]) -> IndexSnapshot:
    """Return the snapshot that was cut into these parts; raises `StoreCorrupt` if they do not fit."""
    try:
        head = _read_head(parts[0].head)
        return IndexSnapshot(
            cursor=parts[0].cursor,
            scan=head.scan,
            keys=np.concatenate([part.keys for part in parts]),
            roster=Snapshot(head.roster, _rows([part.columns for part in parts], head.rows)),
            backend=Snapshot(head.backend, _rows([part.codes for part in parts], head.rows)),
        )
    except (msgspec.MsgspecError, ValueError) as exc:
        raise StoreCorrupt("a snapshot of the vector index cannot be read") from exc


def _rows(blobs: Sequence[bytes], length: int) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(blobs), np.uint8).reshape(length, -1)
