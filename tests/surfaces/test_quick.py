"""Plain values are taken as typer would take them, only sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import typer.main
from typer.core import TyperCommand

from engramdb.cli.commands import NOT_PLAIN, QuickCommand, QuickGroup, plain
from engramdb.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = (
    "",
    " ",
    "x",
    "7",
    "007",
    "-7",
    "1_000",
    "٣",
    "3.5",
    "true",
    "2026-05-08",
    "fact",
    "FACT",
    "active",
)


def commands(group: Any) -> Iterator[Any]:
    """Yield every command below a group."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            assert isinstance(command, QuickGroup)
            yield from commands(command)
        else:
            yield command


def by_typer(parameter: Any, context: Any, value: Any) -> Any:
    """Return what typer itself makes of a value, or the kind of its refusal."""
    try:
        return type(parameter).process_value(parameter, context, value)
    except typer.BadParameter:
        return typer.BadParameter


def quickly(parameter: Any, value: Any) -> Any:
    """Return what we make of a value, or the kind of the refusal."""
    try:
        return plain(parameter, value)
    except typer.BadParameter:
        return typer.BadParameter


@pytest.mark.parametrize("command", list(commands(typer.main.get_command(app))), ids=lambda one: one.name)
def test_what_is_taken_quickly_is_what_typer_takes(command: Any) -> None:
    """For every parameter of every command, whatever is given: the same value, or typer is asked."""
    assert isinstance(command, QuickCommand)
    context = command.make_context("x", [], resilient_parsing=True)
    for parameter in TyperCommand.get_params(command, context):
        given: list[Any] = [None, parameter.get_default(context), *SAMPLES]
        if parameter.multiple:
            given = [None, (), *((sample,) for sample in SAMPLES), ("x", "fact")]
        for value in given:
            if value is None and parameter.required:
                continue
            taken = quickly(parameter, value)
            if taken is not NOT_PLAIN:
                assert taken == by_typer(parameter, context, value), (parameter.name, value)


def test_the_usual_recall_needs_no_typer() -> None:
    """Absent options, texts, whole numbers, names of a list and times are all plain."""
    command = typer.main.get_command(app).commands["recall"]  # type: ignore[attr-defined]
    given = {"question": "which editor?", "limit": "3", "layer": ("semantic",), "since": "2026-05-08"}

    for parameter in command.params:
        assert plain(parameter, given.get(parameter.name)) is not NOT_PLAIN
