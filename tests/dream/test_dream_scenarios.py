"""Lives that a dream makes sense of: repetition, change of mind, disagreement, secrets, what was undone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import StatusNotAllowed
from engramdb.testing import ManualClock
from engramdb.values import (
    BELIEVED,
    Edge,
    EdgeType,
    GapKind,
    Kind,
    Layer,
    Provenance,
    Scope,
    SecurityTier,
    Status,
)

from .dreamt import NOW, active, every, keep, opened, reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb import Engram
    from engramdb.values import Memory

OPENINGS = (
    *("I prefer", "I really prefer", "User prefers", "Honestly I prefer", "My preference is"),
    *("I always prefer", "The user prefers", "I personally prefer", "I still prefer", "I do prefer"),
)
OBJECTS = (
    *("two-space indentation", "2-space indentation", "2 space indentation", "two space indentation"),
    "2-space indentation in code",
)
STEPS = ("merge", "contradictions", "patterns", "prune")


# --- repetition ---------------------------------------------------------------------------------------------


def test_fifty_variations_become_one_strong_memory(store_path: Path) -> None:
    """Recall gives it first and once, knowledge now, with all fifty as its evidence."""
    clock = ManualClock(NOW)
    with opened(store_path, clock=clock) as engram:
        engram.remember("I prefer dark roast coffee")
        engram.remember("The indentation of Makefiles must be tabs")
        for opening in OPENINGS:
            for thing in OBJECTS:
                engram.remember(f"{opening} {thing}", session=f"s{clock.now():%d%H}")
                clock.advance(hours=7)

        engram.dream(steps=STEPS)

        hits = engram.recall("which indentation do I prefer?").hits
        best = hits[0].memory
        told = [every(engram)[episode] for episode in best.provenance.episodes]
    assert "space indentation" in best.content
    assert best.layer is Layer.SEMANTIC
    assert [hit.memory.content for hit in hits if "space" in hit.memory.content] == [best.content]
    assert 1 + best.reinforcements + sum(1 + one.reinforcements for one in told) == 50


DIFFERENT = (
    ("I have a dog", "I have a cat"),
    ("I have a dog", "My sister has a dog"),
    ("Anna has a dog", "Tom has a dog"),
    ("I prefer tabs over spaces", "I prefer spaces over tabs"),
    ("Anna trusts Tom", "Tom trusts Anna"),
    ("I use vim", "I used vim"),
    ("I lived in Berlin", "I live in Berlin"),
    ("I like green tea", "I don't like green tea"),
    ("I want a red bike", "I have a red bike"),
    ("The meeting is at 3 pm", "The meeting is at 4 pm"),
    ("My flight leaves on 3 May", "My flight leaves on 3 June"),
    ("I might move to Oslo", "I move to Oslo"),
    ("My wife plays the piano", "My husband plays the piano"),
    ("I work on the frontend team", "I work on the backend team"),
    ("The invoice was paid by Acme", "The invoice was paid to Acme"),
    ("I usually drink coffee in the morning", "I drink coffee in the morning"),
    ("我喜欢绿茶", "我喜欢红茶"),
)
SAME = (
    ("I like green tea", "I really love green tea"),
    ("I prefer two-space indentation", "2-space indentation is what I prefer"),
    ("I live in Berlin", "I reside in Berlin"),
    ("I want to buy a new bike", "I want to purchase a new bike"),
    ("The API uses JWT tokens", "the API uses JWT tokens, please"),
)


@pytest.fixture(scope="module")
def dreamt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """Every pair in a scope of its own, after a dream that asks for hardly any likeness."""
    path = tmp_path_factory.mktemp("pairs") / "memory.db"
    with opened(path, merge_above=0.5, pattern_above=0.0, pattern_least=2) as engram:
        for pair in (*DIFFERENT, *SAME):
            for content in pair:
                keep(engram, content, scope=Scope(project=f"{pair}"))
        engram.dream(steps=("merge", "patterns"))
        yield engram


@pytest.mark.parametrize("pair", DIFFERENT, ids=" / ".join)
def test_what_only_sounds_alike_stays_apart(dreamt: Engram, pair: tuple[str, str]) -> None:
    """Another object, person, number, date, mood, time or order is another statement."""
    found = dreamt.list(scope=Scope(project=f"{pair}"))

    assert {(one.content, one.layer) for one in found} == {(said, Layer.EPISODIC) for said in pair}


@pytest.mark.parametrize("pair", SAME, ids=" / ".join)
def test_the_same_in_other_words_becomes_one(dreamt: Engram, pair: tuple[str, str]) -> None:
    """The one that came first stays, and it has been stated twice."""
    now = {one.content: one for one in every(dreamt, Scope(project=f"{pair}")).values()}
    kept, lost = now[pair[0]], now[pair[1]]

    assert (lost.status, lost.superseded_by) == (Status.MERGED, kept.id)
    assert (kept.status, kept.reinforcements) == (Status.ACTIVE, 1)


def test_the_same_event_on_another_day_is_another_event(store_path: Path) -> None:
    """What happened twice has not been said twice."""
    with opened(store_path, merge_above=0.0) as engram:
        keep(engram, "I drank green tea", kind=Kind.EPISODE)
        keep(engram, "I just drank green tea", kind=Kind.EPISODE, at=NOW + timedelta(days=2))

        engram.dream(steps=("merge",))

        assert len(active(engram)) == 2


def test_five_of_a_kind_are_needed_where_the_policy_says_so(store_path: Path) -> None:
    """Under `layered`, four variations stay four."""
    said = [f"I {how} like green tea" for how in ("really", "just", "still", "truly", "honestly")]
    with opened(store_path, policy="layered") as engram:
        for one in said[:4]:
            keep(engram, one)
        engram.dream(steps=("merge",))
        before = len(active(engram))

        keep(engram, said[4])
        engram.dream(steps=("merge",))

        assert (before, len(active(engram))) == (4, 1)


def test_a_flagged_statement_is_no_evidence(store_path: Path) -> None:
    """What reads like an attack is neither merged into anything nor built upon."""
    with opened(store_path) as engram:
        kept = keep(engram, "I like green tea")
        keep(engram, "I really like green tea", flags=("injection",))

        engram.dream(steps=("merge", "patterns"))

        assert every(engram)[kept.id] == kept
        assert len(active(engram)) == 2


# --- change of mind and disagreement ------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["balanced", "notebook"])
def test_vim_helix_and_back_to_vim(store_path: Path, policy: str) -> None:
    """In the end vim is in use and Helix is not, whether capture or the dream settles it."""
    clock = ManualClock(NOW)
    with opened(store_path, policy=policy, clock=clock) as engram:
        engram.remember("My editor is vim")
        clock.advance(days=30)
        engram.remember("My editor is now Helix")
        engram.dream(steps=STEPS)
        between = active(engram)
        clock.advance(days=30)
        engram.remember("My editor is now vim")

        engram.dream(steps=STEPS)

        assert between == ["My editor is now Helix"]
        assert active(engram) == ["My editor is now vim"]


def test_three_sources_stand_against_one(store_path: Path) -> None:
    """The well-supported statement wins, and says whom it replaced."""
    with opened(store_path) as engram:
        known, doubtful = disputed(engram, evidence=3)

        engram.dream(steps=STEPS)

        now = every(engram)
    assert (now[known].status, now[doubtful].status) == (Status.ACTIVE, Status.SUPERSEDED)
    assert now[doubtful].superseded_by == known
    assert now[known].confidence > 0.5


def test_what_is_new_stands_against_what_was_often_said_long_ago(store_path: Path) -> None:
    """Evidence halves every month, so half a year later one voice is enough."""
    with opened(store_path) as engram:
        known, recent = disputed(engram, evidence=3, age_days=180)

        engram.dream(steps=STEPS)

        now = every(engram)
    assert (now[known].status, now[recent].status) == (Status.SUPERSEDED, Status.ACTIVE)


def test_equals_become_a_question(store_path: Path) -> None:
    """Both stay, the older one challenged, until somebody says which."""
    with opened(store_path) as engram:
        both = disputed(engram, evidence=1)

        engram.dream(steps=STEPS)
        second = engram.dream(steps=STEPS)

        now = every(engram)
        with reading(engram) as tx:
            questions = tx.gaps.open_for(Scope(), limit=10)
    assert {now[one].status for one in both} == {Status.ACTIVE, Status.CHALLENGED}
    assert [(one.kind, set(one.memories)) for one in questions] == [(GapKind.CONTRADICTION, set(both))]
    assert second.changed == 0


def test_what_a_person_pinned_wins(store_path: Path) -> None:
    """However much is said against it."""
    with opened(store_path) as engram:
        known, doubtful = disputed(engram, evidence=5)
        engram.pin(doubtful)

        engram.dream(steps=STEPS)

        now = every(engram)
    assert (now[known].status, now[doubtful].status) != (Status.ACTIVE, Status.SUPERSEDED)
    assert now[doubtful].status in BELIEVED


def test_what_a_person_brought_back_is_not_taken_again(store_path: Path) -> None:
    """A rule's verdict that was overruled is not repeated."""
    with opened(store_path) as engram:
        _, doubtful = disputed(engram, evidence=3)
        engram.dream(steps=STEPS)
        engram.restore(doubtful, reason="I know better")

        engram.dream(steps=STEPS)

        assert every(engram)[doubtful].status is Status.ACTIVE


