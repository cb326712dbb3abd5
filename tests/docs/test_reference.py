"""The reference pages say what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engramdb.cli.main import PLAIN
from engramdb.http.openapi import describe
from engramdb.policy import PRESETS, Policy
from engramdb.settings import PREFIX, setting_fields
from engramdb.values import Filters
from engramdb.verbs.errors import ANSWERS, EXIT_CODES
from engramdb.verbs.table import VERBS

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that writes the pages, loaded from its file."""
    spec = importlib.util.spec_from_file_location("write_reference", ROOT / "scripts" / "write_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name: str) -> str:
    """Return a page as it is committed."""
    return (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


def test_no_page_is_stale(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`make docs` would change nothing."""
    assert script.main(["--check"]) == 0, capsys.readouterr().out


def test_writing_twice_gives_the_same_bytes(script: Any) -> None:
    """Nothing of the machine or the moment is on a page."""
    assert script.pages() == script.pages()


def test_every_command_is_documented_with_an_example() -> None:
    """Each has its heading and a line to copy."""
    text = page("cli.md")
    names = [one.words for one in PLAIN] + [one.cli.words for one in VERBS.values() if one.cli]

    for name in names:
        assert f"## engram {name}\n" in text
        assert f"$ engram {name}" in text
    for code in EXIT_CODES:
        assert f"| {code} |" in text


def test_every_setting_is_documented() -> None:
    """Name, environment variable and meaning."""
    rows = page("settings.md").splitlines()

    for name in setting_fields():
        (row,) = (row for row in rows if row.startswith(f"| `{name}` |"))
        assert f"`{PREFIX}{name.upper()}`" in row
        assert not row.endswith("|  |")


def test_every_error_is_documented() -> None:
    """Code and name stand on one line."""
    text = page("errors.md")

    for kind in ANSWERS:
        assert f"| {kind.code} | `{kind.__name__}` |" in text


def test_every_preset_and_field_is_documented() -> None:
    """A number that shapes a memory's life can be looked up."""
    text = page("policy.md")
    rooms = [room for room in Policy.__struct_fields__ if room != "name"]

    assert {"capture", "recall", "aging"} <= set(rooms)
    for preset in PRESETS.values():
        assert f"- `{preset.name}`: " in text
        for room in rooms:
            _, _, section = text.partition(f"\n## {room}\n")
            section, _, _ = section.partition("\n## ")
            for name in getattr(preset, room).__struct_fields__:
                (row,) = (row for row in section.splitlines() if row.startswith(f"| `{name}` |"))
                assert not row.endswith("|  |"), f"{room}.{name} has no meaning"


def test_every_route_is_documented() -> None:
    """What the server describes to programs is also written for people."""
    text = page("http.md")

    for path, methods in describe()["paths"].items():
        for method in methods:
            assert f"## {method.upper()} {path}\n" in text
    assert "|  |\n" not in text, "every field says what it means"


def test_every_filter_is_documented() -> None:
    """Also over HTTP, where they are an object inside the question."""
    text = page("http.md")

    for name in Filters.__struct_fields__:
        assert f"| `{name}` |" in text
