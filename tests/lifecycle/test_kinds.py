"""What a memory is decides whether it fades: never, not before its day, slowly, or like anything else."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Draft
from engramdb.lifecycle.rules import STAYS, judge
from engramdb.policy import PRESETS, Policy
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.text.guarded import is_of_health
from engramdb.text.statements import sort_statement
from engramdb.values import GapKind, Layer, Memory, Provenance, SecurityTier, Source, Status
from engramdb.values.memory import Moment, Voice
from engramdb.values.population import Population, population_of, to_microseconds
from engramdb.values.reading import Force, Lasting

from .made import BORN, aroused, days, extracted, keep, leaves, left, open_aging, promised, stated

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram

EVERY_PRESET = pytest.mark.parametrize("preset", list(PRESETS))

UNFADING = (
    "My passport expires on 3 March 2031",
    "Our wedding anniversary is on June 12",
    "The combination of the safe is 12-34-56",
    "Our AWS account id is 123456789012",
    "I had my appendix out in 2019",
    "Giulia takes levothyroxine before breakfast",
    "My sister Ana was born in 1988",
    "The car insurance renews every March",
)
"""Permanent, yearly, or due in years."""
DUE = "The grant report for the foundation is due in December 2027"
PROMISE = "I promised Tom I'd be his best man"
KNOWLEDGE = "The API uses JWT tokens"


# --- through the engine -------------------------------------------------------------------------------------


@EVERY_PRESET
def test_what_matters_for_ever_is_there_after_two_years(
    preset: str, store_path: Path, clock: ManualClock
) -> None:
    """Asked to remember or heard in talk, never recalled, with a sweep and now and then a dream a month."""
    clock.set(BORN)
    with open_aging(store_path, clock, preset) as engram:
        for text in (*UNFADING, DUE):
            engram.remember(text, importance=0.1)
        for text in ("My blood type is 0 negative", "Leo's birthday is on 9 May"):
            engram.observe(text, session="s1")
        engram.flush()
        live(engram, clock, months=23)

        here = {one.content for one in engram.list(limit=100, reveal=True)}

        assert set(UNFADING) | {DUE} <= here
        assert {"My blood type is 0 negative", "Leo's birthday is on 9 May"} <= here


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "notebook"])
def test_a_promise_without_a_date_waits(preset: str, store_path: Path, clock: ManualClock) -> None:
    """It is not over because nobody spoke of it; in `notebook` it is, after ninety days."""
    clock.set(BORN)
    with open_aging(store_path, clock, preset) as engram:
        promise = engram.remember(PROMISE, importance=0.1)
        live(engram, clock, months=12)

        assert (promise.category, engram.get(promise.id).status) == ("commitment", Status.ACTIVE)


@pytest.mark.parametrize("preset", ["balanced", "layered"])
def test_knowledge_heard_in_passing_is_there_after_a_year(
    preset: str, store_path: Path, clock: ManualClock
) -> None:
    """How something is built is filed as knowledge, and knowledge does not leave after a season."""
    clock.set(BORN)
    with open_aging(store_path, clock, preset) as engram:
        engram.observe(f"{KNOWLEDGE}.", session="s1")
        engram.flush()
        live(engram, clock, months=12)

        (hit, *_) = engram.recall("what does the API use for tokens?").hits

        assert hit.memory.content == KNOWLEDGE


def test_a_plan_becomes_past_and_then_fades(store_path: Path, clock: ManualClock) -> None:
    """Up to its day it is whole; it is there for weeks after, and gone in the end."""
    clock.set(BORN)
    with open_aging(store_path, clock, "balanced") as engram:
        plan = extracted(
            lasting=Lasting.DATED, importance=0.2, moments=(until(BORN + days(200)),), layer=Layer.SEMANTIC
        )
        keep(engram, plan)
        alive = []
        for _ in range(40):
            clock.advance(days=30)
            engram.age()
            alive.append(engram.get(plan.id).status is Status.ACTIVE)

        last = 30 * sum(alive)
        assert alive == sorted(alive, reverse=True)
        assert 200 + 30 < last < 200 + 90


def test_what_an_assistant_happened_to_say_passes() -> None:
    """Its words fade like talk, unasked; what a person says stays, and so does what it was told to keep."""
    balanced = PRESETS["balanced"].aging
    by_assistant = Provenance(source=Source.ASSISTANT)

    assert leaves(known(provenance=by_assistant), balanced, days(31)) == "faded"
    assert leaves(known(), balanced, days(400)) is None
    assert leaves(known(provenance=by_assistant, extractor=None), balanced, days(400)) is None
    assert leaves(known(provenance=by_assistant, lasting=Lasting.PERMANENT), balanced, days(400)) is None


def test_a_guess_and_a_quotation_are_no_knowledge_however_stable_they_sound() -> None:
    """They are filed as episodes, and fade as such."""
    balanced = PRESETS["balanced"].aging

    assert leaves(known(layer=Layer.EPISODIC), balanced, days(55)) == "faded"
    assert left(known(), balanced, 55) > 0.5


def test_surprise_wears_off() -> None:
    """Small talk is not important for ever because it was the first of its kind."""
    balanced = PRESETS["balanced"].aging
    chatter = known(lasting=Lasting.PASSING, layer=Layer.EPISODIC, importance=0.6)

    assert leaves(chatter, balanced, days(55)) == "faded"
    assert leaves(chatter.evolve(importance=0.95), balanced, days(55)) is None


def test_a_plan_is_shown_as_past_once_its_day_is_over(engram: Engram, clock: ManualClock) -> None:
    """It is still found, and says that it is past; what merely happened is no plan."""
    clock.set(BORN)
    engram.remember("We fly to Lisbon on 3 March 2026")
    engram.remember("Oda moved to Lisbon in 2019")

    before = {hit.memory.content[:3]: hit.is_past for hit in engram.recall("Lisbon").hits}
    clock.advance(days=90)
    after = {hit.memory.content[:3]: hit.is_past for hit in engram.recall("Lisbon").hits}

    assert before == {"We ": False, "Oda": False}
    assert after == {"We ": True, "Oda": False}


@EVERY_PRESET
def test_the_day_itself_is_not_too_late(preset: str) -> None:
    """A memory is as whole on its last day as on its first."""
    plan = extracted(lasting=Lasting.DATED, moments=(until(BORN + days(500)),), importance=0.1)
    policy = PRESETS[preset].aging

    assert left(plan, policy, 500) == left(plan, policy, 0)
    assert leaves(plan, policy, days(500)) is None


def live(engram: Engram, clock: ManualClock, *, months: int) -> None:
    """Let months pass, with a sweep in each and a dream in every fourth."""
    for month in range(months):
        clock.advance(days=30)
        engram.age()
        if month % 4 == 3:
            engram.dream()


# --- asking before knowledge goes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "leaves_after"), [("balanced", 541), ("cortex", 130), ("beliefs", 108), ("tiered", 121)]
)
def test_knowledge_is_asked_about_before_it_goes(
    preset: str, leaves_after: int, store_path: Path, clock: ManualClock
) -> None:
    """Two weeks ahead, so that it leaves when the rule says, and not before somebody could have answered."""
    clock.set(BORN)
    with open_aging(store_path, clock, preset) as engram:
        fact = known()
        keep(engram, fact)
        asked, gone = None, None
        for day in range(1, 600):
            clock.set(BORN + days(day))
            report = engram.age()
            if report.asked:
                assert asked is None
                asked = day
            if engram.get(fact.id).status is not Status.ACTIVE:
                gone = day
                break

        assert (asked, gone) == (leaves_after - 14, leaves_after)


def test_one_late_sweep_asks_and_takes_nothing(store_path: Path, clock: ManualClock) -> None:
    """Who was away for years is asked first; the question is there, and the memory with it."""
    clock.set(BORN)
    with open_aging(store_path, clock, "beliefs") as engram:
        fact = known()
        keep(engram, fact)
        clock.advance(days=1000)
        told = engram.age(dry_run=True)
        report = engram.age()

        (gap,) = engram.gaps()
        assert (told.asked, report.asked, report.by_rule) == (1, 1, {})
        assert (gap.kind, gap.memories) == (GapKind.STALE, (fact.id,))
        assert engram.get(fact.id).status is Status.ACTIVE

        clock.advance(days=13)
        assert engram.age().by_rule == {}
        clock.advance(days=1)
        assert engram.age().by_rule == {"decayed": 1}


@pytest.mark.parametrize(
    ("answer", "status"), [("yes", Status.ACTIVE), ("no", Status.INVALIDATED), ("not now", Status.ACTIVE)]
)
def test_an_answer_decides(answer: str, status: Status, store_path: Path, clock: ManualClock) -> None:
    """Yes keeps it for another life, no ends it, and one that is put off waits for its time."""
    clock.set(BORN)
    with open_aging(store_path, clock, "beliefs") as engram:
        fact = known()
        keep(engram, fact)
        clock.advance(days=200)
        engram.age()
        (gap,) = engram.gaps()

        engram.answer(gap.id, answer)
        clock.advance(days=14)
        engram.age()

        assert engram.get(fact.id).status is status


def test_a_sweep_asks_about_twenty_the_most_faded_first(store_path: Path, clock: ManualClock) -> None:
    """Nobody answers a hundred questions at once; those that are not asked about stay meanwhile."""
    clock.set(BORN)
    with open_aging(store_path, clock, "beliefs") as engram:
        facts = [known(content=f"fact {number}", confidence=0.5 + number / 200) for number in range(50)]
        keep(engram, *facts)
        clock.advance(days=400)

        reports = []
        for _ in range(4):
            reports.append(engram.age())
            clock.advance(days=14)
        here = {one.id for one in engram.list(limit=100)}

        assert [(one.asked, one.by_rule) for one in reports] == [
            (20, {}),
            (20, {"decayed": 20}),
            (10, {"decayed": 20}),
            (0, {"decayed": 10}),
        ]
        assert here == set()


def test_the_forecast_reckons_with_the_question(store_path: Path, clock: ManualClock) -> None:
    """What could leave at once is foreseen to leave when there was time for an answer."""
    clock.set(BORN)
    with open_aging(store_path, clock, "beliefs") as engram:
        fact = known()
        keep(engram, fact)
        early = engram.forecast(fact.id, days=400).soonest[0].leaves
        clock.advance(days=300)
        late = engram.forecast(fact.id, days=400).soonest[0].leaves
        engram.age()
        clock.advance(days=5)
        asked = engram.forecast(fact.id, days=400).soonest[0].leaves

        assert early is not None
        assert late is not None
        assert abs(early.at - (BORN + days(30 * math.log2(12)))) < timedelta(seconds=1)
        assert late.at == BORN + days(314)
        assert asked is not None
        assert asked.at == BORN + days(314)


def known(**fields: object) -> Memory:
    """Knowledge that was read out of talk and holds until something replaces it."""
    return extracted(
        **{"lasting": Lasting.STABLE, "layer": Layer.SEMANTIC, "confidence": 0.6, "importance": 0.1, **fields}
    )


# --- which kinds there are ----------------------------------------------------------------------------------

SPARED = {
    "permanent": {"lasting": Lasting.PERMANENT},
    "a secret": {"security": SecurityTier.CONFIDENTIAL, "lasting": Lasting.PASSING},
    "a rule": {"force": Force.RULE},
    "an instruction": {"category": "instruction"},
    "a crystal": {"extractor": "dream.crystals/1"},
    "a profile": {"extractor": "dream.profiles/1:tag"},
    "pinned": {"pinned": True},
}
NOT_SPARED = {
    "a quotation": {"lasting": Lasting.PERMANENT, "force": Force.QUOTED},
    "a supposition": {"lasting": Lasting.PERMANENT, "force": Force.HYPOTHETICAL},
    "pasted": {"lasting": Lasting.PERMANENT, "provenance": Provenance(voice=Voice.PASTED)},
    "a rule of a page": {"force": Force.RULE, "provenance": Provenance(source=Source.INGEST)},
    "passing": {"lasting": Lasting.PASSING},
}


@EVERY_PRESET
@pytest.mark.parametrize("fields", SPARED.values(), ids=list(SPARED))
def test_some_kinds_never_fade(preset: str, fields: dict[str, object]) -> None:
    """After ten years as after a day, however unimportant."""
    memory, policy = extracted(**{"importance": 0.0, "confidence": 0.6, **fields}), PRESETS[preset].aging

    assert leaves(memory, policy, days(3650)) is None
    if not memory.pinned:
        assert left(memory, policy, 3650) == left(memory, policy, 0)


@EVERY_PRESET
@pytest.mark.parametrize("fields", NOT_SPARED.values(), ids=list(NOT_SPARED))
def test_others_only_sound_like_it(preset: str, fields: dict[str, object]) -> None:
    """What somebody else said, or nobody meant, fades like anything else."""
    memory, policy = extracted(**{"importance": 0.0, "confidence": 0.6, **fields}), PRESETS[preset].aging
    verdicts = judge(population_of([memory]), policy, to_microseconds(BORN + days(3650)))

    assert verdicts.leaving[0] != STAYS or any(due[0] for due in verdicts.due.values())


def test_a_guess_has_to_be_confirmed_whatever_it_is_about() -> None:
    """A doubtful blood group is no blood group; a doubtful date waits for its day."""
    group = stated(confidence=0.3, lasting=Lasting.PERMANENT, force=Force.HEDGED)
    day = promised(confidence=0.3, day=100)
    policy = PRESETS["notebook"].aging

    assert leaves(group, policy, days(31)) == "speculative"
    assert leaves(day, policy, days(130)) is None
    assert leaves(day, policy, days(131)) == "speculative"


def test_a_date_of_the_users_own_counts_for_more_than_the_kind() -> None:
    """Who says when something may go has thought of what it is."""
    lent = stated(lasting=Lasting.PERMANENT, forget_after=BORN + days(7))

    assert {leaves(lent, policy.aging, days(8)) for policy in PRESETS.values()} == {"forget_after"}


# --- by the words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to penicillin",
        "Marcus has type 1 diabetes",
        "my mother had a stroke in 2021",
        "ich bin gegen Nüsse allergisch",
        "je suis enceinte de quatre mois",
        "soy diabético desde niño",
        "ho un'intolleranza al lattosio",
        "我对花生过敏",
        "私はそばアレルギーです",
    ],
)
def test_health_is_known_by_its_words(text: str) -> None:
    """In every language that has a list of them."""
    assert is_of_health(text)
    assert sort_statement(text, now=BORN).lasting is Lasting.PERMANENT


@pytest.mark.parametrize(
    "text",
    [
        "We diagnosed the outage: the pool was empty",
        "The flag is disabled by default",
        "See appendix B of the report",
        "The function returns a promise",
        "The build has a chronic problem with caching",
    ],
)
def test_work_is_no_illness(text: str) -> None:
    """The same words about machines say nothing about anybody's health, and promise nothing."""
    sort = sort_statement(text, now=BORN)

    assert not is_of_health(text)
    assert (sort.lasting, sort.category == "commitment") == (Lasting.STABLE, False)


