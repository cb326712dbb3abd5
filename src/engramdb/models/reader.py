"""
What reads text: a reader takes one sentence, a judge two statements, or a question and a memory.

Both are there as rules, as the network of the model pack and as a chat model; single texts are also read by
heads over the built-in embedding. The settings choose the judge, and history says which one a change is due
to. None of them ever sees more than the texts it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from engramdb.errors import EngramError, ModelUnavailable
from engramdb.models.guard import ForeignGuard, Unusable
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


ModelT = TypeVar("ModelT", bound=Reader | Judge)
ResultT = TypeVar("ResultT")

GRACE_SECONDS = 0.3
"""How far a foreign judge may overrun the time that it was given for an answer."""


class GuardedModel(Generic[ModelT]):
    """
    A reader or judge behind the guard, opened when it is first used.

    With a time-out it is foreign code and is held to it; the model pack's own network is not.
    """

    def __init__(
        self,
        open_model: Callable[[], ModelT],
        guard: ForeignGuard,
        part: str,
        *,
        name: str | None = None,
        is_remote: bool = False,
        timeout_seconds: float | None = None,
    ) -> None:
        self._open = open_model
        self._guard = guard
        self._part = part
        self._name = name
        self._model: ModelT | None = None
        self._timeout_seconds = timeout_seconds
        self.is_remote = is_remote

    @property
    def name(self) -> str:
        """Name and version; if none was given, once it has been opened."""
        return self._name or (self._model.name if self._model else self._part)

    def read(self: GuardedModel[Reader], texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text; raises an `EngramError` when it cannot work now."""
        return self._use(
            lambda reader: reader.read(texts), lambda found: _checked(found, Reading, exactly=len(texts))
        )

    def relate(
        self: GuardedModel[Judge],
        newer: Utterance,
        older: Sequence[Utterance],
        *,
        seconds: float | None = None,
    ) -> list[PairJudgment | None]:
        """Return how the newer statement stands to each of the older ones; none where the judge fails."""
        try:
            return self._use(
                lambda judge: judge.relate(newer, older, seconds=seconds),
                lambda found: _checked(found, PairJudgment | None, most=len(older)),
            )
        except EngramError:  # what is not judged waits
            return []

    def rests_on(
        self: GuardedModel[Judge], question: str, changes: Sequence[tuple[str, str]]
    ) -> list[bool] | None:
        """Return whether a question takes for granted what each change has ended; None if it cannot say."""
        return self._use(
            lambda judge: judge.rests_on(question, changes),
            lambda found: None if found is None else _checked(found, bool, exactly=len(changes)),
        )

    def answers(
        self: GuardedModel[Judge], question: str, memories: Sequence[str], *, seconds: float
    ) -> list[float] | None:
        """
        Return for the first memories, as many as there was time for, the chance that each answers.

        None of a chat model, which is not asked while somebody waits for an answer. Raises an `EngramError`
        when the judge cannot work now.
        """
        if self.is_remote:
            return None
        return self._use(
            lambda judge: judge.answers(question, memories, seconds=seconds),
            lambda found: _checked_chances(found, most=len(memories)),
            seconds=seconds + GRACE_SECONDS,
        )

    def makes_doubtful(
        self: GuardedModel[Judge], change: tuple[str, str], statements: Sequence[str]
    ) -> list[bool] | None:
        """Return whether a change makes each statement doubtful; None where it cannot say."""
        try:
            return self._use(
                lambda judge: judge.makes_doubtful(change, statements),
                lambda found: None if found is None else _checked(found, bool, exactly=len(statements)),
            )
        except EngramError:
            return None

    def _use(
        self,
        use: Callable[[ModelT], ResultT],
        check: Callable[[ResultT], ResultT],
        *,
        seconds: float = math.inf,
    ) -> ResultT:
        def run() -> ResultT:
            self._model = self._model or self._open()
            return use(self._model)

        limit = None if self._timeout_seconds is None else min(self._timeout_seconds, seconds)
        return self._guard.call(self._part, run, failure=ModelUnavailable, check=check, timeout_seconds=limit)


def _checked(
    found: list[ResultT], kind: object, *, exactly: int | None = None, most: int = 0
) -> list[ResultT]:
    """Return a list of the kind and length that was asked for."""
    if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):  # type: ignore[arg-type]
        raise Unusable("returned something else than was asked for")
    if len(found) != exactly if exactly is not None else len(found) > most:
        raise Unusable(f"returned {len(found)} results in place of {most if exactly is None else exactly}")
    return found


def _checked_chances(found: list[float], *, most: int) -> list[float]:
    chances = _checked(found, float | int, most=most)
    if not all(0.0 <= one <= 1.0 for one in chances):  # no number is none
        raise Unusable("returned a chance that is none")
    return chances
