"""The commands of aging: what leaves, what will, what each preset would keep, what a person decides."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from engramdb import Engram, Layer, Scope, Settings
from engramdb.policy import PRESETS
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import AgeReport, Forecast

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result
    from surfaces.fixtures import Command

FACTORS = (
    *("base", "frequency", "recency", "affect", "stability"),
    *("layer", "trust", "confirmations", "activation"),
)


def parsed(result: Result) -> Any:
    """Return the JSON document that a command printed."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def past(home: Path) -> ManualClock:
    """A clock that stands a hundred days before the command line's own."""
    home.mkdir()
    return ManualClock(datetime.now(UTC) - timedelta(days=100))


@pytest.fixture
def unsure(home: Path, past: ManualClock) -> str:
    """The id of a guess of a hundred days ago that nobody confirmed, beside a fact that stays."""
    with Engram.open(
        settings=Settings(home=home), clock=past, embedder=TinyEmbedder(), background=False
    ) as engram:
        engram.remember("Helix is my editor", layer=Layer.EPISODIC)
        return engram.remember("Maya may like tea", confidence=0.3).id


def test_a_sweep_tells_what_left_and_by_which_rule(engram_command: Command, unsure: str) -> None:
    """Counts by tier and rule, the memories by their short ids, and how long it took."""
    result = engram_command("age")

    assert result.exit_code == 0, result.stderr
    assert "looked at 2 memories under the policy balanced" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["speculative", "1"] in rows
    assert [unsure[-8:], "archived", "speculative"] in rows
    assert "longest write" in result.stdout
    assert "tea" not in result.stdout
    assert parsed(engram_command("get", unsure, "--json"))["status"] == "archived"


def test_a_dry_run_changes_nothing(engram_command: Command, unsure: str) -> None:
    """The same table, in other words, and the memory is where it was."""
    result = engram_command("age", "--dry-run")

    assert "would become" in result.stdout
    assert unsure[-8:] in result.stdout
    assert "Nothing was changed" in result.stderr
    assert parsed(engram_command("get", unsure, "--json"))["status"] == "active"


def test_a_sweep_as_json_is_the_report_itself(engram_command: Command, unsure: str) -> None:
    """Every field, and every move with its whole id."""
    report = parsed(engram_command("age", "--json"))

    assert set(report) == set(AgeReport.__struct_fields__)
    assert [(one["memory_id"], one["rule"]) for one in report["moves"]] == [(unsure, "speculative")]


def test_a_sweep_with_nothing_to_do_says_so(engram_command: Command) -> None:
    """A young store has nothing to lose, and no empty table is shown."""
    engram_command("remember", "Helix is my editor")

    result = engram_command("age")

    assert "no rule changed a memory" in result.stdout
    assert "by the rule" not in result.stdout


def test_a_sweep_says_that_it_goes_on_with_another(engram_command: Command, home: Path, unsure: str) -> None:
    """After an interruption one sees that the work was not begun anew."""

    def interrupt(_more: int) -> NoReturn:
        raise KeyboardInterrupt

    with (
        Engram.open(settings=Settings(home=home), embedder=TinyEmbedder(), background=False) as engram,
        pytest.raises(KeyboardInterrupt),
    ):
        engram.age(progress=interrupt)

    result = engram_command("age")

    assert "went on with the sweep that began" in result.stdout


def test_a_forecast_shows_the_population_and_who_leaves(engram_command: Command, unsure: str) -> None:
    """By tier, at a few moments up to the horizon, with the rule, the memory and its words."""
    result = engram_command("forecast", "--days", "90")

    lines = result.stdout.splitlines()
    assert lines[0] == "2 memories under the policy balanced, if nothing happens"
    assert " ".join(lines[2].split()) == "now 7 days 22 days 45 days 90 days"
    assert ["kept", "1", "1", "1", "1", "1"] in [line.split() for line in lines]
    assert "left by speculative" in result.stdout
    (row,) = (line for line in lines if unsure[-8:] in line)
    assert "at once  speculative" in row
    assert "Maya may like tea" in row
    assert "1 of them are due now" in result.stderr


def test_a_forecast_changes_nothing(engram_command: Command, unsure: str) -> None:
    """Looking ahead is not aging."""
    engram_command("forecast")

    assert parsed(engram_command("get", unsure, "--json"))["status"] == "active"


def test_one_memory_s_outlook_has_every_factor_and_both_futures(
    engram_command: Command, home: Path, past: ManualClock
) -> None:
    """What is left, why it matters, what will happen, and what one more recall would change."""
    with Engram.open(
        settings=Settings(home=home), clock=past, embedder=TinyEmbedder(), background=False
    ) as engram:
        ends = past.now() + timedelta(days=300)
        memory_id = engram.remember("I tried the Helix editor", forget_after=ends).id

    result = engram_command("forecast", memory_id[-8:])

    assert "I tried the Helix editor" in result.stdout
    assert "retention       0." in result.stdout
    assert "recalled        never" in result.stdout
    for factor in FACTORS:
        assert f"  {factor} " in result.stdout
    (forgets,) = (line for line in result.stdout.splitlines() if "forget_after" in line)
    assert forgets.startswith("is forgotten by the rule forget_after")
    assert "in 200 days" in forgets
    assert forgets.endswith("the same")
    (evictable,) = (line for line in result.stdout.splitlines() if line.startswith("turns evictable"))
    assert evictable.endswith(("later", "no longer within 365 days"))


