"""What each error means outside: an exit code for the shell, a status for HTTP."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from engramdb import errors

FAILED, MISUSED, ABSENT, STORE, TRY_AGAIN, NO_ACCESS, EMBEDDER, NOT_INSTALLED, CHAT = range(1, 10)
"""The exit codes. 2 is also what the command line's own parser says of options that it does not know."""

UNEXPECTED: Final = 70
"""The exit code of a mistake of ours: EX_SOFTWARE of sysexits.h."""
INTERRUPTED: Final = 130
"""What shells report for a command that was ended by Ctrl-C."""
BROKEN_PIPE: Final = 141
"""What shells report for a command whose reader has gone."""

EXIT_CODES: Final = {
    0: "done",
    FAILED: "failed, or `doctor` found something wrong",
    MISUSED: "used in a way that cannot work",
    ABSENT: "the store, or the memory, message or question that was named, is not there",
    STORE: "the store cannot be used",
    TRY_AGAIN: "no room or no turn now; try again later",
    NO_ACCESS: "the key or the permissions do not allow it",
    EMBEDDER: "the embedder or its model pack failed",
    NOT_INSTALLED: "an optional part is not installed",
    CHAT: "the chat model failed",
    UNEXPECTED: "a mistake in Engram itself",
    INTERRUPTED: "ended by Ctrl-C",
    BROKEN_PIPE: "the reader of the output has gone",
}


class Answer(Struct, frozen=True):
    """How the surfaces answer one class of errors."""

    exit_code: int
    http_status: int


ANSWERS: Final[dict[type[errors.EngramError], Answer]] = {
    errors.EngramError: Answer(FAILED, 500),
    errors.StorageError: Answer(STORE, 500),
    errors.StoreLocked: Answer(NO_ACCESS, 503),
    errors.StoreCorrupt: Answer(STORE, 500),
    errors.DiskFull: Answer(TRY_AGAIN, 507),
    errors.MigrationFailed: Answer(STORE, 500),
    errors.StoreBusy: Answer(TRY_AGAIN, 503),
    errors.StoreReadOnly: Answer(NO_ACCESS, 503),
    errors.StoreNotFound: Answer(ABSENT, 503),
    errors.NotAnEngramStore: Answer(STORE, 500),
    errors.StoreTooNew: Answer(STORE, 500),
    errors.StoreClosed: Answer(STORE, 503),
    errors.StoreUnreadable: Answer(STORE, 500),
    errors.StoreNotEmpty: Answer(MISUSED, 409),
    errors.SearchError: Answer(MISUSED, 422),
    errors.InvalidQuery: Answer(MISUSED, 422),
    errors.EmbeddingError: Answer(EMBEDDER, 503),
    errors.EmbedderUnavailable: Answer(EMBEDDER, 503),
    errors.DimensionMismatch: Answer(EMBEDDER, 500),
    errors.UnknownModel: Answer(MISUSED, 422),
    errors.ModelPackBroken: Answer(EMBEDDER, 503),
    errors.ModelUnavailable: Answer(EMBEDDER, 503),
    errors.SecurityError: Answer(NO_ACCESS, 403),
    errors.AccessDenied: Answer(NO_ACCESS, 403),
    errors.WrongKey: Answer(NO_ACCESS, 503),
    errors.InjectionBlocked: Answer(MISUSED, 422),
    errors.ContentTooLarge: Answer(MISUSED, 413),
    errors.InvalidContent: Answer(MISUSED, 422),
    errors.TokenNeeded: Answer(NO_ACCESS, 401),
    errors.StatementForgotten: Answer(NO_ACCESS, 409),
    errors.SystemError_: Answer(FAILED, 400),
    errors.InvalidSettings: Answer(MISUSED, 500),
    errors.UnknownPolicy: Answer(MISUSED, 500),
    errors.MemoryNotFound: Answer(ABSENT, 404),
    errors.StatusNotAllowed: Answer(MISUSED, 409),
    errors.EdgeNotAllowed: Answer(MISUSED, 409),
    errors.InvalidScope: Answer(MISUSED, 422),
    errors.MissingExtra: Answer(NOT_INSTALLED, 501),
    errors.KeyReused: Answer(MISUSED, 422),
    errors.RequestUnderWay: Answer(TRY_AGAIN, 409),
    errors.ServerBusy: Answer(TRY_AGAIN, 503),
    errors.TooManySearches: Answer(TRY_AGAIN, 429),
    errors.ReplyErased: Answer(ABSENT, 410),
    errors.MemoryChanged: Answer(FAILED, 412),
    errors.UndoRefused: Answer(MISUSED, 409),
    errors.ReadingUnfinished: Answer(TRY_AGAIN, 503),
    errors.ClockUnusable: Answer(MISUSED, 500),
    errors.UserNotFound: Answer(ABSENT, 404),
    errors.ImportStopped: Answer(FAILED, 422),
    errors.ChatError: Answer(CHAT, 503),
    errors.ChatUnavailable: Answer(CHAT, 503),
    errors.ChatReplyInvalid: Answer(CHAT, 502),
}


def answer_for(error: errors.EngramError) -> Answer:
    """Return the answer for an error's class, or for its nearest parent that has one."""
    return next(ANSWERS[kind] for kind in type(error).__mro__ if kind in ANSWERS)
