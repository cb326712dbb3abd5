"""The staircase that CONTRIBUTING.md draws: a package imports from lower steps only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import engramdb

SOURCE = Path(engramdb.__file__).parent
DRAWING = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
STAIRCASE, SIDEWAYS = re.findall(r"```text\n(.*?)```", DRAWING, flags=re.DOTALL)
STEPS = [re.split(r" {2,}", line)[0].split() for line in STAIRCASE.splitlines()]
HEIGHT = {package: -depth for depth, packages in enumerate(STEPS) for package in packages}
ALLOWED = {
    (package, other)
    for package, others in (line.split(" -> ") for line in SIDEWAYS.splitlines())
    for other in others.split()
}
LAZY = {"engine", "verbs", *STEPS[0]}
"""Packages that may import one of ours inside a function, so that a command loads only what it uses."""
MAKES_ARRAYS = "store/sqlite/aging.py"
"""Loads the columns of `values`, which need numpy, with the first sweep: a store opens without it."""
MODULES = sorted(
    path for path in SOURCE.rglob("*.py") if not path.relative_to(SOURCE).parts[0].startswith("_")
)


def package_of(path: Path) -> str:
    """Return the package of a file; a module beside the packages counts as one."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(node: ast.AST) -> set[str]:
    """Return the packages of ours that a piece of code imports, for use and for types alike."""
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Import):
            found |= {alias.name for alias in one.names}
        elif isinstance(one, ast.ImportFrom):
            assert one.level == 0, "a relative import"
            found |= {f"{one.module}.{alias.name}" for alias in one.names}
    parts = [name.split(".") for name in found if name.split(".")[0] == "engramdb"]
    return {name[1] if len(name) > 1 and is_package(name[1]) else "" for name in parts}


def is_package(name: str) -> bool:
    """Whether a name in `engramdb` is a package or module and not a value."""
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(SOURCE)) for path in MODULES])
def test_imports_point_down(path: Path) -> None:
    """Each module imports from its own package, from lower steps, and sideways only as the drawing allows."""
    package = package_of(path)

    for other in imports(ast.parse(path.read_text(encoding="utf-8"))) - {package}:
        if other == "":
            assert package in STEPS[0], f"{package} imports the public names"
        elif (package, other) not in ALLOWED:
            assert HEIGHT[other] < HEIGHT[package], f"{package} may not import {other}"


def test_the_drawing_shows_every_package() -> None:
    """What stands in `src/engramdb` is drawn, and what is drawn exists."""
    packages = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith("_")}

    assert packages - {"py.typed"} == set(HEIGHT)


def test_the_drawing_allows_nothing_that_is_not_used() -> None:
    """A sideways import that has gone is taken off the list."""
    used = {
        (package_of(path), other)
        for path in MODULES
        for other in imports(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert used >= ALLOWED


def test_the_files_named_in_the_guide_exist() -> None:
    """The table of where to look points at files that are there."""
    named = re.findall(r"\| `([\w/]+\.py)` \|", DRAWING)

    assert named
    assert [name for name in named if not (SOURCE / name).is_file()] == []


def test_no_import_hides_inside_a_function() -> None:
    """An import inside a function to avoid a cycle means that the packages are wrong."""
    hidden = [
        f"{path.relative_to(SOURCE)}: {other}"
        for path in MODULES
        if package_of(path) not in LAZY and path != SOURCE / MAKES_ARRAYS
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for other in imports(function) - {package_of(path)}
    ]

    assert hidden == []
