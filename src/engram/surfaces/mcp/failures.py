"""
Answer what went wrong so that the model can act on it: what happened, and whose turn it is.

Called by `server` for every tool, resource and prompt. What to do follows from the one table of errors:
fix the call, wait, or tell the user. The only place of the server that catches what it did not foresee;
it logs the class and the place of the exception and never its text, which may quote a memory.
"""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Final, TypeVar

from engram.errors import (
    EmbeddingError,
    EngramError,
    InvalidScope,
    InvalidSettings,
    StorageError,
    UnknownPolicy,
)
from engram.surfaces import errors
from engram.surfaces.mcp.tool import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    Made = TypeVar("Made")

log = logging.getLogger("engram.mcp")

FIX: Final = "Change the arguments and call again."
WAIT: Final = "Nothing was changed. Try again in a moment; if it fails again, tell the user."
TELL: Final = "Calling again will not help: go on without it and tell the user."

NEXT_STEPS: Final = {
    errors.FAILED: TELL,
    errors.MISUSED: FIX,
    errors.ABSENT: FIX,
    errors.STORE: TELL,
    errors.TRY_AGAIN: WAIT,
    errors.NO_ACCESS: TELL,
    errors.EMBEDDER: TELL,
    errors.NOT_INSTALLED: TELL,
    errors.CHAT: TELL,
}
"""What the model should do, by the exit code that the table gives an error."""
OF_THE_SERVER: Final = (StorageError, EmbeddingError, InvalidScope, InvalidSettings, UnknownPolicy)
"""What no argument of a tool can mend: a person chose the store, the models, the scope and the policy."""


def foreseen(act: Callable[[], Made], *, what: str) -> Made:
    """Do it; an exception that nobody has named becomes an error that says no more than where."""
    try:
        return act()
    except EngramError:
        raise
    except Exception as exc:  # noqa: BLE001 - answered, and logged by its place
        last = traceback.extract_tb(exc.__traceback__)[-1]
        log.error("%s at %s:%s, in %s", type(exc).__name__, last.filename, last.lineno, what)  # noqa: TRY400
        raise EngramError("a mistake in Engram itself", hint="The server's log says where.") from None


def next_step(error: EngramError) -> str:
    """Return what the model should do about an error."""
    step = NEXT_STEPS[errors.answer_for(error).exit_code]
    return TELL if step == FIX and isinstance(error, OF_THE_SERVER) else step


def told(error: EngramError) -> str:
    """Return an error in words: code, what happened, the hint, the next step."""
    sentences = [f"{error.code} {error.message}.", error.hint, next_step(error)]
    return " ".join(sentence for sentence in sentences if sentence)


def as_answer(error: EngramError) -> Answer:
    """Return an error as an answer."""
    values = {"code": error.code, "message": error.message, "hint": error.hint, "next": next_step(error)}
    return Answer(f"Failed: {told(error)}", {"error": values})