def test_a_reader_that_finds_an_allergy_passing_is_not_believed(engram: Engram) -> None:
    """Nor one that finds a birthday stable; who states it outright is."""
    heard, said = engram.remember_many(
        [
            Draft(content="Marcus is allergic to nuts", lasting=Lasting.PASSING, extractor="pack-2"),
            Draft(content="Marta is allergic to cats", lasting=Lasting.PASSING),
        ]
    )

    assert (heard.lasting, said.lasting) == (Lasting.PERMANENT, Lasting.PASSING)


# --- laws ---------------------------------------------------------------------------------------------------

shares = st.floats(0, 1)
lastings = st.sampled_from([None, *Lasting])


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """A memory of any kind that names up to three times, some of them far ahead."""
    ahead = draw(st.lists(st.integers(-400, 2000), max_size=3))
    return stated(
        content="a statement",
        extractor=draw(st.sampled_from([None, "heuristic-1", "session-1", "dream.crystals/1"])),
        layer=draw(st.sampled_from(Layer)),
        category=draw(st.sampled_from(["fact", "commitment", "moment", "instruction", "preference"])),
        force=draw(st.sampled_from(Force)),
        lasting=draw(lastings),
        security=draw(st.sampled_from(SecurityTier)),
        confidence=draw(shares),
        importance=draw(shares),
        strength=draw(shares),
        affect=aroused(draw(shares)),
        provenance=Provenance(source=draw(st.sampled_from(Source)), voice=draw(st.sampled_from(Voice))),
        moments=tuple(until(BORN + days(number)) for number in ahead),
        occurred_at=draw(st.sampled_from([None, BORN - days(3), BORN + days(700)])),
        valid_to=draw(st.sampled_from([None, BORN + days(900)])),
    )


