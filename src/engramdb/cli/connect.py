"""Connect agents and answer their hooks."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import Struct

from engramdb.cli.options import Shared, shared_options
from engramdb.cli.output import out, show_table, talk, visible, warning, write_json
from engramdb.connect.clients import CLIENTS, Machine, parts_of
from engramdb.connect.entries import NAME, own_entries
from engramdb.connect.parts import CannotEdit, CombinedPart, ConfigPart, JsonServer, TomlServer
from engramdb.connect.plan import (
    FileAction,
    FileChange,
    carry_out,
    drop_copy,
    read_file,
    to_connect,
    to_remove,
)
from engramdb.errors import InvalidSettings
from engramdb.hooks.events import CLAUDE_CODE, PROGRAMS, HookCall
from engramdb.hooks.project import AUTO
from engramdb.verbs.errors import FAILED

_DONE = {FileAction.MAKE: "made", FileAction.CHANGE: "changed", FileAction.DELETE: "deleted"}
_FLEETING = (f"{os.sep}uv{os.sep}archive-", f"{os.sep}pipx{os.sep}.cache{os.sep}")
"""In the paths of environments that `uvx` and `pipx run` make for one command."""


class Report(Struct, frozen=True):
    """One file, as JSON shows it."""

    path: str
    action: str
    is_done: bool
    diff: str
    reason: str = ""
    snippet: str = ""


@click.argument("client", metavar="CLIENT", required=False, help=f"One of {', '.join(CLIENTS)}.")
@click.option("--remove", is_flag=True, help="Remove it again.")
@click.option("--yes", "-y", is_flag=True, help="Do it without asking.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="For this project's folder, not for all of yours.",
)
@click.option("--name", default=NAME, metavar="NAME", help="What the server is called there.")
@click.option("--no-hooks", is_flag=True, help="The server only: nothing is stored by itself.")
@click.option("--list", "show_list", is_flag=True, help="Show what is connected where.")
@shared_options
def connect(
    shared: Shared,
    client: str | None,
    *,
    remove: bool,
    yes: bool,
    folder: Path | None,
    name: str,
    no_hooks: bool,
    show_list: bool,
) -> None:
    """
    Write Engram into the configuration of an agent or editor, or take it out.

    It shows what it would change and changes nothing without a yes, from a person at a terminal or by
    `--yes`. What cannot be changed safely is left alone, and what to paste is printed instead.
    """
    place = None if folder is None else Path(os.path.abspath(folder))  # noqa: PTH100 - links stay as named
    if show_list:
        _list(shared, place, name)
        return
    if not remove:
        _check_auto(shared.project, _known(client))
    parts = _parts(shared, _known(client), place, name, with_hooks=remove or not no_hooks)
    changes = [(to_remove if remove else to_connect)(path, part) for path, part in parts.items()]
    wanted = [change.action not in (FileAction.NOTHING, FileAction.REFUSE) for change in changes]
    if not shared.json:
        _show(changes)
    is_agreed = any(wanted) and (yes or (not shared.json and _agrees()))
    done = [is_agreed and _do(change, remove=remove) for change in changes]
    if shared.json:
        write_json([_report(change, is_done=one) for change, one in zip(changes, done, strict=True)])
    else:
        _conclude(changes, done, client=str(client), undo=None if remove else _undo(client, place, name))
        if any(wanted) and not is_agreed:
            talk(f"Nothing was written.{'' if sys.stdin.isatty() else ' Say --yes to write it.'}")
    if any(change.action is FileAction.REFUSE for change in changes) or (is_agreed and done != wanted):
        raise click.exceptions.Exit(FAILED)


def _known(client: str | None) -> str:
    if client not in CLIENTS:
        told = "no client was named" if client is None else f"there is no client {client!r}"
        raise InvalidSettings(told, hint=f"Use one of {', '.join(CLIENTS)}, or --list.")
    return client


def _check_auto(project: str | None, client: str) -> None:
    """Refuse `--project auto` for a program that does not start its servers in the folder at work."""
    if project == AUTO and CLIENTS[client].in_folder is None:
        raise InvalidSettings(
            f"{CLIENTS[client].title} does not say which folder it works in, so --project auto finds none",
            hint="Name the project, or leave out --project.",
        )


def _machine() -> Machine:
    return Machine(home=Path.home(), environment=os.environ, system=sys.platform)


def _parts(
    shared: Shared, client: str, folder: Path | None, name: str, *, with_hooks: bool
) -> dict[Path, ConfigPart]:
    scope = {part: getattr(shared, part) for part in ("project", "squad", "agent", "channel", "user")}
    ours = own_entries(store=shared.store, scope=scope, environment=os.environ)
    return parts_of(client, ours, _machine(), folder=folder, server=name, with_hooks=with_hooks)


def _show(changes: list[FileChange]) -> None:
    for change in changes:
        if change.action is FileAction.REFUSE:
            talk(warning(f"{change.path} is left alone: {change.reason}"))
            talk("To do it yourself, put this in:")
            out(change.snippet)
        elif change.action is not FileAction.NOTHING:
            out(visible(change.diff) or f"{change.path} becomes empty")


def _agrees() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return click.confirm("Write this?", err=True)


def _do(change: FileChange, *, remove: bool) -> bool:
    try:
        carry_out(change)
    except CannotEdit as exc:
        talk(warning(f"{change.path} is left alone: {exc}"))
        return False
    if remove and change.action is not FileAction.REFUSE:
        drop_copy(change)
    return change.action not in (FileAction.NOTHING, FileAction.REFUSE)


def _undo(client: str | None, folder: Path | None, name: str) -> str:
    """Return the command that takes out again what this one writes."""
    where = [] if folder is None else ["--folder", str(folder)]
    called = [] if name == NAME else ["--name", name]
    return shlex.join(["engram", "connect", str(client), *where, *called, "--remove"])


def _conclude(changes: list[FileChange], done: list[bool], *, client: str, undo: str | None) -> None:
    """Tell what came of it, and what to do next; what was removed has nothing to undo."""
    for change, is_done in zip(changes, done, strict=True):
        if is_done or change.action is FileAction.NOTHING:
            talk(f"{change.path}: {_DONE.get(change.action) or _unchanged(undo is None)}")
    title = CLIENTS[client].title
    if any(done):
        talk(f"Restart {title} for it to take effect.{f' To undo: {undo}' if undo else ''}")
    if undo and any(done[1:]) and CLIENTS[client].remark:  # the hooks come after the server
        talk(CLIENTS[client].remark)
    if any(done) and undo:
        for doubt in _doubts(title):
            talk(warning(doubt))


def _doubts(title: str) -> Iterator[str]:
    """Yield what may keep a written entry from working."""
    if os.environ.get("ENGRAM_KEY"):
        yield f"The store's key was not written: {title} needs ENGRAM_KEY in its own environment."
    if importlib.util.find_spec("mcp") is None:
        yield "The server needs one more package: pip install 'engramdb[mcp]'"
    if any(part in sys.prefix for part in _FLEETING):
        yield f"The command is in {sys.prefix}, which may be cleared away: install Engram, and connect again."


def _unchanged(remove: bool) -> str:
    return "nothing of ours is in it" if remove else "is as it should be"


def _report(change: FileChange, *, is_done: bool) -> Report:
    shown = "" if change.action in (FileAction.NOTHING, FileAction.REFUSE) else change.diff
    return Report(
        path=str(change.path),
        action=change.action,
        is_done=is_done,
        diff=shown,
        reason=change.reason,
        snippet=change.snippet,
    )


def _list(shared: Shared, folder: Path | None, name: str) -> None:
    """Show in which files something of ours stands: the person's own, and those of one folder."""
    found: dict[tuple[str, str], str] = {}
    for client in CLIENTS:
        for place in (None, folder or Path.cwd()):
            if place is not None and CLIENTS[client].in_folder is None:
                continue
            parts = _parts(shared, client, place, name, with_hooks=True)
            states = {(client, str(path)): _state(path, part) for path, part in parts.items()}
            found |= {where: state for where, state in states.items() if state}
    rows = [[*where, state] for where, state in found.items()]
    if shared.json:
        write_json([dict(zip(("client", "path", "state"), row, strict=True)) for row in rows])
    elif rows:
        show_table(["client", "file", ""], rows, numbers=set())
    else:
        talk("Nothing is connected. Try: engram connect claude-code")


def _state(path: Path, part: ConfigPart) -> str:
    """Return how a file stands to us: connected, not readable, or nothing."""
    try:
        raw = read_file(path)
        text = "" if raw is None else raw.decode("utf-8", "replace")
        parts = part.parts if isinstance(part, CombinedPart) else (part,)
        found = [
            "server" if isinstance(one, JsonServer | TomlServer) else "hooks"
            for one in parts
            if one.is_in(text)
        ]
    except CannotEdit as exc:
        return f"not readable: {exc}"
    return ", ".join(found)


@click.argument("event", metavar="EVENT", help="SessionStart, UserPromptSubmit, Stop and so on.")
@click.option("--home", metavar="PATH", help="The home folder of Engram; else $ENGRAM_HOME.")
@click.option(
    "--client",
    default=CLAUDE_CODE.name,
    metavar="CLIENT",
    help=f"Which program calls: {', '.join(PROGRAMS)}.",
)
@shared_options
def hook(shared: Shared, event: str, *, home: str | None, client: str) -> None:
    """Answer what an agent program calls while a conversation goes on."""
    from engramdb.hooks.run import run_here  # noqa: PLC0415

    call = HookCall(
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
