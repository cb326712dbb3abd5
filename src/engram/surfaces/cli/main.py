"""
The command `engram`: every verb in one application.

Started by the shell as `engram`. Each command stands in a file of this room and is loaded when it is named;
`verb` wraps it. Help is written without rich, and plain values are taken without pydantic: the import of
either would take as long as all the rest.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from engram.surfaces.cli.late import Group, late_group
from engram.surfaces.cli.loading import leave
from engram.surfaces.errors import INTERRUPTED

VERBS: dict[str, str] = {
    "demo": "demo.demo",
    "init": "init.init",
    "completion": "completion.completion",
    "remember": "remember.remember",
    "observe": "observe.observe",
    "flush": "flush.flush",
    "turns": "turns.turns",
    "end-session": "turns.end_session",
    "import": "imports.import_source",
    "watch": "watch.watch",
    "recall": "recall.recall",
    "context": "context.context",
    "reason": "reason.reason",
    "timeline": "timeline.timeline",
    "entity": "entity.entity",
    "confidence": "confidence.confidence",
    "gaps": "gaps.gaps",
    "answer-gap": "gaps.answer_gap",
    "close-gap": "gaps.close_gap",
    "domains": "domains.domains",
    "summaries": "domains.summaries",
    "feedback": "feedback.feedback",
    "list": "list.list_memories",
    "get": "get.get",
    "history": "history.history",
    "links": "relate.links",
    "correct": "correct.correct",
    "relate": "relate.relate",
    "unrelate": "relate.unrelate",
    "pin": "pin.pin",
    "unpin": "pin.unpin",
    "promote": "promote.promote",
    "demote": "promote.demote",
    "set-status": "set_status.set_status",
    "restore": "restore.restore",
    "forget": "forget.forget",
    "erase": "erase.erase",
    "forecast": "forecast.forecast",
    "age": "age.age",
    "dream": "dream.dream",
    "dreams": "dreams.dreams",
    "unmerge": "dream.unmerge",
    "working-memory": "working_memory.working_memory",
    "suspend": "working_memory.suspend",
    "resume": "working_memory.resume",
    "status": "status.status",
    "doctor": "doctor.doctor",
    "audit": "audit.audit",
    "enrich": "enrich.enrich",
    "rebuild": "rebuild.rebuild",
    "export": "export.export",
    "backup": "backup.backup",
    "bench": "bench.bench",
    "serve": "serve.serve",
    "mcp": "mcp.mcp",
    "connect": "connect.connect",
    "hook": "hook.hook",
}
"""Where each command stands: the file of this room, and the function in it."""
MODEL_VERBS: dict[str, str] = {
    "list": "models.list_models",
    "add": "models.add",
    "use": "models.use",
}
POLICY_VERBS: dict[str, str] = {
    "list": "policy.list_presets",
    "show": "policy.show",
    "compare": "policy.compare",
    "plot": "policy.plot",
}
NOTEBOOK_VERBS: dict[str, str] = {
    "sync": "notebook.sync",
}
TOKEN_VERBS: dict[str, str] = {
    "add": "token.add",
    "list": "token.list_tokens",
    "remove": "token.remove",
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
    help="Long-term memory for AI agents, on one file. Results go to stdout, talk to stderr.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from engram import __version__  # noqa: PLC0415

        typer.echo(f"engram {__version__}")
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