@pytest.mark.parametrize(
    ("text", "lasting"),
    [
        ("my library card is number 2 0417 33 919", Lasting.PERMANENT),
        ("the padlock on the shed opens with 7-3-0-9", Lasting.PERMANENT),
        ("the VIN of the van ends in 4K7731", Lasting.PERMANENT),
        ("the spare key to the cabin hangs under the step", Lasting.PERMANENT),
        ("I studied hydrology in Trondheim", Lasting.PERMANENT),
        ("she has a degree in law", Lasting.PERMANENT),
        ("the lock is 3 years old", Lasting.STABLE),
        ("I studied the logs in detail", Lasting.STABLE),
        ("we meet in room number 4", Lasting.STABLE),
    ],
)
def test_numbers_keys_and_where_somebody_comes_from_do_not_fade(text: str, lasting: Lasting) -> None:
    """What somebody needs again in years, and not whatever sounds like it."""
    assert sort_statement(text, now=BORN).lasting is lasting


def until(end: datetime) -> Moment:
    """A day that ends then."""
    return Moment(words="then", start=end - timedelta(days=1), end=end)


@given(memory=memories(), policy=st.sampled_from(list(PRESETS.values())), after=st.integers(0, 4000))
def test_nothing_leaves_before_its_day_and_some_never(memory: Memory, policy: Policy, after: int) -> None:
    """By no rule of any preset, at no time, unless it has a date of its own or nobody ever believed it."""
    verdicts = judge(population_of([memory]), policy.aging, to_microseconds(BORN + days(after)))
    place = int(verdicts.leaving[0])
    wanted = {name for name, due in verdicts.due.items() if due[0]}
    wanted |= set() if place == STAYS else {verdicts.rules[place].name}

    if memory.due_at is not None and memory.due_at > BORN + days(after):
        assert wanted == set()
    if memory.endures:
        assert wanted <= {"speculative"}


