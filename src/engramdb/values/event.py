"""History events of one memory, audit events of the store, and erasure reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct, field

from engramdb.values.files import ErasedFile
from engramdb.values.memory import Actor, MemoryId, Status
from engramdb.values.scope import Scope

# What happened: the history of one memory and the audit trail of the whole store.
#
# Written in the same transaction as the change they describe. Neither ever holds memory text, so erasing a
# memory does not have to rewrite them.


ActId: TypeAlias = str


class Action(StrEnum):
    """What is done in a store: the verbs that change it, and those that look."""

    OBSERVE = "observe"
    REMEMBER = "remember"
    REINFORCE = "reinforce"
    CORRECT = "correct"
    SUPERSEDE = "supersede"
    WEAKEN = "weaken"
    REJECT = "reject"
    EXTRACT = "extract"
    COUNT = "count"
    FORGET = "forget"
    RESTORE = "restore"
    PROMOTE = "promote"
    DEMOTE = "demote"
    AGE = "age"
    ERASE = "erase"
    FEEDBACK = "feedback"
    FOREIGN_INDEX = "foreign_index"
    PIN = "pin"
    UNPIN = "unpin"
    RELEASE = "release"
    RELABEL = "relabel"
    SET_STATUS = "set_status"
    LINK = "relate"
    UNLINK = "unrelate"
    REBUILD = "rebuild"
    BACK_UP = "back_up"
    DREAM = "dream"
    DERIVE = "derive"
    MERGE = "merge"
    UNMERGE = "unmerge"
    TURN = "turn"
    SHELVE = "shelve"
    UNSHELVE = "unshelve"
    IMPORT = "import"
    NOTEBOOK = "notebook"
    ANSWER = "answer"
    UNDO = "undo"
    REVEAL = "reveal"
    """A secret was shown to somebody who asked for it by name."""
    FLUSH = "flush"
    WORKING_MEMORY = "working_memory"
    AUTHENTICATE = "authenticate"
    """A token was refused."""
    CREATE_TOKEN = "create_token"  # noqa: S105 - the name of an action
    REVOKE_TOKEN = "revoke_token"  # noqa: S105
    RECALL = "recall"
    CONTEXT = "context"
    LIST = "list"
    GET = "get"
    """One memory, or what is known of it: its history, evidence, origin."""
    TURNS = "turns"
    TIMELINE = "timeline"
    ENTITY = "entity"
    REASON = "reason"
    EXPORT = "export"
    DOCUMENTS = "documents"
    INSIGHT = "insight"
    """Questions, domains, summaries and reflections."""

    @property
    def is_search(self) -> bool:
        """Whether it only reads."""
        return self in SEARCHES


SEARCHES = frozenset(
    {
        *(Action.RECALL, Action.CONTEXT, Action.LIST, Action.GET, Action.TURNS, Action.TIMELINE),
        *(Action.ENTITY, Action.REASON, Action.EXPORT, Action.DOCUMENTS, Action.INSIGHT),
    }
)
"""Actions that only read."""


class Outcome(StrEnum):
    """How an action ended."""

    DONE = "done"
    DENIED = "denied"
    """The one who asked may not do it."""
    FAILED = "failed"


class HistoryEvent(Struct, frozen=True, kw_only=True):
    """One change of one memory; `changes` maps a field to its old and new value, never to text."""

    memory_id: MemoryId
    """The memory that was changed."""
    at: datetime
    """When it was changed."""
    action: Action
    """What was done."""
    actor: Actor = Actor()
    """Who did it."""
    old_status: Status | None = None
    """The status before."""
    new_status: Status | None = None
    """The status after."""
    reason: str = ""
    """Why."""
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Fields that were changed, each with its old and new value; never a memory's words."""
    act: ActId | None = None
    """The act that it was part of, given by the store: what `undo` takes back as a whole."""


class AuditEvent(Struct, frozen=True, kw_only=True):
    """Who did what, when, where, and how it ended; `detail` holds counts and reasons only, never words."""

    number: int | None = None
    """Its place in the trail, given by the store: `audit(before=…)` tells what came before it."""

    at: datetime
    """When it was done."""
    action: Action
    """What was done."""
    actor: Actor = Actor()
    """Who did it."""
    scope: Scope | None = None
    """Where it was done; None where it was the whole store, or an older version noted it."""
    outcome: Outcome = Outcome.DONE
    """Whether it was done, denied or failed."""
    target: str | None = None
    """The id of what it was done to."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Counts and reasons, by name."""


