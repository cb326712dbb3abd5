"""
What reads text: a reader takes one sentence, a judge two statements, or a question and a memory.

Both are there as rules, as the network of the model pack and as a chat model; single texts are also read by
heads over the built-in embedding. The settings choose the judge, and history says which one a change is due
to. None of them ever sees more than the texts it is given.
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
        """Return one reading per text. Raises an `EngramError` when it cannot work now."""
        ...


class Judge(Protocol):
    """Judges pairs of texts."""

    @property
    def name(self) -> str:
        """Name and version, stored as the provenance of what was judged."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether texts leave this machine; then it is never given a confidential one."""
        ...

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        """
        Return how the newer statement stands to each of the older ones; None where it has no opinion.

        With `seconds` it may stop when they are over and return fewer, those of the first.
        """
        ...

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> list[float]:
        """Return for each memory the chance that it answers the question, as many as there is time for."""
        ...

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """Return whether a question takes for granted what each change, from old to new, has ended."""
        ...

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:
        """Return whether a change makes each statement doubtful that was true before it."""
        ...
