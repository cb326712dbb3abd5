"""What holds for every command: its verb, its example, its JSON, its short help."""

from __future__ import annotations

import functools
import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest

from engramdb import Engram
from engramdb.cli.commands import LazyGroup
from engramdb.cli.main import app
from engramdb.verbs.errors import ABSENT

if TYPE_CHECKING:
    from surfaces.fixtures import Command

NOT_FOR_A_SHELL = {
    "audit_log": "for the surfaces themselves",
    "note_denial": "for the surfaces themselves",
    "note_token": "for the surfaces themselves",
    "settings": "what the command line reads itself",
    "actor": "who acts now; a command is the person's, or ENGRAM_ACTOR",
    "open": "every command does",
    "close": "every command does",
    "turn": "a block around a running model",
    "schedule": "a hint to the background of a process that stays",
    "remember_many": "`import` reads many",
    "remember_stream": "`import` reads many",
    "compare_policies": "`engram policy compare`",
    "judge_pending": "`engram enrich`",
    "embed_pending": "`engram enrich`, `engram doctor --fix` and `engram models`",
    "import_from": "`engram import`",
    "import_text": "`engram import -`",
    "registered_export": "what `engram export` does with a file",
    "imported_from": "a look behind a memory that an import made",
    "export_to": "`engram export`",
    "notebook_sync": "`engram notebook sync`",
    "notebook_mark": "what `engram watch` looks at",
    "scope": "`--project`, `--squad`, `--agent`, `--channel` and `--user`",
    "capture": "doors for agents' own programs",
    "changes": "`GET /v1/events` follows them",
    "hear": "`engram hook` listens in on an agent",
    "read_due": "what `engram hook` does when the agent has gone on",
    "questions_about": "`engram hook` and `engram context` bring them up",
    "note_success": "how `engram hook` fared, for `engram status`",
    "note_failures": "how `engram hook` fared, for `engram status`",
    "documents": "documents of other programs, through an integration",
    "shelf": "the former name of `documents`",
    "replies": "answers that the HTTP server keeps",
    "salvage": "`engram doctor --salvage`",
    "shown_to": "for surfaces: a view of the engine for one audience",
    "viewer": "for surfaces: who looks",
}
"""Verbs of the library that are no command of their own, and why."""
WITHOUT_JSON = {"serve", "mcp", "hook", "completion"}
"""Commands whose answer is no value: they serve, or print a script."""


@functools.cache
def commands() -> dict[str, click.Command]:
    """Return every command by its words, old names too."""
    context = click.Context(app)
    found: dict[str, click.Command] = {}
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        if isinstance(command, LazyGroup):
            inner = {one: command.get_command(context, one) for one in command.list_commands(context)}
            found |= {f"{name} {one}": made for one, made in inner.items() if made is not None}
        else:
            found[name] = command
    return found


def test_every_verb_of_the_library_is_a_command() -> None:
    """The same word everywhere; whoever adds a verb decides at once how a shell gets it."""
    verbs = {name for name in dir(Engram) if not name.startswith("_")}
    named = {name.replace("_", "-") for name in verbs - set(NOT_FOR_A_SHELL)}

    assert sorted(named - set(commands())) == []


@pytest.mark.parametrize("name", commands())
def test_every_command_says_how_it_is_used(name: str) -> None:
    """One sentence that fits the list, and a line to copy."""
    command = commands()[name]
    text = command.help or ""

    assert text.strip().split("\n\n")[0].endswith(".")
    assert command.hidden or f"Example: engram {name}" in text


@pytest.mark.parametrize("name", [name for name in commands() if name.split()[0] not in WITHOUT_JSON])
def test_every_answer_can_be_json(name: str) -> None:
    """A script never has to take a table apart."""
    options = {option for one in commands()[name].params for option in one.opts}

    assert "--json" in options


def examples() -> list[str]:
    """Return every line to copy in every help, without what the shell makes of it."""
    found = [
        line for one in commands().values() for line in re.findall(r"Example: engram (.+)", one.help or "")
    ]
    return sorted({re.split(r" (?:[|<>]|>>|&&) ", line)[0] for line in found})


@pytest.mark.parametrize("line", examples())
def test_every_example_of_a_help_is_understood(line: str) -> None:
    """A line to copy that the parser refuses is worse than none."""
    words = shlex.split(re.sub(r"\$\(.*?\)", "today", line))
    name = " ".join(words[:2]) if " ".join(words[:2]) in commands() else words[0]

    commands()[name].make_context(name, words[len(name.split()) :])


NAMED = {"ID": "3f2a9c1b", "GAP": "4f1c77ab0d52", "OTHER": "77d0e4a2"}
"""Arguments and options that name something stored, and an id that nothing has."""


def naming() -> list[list[str]]:
    """Return a line for every command that names something stored, and for every option that does."""
    lines: list[list[str]] = []
    for name, command in commands().items():
        wanted = [one for one in command.params if isinstance(one, click.Argument) and one.required]
        if name != "erase" and any(one.metavar in NAMED for one in wanted):
            lines.append([*name.split(), *map(_example, wanted)])
        lines += [
            [*name.split(), one.opts[-1], NAMED[one.metavar]]
            for one in command.params
            if isinstance(one, click.Option) and one.metavar in NAMED and not wanted
        ]
    return lines


def _example(one: click.Parameter) -> str:
    choices = one.type.choices if isinstance(one.type, click.Choice) else ()
    return NAMED.get(one.metavar or "", choices[0] if choices else "some words")


@pytest.mark.parametrize("line", naming(), ids=" ".join)
def test_what_is_named_and_not_there_gives_one_exit_code(engram_command: Command, line: list[str]) -> None:
    """A script tells "not there" from "used wrongly" whichever kind of id it has."""
    engram_command("remember", "The API uses JWT tokens")
    command = commands()[" ".join(line[:1])]
    needs = [["--helpful"] for one in command.params if "--helpful" in one.opts]

    result = engram_command(*line, *(needs[0] if needs else []))

    assert result.exit_code == ABSENT, result.stderr
