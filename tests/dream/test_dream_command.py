"""`engram dream` and `engram unmerge`: what a person sees, and what a program reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from engramdb.cli.main import app

from .dreamt import keep, opened

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def store(store_path: Path) -> Path:
    """A store with two statements that say the same."""
    with opened(store_path) as engram:
        keep(engram, "I like green tea")
        keep(engram, "I really like green tea")
    return store_path


def engram(store: Path, *arguments: str) -> Result:
    """Run a command over the store."""
    return CliRunner().invoke(app, [*arguments, "--store", str(store)], catch_exceptions=False)


def test_a_rehearsal_tells_and_changes_nothing(store: Path) -> None:
    """Ids and reasons are shown, words are not."""
    answer = engram(store, "dream", "--dry-run", "--steps", "merge")
    report = json.loads(engram(store, "dream", "--dry-run", "--steps", "merge", "--json").stdout)

    assert answer.exit_code == 0
    assert "would do" in answer.stdout
    assert "Nothing was changed" in answer.stderr
    assert "green" not in answer.output
    assert report["changes"][0]["action"] == "merge"


def test_a_dream_and_its_undoing(store: Path) -> None:
    """What was merged can be taken apart by the id that the dream shows."""
    report = json.loads(engram(store, "dream", "--json", "--steps", "merge").stdout)
    kept = report["changes"][0]["made"]

    back = engram(store, "unmerge", kept, "--reason", "not the same")
    again = engram(store, "dream", "--steps", "merge")

    assert back.exit_code == 0
    assert "brought back" in back.stdout
    assert "I really like green tea" in back.stdout
    assert "nothing changed" in again.stdout


def test_an_unknown_step_is_an_error_with_the_known_ones(store: Path) -> None:
    """The hint says what can be named."""
    answer = engram(store, "dream", "--steps", "sleepwalk")

    assert answer.exit_code != 0
    assert "merge" in answer.stderr