def test_what_has_left_is_not_promised_a_recall(engram_command: Command, unsure: str) -> None:
    """Under a policy that prunes its archive the day is told, and no recall that would help."""
    engram_command("age")

    shown = engram_command("forecast", unsure, "--policy", "cortex").stdout

    assert "status          archived" in shown
    assert "is pruned by the rule archive_ended" in shown
    assert "one more recall" not in shown


def test_a_pinned_memory_is_said_to_be_pinned(engram_command: Command) -> None:
    """And no rule is among what will happen to it."""
    made = parsed(engram_command("remember", "Tea is nice", "--pinned", "--forget-after", "30d", "--json"))

    shown = engram_command("forecast", made["id"]).stdout

    assert "active, pinned" in shown
    assert "by the rule" not in shown


def test_a_forecast_as_json_is_the_value_itself(engram_command: Command, unsure: str) -> None:
    """Scripts and people see the same numbers."""
    found = parsed(engram_command("forecast", "--json"))

    assert set(found) == set(Forecast.__struct_fields__)
    assert found["soonest"][0]["memory"]["id"] == unsure


def test_a_forecast_keeps_to_its_scope(engram_command: Command, home: Path, past: ManualClock) -> None:
    """Another user's memory is not shown; `--everywhere` counts it and still shows nothing."""
    with Engram.open(
        settings=Settings(home=home), clock=past, embedder=TinyEmbedder(), background=False
    ) as engram:
        engram.remember("Ada may like tea", confidence=0.3, scope=Scope(user="ada"))

    for words in ([], ["--everywhere"], ["--everywhere", "--json"], ["--user", "bob"]):
        assert "tea" not in engram_command("forecast", *words).stdout
    assert parsed(engram_command("forecast", "--everywhere", "--json"))["population"] == 1
    assert "Ada may like tea" in engram_command("forecast", "--user", "ada").stdout


def test_a_forecast_can_ask_under_another_preset(engram_command: Command, home: Path, unsure: str) -> None:
    """The preset as it is, without the fields that the settings file changed in the own one."""
    (home / "engram.toml").write_text('[policy]\nname = "balanced"\n\n[policy.aging]\nrules = []\n')

    own = parsed(engram_command("forecast", "--json"))
    other = parsed(engram_command("forecast", "--policy", "notebook", "--json"))

    assert (own["policy"], own["soonest"]) == ("balanced", [])
    assert (other["policy"], len(other["soonest"])) == ("notebook", 1)


def test_nothing_to_foresee_is_said_aside(engram_command: Command) -> None:
    """An empty store gives an empty answer and a word on stderr."""
    engram_command("init")

    for words in (["forecast"], ["policy", "compare"]):
        result = engram_command(*words)

        assert (result.exit_code, result.stdout) == (0, "")
        assert "no memories" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["forecast", "--days", "0"],
        ["forecast", "--days", "nan"],
        ["forecast", "--policy", "nobody"],
        ["forecast", "12345678", "--everywhere"],
        ["forecast", "--plot", "picture.jpg"],
        ["policy", "compare", "--days", "-1"],
        ["policy", "show", "nobody"],
        ["policy", "plot", "picture"],
        ["promote", "12345678", "--layer", "nobody"],
    ],
)
def test_misuse_is_refused_in_words(engram_command: Command, unsure: str, words: list[str]) -> None:
    """Exit code 2, nothing on stdout, no traceback."""
    result = engram_command(*words)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["forecast", "--plot"], "days from now"),
        (["forecast", "ID", "--plot"], "recalled once more"),
        (["policy", "compare", "--plot"], "memories kept"),
        (["policy", "plot"], "retention"),
    ],
)
def test_pictures_are_drawn_beside_the_answer(
    engram_command: Command, tmp_path: Path, unsure: str, words: list[str], expected: str
) -> None:
    """The file is there, its name is told, and it holds no memory text."""
    file = tmp_path / "picture.svg"

    result = engram_command(*(unsure if word == "ID" else word for word in words), str(file))

    assert result.exit_code == 0, result.stderr
    assert f"drew {file}" in result.stdout + result.stderr
    assert expected in file.read_text()
    assert "tea" not in file.read_text()


