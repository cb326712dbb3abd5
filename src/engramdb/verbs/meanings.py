"""What fields, constants and presets mean, in the words that stand below them in the source."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Sequence
from types import ModuleType

from engramdb.policy import aging

BALANCED = "Dates, fading and importance decide together; what a person asked to remember does not fade away."
"""The preset that has no constant of its own: everything at its default."""


def field_meanings(owner: type) -> dict[str, str]:
    """Return the string literal below each field of a class."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - the source of a class
    return _literals(definition.body)


def constant_meanings(module: ModuleType) -> dict[str, str]:
    """Return the string literal below each constant of a module."""
    return _literals(ast.parse(inspect.getsource(module)).body)


def preset_sentence(name: str) -> str:
    """Return what a preset is like, in one sentence."""
    return constant_meanings(aging).get(name.upper(), BALANCED)


def summary(owner: type) -> str:
    """Return the first paragraph of a class's docstring as one line."""
    return (inspect.getdoc(owner) or "").partition("\n\n")[0].replace("\n", " ")


def _literals(body: Sequence[ast.stmt]) -> dict[str, str]:
    found = {}
    for statement, below in itertools.pairwise(body):
        name, text = _assigned(statement), _text(below)
        if name is not None and text is not None:
            found[name] = text
    return found


def _assigned(statement: ast.stmt) -> str | None:
    """Return the name that a statement gives a value to, where it is one name."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _text(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None
