"""Settings: the strongest source wins, and whatever is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engramdb import Settings
from engramdb.cli.errors import TRACEBACK
from engramdb.errors import InvalidSettings, UnknownPolicy
from engramdb.policy.presets import FIXED, PRESETS
from engramdb.settings import setting_fields

KEY = "ab" * 32


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder without a settings file."""
    return tmp_path


def write(home: Path, toml: str) -> Path:
    """Put a settings file into the home folder."""
    path = home / "engram.toml"
    path.write_text(toml, encoding="utf-8")
    return path


def load(folder: Path, environment: dict[str, str] | None = None, **arguments: Any) -> Settings:
    """Load with this home folder, this environment and these arguments."""
    return Settings.load(environment={"ENGRAM_HOME": str(folder), **(environment or {})}, **arguments)


def test_everything_works_without_any_settings(home: Path) -> None:
    """No file, no environment, no argument: the defaults, with the store in the home folder."""
    settings = load(home)

    assert settings == Settings(home=home)
    assert settings.store_location == str(home / "memory.db")
    assert settings.chosen_policy().name == "balanced"


def test_argument_beats_environment_beats_file_beats_default(home: Path) -> None:
    """Each source is overruled by the next stronger one, setting by setting."""
    write(home, 'store = "file.db"\nport = 1111\nreaders = 2\ndurability = "relaxed"')
    environment = {"ENGRAM_STORE": "environment.db", "ENGRAM_PORT": "2222"}

    settings = load(home, environment, store="argument.db")

    assert (settings.store, settings.port, settings.readers) == ("argument.db", 2222, 2)
    assert settings.durability == "relaxed"
    assert settings.host == "127.0.0.1"


def test_an_argument_that_is_none_is_not_given(home: Path) -> None:
    """A surface hands over what its user did not say as None."""
    assert load(home, {"ENGRAM_PORT": "2222"}, port=None).port == 2222


def test_an_empty_variable_is_not_set(home: Path) -> None:
    """`ENGRAM_PORT= engram serve` means the default, as shells have it."""
    assert load(home, {"ENGRAM_PORT": ""}).port == Settings().port


def test_the_home_folder_decides_which_file_is_read(home: Path) -> None:
    """The argument's home wins over the environment's, and its file is the one."""
    other = home / "other"
    other.mkdir()
    write(home, "port = 1111")
    write(other, "port = 2222")

    assert load(home, home=other).port == 2222


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        ('sotre = "x.db"', "sotre"),
        ('home = "/elsewhere"', "home"),
        ("port = true", "port"),
        ('port = "high"', "port"),
        ("store = 7", "store"),
        ("port = 70000", "port"),
        ('durability = "careless"', "durability"),
        ('date_order = "year-first"', "date_order"),
        ("readers = 0", "readers"),
        ("[store]\npath = 1", "store"),
        ("[policy.recall]\nsorcery = 1", "sorcery"),
        ("[policy.magic]\nx = 1", "magic"),
        ("[policy.recall]\ncandidates = 'many'", "candidates"),
        ("[policy.recall]\ncandidates = 1.5", "candidates"),
        ("[policy.recall]\ncandidates = true", "candidates"),
        ("[policy.recall]\ncandidates = 0", "candidates"),
        ("[policy.recall]\nvector_weight = 1.5", "vector_weight"),
        ("[policy.recall]\ntrust_relevance = 0.9", "trust"),
        ("[policy]\nrecall = 5", "recall"),
        ("port = ", "engram.toml"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(home: Path, toml: str, name: str) -> None:
    """An unknown or malformed name is an error that names it; nothing is guessed or ignored."""
    write(home, toml)

    with pytest.raises(InvalidSettings, match=name) as refused:
        load(home)

    assert refused.value.code == "E5003"


def test_a_fraction_where_a_whole_number_belongs_is_refused(home: Path) -> None:
    """`readers = 2.7` is a mistake, not two."""
    write(home, "readers = 2.7")

    with pytest.raises(InvalidSettings, match="readers"):
        load(home)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ENGRAM_PORT", "high"),
        ("ENGRAM_PORT", "-1"),
        ("ENGRAM_READERS", "1.5"),
        ("ENGRAM_BUSY_TIMEOUT_SECONDS", "soon"),
        ("ENGRAM_DURABILITY", "careless"),
        ("ENGRAM_READERS", "0"),
    ],
)
def test_what_is_wrong_in_the_environment_is_named(home: Path, name: str, value: str) -> None:
    """The error shows the variable or its setting, and the value."""
    with pytest.raises(InvalidSettings, match=f"(?i){name.removeprefix('ENGRAM_')}") as refused:
        load(home, {name: value})

    assert value in str(refused.value)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_timeout_that_is_no_duration_is_refused(home: Path, value: str) -> None:
    """A wait of `nan` seconds would never end, and one of `inf` fails inside a lock."""
    with pytest.raises(InvalidSettings, match="busy_timeout_seconds"):
        load(home, {"ENGRAM_BUSY_TIMEOUT_SECONDS": value})


