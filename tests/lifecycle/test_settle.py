"""What a new statement does to what is known: reinforce, replace, weaken, or stand beside it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engramdb.lifecycle.candidates import candidate
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.pair_rules import conflict, understood
from engramdb.lifecycle.settle import MAX_RETIRED, Neighbor, Settlement, Verdict, settle, surprise
from engramdb.models.calibration import Likeness
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.policy import CapturePolicy, choose
from engramdb.testing import ManualClock
from engramdb.values import Kind, Memory, Provenance, Source
from engramdb.values.reading import Force, PairJudgment, PairRelation

LIKENESS = Likeness(StatementEmbedder(StaticEmbedder()))
POLICY = CapturePolicy()


def statement(content: str, *, kind: Kind = Kind.NOTE) -> Memory:
    """A statement of Ann's, as the write pipeline reads it."""
    draft = Draft(content=content, kind=kind, provenance=Provenance(speaker="Ann"))
    return candidate(draft, POLICY, now=ManualClock().now()).memory


def memory(content: str, *, stated: int = 1, kind: Kind = Kind.NOTE) -> Memory:
    """A memory of Ann's, stated so many times."""
    return statement(content, kind=kind).evolve(reinforcements=stated - 1)


def verdict(new: str, old: str, *, alike: float, stated: int = 1, policy: CapturePolicy = POLICY) -> Verdict:
    """What becomes of a new statement beside an old one that is so much alike."""
    near = [Neighbor(memory(old, stated=stated), alike)]
    return outcome(settle(statement(new), near, policy, likeness=LIKENESS))


def outcome(settlement: Settlement) -> Verdict:
    """What a statement does to the one memory beside it, or else what becomes of the statement."""
    return settlement.effects[0].verdict if settlement.effects else settlement.verdict


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ann lives in Paris", "Ann lives in Berlin"),
        ("Ann moved to Paris", "Ann lives in Berlin"),
        ("Ann switched from vim to Helix", "Ann uses vim"),
        ("Ann switched to Helix", "Ann uses vim"),
        ("Ann no longer uses vim", "Ann uses vim"),
        ("Ann does not eat meat", "Ann eats meat"),
        ("Ann works at Bosch", "Ann works at Siemens"),
        ("The retry limit is 7", "The retry limit is 5"),
        ("The limit is 200 requests per minute", "The limit is 100 requests per minute"),
        ("My shell is fish", "My shell is zsh"),
        ("I prefer spaces over tabs", "I prefer tabs over spaces"),
    ],
)
def test_true_contradictions_replace_what_was_known(new: str, old: str) -> None:
    """A statement that cannot hold beside an old one takes its place."""
    assert verdict(new, old, alike=0.8) is Verdict.SUPERSEDE


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ann uses React", "Ann uses Rust"),
        ("Ann likes coffee", "Ann likes tea"),
        ("Ann speaks French", "Ann speaks German"),
        ("Bob lives in Paris", "Ann lives in Berlin"),
        ("Ann has a dog", "Ann has a cat"),
        ("Ann does not like coffee", "Ann does not like tea"),
        ("Ann visited Paris", "Ann visited Berlin"),
        ("note 8", "note 7"),
        ("note 1 of 3", "note 3 of 1"),
        ("after the fork", "before the fork"),
        ("Chapter 5 covers joins", "Chapter 4 covers joins"),
        ("Room 102 is booked for Ann", "Room 101 is booked for Ann"),
        ("I drink tea before coffee and water", "I drink coffee before lunch"),
    ],
)
def test_false_contradictions_stand_side_by_side(new: str, old: str) -> None:
    """Two statements that sound alike and may both be true both live, however alike they are."""
    assert verdict(new, old, alike=0.8) is Verdict.CREATE
    assert verdict(new, old, alike=0.95) is Verdict.CREATE


