"""Commands that are loaded when they are named are the same as if all were there from the start."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main

from engramdb.cli.commands import LateCommands
from engramdb.cli.main import GROUPS, SECTIONS, VERBS, app


def commands() -> LateCommands:
    """The commands of `engram`, none of them loaded."""
    return LateCommands(VERBS, GROUPS)


@pytest.mark.parametrize("name", VERBS)
def test_the_list_says_of_a_command_what_the_command_says_of_itself(name: str) -> None:
    """The sentence is taken from the compiled file; loading the command gives the same."""
    found = commands()

    told = found.sentence(name)

    assert told == " ".join(found[name].help.split("\n\n")[0].split())
    assert told.endswith(".")


def test_a_command_is_made_once() -> None:
    """Asking twice gives the same command, and asking for one does not make the others."""
    found = commands()

    assert found["get"] is found["get"]
    assert found._made.keys() == {"get"}


def test_every_heading_stands_above_a_command() -> None:
    """The help begins with a heading, and no heading is lost because its command was renamed."""
    names = list(commands())

    assert set(SECTIONS) <= set(names)
    assert names[0] in SECTIONS
    assert list(SECTIONS) == [name for name in names if name in SECTIONS]


def test_the_help_names_every_command() -> None:
    """Under its headings stand all of them, groups too."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("engram", [], resilient_parsing=True)

    told = root.get_help(context)

    assert [name for name in commands() if f"  {name} " not in told] == []
    assert [title for title in SECTIONS.values() if f"{title}:" not in told] == []
