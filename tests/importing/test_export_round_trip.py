"""What is exported from one store and imported into another is the same; twice brings nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Scope
from engramdb.exporting.export import line_of
from engramdb.importing.clamps import MAX_CONFIDENCE
from engramdb.lifecycle.drafts import Draft
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Filters, ImportKind, Kind, Layer, MemoryType, SecurityTier, Source, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAYA = Scope(project="atlas", user="maya")
EVERYTHING = Filters(statuses=frozenset(Status))


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Engram]:
    """An empty memory of somebody else."""
    with Engram.open(
        tmp_path / "other.db", clock=ManualClock(), embedder=TinyEmbedder(), background=False
    ) as opened:
        yield opened


def written(engram: Engram, path: Path, **options: Any) -> Path:
    """Write an export to a file."""
    path.write_bytes(b"".join(line_of(one) for one in engram.export(**options)))
    return path


def fill(engram: Engram) -> None:
    """State a few things with all their labels."""
    engram.remember("Maya likes green tea", category="preference", importance=0.9, scope=MAYA)
    engram.remember(
        "Press the green button to start the press",
        category="procedure",
        layer=Layer.PROCEDURAL,
        type=MemoryType.PROCEDURE,
        confidence=0.8,
        pinned=True,
        speaker="Tom",
        session="s1",
        occurred_at=datetime(2025, 3, 4, 5, 6, tzinfo=UTC),
        forget_after=datetime(2030, 1, 1, tzinfo=UTC),
    )
    engram.remember("The boat in Porto is red", kind=Kind.EPISODE)


def test_a_round_trip_brings_the_same_statements(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """Words, labels, moments and scopes arrive; only their trust is that of an import."""
    fill(engram)
    path = written(engram, tmp_path / "all.jsonl", scope=MAYA)

    report = other.import_from(path)

    assert (report.by_kind, report.added, report.refused) == ({"engram": 3}, 3, 0)
    before = {one.content: one for one in engram.list(scope=MAYA)}
    after = {one.content: one for one in other.list(scope=MAYA)}
    assert after.keys() == before.keys()
    for words, new in after.items():
        old = before[words]
        for name in (
            "scope",
            "category",
            "layer",
            "type",
            "kind",
            "importance",
            "pinned",
            "forget_after",
            "when",
        ):
            assert getattr(new, name) == getattr(old, name), name
        assert new.confidence == pytest.approx(min(old.confidence, MAX_CONFIDENCE))
        assert new.provenance.speaker == old.provenance.speaker
        assert new.provenance.source is Source.INGEST


def test_what_stood_side_by_side_arrives_side_by_side(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """Statements that one store holds to be true are not settled against each other once more."""
    lines = [
        {"engram": 1, "id": str(one), "content": f"Omar plays chess in house {one}"} for one in range(40)
    ]
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    other.import_from(path)

    engram.import_from(written(other, tmp_path / "again.jsonl", tiers=list(SecurityTier)))

    assert len(engram.list(limit=100)) == len(other.list(limit=100)) == len(lines)


MOVED = "I moved to Porto and live in Porto now"


def exported_line(path: Path, content: str, day: str) -> Path:
    """Write an export of one statement by Maya."""
    line = {"engram": 1, "content": content, "provenance": {"speaker": "Maya"}}
    path.write_text(json.dumps(line | {"created_at": f"{day}T00:00:00Z"}))
    return path


def test_an_export_replaces_what_an_older_one_said(engram: Engram, tmp_path: Path) -> None:
    """A newer statement of the same thing settles the older one, whichever door both came by."""
    engram.import_from(exported_line(tmp_path / "old.jsonl", "I live in Lisbon", "2025-01-01"))

    engram.import_from(exported_line(tmp_path / "new.jsonl", MOVED, "2025-06-01"))

    assert [one.content for one in engram.list()] == [MOVED]


def test_an_export_challenges_what_a_person_stated(engram: Engram, tmp_path: Path) -> None:
    """An import is the weaker source: both are known and found, the newer first, the other marked."""
    engram.remember("I live in Lisbon", speaker="Maya", occurred_at=datetime(2025, 1, 1, tzinfo=UTC))

    engram.import_from(exported_line(tmp_path / "all.jsonl", MOVED, "2025-06-01"))

    assert {one.content: one.status for one in engram.list()} == {
        MOVED: Status.ACTIVE,
        "I live in Lisbon": Status.CHALLENGED,
    }
    first, second = engram.recall("where do I live?").hits
    assert (first.memory.content, second.memory.content) == (MOVED, "I live in Lisbon")
    assert [one.by for one in second.disputes] == [first.memory.id]


def test_twice_brings_nothing(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """A newer export of the same memories adds nothing, and brings back nothing that was forgotten."""
    fill(engram)
    other.import_from(written(engram, tmp_path / "first.jsonl", scope=MAYA))
    other.forget(other.list(scope=MAYA)[0].id, scope=other.list(scope=MAYA)[0].scope)
    known = [one.id for one in other.list(scope=MAYA)]

    report = other.import_from(written(engram, tmp_path / "second.jsonl", scope=MAYA))

    assert (report.added, report.already) == (0, 3)
    assert [one.id for one in other.list(scope=MAYA)] == known


def test_a_store_takes_back_its_own_export_without_a_change(engram: Engram, tmp_path: Path) -> None:
    """It says what is known: nothing is added, nothing is doubled."""
    fill(engram)
    before = {one.content for one in engram.list()}

    report = engram.import_from(written(engram, tmp_path / "own.jsonl"))

    assert report.added == 0
    assert {one.content for one in engram.list()} == before


def test_history_is_told_and_stays_behind(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """With its history an export also holds what was replaced; an import takes what is held to be true."""
    old = engram.remember("Maya likes green tea")
    engram.correct(old.id, "Maya likes black coffee", reason="she said so")
    path = written(engram, tmp_path / "all.jsonl", filters=EVERYTHING, history=True)

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    other.import_from(path)

    assert [line["content"] for line in lines] == ["Maya likes green tea", "Maya likes black coffee"]
    assert [event["reason"] for event in lines[0]["history"]][-1] == "she said so"
    assert [one.content for one in other.list(filters=EVERYTHING)] == ["Maya likes black coffee"]


def test_sensitive_memories_are_exported_only_if_asked_for(engram: Engram) -> None:
    """And what a scope may not see, never."""
    engram.remember("My card is 4111 1111 1111 1111")
    engram.remember("Maya likes green tea", scope=MAYA)
    engram.remember("The boat in Porto is red")

    usual = [one.memory.content for one in engram.export()]
    all_tiers = [one.memory.content for one in engram.export(tiers=list(SecurityTier))]

    assert usual == ["The boat in Porto is red"]
    assert all_tiers == ["My card is 4111 1111 1111 1111", "The boat in Porto is red"]


def test_what_is_erased_is_in_no_export(engram: Engram) -> None:
    """Not even as a line without words."""
    memory = engram.remember("The boat in Porto is red")
    engram.erase(memory.id)

    assert list(engram.export(filters=EVERYTHING, tiers=list(SecurityTier))) == []


def test_many_come_oldest_first(engram: Engram) -> None:
    """However many there are, the order is that of their making."""
    words = [f"Item {number} of house {number * 37}" for number in range(230)]
    engram.remember_many(Draft(content=one) for one in words)

    found = [one.memory.content for one in engram.export(tiers=list(SecurityTier))]

    assert found == words


@pytest.mark.parametrize(
    "line",
    [
        {"engram": 1, "content": ""},
        {"engram": 1, "content": "x", "scope": {"user": " "}},
        {"engram": 1, "content": "x", "scope": {"user": 7}},
        {"engram": 2, "content": "x"},
        {"engram": 1},
    ],
)
def test_a_strange_line_is_refused_by_its_place(other: Engram, tmp_path: Path, line: dict[str, Any]) -> None:
    """What belongs to nobody in particular must not become everybody's, and one line stops no other."""
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in ({"engram": 1, "content": "The boat is red"}, line)))

    report = other.import_from(path)

    assert (report.added, report.refused) == (1, 1)
    assert report.refusals[0].place == "all.jsonl: line 2"


def test_a_dream_is_not_imported(other: Engram, tmp_path: Path) -> None:
    """What was concluded elsewhere is concluded again here, where it can be taken back."""
    path = tmp_path / "all.jsonl"
    path.write_text(json.dumps({"engram": 1, "content": "Tea is popular", "extractor": "dream.patterns-1"}))

    report = other.import_from(path, kind=ImportKind.ENGRAM)

    assert (report.found, report.added) == (0, 0)


def test_the_whole_store_can_be_taken_along(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """With the scopes inside, each memory once and back in its own; without, only what the scope sees."""
    fill(engram)
    engram.remember("Tom drinks coffee", scope=Scope(user="tom"))
    everyone = [(one.memory.scope, one.memory.content) for one in engram.export(narrower=True)]

    other.import_from(written(engram, tmp_path / "all.jsonl", narrower=True), kind=ImportKind.ENGRAM)

    assert len(everyone) == len(set(everyone)) == 4
    assert len(list(engram.export())) == 2
    assert {(one.memory.scope, one.memory.content) for one in other.export(narrower=True)} == set(everyone)
    assert {one.memory.scope for one in engram.export(narrower=True, scope=Scope(project="atlas"))} == {
        Scope(),
        MAYA,
    }
