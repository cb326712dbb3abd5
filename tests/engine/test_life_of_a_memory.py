"""Correcting, forgetting, restoring, pinning: what each verb does to a memory, its history and recall."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from engramdb import Actor, Engram, Layer, Scope, Source, Status
from engramdb.errors import (
    AccessDenied,
    ContentTooLarge,
    InvalidContent,
    InvalidQuery,
    MemoryNotFound,
    StatusNotAllowed,
)
from engramdb.testing import TinyEmbedder
from engramdb.values import Surface

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Recall
    from engramdb.testing import ManualClock


def contents(answer: Recall) -> list[str]:
    """The statements of an answer, best first."""
    return [hit.memory.content for hit in answer.hits]


def test_what_is_remembered_is_what_is_stored(engram: Engram, clock: ManualClock) -> None:
    """The memory that `remember` returns is the one that `get`, `list` and `recall` give."""
    stored = engram.remember(
        "The API uses JWT tokens",
        category="technical",
        importance=0.8,
        layer=Layer.SEMANTIC,
        source=Source.ASSISTANT,
        speaker="Ann",
        session="s1",
        occurred_at=datetime(2025, 5, 8, 12, tzinfo=UTC),
    )

    assert engram.get(stored.id) == stored
    assert engram.list() == [stored]
    assert engram.recall("JWT").hits[0].memory == stored
    assert stored.created_at == clock.now()


def test_saying_it_again_makes_it_stronger(engram: Engram, clock: ManualClock) -> None:
    """An exact repetition writes no second memory: it raises confidence and keeps the new evidence."""
    first = engram.remember("I like tea", confidence=0.5, importance=0.2)
    clock.advance(days=1)

    second = engram.remember("i like TEA!", importance=0.9, pinned=True)

    assert second.id == first.id
    assert second.content == "I like tea"
    assert second.confidence == pytest.approx(0.6)
    assert second.importance == 0.9
    assert second.pinned
    assert second.reinforcements == 1
    assert second.updated_at == clock.now()
    assert [event.action for event in engram.history(first.id)] == ["remember", "reinforce"]


def test_the_same_words_of_another_speaker_are_another_memory(engram: Engram) -> None:
    """The statement "I like tea" is another fact when someone else says it, and in another scope."""
    engram.remember("I like tea", speaker="Ann")
    engram.remember("I like tea", speaker="Bob")
    engram.remember("I like tea", speaker="Ann", scope=Scope(user="u1"))

    assert engram.status().memories == 3


def test_a_correction_is_applied_by_the_next_recall(engram: Engram, clock: ManualClock) -> None:
    """The new statement answers, the old one is kept as superseded and points to the new."""
    old = engram.remember("My editor is vim", category="preference", importance=0.9, pinned=True)
    clock.advance(days=1)

    new = engram.correct(old.id, "My editor is Helix", reason="I switched")

    gone = engram.get(old.id)
    assert contents(engram.recall("which editor")) == ["My editor is Helix"]
    assert (new.version, new.supersedes, new.category, new.importance) == (2, old.id, "preference", 0.9)
    assert new.pinned
    assert gone.status is Status.SUPERSEDED
    assert gone.superseded_by == new.id
    assert gone.valid_to == clock.now()
    assert engram.history(old.id)[-1].reason == "I switched"


def test_a_correction_survives_the_restart_and_the_old_text(store_path: Path) -> None:
    """Neither reopening, nor rebuilding, brings the old statement back."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        old = engram.remember("My editor is vim")
        engram.correct(old.id, "My editor is Helix")

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        engram.rebuild()

        assert contents(engram.recall("My editor is vim")) == ["My editor is Helix"]


def test_a_correction_of_case_alone_is_a_correction(engram: Engram) -> None:
    """Text that differs only in case or punctuation replaces the old, and both indexes find it."""
    old = engram.remember("my name is ann")

    new = engram.correct(old.id, "My name is Ann.")
    answer = engram.recall("My name is Ann.")

    assert new.id != old.id
    assert contents(answer) == ["My name is Ann."]
    assert not answer.quality.is_degraded
    assert {reason.index for reason in answer.hits[0].reasons} == {"lexical", "vector"}


def test_a_correction_to_what_is_known_already_joins_it(engram: Engram) -> None:
    """No second active memory appears: the known one is reinforced and takes the old one's place."""
    old = engram.remember("I enjoy opera")
    known = engram.remember("I enjoy jazz")

    new = engram.correct(old.id, "I enjoy jazz")

    assert new.id == known.id
    assert new.reinforcements == 1
    assert engram.get(old.id).superseded_by == known.id
    assert [memory.id for memory in engram.list()] == [known.id]


def test_a_correction_back_and_forth_is_possible(engram: Engram) -> None:
    """Correcting to an earlier text makes a new memory of it; corrections never run into a dead end."""
    first = engram.remember("I live in Paris")
    second = engram.correct(first.id, "I live in Lisbon")
    third = engram.correct(second.id, "I live in Paris")

    assert third.version == 3
    assert contents(engram.recall("where do I live")) == ["I live in Paris"]


