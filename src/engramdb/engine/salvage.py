"""Save what can be read of a damaged store into a new one, and make its indexes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.engine.assemble import chosen_embedder
from engramdb.errors import EmbeddingError, StorageError
from engramdb.index.rebuild import embed_pending, rebuild_terms, rebuild_turns
from engramdb.models.embedder import Embedder
from engramdb.settings import Settings
from engramdb.store.opening import open_store
from engramdb.store.sqlite.salvage import salvage
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values.report import SalvageReport

if TYPE_CHECKING:  # a cycle: the engine holds the parts
    from engramdb.engine.parts import Parts


def salvage_file(
    source: Path, target: Path, settings: Settings, clock: Clock, embedder: Embedder | None
) -> SalvageReport:
    """Save the rows of a file that need not open as a store."""
    found = salvage(source, target, key=bytes.fromhex(settings.key), now=clock.now())
    return finish(found, settings, clock, embedder or chosen_embedder(settings))


def salvage_open(parts: Parts, target: Path) -> SalvageReport:
    """Save the rows of a store that is open, through its own connections."""
    key, now = bytes.fromhex(parts.settings.key), parts.clock.now()
    assert isinstance(parts.store, SqliteStore)  # noqa: S101 - the only kind of store there is
    with parts.store.read() as tx:
        found = salvage(Path(parts.store.location), target, key=key, now=now, opened=tx.connection)
    return finish(found, parts.settings, parts.clock, parts.embedder)


def finish(found: SalvageReport, settings: Settings, clock: Clock, embedder: Embedder) -> SalvageReport:
    """Make what is derived in the new store; the report comes back whatever happens."""
    try:
        _make_indexes(found, settings, clock, embedder)
    except StorageError as exc:
        note = f"its indexes could not be made ({exc.code} {exc.message}): `engram doctor --fix` tries again"
        return replace(found, notes=(*found.notes, note))
    return found


def _make_indexes(found: SalvageReport, settings: Settings, clock: Clock, embedder: Embedder) -> None:
    """Make the indexes; what cannot be embedded now waits."""
    store = open_store(replace(settings, store=found.path), now=clock.now())
    try:
        rebuild_terms(store)
        rebuild_turns(store)
        with store.atomic() as tx:
            tx.traits.rebuild()
            tx.vectors.drop_orphans()
        with suppress(EmbeddingError):
            embed_pending(store, embedder)
    finally:
        store.close()