def test_things_that_happened_do_not_contradict_one_another() -> None:
    """Version 2.1 was deployed, and version 2.2 was deployed too."""
    new, old = (
        memory("Deployed version 2.2", kind=Kind.EPISODE),
        memory("Deployed version 2.1", kind=Kind.EPISODE),
    )

    assert conflict(understood(new), understood(old)) is None


def test_an_ambiguous_case_is_left_to_both() -> None:
    """Where words do not decide, nothing is thrown away."""
    assert verdict("Ann is tired", "Ann is happy", alike=0.8) is Verdict.CREATE


@pytest.mark.parametrize(
    ("alike", "expected"), [(0.85, Verdict.CREATE), (0.8501, Verdict.REINFORCE), (1.0, Verdict.REINFORCE)]
)
def test_only_above_the_upper_edge_two_statements_say_the_same(alike: float, expected: Verdict) -> None:
    """0.85 is still apart, anything above it is the same."""
    assert verdict("Ann prefers tea", "Ann prefers tea indeed", alike=alike) is expected


@pytest.mark.parametrize(("alike", "expected"), [(0.70, Verdict.CREATE), (0.7001, Verdict.SUPERSEDE)])
def test_only_above_the_lower_edge_a_contradiction_is_looked_for(alike: float, expected: Verdict) -> None:
    """0.70 is too far apart, anything above it is checked."""
    assert verdict("Ann does not eat meat", "Ann eats meat", alike=alike) is expected


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Felix has a job at Westmoor", "Felix works at Umbra Labs"),
        ("The deadline of Juniper is 23 January", "Juniper's deadline is 15 November"),
        ("Saffron has to ship on 3 July", "Saffron is due on 20 January"),
        ("Felix celebrates a birthday on 11 June", "Felix's birthday is on 24 February"),
    ],
)
def test_what_can_have_one_value_needs_no_likeness(new: str, old: str) -> None:
    """However differently it is said, the same place is filled anew."""
    assert verdict(new, old, alike=0.3) is Verdict.SUPERSEDE


def test_a_named_change_needs_no_likeness() -> None:
    """Moving to Paris ends living in Berlin, however different the words are."""
    assert verdict("Ann moved to Paris", "Ann lives in Berlin", alike=0.3) is Verdict.SUPERSEDE


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("Ann lives in Paris", "Ann lives in Berlin and works at Bosch", Verdict.CHALLENGE),
        ("I live in Paris", "I live in Berlin and work as a nurse", Verdict.CHALLENGE),
        ("I moved to Paris", "I live in Berlin, but I grew up in Rome", Verdict.CHALLENGE),
        ("Ann moved to Paris and works at Siemens", "Ann lives in Berlin", Verdict.SUPERSEDE),
        (
            "Ann lives in Paris and works at Bosch",
            "Ann lives in Berlin and works at Bosch",
            Verdict.SUPERSEDE,
        ),
        ("Ann lives in Berlin and works at Bosch", "Ann lives in Berlin", Verdict.CREATE),
        ("Ann lives in Berlin", "Ann lives in Berlin and works at Bosch", Verdict.REINFORCE),
    ],
)
def test_what_only_one_of_two_statements_says_does_not_go_with_the_other(
    new: str, old: str, expected: Verdict
) -> None:
    """News of her home does not take her workplace away, nor is a workplace lost in a home that is known."""
    assert verdict(new, old, alike=0.8) is expected


def test_an_old_statement_that_comes_in_late_keeps_what_it_alone_says() -> None:
    """Her home is known better by now, so it is marked; where she works is not, so it stays."""
    near = [Neighbor(memory("Ann lives in Paris"), 0.8)]

    whole = settle(
        statement("Ann lives in Berlin and works at Bosch"),
        near,
        POLICY,
        likeness=LIKENESS,
        is_later=lambda _: True,
    )
    single = settle(
        statement("Ann lives in Berlin"), near, POLICY, likeness=LIKENESS, is_later=lambda _: True
    )

    assert whole.verdict is Verdict.YIELD
    assert single.verdict is Verdict.PRECEDE


