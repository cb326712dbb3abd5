"""Options that commands share: which store, which scope, which form of answer; and how values are typed."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec import Struct

from engramdb.cli.errors import engine
from engramdb.cli.output import talk, visible
from engramdb.errors import EngramError, InvalidContent, InvalidSettings, MissingExtra
from engramdb.text.normalize import is_text
from engramdb.values.memory import Actor, ActorKind, Surface
from engramdb.values.scope import MAX_NAME_CHARACTERS, Scope
from engramdb.verbs.verb import fields_of

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.engine.engram import Engram
    from engramdb.settings import Settings

FROM_STDIN = "-"
_MAX_BYTES = 8_000_000
"""Far above what any policy admits; a larger stream is cut off here and refused by the engine."""
_DURATION = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
PICTURE_ENDINGS = (".png", ".svg")


def moment(text: str) -> datetime:
    """Return the moment that an ISO 8601 text names."""
    try:
        found = datetime.fromisoformat(text)
        if _is_day(text):
            return found.replace(tzinfo=UTC)
        return _by_own_clock(found) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise click.BadParameter(f"{text!r} is not a time such as 2026-05-08 or 2026-05-08T14:30Z") from exc


def _by_own_clock(found: datetime) -> datetime:
    """
    Return the moment at which the reader's clock shows this; the first of two in autumn.

    An hour that spring leaves out follows the one before it. `astimezone` would put it earlier than that, so
    that 02:30 came before 01:45.
    """
    whole = found.replace(microsecond=0).timestamp()
    return datetime.fromtimestamp(whole, UTC) + timedelta(microseconds=found.microsecond)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def moment_or_duration(text: str) -> datetime:
    """Return the moment named, or the one that lies a duration such as 30d, 12h or 8w ahead."""
    duration = _DURATION.fullmatch(text)
    if duration is None:
        try:
            return moment(text)
        except click.BadParameter as exc:
            raise click.BadParameter(f"{exc.message}, or 12h, 30d or 8w from now") from exc
    number, unit = duration.groups()
    try:
        return datetime.now(UTC) + timedelta(**{_UNITS[unit]: int(number)})
    except OverflowError as exc:
        raise click.BadParameter(f"{text!r} lies beyond the year 9999") from exc


def picture_file(text: str) -> Path:
    """Return the file of a picture, whose ending says how it is drawn."""
    from pathlib import Path  # noqa: PLC0415 - few commands name files

    path = Path(text).expanduser()
    if path.suffix.lower() not in PICTURE_ENDINGS:
        raise click.BadParameter(f"{text!r} does not end in {' or '.join(PICTURE_ENDINGS)}")
    return path


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as exc:
        raise click.BadParameter("that is not JSON") from exc


class Parsed(click.ParamType[Any]):
    """A value that a function reads from the text that was typed."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; raises with the name of the parameter where the text is none."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except click.BadParameter as exc:
            self.fail(exc.message, param, ctx)


MOMENT = Parsed("time", moment)
MOMENT_OR_DURATION = Parsed("time", moment_or_duration)
PICTURE = Parsed("file", picture_file)
JSON = Parsed("json", _json)
"""For objects, which no option of a shell can spell out."""
plot_option = click.Option(["--plot"], metavar="FILE", type=PICTURE, help="Also draw it, as .png or .svg.")


def require_plots(file: Path | None) -> None:
    """Raise if a picture is wanted and there is nothing to draw it with."""
    if file is not None and importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a picture needs matplotlib", hint="pip install 'engramdb[plots]'")


ACTOR = "ENGRAM_ACTOR"
"""Says that an agent runs the command: `agent`, or `agent:NAME`. It can only lower what is believed."""


