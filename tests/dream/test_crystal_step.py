"""A finished piece of work is told as one story with its lessons, a week after its end and once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Layer, Scope
from engramdb.dream.crystals import LESSONS, MAKER, CrystalsStep
from engramdb.dream.inference import InferenceStep
from engramdb.dream.procedures import ProceduresStep
from engramdb.dream.semantic import SemanticStep
from engramdb.dream.synthesis import SynthesisStep
from engramdb.models.chat import BadReply
from engramdb.models.prompts import crystallise
from engramdb.testing import ManualClock, ScriptedChat
from engramdb.values import Provenance, Status, TaskOutcome

from .learnt import awake, contents, everything, interrupted, made, take, tell, with_chat

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.dream.step import DreamStep

FAILED, DONE, AGAIN = TaskOutcome.FAILED, TaskOutcome.DONE, TaskOutcome.RETRY
CANCELLED = TaskOutcome.CANCELLED


def work(
    engram: Engram,
    clock: ManualClock,
    *outcomes: TaskOutcome,
    session: str | None = "s1",
    scope: Scope = Scope(),
) -> None:
    """Try to migrate the database, an hour for each try."""
    results = {
        FAILED: "the lock timed out",
        DONE: "ran db/migrate.sql at night",
        AGAIN: "still waiting for the lock",
    }
    for outcome in outcomes:
        engram.capture.task_result(
            "Migrate the database", results[outcome], outcome=outcome, session=session, scope=scope
        )
        clock.advance(hours=1)


def test_a_finished_chain_becomes_a_story_with_a_lesson(engram: Engram, clock: ManualClock) -> None:
    """Outcomes, decisions and files are in the story; failing before succeeding is the lesson."""
    work(engram, clock, FAILED, DONE)
    tell(
        engram,
        "We decided to migrate at night only",
        category="decision",
        provenance=Provenance(session="s1"),
        occurred_at=clock.now(),
    )
    clock.advance(days=8)

    take(engram, "crystals")

    (story,) = made(engram, MAKER)
    (lesson,) = made(engram, LESSONS)
    assert story.content == (
        "Work in s1, 1 January 2026: 1 task, 1 succeeded. “Migrate the database” failed: the lock timed out; "
        "“Migrate the database” succeeded: ran db/migrate.sql at night. "
        "Decided: We decided to migrate at night only. Files: db/migrate.sql."
    )
    assert (story.confidence, story.layer, story.type) == (0.6, Layer.SEMANTIC, "narrative")
    assert len(story.provenance.episodes) == 3
    assert lesson.content == (
        "Lesson from “Migrate the database”: what failed: the lock timed out; "
        "what succeeded: ran db/migrate.sql at night"
    )
    assert (lesson.confidence, lesson.layer) == (0.6, Layer.EPISODIC)
    assert lesson.stability < story.stability


def test_a_story_is_told_once(engram: Engram, clock: ManualClock) -> None:
    """Later dreams do not tell it again, and what is done later in the session is a story of its own."""
    work(engram, clock, FAILED, DONE)
    clock.advance(days=8)
    take(engram, "crystals")

    again = take(engram, "crystals")
    engram.capture.task_result("Clean up", "dropped two tables", session="s1")
    engram.capture.task_result("Announce it", "wrote to everybody", session="s1")
    clock.advance(days=8)
    take(engram, "crystals")

    assert again.counts == {}
    assert [len(one.provenance.episodes) for one in made(engram, MAKER)] == [2, 2]


@pytest.mark.parametrize("outcomes", [(FAILED, AGAIN), (DONE, AGAIN), (AGAIN, AGAIN)])
def test_unfinished_work_is_not_told(
    engram: Engram, clock: ManualClock, outcomes: tuple[TaskOutcome, ...]
) -> None:
    """While the last word on a task is that it was tried again, there is no story."""
    work(engram, clock, *outcomes)
    clock.advance(days=30)

    assert take(engram, "crystals").counts == {}


def test_a_week_must_have_passed(engram: Engram, clock: ManualClock) -> None:
    """Six days after the last action the chain may still go on."""
    work(engram, clock, FAILED, DONE)
    clock.advance(days=6)

    assert take(engram, "crystals").counts == {}


def test_work_without_a_session_is_told_by_the_week(engram: Engram, clock: ManualClock) -> None:
    """Actions of one week that name no session belong together; those of the next are another story."""
    work(engram, clock, FAILED, DONE, session=None)
    clock.advance(days=14)
    engram.capture.task_result("Clean up", "dropped two tables")
    engram.capture.task_result("Announce it", "wrote to everybody")
    clock.advance(days=8)

    take(engram, "crystals")

    assert [one.content[:17] for one in made(engram, MAKER)] == ["Work in 2026-W01,", "Work in 2026-W03,"]


def test_parts_of_a_larger_task_are_one_story(engram: Engram, clock: ManualClock) -> None:
    """Whatever the session, with the parts of its parts and the whole itself; a circle ends somewhere."""
    done = engram.capture.task_result
    done("Dump the tables", "12 files", parent="Move the data", session="s1")
    done("Move the data", "all of it", parent="Leave the old host", session="s2")
    done(
        "Switch the mails", "nobody reads them", parent="Leave the old host", outcome=CANCELLED, session="s3"
    )
    done("Leave the old host", "it is switched off", session="s4")
    done("Alone", "nothing to do with it", session="s4")
    for one, other in (("Chicken", "Egg"), ("Egg", "Chicken")):
        done(one, "came first", parent=other)
    clock.advance(days=8)

    take(engram, "crystals")

    stories = [one.content for one in made(engram, MAKER)]
    (move,) = [story for story in stories if "old host" in story]
    assert "Work in “Leave the old host”, 1 January 2026: 4 tasks, 3 succeeded, 1 was cancelled." in move
    assert not any("Alone" in story for story in stories)


def test_the_work_of_two_projects_is_not_one_story(engram: Engram, clock: ManualClock) -> None:
    """The same session name in two scopes is two sessions."""
    work(engram, clock, DONE, scope=Scope(project="a"))
    work(engram, clock, DONE, scope=Scope(project="b"))
    clock.advance(days=8)

    assert take(engram, "crystals").counts == {}


def test_a_story_of_something_forgotten_is_taken_back(engram: Engram, clock: ManualClock) -> None:
    """What is left is told anew, without it."""
    work(engram, clock, FAILED, DONE)
    engram.capture.task_result("Clean up", "dropped two tables", session="s1")
    clock.advance(days=8)
    take(engram, "crystals")
    (before,) = made(engram, MAKER)
    (forgotten,) = [
        one for one in engram.list(limit=50) if "timed out" in one.content and one.extractor == "task-1"
    ]

    engram.forget(forgotten.id, reason="private")
    take(engram, "crystals")

    (after,) = made(engram, MAKER)
    assert engram.get(before.id).status is Status.PRUNED
    assert "timed out" not in after.content
    assert made(engram, LESSONS) == []


def a_life(path: Path) -> Engram:
    """A memory in which every step of this kind has something to do."""
    clock = ManualClock()
    engram = awake(path, clock)
    tell(engram, "The parser is part of the compiler", "The compiler is part of the toolchain")
    tell(engram, "I like green tea", "I like black tea", "I like herbal tea", layer=Layer.SEMANTIC)
    for _ in range(2):
        for tool, purpose in (("pytest", "run the tests"), ("docker", "build the image")):
            engram.capture.tool_run(tool, purpose)
        clock.advance(days=1)
    work(engram, clock, FAILED, DONE)
    clock.advance(days=40)
    return engram


@pytest.mark.parametrize(
    "step",
    [SemanticStep(), ProceduresStep(), SynthesisStep(), CrystalsStep(), InferenceStep()],
    ids=lambda step: step.name,
)
def test_a_step_that_is_stopped_anywhere_ends_where_it_would_have(step: DreamStep, tmp_path: Path) -> None:
    """Stopped once at every place and taken again, it leaves the same memories as in one go."""
    with a_life(tmp_path / "whole.db") as whole:
        take(whole, step.name)
        expected = everything(whole)

    with a_life(tmp_path / "pieces.db") as pieces:
        for after in range(1, 8):
            interrupted(pieces, step, after=after)
        take(pieces, step.name)

        assert everything(pieces) == expected


def reply(narrative: str, *lessons: tuple[str, list[int]]) -> str:
    """What a chat model answers."""
    told = [{"text": text, "statements": numbers} for text, numbers in lessons]
    return json.dumps({"narrative": narrative, "lessons": told})


def test_a_chat_model_tells_the_story_but_may_not_make_things_up(engram: Engram, clock: ManualClock) -> None:
    """Its prose is kept with the files; a lesson with a number of its own is not."""
    work(engram, clock, FAILED, DONE)
    clock.advance(days=8)
    prose = "The database was migrated. It worked at night, after the lock had timed out."
    lessons = [("Migrate the database at night.", [1, 2]), ("Wait 45 minutes for the lock.", [1])]
    with_chat(engram, ScriptedChat([reply(prose, *lessons)]))

    take(engram, "crystals")

    assert contents(made(engram, MAKER)) == [f"{prose} Files: db/migrate.sql."]
    assert contents(made(engram, LESSONS)) == ["Migrate the database at night."]


def test_a_made_up_story_is_told_by_the_actions_instead(engram: Engram, clock: ManualClock) -> None:
    """One sentence with a name of its own, and the results are told in order."""
    work(engram, clock, FAILED, DONE)
    clock.advance(days=8)
    with_chat(engram, ScriptedChat([reply("The database was migrated. Bob Miller was pleased.")]))

    take(engram, "crystals")

    assert contents(made(engram, MAKER))[0].startswith("Work in s1")


@pytest.mark.parametrize(
    "text", ["{}", '{"narrative": ""}', '{"narrative": "x", "lessons": [{"text": "y"}]}']
)
def test_a_story_in_another_form_is_a_bad_reply(text: str) -> None:
    """A story there must be, and every lesson must name its actions."""
    with pytest.raises(BadReply):
        crystallise.parse(text, count=2)