@pytest.mark.parametrize(("stated", "expected"), [(2, Verdict.SUPERSEDE), (3, Verdict.CHALLENGE)])
def test_what_was_stated_three_times_is_weakened_and_stays(stated: int, expected: Verdict) -> None:
    """One voice against three does not silence them."""
    assert verdict("Ann works at Bosch", "Ann works at Siemens", alike=0.8, stated=stated) is expected


def test_a_change_replaces_even_what_was_stated_often() -> None:
    """What was true for years ends when it is said to have ended."""
    assert verdict("Ann switched from vim to Helix", "Ann uses vim", alike=0.8, stated=9) is Verdict.SUPERSEDE


def test_the_notebook_leaves_conflicts_to_consolidation() -> None:
    """That preset deduplicates by fingerprint and nothing else."""
    policy = choose("notebook").capture

    assert verdict("Ann lives in Paris", "Ann lives in Berlin", alike=0.9, policy=policy) is Verdict.CREATE


def test_the_tiered_preset_makes_a_new_version_of_a_near_repetition() -> None:
    """More than seven tenths of the words in common make a version."""
    policy = choose("tiered").capture
    new = "The deployment runs every Thursday at noon on staging"
    old = "The deployment runs every Thursday at noon on production"

    assert verdict(new, old, alike=0.6, policy=policy) is Verdict.SUPERSEDE


def judged(new: Memory, old: Memory, relation: PairRelation, *, alike: float = 0.75) -> Settlement:
    """Settle a statement against a memory that a judge has looked at beside it."""
    judgment = PairJudgment.certain(relation, by="a judge", is_harmless=relation is PairRelation.RELATED)
    return settle(new, [Neighbor(old, alike, judgment)], POLICY, likeness=LIKENESS)


def test_a_small_network_needs_a_second_witness() -> None:
    """Alone it leaves a doubt; with words that swap a value as a change it retires."""
    sure = replace(
        PairJudgment.certain(PairRelation.CONFLICT, by="a network"), is_certain=False, conflict=0.96
    )
    old = memory("The team meeting is on Monday")

    for new, expected in (
        ("See you all on Tuesday then, for the team meeting", Verdict.CHALLENGE),
        ("The team meeting is on Tuesday now", Verdict.SUPERSEDE),
    ):
        near = [Neighbor(old, 0.75, sure)]
        assert outcome(settle(statement(new), near, POLICY, likeness=LIKENESS)) is expected


def test_what_the_rules_cannot_see_a_judge_may() -> None:
    """Its name is the reason that history keeps."""
    old = memory("Ann is a vegetarian")

    settlement = judged(statement("Ann had a steak and loved it"), old, PairRelation.CONFLICT)

    (effect,) = settlement.effects
    assert (effect.verdict, effect.target) == (Verdict.SUPERSEDE, old)
    assert effect.reason == "contradicted, says a judge"


def test_a_judge_recognizes_a_repetition_in_other_words() -> None:
    """No word in common is needed."""
    old = memory("Ann is a vegetarian")

    assert judged(statement("Ann lives on plants alone"), old, PairRelation.SAME).verdict is Verdict.REPEAT


def test_a_judge_keeps_the_rules_from_retiring_a_lookalike() -> None:
    """The rules see another home; the judge sees that both hold: no more than a doubt is left."""
    new, old = statement("Ann lives in Paris"), memory("Ann lives in Oslo")

    assert outcome(settle(new, [Neighbor(old, 0.9)], POLICY, likeness=LIKENESS)) is Verdict.SUPERSEDE
    assert outcome(judged(new, old, PairRelation.RELATED, alike=0.9)) is Verdict.CHALLENGE


GUARDED = (
    memory("Ann is a vegetarian").evolve(pinned=True),
    memory("Ann is allergic to meat, says her doctor"),
)


