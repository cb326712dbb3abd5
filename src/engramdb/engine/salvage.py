"""Save what can be read of a damaged store into a new one, and make its indexes."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.engine.assemble import guarded_embedder
from engramdb.engine.erasing import register_salvage, registered_file
from engramdb.errors import EmbeddingError, EngramError, StorageError
from engramdb.health import Health
from engramdb.index.rebuild import embed_pending, rebuild_terms, rebuild_turns
from engramdb.models.embedder import Embedder
from engramdb.models.guard import ForeignGuard
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.store.opening import open_store
from engramdb.store.sqlite.read_only import ENDINGS, beside
from engramdb.store.sqlite.salvage import salvage
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import FileKind
from engramdb.values.report import SalvageReport

if TYPE_CHECKING:  # a cycle: the engine holds the parts
    from engramdb.engine.parts import Parts


def salvage_file(
    source: Path, target: Path, settings: Settings, clock: Clock, embedder: Embedder | None
) -> SalvageReport:
    """Save the rows of a file that need not open as a store."""
    found = salvage(source, target, key=bytes.fromhex(settings.key), now=clock.now())
    guard = ForeignGuard(Health(clock))
    try:
        found = finish(found, settings, clock, guarded_embedder(embedder, settings, guard))
    finally:
        guard.close()
    if not found.lost and not found.changed:  # a sound one notes it; a damaged one is left as it is
        with suppress(EngramError), closing(_opened(source, settings, clock)) as store:
            register_salvage(store, target, now=clock.now())
    return found


def salvage_open(parts: Parts, target: Path) -> SalvageReport:
    """Save the rows of a store that is open, through its own connections."""
    key, now = bytes.fromhex(parts.settings.key), parts.clock.now()
    assert isinstance(parts.store, SqliteStore)  # noqa: S101 - the only kind of store there is
    with registered_file(parts, FileKind.SALVAGE, target, given=str(target)):
        with parts.store.read() as tx:
            found = salvage(Path(parts.store.location), target, key=key, now=now, opened=tx.connection)
        return finish(found, parts.settings, parts.clock, parts.embedder)


def finish(found: SalvageReport, settings: Settings, clock: Clock, embedder: Embedder) -> SalvageReport:
    """Make what is derived in the new store; the report comes back whatever the store says."""
    try:
        _make_indexes(found, settings, clock, embedder)
    except StorageError as exc:
        note = f"its indexes could not be made ({exc.code} {exc.message}): `engram doctor --fix` tries again"
        return replace(found, notes=(*found.notes, note))
    except BaseException:  # without a report nobody would know of the file, and it would be in the way
        for ending in ENDINGS:
            beside(Path(found.path), ending).unlink(missing_ok=True)
        raise
    return found


def _make_indexes(found: SalvageReport, settings: Settings, clock: Clock, embedder: Embedder) -> None:
    """Note where the rows came from, and make the indexes; what cannot be embedded now waits."""
    with closing(_opened(Path(found.path), settings, clock)) as store:
        with store.atomic() as tx:
            tx.files.drop(str(Path(found.path).resolve()))  # itself, where the other had noted it
        register_salvage(store, Path(found.read_from), now=clock.now())
        rebuild_terms(store)
        rebuild_turns(store)
        with store.atomic() as tx:
            tx.traits.rebuild()
            tx.vectors.drop_orphans()
        with suppress(EmbeddingError):
            embed_pending(store, embedder)


def _opened(path: Path, settings: Settings, clock: Clock) -> Store:
    return open_store(replace(settings, store=str(path)), now=clock.now(), is_copy=True)
