"""
Every preset does the numbers of the system that it comes from, through the whole engine.

What is written here drives `remember`, `observe`, `recall`, `age`, `dream` and the clock, and reads what they
say. The formulas alone are tested beside this file; a formula that nobody calls proves nothing.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Draft, Engram, Settings
from engramdb.testing import TinyEmbedder
from engramdb.values import (
    Kind,
    Layer,
    Memory,
    Outlook,
    Provenance,
    Status,
    TaskOutcome,
    Tier,
)

from .made import BORN, days, keep, stated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from engramdb.testing import ManualClock

EVENT = "We repainted the harbour office"
"""Something that happened: an episode in every preset."""
FACT = "The API of the harbour office uses JWT tokens"
"""Something that holds until it is replaced."""


@pytest.fixture
def opens(store_path: Path, clock: ManualClock) -> Iterator[Callable[..., Engram]]:
    """Opens a memory under a preset, with fields of its policy replaced."""
    opened: list[Engram] = []

    def one(preset: str, **overrides: Any) -> Engram:
        clock.set(BORN)
        settings = Settings(policy=preset, overrides=overrides, durability="relaxed")
        engram = Engram.open(
            store_path, settings=settings, clock=clock, embedder=TinyEmbedder(), background=False
        )
        opened.append(engram)
        return engram

    yield one
    for engram in opened:
        engram.close()


def outlook(engram: Engram, memory: Memory) -> Outlook:
    """What is left of a memory now."""
    engram.flush()
    (found,) = engram.forecast(memory.id, days=1).soonest
    return found


def heard(engram: Engram, content: str, **fields: Any) -> Memory:
    """Something that was read out of a turn."""
    (memory,) = engram.remember_many([Draft(content=content, extractor="heuristic-1", **fields)])
    return memory


def sweep_daily(engram: Engram, clock: ManualClock, memory: Memory, *, most: int) -> int | None:
    """Sweep every day until a memory is gone, and return the day, counted from birth."""
    while clock.now() < BORN + days(most):
        clock.advance(days=1)
        engram.age()
        if engram.get(memory.id).status.is_terminal:
            return (clock.now() - BORN).days
    return None


def recall_often(engram: Engram, clock: ManualClock, question: str, *, times: int, apart: timedelta) -> None:
    """Ask the same question so often, in a session of its own each time."""
    for number in range(times):
        engram.recall(question, limit=1, session=f"r{number}")
        clock.advance(seconds=apart.total_seconds())
    engram.flush()


# --- notebook -----------------------------------------------------------------------------------------------


def test_notebook(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """
    Dates, importance and use; nothing is deleted.

    Duplicates by their words without case, marks and spaces · confidence below 0.40 ends after 30 days unless
    confirmed · a promise after 90 unless refreshed · older than 90 days, importance below 0.3, at most 2
    recalls, of no protected category, no correction · a box of 30 minutes and 50 memories.
    """
    engram = opens("notebook")
    first = engram.remember("The ferry leaves at noon.")
    again = engram.remember("the FERRY   leaves at noon")
    assert (again.id, len(engram.list())) == (first.id, 1)

    guess = engram.remember("Rosa may be left-handed", confidence=0.39)
    sure = engram.remember("Bruno is left-handed", confidence=0.40, importance=0.5)
    confirmed = engram.remember("Ida might prefer tea", confidence=0.30)
    promise = engram.remember("I promised Ida a new chair", category="commitment")
    refreshed = engram.remember("I promised Leo a new lamp", category="commitment")
    unused, twice, thrice = (
        engram.remember(f"{EVENT} in {color}", importance=0.29, category="moment")
        for color in ("teal", "ochre", "crimson")
    )
    protected = [
        engram.remember(f"{word} {number}", importance=0.1, category=word)
        for number, word in enumerate(("preference", "decision", "principle", "correction"))
    ]
    for color, times in (("ochre", 2), ("crimson", 3)):
        recall_often(engram, clock, f"harbour office in {color}", times=times, apart=timedelta(hours=2))

    clock.set(BORN + days(20))
    engram.remember("Ida might prefer tea", confidence=0.30)
    clock.set(BORN + days(31))
    engram.age()
    assert engram.get(guess.id).status is Status.ARCHIVED
    assert engram.get(sure.id).status is Status.ACTIVE
    assert engram.get(confirmed.id).status is Status.ACTIVE

    clock.set(BORN + days(80))
    engram.remember("I promised Leo a new lamp", category="commitment")
    clock.set(BORN + days(91))
    engram.age()
    gone = {one.id for one in (promise, unused, twice)}
    here = {one.id for one in (refreshed, thrice, *protected)}
    assert {engram.get(one).status for one in gone} == {Status.ARCHIVED}
    assert {engram.get(one).status for one in here} == {Status.ACTIVE}
    assert engram.get(unused.id).content == f"{EVENT} in teal", "never deleted"

    clock.set(BORN + days(171))
    engram.age()
    assert engram.get(refreshed.id).status is Status.ARCHIVED


def test_notebook_boxes(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """A box is closed after 30 minutes of silence, after 50 memories, or where the topic changes."""
    engram = opens("notebook")

    def tell(*texts: str) -> list[str | None]:
        drafts = [Draft(content=text, provenance=Provenance(session="s1")) for text in texts]
        return [one.box for one in engram.remember_many(drafts)]

    (first,) = tell("The boiler of the harbour office drips")
    clock.advance(minutes=29)
    (soon,) = tell("The boiler of the harbour office drips again")
    clock.advance(minutes=31)
    (late,) = tell("The boiler of the harbour office drips still")
    clock.advance(minutes=60)
    many = tell(*(f"The boiler of the harbour office leaks at valve {number}" for number in range(60)))

    assert soon == first != late
    assert [many.count(box) for box in dict.fromkeys(many)] == [50, 10]


# --- layered ------------------------------------------------------------------------------------------------


def test_layered(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """
    Layers, retention and archival.

    Episodes halve in 30 days, extracted ones 3 times as fast · semantic, procedural and codebase do not decay
    · recalls add at most 0.3, on a log scale · working becomes episodic after 30 minutes or 2 recalls · an
    episode of importance 0.7 becomes knowledge with the 5th recall · after 90 days, below 0.15 retention, 0.3
    importance and 3 recalls, archived · pins hold.
    """
    engram = opens("layered")
    stated = engram.remember(EVENT, importance=0.5)
    told = heard(engram, "We repainted the quay", importance=0.2)
    pinned = heard(engram, "We repainted the pier", importance=0.0)
    engram.pin(pinned.id)
    permanent = [
        engram.remember(f"{FACT}, version {number}", layer=layer, importance=0.0)
        for number, layer in enumerate((Layer.SEMANTIC, Layer.PROCEDURAL, Layer.CODEBASE))
    ]
    assert stated.layer is Layer.EPISODIC

    clock.set(BORN + days(10))
    assert outlook(engram, told).retention == pytest.approx(0.5)
    clock.set(BORN + days(30))
    assert outlook(engram, stated).retention == pytest.approx(0.5)
    assert outlook(engram, stated).tier is Tier.WARM

    assert sweep_daily(engram, clock, told, most=200) == 91
    assert engram.get(told.id).status is Status.ARCHIVED
    assert engram.get(pinned.id).status is Status.ACTIVE
    clock.set(BORN + days(3650))
    engram.age()
    assert [engram.get(one.id).status for one in permanent] == [Status.ACTIVE] * 3
    assert [outlook(engram, one).retention for one in permanent] == [1.0] * 3


def test_layered_promotion_and_use(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """30 minutes or 2 recalls; importance 0.7 and 5 recalls; use adds 0.1 · ln(1 + n), at most 0.3."""
    engram = opens("layered")
    waiting = engram.remember("Scratch: the valve is open", layer=Layer.WORKING)
    used = engram.remember("Scratch: the lamp blinks", layer=Layer.WORKING)
    event = engram.remember(EVENT, importance=0.9)
    recall_often(engram, clock, "scratch the lamp blinks", times=2, apart=timedelta(minutes=5))

    engram.age()
    assert engram.get(waiting.id).layer is Layer.WORKING
    assert engram.get(used.id).layer is Layer.EPISODIC
    clock.set(BORN + timedelta(minutes=30))
    engram.age()
    assert engram.get(waiting.id).layer is Layer.EPISODIC

    recall_often(engram, clock, "repainted harbour office", times=4, apart=timedelta(hours=2))
    engram.age()
    assert engram.get(event.id).layer is Layer.EPISODIC
    recall_often(engram, clock, "repainted harbour office", times=1, apart=timedelta(hours=2))
    engram.age()
    assert engram.get(event.id).layer is Layer.SEMANTIC

    last = engram.get(waiting.id).access
    assert last.count == 0
    clock.set(BORN + days(60))
    once = outlook(engram, waiting).retention
    recall_often(engram, clock, "scratch valve open", times=1, apart=timedelta())
    for_one = engram.get(waiting.id)
    clock.advance(days=60)
    assert outlook(engram, for_one).retention == pytest.approx(once + 0.1 * math.log(2), abs=0.01)


def test_layered_surprise(opens: Callable[..., Engram]) -> None:
    """With five known memories the new is compared: up to +0.3 for the novel, less for the redundant."""
    engram = opens("layered")
    for text in ("Basalt is rock", "Ferries leave at noon", "Nadia plays oboe", "Years start in April"):
        engram.remember(text)
    first = engram.remember("Invoice 2231 of the harbour bakery in Lund was paid in full")
    novel = engram.remember("Zsolt repairs accordions")
    redundant = engram.remember("Invoice 2232 of the harbour bakery in Lund was paid in full")

    assert first.surprise is None
    assert 0.5 < novel.importance <= 0.8
    assert redundant.importance < 0.5
    assert "redundant" in redundant.flags


# --- cortex -------------------------------------------------------------------------------------------------


def test_cortex(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """
    The forgetting curve and its collection.

    Strength halves in 30 days · τ grows by 1 + ln(recalls), the whole by 1 + 0.3 · ln(sessions) · arousal
    slows it · below 0.05 it is archived, restorable for 90 days, then pruned · never what somebody asked to
    remember, nor importance above 0.9.
    """
    engram = opens("cortex")
    told = heard(engram, EVENT, importance=0.5)
    weighty = heard(engram, "We repainted the lighthouse", importance=0.91)
    stated = engram.remember("We repainted the pier", importance=0.1)
    used = heard(engram, "Kestrels nest in the crane", importance=0.5, kind=Kind.EPISODE)

    recall_often(engram, clock, "kestrels nest crane", times=4, apart=timedelta(hours=3))
    log = engram.get(used.id).access
    assert (log.count, log.sessions) == (4, 4)
    assert log.last_at is not None
    tau = 30 / math.log(2) * (1 + math.log(4)) * (1 + engram.get(used.id).affect.arousal)
    clock.set(log.last_at + days(100))
    first = 1 + 0.5 * engram.get(used.id).affect.arousal
    expected = first * math.exp(-100 / tau) * (1 + 0.3 * math.log(4))
    assert outlook(engram, used).retention == pytest.approx(expected, abs=1e-3)
    clock.set(BORN + days(30))
    slower = 1 + told.affect.arousal
    whole = 1 + 0.5 * told.affect.arousal
    assert outlook(engram, told).retention == pytest.approx(whole * 0.5 ** (1 / slower), abs=1e-3)

    gone = sweep_daily(engram, clock, told, most=400)
    assert gone == math.ceil(30 * slower * math.log2(20 * whole))
    assert engram.get(told.id).status is Status.ARCHIVED
    clock.advance(days=90)
    engram.age()
    assert engram.get(told.id).status is Status.ARCHIVED
    clock.advance(days=1)
    engram.age()
    assert engram.get(told.id).status is Status.PRUNED
    clock.set(BORN + days(3650))
    engram.age()
    assert {engram.get(one.id).status for one in (weighty, stated)} == {Status.ACTIVE}


def test_cortex_trust(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """Hits are ranked by trust: 0.35 relevance, 0.25 accuracy, 0.20 freshness, 0.20 utility."""
    engram = opens("cortex")
    fact = engram.remember(FACT, importance=0.6)
    clock.advance(days=30)

    (hit,) = engram.recall(FACT).hits
    trust = hit.trust

    assert hit.memory.id == fact.id
    assert trust.accuracy == pytest.approx(0.8), "0.5, and 0.3 for being stated"
    assert trust.freshness == pytest.approx(0.5)
    parts = 0.35 * trust.relevance + 0.25 * trust.accuracy + 0.2 * trust.freshness + 0.2 * trust.utility
    assert hit.score == trust.composite == pytest.approx(parts)


def test_cortex_suppression(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """What was of no help for a question is not given to such questions for 90 days."""
    engram = opens("cortex")
    fact = engram.remember(FACT)
    engram.feedback(fact.id, helpful=False, query="which tokens does the harbour API use?")

    def is_found() -> bool:
        hits = engram.recall("which tokens does the harbour API use?").hits
        return fact.id in {hit.memory.id for hit in hits}

    assert not is_found()
    clock.advance(days=89)
    assert not is_found()
    clock.advance(days=2)
    assert is_found()


# --- beliefs ------------------------------------------------------------------------------------------------


def test_beliefs(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """
    Confidence that halves.

    A new belief has 0.6 · a repetition adds 0.1 and makes it young · half after 30 days times stability ·
    every spaced read adds 0.1 of stability, up to 5 after 40 · asked about while stale, below 0.10 · pruned
    below 0.05, after 107.5 days at stability 1.
    """
    engram = opens("beliefs")
    belief = engram.remember(FACT)
    repeated = engram.remember("Nadia plays the oboe")
    assert belief.confidence == pytest.approx(0.6)

    clock.set(BORN + days(30))
    assert outlook(engram, belief).retention == pytest.approx(0.3)
    again = engram.remember("Nadia plays the oboe")
    assert again.id == repeated.id
    assert again.confidence == pytest.approx(0.7)
    assert outlook(engram, again).retention == pytest.approx(0.7)

    asked_on = None
    while not engram.get(belief.id).status.is_terminal:
        clock.advance(days=1)
        if engram.age().asked:
            asked_on = (clock.now() - BORN).days
    assert (clock.now() - BORN).days == math.ceil(30 * math.log2(0.6 / 0.05)) == 108
    assert engram.get(belief.id).status is Status.PRUNED
    assert asked_on == 94, "two weeks before, when it is below 0.10: 77.5 days and later"
    assert 0.6 * 0.5 ** (94 / 30) < 0.10


def test_beliefs_reads(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """0.1 of stability for each read, 5.0 after forty; the half-life follows."""
    engram = opens("beliefs")
    belief = engram.remember(FACT)
    grown = []
    for _ in range(42):
        engram.recall("harbour office API tokens", limit=1)
        engram.flush()
        grown.append(engram.get(belief.id).stability)
        clock.advance(hours=2)

    assert grown[0] == pytest.approx(1.1)
    assert grown[19] == pytest.approx(3.0)
    assert grown[38:] == pytest.approx([4.9, 5.0, 5.0, 5.0])
    clock.set(BORN + days(150))
    assert outlook(engram, belief).retention == pytest.approx(0.3)


def test_beliefs_score(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """0.50 meaning, 0.20 importance, 0.10 recency, 0.05 stability of five, 0.15 subject."""
    engram = opens("beliefs")
    engram.remember(FACT, importance=0.8)
    clock.advance(days=10)

    (hit,) = engram.recall(FACT).hits

    expected = 0.5 * hit.trust.relevance + 0.2 * 0.8 + 0.1 * math.exp(-0.023 * 10) + 0.05 * (1 / 5)
    assert hit.score in (pytest.approx(expected), pytest.approx(expected + 0.15))


# --- tiered -------------------------------------------------------------------------------------------------


def test_tiered(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """
    The score and its tiers.

    Strength begins at 7 of 10 · a preference 0.85, a fact 0.5 · λ 0.01 a day, half in 69 days · 0.3 over the
    days since a recall · hot 0.7, warm 0.4, cold 0.15 · a fact is evicted after 121 days, asked about first.
    """
    engram = opens("tiered")
    taste = engram.remember("Ida prefers tea", category="preference")
    fact = engram.remember(FACT)
    used = engram.remember("The red kettle stands in the galley")
    assert fact.importance == pytest.approx(0.7)
    assert outlook(engram, taste).tier is Tier.HOT
    assert outlook(engram, fact).tier is Tier.WARM

    clock.set(BORN + days(math.log(2) / 0.01))
    assert outlook(engram, taste).retention == pytest.approx(0.425)
    clock.set(BORN + days(100))
    engram.recall("where does the red kettle stand?", limit=1)
    clock.set(BORN + days(101))
    boosted = outlook(engram, used).retention
    assert boosted == pytest.approx(0.52 * math.exp(-1.01) + 0.3, abs=1e-3)
    assert outlook(engram, fact).tier is Tier.COLD

    assert sweep_daily(engram, clock, fact, most=200) == 121
    assert engram.get(fact.id).status is Status.ARCHIVED
    assert engram.get(used.id).status is Status.ACTIVE
    assert engram.history(fact.id)[-1].reason == "evicted"


def test_tiered_versions(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """Sharing more than 0.7 of its words it is a new version; the old one leaves after 90 days."""
    engram = opens("tiered")
    old = engram.remember("The freezer in the harbour lab is set to minus twenty by Ines each Monday")
    other = engram.remember("The kettle is broken")
    clock.advance(days=1)
    new = engram.remember("The freezer in the harbour lab is set to minus twenty by Ines each Friday")

    assert (new.version, new.supersedes) == (2, old.id)
    assert engram.get(old.id).status is Status.SUPERSEDED
    assert engram.get(other.id).version == 1
    clock.advance(days=90)
    engram.age()
    assert engram.get(old.id).status is Status.SUPERSEDED
    clock.advance(days=1)
    engram.age()
    assert engram.get(old.id).status is Status.ARCHIVED


def test_tiered_eviction(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """At most 50 a sweep, the lowest first; observations below 3 of 10 leave after 90 days by themselves."""
    engram = opens("tiered")
    low = heard(engram, "We saw two herons", importance=0.29, kind=Kind.EPISODE)
    enough = heard(engram, "We saw two cranes", importance=0.3, kind=Kind.EPISODE)
    many = engram.remember_many(
        [
            Draft(
                content=f"gull{number} met heron{number} on pole{number}", kind=Kind.EPISODE, extractor="h-1"
            )
            for number in range(60)
        ]
    )
    clock.set(BORN + days(91))
    assert engram.age().by_rule == {"low_value": 1}
    assert engram.get(low.id).status is Status.ARCHIVED

    clock.set(BORN + days(121))
    assert engram.age().by_rule == {"evicted": 50}
    clock.set(BORN + days(122))
    assert engram.age().by_rule == {"evicted": 11}
    assert {engram.get(one.id).status for one in (*many, enough)} == {Status.ARCHIVED}


def test_tiered_sessions_and_dates(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """A session is stale after 30 days and told before its episodes leave; a date of one's own is kept."""
    engram = opens("tiered")
    trial = engram.remember("The trial key works", forget_after=BORN + days(14))
    for text in ("We saw two herons.", "We walked to the pier.", "I lost my cap.", "It rained at noon."):
        engram.observe(text, session="s1")
    engram.flush()
    clock.set(BORN + days(14))
    engram.age()
    assert engram.get(trial.id).status is Status.FORGOTTEN
    clock.set(BORN + days(30))
    assert "stale_session" not in engram.age().by_rule
    clock.set(BORN + days(31))
    assert engram.age().by_rule["stale_session"] >= 1
    (summary,) = [one for one in engram.list() if one.is_session_summary]
    assert "herons" in summary.content