@pytest.mark.parametrize("old", GUARDED, ids=["pinned", "health"])
def test_only_a_persons_own_act_retires_what_is_guarded(old: Memory) -> None:
    """And only words that tell of a change; what was heard in conversation challenges it."""
    new = statement("Ann eats meat now")
    near = [Neighbor(old, 0.75, PairJudgment.certain(PairRelation.CONFLICT, by="a judge"))]

    heard = settle(new, near, POLICY, likeness=LIKENESS)
    asked_for = settle(new, near, POLICY, likeness=LIKENESS, is_persons_act=True)

    assert outcome(heard) is Verdict.CHALLENGE
    assert outcome(asked_for) is Verdict.SUPERSEDE
    vague = settle(statement("Ann had a steak"), near, POLICY, likeness=LIKENESS, is_persons_act=True)
    assert outcome(vague) is Verdict.CHALLENGE


def test_an_agents_denial_of_what_the_user_said_is_one() -> None:
    """It speaks of the user, who speaks of themselves; both are told, and the user is asked."""
    now = ManualClock().now()
    denied = Draft(
        content="The user is not allergic to penicillin", provenance=Provenance(source=Source.ASSISTANT)
    )
    new = candidate(denied, POLICY, now=now).memory
    near = [Neighbor(candidate(Draft(content="I am allergic to penicillin"), POLICY, now=now).memory, 0.9)]

    assert outcome(settle(new, near, POLICY, likeness=LIKENESS)) is Verdict.CHALLENGE


@pytest.mark.parametrize("source", [Source.ASSISTANT, Source.INGEST])
def test_a_weaker_source_challenges_at_most(source: Source) -> None:
    """And with a mere doubt it does nothing at all."""
    new = statement("Ann had a steak and loved it").evolve(provenance=Provenance(source=source))
    old = memory("Ann is a vegetarian")
    sure = PairJudgment.certain(PairRelation.CONFLICT, by="a judge")

    assert outcome(judged(new, old, PairRelation.CONFLICT)) is Verdict.CHALLENGE
    unsure = settle(new, [Neighbor(old, 0.75, doubt(sure))], POLICY, likeness=LIKENESS)
    assert outcome(unsure) is Verdict.CREATE


def doubt(judgment: PairJudgment, *, chance: float = 0.6) -> PairJudgment:
    """A judgment of which the judge is not sure enough to act."""
    return replace(judgment, is_conflict=False, conflict=chance)


LIKELY_CHANGE = replace(
    doubt(PairJudgment.certain(PairRelation.CONFLICT, by="a network"), chance=0.9), is_certain=False
)


def test_an_agent_that_likely_reports_a_change_challenges_what_is_not_guarded() -> None:
    """It may have moved the port itself; an allergy is not its to doubt."""
    report = statement("I put the orders service on 9090").evolve(
        provenance=Provenance(source=Source.ASSISTANT)
    )
    port, allergy = memory("The orders service listens on 8080"), GUARDED[1]

    settled = {
        one.content: outcome(settle(report, [Neighbor(one, 0.6, LIKELY_CHANGE)], POLICY, likeness=LIKENESS))
        for one in (port, allergy)
    }

    assert settled == {port.content: Verdict.CHALLENGE, allergy.content: Verdict.CREATE}


@pytest.mark.parametrize(
    ("force", "chance", "expected"),
    [
        (Force.HEDGED, 0.9, Verdict.CHALLENGE),
        (Force.QUOTED, 0.9, Verdict.CHALLENGE),
        (Force.HEDGED, 0.6, Verdict.CREATE),
    ],
)
def test_what_is_not_plainly_said_makes_doubtful_where_a_judge_is_quite_sure(
    force: Force, chance: float, expected: Verdict
) -> None:
    """Outbound is the 19th, "could be worse": that tells of a change, and retires and repeats nothing."""
    new = statement("The airline rebooked us, outbound is the 19th, could be worse").evolve(force=force)
    near = [Neighbor(memory("We fly out on the 12th"), 0.6, replace(LIKELY_CHANGE, conflict=chance))]

    assert outcome(settle(new, near, POLICY, likeness=LIKENESS)) is expected


