"""Who judges: by default the rules, the pack where the settings say so, and never at the cost of a write."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engramdb import Engram, Settings, Status
from engramdb.errors import InvalidSettings
from engramdb.models.packs import MANIFEST, READER_VERSION, add_pack, pack_folder
from engramdb.models.registry import E5_READER
from engramdb.testing import ManualClock

OLD, NEW = "we keep our tickets in Jira", "we're done with Jira, everything lives in Linear these days"
ALSO = "my sister's team keeps its tickets in Jira"


@pytest.fixture
def home(e5_home: Path, tmp_path: Path) -> Path:
    """A home of its own with the pack in it."""
    add_pack("e5-small", e5_home)
    shutil.copytree(pack_folder("e5-small", e5_home), pack_folder("e5-small", tmp_path / "home"))
    return tmp_path / "home"


def opened(home: Path, clock: ManualClock, reader: str) -> Engram:
    """Open a store in a home with a reader."""
    settings = Settings(home=home, reader=reader, embedder="static")
    return Engram.open(home / f"{reader}.db", settings=settings, clock=clock, background=False)


@pytest.fixture
def engram(home: Path, clock: ManualClock) -> Iterator[Engram]:
    """A store that asks the pack."""
    with opened(home, clock, "pack") as engram:
        yield engram


def test_the_pack_sees_a_change_in_natural_words(engram: Engram) -> None:
    """And leaves what belongs to somebody else alone."""
    old, other = engram.remember(OLD), engram.remember(ALSO)

    engram.remember(NEW)
    engram.judge_pending()  # what a busy machine left for later

    assert engram.get(old.id).status is Status.CHALLENGED
    assert engram.get(other.id).status is Status.ACTIVE
    assert any(f"says {E5_READER}" in event.reason for event in engram.history(old.id))


def test_the_pack_sees_repetitions_in_natural_words(engram: Engram) -> None:
    """A dream makes three wordings of one fact evidence of it; two could be an error of a small network."""
    for said in (
        "I'm allergic to peanuts",
        "peanuts give me an allergic reaction",
        "I have a peanut allergy",
    ):
        engram.remember(said)

    engram.dream()

    (left,) = engram.list()
    assert len(engram.evidence(left.id).wordings) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Я живу в Москве", "Я живу в Киеве"),
        (
            "The notes: " + "we met and talked about plans, " * 30 + "and Marta leaves.",
            "The notes: " + "we met and talked about plans, " * 30 + "and Tom stays.",
        ),
    ],
)
def test_what_the_pack_cannot_read_whole_it_does_not_judge(engram: Engram, first: str, second: str) -> None:
    """Letters that its vocabulary lacks, and texts that are too long, stay as they are."""
    one, two = engram.remember(first), engram.remember(second)

    assert one.id != two.id
    assert engram.get(one.id).status is Status.ACTIVE
    assert engram.status().awaiting_judgment == 0


def test_by_default_the_pack_judges_where_it_is_installed(home: Path, clock: ManualClock) -> None:
    """With the rules alone both statements stay."""
    with opened(home, clock, "auto") as engram:
        old = engram.remember(OLD)
        engram.remember(NEW)
        engram.judge_pending()

        report = engram.status()
        assert (report.reader, report.judge) == (f"rules, {E5_READER}", f"rules, {E5_READER}")
        assert engram.get(old.id).status is Status.CHALLENGED


@pytest.mark.parametrize("damage", ["cut", "gone", "older", "manifest"])
def test_a_reader_that_cannot_be_loaded_costs_no_write(home: Path, clock: ManualClock, damage: str) -> None:
    """Statements are stored and wait; `status` says what fails, and why."""
    folder = pack_folder("e5-small", home)
    if damage == "cut":
        (folder / "reader.onnx").write_bytes((folder / "reader.onnx").read_bytes()[:1000])
    elif damage == "gone":
        shutil.rmtree(folder)
    elif damage == "older":
        (folder / MANIFEST).write_text(
            (folder / MANIFEST).read_text().replace(f'"reader": "{READER_VERSION}"', '"reader": "0"')
        )
    else:
        (folder / MANIFEST).write_text("{")
    with opened(home, clock, "pack") as engram:
        engram.remember(OLD)
        engram.remember(NEW)

        report = engram.status()
        assert len(engram.list()) == 2
        assert report.awaiting_judgment == 1
        assert next(part for part in report.parts if part.name == "judge").is_failing


def test_what_waits_is_judged_in_the_background(home: Path, clock: ManualClock) -> None:
    """Also when the process that left it has ended."""
    with opened(home, clock, "pack") as engram:
        engram._parts.judge.relate = lambda *_args, **_kwargs: []  # type: ignore[union-attr,method-assign]
        old = engram.remember(OLD)
        engram.remember(NEW)
        assert engram.status().awaiting_judgment == 1

    settings = Settings(home=home, reader="pack", embedder="static")
    with Engram.open(home / "pack.db", settings=settings, clock=clock) as engram:
        engram.flush()
        for _ in range(200):
            if not engram.status().awaiting_judgment:
                break
            engram._parts.stop.wait(0.1)
        assert engram.get(old.id).status is Status.CHALLENGED


def test_a_judge_that_failed_is_asked_again_in_the_background(
    home: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has to be written for that."""
    monkeypatch.setattr("engramdb.lifecycle.backlog.JUDGE_AGAIN_SECONDS", 0.1)
    folder = pack_folder("e5-small", home)
    folder.rename(home / "aside")
    settings = Settings(home=home, reader="pack", embedder="static")
    with Engram.open(home / "again.db", settings=settings, clock=clock) as engram:
        old = engram.remember(OLD)
        engram.remember(NEW)
        assert engram.status().awaiting_judgment == 1
        (home / "aside").rename(folder)
        for _ in range(300):
            if not engram.status().awaiting_judgment:
                break
            engram._parts.stop.wait(0.1)
        assert engram.get(old.id).status is Status.CHALLENGED


