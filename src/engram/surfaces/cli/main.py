"""
The command `engram`: every verb in one application.

Started by the shell as `engram`. Each command stands in the file of its name; `verb` wraps it.
Help is written without rich, and plain values are taken without pydantic: the import of either would take
as long as all the rest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from engram.surfaces.cli import models, policy
from engram.surfaces.cli.age import age
from engram.surfaces.cli.audit import audit
from engram.surfaces.cli.bench import bench
from engram.surfaces.cli.completion import completion
from engram.surfaces.cli.confidence import confidence
from engram.surfaces.cli.context import context
from engram.surfaces.cli.correct import correct
from engram.surfaces.cli.demo import demo
from engram.surfaces.cli.doctor import doctor
from engram.surfaces.cli.domains import domains, summaries
from engram.surfaces.cli.dream import dream, unmerge
from engram.surfaces.cli.dreams import dreams
from engram.surfaces.cli.enrich import enrich
from engram.surfaces.cli.entity import entity
from engram.surfaces.cli.erase import erase
from engram.surfaces.cli.feedback import feedback
from engram.surfaces.cli.flush import flush
from engram.surfaces.cli.forecast import forecast
from engram.surfaces.cli.forget import forget
from engram.surfaces.cli.gaps import answer_gap, close_gap, gaps
from engram.surfaces.cli.get import get
from engram.surfaces.cli.history import history
from engram.surfaces.cli.imports import import_source
from engram.surfaces.cli.init import init
from engram.surfaces.cli.list import list_memories
from engram.surfaces.cli.mcp import mcp
from engram.surfaces.cli.observe import observe
from engram.surfaces.cli.pin import pin, unpin
from engram.surfaces.cli.promote import demote, promote
from engram.surfaces.cli.quick import QuickCommand, QuickGroup
from engram.surfaces.cli.reason import reason
from engram.surfaces.cli.rebuild import rebuild
from engram.surfaces.cli.recall import recall
from engram.surfaces.cli.relate import links, relate, unrelate
from engram.surfaces.cli.remember import remember
from engram.surfaces.cli.restore import restore
from engram.surfaces.cli.serve import serve
from engram.surfaces.cli.set_status import set_status
from engram.surfaces.cli.status import status
from engram.surfaces.cli.timeline import timeline
from engram.surfaces.cli.turns import end_session, turns
from engram.surfaces.cli.verb import verb
from engram.surfaces.cli.working_memory import resume, suspend, working_memory
from engram.surfaces.errors import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

VERBS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "init": init,
    "observe": observe,
    "flush": flush,
    "turns": turns,
    "end-session": end_session,
    "remember": remember,
    "recall": recall,
    "context": context,
    "reason": reason,
    "timeline": timeline,
    "entity": entity,
    "confidence": confidence,
    "gaps": gaps,
    "answer-gap": answer_gap,
    "close-gap": close_gap,
    "domains": domains,
    "summaries": summaries,
    "feedback": feedback,
    "get": get,
    "list": list_memories,
    "correct": correct,
    "forget": forget,
    "pin": pin,
    "unpin": unpin,
    "promote": promote,
    "demote": demote,
    "restore": restore,
    "set-status": set_status,
    "erase": erase,
    "history": history,
    "relate": relate,
    "unrelate": unrelate,
    "links": links,
    "forecast": forecast,
    "age": age,
    "dream": dream,
    "dreams": dreams,
    "unmerge": unmerge,
    "working-memory": working_memory,
    "suspend": suspend,
    "resume": resume,
    "status": status,
    "doctor": doctor,
    "import": import_source,
    "enrich": enrich,
    "rebuild": rebuild,
    "audit": audit,
    "serve": serve,
    "mcp": mcp,
    "bench": bench,
    "completion": completion,
}
MODEL_VERBS: dict[str, Callable[..., None]] = {
    "list": models.list_models,
    "add": models.add,
    "use": models.use,
}
POLICY_VERBS: dict[str, Callable[..., None]] = {
    "list": policy.list_presets,
    "show": policy.show,
    "compare": policy.compare,
    "plot": policy.plot,
}

app = typer.Typer(
    name="engram",
    cls=QuickGroup,
    help="Long-term memory for AI agents, on one file. Results go to stdout, talk to stderr.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

for _name, _function in VERBS.items():
    app.command(_name, cls=QuickCommand)(verb(_function))
for _group, _meaning, _verbs in (
    ("models", "See, add and choose embedders.", MODEL_VERBS),
    ("policy", "See and compare the presets of the lifecycle.", POLICY_VERBS),
):
    _inner = typer.Typer(cls=QuickGroup, help=_meaning, no_args_is_help=True, rich_markup_mode=None)
    for _name, _function in _verbs.items():
        _inner.command(_name, cls=QuickCommand)(verb(_function))
    app.add_typer(_inner, name=_group)


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