@pytest.mark.parametrize(
    "words",
    [["forecast", "--plot", "x.png"], ["policy", "compare", "--plot", "x.png"], ["policy", "plot", "x.svg"]],
)
def test_without_matplotlib_the_extra_is_named(
    engram_command: Command, unsure: str, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Before any work is done, with the line to type."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    result = engram_command(*words)

    assert (result.exit_code, result.stdout) == (8, "")
    assert "engramdb[plots]" in result.stderr


def test_presets_are_listed_with_a_sentence_each(engram_command: Command) -> None:
    """And the one in use is marked."""
    found = parsed(engram_command("policy", "list", "--json"))

    assert [one["name"] for one in found] == list(PRESETS)
    assert len({one["sentence"] for one in found}) == len(PRESETS)
    assert all(one["sentence"].endswith(".") for one in found)
    assert [one["name"] for one in found if one["is_in_use"]] == ["balanced"]
    (line,) = (one for one in engram_command("policy", "list").stdout.splitlines() if "in use" in one)
    assert line.startswith("balanced")


def test_a_preset_is_shown_with_every_number_and_its_meaning(engram_command: Command) -> None:
    """What differs from the usual one is marked."""
    rows = [line.split() for line in engram_command("policy", "show", "cortex").stdout.splitlines()]

    shown = {row[row[0] == "*"]: row for row in rows if len(row) > 1}
    for room in ("capture", "recall", "aging"):
        for name in getattr(PRESETS["cortex"], room).__struct_fields__:
            assert len(shown[name]) > 2, name
    assert shown["curve"][:3] == ["*", "curve", "ebbinghaus"]
    assert shown["half_life_days"][:2] == ["half_life_days", "30.0"]
    assert "idle" in shown["half_life_days"]


def test_the_own_preset_is_shown_as_the_settings_file_changed_it(engram_command: Command, home: Path) -> None:
    """One sees what is at work, not what would be without the file."""
    home.mkdir()
    (home / "engram.toml").write_text("[policy.aging]\nhalf_life_days = 7\n")

    own = parsed(engram_command("policy", "show", "--json"))
    other = parsed(engram_command("policy", "show", "layered", "--json"))

    assert (own["aging"]["half_life_days"], other["aging"]["half_life_days"]) == (7, 30)


def test_presets_are_compared_on_this_very_store(engram_command: Command, unsure: str) -> None:
    """How many each would keep after so many days, and who leaves by which rule."""
    result = engram_command("policy", "compare", "--days", "3", "--days", "365")

    rows = {line.split()[line.startswith("*")]: line for line in result.stdout.splitlines() if line.strip()}
    assert "of 2 memories" in result.stdout
    assert set(PRESETS) <= set(rows)
    assert rows["balanced"].split()[:4] == ["*", "balanced", "1", "1"]
    assert rows["balanced"].endswith("1 by speculative")
    assert rows["layered"].split()[:3] == ["layered", "2", "0"]
    assert rows["layered"].endswith("2 by faded")


def test_what_a_rule_removed_can_be_restored(engram_command: Command, unsure: str) -> None:
    """With the reason in the history; the next sweep leaves it alone."""
    engram_command("age")

    result = engram_command("restore", unsure[-8:], "--reason", "she does")

    assert result.stdout.startswith(f"restored {unsure[-8:]}")
    assert "she does" in engram_command("history", unsure).stdout
    assert parsed(engram_command("age", "--json"))["moves"] == []
    assert parsed(engram_command("get", unsure, "--json"))["status"] == "active"


def test_a_person_restores_what_a_person_forgot(engram_command: Command, unsure: str) -> None:
    """Nobody else can; once it counts, there is nothing more to restore."""
    engram_command("forget", unsure)

    assert engram_command("restore", unsure).stdout.startswith(f"restored {unsure[-8:]}")
    again = engram_command("restore", unsure)

    assert again.exit_code == 2
    assert again.stderr.startswith("engram: E5006")


def test_a_layer_chosen_by_hand_is_kept(engram_command: Command) -> None:
    """Up, down, or straight into one; `get` shows that a person chose it."""
    memory_id = parsed(engram_command("remember", "Tea may be nice", "--json"))["id"]

    up = engram_command("promote", memory_id[-8:], "--reason", "we rely on it").stdout
    straight = parsed(engram_command("promote", memory_id, "--layer", "procedural", "--json"))
    down = parsed(engram_command("demote", memory_id, "--json"))

    assert up.startswith(f"semantic from now on: {memory_id[-8:]}")
    assert (straight["layer"], down["layer"], down["layer_held"]) == ("procedural", "episodic", True)
    assert "episodic, by hand" in engram_command("get", memory_id).stdout
    assert "we rely on it" in engram_command("history", memory_id).stdout


def test_there_is_nothing_above_knowledge(engram_command: Command) -> None:
    """A step that leads nowhere is refused and not silently done."""
    memory_id = parsed(engram_command("remember", "Tea is nice", "--layer", "semantic", "--json"))["id"]

    result = engram_command("promote", memory_id)

    assert result.exit_code == 2
    assert "E5006" in result.stderr
