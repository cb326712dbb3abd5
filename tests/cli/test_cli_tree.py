"""Commands are made when they are named; the help lists all of them under headings."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from engramdb.cli.main import GROUPS, PLAIN, SECTIONS, application
from engramdb.verbs.table import VERBS


def test_a_command_is_made_once_and_alone() -> None:
    """Asking twice gives the same command, and asking for one does not make the others."""
    app = application()
    context = click.Context(app)

    assert app.get_command(context, "get") is app.get_command(context, "get")
    assert set(app.commands) == {"get"}


def test_the_help_names_every_command_under_its_heading() -> None:
    """Verbs, other commands and groups; no heading is empty."""
    told = CliRunner().invoke(application(), ["--help"]).stdout

    words = {one.cli.words for one in VERBS.values() if one.cli} | {one.words for one in PLAIN}
    names = {one.partition(" ")[0] for one in words} | set(GROUPS)
    assert [name for name in sorted(names) if f"  {name} " not in told] == []
    assert [title for title in SECTIONS if f"{title}:" not in told] == []


def test_every_command_stands_under_a_heading_that_there_is() -> None:
    """A mistyped section would make a heading of its own."""
    named = {one.cli.section for one in VERBS.values() if one.cli} | {one.section for one in PLAIN}

    assert named | {section for section, _ in GROUPS.values()} == set(SECTIONS)


@pytest.mark.parametrize(("old", "new"), [("relate", "link"), ("unrelate", "unlink")])
def test_an_old_name_still_works_and_is_no_longer_shown(old: str, new: str) -> None:
    """What users have typed before is understood."""
    app = application()
    runner = CliRunner()

    listed = runner.invoke(app, ["--help"]).stdout

    assert f"  {old} " not in listed
    assert runner.invoke(app, [old, "--help"]).stdout.replace(f"engram {old}", f"engram {new}") == (
        runner.invoke(app, [new, "--help"]).stdout
    )
