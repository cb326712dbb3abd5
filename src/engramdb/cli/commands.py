"""The tree of commands: verbs and others under their headings, each loaded when it is named."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from textwrap import shorten
from typing import Any, Final

import click
from msgspec import Struct

from engramdb.cli.derive import command_of, help_text
from engramdb.cli.errors import show_misuse, translated_errors
from engramdb.cli.options import take_shared
from engramdb.cli.output import talk
from engramdb.verbs.table import in_order

_CLAUSE_END: Final = re.compile(
    r"[;:] |, (?=(?:and|both|by|each|from|if|in|oldest|on|or|to|told|until|while|with|without) )"
)
"""Where a sentence may end early; a comma inside a list is no such place."""


class Entry(Struct, frozen=True, kw_only=True):
    """One command in the tree."""

    words: str
    """Such as `serve` or `token create`."""
    section: str
    """The heading of the help."""
    summary: str
    load: Callable[[], click.Command]
    is_hidden: bool = False
    """Whether the help leaves it out: an old name that is still understood."""


class PlainCommand(Struct, frozen=True, kw_only=True):
    """A command that is no verb: it serves, connects, moves files, or shows settings."""

    words: str
    section: str
    target: str
    """`module.function` of this package."""
    summary: str
    examples: tuple[str, ...]
    is_write: bool = False
    """Whether it writes to the store, unless with `--dry-run`, and so leaves a daily backup."""
    further: str = ""
    """Another paragraph of its help."""


def entries(plain: Sequence[PlainCommand]) -> list[Entry]:
    """Return every command: the verbs in the order of their subjects, then the others."""
    found: list[Entry] = []
    for verb in in_order():
        if verb.cli is None:
            continue
        for words in (verb.cli.words, *verb.cli.old_words):
            name = words.rpartition(" ")[2]
            is_old = words != verb.cli.words
            found.append(
                Entry(
                    words=words,
                    section=verb.cli.section,
                    summary=verb.summary,
                    load=functools.partial(command_of, verb, name=name, hidden=is_old),
                    is_hidden=is_old,
                )
            )
    return found + [
        Entry(words=one.words, section=one.section, summary=one.summary, load=functools.partial(_load, one))
        for one in plain
    ]


def _load(declared: PlainCommand) -> click.Command:
    module, _, function = declared.target.partition(".")
    run = getattr(importlib.import_module(f"{__package__}.{module}"), function)

    @functools.wraps(run)
    def callback(**given: Any) -> None:
        is_write = declared.is_write and not given.get("dry_run")
        with translated_errors(), take_shared(dict(given)).daily_backup() if is_write else nullcontext():
            run(**given)

    # `click.command` uses the list of parameters up, and a command may be made again.
    callback.__click_params__ = list(getattr(run, "__click_params__", ()))  # type: ignore[attr-defined]
    meaning = "\n\n".join(part for part in (declared.summary, declared.further) if part)
    name = declared.words.rpartition(" ")[2]
    return click.command(name, help=help_text(meaning, declared.examples), short_help=declared.summary)(
        callback
    )


class LazyGroup(click.Group):
    """Commands that are made when they are named; the list in the help needs only their sentences."""

    def __init__(self, name: str, entries: Mapping[str, Entry], *, help: str, **given: Any) -> None:  # noqa: A002 - click's word
        super().__init__(name, help=help, no_args_is_help=True, **given)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order of the help."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return one command, made if need be."""
        if cmd_name in self.entries and cmd_name not in self.commands:
            self.commands[cmd_name] = self.entries[cmd_name].load()
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was named; a name that is none is told with the nearest that is one."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            import difflib  # noqa: PLC0415 - only for a mistake

            near = difflib.get_close_matches(name, self.entries)
            ctx.fail(f"No such command {name!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands with a sentence each, below the heading that they belong to."""
        shown = {name: one for name, one in self.entries.items() if not one.is_hidden}
        width = max(map(len, shown))
        rows: dict[str, list[tuple[str, str]]] = {}
        for name, one in shown.items():
            sentence = _fitting(one.summary, formatter.width - 6 - width)
            rows.setdefault(one.section, []).append((name.ljust(width), sentence))
        for section, listed in rows.items():
            with formatter.section(section):
                formatter.write_dl(listed)


class Application(LazyGroup):
    """The whole command line; mistakes of the user are told in two lines."""

    def main(  # type: ignore[override] # click's own has an overload for each mode
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **named: Any
    ) -> Any:
        """Run a command and end the process with its exit code."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **named)
        try:
            code = super().main(args, standalone_mode=False, **named)
        except click.UsageError as exc:
            show_misuse(exc)
            code = exc.exit_code
        except click.Abort:
            talk("Aborted!")
            code = 1
        sys.exit(code if isinstance(code, int) else 0)


def tree(
    found: Sequence[Entry], sections: Sequence[str], groups: Mapping[str, tuple[str, str]]
) -> dict[str, Entry]:
    """
    Return the commands of the first level by name: those of more words stand in groups of their first.

    `groups` gives the section and the meaning of each group.
    """
    first = {one.words: one for one in found if " " not in one.words}
    for name, (section, meaning) in groups.items():
        inner = {
            one.words.partition(" ")[2]: Entry(
                words=one.words,
                section="Commands",
                summary=one.summary,
                load=one.load,
                is_hidden=one.is_hidden,
            )
            for one in found
            if one.words.startswith(f"{name} ")
        }
        first[name] = Entry(
            words=name,
            section=section,
            summary=meaning,
            load=functools.partial(LazyGroup, name, inner, help=meaning),
        )
    return dict(sorted(first.items(), key=lambda pair: _place(pair[1], sections)))


def _place(entry: Entry, sections: Sequence[str]) -> int:
    return sections.index(entry.section) if entry.section in sections else len(sections)


def _fitting(sentence: str, width: int) -> str:
    """Return a sentence that fits: whole, else its first clause, else as much of it as there is space for."""
    if len(sentence) <= width:
        return sentence
    clause = _CLAUSE_END.split(sentence, maxsplit=1)[0]
    return f"{clause}." if len(clause) < width else shorten(sentence, width, placeholder="...")
