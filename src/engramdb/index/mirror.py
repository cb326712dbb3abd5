"""The vectors of one space mirrored in memory, and snapshots of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Literal, Protocol

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.errors import SearchError, StoreCorrupt
from engramdb.index.backend import (
    BackendChoice,
    BackendSnapshot,
    SignCodes,
    VectorBackend,
    VectorRows,
    build_codes,
    choose_backend,
)
from engramdb.index.roster import Roster, RosterColumns
from engramdb.store.contract import Changes, QuantizedVectors, SnapshotPart, Store, Transaction
from engramdb.values import EmbedderIdentity

# The vector index at rest: enough to answer at once after a start, without reading every memory again.
#
# Only columns and codes are saved; the vectors themselves are in the store already. What was changed since
# then comes by the feed of changes. Measured: docs/lab/0015-vector-indexes.md.

PART_ROWS: Final = 8192
"""Rows in a part: half a megabyte, so that wiping a row touches little."""


class IndexSnapshot(Struct, frozen=True):
    """The roster and the backend, as far as one change of the store."""

    cursor: int
    scan: Literal["exact", "compressed"]
    keys: NDArray[np.int64]
    roster: BackendSnapshot
    backend: BackendSnapshot


class SnapshotStore(Protocol):
    """Where snapshots are stored, one for each space; it must wipe the codes of erased memories."""

    def load_snapshot(self, space: int) -> Sequence[SnapshotPart]:
        """Return the parts in order, or none."""
        ...

    def save_snapshot(self, space: int, parts: Sequence[SnapshotPart]) -> None:
        """Keep these parts in place of any earlier ones."""
        ...


class _SnapshotHead(Struct, frozen=True):
    rows: int
    scan: Literal["exact", "compressed"]
    roster: bytes
    backend: bytes


# Made once, at import: threads that meet a type together for the first time can crash msgspec.
_read_head = msgspec.json.Decoder(_SnapshotHead).decode


def split_snapshot(snapshot: IndexSnapshot) -> list[SnapshotPart]:
    """Return a snapshot as parts, in the order of the keys of its rows."""
    keys = snapshot.keys
    head = msgspec.json.encode(
        _SnapshotHead(len(keys), snapshot.scan, snapshot.roster.head, snapshot.backend.head)
    )
    order, parts = np.argsort(keys), []
    for start in range(0, len(keys), PART_ROWS):
        rows = order[start : start + PART_ROWS]
        columns, codes = snapshot.roster.rows[rows].tobytes(), snapshot.backend.rows[rows].tobytes()
        parts.append(SnapshotPart(snapshot.cursor, head, keys[rows], columns, codes))
    return parts


def join_snapshot(parts: Sequence[SnapshotPart]) -> IndexSnapshot:
    """Return the snapshot that was cut into these parts; raises `StoreCorrupt` if they do not fit."""
    try:
        head = _read_head(parts[0].head)
        return IndexSnapshot(
            cursor=parts[0].cursor,
            scan=head.scan,
            keys=np.concatenate([part.keys for part in parts]),
            roster=BackendSnapshot(head.roster, _row_bytes([part.columns for part in parts], head.rows)),
            backend=BackendSnapshot(head.backend, _row_bytes([part.codes for part in parts], head.rows)),
        )
    except (msgspec.MsgspecError, ValueError) as exc:
        raise StoreCorrupt("a snapshot of the vector index cannot be read") from exc


def _row_bytes(blobs: Sequence[bytes], length: int) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(blobs), np.uint8).reshape(length, -1)


# What the store knows of one space, mirrored in memory.
#
# Held by the vector index, which looks at it through a `View`: the rows of one moment, and how to find the
# near ones among them. The store's feed of changes brings in what any process wrote. A view that is current
# is handed out without a lock, and a new backend is built while the old one goes on answering.

STEP_ROWS: Final = 20_000
"""Changes read at a time, about a tenth of a second: others get their turn in between."""
MIN_SNAPSHOT_ROWS: Final = 50_000
"""From this many memories on a snapshot is saved: fewer load in less than half a second without one."""


class MirrorView(Struct, frozen=True):
    """The mirror at one moment: all changes up to the cursor, and maybe some later ones."""

    cursor: int
    roster: Roster
    columns: RosterColumns
    backend: VectorBackend
    resident: VectorRows | None


class Mirror:
    """The memories and vectors of one space of one store."""

    def __init__(
        self,
        identity: EmbedderIdentity,
        *,
        memory_bytes: int,
        snapshots: Callable[[Transaction], SnapshotStore] | None = None,
        listener: Callable[[NDArray[np.intp], QuantizedVectors], None] | None = None,
    ) -> None:
        self._identity = identity
        self._memory_bytes = memory_bytes
        self._snapshots = snapshots
        self._snapshot_cursor = 0
        self._listener = listener
        self._feeding = threading.Lock()
        self._switching = threading.Lock()
        self._late: list[tuple[NDArray[np.intp], QuantizedVectors]] | None = None
        roster, resident = Roster(), self._empty()
        self._view = MirrorView(0, roster, roster.columns(), resident, resident)
        self.is_loaded = False
        self._store: Store | None = None

    @property
    def view(self) -> MirrorView:
        """The present view, however far it has come."""
        return self._view

    def looks_at_all(self, view: MirrorView, allowed: NDArray[np.bool_]) -> bool:
        """Return whether so few rows are allowed that each is worth an exact look."""
        share = int(np.count_nonzero(allowed)) / max(1, int(np.count_nonzero(view.columns.has_vector)))
        memory_bytes = 0 if view.resident is None else self._memory_bytes
        return self._choose(view, memory_bytes, share).scan == "exact"

    def catch_up(self, tx: Transaction, space: int, *, patience_seconds: float = math.inf) -> MirrorView:
        """Return a view with everything that the snapshot has, or less when patience runs out."""
        latest, deadline = tx.vectors.latest_change(), time.monotonic() + patience_seconds
        while self._view.cursor < latest and self._advance(tx, space, latest):
            if time.monotonic() > deadline:
                break
        return self._view

    def load(self, store: Store, *, stop: threading.Event) -> None:
        """Catch up step by step, so that others get their turns; for a background thread."""
        self._store = store
        while not stop.is_set() and not self.is_loaded:
            with store.read() as tx:
                space = tx.vectors.space(self._identity)
                if space is None:
                    self.is_loaded = True
                    return
                self._advance(tx, space, tx.vectors.latest_change())
        if not stop.is_set():
            self._fill(store)
            self.save_snapshot(store)

    def rebuild(self, store: Store) -> None:
        """Choose and rebuild the backend from the store's vectors; until then the old one answers."""
        with self._switching:
            self._swap(lambda at: self._rebuild_backend(store, at))

    def batches(self) -> Iterator[tuple[NDArray[np.intp], QuantizedVectors]]:
        """Yield every row of now with its vector, to fill another index; zeros where there is none."""
        view = self._view
        for start in range(0, len(view.columns.keys), STEP_ROWS):
            rows = np.arange(start, min(start + STEP_ROWS, len(view.columns.keys)))
            if view.resident is not None:
                yield rows, view.resident.read(rows)
            elif self._store is not None:
                yield rows, self._read(self._store, view, rows)
            else:
                raise SearchError("the vectors are not in memory, and there is no background to read them")

    def save_snapshot(self, store: Store) -> None:
        """Save a snapshot for the next start, if there is a place for it and enough has changed."""
        if self._snapshots is None or len(self._view.columns.keys) < MIN_SNAPSHOT_ROWS:
            return
        if self._view.cursor - self._snapshot_cursor <= STEP_ROWS:
            return
        snapshot = self.snapshot()
        if snapshot.scan == "compressed":  # exact ones hold the vectors, which the store has already
            with store.atomic() as tx:
                space = tx.vectors.make_space(self._identity)
                self._snapshots(tx).save_snapshot(space, split_snapshot(snapshot))
            self._snapshot_cursor = snapshot.cursor

    def snapshot(self) -> IndexSnapshot:
        """Return everything that answering takes, as it is now."""
        with self._feeding:
            view = self._view
            return IndexSnapshot(
                cursor=view.cursor,
                scan="exact" if view.backend is view.resident else "compressed",
                keys=view.columns.keys.copy(),
                roster=view.roster.snapshot(),
                backend=view.backend.snapshot(),
            )

    def restore(self, snapshot: IndexSnapshot) -> None:
        """Go on from a snapshot instead of what was known; raises `StoreCorrupt` if it is none."""
        view = self._restore_view(snapshot)
        with self._switching, self._feeding:
            self._view = view

    def _choose(self, view: MirrorView, memory_bytes: int, selectivity: float = 1.0) -> BackendChoice:
        count, identity = int(np.count_nonzero(view.columns.has_vector)), self._identity
        return choose_backend(count, identity.dimension, memory_bytes, selectivity, metric=identity.metric)

    # --- feeding --------------------------------------------------------------------------------------------

    def _advance(self, tx: Transaction, space: int, latest: int) -> bool:
        """Add the next changes and return whether there may be more."""
        with self._feeding:
            if self._view.cursor == 0 and self._snapshots is not None:
                self._resume(self._snapshots(tx).load_snapshot(space), latest)
            since = self._view.cursor
            changes = tx.vectors.changes(
                space, dimension=self._identity.dimension, since=since, limit=STEP_ROWS
            )
            is_more = len(changes) == STEP_ROWS
            self._apply_changes(changes, cursor=changes.cursor if is_more else max(since, latest))
            self.is_loaded = self.is_loaded or not is_more
        self._switch_if_due()
        return is_more

    def _resume(self, parts: Sequence[SnapshotPart], latest: int) -> None:
        """Begin with the stored snapshot, if there is one that can be read."""
        if parts and parts[0].cursor <= latest:
            with suppress(StoreCorrupt):  # it is derived: reading everything again gives the same
                self._view = self._restore_view(join_snapshot(parts))
                self._snapshot_cursor = self._view.cursor

    def _restore_view(self, snapshot: IndexSnapshot) -> MirrorView:
        roster = Roster.restore(snapshot.roster)
        if snapshot.scan == "exact":
            resident = VectorRows.restore(snapshot.backend, metric=self._identity.metric)
            return MirrorView(snapshot.cursor, roster, roster.columns(), resident, resident)
        codes = SignCodes.restore(snapshot.backend)
        return MirrorView(snapshot.cursor, roster, roster.columns(), codes, None)

    def _apply_changes(self, changes: Changes, *, cursor: int) -> None:
        view = self._view
        rows = view.roster.apply(changes)
        view.backend.put(rows, changes.vectors)
        if view.resident is not None and view.resident is not view.backend:
            view.resident.put(rows, changes.vectors)
        if self._listener is not None:
            self._listener(rows, changes.vectors)
        if self._late is not None:
            self._late.append((rows, changes.vectors))
        self._view = replace(view, cursor=cursor, columns=view.roster.columns())

    # --- switching ------------------------------------------------------------------------------------------

    def _switch_if_due(self) -> None:
        """Go over to codes, or leave the vectors to the store, once there are too many."""
        view = self._view
        wanted = self._choose(view, self._memory_bytes)
        is_exact, has_vectors = view.backend is view.resident, view.resident is not None
        is_due = (is_exact and wanted.scan == "compressed") or (has_vectors and not wanted.keeps_vectors)
        if is_due and self._switching.acquire(blocking=False):  # unless someone is at it already
            try:
                self._swap(lambda at: _compress(at, wanted))
            finally:
                self._switching.release()

    def _swap(self, build: Callable[[MirrorView], tuple[VectorBackend, VectorRows | None]]) -> None:
        """Build from the view of now, which goes on answering; add what came late, and switch."""
        with self._feeding:
            view, self._late = self._view, []
        try:
            backend, resident = build(view)
            fresh = {id(part): part for part in (backend, resident) if part is not None}
            for known in (view.backend, view.resident):
                fresh.pop(id(known), None)
            with self._feeding:
                for rows, vectors in self._late:
                    for part in fresh.values():
                        part.put(rows, vectors)
                self._view = replace(self._view, backend=backend, resident=resident)
        finally:
            self._late = None

    def _fill(self, store: Store) -> None:
        """Bring in the vectors, where a snapshot came without them and there is room."""
        if self._view.resident is None and self._choose(self._view, self._memory_bytes).keeps_vectors:
            with self._switching:
                self._swap(lambda at: (at.backend, self._all_vectors(store, at)))

    def _rebuild_backend(self, store: Store, view: MirrorView) -> tuple[VectorBackend, VectorRows | None]:
        wanted = self._choose(view, self._memory_bytes)
        resident = self._all_vectors(store, view) if wanted.keeps_vectors else None
        if wanted.scan == "exact" and resident is not None:
            return resident, resident
        read = partial(self._read, store, view) if resident is None else resident.read
        return build_codes(read, view.columns.has_vector), resident

    def _all_vectors(self, store: Store, view: MirrorView) -> VectorRows:
        resident = self._empty()
        for start in range(0, len(view.columns.keys), STEP_ROWS):
            rows = np.arange(start, min(start + STEP_ROWS, len(view.columns.keys)))
            resident.put(rows, self._read(store, view, rows))
        return resident

    def _read(self, store: Store, view: MirrorView, rows: NDArray[np.intp]) -> QuantizedVectors:
        """Return the vectors of these rows from the store; zeros where there is none."""
        numbers = np.zeros((len(rows), self._identity.dimension), np.int8)
        scales = np.zeros(len(rows), np.float32)
        keys = view.columns.keys[rows]
        with store.read() as tx:
            space = tx.vectors.space(self._identity)
            found, vectors = tx.vectors.fetch(space, keys.tolist()) if space is not None else ([], None)
        if vectors is not None:
            order = np.argsort(keys)
            places = order[np.searchsorted(keys, np.array(found, np.int64), sorter=order)]
            numbers[places], scales[places] = vectors.numbers, vectors.scales
        return QuantizedVectors(numbers, scales)

    def _empty(self) -> VectorRows:
        return VectorRows(self._identity.dimension, metric=self._identity.metric)


def _compress(view: MirrorView, wanted: BackendChoice) -> tuple[VectorBackend, VectorRows | None]:
    """Return codes for a view's vectors, made if need be, and the vectors if they may stay."""
    backend = view.backend
    if view.resident is not None and backend is view.resident:
        backend = build_codes(view.resident.read, view.columns.has_vector)
    return backend, view.resident if wanted.keeps_vectors else None
