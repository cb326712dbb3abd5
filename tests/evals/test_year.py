"""The eval of a year counts what it should: what is kept, what it costs to keep, and what has left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engramdb import Settings
from evals import year
from evals.year import Kept, Message

SETTINGS = Settings(embedder="static", reader="rules", durability="relaxed")
FACT = "the stopcock of the house is behind the washing machine"
CHATTER = (
    "That sounds like a lovely weekend, and the forest paths dry quickly after rain",
    "Moved the banner to the left and rebuilt the page, all eleven tests pass",
    "A loaf like this usually wants ten more minutes, so give it another try",
)
WORTH = [
    Kept(kind="stable", text=FACT, question="Where is the stopcock?", answer="washing machine"),
    Kept(kind="stable", text="never told", question="Who mows the lawn?", answer="Arnfinn"),
]
SAID = [
    Message(0, "s1", FACT),
    *(Message(1, "s2", text, role="assistant") for text in CHATTER),
]
DAYS = 100


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, dict[str, Any]]:
    """A hundred days with and without aging and dreams."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(year, "DAYS", DAYS)
        patch.setattr(year, "TALKS", Path(tmp_path_factory.mktemp("none")))
        patch.setattr(year, "worth_keeping", lambda: WORTH)
        stores = tmp_path_factory.mktemp("stores")
        return {ages: year.run(SETTINGS, SAID, stores / f"{ages}.db", ages=ages) for ages in (False, True)}


def test_what_was_told_is_right_and_what_was_not_is_missed(lived: dict[bool, dict[str, Any]]) -> None:
    """A question is right where a hit holds its words, by kind and in all, however the year was lived."""
    for found in lived.values():
        assert (found["right"], found["of"], found["by kind"]) == (1, 2, {"stable": "1/2"})
        assert found["missed"] == ["never told"]


def test_small_talk_leaves_the_store_and_knowledge_stays(lived: dict[bool, dict[str, Any]]) -> None:
    """After a hundred days an assistant's chatter is gone where memories age, and there where they do not."""
    off, on = lived[False], lived[True]

    assert (off["memories"], on["memories"]) == (1 + len(CHATTER), 1)
    assert on["store per answer"] == on["tokens"] < 0.7 * off["tokens"]
    assert 0 < on["tokens given"] <= off["tokens given"]


def test_a_year_is_told_day_by_day() -> None:
    """Everything to be kept is told once, between talk by other hands, and early enough to be old."""
    said = year.told(1)
    kept = {one.text: one.day for one in said if one.text in {each.text for each in year.worth_keeping()}}

    assert len(kept) == len(year.worth_keeping())
    assert max(kept.values()) < year.LAST_TOLD
    assert len(said) > 2000
    assert [one.day for one in said] == sorted(one.day for one in said)