@settings(max_examples=40)
@given(some=st.lists(memories(), min_size=1, max_size=8))
def test_the_store_knows_the_same_of_a_memory_as_the_memory_itself(
    some: list[Memory], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its columns are those that are made of the memory, whichever way they are read."""
    store = SqliteStore.open(str(tmp_path_factory.mktemp("s") / "m.db"), now=BORN, is_durable=False)
    with store.atomic() as tx:
        for number, one in enumerate(some):
            tx.memories.add(one.evolve(id=f"{one.id[:-2]}{number:02d}"), fingerprint=bytes([number]))
    with store.read() as tx:
        read = tx.ages.page(after_key=0, limit=100)
    store.close()

    made = population_of(some)
    for name in ("due", "lastings", "enduring", "summaries", "derived", "extracted"):
        assert np.array_equal(getattr(read, name), getattr(made, name)), name
    assert set(Population.__struct_fields__) == set(made.__struct_fields__)


@settings(max_examples=12)
@given(
    preset=st.sampled_from(list(PRESETS)),
    day=st.dates(date(2026, 3, 1), date(2029, 1, 1)),
    frame=st.sampled_from(
        [
            "The contract with the caterer ends on {}",
            "the permit for the shed is due on {}",
            "We fly to Lisbon on {}",
            "My driving licence has to be renewed by {}",
        ]
    ),
    is_heard=st.booleans(),
)
def test_what_has_a_date_is_there_until_it_comes(
    preset: str, day: date, frame: str, is_heard: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Told in words, on any day, and swept every seven weeks up to the very day."""
    clock = ManualClock(BORN)
    text = frame.format(f"{day:%d %B %Y}".lstrip("0"))
    with open_aging(tmp_path_factory.mktemp("d") / "m.db", clock, preset) as engram:
        if is_heard:
            engram.observe(text, session="s1")
        else:
            engram.remember(text, importance=0.05)
        engram.flush()
        last = datetime.combine(day, datetime.min.time(), UTC)
        while clock.now() < last:
            clock.set(min(last, clock.now() + days(49)))
            engram.age()

        assert [one.content for one in engram.list(limit=10)] == [text]
