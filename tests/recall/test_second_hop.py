"""An answer that the question does not name is reached through what it does name."""

from __future__ import annotations

from pathlib import Path

from engramdb import Engram, Settings

SAID = (
    "Priya reports to Odile since the spring",
    "Odile never touches coffee, rooibos or nothing",
    "Priya drinks three espressos before the stand-up",
    "the manager of the canteen orders oat milk by the crate",
    "Tunde drinks mate all day long",
    "we drink to every release, that's the rule",
    "the new kettle takes a litre and a half",
    "Wanjiru is on leave until the ninth",
    "the espresso machine is broken again",
    "the offsite is booked for the second week of June",
    "somebody left a bike in the lobby",
    "Mei-Ling's cat has a cold",
)


def _answers(tmp_path: Path, bonus: float) -> tuple[list[str], list[str | None]]:
    settings = Settings(home=tmp_path, embedder="static", overrides={"recall": {"hop_bonus": bonus}})
    with Engram.open(tmp_path / f"{bonus}.db", settings=settings, background=False) as engram:
        for text in SAID:
            engram.remember(text)
        hits = engram.recall("what does the one Priya reports to drink?", limit=12).hits
        led = [engram.get(hit.through).content if hit.through else None for hit in hits]
    return [hit.memory.content for hit in hits], led


def test_what_is_told_of_somebody_whom_only_the_best_memory_names_is_lifted(tmp_path: Path) -> None:
    """The second memory shares a name with the first and hardly a word with the question."""
    without, _ = _answers(tmp_path, 0.0)
    found, led = _answers(tmp_path, 0.3)

    assert found.index(SAID[1]) < without.index(SAID[1])
    assert found.index(SAID[0]) < found.index(SAID[1]), "what leads somewhere stays before it"
    assert led[found.index(SAID[1])] == SAID[0], "the hit names the memory that led to it"
    assert led[0] is None


def test_a_name_that_the_question_has_already_leads_nowhere(tmp_path: Path) -> None:
    """Everything about Priya was found by her name; nothing is gained by following it."""
    found, led = _answers(tmp_path, 0.3)

    assert led[found.index(SAID[2])] is None
