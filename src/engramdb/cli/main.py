"""The command `engram`: every verb, and what is no verb, in one application."""

from __future__ import annotations

import sys
from typing import Any

import click

from engramdb.cli.commands import Application, PlainCommand, entries, tree
from engramdb.cli.errors import leave
from engramdb.verbs.errors import INTERRUPTED

SECTIONS = (
    "Begin",
    "Put in",
    "Ask",
    "See and change memories",
    "Let time pass",
    "What an agent has in mind",
    "Look after the store",
    "Connect programs",
    "Settings",
)
"""The headings of the help in their order; a verb names the one that it stands under."""
SHELLS = ("bash", "zsh", "fish", "powershell")
"""Those that can complete commands."""
GROUPS = {
    "notebook": ("Connect programs", "Sync a folder of Markdown notes with memories."),
    "token": ("Connect programs", "Make and revoke the tokens of callers of `engram serve`."),
    "models": ("Settings", "See, add and choose embedders."),
    "policy": ("Settings", "See and compare the presets of the lifecycle."),
}
"""The section and the meaning of commands that share their first word."""
PLAIN = (
    PlainCommand(
        words="demo",
        section="Begin",
        target="demo.demo",
        summary="Tell the story of a sample life: observe, recall, contradict, age a year, dream, forget.",
        examples=("demo --keep story.db",),
    ),
    PlainCommand(
        words="init",
        section="Begin",
        target="store.init",
        summary="Make a store and say where it is; one that exists is left as it is.",
        examples=("init --store memory.db",),
    ),
    PlainCommand(
        words="completion",
        section="Begin",
        target="main.completion",
        summary="Print the completion script of a shell; it serves `engramdb` and `engram`.",
        examples=("completion bash >> ~/.bashrc",),
    ),
    PlainCommand(
        words="import",
        section="Put in",
        target="importing.import_source",
        is_write=True,
        summary="Import what another program knows; importing it twice adds nothing.",
        examples=(
            "import ~/Downloads/chatgpt-export.zip --user ann --speaker Ann --dry-run",
            "export | engram import - --store other.db",
        ),
    ),
    PlainCommand(
        words="watch",
        section="Put in",
        target="notebook.watch",
        is_write=True,
        summary="Sync a folder of Markdown notes with memories, until Ctrl-C.",
        examples=("watch ~/notes/memory",),
    ),
    PlainCommand(
        words="export",
        section="Look after the store",
        target="importing.export",
        summary="Write what is known as JSON, one memory to a line; `engram import` reads it.",
        examples=("export memories.jsonl --history", "export --category preference | jq .content"),
    ),
    PlainCommand(
        words="restore-backup",
        section="Look after the store",
        target="store.restore_backup",
        summary="Put a backup, the newest unless named, in the place of the store; what was there is kept.",
        examples=("restore-backup --list", "restore-backup"),
    ),
    PlainCommand(
        words="bench",
        section="Look after the store",
        target="bench.bench",
        summary="Measure how fast this machine remembers and recalls, in a store that is gone afterwards.",
        examples=("bench --memories 10000",),
    ),
    PlainCommand(
        words="serve",
        section="Connect programs",
        target="serve.serve",
        summary="Serve the HTTP API and the page until Ctrl-C; on this machine unless told otherwise.",
        examples=("serve --port 7070",),
    ),
    PlainCommand(
        words="mcp",
        section="Connect programs",
        target="serve.mcp",
        summary="Serve this memory over the Model Context Protocol, on standard input and output, or HTTP.",
        examples=("mcp --project harvest --agent claude",),
    ),
    PlainCommand(
        words="connect",
        section="Connect programs",
        target="connect.connect",
        summary="Give an agent or editor this memory: show what would change in its configuration, and ask.",
        examples=("connect claude-code --user maya",),
    ),
    PlainCommand(
        words="hook",
        section="Connect programs",
        target="connect.hook",
        summary="Answer one event of an agent, as JSON on standard input: give context, store what was said.",
        examples=("hook UserPromptSubmit < event.json",),
    ),
    PlainCommand(
        words="notebook sync",
        section="Connect programs",
        target="notebook.sync",
        is_write=True,
        summary="Bring a folder of Markdown notes and memories to the same state, both ways.",
        examples=("notebook sync ~/notes/memory --dry-run",),
    ),
    PlainCommand(
        words="token create",
        section="Connect programs",
        target="serve.create",
        is_write=True,
        summary="Make a token for one program; limited to the scope that is given, if any.",
        examples=("token create phone --user ada --read-only",),
    ),
    PlainCommand(
        words="token list",
        section="Connect programs",
        target="serve.list_tokens",
        summary="Show the named tokens and what each may do, without the tokens themselves.",
        examples=("token list",),
    ),
    PlainCommand(
        words="token revoke",
        section="Connect programs",
        target="serve.revoke",
        is_write=True,
        summary="Revoke a token, from the next request on.",
        examples=("token revoke phone",),
    ),
    PlainCommand(
        words="models list",
        section="Settings",
        target="models.list_models",
        summary="Show the embedders that can be chosen, and which is in use.",
        examples=("models list",),
    ),
    PlainCommand(
        words="models add",
        section="Settings",
        target="models.add",
        is_write=True,
        summary="Download a model pack, check it, and embed what waits for it.",
        examples=("models add e5-small",),
    ),
    PlainCommand(
        words="models use",
        section="Settings",
        target="models.use",
        is_write=True,
        summary="Choose an embedder in the settings file, and embed what waits for it.",
        examples=("models use e5-small",),
    ),
    PlainCommand(
        words="policy list",
        section="Settings",
        target="aging.list_presets",
        summary="Show the presets, each in a sentence, and which is in use.",
        examples=("policy list",),
    ),
    PlainCommand(
        words="policy show",
        section="Settings",
        target="aging.show_preset",
        summary="Show every number of a preset and what it means.",
        examples=("policy show cortex",),
    ),
    PlainCommand(
        words="policy plot",
        section="Settings",
        target="aging.plot_presets",
        summary="Draw how memories fade under every preset.",
        examples=("policy plot curves.svg",),
    ),
)
"""The commands that are no verbs of the engine."""


def application() -> Application:
    """Return the command line with every verb that is declared now."""
    return Application(
        "engram",
        tree(entries(PLAIN), SECTIONS, GROUPS),
        help="Engram: long-term memory for AI agents, on one file. `engram` is short for `engramdb`.\n\n"
        "Results go to stdout, talk to stderr.",
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_version,
                help="Show the version.",
            )
        ],
    )


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: Any) -> None:
    if wanted:
        from engramdb import __version__  # noqa: PLC0415 - as late as all that is ours

        click.echo(f"engramdb {__version__}")
        ctx.exit()


@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS), help=f"The shell: {', '.join(SHELLS)}.")
def completion(shell: str) -> None:
    """Print the script of a shell, for both names of the command."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - not needed for anything else

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows all of these
    for name in ("engramdb", "engram"):
        click.echo(kind(app, {}, name, f"_{name.upper()}_COMPLETE").source())


def _called() -> str:
    """Return the name under which the process was started: `engramdb`, or its short form."""
    name = sys.argv[0].replace("\\", "/").rpartition("/")[2]
    return "engramdb" if name.startswith("engramdb") else "engram"


app = application()


def run() -> None:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # an ASCII terminal still shows every memory
    try:
        app(prog_name=_called())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        leave()
