"""Rooms open late: a package hands out its modules and names when they are first used, and says which."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

import engram
from engram import policy
from engram.late import library

SOURCE = Path(engram.__file__).parent
OPENINGS = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCE.rglob("__init__.py"))
    if "engram.late import" in path.read_text(encoding="utf-8")
}
PACKAGES = [".".join(path.relative_to(SOURCE.parent).parent.parts) for path in OPENINGS]


def promised(package: str) -> dict[str, str]:
    """What a type checker is told that a package holds: each name, and the module that it comes from."""
    tree = OPENINGS[SOURCE.parent / Path(*package.split(".")) / "__init__.py"]
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: node.module or ""
        for block in guarded
        for node in block.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package)
        for alias in node.names
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_promised_is_there(package: str) -> None:
    """What a checker sees and what a program gets is the same thing."""
    opened = importlib.import_module(package)

    for name, home in promised(package).items():
        is_module = home == package
        there = importlib.import_module(f"{home}.{name}" if is_module else home)
        assert getattr(opened, name) is (there if is_module else getattr(there, name)), name


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_there_is_promised(package: str) -> None:
    """A name that a package finds a home for is one that a checker knows."""
    opened = importlib.import_module(package)
    nouns: dict[str, str] = getattr(opened, "_NOUNS", {})

    homes = {noun: f"{package}.{module}" for module, named in nouns.items() for noun in named.split()}

    assert promised(package)
    assert homes in ({}, promised(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_nowhere_is_an_error(package: str) -> None:
    """A misspelt name fails as it would in any module."""
    with pytest.raises(AttributeError, match="misspelt"):
        importlib.import_module(package).misspelt  # noqa: B018


def test_the_names_of_all_presets_are_known_without_making_them() -> None:
    """Settings check a name against a list that must be that of the presets."""
    assert tuple(policy.PRESETS) == policy.NAMES


def test_a_door_loads_one_module_at_its_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming the room loads nothing; naming a module of it loads that one alone."""
    room = tmp_path / "some_room"
    room.mkdir()
    door = "from engram.late import modules_of\n__getattr__ = modules_of(__name__)\n"
    (room / "__init__.py").write_text(door, encoding="utf-8")
    (room / "heavy.py").write_text("WEIGHT = 7\n", encoding="utf-8")
    (room / "other.py").write_text("WEIGHT = 8\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    opened = importlib.import_module("some_room")
    was_loaded = "some_room.heavy" in sys.modules

    weight = opened.heavy.WEIGHT

    assert (was_loaded, weight) == (False, 7)
    assert "some_room.other" not in sys.modules


def test_a_library_is_loaded_by_its_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module may hold a library without paying for it, and then has all of it."""
    (tmp_path / "some_library.py").write_text("NUMBER = 3\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    late = library("some_library")
    was_loaded = "some_library" in sys.modules

    number = late.NUMBER

    assert (was_loaded, number) == (False, 3)
    with pytest.raises(AttributeError, match="LETTER"):
        late.LETTER  # noqa: B018
