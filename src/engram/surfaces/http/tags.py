"""
Name the state of an answer, so that a client can ask "has it changed?" and say "only if it has not".

Used by `replies` and by the routes that change one memory. An ETag is a fingerprint of the very bytes. That
of a memory has two parts: what it states and what became of it, and then the rest. Only the first part
counts for `If-Match`, because being recalled or judged helpful is no change that a correction could clobber.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from engram.values import Memory

_BYTES = 9
"""Of a fingerprint: two states of one thing that share it are not to be expected."""
_ANY = "*"


def tag_of(body: bytes) -> str:
    """Return the ETag of an answer."""
    return f'"{_fingerprint(body)}"'


def memory_tag(memory: Memory, body: bytes) -> str:
    """Return the ETag of a memory and of how it was written down."""
    return f'"{_fingerprint(msgspec.json.encode(memory.stated))}.{_fingerprint(body)}"'


def is_among(tag: str, header: str) -> bool:
    """Say whether an ETag is one of those that an `If-None-Match` names, strong or weak."""
    return any(one in (_ANY, tag) for one in _named(header))


def is_stated_in(tag: str, header: str) -> bool:
    """Say whether an `If-Match` names the state that a memory is in, recalled since or not."""
    stated = tag.partition(".")[0]
    return any(one == _ANY or one.partition(".")[0] == stated for one in _named(header))


def is_any(header: str) -> bool:
    """Say whether a header is content with any state."""
    return _ANY in _named(header)


def _named(header: str) -> list[str]:
    return [one.strip().removeprefix("W/") for one in header.split(",")]


def _fingerprint(body: bytes) -> str:
    return blake2b(body, digest_size=_BYTES).hexdigest()
