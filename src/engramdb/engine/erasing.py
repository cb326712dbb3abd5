"""
Erase from the store and then from every file that we wrote: `values/files.py` lists their kinds.

Backups are opened and erased from in the same way, exports lose lines, notebooks notes and pages, and what
hooks noted of sessions goes. A file that cannot be cleaned is named, with what to do about it.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import EngramError, MemoryNotFound, StorageError, UserNotFound
from engramdb.exporting.erase import erase_from_export, exported_ids
from engramdb.lifecycle.erase import ErasedWords, ErasureRequest, erase_memory, erase_user
from engramdb.lifecycle.lease import held
from engramdb.notebook.erase import erase_from_notebook, noted_ids
from engramdb.notebook.sync import LEASE, LEASE_MINUTES
from engramdb.store.contract import Store, Transaction
from engramdb.store.opening import open_store
from engramdb.store.sqlite.read_only import sweep_copies
from engramdb.text.normalize import counted
from engramdb.values import Check, ErasedFile, Erasure, FileKind, FileOutcome, MemoryId, Scope, WrittenFile

if TYPE_CHECKING:
    from engramdb.engine.parts import Parts

HOOK_FILES: Final = ("hooks", "given-*")
"""The folder in the home, and the files in it, in which hooks note by digests what a session was given."""
_GONE: Final = "it is no longer there; if you have moved or copied it, erase there as well, or delete it"
_BACKUP_TIMEOUT_SECONDS: Final = 5.0


class FileErasure(Struct, frozen=True, kw_only=True):
    """What is to be taken out of files: of a user, or of memories by id and words."""

    words: ErasedWords
    user_scope: Scope | None
    """The scope of the user who is erased."""
    reason: str
    mentions: bool
    dry_run: bool


def clean_files(parts: Parts, order: FileErasure) -> Erasure:
    """Clean every file that holds erased words, and return the erasure with what became of each."""
    found = order.words.found
    if not order.dry_run:
        sweep_copies()
    outcomes = [_of_store(parts, found), *_of_registered(parts, order), *_of_hooks(parts, order)]
    return replace(found, files=tuple(outcomes))


def _of_store(parts: Parts, found: Erasure) -> ErasedFile:
    is_clean = found.is_file_clean or found.dry_run
    return ErasedFile(
        kind=FileKind.STORE,
        path=parts.store.location,
        outcome=FileOutcome.REWRITTEN if is_clean else FileOutcome.NAMED,
        why="" if is_clean else f"{found.why}; close what else has it open, and erase again",
    )


def _of_registered(parts: Parts, order: FileErasure) -> Iterator[ErasedFile]:
    with parts.store.read() as tx:
        own = str(Path(parts.store.location).resolve())
        registered = [one for one in tx.files.list() if one.path != own]  # one that was a copy knows itself
    registered += _copies_beside(parts, {one.path for one in registered})
    clean: dict[FileKind, Callable[[Parts, WrittenFile, FileErasure], ErasedFile]] = {
        FileKind.BACKUP: _of_backup,
        FileKind.SALVAGE: _of_backup,
        FileKind.EXPORT: _of_export,
        FileKind.NOTEBOOK: _of_notebook,
    }
    for file in registered:
        if not order.dry_run:
            _drop_unfinished(Path(file.path))
        try:
            yield clean[file.kind](parts, file, order)
        except (EngramError, OSError) as exc:
            yield _named(file, f"{_reason(exc)}; delete it yourself")


def _copies_beside(parts: Parts, known: Collection[str]) -> Iterator[WrittenFile]:
    """Yield copies beside the store that nobody could register: of a process that was killed, or restored."""
    store = Path(parts.store.location).resolve()
    name = glob.escape(store.name)
    for pattern in (f"{name}.backups/*.db", f"{name}.before-restore-*[0-9Z]"):
        for path in sorted(store.parent.glob(pattern)):
            if str(path) not in known and path.is_file():
                yield WrittenFile(
                    kind=FileKind.BACKUP, path=str(path), given=str(path), written_at=parts.clock.now()
                )


def _of_backup(parts: Parts, file: WrittenFile, order: FileErasure) -> ErasedFile:
    """Open a backup, erase the same from it, and rewrite it."""
    path = Path(file.path)
    if not path.exists():
        return _named(file, _GONE)
    if order.dry_run:
        return ErasedFile(kind=file.kind, path=file.path, outcome=FileOutcome.REWRITTEN)
    settings = replace(
        parts.settings, store=file.path, busy_timeout_seconds=_BACKUP_TIMEOUT_SECONDS, durability="full"
    )
    with closing(open_store(settings, now=parts.clock.now(), is_copy=True)) as copy:
        request = ErasureRequest(
            store=copy,
            scope=order.user_scope or Scope(),
            actor=parts.actor,
            now=parts.clock.now(),
            reason=order.reason,
            mentions=order.mentions,
        )
        if order.user_scope is not None:
            _erase_user_from(request)
        else:
            _erase_memories_from(request, order)
        copy.scrub()
    return ErasedFile(kind=file.kind, path=file.path, outcome=FileOutcome.REWRITTEN)


def _erase_user_from(request: ErasureRequest) -> None:
    try:
        erase_user(request)
    except UserNotFound:  # made before the user came
        return


def _erase_memories_from(request: ErasureRequest, order: FileErasure) -> None:
    for memory_id, scope in order.words.scopes.items():
        try:
            erase_memory(memory_id, replace(request, scope=scope))
        except MemoryNotFound:  # made before it was remembered
            continue


def _of_export(_parts: Parts, file: WrittenFile, order: FileErasure) -> ErasedFile:
    return erase_from_export(
        Path(file.path), order.words.scopes.keys(), order.words.texts, dry_run=order.dry_run
    )


def _of_notebook(parts: Parts, file: WrittenFile, order: FileErasure) -> ErasedFile:
    """Clean a notebook while no sync runs: one that began before would write the words again."""
    with held(parts.store, LEASE, minutes=LEASE_MINUTES, clock=parts.clock.now):
        return erase_from_notebook(
            Path(file.path),
            order.words.scopes.keys(),
            order.words.texts,
            user_scope=order.user_scope,
            dry_run=order.dry_run,
        )


def _drop_unfinished(path: Path) -> None:
    """Remove what a killed process left half written beside a file: it holds words under no known name."""
    folder = path if path.is_dir() else path.parent
    with suppress(OSError):
        for pattern in (".engram-*.tmp", f".{glob.escape(path.name[:100])}.*.tmp*"):
            for left in folder.glob(pattern):
                left.unlink(missing_ok=True)


def _of_hooks(parts: Parts, order: FileErasure) -> Iterator[ErasedFile]:
    """Remove the digests by which hooks know what a session was given; losing them costs a repetition."""
    folder, pattern = HOOK_FILES
    for path in sorted((parts.settings.home / folder).glob(pattern)):
        try:
            if not order.dry_run:
                path.unlink(missing_ok=True)
            yield ErasedFile(kind=FileKind.HOOK_STATE, path=str(path), outcome=FileOutcome.REMOVED)
        except OSError as exc:
            yield ErasedFile(
                kind=FileKind.HOOK_STATE, path=str(path), outcome=FileOutcome.NAMED, why=_reason(exc)
            )


def _named(file: WrittenFile, why: str) -> ErasedFile:
    return ErasedFile(kind=file.kind, path=file.path, outcome=FileOutcome.NAMED, why=why)


def _reason(exc: Exception) -> str:
    if isinstance(exc, EngramError):
        return f"{exc.code} {exc.message}"
    return getattr(exc, "strerror", None) or type(exc).__name__


@contextmanager
def registered_file(parts: Parts, kind: FileKind, path: Path, *, given: str) -> Iterator[None]:
    """
    Note in the store that the block writes a file, before its first word is in it.

    So a process that is killed leaves no unknown file. A store that can only be read cannot note it.
    """
    file = WrittenFile(
        kind=kind,
        path=str(path.expanduser().resolve()),
        given=given,
        written_at=parts.clock.now(),
        by=parts.actor.name,
    )
    is_new = False
    with suppress(StorageError), parts.store.atomic() as tx:
        is_new = all(one.path != file.path for one in tx.files.list())
        tx.files.add(file)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(StorageError), parts.store.atomic() as tx:
                tx.files.drop(file.path)
        raise


def register_salvage(store: Store, other: Path, *, now: datetime) -> None:
    """Note in a store the file that its rows were saved from, or into."""
    path = str(other.expanduser().resolve())
    file = WrittenFile(kind=FileKind.SALVAGE, path=path, given=str(other), written_at=now)
    with store.atomic() as tx:
        tx.files.add(file)


def check_files(tx: Transaction, store: Store) -> Check:
    """Look whether the registered files are where they were written and hold nothing that was erased."""
    registered = tx.files.list()
    there = [one for one in registered if Path(one.path).exists()]
    held = {one.path: _ids_in(one, store) for one in there}
    dirty = [one for one in there if tx.erasures.erased_among(sorted(held[one.path] or ()))]
    unseen = [path for path, ids in held.items() if ids is None]
    gone = len(registered) - len(there)
    if dirty:
        named = counted(len(dirty), "file holds", "files hold")
        return Check(
            name="files", ok=False, found=f"{named} erased memories; erase those again: {dirty[0].path}"
        )
    told = [f"of {len(registered)} written, {counted(gone, 'is', 'are')} no longer there"] if gone else []
    if unseen:
        told.append(f"not looked into: {len(unseen)}, such as {unseen[0]}")
    written = f"{len(registered)} written, none holds anything erased" if registered else "none was written"
    found = "; ".join(told) or written
    return Check(name="files", ok=True, found=found)


def _ids_in(file: WrittenFile, store: Store) -> frozenset[MemoryId] | None:
    """Return the memories whose words may stand in a file; None where it cannot be looked into."""
    path = Path(file.path)
    if file.kind is FileKind.NOTEBOOK:
        return noted_ids(path)
    return exported_ids(path) if file.kind is FileKind.EXPORT else store.ids_in_copy(path)