def command_actor() -> Actor:
    """Return who runs the command: the person, unless the environment says that an agent does."""
    kind, _, name = os.environ.get(ACTOR, "").partition(":")
    if not kind:
        return Actor(surface=Surface.CLI)
    if kind != ActorKind.AGENT:
        raise InvalidSettings(f"{ACTOR}={kind[:40]!r} names no agent", hint="Write agent, or agent:NAME.")
    return Actor(name=name[:MAX_NAME_CHARACTERS] or "agent", kind=ActorKind.AGENT, surface=Surface.CLI)


class Shared(Struct, frozen=True, kw_only=True):
    """What every command can be told. Reading never creates a store: a mistyped path is an error."""

    store: str | None = None
    json: bool = False
    project: str | None = None
    squad: str | None = None
    agent: str | None = None
    channel: str | None = None
    user: str | None = None

    @property
    def scope(self) -> Scope:
        """The scope that the command works in."""
        return Scope(**{name: getattr(self, name) for name in Scope.__struct_fields__})

    def settings(self) -> Settings:
        """Return the settings, with the store that was asked for."""
        from engramdb.settings import Settings  # noqa: PLC0415 - not needed for --help

        return Settings.load(store=self.store)

    def open_existing(self) -> Engram:
        """Open a store that must be there."""
        return engine().open(
            settings=self.settings(),
            scope=self.scope,
            actor=command_actor(),
            must_exist=True,
            background=False,
        )

    def open_or_create(self) -> Engram:
        """Open the store, made if need be."""
        return engine().open(
            settings=self.settings(), scope=self.scope, actor=command_actor(), background=False
        )

    def back_up_daily(self) -> None:
        """Copy a small store whose last copy is older than a day; called when the answer has been given."""
        from pathlib import Path  # noqa: PLC0415 - only what writes needs it

        from engramdb.engine.backups import back_up_after_command, may_be_due  # noqa: PLC0415

        settings = self.settings()
        place = Path(settings.store_location).expanduser().absolute()
        sys.stdout.flush()
        try:
            if settings.backups and may_be_due(place, now=datetime.now(UTC)):
                with self.open_existing() as engram:
                    back_up_after_command(engram)
        except EngramError as exc:
            talk(f"engram: the daily backup failed: {exc.code} {visible(exc.message)}")
            if exc.hint:
                talk(f"hint: {visible(exc.hint)}")
        except OSError as exc:
            talk(f"engram: the daily backup failed: {visible(str(exc))}")

    @contextmanager
    def daily_backup(self) -> Iterator[None]:
        """Back the store up after a block that wrote to it, also where its answer is an exit code."""
        try:
            yield
        except click.exceptions.Exit:
            self.back_up_daily()
            raise
        self.back_up_daily()


def shared_parameters() -> list[click.Parameter]:
    """Return the options that become `Shared`."""
    return [
        click.Option(
            ["--store"],
            metavar="PATH",
            help="The store; else $ENGRAM_STORE, the settings file, the default.",
        ),
        click.Option(["--json"], is_flag=True, help="Print one JSON document."),
        *(click.Option([f"--{one.name}"], metavar="NAME", help=one.description) for one in fields_of(Scope)),
    ]


def take_shared(given: dict[str, Any]) -> Shared:
    """Take the shared options out of what a command was given."""
    return Shared(**{name: given.pop(name) for name in Shared.__struct_fields__})


Command = TypeVar("Command", bound=Callable[..., None])


def shared_options(function: Command) -> Command:
    """Give a command that is no verb the shared options, as its first argument."""

    @functools.wraps(function)
    def run(**given: Any) -> None:
        function(take_shared(given), **given)

    # `click.option` puts each further option behind these and `click.command` reverses the order.
    run.__click_params__ = shared_parameters()[::-1]  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def given_text(text: str) -> str:
    """Return the text, read from standard input where it is a dash."""
    if text == FROM_STDIN:
        return _standard_input()
    if not is_text(text):
        raise InvalidContent(
            "the text on the command line is not UTF-8", hint="Check the terminal's encoding."
        )
    return text


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidContent(
            f"standard input is not UTF-8 at byte {exc.start}", hint="Convert it first, such as with iconv."
        ) from exc
