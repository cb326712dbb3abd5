"""The command line: every verb in one application."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from engramdb.cli.commands import Group, late_group, leave
from engramdb.cli.options import among
from engramdb.cli.output import out
from engramdb.verbs.errors import INTERRUPTED

# The command `engram`: every verb in one application.
#
# Started by the shell as `engram`. Each command stands in a file of this room and is loaded when it is named;
# `verb` wraps it. Help is written without rich, and plain values are taken without pydantic: the import of
# either would take as long as all the rest.

VERBS: dict[str, str] = {
    "demo": "demo.demo",
    "init": "store.init",
    "completion": "main.completion",
    "remember": "memories.remember",
    "observe": "conversation.observe",
    "flush": "conversation.flush",
    "turns": "conversation.turns",
    "end-session": "conversation.end_session",
    "import": "importing.import_source",
    "watch": "notebook.watch",
    "recall": "recall.recall",
    "context": "conversation.context",
    "reason": "recall.reason",
    "timeline": "recall.timeline",
    "entity": "recall.entity",
    "confidence": "dreaming.confidence",
    "gaps": "dreaming.gaps",
    "answer-gap": "dreaming.answer_gap",
    "close-gap": "dreaming.close_gap",
    "domains": "dreaming.domains",
    "summaries": "dreaming.summaries",
    "feedback": "memories.feedback",
    "list": "memories.list_memories",
    "get": "memories.get",
    "history": "memories.history",
    "links": "memories.links",
    "correct": "memories.correct",
    "relate": "memories.relate",
    "unrelate": "memories.unrelate",
    "pin": "memories.pin",
    "unpin": "memories.unpin",
    "promote": "memories.promote",
    "demote": "memories.demote",
    "set-status": "memories.set_status",
    "restore": "memories.restore",
    "forget": "memories.forget",
    "erase": "store.erase",
    "forecast": "aging.forecast",
    "age": "aging.age",
    "dream": "dreaming.dream",
    "dreams": "dreaming.dreams",
    "unmerge": "dreaming.unmerge",
    "working-memory": "conversation.working_memory",
    "suspend": "conversation.suspend",
    "resume": "conversation.resume",
    "status": "store.status",
    "doctor": "store.doctor",
    "audit": "store.audit",
    "enrich": "store.enrich",
    "rebuild": "store.rebuild",
    "export": "importing.export",
    "backup": "store.backup",
    "bench": "bench.bench",
    "serve": "serve.serve",
    "mcp": "serve.mcp",
    "connect": "connect.connect",
    "hook": "connect.hook",
}
"""Where each command stands: the file of this room, and the function in it."""
MODEL_VERBS: dict[str, str] = {
    "list": "models.list_models",
    "add": "models.add",
    "use": "models.use",
}
POLICY_VERBS: dict[str, str] = {
    "list": "aging.list_presets",
    "show": "aging.show",
    "compare": "aging.compare",
    "plot": "aging.plot",
}
NOTEBOOK_VERBS: dict[str, str] = {
    "sync": "notebook.sync",
}
TOKEN_VERBS: dict[str, str] = {
    "add": "serve.add",
    "list": "serve.list_tokens",
    "remove": "serve.remove",
}
GROUPS: dict[str, Group] = {
    "notebook": Group("notebook", "Keep a folder of Markdown notes in step with memories.", NOTEBOOK_VERBS),
    "token": Group("token", "Make and remove the tokens of callers of `engram serve`.", TOKEN_VERBS),
    "models": Group("models", "See, add and choose embedders.", MODEL_VERBS),
    "policy": Group("policy", "See and compare the presets of the lifecycle.", POLICY_VERBS),
}
SECTIONS = {
    "demo": "Begin",
    "remember": "Put in",
    "recall": "Ask",
    "list": "See and change memories",
    "forecast": "Let time pass",
    "working-memory": "What an agent has in mind",
    "status": "Look after the store",
    "serve": "Connect programs",
    "models": "Settings",
}
"""The headings of the help, each by the command that it stands above."""

app = typer.Typer(
    name="engram",
    cls=late_group(VERBS, GROUPS, SECTIONS),
    help="Engram: long-term memory for AI agents, on one file. `engram` is short for `engramdb`.\n\n"
    "Results go to stdout, talk to stderr.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from engramdb import __version__  # noqa: PLC0415

        typer.echo(f"engramdb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def run() -> None:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # an ASCII terminal still shows every memory
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        leave()


# `engram completion`: the script that lets a shell complete commands and options.


class Shell(StrEnum):
    """The shells that can be served."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help=among("The shell", Shell))],
) -> None:
    """
    Print the script that makes a shell complete `engramdb` and `engram`.

    Example: engram completion bash >> ~/.bashrc
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415

    for name in ("engramdb", "engram"):
        variable = f"_{name.upper()}_COMPLETE"
        out(get_completion_script(prog_name=name, complete_var=variable, shell=shell.value))
