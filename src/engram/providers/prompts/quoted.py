"""
Put other people's words into a prompt so that they stay words.

Called by the functions that fill a prompt; pure.
Each record is one line of JSON, so a text can begin no line of its own and close no quotation; the marker
lines carry a digest of what stands between them, which no text can contain. The same records give the same
lines, so a prompt can be compared and cached. It hinders injection and does not end it: replies are checked.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MARK_CHARACTERS = 12

# Line ends to some readers though JSON leaves them as they are.
_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


def evidence(asked: str, memories: Iterable[Mapping[str, Any]]) -> str:
    """Return memories and the question that they were found for, both as data."""
    return f"{quote(memories, title='MEMORIES')}\n\n{quote([{'question': asked}], title='QUESTION')}"


def quote(records: Iterable[Mapping[str, Any]], *, title: str) -> str:
    """Return the records between two marker lines, such as `BEGIN TURNS 3f…` and `END TURNS 3f…`."""
    lines = [json.dumps(record, ensure_ascii=False).translate(_SEPARATORS) for record in records]
    body = "\n".join(lines)
    mark = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:MARK_CHARACTERS]
    return "\n".join([f"BEGIN {title} {mark}", *lines, f"END {title} {mark}"])
