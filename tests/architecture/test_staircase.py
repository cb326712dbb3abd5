"""The staircase: a room imports from lower steps only, never sideways or up. DESIGN.md draws it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import engramdb

SOURCE = Path(engramdb.__file__).parent
STEPS = (
    {"errors", "kept", "late"},
    {"values", "settings", "policy"},
    {"text", "aging"},
    {"store", "providers", "vault"},
    {"index"},
    {"attention"},
    {"capture", "recall", "context", "dream", "sharing", "portability"},
    {"engine"},
    {"surfaces", "testing"},
)
ALLOWED_SIDEWAYS = {("settings", "policy")}
"""Settings hand out the chosen policy; everything else on a step stands alone."""

HEIGHT = {room: height for height, rooms in enumerate(STEPS) for room in rooms}
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(module: str) -> str:
    """The room that a module belongs to: `engramdb.store.sqlite.rows` is in `store`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    """Every module of ours that a file imports, for use and for types alike."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            names = [alias.name for alias in node.names]
            if node.module == "engram" and all(map(is_module, names)):
                found |= {f"engram.{name}" for name in names}
            else:
                found.add(node.module or "")
    return {name for name in found if name == "engram" or name.startswith("engram.")}


def is_module(name: str) -> bool:
    """Whether a name of the package is a room and not a value."""
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(SOURCE)) for path in MODULES])
def test_imports_point_down(path: Path) -> None:
    """Each module imports from its own room and from lower steps, and says so in its import lines."""
    relative = path.relative_to(SOURCE)
    room = relative.parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return

    for module in sorted(imports(path)):
        other = room_of(module)
        if other in (room, "") or (room, other) in ALLOWED_SIDEWAYS:
            assert other or HEIGHT[room] == len(STEPS) - 1, f"{relative} imports the package itself"
            continue
        assert other in HEIGHT, f"{relative} imports {module}, which has no step"
        assert HEIGHT[other] < HEIGHT[room], f"{relative} ({room}) may not import {module}"


def test_every_room_has_a_step() -> None:
    """A new room is put on the staircase before it is used."""
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith("_")}

    assert rooms - {"py.typed"} <= set(HEIGHT)


def test_no_import_of_another_room_hides_inside_a_function() -> None:
    """A late import to avoid a circle means that the rooms are wrong; surfaces may be late to start fast."""
    hidden = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in MODULES
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engram")
        if room_of(node.module or "") != path.relative_to(SOURCE).parts[0]
    ]

    assert [place for place in hidden if not place.startswith("surfaces")] == []