class AuditFilters(Struct, frozen=True, kw_only=True):
    """Which events of the audit are wanted; what is left out is not asked for."""

    actor: str | None = None
    """Done by the one of this name."""
    token: str | None = None
    """Done with the token of this id."""
    action: Action | None = None
    """What was done."""
    outcome: Outcome | None = None
    """How it ended."""
    since: datetime | None = None
    """Not earlier than this."""
    scope: Scope | None = None
    """Done in this scope or inside it."""
    is_exact: bool = False
    """Whether only what was done in exactly that scope counts."""


# What an erasure took, or would take: ids and counts, since the words are gone.


class MentionKind(StrEnum):
    """What mentions something."""

    MEMORY = "memory"
    TURN = "turn"
    DOCUMENT = "document"
    QUESTION = "question"


class ErasureMention(Struct, frozen=True, kw_only=True):
    """Something else that holds the words of an erased memory, or the name of an erased user."""

    kind: MentionKind
    """What it is."""
    id: str
    """Its id; of a document, its number."""
    scope: Scope
    """Where it was said."""


class Erasure(Struct, frozen=True, kw_only=True):
    """One memory, or everything of one user, and what went along with it."""

    memories: tuple[MemoryId, ...] = ()
    """Erased: the named ones first, then what says the same or was concluded from them."""
    turns: int = 0
    """Messages that were dropped because the words were read from them or stand in them."""
    gaps: int = 0
    """Open questions about them."""
    working_memories: int = 0
    """Working memories of agents that held them."""
    scopes: int = 0
    """Places of a user that lost their name."""
    token: str = ""
    """What stands in the place of the user's name from now on; the audit has it as well."""
    dry_run: bool = False
    """Whether nothing was erased and this only counts."""
    is_file_clean: bool = False
    """Whether the file was written again, so that not a byte of the words is left in it."""
    why: str = ""
    """Why it is not clean."""
    files: tuple[ErasedFile, ...] = ()
    """Every file that we wrote and that may hold words, and what was or would be done with it."""
    mentions: tuple[ErasureMention, ...] = ()
    """What else holds the words or the name and was left; with `mentions` it is erased as well."""
    mentions_erased: int = 0
    """How many of those were erased, because it was asked for."""


# What taking back a message has changed.


class UnlearnedTurn(Struct, frozen=True, kw_only=True):
    """What became of the memories that a message was evidence of."""

    forgotten: tuple[MemoryId, ...] = ()
    """Learnt from that message alone."""
    kept: tuple[MemoryId, ...] = ()
    """Also stated elsewhere: they have lost this evidence and what it had added."""
    restored: tuple[MemoryId, ...] = ()
    """Superseded by one that was forgotten: they count again."""


# What one actor did in one write, and what taking it back has changed.


class Act(Struct, frozen=True, kw_only=True):
    """What one actor did in one scope at one time, with all that followed from it: `undo` takes it back."""

    id: ActId
    """Its id; the last eight characters are enough to name it."""
    at: datetime
    """When it was done."""
    action: Action
    """What was done first; what followed from it is in the histories of the memories."""
    actor: Actor = Actor()
    """Who did it."""
    memories: int = 0
    """How many memories it changed or linked."""
    undone_by: ActId | None = None
    """The act that undid it; None while it stands."""

    @property
    def can_be_undone(self) -> bool:
        """Whether it stands and was not itself an undo, which is undone only where it is named."""
        return self.undone_by is None and self.action is not Action.UNDO


class Undone(Struct, frozen=True, kw_only=True):
    """What was undone, and what that has changed."""

    act: ActId
    """The undo itself, as an act: undoing it puts everything back."""
    undone: tuple[Act, ...] = ()
    """What was undone, the latest first."""
    back: tuple[MemoryId, ...] = ()
    """Memories that count again."""
    gone: tuple[MemoryId, ...] = ()
    """Memories that do not count any more."""
    changed: tuple[MemoryId, ...] = ()
    """Memories that were changed otherwise."""
    untouched: tuple[MemoryId, ...] = ()
    """Memories that stay as they are, because they were forgotten or erased since."""
