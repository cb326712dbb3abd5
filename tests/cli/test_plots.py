"""The pictures of aging: true to the numbers, the same every time, and without the words of a memory."""

from __future__ import annotations

import itertools
import struct
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engramdb.cli.plots import EXAMPLES, plot_curves, plot_kept, plot_outlook, plot_population, spread, trace
from engramdb.errors import SystemError_
from engramdb.lifecycle.curves import retention_of
from engramdb.policy import PRESETS
from engramdb.values import Census, Forecast, Memory, Tier

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunChild

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READ = Memory(id="m1", content="Ada's secret", created_at=NOW, updated_at=NOW, extractor="heuristic")
AGING = PRESETS["balanced"].aging


def foretold(*kept: int) -> Forecast:
    """Return a forecast of ten memories, of which so many are still there from week to week."""
    counted = tuple(
        Census(
            at=NOW + timedelta(weeks=week),
            tiers={Tier.HOT: number, Tier.WARM: 0, Tier.COLD: 0, Tier.EVICTABLE: 0},
            left={"faded": 10 - number} if number < 10 else {},
        )
        for week, number in enumerate(kept)
    )
    return Forecast(made_at=NOW, days=7 * (len(kept) - 1), policy="balanced", population=10, census=counted)


def test_a_line_is_what_the_curve_says() -> None:
    """Every point is the retention that the engine computes for that moment."""
    line = trace(READ, AGING, start=NOW, days=60)

    for day in (0, 1, 30, 60):
        expected = retention_of(READ, AGING, NOW + timedelta(days=day))
        assert np.interp(day, line.days, line.retention) == pytest.approx(expected, abs=0.01)


def test_a_recall_lifts_the_line() -> None:
    """From the recall on there is more left than without it, and before it there is the same."""
    alone = trace(READ, AGING, start=NOW, days=60)
    recalled = trace(READ, AGING, start=NOW, days=60, recalls=(20.0,))

    assert np.interp(19, recalled.days, recalled.retention) == pytest.approx(
        np.interp(19, alone.days, alone.retention)
    )
    assert np.interp(21, recalled.days, recalled.retention) > np.interp(21, alone.days, alone.retention)


def test_a_line_knows_when_a_rule_ends_it() -> None:
    """A memory with a date to be forgotten after leaves on that day, and is recalled no more."""
    memory = READ.evolve(forget_after=NOW + timedelta(days=10))

    line = trace(memory, AGING, start=NOW, days=60, recalls=(5.0, 20.0))

    assert line.rule == "forget_after"
    assert line.leaves_at == pytest.approx(10, abs=0.01)
    assert np.all(np.diff(line.retention[line.days > 5]) <= 0)


def test_what_is_used_never_fades_faster() -> None:
    """Under every preset the recalled example lies above the stated one from its last recall on."""
    recalled, stated, _read = EXAMPLES
    for preset in PRESETS.values():
        upper, lower = recalled.trace(preset), stated.trace(preset)
        for day in (36, 90, 180, 365):
            assert np.interp(day, upper.days, upper.retention) >= np.interp(day, lower.days, lower.retention)


@pytest.mark.parametrize("heights", [[], [3], [5, 5, 5], [0, 0, 10], [10, 9.9, 0.1, 0], [4, 2, 3]])
def test_labels_do_not_cover_one_another(heights: list[float]) -> None:
    """They keep their order and their distance, and stay below the top."""
    placed = spread(heights, apart=1, top=10)

    in_order = [placed[place] for place in sorted(range(len(heights)), key=lambda one: heights[one])]
    assert all(upper - lower >= 1 - 1e-9 for lower, upper in itertools.pairwise(in_order))
    assert max(placed, default=0) <= 10


@pytest.mark.parametrize("name", ["one.png", "ONE.PNG"])
def test_a_png_is_fine_enough_for_any_screen(tmp_path: Path, name: str) -> None:
    """Nine inches of two hundred dots."""
    plot_population(foretold(10, 8, 3), tmp_path / name)

    drawn = (tmp_path / name).read_bytes()
    assert drawn.startswith(b"\x89PNG\r\n")
    assert struct.unpack(">I", drawn[16:20]) == (1800,)


