"""A judge that holds to be the same what a test says is, and stores that ask it."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engramdb import Engram, Settings
from engramdb.engine.assemble import JudgeParts
from engramdb.health import JUDGE
from engramdb.models.reader import GuardedModel, Judge, Utterance
from engramdb.values.reading import PairJudgment, PairRelation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pytest

    from engramdb.testing import ManualClock


class AgreeingJudge:
    """Says `same` of the pairs it was told of, `related` of all others; counts what it was asked."""

    def __init__(self, *, name: str = "agreeing/1", is_remote: bool = False, is_certain: bool = True) -> None:
        self.name = name
        self.is_remote = is_remote
        self.is_certain = is_certain
        self.same: set[frozenset[str]] = set()
        self.asked: list[frozenset[str]] = []
        self.left = 1_000
        """How many pairs it has time for."""

    def holds_same(self, *texts: str) -> None:
        """Let every two of these be the same."""
        self.same |= {frozenset(pair) for pair in combinations(texts, 2)}

    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]:
        """Return as many judgments as there is time for."""
        few = older if seconds is None else older[: max(0, self.left)]
        self.left -= len(few)
        pairs = [frozenset((newer.text, one.text)) for one in few]
        self.asked += pairs
        return [self._judgment(pair) for pair in pairs]

    def _judgment(self, pair: frozenset[str]) -> PairJudgment:
        relation = PairRelation.SAME if pair in self.same else PairRelation.RELATED
        said = PairJudgment.certain(relation, by=self.name)
        return said if self.is_certain else replace(said, is_certain=False)

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:
        """Have no opinion."""
        return None

    def makes_doubtful(
        self,
        change: tuple[str, str],
        statements: Sequence[str],
    ) -> list[bool] | None:
        """Have no opinion."""
        return None

    def answers(self, question: str, memories: Sequence[str], *, seconds: float | None = None) -> list[float]:
        """Say that nothing answers."""
        return [0.0 for _ in memories if question]


@contextmanager
def asking(
    path: Path,
    judge: AgreeingJudge,
    monkeypatch: pytest.MonkeyPatch,
    clock: ManualClock,
    settings: Settings | None = None,
) -> Iterator[Engram]:
    """A store whose dreams ask the judge, with the embedder that is built in."""

    def choose(parts: JudgeParts) -> GuardedModel[Judge]:
        return GuardedModel[Judge](
            lambda: judge, parts.guard, JUDGE, name=judge.name, is_remote=judge.is_remote
        )

    monkeypatch.setattr("engramdb.engine.assemble.choose_judge", choose)
    with Engram.open(path, settings=settings, clock=clock, background=False) as engram:
        yield engram
