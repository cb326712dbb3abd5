"""
What the parts of a configuration file have in common, whatever its format.

Implemented by `servers` and `hook_entries`, used by `plan`. A part is one place in a file where something of
ours may stand; it takes a text and gives a text, and reads and writes no file.
"""

from __future__ import annotations

from typing import Protocol, Self


class CannotEdit(Exception):
    """The file is not what we can change safely; the message says why, and never quotes a value."""


class Part(Protocol):
    """One place of ours in a file."""

    def is_in(self, text: str) -> bool:
        """Say whether something of ours stands there."""
        ...

    def like_in(self, text: str) -> Self:
        """Return the same part with what a text, in which it is, has it say."""
        ...

    def put(self, text: str) -> str:
        """Return the text with what we have to say; the same text where it says so already."""
        ...

    def take_out(self, text: str, original: str | None) -> str:
        """Return the text without anything of ours, and without what we made that the original had not."""
        ...

    def snippet(self) -> str:
        """Return what a person may paste instead."""
        ...
