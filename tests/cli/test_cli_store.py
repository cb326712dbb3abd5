"""The commands that look after the store and its models, and how the command line fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from engramdb import Engram, Settings
from engramdb.cli.errors import translated_errors
from engramdb.cli.models import with_embedder
from engramdb.errors import InvalidSettings
from engramdb.models import packs as pack_install
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command


def test_init_makes_a_store_and_says_where(engram_command: Command, tmp_path: Path) -> None:
    """A second time it says that the store is there, and changes nothing."""
    place = tmp_path / "mine.db"

    first = engram_command("init", "--store", str(place))
    second = engram_command("init", "--store", str(place))

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert f"Made a store at {place}" in first.stdout
    assert f"There is already a store at {place}" in second.stdout


@pytest.mark.parametrize("words", [["recall", "x"], ["list"], ["status"], ["get", "x"], ["doctor"]])
def test_reading_never_makes_a_store(engram_command: Command, tmp_path: Path, words: list[str]) -> None:
    """A mistyped path is an error and not an empty memory."""
    place = tmp_path / "typo.db"

    result = engram_command(*words, "--store", str(place))

    assert result.exit_code == 3
    assert result.stderr.startswith("engram: E1007 ")
    assert "hint: " in result.stderr
    assert not place.exists()


def test_the_environment_names_the_store(
    engram_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENGRAM_STORE serves where --store is not given."""
    place = tmp_path / "from-environment.db"
    monkeypatch.setenv("ENGRAM_STORE", str(place))

    engram_command("remember", "x")

    assert place.exists()


def test_a_strange_file_is_refused_in_words(engram_command: Command, tmp_path: Path) -> None:
    """Another program's file is not touched."""
    place = tmp_path / "letter.txt"
    place.write_text("Dear Ada, this is not a database at all. " * 50)

    result = engram_command("remember", "x", "--store", str(place))

    assert result.exit_code in (4, 6)
    assert result.stderr.startswith("engram: E")
    assert place.read_text().startswith("Dear Ada")


def test_status_tells_what_waits_and_advises_aside(engram_command: Command) -> None:
    """Facts go to stdout, advice to stderr."""
    engram_command("remember", "x")

    result = engram_command("status")

    assert "1 active" in result.stdout
    assert "models add" in result.stderr
    assert "models add" not in result.stdout


def test_doctor_finds_and_mends(engram_command: Command, home: Path) -> None:
    """Memories without vectors are found, are no fault, and are embedded by --fix."""
    embedder = TinyEmbedder()
    with Engram.open(settings=Settings(home=home), embedder=embedder, background=False) as engram:
        engram.remember("Helix is my editor")

    waiting = engram_command("doctor")
    mended = engram_command("doctor", "--fix")
    healthy = engram_command("doctor", "--json")

    assert waiting.exit_code == 0
    assert "waits     embedded" in waiting.stdout
    assert mended.exit_code == 0
    assert "repaired" in mended.stdout
    assert all(check["ok"] for check in json.loads(healthy.stdout)["checks"])


def test_models_lists_what_is_in_use(engram_command: Command) -> None:
    """A person sees the choices and the one that works now."""
    found = json.loads(engram_command("models", "list", "--json").stdout)

    assert (found["setting"], found["in_use"]) == ("static", "static")
    assert {card["name"] for card in found["models"]} >= {"static", "e5-small"}
    assert "in use" in engram_command("models", "list").stdout


