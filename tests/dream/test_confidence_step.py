"""How well each domain is known, and how sure an answer can be, held to labelled questions."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from engramdb import Engram, Settings
from engramdb.dream.confidence import ConfidenceStep
from engramdb.dream.gaps import GapsStep
from engramdb.dream.probe import ProbeStep
from engramdb.dream.tree import TreeStep
from engramdb.index.domains import measure_domain
from engramdb.policy import PRESETS, InsightPolicy
from engramdb.recall.answerability import Evidence, assess
from engramdb.store.contract import SummaryNode
from engramdb.testing import ManualClock
from engramdb.values import Breadth, Certainty, Domain, Scope, Status

from .dreamt import NOW
from .insighted import counts, rewritten, take, used

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("confidence_cases.json").read_text("utf-8"))
POLICY = InsightPolicy()


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A store that knows five fields well and eight by one statement each, after a dream."""
    path = tmp_path_factory.mktemp("known") / "memory.db"
    settings = Settings(home=path.parent, embedder="static", durability="relaxed")
    with Engram.open(path, settings=settings, clock=ManualClock(NOW), background=False) as engram:
        for group in ("well", "thin"):
            for statements in CASES[group].values():
                for statement in statements:
                    engram.remember(statement)
        take(engram, GapsStep(), TreeStep(), ConfidenceStep())
        yield engram


def half(number: int) -> list[dict[str, str]]:
    """One half of the labelled questions, by a hash; the thresholds were chosen on half 0 alone."""
    return [
        case
        for case in [*CASES["queries"], *CASES["second"]]
        if hashlib.sha256(case["text"].encode()).digest()[0] % 2 == number
    ]


def accuracy(engram: Engram, cases: list[dict[str, str]]) -> float:
    """The share of questions that are judged as they are labelled."""
    return sum(engram.confidence(case["text"]).certainty == case["label"] for case in cases) / len(cases)


@pytest.mark.parametrize(("number", "least"), [(0, 0.93), (1, 0.85)])
def test_questions_are_judged_as_people_judge_them(known: Engram, number: int, least: float) -> None:
    """Known well, known thinly, not known: on the half that was tuned on, and on the one that was not."""
    assert accuracy(known, half(number)) >= least


def test_a_confident_answer_names_its_domain_and_numbers(known: Engram) -> None:
    """What the judgement rests on is told along with it."""
    found = known.confidence("how is the billing service deployed?")

    assert found.certainty is Certainty.CONFIDENT
    assert found.domain is not None
    assert "billing" in found.domain.title
    assert found.supporting >= 3
    assert 0 < found.confidence <= 1


def test_asking_for_confidence_counts_as_no_recall(known: Engram) -> None:
    """Wondering whether something is known is not using it."""
    before = [memory.access.count for memory in known.list(limit=200)]

    known.confidence("which coffee grinder do I have?")

    assert [memory.access.count for memory in known.list(limit=200)] == before


def test_every_memory_is_in_some_domain(known: Engram) -> None:
    """The map covers all that there is a vector for."""
    assert sum(domain.members for domain in known.domains()) == len(known.list(limit=200))
    assert all(0 <= domain.confidence <= 1 for domain in known.domains())


def test_measuring_twice_changes_nothing(known: Engram) -> None:
    """At the same moment, with the same memories and questions."""
    assert counts(take(known, GapsStep(), TreeStep(), ConfidenceStep())) == {}


def node(**numbers: Any) -> SummaryNode:
    """A domain with these numbers."""
    plain = SummaryNode(
        id="d",
        scope=Scope(),
        breadth=Breadth.DOMAIN,
        parent=None,
        title="t",
        summary="s",
        maker="m",
        members=20,
        grain=0,
        is_whole=True,
        space=None,
        centroid=None,
        certainty=1.0,
        doubted=0,
        latest_at=NOW,
        built_at=NOW,
    )
    return replace(plain, **numbers)


def measured(**numbers: Any) -> Domain:
    """The same as a reader sees it."""
    return measure_domain(node(**numbers), POLICY, NOW)


def test_more_and_surer_members_make_a_domain_deeper() -> None:
    """Each further one adds less, and members that are hardly believed add little."""
    depths = [measured(members=number).depth for number in (1, 5, 20, 100)]

    assert depths == sorted(depths)
    assert depths[1] - depths[0] > depths[3] - depths[2]
    assert measured(certainty=0.3).depth < measured().depth < 1


def test_age_and_doubt_lower_confidence_and_age_never_below_half() -> None:
    """Old knowledge is less sure, not unknown; a domain in full doubt is worth nothing."""
    old = measured(latest_at=NOW - timedelta(days=3650))

    assert 0.45 < old.confidence / measured().confidence < 0.55
    assert measured(doubted=10).confidence == pytest.approx(measured().confidence / 2)
    assert measured(doubted=20).confidence == 0


def test_nothing_found_is_unknown_and_says_what_was_missing() -> None:
    """An empty answer of a broken index is not the same as knowing nothing."""
    found = assess(Evidence((), missing=("vector: the embedder failed",)))

    assert found.certainty is Certainty.UNKNOWN
    assert found.missing == ("vector: the embedder failed",)


def test_what_is_disputed_makes_an_answer_uncertain(engram: Engram) -> None:
    """However much is known: once it is challenged, nobody can be confident."""
    facts = [
        engram.remember(f"The Atlas server logs {what} every night")
        for what in ("errors", "visits", "logins")
    ]
    sure = engram.confidence("The Atlas server logs errors every night")
    for memory in facts:
        engram.set_status(memory.id, Status.CHALLENGED, reason="doubted")

    doubted = engram.confidence("The Atlas server logs errors every night")

    assert sure.certainty is Certainty.CONFIDENT
    assert doubted.certainty is Certainty.UNCERTAIN
    assert "doubt" in doubted.reason


def test_open_questions_about_a_domain_make_it_less_certain(engram: Engram, clock: ManualClock) -> None:
    """An old belief that is questioned counts as in doubt, and the number of questions is told."""
    used(engram, engram.remember("The Atlas server logs errors every night"), 30)
    engram.remember("The Atlas server logs visits every night")
    clock.advance(days=100)

    take(engram, ProbeStep(), TreeStep(), ConfidenceStep())

    (domain,) = engram.domains()
    assert domain.uncertainty == pytest.approx(0.5)
    assert engram.confidence("The Atlas server logs errors every night").gaps == 1


def test_a_weak_domain_is_cut_more_finely_once(engram: Engram) -> None:
    """Hardly believed memories make a weak domain, and smaller clusters show what there is."""
    for number in range(9):
        memory = engram.remember(f"Rumour {number * 13} of the harbour concerns a crane")
        rewritten(engram, memory, confidence=0.3)
    small = replace(PRESETS["balanced"], insight=InsightPolicy(cluster_size=8))
    take(engram, TreeStep(), policy=small)
    before = len(engram.summaries(breadth="cluster", limit=50))

    take(engram, ConfidenceStep(), policy=small)
    after = len(engram.summaries(breadth="cluster", limit=50))
    again = take(engram, TreeStep(), ConfidenceStep(), policy=small)

    assert after > before
    assert counts(again) == {}
