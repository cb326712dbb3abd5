"""`engram status` and `engram doctor`: what they tell survives the process that it happened in."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import engramdb
from engramdb import Engram, Settings
from engramdb.capture.reading import READING
from engramdb.cli.store import ago, show_status
from engramdb.context.agent_state import ATTENTION
from engramdb.context.agents import ANTICIPATION
from engramdb.context.turns import TURNS
from engramdb.engine.scheduler import IN_BACKGROUND, SCHEDULER
from engramdb.health import CHAT, EMBEDDER, GUARD_MODEL, JUDGE, READER
from engramdb.hooks.state import PART
from engramdb.lifecycle.access_log import READ_NOTES
from engramdb.testing import TinyEmbedder
from engramdb.values import IndexReport, PartHealth, SchedulerState, StatusReport
from engramdb.verbs.wording import PARTS

if TYPE_CHECKING:
    from surfaces.fixtures import Command

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_failure_of_another_process_is_shown_with_its_age(engram_command: Command, home: Path) -> None:
    """The process that failed is gone; what failed, how often and when is not."""
    embedder = TinyEmbedder()
    embedder.failure = "the embedder has gone home"
    with Engram.open(settings=Settings(home=home), embedder=embedder, background=False) as engram:
        engram.remember("Helix is my editor")

    told = json.loads(engram_command("status", "--json").stdout)

    parts = {part["name"]: part for part in told["all_parts"]}
    assert "gone home" in parts["embedder"]["failure"]
    assert parts["embedder"]["failures"] >= 1
    assert parts["write"]["last_success"] is not None


def test_failures_add_up_and_the_latest_word_counts(engram_command: Command, home: Path) -> None:
    """Two processes that failed are two failures, and a later success ends the alarm."""
    embedder = TinyEmbedder()
    for number, failure in enumerate(("first", "second", None)):
        embedder.failure = failure
        with Engram.open(settings=Settings(home=home), embedder=embedder, background=False) as engram:
            engram.remember(f"statement {number}")

    (part,) = (one for one in status(engram_command)["all_parts"] if one["name"] == "embedder")

    assert part["failure"].startswith("E3001 second")
    assert part["failures"] >= 2
    assert part["last_success"] > part["last_failure"]
    assert "fails" not in engram_command("status").stdout


def test_a_refused_statement_is_no_failure(engram_command: Command) -> None:
    """Whoever says nothing is told so; the part that refused it works as it should."""
    engram_command("remember", "Ada plays chess with Ben")

    refused = engram_command("remember", "")

    assert refused.exit_code == 2
    (part,) = (one for one in status(engram_command)["all_parts"] if one["name"] == "write")
    assert part["failures"] == 0
    assert "fails" not in engram_command("status").stdout


def test_status_tells_sizes_room_and_what_was_done_last(engram_command: Command) -> None:
    """A person sees the disk, the last dream and sweep, and every part with its age."""
    engram_command("remember", "Ada plays chess with Ben")
    engram_command("age")

    shown = engram_command("status").stdout

    assert "GB free beside it" in shown
    assert "last dream      never" in shown
    assert "last aging      just now" in shown
    assert "last worked" in shown


def test_waiting_embeddings_are_no_fault(engram_command: Command, home: Path) -> None:
    """The doctor says that they wait, and the exit code that nothing is wrong."""
    with Engram.open(settings=Settings(home=home), embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("Helix is my editor")

    told = engram_command("doctor")

    assert told.exit_code == 0
    assert "waits     embedded: 1 memory waits to be embedded" in told.stdout
    assert "Nothing is wrong" in told.stderr


def test_doctor_says_what_it_did(engram_command: Command, home: Path) -> None:
    """A repair is explained in the report, and only there."""
    with Engram.open(settings=Settings(home=home), embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("Helix is my editor")

    checks = json.loads(engram_command("doctor", "--fix", "--json").stdout)["checks"]

    mended = {check["name"]: check["did"] for check in checks if check["repaired"]}
    assert mended == {"embedded": "embedded what waited"}
    assert all(not check["did"] for check in checks if not check["repaired"])


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(3, "just now"), (60, "1 minute ago"), (7300, "2 hours ago"), (90_000, "1 day ago")],
)
def test_ages_are_told_in_the_largest_unit(seconds: int, told: str) -> None:
    """Long ago is days, a while ago is hours."""
    assert ago(NOON, NOON + timedelta(seconds=seconds)) == told


def test_a_clock_that_runs_ahead_gives_a_date(capsys: pytest.CaptureFixture[str]) -> None:
    """What another clock wrote in the future is not "-3 minutes ago"; a stalled job is told as such."""
    report = StatusReport(
        store="memory.db",
        encrypted=True,
        format_version=1,
        size_bytes=1_000_000,
        policy="balanced",
        embedder="static",
        memories=0,
        turns=0,
        spent={"extract": {"calls": 3, "failures": 1, "input_tokens": 900, "output_tokens": 80}},
        recalls={"answers": 2, "level: text only": 1, "level: full": 1},
        index=IndexReport(kind="exact", rows=7, size_bytes=4_000, is_loaded=False),
        scheduler=SchedulerState(is_on=True, running="dream", running_since=NOON, is_stalled=True),
        all_parts=(PartHealth(name="embedder", last_failure=NOON, failure="E3001 gone", failures=1),),
    )

    show_status(report)

    shown = capsys.readouterr().out
    assert ago(NOON, NOON - timedelta(days=1)) == "2026-01-01 12:00Z"
    for words in (
        "STALLED",
        "still loading",
        "encrypted",
        "1 text only",
        "900",
        "embedder fails: E3001 gone",
    ):
        assert words in shown


def test_every_part_is_told_in_plain_words() -> None:
    """A newcomer learns of each part that the engine watches what it does."""
    jobs = {job + IN_BACKGROUND for job in ("backfill", "aging", "dream")}
    named = {
        EMBEDDER,
        READER,
        GUARD_MODEL,
        "audit",
        JUDGE,
        CHAT,
        READ_NOTES,
        READING,
        TURNS,
        ATTENTION,
        ANTICIPATION,
        SCHEDULER,
        PART,
    }

    assert set(PARTS) == named | jobs | _watched()
    assert all(part.does for part in PARTS.values())


def test_a_part_keeps_its_name_for_programs(engram_command: Command) -> None:
    """People read of recall counts; JSON says `read notes`, as stores have always noted it."""
    engram_command("remember", "Helix is my editor")
    engram_command("recall", "which editor?")

    shown = engram_command("status").stdout

    assert re.search(r"^recall counts +just now +never +0  notes what was recalled", shown, re.MULTILINE)
    assert "read notes" in {part["name"] for part in status(engram_command)["all_parts"]}


def test_what_does_not_wait_is_not_listed(engram_command: Command) -> None:
    """A store in which nothing waits has no rows about waiting."""
    engram_command("remember", "Helix is my editor")

    assert "to be " not in engram_command("status").stdout


def _watched() -> set[str]:
    """Return the names that stand as they are where the engine watches a part."""
    sources = Path(engramdb.__file__).parent.rglob("*.py")
    return {
        name for one in sources for name in re.findall(r'health\.watch\("([^"]+)"\)', one.read_text("utf-8"))
    }


def status(command: Command) -> Any:
    """Return the report as JSON."""
    return json.loads(command("status", "--json").stdout)
