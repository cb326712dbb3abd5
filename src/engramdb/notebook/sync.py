"""
Bring a notebook and a scope of a store to the same state: open it, see that it is ours, run both halves.

First come the person's changes (`from_files`), then the memories as they are now (`to_files`). What would end
badly is refused: a folder full of somebody's notes, a notebook of another scope, one that another store has
written, or one most of which is gone. Only one sync runs on a store at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from engramdb.capture.agents import AdmitsDrafts
from engramdb.clock import Clock
from engramdb.errors import InvalidContent, InvalidScope
from engramdb.lifecycle.admission import WritePipeline
from engramdb.lifecycle.lease import held
from engramdb.notebook.folder import Folder, translate_errors
from engramdb.notebook.from_files import Deletions, FromFiles, hold_what_is_elsewhere
from engramdb.notebook.memories import ScopeMemories
from engramdb.notebook.note import FoundFile
from engramdb.notebook.state import STATE_FILE, State, pair, read_state, write_state
from engramdb.notebook.to_files import ToFiles
from engramdb.values import Action, Actor, MemoryId, NotebookReport, Scope

LEASE = "sync of a notebook"
LEASE_MINUTES = 10.0
"""How long a sync may be silent before another takes over; it shows itself with every memory."""


class NotebookParts(Protocol):
    """What syncing needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def actor(self) -> Actor: ...
    @property
    def pipeline(self) -> WritePipeline: ...
    @property
    def writer(self) -> AdmitsDrafts: ...


def sync_folder(
    parts: NotebookParts,
    path: Path,
    *,
    scope: Scope,
    dry_run: bool,
    delete: bool,
    delete_many: bool,
    adopt: bool,
    progress: Callable[[int], None] | None,
) -> NotebookReport:
    """Sync a folder with a scope, and return what that did."""
    memories = ScopeMemories(
        pipeline=parts.pipeline, clock=parts.clock, actor=parts.actor, scope=scope, writer=parts.writer
    )
    deletions = Deletions.of(delete=delete, many=delete_many)
    return _sync(path, memories, dry_run=dry_run, deletions=deletions, adopt=adopt, progress=progress)


def _sync(
    path: Path,
    memories: ScopeMemories,
    *,
    dry_run: bool,
    deletions: Deletions,
    adopt: bool,
    progress: Callable[[int], None] | None,
) -> NotebookReport:
    folder, store = folder_at(path), memories.pipeline.store
    with (
        held(store, LEASE, minutes=LEASE_MINUTES, clock=memories.clock.now) as lease,
        store.one_act(Action.NOTEBOOK, actor=memories.actor, at=memories.clock.now()),
    ):
        state = _open_state(folder, memories.scope, adopt=adopt)
        _check_store(state, memories)
        if not dry_run:
            _prepare_folder(folder, state)
        found = folder.notes()
        pairing = pair(found, state.memories, _heirs(found, state, memories))
        hold_what_is_elsewhere(pairing, folder, state.memories)
        living = {memory.id: memory for memory in memories.shown()}
        deletions.check([one for one in pairing.missing if one in living], of=len(state.memories))
        taken = FromFiles(
            memories=memories,
            living=living,
            folder=folder,
            state=state,
            pairing=pairing,
            dry_run=dry_run,
            delete=deletions.are_meant,
        )
        taken.run()
        shown = lease.renewed_by(store, progress)
        return ToFiles(memories=memories, folder=folder, state=state, taken=taken, progress=shown).run()


def folder_at(path: Path) -> Folder:
    """Return the folder of a notebook; that it may be reached through a link is its owner's choice."""
    try:
        with translate_errors():
            root = path.expanduser().resolve()
            is_something_else = root.exists() and not root.is_dir()
    except RuntimeError as exc:
        raise InvalidContent("there is no home folder of that name", hint="Name a folder.") from exc
    if is_something_else:
        raise InvalidContent("there is no folder at that path, but something else", hint="Name a folder.")
    return Folder(root)


def _open_state(folder: Folder, scope: Scope, *, adopt: bool) -> State:
    """Return what the last sync left; raises where the folder is somebody else's."""
    content = folder.read(STATE_FILE)
    if content is None:
        if not adopt and not folder.is_free():
            raise InvalidContent(
                "the folder holds other things and is no notebook yet",
                hint="Choose an empty one, or --adopt it: notes below facts/ then become memories.",
            )
        return State(scope=scope)
    state = read_state(content)
    if state.scope != scope:
        raise InvalidScope(
            f"the notebook is of scope {state.scope}, not of {scope}", hint="Use a folder for each scope."
        )
    return state


def _prepare_folder(folder: Folder, state: State) -> None:
    """Clear up after a sync that was killed, and mark the folder as ours before anything is written."""
    folder.clear_away()
    if not state.memories:
        folder.set_state(write_state(state))


def _check_store(state: State, memories: ScopeMemories) -> None:
    """Raise where a notebook was written from another store: every file would seem to be out of date."""
    if state.memories and not any(memories.is_known(one) for one in state.memories):
        raise InvalidContent(
            "none of the notebook's memories is in this store",
            hint=f"Name the store that it was written from, or remove {STATE_FILE} and adopt the folder.",
        )


def _heirs(found: Sequence[FoundFile], state: State, memories: ScopeMemories) -> dict[MemoryId, MemoryId]:
    """Return what took the place of memories that files name and the last sync did not know."""
    told = {one.note.id for one in found if one.note is not None and one.note.id is not None}
    standing = {one: memories.standing(one) for one in told if one not in state.memories}
    return {one: heir.id for one, heir in standing.items() if heir is not None and heir.id != one}
