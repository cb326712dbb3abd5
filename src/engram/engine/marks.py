"""
What a record of another program is known by, so that it is taken in once.

Used by `intake` for imports and by `hearing` for a conversation that goes on: both give a message the same
mark, so a log may be imported of what was heard. Stands apart because an agent waits for what is heard, and
not for the importers.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from engram.portability.record import Message

if TYPE_CHECKING:
    from engram.portability.record import Statement
    from engram.values import ImportKind, Scope

_MARK_BYTES = 16


def mark_of(kind: ImportKind, record: Statement | Message, scope: Scope) -> bytes:
    """
    Return what a record is known by: its scope, the source's own name for it, and its words.

    A source that changes a record under the same name brings something new. A message without a name is told
    from its like by who said it when.
    """
    name = record.key and f"{kind}/{record.key}"
    if not name and isinstance(record, Message):
        name = f"{record.session}/{record.role}/{record.speaker}/{record.occurred_at}"
    told = "\x1f".join((str(scope), name, record.content))
    return hashlib.blake2b(told.encode("utf-8", "backslashreplace"), digest_size=_MARK_BYTES).digest()
