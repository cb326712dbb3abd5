"""
The family of errors, each with a stable code.

    EngramError
    ├── StorageError        E1…   the file or database
    │   ├── StoreNotFound   StoreUnreadable   NotAnEngramStore   StoreTooNew
    │   ├── StoreCorrupt    StoreBusy         StoreReadOnly      DiskFull
    │   ├── StoreLocked     MigrationFailed   StoreClosed        StoreNotEmpty
    ├── SearchError         E2…   a question that cannot be asked
    │   └── InvalidQuery
    ├── EmbeddingError      E3…   embedders and their model packs
    │   ├── EmbedderUnavailable   DimensionMismatch   UnknownModel   ModelPackBroken
    │   └── ModelUnavailable
    ├── SecurityError       E4…   what may not enter or be seen
    │   ├── AccessDenied   WrongKey   InjectionBlocked   ContentTooLarge   InvalidContent
    │   └── TokenNeeded    StatementForgotten
    ├── SystemError_        E5…   use and configuration
    │   ├── InvalidSettings   UnknownPolicy   MemoryNotFound   StatusNotAllowed
    │   ├── EdgeNotAllowed   InvalidScope   MissingExtra   UndoRefused
    │   └── KeyReused        RequestUnderWay   ServerBusy   ReplyErased   MemoryChanged
    │   └── ReadingUnfinished   ClockUnusable
    │   └── UserNotFound     ImportStopped     TooManySearches
    └── ChatError           E6…   chat models and their replies
        └── ChatUnavailable   ChatReplyInvalid

The message shows the offending value and `hint` says what to do. Callers use the type or `code`, never the
text. Raised by every package; imports nothing. Memory text never appears in a message.
"""

from __future__ import annotations

from typing import ClassVar


class EngramError(Exception):
    """Anything that Engram itself can explain."""

    code: ClassVar[str] = "E0000"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class StorageError(EngramError):
    """The store could not do what was asked."""

    code = "E1000"
    default_hint = "Run `engram doctor` to see the state of the store."


class StoreLocked(StorageError):
    """The file is encrypted and no key was given, or its first bytes are damaged."""

    code = "E1001"
    default_hint = (
        "Give the key with `key=` or the ENGRAM_KEY environment variable. If it was never encrypted, "
        "its first bytes are damaged: `engram doctor --salvage NEW` saves what can be read."
    )


class StoreCorrupt(StorageError):
    """The file is damaged: a page or an index does not add up."""

    code = "E1002"
    default_hint = (
        "`engram doctor --salvage NEW` saves what can be read into a new store and leaves this one as it is; "
        "`engram restore-backup` goes back to a backup, where there is one."
    )


class DiskFull(StorageError):
    """There was no room for the write; nothing of it was stored."""

    code = "E1003"
    default_hint = "Free some disk space and try again: what was saved before is intact."


class MigrationFailed(StorageError):
    """The file's layout could not be brought up to date; it was left as it was."""

    code = "E1004"


class StoreBusy(StorageError):
    """Too many writers were waiting, or another process held the file for too long."""

    code = "E1005"
    default_hint = "Try again; if it persists, look for a process that keeps a transaction open."


class StoreReadOnly(StorageError):
    """The file or its folder cannot be written."""

    code = "E1006"
    default_hint = "Check the permissions of the file and of its folder."


class StoreNotFound(StorageError):
    """There is no store at that place."""

    code = "E1007"
    default_hint = "Check the path, or create the store with `engram init`."


class NotAnEngramStore(StorageError):
    """The file is something else: another program's database, or no database at all."""

    code = "E1008"
    default_hint = "Choose another path; the file was not touched."


class StoreTooNew(StorageError):
    """The file was written by a newer version of Engram."""

    code = "E1009"
    default_hint = "Upgrade engramdb; the file was not touched."


class StoreClosed(StorageError):
    """The store was closed before the call."""

    code = "E1010"
    default_hint = "Open it again with `Engram.open`."


class StoreUnreadable(StorageError):
    """The path cannot be opened as a file."""

    code = "E1011"
    default_hint = "Check that the path is a file that you may read."


class StoreNotEmpty(StorageError):
    """The store holds something already, where an empty one is needed."""

    code = "E1012"
    default_hint = "Use a new store: another file with `--store` or ENGRAM_STORE."


class SearchError(EngramError):
    """A question could not be asked."""

    code = "E2000"


class InvalidQuery(SearchError):
    """The query is empty, too long, or has a filter that does not exist."""

    code = "E2004"


class EmbeddingError(EngramError):
    """An embedder failed."""

    code = "E3000"


class EmbedderUnavailable(EmbeddingError):
    """The embedder cannot be reached or loaded now; memories are saved and embedded later."""

    code = "E3001"
    default_hint = "`engram status` shows what waits to be embedded."


class DimensionMismatch(EmbeddingError):
    """A vector has another length than its space."""

    code = "E3003"


class UnknownModel(EmbeddingError):
    """No embedder or chat model has that name."""

    code = "E3005"
    default_hint = "`engram models list` shows the names."


class ModelPackBroken(EmbeddingError):
    """A model pack's files are missing, changed or give other vectors than recorded."""

    code = "E3006"
    default_hint = "Add it again: `engram models add NAME`."