def test_restored_memories_can_be_corrected_into_each_other(engram: Engram) -> None:
    """A restored statement may replace the one that replaced it: people change their minds twice."""
    paris = engram.remember("I enjoy opera")
    lisbon = engram.remember("I enjoy jazz")
    engram.correct(paris.id, "I enjoy jazz")
    engram.set_status(paris.id, Status.ACTIVE, reason="I was wrong")

    engram.correct(lisbon.id, "I enjoy opera")

    assert contents(engram.recall("what do I enjoy")) == ["I enjoy opera"]


def test_a_restored_memory_is_no_longer_superseded(engram: Engram) -> None:
    """What holds again has no successor and no end."""
    old = engram.remember("I live in Paris")
    engram.correct(old.id, "I live in Lisbon")

    restored = engram.set_status(old.id, Status.ACTIVE, reason="I was wrong")

    assert engram.get(old.id) == restored
    assert restored.superseded_by is None
    assert restored.valid_to is None


def test_a_superseded_memory_cannot_be_corrected(engram: Engram) -> None:
    """Only what holds now can be corrected; the attempt changes nothing."""
    old = engram.remember("My editor is vim")
    engram.correct(old.id, "My editor is Helix")

    with pytest.raises(StatusNotAllowed):
        engram.correct(old.id, "My editor is Emacs")

    assert contents(engram.recall("editor")) == ["My editor is Helix"]


def test_a_correction_that_is_refused_changes_nothing(engram: Engram) -> None:
    """An empty or oversized new statement leaves the old one as it is."""
    old = engram.remember("My editor is vim")

    with pytest.raises(InvalidContent):
        engram.correct(old.id, "  ")
    with pytest.raises(ContentTooLarge):
        engram.correct(old.id, "x" * 10_000)

    assert engram.get(old.id) == old
    assert len(engram.history(old.id)) == 1


def test_a_memory_is_changed_in_its_own_scope_only(engram: Engram) -> None:
    """Who may see a wider memory may not correct, forget or pin it from below."""
    ann, below = Scope(user="ann"), Scope(project="p", user="ann")
    memory = engram.remember("I like tea", scope=ann)

    with pytest.raises(AccessDenied):
        engram.correct(memory.id, "I like coffee", scope=below)
    with pytest.raises(AccessDenied):
        engram.forget(memory.id, scope=below)
    with pytest.raises(AccessDenied):
        engram.pin(memory.id, scope=below)

    assert engram.get(memory.id, scope=below) == memory


def test_restoring_the_forgotten_needs_a_reason(engram: Engram) -> None:
    """A person can bring a memory back, if they say why."""
    memory = engram.remember("I like tea")
    engram.forget(memory.id, reason="privacy")

    with pytest.raises(StatusNotAllowed):
        engram.set_status(memory.id, Status.ACTIVE)

    assert not engram.recall("tea").hits


def test_a_restored_memory_is_found_again(engram: Engram) -> None:
    """By its words and by its meaning, at once."""
    memory = engram.remember("I like tea")
    engram.forget(memory.id)

    engram.set_status(memory.id, Status.ACTIVE, reason="by mistake")
    found = engram.recall("tea")

    assert contents(found) == ["I like tea"]
    assert not found.quality.is_degraded
    assert [event.new_status for event in engram.history(memory.id)] == ["active", "forgotten", "active"]


def test_a_memory_is_not_restored_beside_its_twin(engram: Engram) -> None:
    """When it was said again meanwhile, the other memory is the one to use."""
    memory = engram.remember("I like tea")
    engram.forget(memory.id)
    twin = engram.remember("I like tea")

    with pytest.raises(StatusNotAllowed):
        engram.set_status(memory.id, Status.ACTIVE, reason="by mistake")

    assert [one.id for one in engram.list()] == [twin.id]


def test_forgetting_twice_is_refused(engram: Engram) -> None:
    """The second time there is nothing to forget, and the history shows one."""
    memory = engram.remember("I like tea")
    engram.forget(memory.id)

    with pytest.raises(StatusNotAllowed):
        engram.forget(memory.id)

    assert len(engram.history(memory.id)) == 2


def test_pinning_is_recorded_once(engram: Engram) -> None:
    """Pinning what is pinned changes nothing and leaves no row."""
    memory = engram.remember("I like tea")

    engram.pin(memory.id)
    engram.pin(memory.id)
    unpinned = engram.unpin(memory.id)

    assert not unpinned.pinned
    assert [event.action for event in engram.history(memory.id)] == ["remember", "pin", "unpin"]


def test_history_names_who_did_it(store_path: Path) -> None:
    """Every row carries the actor of the handle that wrote it."""
    agent = Actor(name="claude")
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False, actor=agent) as engram:
        memory = engram.remember("I like tea")

        assert engram.history(memory.id)[0].actor == replace(agent, surface=Surface.PYTHON)


