"""One sweep: it looks at everything once, writes little at a time, judges again, and can be interrupted."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from engramdb import Engram, Settings
from engramdb.lifecycle.sweep import SessionAccounts, Sweeper, sweep
from engramdb.policy import PRESETS
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Action, Kind, Layer, Memory, Provenance, Role, Scope, Status, Turn, new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from engramdb.policy import AgingPolicy
    from engramdb.store.sqlite.store import Tables
    from engramdb.values import AgeReport

BORN = datetime(2026, 1, 1, tzinfo=UTC)
TIERED, NOTEBOOK, CORTEX = (PRESETS[name].aging for name in ("tiered", "notebook", "cortex"))


class WatchedStore(SqliteStore):
    """A store that lets a test do something inside every write, before or after what the writer does."""

    before: Callable[[Tables], None] | None = None
    after: Callable[[Tables], None] | None = None

    @contextmanager
    def atomic(self) -> Iterator[Tables]:
        """Open a write."""
        with super().atomic() as tx:
            if self.before is not None:
                self.before(tx)
            yield tx
            if self.after is not None:
                self.after(tx)


@pytest.fixture
def store(store_path: Path) -> Iterator[WatchedStore]:
    """An empty store."""
    opened = WatchedStore.open(str(store_path), now=BORN, is_durable=False)
    assert isinstance(opened, WatchedStore)
    yield opened
    opened.close()


def memory(**fields: Any) -> Memory:
    """A memory that a person asked to remember, made at BORN."""
    made = Memory(id=new_id(BORN), content="a statement", created_at=BORN, updated_at=BORN)
    return made.evolve(**fields)


def keep(store: SqliteStore, *memories: Memory) -> None:
    """Store memories as they are."""
    with store.atomic() as tx:
        for one in memories:
            tx.terms.put(tx.memories.add(one, fingerprint=one.id.encode()), ["statement"])


def statuses(store: SqliteStore) -> dict[str, Status]:
    """The status of every memory."""
    with store.read() as tx:
        return {one.id: one.status for one in tx.memories.by_keys(list(range(1, 10_000))).values()}


def age(store: SqliteStore, policy: AgingPolicy, days: float, **options: Any) -> AgeReport:
    """Sweep so many days after BORN."""
    now = BORN + timedelta(days=days)
    return sweep(Sweeper(store=store, policy=policy, policy_name="a name", now=now, **options))


# --- what is reported ---------------------------------------------------------------------------------------


def test_a_report_counts_by_rule_and_by_tier(store: WatchedStore) -> None:
    """Everything that can age is looked at; tiers are those of the living."""
    keep(store, *(memory(importance=0.1) for _ in range(3)), *(memory() for _ in range(4)))
    keep(store, memory(status=Status.FORGOTTEN), memory(status=Status.ARCHIVED))

    report = age(store, NOTEBOOK, 91, page_rows=2)

    assert (report.looked_at, report.by_rule, report.by_tier) == (8, {"unused": 3}, {"hot": 7})
    assert (report.changed, len(report.moves)) == (3, 3)
    assert not report.resumed
    assert report.started_at == BORN + timedelta(days=91)


def test_a_report_shows_the_first_thousand_moves(store: WatchedStore) -> None:
    """All of them are counted."""
    keep(store, *(memory(importance=0.1) for _ in range(1_010)))

    report = age(store, NOTEBOOK, 91)

    assert report.changed == 1_010
    assert len(report.moves) == 1_000


def test_an_empty_store_ages_in_peace(store: WatchedStore) -> None:
    """Nothing to look at is a report of zeros, under every preset."""
    for policy in PRESETS.values():
        report = age(store, policy.aging, 1)

        assert (report.looked_at, report.changed, report.by_tier) == (0, 0, {})


def test_progress_adds_up_to_what_was_looked_at(store: WatchedStore) -> None:
    """A bar that is moved by it ends full."""
    keep(store, *(memory() for _ in range(7)))
    moved: list[int] = []

    report = age(store, NOTEBOOK, 1, page_rows=3, progress=moved.append)

    assert moved == [3, 3, 1]
    assert report.looked_at == 7


# --- layers -------------------------------------------------------------------------------------------------


def test_a_change_of_layer_is_in_the_history(store: WatchedStore) -> None:
    """Working memory becomes an episode; the row names both layers and the rule."""
    one = memory(layer=Layer.WORKING)
    keep(store, one)

    report = age(store, NOTEBOOK, 1)

    with store.read() as tx:
        (event,) = tx.history.of(one.id)
        changed = tx.memories.get(one.id, scope=one.scope)
    assert report.by_rule == {"working_to_episodic": 1}
    assert (event.action, event.reason) == (Action.PROMOTE, "working_to_episodic")
    assert event.changes == {"layer": ("working", "episodic")}
    assert changed is not None
    assert (changed.layer, changed.layer_held) == (Layer.EPISODIC, False)


def test_a_layer_is_changed_once(store: WatchedStore) -> None:
    """The next sweep finds nothing to do."""
    keep(store, memory(layer=Layer.WORKING))

    first, second = age(store, NOTEBOOK, 1), age(store, NOTEBOOK, 2)

    assert (first.changed, second.changed) == (1, 0)


# --- choosing -----------------------------------------------------------------------------------------------


def test_at_most_fifty_are_evicted_a_sweep_lowest_first(store: WatchedStore) -> None:
    """The oldest have the lowest scores; the next sweep takes the next fifty."""
    young_first = [memory(created_at=BORN - timedelta(days=number)) for number in range(120)]
    keep(store, *young_first)

    first = age(store, TIERED, 200)
    gone = {one for one, status in statuses(store).items() if status is Status.ARCHIVED}
    second, third = age(store, TIERED, 201), age(store, TIERED, 202)

    assert [report.by_rule for report in (first, second, third)] == [
        {"evicted": 50},
        {"evicted": 50},
        {"evicted": 20},
    ]
    assert gone == {one.id for one in young_first[-50:]}


def test_a_slow_disk_makes_writes_smaller_and_leaves_nobody_out(store: WatchedStore) -> None:
    """Fifty are due; they leave although fewer and fewer fit into a write."""
    keep(store, *(memory() for _ in range(60)))
    store.after = lambda _tx: time.sleep(0.05)

    report = age(store, TIERED, 200)

    assert report.by_rule == {"evicted": 50}
    assert report.longest_write_milliseconds >= 50


def test_a_full_project_loses_its_least_important(store: WatchedStore) -> None:
    """Each project by itself; knowledge neither counts nor leaves."""
    one, other = Scope(project="one"), Scope(project="other")
    crowd = [memory(scope=one, importance=0.5 + number / 100) for number in range(10)]
    keep(store, *crowd, *(memory(scope=one, layer=Layer.SEMANTIC, importance=0.1) for _ in range(5)))
    keep(store, *(memory(scope=other) for _ in range(6)))

    report = age(store, replace(TIERED, project_most=6), 1)

    assert report.by_rule == {"crowded_out": 4}
    left = {key for key, status in statuses(store).items() if status is Status.ARCHIVED}
    assert left == {memory.id for memory in crowd[:4]}


def test_evicted_knowledge_makes_no_room_in_a_project(store: WatchedStore) -> None:
    """Only working memory and episodes count, so only those that leave make the others fit."""
    keep(store, *(memory(layer=Layer.SEMANTIC, created_at=BORN - timedelta(days=400)) for _ in range(3)))
    keep(store, *(memory() for _ in range(8)))

    report = age(store, replace(TIERED, project_most=5), 1)

    assert report.by_rule == {"evicted": 3, "crowded_out": 3}


def test_the_pinned_count_and_stay(store: WatchedStore) -> None:
    """A project full of pins loses everything else, and no pin."""
    keep(store, *(memory(pinned=True, importance=0.0) for _ in range(5)), *(memory() for _ in range(3)))

    report = age(store, replace(TIERED, project_most=5), 1)

    assert report.by_rule == {"crowded_out": 3}


def test_a_dry_run_counts_nobody_twice(store: WatchedStore) -> None:
    """Who leaves with the session is not evicted as well: what is told is what is done."""
    _mixed(store)

    told = age(store, replace(TIERED, project_most=5), 150, dry_run=True)
    done = age(store, replace(TIERED, project_most=5), 150)

    assert told.by_rule == done.by_rule
    assert {"stale_session", "low_value", "evicted", "crowded_out"} <= set(done.by_rule)
    assert set(told.moves) == set(done.moves)


# --- others at work meanwhile -------------------------------------------------------------------------------


def test_what_is_pinned_at_the_last_moment_stays(store: WatchedStore) -> None:
    """Judged once more inside the write, so what a person did after the reading counts."""
    one = memory(importance=0.1)
    keep(store, one)

    def pin(tx: Tables) -> None:
        tx.memories.replace(one.evolve(pinned=True))

    store.before = pin
    report = age(store, NOTEBOOK, 91)

    assert report.changed == 0
    assert statuses(store)[one.id] is Status.ACTIVE


def test_what_is_forgotten_at_the_last_moment_stays_forgotten(store: WatchedStore) -> None:
    """A rule does not archive what a person has just forgotten."""
    one = memory(importance=0.1)
    keep(store, one)

    def forget(tx: Tables) -> None:
        tx.memories.replace(one.evolve(status=Status.FORGOTTEN))

    store.before = forget
    report = age(store, NOTEBOOK, 91)

    assert report.changed == 0
    assert statuses(store)[one.id] is Status.FORGOTTEN


# --- interruptions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [TIERED, NOTEBOOK, CORTEX], ids=["tiered", "notebook", "cortex"])
def test_a_stopped_sweep_goes_on_where_it_was(
    store_path: Path, store: WatchedStore, policy: AgingPolicy
) -> None:
    """However often it is stopped, the end is that of a sweep that was not, and nothing is counted twice."""
    whole = WatchedStore.open(str(store_path.with_name("whole.db")), now=BORN, is_durable=False)
    for one in _mixed(store):
        keep(whole, one)
    for turn in _turns():
        with whole.atomic() as tx:
            tx.turns.add(turn)
    expected = age(whole, policy, 150)

    reports: list[AgeReport] = []
    while not reports or _is_unfinished(store):
        reports.append(_stopped_after_a_write(store, policy, 150))

    assert len(reports) > 2
    assert [report.resumed for report in reports] == [False] + [True] * (len(reports) - 1)
    assert reports[-1].by_rule == expected.by_rule
    assert reports[-1].looked_at == expected.looked_at
    assert statuses(store) == statuses(whole)
    whole.close()


def test_a_finished_sweep_is_not_resumed(store: WatchedStore) -> None:
    """The next one begins anew, with numbers of its own."""
    keep(store, memory(importance=0.1))

    first, second = age(store, NOTEBOOK, 91), age(store, NOTEBOOK, 91.1)

    assert (first.resumed, second.resumed) == (False, False)
    assert (first.by_rule, second.by_rule) == ({"unused": 1}, {})


@pytest.mark.parametrize(("hours", "resumed"), [(11, True), (13, False)])
def test_an_old_interrupted_sweep_is_begun_anew(store: WatchedStore, hours: float, resumed: bool) -> None:
    """What it saw twelve hours ago has to be looked at again."""
    keep(store, *(memory(importance=0.1) for _ in range(100)))
    _stopped_after_a_write(store, NOTEBOOK, 91)

    report = age(store, NOTEBOOK, 91 + hours / 24)

    assert report.resumed is resumed


def test_another_policys_sweep_is_not_resumed(store: WatchedStore) -> None:
    """Its rules had other ideas of what the first memories should become."""
    keep(store, *(memory(importance=0.1) for _ in range(100)))
    _stopped_after_a_write(store, NOTEBOOK, 91)

    now = BORN + timedelta(days=91)
    report = sweep(Sweeper(store=store, policy=CORTEX, policy_name="another", now=now))

    assert not report.resumed


def test_a_dry_run_neither_resumes_nor_is_resumed(store: WatchedStore) -> None:
    """It looks at everything and leaves no trace of itself."""
    keep(store, *(memory(importance=0.1) for _ in range(100)))
    _stopped_after_a_write(store, NOTEBOOK, 91)

    told = age(store, NOTEBOOK, 91, dry_run=True)
    done = age(store, NOTEBOOK, 91)

    assert not told.resumed
    assert done.resumed
    assert done.by_rule == {"unused": 100}


# --- sessions -----------------------------------------------------------------------------------------------


def test_a_session_is_summarised_before_its_episodes_go(store_path: Path, clock: ManualClock) -> None:
    """What the episodes said lives on in the summary, which stays."""
    with open_tiered(store_path, clock) as engram:
        _talk(engram)
        clock.advance(days=31)

        report = engram.age()

        (summary,) = engram.list()
        assert report.by_rule == {"stale_session": 3}
        assert (summary.extractor, summary.kind) == ("session-1", Kind.EPISODE)
        assert "statement 2" in summary.content


def test_a_session_that_cannot_be_summarised_keeps_its_episodes(store: WatchedStore) -> None:
    """The report says what failed, once for each session, and nothing of theirs leaves in this sweep."""
    _mixed(store)

    report = age(store, TIERED, 40, summarize=lambda ends: SessionAccounts(failures=("no",) * len(ends)))

    assert set(report.failures) == {"no"}
    assert "stale_session" not in report.by_rule


def test_only_what_a_summary_tells_leaves_with_its_session(store: WatchedStore) -> None:
    """One that was told goes, and all others stay."""
    _mixed(store)
    told = [
        one.memory_id for one in age(store, TIERED, 40, dry_run=True).moves if one.rule == "stale_session"
    ]

    report = age(store, TIERED, 40, summarize=lambda _: SessionAccounts(covered=frozenset(told[:1])))

    assert len(told) > 1
    assert [one.memory_id for one in report.moves if one.rule == "stale_session"] == told[:1]


def test_the_engine_says_how_the_last_sweep_went(store_path: Path, clock: ManualClock) -> None:
    """`status` names the aging and when it last succeeded."""
    with open_tiered(store_path, clock) as engram:
        engram.age()

        (part,) = [part for part in engram.status().parts if part.name == "aging"]
        assert part.last_success == clock.now()


def open_tiered(path: Path, clock: ManualClock) -> Engram:
    """A memory under the preset `tiered`, without threads."""
    clock.set(BORN)
    settings = Settings(policy="tiered", durability="relaxed")
    return Engram.open(path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False)


def _talk(engram: Engram) -> None:
    """A session of five turns, three of which something was read out of."""
    with engram._parts.store.atomic() as tx:
        for number in range(5):
            tx.turns.add(_turn("s1", f"turn {number}"))
        for number in range(3):
            one = memory(
                content=f"statement {number}",
                extractor="heuristic-1",
                kind=Kind.EPISODE,
                provenance=Provenance(session="s1"),
            )
            tx.memories.add(one, fingerprint=one.id.encode())


def _turns() -> list[Turn]:
    return [_turn("s1", "hello"), _turn("s2", "hello")]


def _turn(session: str, content: str) -> Turn:
    return Turn(
        id=new_id(BORN), content=content, role=Role.USER, occurred_at=BORN, created_at=BORN, session=session
    )


def _mixed(store: SqliteStore) -> list[Memory]:
    """Memories of all kinds, some of which every rule of these presets is due for, and two sessions' ends."""
    memories = [
        memory(
            created_at=BORN - timedelta(hours=number),
            importance=(number % 10) / 10,
            confidence=(number % 7) / 6,
            kind=Kind.EPISODE if number % 3 else Kind.NOTE,
            extractor="heuristic-1" if number % 4 else None,
            category=("fact", "decision", "commitment", "architecture")[number % 4],
            layer=list(Layer)[number % 5],
            pinned=number % 31 == 0,
            provenance=Provenance(session=(None, "s1", "s2")[number % 3]),
        )
        for number in range(240)
    ]
    keep(store, *memories)
    with store.atomic() as tx:
        for turn in _turns():
            tx.turns.add(turn)
    return memories


def _is_unfinished(store: SqliteStore) -> bool:
    with store.read() as tx:
        latest = tx.sweeps.latest()
    return latest is not None and latest.finished_at is None


def _stopped_after_a_write(store: WatchedStore, policy: AgingPolicy, days: float) -> AgeReport:
    """Sweep in small pages, and ask it to stop while its second write is under way."""
    stop, writes = threading.Event(), [0]

    def count(_tx: Tables) -> None:
        writes[0] += 1
        if writes[0] == 2:
            stop.set()

    store.after = count
    report = age(store, policy, days, page_rows=50, stop=stop)
    store.after = None
    return report
