"""
What reads text: a reader takes one sentence, a judge two statements, or a question and a memory.

There are three of each: rules, which are always there; the reader pack, a small network of our own; and a
chat model. The strongest that the settings allow decides, and its name and version are stored with what it
decided. None of them ever sees more than the texts it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engramdb.values.reading import PairJudgment, Reading


class Utterance(Struct, frozen=True):
    """A text, who said it, and the message that came before it."""

    text: str
    by: str = "user"
    """`user`, `assistant`, `tool`, or a person's name."""
    before: str = ""


class Reader(Protocol):
    """Reads single texts."""

    @property
    def name(self) -> str:
        """Name and version, stored as the provenance of what was read."""
        ...

    def read(self, texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text. Raises a `ModelError` when it cannot work now."""
        ...


class Judge(Protocol):
    """Judges pairs of texts."""

    @property
    def name(self) -> str:
        """Name and version, stored as the provenance of what was judged."""
        ...

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment]:
        """
        Return how the newer statement stands to each of the older ones.

        With `seconds` it may stop when they are over and return fewer, those of the first.
        """
        ...

    def answers(self, question: str, memories: Sequence[str]) -> list[float]:
        """Return for each memory the chance that it answers the question."""
        ...