def test_merging_hands_on_what_is_disputed(store_path: Path) -> None:
    """Who stands for another stands for its quarrels too, and its evidence counts in them."""
    with opened(store_path, merge_above=0.0) as engram:
        known, doubtful = disputed(engram, evidence=1)
        keep(engram, "The API really uses JWT tokens", reinforcements=4)

        engram.dream(steps=STEPS)

        now = every(engram)
    assert now[known].status is Status.MERGED
    assert now[doubtful].status is Status.SUPERSEDED


def disputed(engram: Engram, *, evidence: int, age_days: float = 1) -> tuple[str, str]:
    """Two statements that capture left side by side, the first of which was stated so often."""
    before = NOW - timedelta(days=age_days)
    known = keep(engram, "The API uses JWT tokens", at=before, reinforcements=evidence - 1, confidence=0.5)
    doubtful = keep(engram, "The API uses session cookies", confidence=0.5, at=NOW - timedelta(hours=1))
    edge = Edge(source=doubtful.id, target=known.id, type=EdgeType.CONTRADICTS, weight=1.0, created_at=NOW)
    with engram._parts.store.atomic() as tx:
        tx.edges.add(edge)
    return known.id, doubtful.id


# --- secrets and scopes -------------------------------------------------------------------------------------


def test_who_stands_for_a_secret_is_as_protected(store_path: Path) -> None:
    """The keeper takes on the strictest tier of those that it stands for."""
    with opened(store_path, merge_above=0.0) as engram:
        kept = keep(engram, "The vault code is kept by Anna", reinforcements=2)
        keep(engram, "the vault code is really kept by Anna", security=SecurityTier.CONFIDENTIAL)

        engram.dream(steps=("merge",))

        assert every(engram)[kept.id].security is SecurityTier.CONFIDENTIAL


