"""
What the server writes to stderr: one line for each trouble, and never what anybody said.

Set up by `engram mcp`. Our own lines hold no memory text. Those of libraries may quote a message, a
memory inside it, or the text of an exception; of them only the place and the kind of the exception are
written.
"""

from __future__ import annotations

import logging
import sys

OURS = "engram"


class NamesOnly(logging.Formatter):
    """Writes our lines as they are, and of all others where they were logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for a record."""
        start = f"{record.levelname.lower()}: {record.name}"
        if record.name.partition(".")[0] == OURS:
            return f"{start}: {record.getMessage()}"
        kind = record.exc_info[0] if record.exc_info else None
        return f"{start}, line {record.lineno}" + (f": {kind.__name__}" if kind else "")


def is_trouble(record: logging.LogRecord) -> bool:
    """Say whether a record is worth a line: that listening clients are let go at the end is not."""
    return not (record.name == "uvicorn.error" and str(record.msg).startswith("Cancel "))


def to_stderr() -> None:
    """Send every warning and error of this process to stderr, and nothing else anywhere."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_trouble)
    handler.setFormatter(NamesOnly())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