def test_models_use_writes_one_line_and_embeds_anew(
    engram_command: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the file stays, and memories of another embedder get vectors of the chosen one."""
    monkeypatch.delenv("ENGRAM_EMBEDDER")
    settings = Settings(home=home)
    with Engram.open(settings=settings, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember("Helix is my editor")
    file = home / "engram.toml"
    file.write_text("# mine\nport = 7171\n\n[policy.recall]\ncandidates = 50\n")

    result = engram_command("models", "use", "static")

    assert result.exit_code == 0, result.stderr
    assert "1 memory re-embedded" in result.stderr
    text = file.read_text()
    assert text == '# mine\nport = 7171\n\nembedder = "static"\n[policy.recall]\ncandidates = 50\n'
    assert Settings.load(environment={"ENGRAM_HOME": str(home)}).embedder == "static"


@pytest.mark.parametrize("name", ["e6-small", "", "openai:", "e5-small"])
def test_models_use_refuses_what_cannot_work(engram_command: Command, home: Path, name: str) -> None:
    """A name that is unknown, or whose pack is not there, is not written."""
    result = engram_command("models", "use", name)

    assert result.exit_code in (2, 7)
    assert not (home / "engram.toml").exists()


def test_models_add_of_what_is_there_is_quick(engram_command: Command, home: Path, tmp_path: Path) -> None:
    """Nothing is downloaded twice, and the way to choose it is told."""
    files = [tmp_path / name for name in ("model.onnx", "reader.onnx", "reader.npz")]
    for one in files:
        one.write_bytes(b"weights")
    pack_install._place(pack_install.E5_SMALL, files, home)

    result = engram_command("models", "add", "e5-small")

    assert result.exit_code == 0, result.stderr
    assert "e5-small is ready" in result.stdout
    assert "engram models use e5-small" in result.stderr


def test_models_add_of_an_unknown_name_is_refused(engram_command: Command) -> None:
    """The hint says where the names are."""
    result = engram_command("models", "add", "e6-small")

    assert result.exit_code == 2
    assert "engram models list" in result.stderr


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'embedder = "static"\n'),
        ('embedder = "auto"\n', 'embedder = "static"\n'),
        ("port = 1", 'port = 1\nembedder = "static"\n'),
        ("'embedder'='auto'\r\nport = 1\r\n", 'embedder = "static"\r\nport = 1\r\n'),
        ('[policy]\nname = "cortex"\n', 'embedder = "static"\n[policy]\nname = "cortex"\n'),
    ],
)
def test_only_the_one_line_of_the_settings_changes(before: str, after: str) -> None:
    """Comments, order and line ends are the user's own."""
    assert with_embedder(before, "static") == after


@pytest.mark.parametrize(
    "before", ['store = """\nembedder = 1\n"""\n', "port = \n", 'embedder = """\nx"""\n']
)
def test_a_settings_file_that_cannot_be_edited_safely_is_left_alone(before: str) -> None:
    """What would change another setting is refused with the line to write."""
    with pytest.raises(InvalidSettings) as caught:
        with_embedder(before, "static")

    assert 'embedder = "static"' in caught.value.hint


def test_every_command_has_help_with_an_example(engram_command: Command) -> None:
    """Whoever is lost finds a line to copy."""
    for words in (["recall"], ["remember"], ["models", "add"], ["serve"], ["init"]):
        shown = engram_command(*words, "--help").stdout

        assert f"Example: engram {' '.join(words)}" in shown
        assert "--store" in shown


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["recall", ""], "E2004"),
        (["remember", "   "], "E4005"),
        (["remember", "x" * 9000], "E4004"),
        (["remember", "x", "--importance", "7"], "E4005"),
        (["remember", "x", "--user", " "], "E5008"),
        (["list", "--limit", "0"], "E2004"),
        (["observe", "x", "--speaker", "\udcff"], "E4005"),
        (["recall", "\udcff"], "E4005"),
        (["remember", "\udcff"], "E4005"),
    ],
)
def test_misuse_is_one_line_and_a_code(engram_command: Command, words: list[str], code: str) -> None:
    """The first line of stderr says what is wrong; there is no traceback and no result."""
    engram_command("init")

    result = engram_command(*words)

    assert result.exit_code == 2, result.stderr
    assert result.stderr.startswith(f"engram: {code}")
    assert result.stdout == ""


def test_ctrl_c_ends_with_130() -> None:
    """Shells and scripts know that code."""
    with pytest.raises(click.exceptions.Exit) as caught, translated_errors():
        raise KeyboardInterrupt

    assert caught.value.exit_code == 130


def test_a_mistake_of_ours_shows_no_memory_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The text of an unforeseen exception may quote a memory, so only its class and place are shown."""
    with pytest.raises(click.exceptions.Exit) as caught, translated_errors():
        raise RuntimeError("Ada's secret")

    shown = capsys.readouterr().err
    assert caught.value.exit_code == 70
    assert "RuntimeError" in shown
    assert "secret" not in shown
