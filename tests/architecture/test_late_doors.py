"""Rooms open late: a package hands out its modules and names when they are first used, and says which."""

from __future__ import annotations

import ast
import gc
import importlib
import re
import sys
from pathlib import Path

import pytest

import engram
from engram import policy, values
from engram.late import library, load

SOURCE = Path(engram.__file__).parent
OPENINGS = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCE.rglob("__init__.py"))
    if "engram.late import" in path.read_text(encoding="utf-8")
}
PACKAGES = [".".join(path.relative_to(SOURCE.parent).parent.parts) for path in OPENINGS]
NOUN_PACKAGES = ("engram.policy", "engram.store.contract", "engram.values")
FILES = sorted(SOURCE.rglob("__init__.py"))


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


@pytest.mark.parametrize("package", [name for name in PACKAGES if name in NOUN_PACKAGES])
def test_a_star_takes_every_noun(package: str) -> None:
    """`from engram.values import *` takes all that stands there, used before or not."""
    taken: dict[str, object] = {}

    exec(f"from {package} import *", taken)  # noqa: S102 - a function has no stars

    assert set(promised(package)) <= set(taken)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_door_stands_open_to_a_type_checker(path: Path) -> None:
    """A checker that saw a module's `__getattr__` would take every misspelt name for one that is there."""
    text = path.read_text(encoding="utf-8")

    in_sight = re.findall(r"^(?:def )?__getattr__\b", text, flags=re.MULTILINE)

    assert not in_sight


def test_a_module_of_nouns_is_there_whatever_was_used_before() -> None:
    """That `engram.values.memory` can be named does not depend on whether somebody has used a memory."""
    for module in vars(values)["_NOUNS"]:
        assert values.__getattr__(module) is importlib.import_module(f"engram.values.{module}")


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


def test_what_is_interrupted_while_it_is_loaded_is_loaded_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of a late import leaves no half of a module, and the collector at work."""
    interrupted = (
        "import os\nif not os.path.exists(__file__ + '.again'):\n    raise KeyboardInterrupt\nWHOLE = 1\n"
    )
    (tmp_path / "interrupted_room.py").write_text(interrupted, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        load("interrupted_room")
    is_half_there = "interrupted_room" in sys.modules
    (tmp_path / "interrupted_room.py.again").touch()

    whole = load("interrupted_room").WHOLE

    assert (is_half_there, whole, gc.isenabled()) == (False, 1, True)


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
