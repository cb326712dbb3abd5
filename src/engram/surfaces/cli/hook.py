"""
`engram hook`: what Claude Code or Gemini CLI calls while a conversation goes on.

Calls `surfaces.hooks.run` with the event on standard input. `engram connect` writes these calls, as
`python -m engram hook`, which does the same without loading the command line.
"""

import sys
from typing import Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import talk
from engram.surfaces.hooks.call import Call
from engram.surfaces.hooks.program import CLAUDE_CODE, PROGRAMS


def hook(
    shared: Shared,
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="SessionStart, UserPromptSubmit, Stop and so on.")
    ],
    *,
    home: Annotated[
        str | None, typer.Option(metavar="PATH", help="The home folder of Engram; else $ENGRAM_HOME.")
    ] = None,
    client: Annotated[
        str, typer.Option(metavar="CLIENT", help=f"Which program calls: {', '.join(PROGRAMS)}.")
    ] = CLAUDE_CODE.name,
) -> None:
    """
    Answer one event of an agent, told as JSON on standard input: give context, keep what was said.

    Example: engram hook UserPromptSubmit < event.json
    """
    from engram.surfaces.hooks.run import run_here  # noqa: PLC0415 - not needed for --help

    call = Call(
        event=event,
        store=shared.store,
        home=home,
        client=client,
        project=shared.project,
        squad=shared.squad,
        agent=shared.agent,
        channel=shared.channel,
        user=shared.user,
    )
    if sys.stdin is not None and sys.stdin.isatty():
        talk("A hook is told its event as JSON on standard input; see docs/guides/agents.md.")
        return
    run_here(call)
