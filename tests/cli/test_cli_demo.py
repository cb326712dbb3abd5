"""`engram demo`: a year of a sample life, told from what the engine really answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engramdb import Engram, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command


def test_the_story_is_told_and_its_store_kept(engram_command: Command, tmp_path: Path, home: Path) -> None:
    """Every verb has its chapter; the kept store opens like any other, and the user's own is not made."""
    place = tmp_path / "story.db"

    told = engram_command("demo", "--keep", str(place))

    assert told.exit_code == 0, told.stderr
    heads = [line.split()[1] for line in told.stdout.splitlines() if line[:1].isdigit()]
    assert heads == [
        "observe",
        "recall",
        "contradict",
        "context",
        "forecast",
        "age",
        "dream",
        "forget",
        "erase",
    ]
    assert "my sister Nora just moved to Lisbon" in told.stdout
    assert "“Lisbon” is not among the" in told.stdout
    assert str(place) in told.stderr
    assert not home.exists()
    with Engram.open(settings=Settings(home=home, store=str(place), embedder="static")) as engram:
        assert "Ben" in engram.recall("who leads Falcon?").hits[0].memory.content


def test_the_story_ends_today_and_is_one_document(engram_command: Command) -> None:
    """As JSON it is a list of chapters, a year from the first to the last."""
    chapters = json.loads(engram_command("demo", "--json").stdout)

    first, last = (datetime.fromisoformat(chapters[place]["on"]) for place in (0, -1))
    assert timedelta(days=360) < last - first < timedelta(days=400)
    assert timedelta() < datetime.now(UTC) - last < timedelta(days=3)
    assert all(chapter["lines"] for chapter in chapters)


def test_what_is_there_is_not_overwritten(engram_command: Command, tmp_path: Path) -> None:
    """`--keep` makes a new file or none."""
    place = tmp_path / "letter.txt"
    place.write_text("Dear Ada")

    result = engram_command("demo", "--keep", str(place))

    assert result.exit_code == 2
    assert place.read_text() == "Dear Ada"
