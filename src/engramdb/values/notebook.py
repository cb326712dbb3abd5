"""What a notebook sync did, and a memory as it is exported."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from engramdb.values.entity import Edge
from engramdb.values.event import HistoryEvent
from engramdb.values.memory import Memory, MemoryId


class NotebookAct(StrEnum):
    """What happened to one file of a notebook, or to the memory behind it."""

    ADDED = "added"
    """A new file became a memory."""
    CORRECTED = "corrected"
    """Its words were edited, and the memory was corrected."""
    RELABELED = "relabelled"
    """Its category, layer, importance, pin or status was edited, and the memory was changed."""
    FORGOTTEN = "forgotten"
    """It was deleted, and so the memory was forgotten."""
    WRITTEN = "written"
    """A memory got a file."""
    UPDATED = "updated"
    """The file was brought up to date with its memory."""
    REMOVED = "removed"
    """Its memory is no longer there to be shown."""
    RESTORED = "restored"
    """It had been deleted, and was written again."""
    CONFLICT = "conflict"
    """Both sides had changed: the file shows the memory, and `copy` holds what the file had said."""
    PAGE_EDITED = "page edited"
    """A generated page had been edited: it was written again, and `copy` holds the edited one."""
    NOT_TAKEN = "not taken"
    """Something in its front matter cannot be changed there."""
    REFUSED = "refused"
    """The write pipeline did not let its words in; the file is left as it is."""
    KNOWN = "known"
    """A new file says what is known; it made that stronger, and is left as it is."""
    DUPLICATE = "duplicate"
    """Another file has the same id; this one was not read."""
    UNKNOWN = "unknown"
    """Its id is of no memory that could be shown here; it was not read."""
    UNREADABLE = "unreadable"
    """It cannot be read as a note; it was left alone."""
    OUTSIDE = "outside"
    """It was moved out of `facts`: it is not read there, and not taken for deleted."""
    BUSY = "busy"
    """It was being changed meanwhile; the next sync looks at it again."""


TROUBLE = frozenset(
    {
        NotebookAct.CONFLICT,
        NotebookAct.PAGE_EDITED,
        NotebookAct.NOT_TAKEN,
        NotebookAct.REFUSED,
        NotebookAct.DUPLICATE,
        NotebookAct.UNKNOWN,
        NotebookAct.UNREADABLE,
        NotebookAct.OUTSIDE,
        NotebookAct.BUSY,
    }
)
"""What a person should look at."""


class NotebookChange(Struct, frozen=True, kw_only=True):
    """One thing that a sync did, would do, or could not do."""

    act: NotebookAct
    path: str
    """Inside the folder, with slashes."""
    memory_id: MemoryId | None = None
    why: str = ""
    """A code, a field's name or a few words; never a memory's own."""
    copy: str | None = None
    """The file beside it that keeps what would have been lost."""

    @property
    def is_trouble(self) -> bool:
        """Whether a person should look at it."""
        return self.act in TROUBLE


class NotebookReport(Struct, frozen=True, kw_only=True):
    """What a sync did, or would do."""

    dry_run: bool
    memories: int = 0
    """Memories that have a file now."""
    pages: int = 0
    """Generated pages: boxes, entities and the profile."""
    pages_changed: int = 0
    withheld: int = 0
    """Memories that are too sensitive to be written out."""
    open_copies: tuple[str, ...] = ()
    """Copies beside files that no one has dealt with yet, from this sync or earlier ones."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How often each act occurred."""
    changes: tuple[NotebookChange, ...] = ()
    """The first of them; what a person should look at comes first."""

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing was done or would be, on either side."""
        settled = {NotebookAct.REFUSED, NotebookAct.KNOWN, NotebookAct.DUPLICATE}
        settled |= {NotebookAct.UNKNOWN, NotebookAct.UNREADABLE, NotebookAct.OUTSIDE}
        return not self.pages_changed and all(NotebookAct(act) in settled for act in self.counts)


class ExportedMemory(Struct, frozen=True, kw_only=True):
    """A memory with what is known around it, as one line of an export."""

    memory: Memory
    entities: tuple[str, ...] = ()
    """What it mentions."""
    history: tuple[HistoryEvent, ...] = ()
    """What happened to it, if that was asked for."""
    links: tuple[Edge, ...] = ()
    """What it says of others that are exported with it."""
