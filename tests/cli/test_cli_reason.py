"""The command `engram reason`: evidence and its tree, an answer where there is a model, and JSON of both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.cli.questions import show_reasoned
from engramdb.testing import ManualClock
from engramdb.values import EvidenceNode, ModelCall, Origin, Reasoned

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command

ASKED = "Where does the lead of Falcon live?"


@pytest.fixture
def told(home: Path) -> None:
    """A store in which a question needs two memories."""
    home.mkdir()
    with Engram.open(home / "memory.db", clock=ManualClock(), background=False) as engram:
        engram.remember("Anna leads Falcon.")
        engram.remember("Anna lives in Oslo.")


@pytest.mark.usefixtures("told")
def test_evidence_and_the_questions_that_led_to_it_are_shown(engram_command: Command) -> None:
    """Results on stdout; that there is no answer, and why, on stderr."""
    done = engram_command("reason", ASKED)

    assert done.exit_code == 0, done.stderr
    assert "Anna lives in Oslo." in done.stdout
    assert "lead: Where does Anna live?" in done.stdout
    assert "no chat model takes part" in done.stderr


@pytest.mark.usefixtures("told")
def test_the_tree_comes_as_json(engram_command: Command) -> None:
    """A script sees the same shapes as Python does."""
    done = engram_command("reason", ASKED, "--json", "--depth", "2", "--limit", "5")

    found = json.loads(done.stdout)
    assert found["answer"] is None
    assert found["depth"] == 2
    assert [child["question"] for child in found["tree"]["children"]] == ["Where does Anna live?"]


@pytest.mark.usefixtures("told")
def test_a_depth_that_cannot_be_is_one_line(engram_command: Command) -> None:
    """The number and what is allowed, and an exit code."""
    done = engram_command("reason", ASKED, "--depth", "9")

    assert done.exit_code != 0
    assert "depth=9 is outside 1 to 5" in done.stderr


def test_an_answer_stands_first_with_its_memories(engine: Engram, capsys: pytest.CaptureFixture[str]) -> None:
    """Then what it stands on by the short ids, and what it cost."""
    stored = engine.remember("Anna lives in Oslo.")
    call = ModelCall(purpose="answer", model="scripted", input_tokens=50, output_tokens=5)
    reasoned = Reasoned(
        question=ASKED,
        answer="In Oslo.",
        cited=(stored.id,),
        tree=EvidenceNode(question=ASKED, origin=Origin.ASKED, level=1),
        calls=(call,),
        most_calls=3,
    )

    show_reasoned(reasoned)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "In Oslo."
    assert stored.id[-8:] in lines[1]
    assert "1 call of 3 at most, 55 tokens" in lines[-1]