@pytest.mark.parametrize(
    ("reader", "chat", "reads", "judges"),
    [
        ("rules", "", "rules", "rules"),
        ("auto", "", "rules, static-head", "rules"),
        ("pack", "", "rules", f"rules, {E5_READER}"),
        ("auto", "openai:small", "rules, static-head, openai:small", "rules, openai:small/"),
    ],
)
def test_status_names_what_reads_and_what_judges(
    tmp_path: Path, reader: str, chat: str, reads: str, judges: str
) -> None:
    """Without a pack; nothing is called a reader that reads nothing."""
    settings = Settings(
        home=tmp_path, reader=reader, embedder="static", chat=chat, chat_url="http://localhost:1"
    )
    with Engram.open(settings=settings, background=False) as engram:
        report = engram.status()

    assert report.reader == reads
    assert report.judge.startswith(judges)


def test_a_chat_reader_needs_a_chat_model(tmp_path: Path) -> None:
    """And an unknown one is an error that names the known."""
    with pytest.raises(InvalidSettings, match="needs a chat model"):
        Settings(home=tmp_path, reader="chat")
    with pytest.raises(InvalidSettings, match="auto, rules, pack, chat"):
        Settings(home=tmp_path, reader="oracle")


def test_adding_a_pack_again_brings_the_reader_of_this_release(home: Path) -> None:
    """One that was added before there was a reader is built anew; nothing else changes."""
    folder = pack_folder("e5-small", home)
    manifest = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(manifest.replace(f'"reader": "{READER_VERSION}"', '"reader": ""'))

    pack = add_pack("e5-small", home)

    assert pack.manifest.reader == READER_VERSION


def test_a_pack_without_its_reader_is_named_and_costs_no_sentence(home: Path, clock: ManualClock) -> None:
    """By default too: the rules alone read what is said until the pack is mended, and status says so."""
    shutil.rmtree(pack_folder("e5-small", home))
    pack_folder("e5-small", home).mkdir()
    (pack_folder("e5-small", home) / MANIFEST).write_text("{", encoding="utf-8")
    with opened(home, clock, "auto") as engram:
        engram.observe("finally unpacked in our Lisbon flat", session="s")
        engram.flush()

        assert [one.content for one in engram.list()] == ["finally unpacked in our Lisbon flat"]
        assert any(part.name == "reader" and part.is_failing for part in engram.status().parts)


def test_one_damaged_network_takes_no_other_along(home: Path, clock: ManualClock) -> None:
    """Without its guard model the pack still embeds and reads."""
    guard = pack_folder("e5-small", home) / "guard.onnx"
    guard.write_bytes(guard.read_bytes()[:1000])
    with Engram.open(
        home / "memory.db", settings=Settings(home=home), clock=clock, background=False
    ) as engram:
        engram.remember(OLD)
        failing = [part.name for part in engram.status().parts if part.is_failing]

        assert failing == ["guard model"]
        assert engram.status().embedder.startswith("e5-small")
