"""What agents produce besides talk becomes memory too: summaries, results, findings, tool runs, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Layer, MemoryType, Settings
from engramdb.values import TaskOutcome
from engramdb.values.reading import Force, Lasting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engram(store_path: Path) -> Iterator[Engram]:
    """An engine without background threads."""
    with Engram.open(store_path, settings=Settings(embedder="static"), background=False) as opened:
        yield opened


def test_a_compaction_is_read_as_any_turn_of_the_assistant(engram: Engram) -> None:
    """What a summary kept survives the next one, with the turn as its evidence; what was planned does not."""
    kept = engram.capture.compaction(
        "1. Findings:\n- The API was moved to port 8080 on Monday\n"
        "- Ben found that the login breaks without a cookie\n"
        "2. Pending tasks:\n- Tell everybody about the port",
        session="s",
    )

    assert [memory.content for memory in kept] == [
        "The API was moved to port 8080 on Monday",
        "Ben found that the login breaks without a cookie",
    ]
    (turn,) = engram.turns(session="s")
    assert {memory.provenance.turns for memory in kept} == {(turn.id,)}
    assert {memory.provenance.source for memory in kept} == {"assistant"}


def test_a_failed_task_leaves_a_mark(engram: Engram) -> None:
    """How it ended is told, and felt."""
    memory = engram.capture.task_result(
        "migrate the database", "timed out after an hour", outcome=TaskOutcome.FAILED
    )

    assert "failed" in memory.content
    assert memory.affect.valence < 0


def test_a_finding_names_its_sources(engram: Engram) -> None:
    """A claim from the web can be looked up again."""
    memory = engram.capture.finding(
        "HNSW loses recall under filters", urls=["https://example.org/a"], topic="search"
    )

    assert memory.traits.urls == ("https://example.org/a",)
    assert memory.confidence == 0.6


def test_runs_of_a_tool_are_counted_on_one_procedure(engram: Engram) -> None:
    """Two successes and a failure are one memory with its record."""
    for outcome in (TaskOutcome.DONE, TaskOutcome.DONE, TaskOutcome.FAILED):
        memory = engram.capture.tool_run("pytest", "run the tests of the shop", outcome=outcome)

    assert (memory.successes, memory.failures) == (2, 1)
    assert memory.layer is Layer.PROCEDURAL
    assert memory.type is MemoryType.PROCEDURE
    assert len(engram.list()) == 1


def test_a_run_that_was_cancelled_counts_for_nothing(engram: Engram) -> None:
    """Neither as a success nor as a failure."""
    engram.capture.tool_run("pytest", "run the tests of the shop")
    memory = engram.capture.tool_run("pytest", "run the tests of the shop", outcome=TaskOutcome.CANCELLED)

    assert (memory.successes, memory.failures) == (1, 0)


def test_a_reported_command_teaches_what_worked(engram: Engram) -> None:
    """Over any interface, with the command and its output; in the same session only."""
    for session in ("a", "b"):
        engram.capture.tool_run(
            "npm",
            "build it",
            command="npm run build",
            output="error: node 18",
            outcome=TaskOutcome.FAILED,
            session=session,
        )
    engram.capture.tool_run("npm", "build it", command="NODE=20 npm run build -- --x", session="a")

    assert [one.content for one in engram.list() if one.extractor == "command-1"] == [
        "`NODE=20 npm run build -- --x` worked after `npm run build` failed: error: node 18"
    ]


def test_a_session_of_four_turns_gets_a_summary(engram: Engram) -> None:
    """It tells what was stated, and points to its turns."""
    for text in ("I live in Berlin.", "I work at Siemens.", "Hello again.", "I moved to Paris."):
        engram.observe(text, speaker="Ann", session="s")

    summary = engram.end_session("s")

    assert summary is not None
    assert "Ann works at Siemens" in summary.content
    assert len(summary.provenance.turns) == 4


def test_a_summary_of_rules_is_no_rule(engram: Engram) -> None:
    """It tells of a conversation, which fades, whatever was laid down in it."""
    for text in (
        "Always use uv, never pip.",
        "Don't push to main.",
        "I was born in 1980.",
        "I live in Oslo.",
    ):
        engram.observe(text, speaker="Ann", session="s")

    summary = engram.end_session("s")

    assert summary is not None
    assert (summary.force, summary.lasting) == (Force.ASSERTED, Lasting.STABLE)


def test_a_session_that_is_resumed_has_one_summary(engram: Engram) -> None:
    """The later end of it takes the place of the earlier one, which its history shows."""
    for text in ("I live in Berlin.", "I work at Siemens.", "Hello again.", "I play chess."):
        engram.observe(text, speaker="Ann", session="s")
    first = engram.end_session("s")
    engram.observe("My sister Ida lives in Bergen.", speaker="Ann", session="s")

    second = engram.end_session("s")

    assert first is not None
    assert second is not None
    assert [one.id for one in engram.list() if one.is_session_summary] == [second.id]
    assert engram.get(first.id).superseded_by == second.id
    assert (second.supersedes, second.version) == (first.id, 2)
    assert "5 turns" in second.content
    assert second.content.endswith("and 1 more")  # of four statements, and no summary among them


def test_a_session_that_ends_twice_is_summed_up_once(engram: Engram) -> None:
    """Some programs tell the end of a session three times."""
    for text in ("I live in Berlin.", "I work at Siemens.", "Hello again.", "I play chess."):
        engram.observe(text, speaker="Ann", session="s")

    told = [engram.end_session("s") for _ in range(3)]

    assert told[0] is not None
    assert {(one.id, one.version, one.reinforcements) for one in told if one} == {(told[0].id, 1, 0)}


def test_a_pinned_summary_stays_pinned_when_the_session_goes_on(engram: Engram) -> None:
    """A pin is the person's, and outlives what a rule does."""
    for text in ("I live in Berlin.", "I work at Siemens.", "Hello again.", "I play chess."):
        engram.observe(text, speaker="Ann", session="s")
    first = engram.end_session("s")
    assert first is not None
    engram.pin(first.id)
    engram.observe("My sister Ida lives in Bergen.", speaker="Ann", session="s")

    second = engram.end_session("s")

    assert second is not None
    assert second.pinned


@pytest.mark.parametrize(
    "talk", [["I live in Berlin.", "I moved to Paris."], ["hi", "hello", "how are you?", "fine, thanks"]]
)
def test_a_short_or_trivial_session_gets_none(engram: Engram, talk: list[str]) -> None:
    """Less than four turns, or nothing stated, is no story."""
    for text in talk:
        engram.observe(text, speaker="Ann", session="s")

    assert engram.end_session("s") is None