def test_tiered_crystals(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """Finished work is told a week later, with lessons of confidence 0.6; a crystal does not decay."""
    engram = opens("tiered")
    ends = {TaskOutcome.FAILED: "the lock timed out", TaskOutcome.DONE: "ran it at night"}
    for outcome, result in ends.items():
        engram.capture.task_result("Migrate the database", result, outcome=outcome, session="s1")
        clock.advance(hours=1)
    clock.advance(days=6)
    engram.dream()
    assert derived(engram, "crystals") == []
    clock.advance(days=2)
    engram.dream()
    (crystal,) = derived(engram, "crystals")
    (lesson,) = derived(engram, "lessons")
    assert (crystal.confidence, lesson.confidence) == (0.6, 0.6)
    for _ in range(12):
        clock.advance(days=60)
        engram.age()

    assert engram.get(crystal.id).status is Status.ACTIVE
    assert engram.get(lesson.id).status is Status.ARCHIVED


def derived(engram: Engram, step: str) -> list[Memory]:
    """What a step of the dream has stated."""
    return [one for one in engram.list(limit=100) if (one.extractor or "").startswith(f"dream.{step}")]


def test_tiered_project_limit(opens: Callable[..., Engram]) -> None:
    """A project holds ten thousand observations; beyond, the least important leave."""
    engram = opens("tiered")
    many = [
        stated(content=f"gull {number}", kind=Kind.EPISODE, importance=number / 20_000)
        for number in range(10_003)
    ]
    keep(engram, *many)

    report = engram.age()

    assert report.by_rule == {"crowded_out": 3}
    assert [engram.get(one.id).status for one in many[:4]] == [Status.ARCHIVED] * 3 + [Status.ACTIVE]


# --- balanced -----------------------------------------------------------------------------------------------


def test_balanced(opens: Callable[..., Engram], clock: ManualClock) -> None:
    """
    The careful side of each.

    Confidence below 0.40 for 30 days · a promise 90 days after its day, without a day never · what was heard
    and happened fades in 54 days, what somebody stated stays · knowledge that was heard is asked about after
    527 days and leaves after 541.
    """
    engram = opens("balanced")
    guess = engram.remember("Rosa may be left-handed", confidence=0.39)
    dated = engram.remember("I promised Ida a chair by 1 March 2026")
    open_ = engram.remember("I promised Leo a lamp")
    event = heard(engram, EVENT, importance=0.2)
    stated = engram.remember("We repainted the pier", importance=0.1)
    fact = heard(engram, FACT, importance=0.2)

    left = {one.id: sweep_daily(engram, clock, one, most=600) for one in (guess, event, dated, fact)}

    assert left[guess.id] == 31
    assert left[event.id] == 55
    assert left[dated.id] == (31 + 28 + 1) + 90 + 1
    assert left[fact.id] == 541
    assert engram.get(open_.id).status is Status.ACTIVE
    assert engram.get(stated.id).status is Status.ACTIVE
