"""The same steps in the same order, on several occasions, become a procedure with purpose and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Layer, Scope
from engramdb.dream.procedures import MAKER, normalize_steps, parse_steps, recurring_sequences
from engramdb.values import Provenance, TaskOutcome

from .learnt import contents, made, take, tell

if TYPE_CHECKING:
    from engramdb.testing import ManualClock

STEPS = (("pytest", "run the tests"), ("docker", "build the image"), ("kubectl", "roll out"))
LISTED = "1. pytest: run the tests; 2. docker: build the image; 3. kubectl: roll out"


def deploy(
    engram: Engram,
    clock: ManualClock,
    *,
    task: str | None = "Deploy the site",
    last: TaskOutcome = TaskOutcome.DONE,
    scope: Scope = Scope(),
) -> None:
    """Go through the steps once, a minute apart, then rest for a day."""
    for tool, purpose in STEPS:
        outcome = last if tool == STEPS[-1][0] else TaskOutcome.DONE
        engram.capture.tool_run(tool, purpose, outcome=outcome, scope=scope)
        clock.advance(minutes=1)
    if task is not None:
        engram.capture.task_result(task, f"done on {clock.now().date()}", scope=scope)
    clock.advance(days=1)


def test_runs_in_the_same_order_become_a_procedure(engram: Engram, clock: ManualClock) -> None:
    """Steps, purpose and counts come from the runs and from the task that they served."""
    deploy(engram, clock)
    deploy(engram, clock)
    deploy(engram, clock, last=TaskOutcome.FAILED)

    take(engram, "procedures")

    (found,) = made(engram, MAKER)
    assert found.content == f"Procedure for “Deploy the site”: {LISTED}"
    assert (found.layer, found.type, found.category) == (Layer.PROCEDURAL, "procedure", "procedure")
    assert (found.successes, found.failures) == (2, 1)


def test_once_is_no_procedure(engram: Engram, clock: ManualClock) -> None:
    """Two occasions are the least; the same runs in one sitting are one occasion."""
    deploy(engram, clock)

    assert take(engram, "procedures").counts == {}


def test_learning_again_changes_nothing_and_new_runs_are_counted(engram: Engram, clock: ManualClock) -> None:
    """The second dream is silent; after another run only the counts and the evidence grow."""
    deploy(engram, clock)
    deploy(engram, clock)
    take(engram, "procedures")
    (before,) = made(engram, MAKER)

    again = take(engram, "procedures")
    deploy(engram, clock)
    take(engram, "procedures")

    (after,) = made(engram, MAKER)
    assert again.counts == {}
    assert (after.id, after.successes) == (before.id, 3)


def test_a_purpose_that_becomes_known_is_a_new_version(engram: Engram, clock: ManualClock) -> None:
    """The steps stay one procedure when the task behind them is told later."""
    for _ in range(2):
        deploy(engram, clock, task=None)
    take(engram, "procedures")
    (before,) = made(engram, MAKER)
    for _ in range(2):
        deploy(engram, clock)

    take(engram, "procedures")

    (after,) = made(engram, MAKER)
    assert (before.content, after.supersedes) == (f"Procedure: {LISTED}", before.id)
    assert after.content.startswith("Procedure for “Deploy the site”")


def test_runs_of_two_scopes_are_not_one_pattern(engram: Engram, clock: ManualClock) -> None:
    """What one project does once and another does once recurs nowhere."""
    deploy(engram, clock, scope=Scope(project="one"))
    deploy(engram, clock, scope=Scope(project="two"))

    assert take(engram, "procedures").counts == {}


def test_steps_that_are_stated_twice_become_a_procedure(engram: Engram) -> None:
    """Statements of two sessions that list the same steps agree on a procedure, in the words of the first."""
    tell(
        engram,
        "To release the app, first bump the version, then tag the commit, then publish the package",
        provenance=Provenance(session="a"),
    )
    tell(
        engram,
        "Releases go like this: 1. bump the version 2. tag the commit 3. publish the package",
        provenance=Provenance(session="b"),
    )

    take(engram, "procedures")

    assert contents(made(engram, MAKER)) == [
        "Procedure for “release the app”: 1. bump the version; 2. tag the commit; 3. publish the package"
    ]


def test_a_forgotten_procedure_stays_forgotten(engram: Engram, clock: ManualClock) -> None:
    """What a person took away is not learned again from the same kind of runs."""
    deploy(engram, clock)
    deploy(engram, clock)
    take(engram, "procedures")
    engram.forget(made(engram, MAKER)[0].id, reason="not how we do it")
    deploy(engram, clock)

    take(engram, "procedures")

    assert made(engram, MAKER) == []


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("To deploy, first test, then build, finally ship.", ("test", "build", "ship")),
        ("1. open the valve 2. wait 3. close it", ("open the valve", "wait", "close it")),
        ("lint -> test -> merge", ("lint", "test", "merge")),
        ("I have 2. cars and 3. bikes", ()),
        ("We eat at noon", ()),
    ],
)
def test_steps_are_read_from_the_usual_ways_of_listing_them(text: str, steps: tuple[str, ...]) -> None:
    """Words of order, numbers that count from one, arrows; everything else lists no steps."""
    assert parse_steps(text)[1] == steps


def test_only_whole_patterns_are_told() -> None:
    """A stretch that only occurs inside a longer pattern is not told apart; one that occurs more often is."""
    found = recurring_sequences([list("abc"), list("xabcy"), list("ab")], min_occasions=2, max_steps=8)

    assert found == {("a", "b", "c"): [0, 1], ("a", "b"): [0, 1, 2]}


def test_the_same_steps_in_other_forms_are_the_same() -> None:
    """Word forms do not tell steps apart; their order does."""
    assert normalize_steps(["run the tests", "build it"]) == normalize_steps(
        ["running the test", "building it"]
    )
    assert normalize_steps(["build", "test"]) != normalize_steps(["test", "build"])
