"""Who asks for everything gets an overview, who asks for something else gets that, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.context.overview import choose_spread, fill_overview, is_overview, tree_lines
from engramdb.policy import NAMES
from engramdb.testing import ManualClock
from engramdb.values import Breadth, SectionName, Summary
from engramdb.values.insight import FACT_END
from evals.abstention import stores
from evals.windows import STANDING, is_verbatim, talks

from .made import EXACT, MEASURE, NOW, memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORES = stores(None)


@pytest.mark.parametrize(
    "message",
    [
        *(
            "Give me an overview",
            "what do you know about me?",
            "summarise the project",
            "where do things stand?",
        ),
        *(
            "Can you recap everything we have so far?",
            "catch me up please",
            "What's the status?",
            "Who am I?",
        ),
        *("overview of this project", "Gib mir einen Überblick über das Projekt", "Que sais-tu de moi ?"),
        *("dame un resumen", "概要を教えて", "你知道我什么", "Fass mal zusammen, was du alles weißt"),
    ],
)
def test_who_asks_for_everything_is_understood(message: str) -> None:
    """In the languages that have a word list."""
    assert is_overview(message)


@pytest.mark.parametrize(
    "message",
    [
        *("summarise this", "what do you know about Mia?", "give me an overview of the billing migration"),
        *("What's the status of the invoice?", "where did we leave the keys?", "write a summary function"),
        *("can you recap the meeting with Ann?", "resume", "update the overview page", "who am I meeting?"),
        "Give me a summary: " + "the meeting was long and nobody agreed on anything. " * 5,
    ],
)
def test_who_names_something_does_not_ask_for_everything(message: str) -> None:
    """A topic, a text that comes along, or work to be done."""
    assert not is_overview(message)


@pytest.mark.parametrize("row", STORES, ids=lambda row: row["id"])
def test_no_question_about_something_is_taken_for_one_about_everything(row: dict[str, list[str]]) -> None:
    """Of five hundred questions that others wrote."""
    asked = [*row["near"], *row["far"], *(one["question"] for one in row["answerable"])]  # type: ignore[index]

    assert [one for one in asked if is_overview(one)] == []


def test_an_extract_is_spread_over_topics() -> None:
    """Ten wordings of one matter get one line before another matter is left out."""
    talk = [memory(f"The otter server runs Debian {number} in rack one", number) for number in range(10)]
    others = [memory("My cat Okra gets insulin at seven", 10), memory("The rent is due by the 8th", 11)]

    places = choose_spread([*talk, *others], [10] * 12, 30, now=NOW)

    assert {10, 11} < set(places)


@pytest.mark.parametrize("allowance", [60, 100, 150, 300, 2_000])
def test_an_overview_keeps_to_its_tokens(allowance: int) -> None:
    """With a tree and without, and the title says which of them it is."""
    known = [
        memory(f"Note {number} about the {word} in the garden", number) for number, word in enumerate(TOPICS)
    ]
    tree = {breadth: [summary(breadth)] for breadth in Breadth}

    extract, _ = fill_overview(known, allowance, measure=MEASURE, now=NOW)
    summed, _ = fill_overview(known, allowance, measure=MEASURE, now=NOW, summaries=tree.__getitem__)

    assert extract is not None
    assert summed is not None
    assert extract.text.startswith("# Overview: extract, ")
    assert summed.text.startswith("# Overview: summary, ")
    assert "- summary of 30 memories: fact 0" in summed.text
    assert EXACT.count(extract.text) <= allowance >= EXACT.count(summed.text)


TOPICS = "tulips beans roof shed path pond fence gate hedge compost tools hose bench swing lamp".split()  # noqa: SIM905


def summary(breadth: Breadth) -> Summary:
    """Return a summary of some facts, the fewer the wider it is."""
    text = FACT_END.join(f"fact {number} of the garden" for number in range(40 // breadth.level**2))
    return Summary(id="s", breadth=breadth, title="garden", text=text, tokens=9, members=30)


@pytest.mark.parametrize(("room", "breadth"), [(1_000, 1), (100, 2), (45, 3), (25, 3)])
def test_the_narrowest_breadth_that_fits_is_told(room: int, breadth: int) -> None:
    """Where not even the widest fits, it is cut between two facts and never within one."""
    tree = {one: [summary(one)] for one in Breadth}

    (line,), told = tree_lines(tree.__getitem__, room, measure=MEASURE)

    facts = line.partition(": ")[2].split(FACT_END)
    assert len(facts) <= 40 // breadth**2
    assert all(fact.endswith("of the garden") for fact in facts)
    assert (told, EXACT.count(line) <= room) == (30, True)


@pytest.fixture(scope="module", params=NAMES)
def living(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A store of three lives under each preset, told some days ago."""
    home: Path = tmp_path_factory.mktemp(request.param)
    settings = Settings(home=home, embedder="static", policy=request.param, durability="relaxed")
    clock = ManualClock()
    with Engram.open(settings=settings, clock=clock, background=False) as engram:
        for row in STORES[:6:2]:
            for words in row["memories"]:
                engram.remember(words)
        clock.advance(days=3)
        yield engram


def test_every_preset_gives_an_overview_of_every_life(living: Engram) -> None:
    """Marked as an extract before a dream; with the tree after one; within 300 tokens either way."""
    before = living.context("Give me an overview", budget=300)
    living.dream()
    after = living.context("Give me an overview", budget=300)

    assert "# Overview: extract" in before.present
    assert "- summary of" in after.present
    for window in (before, after):
        assert window.tokens <= 300
        assert all(any(one[:25] in window.present for one in row["memories"]) for row in STORES[:6:2])


def test_what_is_pinned_is_in_every_overview(living: Engram) -> None:
    """However little room there is."""
    pinned = living.remember("Never ring the otter farm", pinned=True)

    windows = [living.context("where do things stand?", budget=budget) for budget in (150, 300, 2_000)]
    living.unpin(pinned.id)

    assert all("Never ring the otter farm" in window.text for window in windows)


def test_every_preset_gives_unrelated_messages_little(living: Engram) -> None:
    """No session summaries and no tree; where the answer is not known, hardly ever a line."""
    asked = [one for row in STORES[:6:2] for one in row["far"]]
    windows = [living.context(one, budget=1_000) for one in asked]

    given = [sum(len(one.holds) for one in window.sections if one.name not in STANDING) for window in windows]
    unknown = [
        lines
        for lines, window in zip(given, windows, strict=True)
        if window.quality is not None and not window.quality.is_known
    ]

    assert sum(unknown) <= len(unknown)
    assert sum(given) <= 6 * len(asked)
    assert not any("Session " in window.present for window in windows)


def test_every_preset_keeps_history_word_for_word(living: Engram) -> None:
    """Where it fits: conversations and working sessions that others wrote."""
    for said in [*talks()][::25]:
        window = living.context("go on", budget=60_000, history=said)

        assert all(is_verbatim(one["content"], window.conversation) for one in said)
        assert not any(loss.section is SectionName.HISTORY for loss in window.losses)
