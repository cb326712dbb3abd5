"""The nouns are loaded when they are used, from where the types say they stand."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import engramdb.values

TREE = ast.parse(Path(engramdb.values.__file__).read_text(encoding="utf-8"))
FOR_TYPES = {
    alias.name: node.module
    for node in ast.walk(TREE)
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engram.values.")
    for alias in node.names
}


def test_types_and_nouns_name_the_same() -> None:
    """What a checker sees and what a program gets are two lists of one thing."""
    homes = {noun: f"engram.values.{module}" for noun, module in engramdb.values._HOMES.items()}

    assert homes == FOR_TYPES
    assert dir(engramdb.values) == sorted(FOR_TYPES)


@pytest.mark.parametrize("noun", FOR_TYPES)
def test_every_noun_is_found(noun: str) -> None:
    """The same object from the room as from its own module."""
    home = importlib.import_module(FOR_TYPES[noun] or "")

    assert getattr(engramdb.values, noun) is getattr(home, noun)


def test_what_is_no_noun_is_an_error() -> None:
    """A misspelt name fails as it would in any module."""
    with pytest.raises(AttributeError, match="Memmory"):
        engramdb.values.Memmory  # type: ignore[attr-defined]  # noqa: B018
