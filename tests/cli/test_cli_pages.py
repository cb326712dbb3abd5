"""Long lists on the command line: a line says how to go on, and going on meets what follows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Settings
from engramdb.values import Gap, GapKind

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command


@pytest.fixture
def filled(home: Path) -> Path:
    """A store with three turns, questions and dreams, and with what the audit says of them."""
    with Engram.open(settings=Settings(home=home), background=False) as engram:
        for number in range(3):
            engram.observe(f"turn number {number}", session="s1")
            engram.dream(steps=["gaps"])
        with engram._parts.store.atomic() as tx:
            for number in range(3):
                gap = Gap(
                    id=f"gap{number}",
                    kind=GapKind.MISSING_FIELD,
                    question=f"Is {number} so?",
                    found_at=engram._now(),
                )
                tx.gaps.put(gap)
    return home


@pytest.mark.parametrize(
    ("command", "key"), [("turns", "id"), ("gaps", "id"), ("dreams", "number"), ("audit", "number")]
)
def test_pages_follow_one_another(engram_command: Command, filled: Path, command: str, key: str) -> None:
    """The option that the line names, with what it names, gives what comes next; the end says no more."""
    whole = json.loads(engram_command(command, "--json").stdout)
    size = len(whole) - 1

    first = engram_command(command, "--limit", str(size))
    shown = json.loads(engram_command(command, "--limit", str(size), "--json").stdout)
    *_, option, cursor = first.stderr.split()
    last = engram_command(command, "--limit", str(size), option, cursor)
    following: list[Any] = json.loads(engram_command(command, option, cursor, "--json").stdout)

    ordered = [*following, *shown] if command == "turns" else [*shown, *following]
    assert ordered == whole
    assert "There may be more; add" in first.stderr
    assert last.stderr == ""
    assert len({one[key] for one in whole}) == len(whole)


@pytest.mark.parametrize(
    ("command", "option", "cursor"),
    [("turns", "--before", "nobody"), ("gaps", "--after", "nobody"), ("audit", "--before", "0")],
)
def test_a_place_that_is_none_is_refused(
    engram_command: Command, filled: Path, command: str, option: str, cursor: str
) -> None:
    """A number that is none is a question that cannot be asked; an id that names nothing is not there."""
    refused = engram_command(command, option, cursor)

    assert (refused.exit_code, refused.stderr.split()[1]) == ((2, "E2004") if cursor == "0" else (3, "E5005"))


def test_the_end_is_told_as_the_end(engram_command: Command, filled: Path) -> None:
    """Behind the last entry there is no beginner's advice."""
    (first, *_) = json.loads(engram_command("turns", "--json").stdout)

    beyond = [
        engram_command("turns", "--before", first["id"]),
        engram_command("dreams", "--before", "1"),
        engram_command("gaps", "--after", "gap2"),
    ]

    assert [one.stderr.strip() for one in beyond] == [
        "Nothing was said before that.",
        "No earlier dream.",
        "No other is open.",
    ]