def test_an_id_may_be_given_by_its_last_eight_characters(engram: Engram) -> None:
    """What people copy from a list works with every verb, in either case."""
    memory = engram.remember("I like tea")
    short = memory.id[-8:]

    assert engram.get(short).id == memory.id
    assert engram.pin(short.upper()).id == memory.id
    assert engram.forget(short).id == memory.id


@pytest.mark.parametrize("unknown", ["", "nonsense", "00000000-0000-7000-8000-000000000000", "zzzzzzzz"])
def test_an_unknown_id_is_named(engram: Engram, unknown: str) -> None:
    """Whatever is not an id of a memory is not found, by any verb."""
    for verb in (engram.get, engram.history, engram.forget, engram.pin):
        with pytest.raises(MemoryNotFound):
            verb(unknown)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", InvalidContent),
        (" \n\t ", InvalidContent),
        ("\x00\x01", InvalidContent),
        ("half a \ud83d pair", InvalidContent),
        ("x" * 8193, ContentTooLarge),
        ("é" * 4097, ContentTooLarge),
    ],
    ids=["empty", "blank", "control", "surrogate", "too long", "too many bytes"],
)
def test_what_cannot_be_a_memory_is_refused(engram: Engram, content: str, error: type[Exception]) -> None:
    """The write pipeline names the reason, never the text, and nothing is stored."""
    with pytest.raises(error) as refused:
        engram.remember(content)

    assert not content.strip() or content not in str(refused.value)
    assert engram.status().memories == 0


@pytest.mark.parametrize(
    "options",
    [
        {"importance": 1.5},
        {"confidence": -0.1},
        {"importance": float("nan")},
        {"category": "Not A Name"},
        {"category": ""},
        {"occurred_at": datetime(2025, 1, 1)},  # noqa: DTZ001 - the point of it
        {"forget_after": datetime(2025, 1, 1)},  # noqa: DTZ001
    ],
)
def test_a_malformed_option_is_refused(engram: Engram, options: dict[str, object]) -> None:
    """A number outside its range, a bad name, a time without a zone: an error of ours, and no memory."""
    with pytest.raises(InvalidContent):
        engram.remember("I like tea", **options)  # type: ignore[arg-type]

    assert engram.status().memories == 0


def test_a_turn_without_a_time_zone_is_refused(engram: Engram) -> None:
    """Turns keep the rule that memories keep."""
    with pytest.raises(InvalidContent):
        engram.observe("hello", occurred_at=datetime(2025, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize("query", ["", "   ", "x" * 20_001])
def test_a_query_that_cannot_be_asked_is_refused(engram: Engram, query: str) -> None:
    """An empty or enormous question is an error and not an empty answer."""
    with pytest.raises(InvalidQuery):
        engram.recall(query)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_outside_its_range_is_refused(engram: Engram, limit: int) -> None:
    """Both verbs that take a limit keep the same range."""
    with pytest.raises(InvalidQuery):
        engram.recall("tea", limit=limit)
    with pytest.raises(InvalidQuery):
        engram.list(limit=limit)


def test_pages_of_a_list_join_without_gap_or_overlap(engram: Engram) -> None:
    """Walking through pages shows every memory once, newest first, and an unknown place is named."""
    stored = [engram.remember(f"note {number}").id for number in range(7)]

    pages, before = [], None
    while page := engram.list(limit=3, before=before):
        pages.append([memory.id for memory in page])
        before = page[-1].id

    assert [len(page) for page in pages] == [3, 3, 1]
    assert [memory_id for page in pages for memory_id in page] == stored[::-1]
    with pytest.raises(MemoryNotFound):
        engram.list(before="nowhere")


def test_turns_come_back_in_the_order_they_were_said(engram: Engram) -> None:
    """By session and by scope, the latest few, oldest of them first."""
    for number in range(5):
        engram.observe(f"turn {number}", session="s1")
    engram.observe("elsewhere", session="s2")
    engram.observe("private", session="s1", scope=Scope(user="ann"))

    said = [turn.content for turn in engram.turns(session="s1", limit=3)]

    assert said == ["turn 2", "turn 3", "turn 4"]


def test_an_index_made_by_older_rules_is_made_anew_on_opening(store_path: Path) -> None:
    """A store whose terms were cut by other rules is re-indexed, and its memories are found again."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("I like tea")
        with engram._parts.store.atomic() as tx:
            tx.terms.clear(version=0)
            tx.terms.put(1, ["cut-by-other-rules"])

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        answer = engram.recall("tea")

        assert {reason.index for reason in answer.hits[0].reasons} == {"lexical", "vector"}
        assert engram.doctor().ok


def test_a_memory_may_be_named_by_its_own_words(engram: Engram) -> None:
    """Whoever knows what was stored needs no id to correct it."""
    old = engram.remember("The API uses JWT tokens")

    new = engram.correct("the API uses JWT tokens.", "The API uses PASETO tokens")

    assert new.supersedes == old.id
    assert contents(engram.recall("API tokens")) == ["The API uses PASETO tokens"]