class ModelUnavailable(EmbeddingError):
    """A reader, judge or reranker failed, is too slow or gave no usable result; work goes on without it."""

    code = "E3007"
    default_hint = "`engram status` shows when it is tried again."


class SecurityError(EngramError):
    """Something may not enter or may not be seen."""

    code = "E4000"


class AccessDenied(SecurityError):
    """The memory belongs to another scope: it may be seen from here, but not changed."""

    code = "E4001"
    default_hint = "Make the change in the memory's own scope."

    def __init__(self, message: str, *, hint: str | None = None, reason: str = "scope") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        """Why, in a word for the audit: `scope`, `read_only`, `whole_store`, `guarded`, `person`."""


class InjectionBlocked(SecurityError):
    """The statement reads like an attack on the agents that will be given it."""

    code = "E4003"
    default_hint = (
        "Do not rephrase it or try again: tell the user what it was and where it came from. "
        "A person can store it with `engram remember`."
    )


class WrongKey(SecurityError):
    """The key does not open this file, or the file is not a database."""

    code = "E4002"
    default_hint = "Check the key; nothing was changed."


class ContentTooLarge(SecurityError):
    """A memory is larger than the policy allows."""

    code = "E4004"
    default_hint = "Split it into single statements."


class InvalidContent(SecurityError):
    """A memory is empty or is not text."""

    code = "E4005"


class TokenNeeded(SecurityError):
    """The request shows no token that the server knows."""

    code = "E4006"


class StatementForgotten(SecurityError):
    """The person asked to forget this; nothing was stored. Only they can bring it back."""

    code = "E4007"
    default_hint = "Only the person can bring it back: in their own words, or with `engram remember`."


class SystemError_(EngramError):  # noqa: N801 - the built-in name is taken
    """A use or configuration that cannot work."""

    code = "E5000"


class InvalidSettings(SystemError_):
    """A setting is unknown, malformed or contradicts another."""

    code = "E5003"
    default_hint = "docs/reference/settings.md lists every setting."


class UnknownPolicy(SystemError_):
    """No preset has that name."""

    code = "E5004"


class MemoryNotFound(SystemError_):
    """No memory, message, question or entity of that id or name is visible in this scope."""

    code = "E5005"
    default_hint = "Check the id and the scope."


class StatusNotAllowed(SystemError_):
    """The status machine has no such move."""

    code = "E5006"


class EdgeNotAllowed(SystemError_):
    """The edge would close a circle of inference or join a memory to itself."""

    code = "E5007"


class InvalidScope(SystemError_):
    """A scope's name is empty, too long or not text."""

    code = "E5008"


class MissingExtra(SystemError_):
    """An optional part is not installed."""

    code = "E5009"


class KeyReused(SystemError_):
    """An idempotency key came with another request than before."""

    code = "E5010"
    default_hint = "Give every request a key of its own, and send it again unchanged."


class RequestUnderWay(SystemError_):
    """A request with the same idempotency key is being carried out."""

    code = "E5011"
    default_hint = "Send it again in a moment; the answer will be the same."


class ServerBusy(SystemError_):
    """The server is at its limit; nothing of the request was carried out."""

    code = "E5012"
    default_hint = "Send it again after the seconds that Retry-After names."


class TooManySearches(SystemError_):
    """An agent's token has asked more often within a minute than it may; nothing was looked up."""

    code = "E5020"
    default_hint = "Ask again after the seconds that Retry-After names."


class ReplyErased(SystemError_):
    """The answer to this idempotency key was erased together with what it told of."""

    code = "E5013"


class MemoryChanged(SystemError_):
    """The memory is no longer as the caller has seen it; nothing was written."""

    code = "E5014"
    default_hint = "Read it again, then retry."


class UndoRefused(SystemError_):
    """There is nothing to undo, or it cannot be undone: the message says why."""

    code = "E5015"


class UserNotFound(SystemError_):
    """No scope has a user of that name; nothing was erased."""

    code = "E5016"
    default_hint = "Check the spelling: names differ by case and by blanks."


class ImportStopped(SystemError_):
    """The import took more time or memory than it may, or was ended; nothing of it was stored."""

    code = "E5017"
    default_hint = "Split the file, or import it with `engram import`, which has no such limits."


class ReadingUnfinished(SystemError_):
    """`flush` ran out of time; the turns that it has not read are stored, and are read later."""

    code = "E5021"
    default_hint = "Nothing is lost: flush again, or let the background read them."


class ClockUnusable(SystemError_):
    """The clock that was handed in raises, or returns no moment with a time zone."""

    code = "E5022"
    default_hint = "A clock is any object whose `now()` returns a datetime in UTC."


class ChatError(EngramError):
    """A chat model failed; whatever asked it goes on without one."""

    code = "E6000"
    default_hint = "`engram status` shows how the chat model fares."


class ChatUnavailable(ChatError):
    """The chat model cannot be reached, is too slow, or refuses the request."""

    code = "E6001"
    default_hint = "Check that the server runs and knows the model; work goes on without it."


class ChatReplyInvalid(ChatError):
    """
    The chat model replied, also when asked again, with something that cannot be used.

    `reply` holds its last words, which may quote memories: for a person to look at, never for a log.
    """

    code = "E6002"
    default_hint = "A larger model may follow the form; work goes on without it."

    def __init__(self, message: str, *, hint: str | None = None, reply: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reply = reply
