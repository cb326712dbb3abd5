"""
Make identifiers that sort by the time they were made (UUID version 7, RFC 9562).

Called by the rooms that create memories, turns and events; the moment comes in as an argument.
Within one process two identifiers of the same millisecond still sort in the order of making,
because a counter fills the twelve bits behind the time and, when they are full, borrows the next millisecond.
"""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

MemoryId: TypeAlias = str
TurnId: TypeAlias = str

_COUNTER_LIMIT = 1 << 12


class _Sequence:
    """The last millisecond and count that were handed out; a lock guards the pair."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millisecond = 0
        self._count = 0

    def next(self, millisecond: int) -> tuple[int, int]:
        """Return a pair that is larger than any before it, unless the clock was moved back."""
        with self._lock:
            reached = self._millisecond + self._count // _COUNTER_LIMIT
            if self._millisecond <= millisecond <= reached:
                self._count += 1
            else:
                self._millisecond, self._count = millisecond, 0
            return self._millisecond + self._count // _COUNTER_LIMIT, self._count % _COUNTER_LIMIT


_sequence = _Sequence()


def new_id(now: datetime) -> str:
    """Return a UUIDv7 for this moment, as 36 characters."""
    millisecond, count = _sequence.next(int(now.timestamp() * 1000))
    number = (millisecond & (1 << 48) - 1) << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | secrets.randbits(62)
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
