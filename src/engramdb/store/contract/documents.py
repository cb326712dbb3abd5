"""The store's contract for documents and idempotent replies."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from engramdb.values import Document, MemoryId, Scope, Status, TurnId

# Documents by scope, place and key, each with the memory or the turn that was made of it.
#
# Part of `store.contract`. What has expired, and what was made into a memory that someone has forgotten
# since, is on no answer. Those of narrower scopes are seen only where a call asks for what lies `within` a
# scope.


class DocumentRange(Struct, frozen=True, kw_only=True):
    """
    A range of documents: places with this prefix, in exactly a scope or in it and every narrower one.
    """

    scope: Scope
    now: datetime
    place: tuple[str, ...] = ()
    within: bool = False
    key: str | None = None
    """Only what goes by this key."""


class Pointer(NamedTuple):
    """A document's number and scope, and the memory that was made of its text."""

    id: int
    scope: Scope
    memory_id: MemoryId | None = None
    key: int | None = None
    """The key of the memory."""
    status: Status | None = None


class Documents(Protocol):
    """Documents of other programs."""

    def get(self, place: tuple[str, ...], key: str, *, scope: Scope, now: datetime) -> Document | None:
        """Return the document under a key of exactly this scope."""
        ...

    def get_any(self, place: tuple[str, ...], key: str, *, scope: Scope) -> Document | None:
        """Return what lies under a key, also where no reader would be given it any more."""
        ...

    def put(
        self,
        place: tuple[str, ...],
        key: str,
        value: Any,
        *,
        scope: Scope,
        now: datetime,
        memory_id: MemoryId | None = None,
        turn_id: TurnId | None = None,
        lifetime: timedelta | None = None,
    ) -> Document:
        """Put a document in place of what lies under its key, which keeps its number and beginning."""
        ...

    def drop(self, numbers: Sequence[int]) -> int:
        """Delete documents, and return how many there were."""
        ...

    def by_ids(self, numbers: Sequence[int], *, now: datetime) -> dict[int, Document]:
        """Return the documents that are there, by number."""
        ...

    def iterate(self, document_range: DocumentRange, *, offset: int = 0) -> Generator[Document, None, None]:
        """Yield documents, the first stored first; to be closed before the transaction ends."""
        ...

    def latest(self, document_range: DocumentRange, *, limit: int | None) -> Sequence[Document]:
        """Return the documents that were stored last, or all, the last one first."""
        ...

    def pointers(self, document_range: DocumentRange) -> Sequence[Pointer]:
        """Return which memories the documents point to, the first stored first."""
        ...

    def places(self, document_range: DocumentRange) -> Sequence[tuple[str, ...]]:
        """Return the places that hold a document, in order."""
        ...

    def pointing_to(self, memory_id: MemoryId) -> Sequence[Document]:
        """Return every document that points to a memory."""
        ...

    def key_of(self, memory_id: MemoryId) -> int | None:
        """Return the key of a memory."""
        ...

    def touch(self, numbers: Sequence[int], *, now: datetime) -> Sequence[Document]:
        """Let the lifetimes of documents begin again, and return those that have one."""
        ...

    def expired(self, now: datetime, *, limit: int) -> Sequence[Document]:
        """Return documents whose time is over, the longest expired first."""
        ...

    def count(self) -> int:
        """Return how many documents there are."""
        ...


# The table of answers by the caller's key, so that a write sent again is answered and not carried out

ERASED = 410
"""The status of an answer that is gone because something it named was erased."""


class StoredReply(Struct, frozen=True, kw_only=True):
    """What a request was answered with; nothing yet while it is under way."""

    request: bytes
    """A hash of what was asked; empty once the answer is erased."""
    status: int | None
    headers: Mapping[str, str]
    """Those that belong to the answer and not to the connection."""
    body: bytes | None
    at: datetime


class Replies(Protocol):
    """Answers by caller and key."""

    def get(self, caller: str, key: str) -> StoredReply | None:
        """Return what is known of a key."""
        ...

    def begin(self, caller: str, key: str, *, request: bytes, at: datetime) -> None:
        """Note that a request is under way; one that was under way before starts over."""
        ...

    def finish(
        self,
        caller: str,
        key: str,
        *,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        subjects: Collection[str],
    ) -> None:
        """Keep an answer, and the ids of what it names; empty where a memory was erased meanwhile."""
        ...

    def drop(self, caller: str, key: str) -> None:
        """Forget a key: its request may be sent again."""
        ...

    def expire(self, *, before: datetime) -> None:
        """Forget the keys that were begun before a moment."""
        ...