def test_another_speaker_challenges_at_most() -> None:
    """Bob's word does not end what Ann said of herself."""
    new = statement("Ann lives in Paris").evolve(provenance=Provenance(speaker="Bob"))

    assert outcome(settle(new, [Neighbor(memory("Ann lives in Oslo"), 0.9)], POLICY, likeness=LIKENESS)) in (
        Verdict.CHALLENGE,
        Verdict.CREATE,
    )


def test_a_doubt_leaves_both_and_marks_the_older_one() -> None:
    """Uncertain means that nothing is retired."""
    sure = PairJudgment.certain(PairRelation.CONFLICT, by="a judge")
    near = [Neighbor(memory("Ann is a vegetarian"), 0.75, doubt(sure))]

    settled = settle(statement("Ann had a steak and loved it"), near, POLICY, likeness=LIKENESS)

    assert (settled.verdict, outcome(settled)) == (Verdict.CREATE, Verdict.CHALLENGE)


def test_one_statement_supersedes_three_others_at_most() -> None:
    """What ends more than that is more likely misunderstood; the rest is asked about."""
    sure = PairJudgment.certain(PairRelation.CONFLICT, by="a judge")
    near = [Neighbor(memory(f"Ann has a room on floor {floor}"), 0.75, sure) for floor in range(5)]

    settled = settle(statement("Ann has left the building for good"), near, POLICY, likeness=LIKENESS)

    verdicts = [effect.verdict for effect in settled.effects]
    assert verdicts == [Verdict.SUPERSEDE] * MAX_RETIRED + [Verdict.CHALLENGE] * 2


def test_the_same_fact_in_other_words_is_recognised_by_its_relation() -> None:
    """Who moved to Paris lives in Paris, however little the sentences have in common."""
    assert verdict("Ann lives in Paris", "Ann moved to Paris", alike=0.6) is Verdict.REINFORCE


def test_links_go_to_at_most_three_neighbours_between_the_bands() -> None:
    """Too far is no neighbour, too near is the same."""
    alike = [0.39, 0.41, 0.5, 0.6, 0.7]
    near = [Neighbor(memory(f"Ann owns {word}"), value) for word, value in zip("abcde", alike, strict=True)]

    links = settle(statement("Ann owns a boat"), near, POLICY, likeness=LIKENESS).links

    assert [link.similarity for link in links] == [0.7, 0.6, 0.5]


def test_surprise_needs_five_neighbours() -> None:
    """In an almost empty store nothing is known to be new."""
    assert surprise([0.1, 0.2, 0.3, 0.4]) is None
    assert surprise([0.0] * 5) == 1.0
    assert surprise([1.0] * 5) == 0.0


@pytest.mark.parametrize(
    ("new", "old", "alike", "expected"),
    [
        ("I switched to helix", "I'm at Globex now", 0.13, Verdict.CREATE),
        ("I switched the editor to helix", "My editor is vim", 0.13, Verdict.CHALLENGE),
        ("Tove manages us", "Bea leads the team", 0.5, Verdict.CHALLENGE),
        ("since the spring my desk has been in the house across the yard", "I work in Hall 3", 0.1, None),
    ],
)
def test_a_few_words_without_one_in_common_make_nothing_doubtful(
    new: str, old: str, alike: float, expected: Verdict | None
) -> None:
    """A small network takes any change for one of anything; a chat model that is certain is believed."""
    near = [Neighbor(memory(old), alike, LIKELY_CHANGE)]
    sure = [Neighbor(memory(old), alike, PairJudgment.certain(PairRelation.CONFLICT, by="a judge"))]

    doubted = outcome(settle(statement(new), near, POLICY, likeness=LIKENESS))

    assert doubted is (expected or Verdict.CHALLENGE)
    assert outcome(settle(statement(new), sure, POLICY, likeness=LIKENESS)) is not Verdict.CREATE