def test_a_dream_never_joins_two_scopes(store_path: Path) -> None:
    """The same words of two users stay two memories, each in its place."""
    scopes = [Scope(), Scope(project="p"), Scope(project="p", user="a"), Scope(project="p", user="b")]
    with opened(store_path) as engram:
        for scope in scopes:
            keep(engram, "I like green tea", scope=scope)
            keep(engram, "I really like green tea", scope=scope)

        engram.dream()

        for scope in scopes:
            own = [one for one in engram.list(scope=scope) if one.scope == scope]
            assert [(one.content, one.reinforcements) for one in own] == [("I like green tea", 1)]


# --- undoing ------------------------------------------------------------------------------------------------


def merged(engram: Engram) -> dict[str, Memory]:
    """Three statements with evidence of their own, by id."""
    keep(
        engram,
        "I like green tea",
        provenance=Provenance(turns=("t1", "t2")),
        reinforcements=3,
        confidence=0.7,
    )
    keep(
        engram,
        "I really like green tea",
        provenance=Provenance(turns=("t2", "t3")),
        importance=0.9,
        confidence=0.6,
    )
    keep(
        engram,
        "I love green tea",
        provenance=Provenance(episodes=("e1",)),
        security=SecurityTier.SENSITIVE,
        confidence=0.8,
    )
    return every(engram)


def test_undoing_a_merge_restores_every_source(store_path: Path) -> None:
    """Everything is as it was to the last field, but for when it was changed."""
    with opened(store_path, merge_above=0.0) as engram:
        before = merged(engram)
        engram.dream(steps=("merge",))
        (kept,) = engram.list()
        assert set(kept.provenance.turns) == {"t1", "t2", "t3"}
        assert (kept.reinforcements, kept.importance) == (5, 0.9)

        back = engram.unmerge(kept.id, reason="they differ")

        after = {key: one.evolve(updated_at=NOW) for key, one in every(engram).items()}
    assert after == before
    assert {one.id for one in back} == set(before) - {kept.id}


def test_what_was_taken_apart_stays_apart(store_path: Path) -> None:
    """A later dream does not repeat what a person undid, one by one or all at once."""
    with opened(store_path, merge_above=0.0) as engram:
        merged(engram)
        engram.dream(steps=("merge",))
        (kept,) = engram.list()
        engram.unmerge(kept.id)

        again = engram.dream(steps=("merge",))

        assert len(active(engram)) in (2, 3)  # those two that were never one may become it
        assert kept.content in active(engram)
        assert all(kept.id not in change.memories for change in again.changes)


def test_undoing_keeps_what_came_in_since(store_path: Path) -> None:
    """Only what the merge gave is taken back."""
    with opened(store_path, merge_above=0.0) as engram:
        before = merged(engram)
        engram.dream(steps=("merge",))
        (kept,) = engram.list()
        engram.remember(kept.content)

        engram.unmerge(kept.id)

        now = every(engram)[kept.id]
        was = before[kept.id]
    assert now.reinforcements == was.reinforcements + 1
    assert now.provenance == was.provenance


def test_one_of_several_can_be_taken_out(store_path: Path) -> None:
    """Named by its own id, it alone comes back."""
    with opened(store_path, merge_above=0.0) as engram:
        merged(engram)
        engram.dream(steps=("merge",))
        (kept,) = engram.list()
        lost = next(one for one in every(engram).values() if one.id != kept.id)

        back = engram.unmerge(lost.id)

        assert [one.id for one in back] == [lost.id]
        assert len(active(engram)) == 2


def test_nothing_to_undo_is_an_error(store_path: Path) -> None:
    """Nothing was merged with it."""
    with opened(store_path) as engram:
        alone = keep(engram, "I like green tea")

        with pytest.raises(StatusNotAllowed):
            engram.unmerge(alone.id)