def test_a_negative_memory_is_refused() -> None:
    """Less than nothing cannot be kept in memory."""
    with pytest.raises(InvalidSettings, match="vector_memory_megabytes"):
        Settings(vector_memory_megabytes=-1)


def test_a_file_that_is_not_text_is_named(home: Path) -> None:
    """A binary file in the place of the settings is an error of ours, with its path."""
    (home / "engram.toml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InvalidSettings, match=r"engram\.toml"):
        load(home)


@pytest.mark.parametrize("key", ["open sesame", "zz" * 32, KEY[:-2], KEY + "00"])
def test_a_key_of_the_wrong_form_is_refused_and_not_shown(home: Path, key: str) -> None:
    """The message speaks of its length only."""
    with pytest.raises(InvalidSettings) as refused:
        load(home, {"ENGRAM_KEY": key})

    assert key not in str(refused.value)
    assert str(len(key)) in str(refused.value)


def test_secrets_are_not_in_the_representation() -> None:
    """Settings can be logged and shown: keys are left out."""
    shown = repr(Settings(key=KEY, embedder_key="sk-secret"))

    assert KEY not in shown
    assert "sk-secret" not in shown


def test_an_unknown_policy_is_named_with_the_known_ones() -> None:
    """The error lists what can be chosen."""
    with pytest.raises(UnknownPolicy, match="reckless") as refused:
        Settings(policy="reckless")

    assert "balanced" in refused.value.hint


@pytest.mark.parametrize(
    "toml",
    [
        'policy = "beliefs"',
        '[policy]\nname = "beliefs"',
        '[policy]\nname = "beliefs"\n[policy.recall]\ncandidates = 7',
    ],
)
def test_a_policy_is_chosen_by_name_in_either_form(home: Path, toml: str) -> None:
    """As a plain name, or as a table with a name and overrides."""
    write(home, toml)

    policy = load(home).chosen_policy()

    assert policy.name == "beliefs"
    assert policy.capture.default_confidence == 0.6
    assert policy.recall.candidates == (7 if "candidates" in toml else 100)


def test_an_override_changes_one_field_and_no_other(home: Path) -> None:
    """Single numbers of a preset can be replaced; a whole number serves where a fraction is meant."""
    write(home, "[policy.recall]\nvector_weight = 1\n[policy.capture]\nmax_memory_bytes = 100")

    policy = load(home).chosen_policy()

    assert policy.recall.vector_weight == 1
    assert policy.recall.candidates == 100
    assert policy.capture.max_memory_bytes == 100


def test_a_number_that_became_fixed_says_so(home: Path) -> None:
    """A settings file from before is not refused as misspelt: the error says why the field is gone."""
    write(home, "[policy.recall]\ngraph_decay = 0.5")

    with pytest.raises(InvalidSettings, match=r"policy\.recall\.graph_decay is a fixed number now"):
        load(home)


def test_no_field_is_both_fixed_and_set() -> None:
    """What can be set is a field of its part, and what is fixed is none."""
    for part, names in FIXED.items():
        assert not set(names.split()) & set(getattr(PRESETS["balanced"], part).__struct_fields__)


def test_every_setting_can_come_from_the_environment(home: Path) -> None:
    """Each field has a variable of its name, and its value arrives in the field's type."""
    given: dict[type, str] = {str: "static", int: "7", float: "7.5", bool: "True"}
    special = {
        "key": KEY,
        "durability": "relaxed",
        "policy": "cortex",
        "home": str(home),
        "reader": "rules",
        "date_order": "month-first",
        "secrets_for_agents": "never",
    }
    environment = {
        f"ENGRAM_{name.upper()}": special.get(name) or given[type(default)]
        for name, default in setting_fields().items()
    }

    settings = Settings.load(environment=environment)

    for name, default in setting_fields().items():
        value = getattr(settings, name)
        assert str(value) == environment[f"ENGRAM_{name.upper()}"]
        assert isinstance(value, Path if name == "home" else type(default))


def test_an_unknown_environment_name_is_an_error_that_names_it() -> None:
    """A misspelt variable would otherwise do nothing, silently."""
    with pytest.raises(InvalidSettings, match="ENGRAM_STROE"):
        Settings.load(environment={"ENGRAM_STROE": "memory.db"})


def test_the_switch_for_tracebacks_is_no_misspelt_setting() -> None:
    """Whoever follows the hint of an unexpected failure can run the command again."""
    assert Settings.load(environment={TRACEBACK: "1"}) == Settings.load(environment={})