def test_the_population_is_named_and_explained(tmp_path: Path) -> None:
    """Letters stay letters in an SVG: the title, both axes and every band can be searched for."""
    plot_population(foretold(10, 8, 3), tmp_path / "one.svg")

    drawn = (tmp_path / "one.svg").read_text()
    for words in ("10 memories under the policy balanced", "days from now", "memories", *Tier, "has left"):
        assert words in drawn


def test_every_preset_has_its_panel(tmp_path: Path) -> None:
    """With the three memories explained once, and the rules that end their lines."""
    plot_curves(tmp_path / "curves.svg")

    drawn = (tmp_path / "curves.svg").read_text()
    for words in (*PRESETS, *(example.label for example in EXAMPLES), "retention", "faded", "decayed"):
        assert words in drawn


def test_what_each_preset_keeps_is_named_at_its_line(tmp_path: Path) -> None:
    """Name and number stand beside the end of the line."""
    plot_kept(
        {"balanced": foretold(9, 8).census, "beliefs": foretold(7, 0).census}, [7, 14], tmp_path / "kept.svg"
    )

    drawn = (tmp_path / "kept.svg").read_text()
    assert "balanced  8" in drawn
    assert "beliefs  0" in drawn


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    """No date, no random names: a picture under version control changes when its numbers do."""
    for name in ("one.svg", "two.svg", "one.png", "two.png"):
        plot_outlook(READ, PRESETS["balanced"], tmp_path / name, now=NOW, days=365)

    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert "dc:date" not in (tmp_path / "one.svg").read_text()


def test_a_picture_shows_no_words_of_a_memory(tmp_path: Path) -> None:
    """It can be shown around; only the end of the id says which memory it is."""
    memory = READ.evolve(id="019dd840-45bc-7000-84b1-59ff27f7de5e")

    plot_outlook(memory, PRESETS["balanced"], tmp_path / "one.svg", now=NOW, days=365)

    drawn = (tmp_path / "one.svg").read_text()
    assert "secret" not in drawn
    assert "27f7de5e" in drawn


@pytest.mark.parametrize("days", [0.5, 3, 36_500])
def test_an_empty_store_and_any_span_can_be_drawn(tmp_path: Path, days: float) -> None:
    """Nothing to show is a picture too."""
    nobody = Census(at=NOW, tiers=dict.fromkeys(Tier, 0))
    empty = Forecast(made_at=NOW, days=days, policy="balanced", population=0, census=(nobody, nobody))

    plot_population(empty, tmp_path / "one.png")
    plot_kept({"balanced": [nobody]}, [days], tmp_path / "two.png")
    plot_outlook(READ, PRESETS["tiered"], tmp_path / "three.png", now=NOW, days=days)

    assert len(list(tmp_path.glob("*.png"))) == 3


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """In words and with a code, not as a traceback."""
    with pytest.raises(SystemError_) as caught:
        plot_population(foretold(10, 8), tmp_path / "nowhere" / "one.png")

    assert "nowhere" in caught.value.message


def test_only_pictures_load_matplotlib(child: RunChild) -> None:
    """The command line starts as fast as without it."""
    printed = child("import sys; import engramdb.cli.main; print('matplotlib' in sys.modules)")

    assert printed == "False"


def test_drawing_leaves_nothing_behind(child: RunChild, tmp_path: Path) -> None:
    """No pyplot, so no windows, and the settings of a program that also uses matplotlib are its own."""
    printed = child(
        """
        import sys
        from pathlib import Path
        import matplotlib
        matplotlib.rcParams["font.size"] = 33
        from engramdb.cli.plots import plot_curves
        plot_curves(Path(sys.argv[1]))
        print("matplotlib.pyplot" in sys.modules, matplotlib.rcParams["font.size"])
        """,
        tmp_path / "curves.svg",
    )

    assert printed == "False 33.0"
