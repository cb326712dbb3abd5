"""Rolling a store's history back gives what the store held then, whatever happened in between."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engramdb import Actor, Engram, Filters, Layer, Memory, Scope, Settings, Status
from engramdb.errors import StatusNotAllowed
from engramdb.lifecycle.change import ChangeRequest, count_run
from engramdb.recall.as_of import as_it_was, believed
from engramdb.recall.timeline import timeline
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.text.identity import FORGOTTEN_WORDS
from engramdb.text.terms import retells
from engramdb.values import GLOBAL
from engramdb.values.query import Then
from engramdb.values.recall import KnowledgeChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from engramdb.values import HistoryEvent

    Step: TypeAlias = tuple[float, tuple[Any, ...]]

START = datetime(2026, 1, 1, tzinfo=UTC)
ANN = Scope(user="ann")
EVERYTHING = Filters(statuses=frozenset(Status))
# Said again they reinforce, said otherwise they replace or dispute one another.
STATEMENTS = [
    "I use vim as my editor",
    "I use Helix now, not vim",
    "I switched from Helix to vim",
    "Ann lives in Paris",
    "Ann lives in Rome",
    "Tea may be good",
    "Call the bank on Monday",
]

days = st.sampled_from([0.0, 0.01, 1.0, 20.0, 90.0])
shares = st.none() | st.sampled_from([0.1, 0.3, 0.5, 0.9])
scopes = st.sampled_from([GLOBAL, GLOBAL, ANN])
which = st.integers(0, 5)
times = st.sampled_from([1, 1, 4])  # said four times, a statement is doubted and no longer replaced
said = st.sampled_from(STATEMENTS)
changing_statuses = st.sampled_from([status for status in Status if status is not Status.ERASED])
sayings = st.one_of(
    st.tuples(st.just("remember"), said, st.tuples(shares, shares), st.booleans(), times, scopes),
    st.tuples(st.just("observe"), said, scopes),
)
changes = st.one_of(
    sayings,
    sayings,
    st.tuples(st.just("correct"), which, said),
    st.tuples(st.just("pin"), which),
    st.tuples(st.just("unpin"), which),
    st.tuples(st.just("promote"), which, st.none() | st.sampled_from(Layer)),
    st.tuples(st.just("demote"), which),
    st.tuples(st.just("set_status"), which, changing_statuses),
    st.tuples(st.just("set_status"), which, st.just(Status.ACTIVE)),
    st.tuples(st.just("restore"), which),
    st.tuples(st.just("count"), which, st.booleans()),
    st.tuples(st.just("age"), st.sampled_from([1, 40, 400])),
)
lives = st.tuples(
    st.lists(st.tuples(days, sayings), min_size=2, max_size=5),
    st.lists(st.tuples(days, changes), min_size=6, max_size=14),
).map(lambda parts: [*parts[0], *parts[1]])
"""A few statements first, so that there is something to change."""


LEANING: list[Step] = [
    (0.0, ("observe", "I use vim as my editor", GLOBAL)),
    (0.0, ("observe", "I switched from Helix to vim", GLOBAL)),
    (0.01, ("set_status", 1, Status.FORGOTTEN)),
]
"""What the second statement leaned on is forgotten afterwards."""
CORRECTED_EVENT: list[Step] = [
    (0.0, ("observe", "I switched from Helix to vim", GLOBAL)),
    (0.01, ("correct", 0, "I use Helix now, not vim")),
]
"""A correction that is learned later than when what it tells happened."""


class Life:
    """A store that one step after the other happens to, and what it held after each moment."""

    def __init__(self, engram: Engram, clock: ManualClock) -> None:
        self.engram = engram
        self.clock = clock
        self.held: dict[datetime, Mapping[str, Memory]] = {}

    def live(self, passing_days: float, step: tuple[Any, ...]) -> None:
        """Let time pass, do one thing, where that is allowed, and write down what is held now."""
        self.clock.advance(days=passing_days)
        name, *arguments = step
        with suppress(StatusNotAllowed):
            getattr(self, f"_{name}")(*arguments)
        self.held[self.clock.now()] = self.now()

    def now(self) -> dict[str, Memory]:
        """Everything in the store, by id, whoever may see it."""
        return {one.id: one for one in self.engram.list(limit=1000, filters=EVERYTHING, scope=ANN)}

    def _remember(
        self,
        text: str,
        weights: tuple[float | None, float | None],
        pinned: bool,
        times: int,
        scope: Scope,
    ) -> None:
        confidence, importance = weights
        for _ in range(times):
            self.engram.remember(
                text, confidence=confidence, importance=importance, pinned=pinned, scope=scope
            )

    def _observe(self, text: str, scope: Scope) -> None:
        self.engram.observe(text, session="talk", scope=scope)
        self.engram.flush()

    def _correct(self, which: int, text: str) -> None:
        self._each(which, lambda one: self.engram.correct(one.id, text, scope=one.scope))

    def _pin(self, which: int) -> None:
        self._each(which, lambda one: self.engram.pin(one.id, scope=one.scope))

    def _unpin(self, which: int) -> None:
        self._each(which, lambda one: self.engram.unpin(one.id, scope=one.scope))

    def _promote(self, which: int, layer: Layer | None) -> None:
        self._each(which, lambda one: self.engram.promote(one.id, layer=layer, scope=one.scope))

    def _demote(self, which: int) -> None:
        self._each(which, lambda one: self.engram.demote(one.id, scope=one.scope))

    def _set_status(self, which: int, status: Status) -> None:
        self._each(
            which, lambda one: self.engram.set_status(one.id, status, reason="asked for", scope=one.scope)
        )

    def _restore(self, which: int) -> None:
        self._each(which, lambda one: self.engram.restore(one.id, scope=one.scope))

    def _count(self, which: int, is_success: bool) -> None:
        store, now = self.engram._parts.store, self.clock.now()
        self._each(
            which,
            lambda one: count_run(
                one.id,
                ChangeRequest(store=store, scope=one.scope, actor=Actor(), now=now),
                is_success=is_success,
            ),
        )

    def _age(self, passing_days: float) -> None:
        self.clock.advance(days=passing_days)
        self.engram.age()

    def _each(self, which: int, change: Callable[[Memory], object]) -> None:
        """Change the memory with this number, if there are any."""
        memories = list(self.now().values())
        if memories:
            change(memories[which % len(memories)])


@contextmanager
def lived(steps: list[Step], *, policy: str) -> Iterator[Life]:
    """A store to which all of this has happened."""
    clock = ManualClock(START)
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed", policy=policy),
            clock=clock,
            embedder=TinyEmbedder(),
            background=False,
        ) as engram,
    ):
        life = Life(engram, clock)
        for passing_days, step in steps:
            life.live(passing_days, step)
        yield life


def comparable(memory: Memory) -> Memory:
    """The memory without the one time that the history after a moment does not tell."""
    return msgspec.structs.replace(memory.unmarked, updated_at=memory.created_at)


def without_gone(listed: Memory, was: Memory, forgotten: Sequence[str]) -> Memory:
    """The memory that was listed, without words that it leaned on and that were forgotten since."""
    before, after = (listed.answers, *listed.refers_to), (was.answers, *was.refers_to)
    answers, *refers_to = (
        left if left == FORGOTTEN_WORDS and words and any(retells(words, one) for one in forgotten) else words
        for words, left in zip(before, after, strict=True)
    )
    return msgspec.structs.replace(
        listed, answers=answers, refers_to=tuple(words for words in refers_to if words)
    )


def forgotten_in(later: Mapping[str, Sequence[HistoryEvent]], present: Mapping[str, Memory]) -> list[str]:
    """Words that some of the events have forgotten, though the memory may be back."""
    return [
        present[memory_id].content
        for memory_id, events in later.items()
        if any(event.new_status is Status.FORGOTTEN for event in events)
    ]


@settings(max_examples=30)
@example(steps=LEANING, policy="balanced")
@given(steps=lives, policy=st.sampled_from(["balanced", "tiered", "cortex", "beliefs"]))
def test_every_memory_is_what_it_was(steps: list[Step], policy: str) -> None:
    """
    Rolled back to each moment of a random life, each memory is the one that was listed at that moment.

    But for the words of what was forgotten since, on which it leaned: the past does not tell them either.
    """
    with lived(steps, policy=policy) as life, life.engram._parts.store.read() as tx:
        present = life.now()
        for moment, held in life.held.items():
            later = tx.history.since(list(present), moment)
            forgotten = forgotten_in(later, present)
            for memory_id, memory in present.items():
                was, listed = as_it_was(memory, later.get(memory_id, []), moment), held.get(memory_id)

                assert (was is None) == (listed is None)
                if was is not None and listed is not None:
                    assert comparable(was) == comparable(without_gone(listed, was, forgotten))
                    assert listed.updated_at <= was.updated_at <= moment


@settings(max_examples=30)
@given(steps=lives, asked=st.frozensets(st.sampled_from(Status), min_size=1), scope=scopes)
def test_believed_is_the_listing_of_that_moment(
    steps: list[Step], asked: frozenset[Status], scope: Scope
) -> None:
    """What was listed then, with these statuses and in this scope, but for what is forgotten by now."""
    with lived(steps, policy="tiered") as life, life.engram._parts.store.read() as tx:
        present = life.now()
        findable = {one.id for one in present.values() if one.status.is_indexed}
        for moment, held in life.held.items():
            forgotten = forgotten_in(tx.history.since(list(present), moment), present)
            expected = [
                one
                for one in held.values()
                if one.id in findable and one.status in asked and scope.sees(one.scope)
            ]
            found = believed(
                tx,
                range(200, 0, -1),
                then=Then(as_of=moment),
                scope=scope,
                filters=Filters(statuses=asked),
                now=life.clock.now(),
                limit=100,
            )

            assert [memory.id for _, memory in found] == [one.id for one in expected]
            for (_, was), listed in zip(found, expected, strict=True):
                assert comparable(was) == comparable(without_gone(listed, was, forgotten))


@settings(max_examples=30)
@example(steps=CORRECTED_EVENT)
@given(steps=lives)
def test_a_timeline_tells_of_everything_once_in_order(steps: list[Step]) -> None:
    """Entries are in order; each memory that may be found begins once; nothing forgotten is shown."""
    with lived(steps, policy="balanced") as life, life.engram._parts.store.read() as tx:
        present = life.now().values()

        entries = timeline(tx, "everything", list(present), now=life.engram._parts.clock.now()).entries

        sides = [(entry.memory, entry.replaced, entry.disputed) for entry in entries]
        shown = {one.id for side in sides for one in side if one is not None}
        begun = {entry.memory.id for entry in entries if entry.learned_at == entry.memory.created_at}
        assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
        assert shown == begun == {one.id for one in present if one.status.is_indexed}
        additions = [entry.memory.id for entry in entries if entry.change is KnowledgeChange.ADDITION]
        assert len(additions) == len(set(additions))
