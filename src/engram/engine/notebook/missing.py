"""
Memories that had a file and seem to have none: is it gone, or only not where it was?

Asked by `engine.notebook.sync` before deleted files make anything forgotten. Forgetting is for good, and a
folder loses files in more ways than by a person's wish: a link in the place of a file, a note dragged into
another folder, a disk that was not mounted. So a second look is taken, and most of a notebook is never
forgotten without being told so once more.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Self

from engram.errors import InvalidContent
from engram.values import NotebookAct, NotebookChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.portability.notebook.folder import Folder
    from engram.portability.notebook.pairing import Pairing
    from engram.portability.notebook.state import Entry
    from engram.values import MemoryId

FEW = 5
"""So many may go from a larger notebook without a question, whatever share of it they are."""
LARGEST_SHARE = 0.2


class Deletions(Enum):
    """What it means that a file was deleted."""

    UNDONE = "its memory is written again"
    FORGET = "its memory is forgotten"
    FORGET_MANY = "its memory is forgotten, also where most are gone"

    @classmethod
    def of(cls, *, delete: bool, many: bool) -> Self:
        """Return what a caller has said."""
        return cls.FORGET_MANY if many else cls.FORGET if delete else cls.UNDONE

    @property
    def are_meant(self) -> bool:
        """Whether memories are to be forgotten."""
        return self is not Deletions.UNDONE

    def check(self, missing: Sequence[MemoryId], *, of: int) -> None:
        """Raise where so many files of a notebook are gone that it may be an accident."""
        if self is Deletions.FORGET and _is_too_many(len(missing), of):
            raise InvalidContent(
                f"{len(missing)} of {of} notes are gone, too many to forget without asking",
                hint="Sync without --delete to have them back, or with --delete-many to forget them.",
            )


def hold_what_is_elsewhere(pairing: Pairing, folder: Folder, entries: Mapping[MemoryId, Entry]) -> None:
    """Take from the missing what stands in another form in its place, or elsewhere in the folder."""
    if not pairing.missing:
        return
    outside = folder.outside()
    for memory_id in list(pairing.missing):
        path, moved = entries[memory_id].path, outside.get(memory_id)
        if folder.is_taken(path):
            _hold(pairing, memory_id, NotebookAct.UNREADABLE, path, why="it is not a plain file any more")
        elif moved is not None:
            _hold(pairing, memory_id, NotebookAct.OUTSIDE, moved)


def _hold(pairing: Pairing, memory_id: MemoryId, act: NotebookAct, path: str, *, why: str = "") -> None:
    pairing.missing.remove(memory_id)
    pairing.held.add(memory_id)
    pairing.troubles.append(NotebookChange(act=act, path=path, memory_id=memory_id, why=why))


def _is_too_many(gone: int, total: int) -> bool:
    return gone > 1 and (2 * gone > total or (gone > FEW and gone > LARGEST_SHARE * total))
