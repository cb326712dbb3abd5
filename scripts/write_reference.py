"""
Write docs/reference: the command line, settings, errors, HTTP routes and policies, from the code itself.

Run by `make docs`; with `--check` it changes nothing and ends with 1 when a page is stale.
The pages hold nothing that depends on the machine or the moment, so the same code gives the same bytes.
Explanations of fields and presets come from `engramdb.verbs.wording`, as on the command line.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engramdb import policy
from engramdb.cli.main import application
from engramdb.errors import EngramError
from engramdb.http.docs import operations, things
from engramdb.http.openapi import describe
from engramdb.mcp.server import PROMPTS, RESOURCES
from engramdb.mcp.tools import CORE, tool_set
from engramdb.models.capabilities import EXACT, UNKNOWN_CONTEXT, UNKNOWN_OUTPUT, registry
from engramdb.settings import FILE_NAME, MODEL_FIELDS, PREFIX, Settings, setting_fields
from engramdb.verbs.errors import EXIT_CODES, answer_for
from engramdb.verbs.wording import field_meanings, preset_sentence, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from engramdb.http.docs import Operation, Row

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
FAMILIES = {
    "0": ("any", "What every other error is; seen by itself only where a program raises it so."),
    "1": ("storage", "The file or database: it is not there, not ours, damaged, full, busy or too new."),
    "2": ("search", "A question that cannot be asked; one that finds nothing is no error."),
    "3": (
        "embedding",
        "Embedders and their model packs. Memories are saved all the same, and embedded later.",
    ),
    "4": ("security", "What may not enter, be seen or be changed from here."),
    "5": ("system", "Use and configuration: settings, names, ids, optional parts."),
    "6": ("chat", "Chat models and their replies. Whatever asked one goes on without it."),
}
"""The families of errors by the first digit of their codes, and what each is about."""
NO_ERRORS = {
    "an index that is slow, not loaded or failing": "`recall` answers with the others; `quality.missing` "
    "names it and why, `quality.level` says how much took part",
    "an embedder that is down or was changed": "`status` counts what waits to be embedded, and answers say "
    "which memories were found by their words only",
    "a chat model that fails while turns are read": "the rules read them; `status` shows the failure",
    "a part of a prompt that does not fit": "`context` says in `losses` what was shortened or left out",
    "background work that does not move": "`status` shows `scheduler.is_stalled` and what it waits for",
    "a machine short of memory": "slow work waits; `status` shows `scheduler.waiting_for`",
}
"""Conditions that other systems raise errors for, and where they are told here."""
NOTE = "<!-- Written by scripts/write_reference.py from the code; change the code and run `make docs`. -->"


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/reference from the code.")
    parser.add_argument("--check", action="store_true", help="only say which pages are stale")
    options = parser.parse_args(arguments)
    stale = {name: text for name, text in pages().items() if _read(FOLDER / name) != text}
    if options.check:
        for name in stale:
            print(f"docs/reference/{name} is stale: run `make docs`")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in stale.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    written: dict[str, Callable[[], Iterable[str]]] = {
        "cli.md": cli_page,
        "settings.md": settings_page,
        "errors.md": errors_page,
        "http.md": http_page,
        "tools.md": tools_page,
        "policy.md": policy_page,
        "models.md": models_page,
    }
    return {name: "\n".join([NOTE, "", *lines()]) + "\n" for name, lines in written.items()}


# --- the command line ---------------------------------------------------------------------------------------


def cli_page() -> Iterator[str]:
    """Yield the page of all commands."""
    yield "# Command line"
    yield ""
    yield "Results go to stdout and talk to stderr; `--json` prints the same values that the library returns."
    yield ""
    yield "| exit code | meaning |"
    yield "|---|---|"
    yield from (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    for name, command in commands().items():
        yield from ("", f"## engram {name}", "", *_paragraphs(command.help or ""))
        yield from ("| argument or option | meaning | default |", "|---|---|---|")
        yield from (_parameter_row(one) for one in command.params if one.name != "help")


def commands() -> dict[str, click.Command]:
    """Return every command by the words that call it, without old names."""
    root = application()
    context = click.Context(root)
    found: dict[str, click.Command] = {}
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if isinstance(command, click.Group):
            inner = {one: command.get_command(context, one) for one in command.list_commands(context)}
            found |= {f"{name} {one}": made for one, made in inner.items() if made is not None}
        elif command is not None and not command.hidden:
            found[name] = command
    return found


def _parameter_row(parameter: click.Parameter) -> str:
    is_argument = isinstance(parameter, click.Argument)
    named = [*parameter.opts, *parameter.secondary_opts]
    metavar = parameter.metavar or ""
    names = [metavar or str(parameter.name).upper()] if is_argument else named
    value = f" {metavar}" if metavar and not is_argument else ""
    default = parameter.to_info_dict()["default"]
    shown = "required" if parameter.required else "" if default in (None, False, "") else f"`{default}`"
    return f"| `{', '.join(names)}{value}` | {_cell(getattr(parameter, 'help', '') or '')} | {shown} |"


# --- settings and policies ----------------------------------------------------------------------------------


def settings_page() -> Iterator[str]:
    """Yield the page of all settings."""
    yield "# Settings"
    yield ""
    yield from _prose(
        f"Strongest first: an argument, the environment, the file `{FILE_NAME}` in the home, the default.",
        "An unknown or malformed name is an error that names it. Everything works with no settings at all.",
    )
    yield ""
    yield "| setting | environment | type | default | meaning |"
    yield "|---|---|---|---|---|"
    meanings = field_meanings(Settings)
    for name, value in setting_fields().items():
        default = "~/.engram" if name == "home" else value
        kind = "Path" if name == "home" else type(value).__name__
        yield (
            f"| `{name}` | `{PREFIX}{name.upper()}` | {kind} |"
            f" {f'`{default}`' if default != '' else 'empty'} | {_cell(meanings[name])} |"
        )
    yield ""
    yield from _prose(
        "`home` is set by the environment or an argument only. In the file, `[policy]` may be a table that",
        "also overrides single fields of the preset; [policies](policy.md) lists them:",
    )
    yield ""
    yield from ("```toml", 'embedder = "static"', "", "[policy]", 'name = "balanced"', "")
    yield from ("[policy.recall]", "candidates = 50", "```", "")
    yield from _prose("`[models.…]` tables say what [chat models](models.md) can hold and do.")


def policy_page() -> Iterator[str]:
    """Yield the page of all presets, field by field."""
    yield "# Policies"
    yield ""
    yield from _prose(
        "A policy is a preset of numbers, chosen by the setting `policy`.",
        f"A table such as `[policy.recall]` in `{FILE_NAME}` overrides single fields.",
        "A value in **bold** differs from `balanced`.",
    )
    yield ""
    yield from (f"- `{name}`: {preset_sentence(name)}" for name in policy.PRESETS)
    usual = policy.PRESETS["balanced"]
    for room in (name for name in policy.Policy.__struct_fields__ if name != "name"):
        part = getattr(usual, room)
        meanings = field_meanings(type(part))
        yield from ("", f"## {room}", "", summary(type(part)), "")
        yield f"| field | {' | '.join(policy.PRESETS)} | meaning |"
        yield "|---|" + "---|" * (len(policy.PRESETS) + 1)
        for name in part.__struct_fields__:
            values = [getattr(getattr(preset, room), name) for preset in policy.PRESETS.values()]
            cells = [f"{value}" if value == getattr(part, name) else f"**{value}**" for value in values]
            yield f"| `{name}` | {' | '.join(cells)} | {_cell(meanings.get(name, ''))} |"


def models_page() -> Iterator[str]:
    """Yield the page of all chat models that something is known about."""
    yield "# Chat models"
    yield ""
    yield from _prose(
        "What a prompt may hold and a model can do, by how its name begins: the longest that fits counts.",
        "Dates, sizes, hosts in front, capitals and the marks between words and numbers do not matter;",
        "`openai/gpt-4o-2024-08-06` is `gpt-4o`, `Meta-Llama-3.1-8B` is `llama-3.1`.",
        f"An unknown name gets {UNKNOWN_CONTEXT:,} tokens, {UNKNOWN_OUTPUT:,} of them for a reply, no tools.",
        f"In `{FILE_NAME}` you may add a model or change one; what you leave out stays as it is here:",
    )
    yield ""
    yield from ("```toml", '[models."my-model"]', "context = 32000", "tools = true", "```", "")
    yield from _prose(
        f"A model has {', '.join(f'`{name}`' for name in MODEL_FIELDS)}. Tokens are counted exactly for",
        f"{' and '.join(f'`{name}`' for name in EXACT)} if the extra `tokens` is installed, else estimated:",
        "[how well](../lab/0019-tokens.md). Where a number is uncertain, the smaller is listed.",
    )
    vendor = ""
    for entry in registry().values():
        if entry.vendor != vendor:
            vendor = entry.vendor
            yield from ("", f"## {vendor}", "", "| name | context | output | can | tokenizer |")
            yield "|---|---|---|---|---|"
        can = [name for name in ("tools", "vision", "thinking") if getattr(entry, name)]
        yield (
            f"| `{entry.name}` | {entry.context_window:,} | {entry.output_limit:,} |"
            f" {', '.join(can)} | {entry.tokenizer} |"
        )


# --- errors -------------------------------------------------------------------------------------------------


def errors_page() -> Iterator[str]:
    """Yield the page of all errors."""
    yield "# Errors"
    yield ""
    yield from _prose(
        "Every error of Engram has a stable code, a message and, where one can help, a hint.",
        'Over HTTP it is `{"code": …, "message": …, "hint": …}`.',
        "The [command line](cli.md) explains the exit codes.",
    )
    yield from (
        "",
        *_prose(
            "A family is a class as well: `except StorageError` catches all of `E1…`. Callers use the class",
            "or the code, never by the text, which may change. No message ever holds a memory's words.",
        ),
    )
    for digit, (title, meaning) in FAMILIES.items():
        yield from ("", f"## E{digit}… {title}", "", *_prose(meaning), "")
        yield "| code | name | meaning | usual hint | exit code | HTTP status |"
        yield "|---|---|---|---|---|---|"
        yield from (_error_row(kind) for kind in error_classes() if kind.code[1] == digit)
    yield from ("", "## What is no error here", "")
    yield from _prose(
        "A part that fails while the rest can go on is told in the result, and the call succeeds:",
    )
    yield ""
    yield from (f"- {condition}: {told}" for condition, told in NO_ERRORS.items())


def _error_row(kind: type[EngramError]) -> str:
    answer = answer_for(kind(""))
    return (
        f"| {kind.code} | `{kind.__name__}` | {_cell(summary(kind))} | {_cell(kind.default_hint)} |"
        f" {answer.exit_code} | {answer.http_status} |"
    )


def error_classes() -> list[type[EngramError]]:
    """Return the whole family of `errors.py`, by code."""
    found, waiting = {EngramError}, [EngramError]
    while waiting:
        fresh = set(waiting.pop().__subclasses__()) - found
        found |= fresh
        waiting += fresh
    ours = (kind for kind in found if kind.__module__ == EngramError.__module__)
    return sorted(ours, key=lambda kind: kind.code)


# --- HTTP ---------------------------------------------------------------------------------------------------


def http_page() -> Iterator[str]:
    """Yield the page of all routes."""
    description = describe()
    routes = list(operations(description))
    objects = {one.name: one for one in things(description) if one.rows}
    linked = _linker(objects)
    yield "# HTTP"
    yield ""
    yield from _prose(
        "`engram serve` answers on `http://127.0.0.1:7070`.",
        "Requests and answers are JSON, and an answer is the value that the library returns.",
        "[The guide](../guides/http.md) is a better place to begin, and [errors](errors.md) have a page of",
        "their own. The visitors' page is at `/`; `/docs` shows what follows with a line to copy for each",
        "route, and `/openapi.json` describes it to programs.",
    )
    for one in routes:
        yield from _route_section(one, linked)
    asked = {name for one in routes for row in one.rows for name in objects if name in row.kind.split()}
    yield from ("", "## Objects in requests")
    for name in sorted(asked):
        yield from ("", f"### {name}", "", objects[name].meaning, "")
        yield from ("| field | type | default | meaning |", "|---|---|---|---|")
        yield from (_asked_row(row, linked) for row in objects[name].rows)
    yield from ("", "## Answers", "", "Every field of an answer is always there; what may be null says so.")
    for name in sorted(name for name in objects if not name.endswith("Request") and name not in asked):
        yield from ("", f"### {name}", "", objects[name].meaning, "")
        yield from (_answer_line(row, linked) for row in objects[name].rows)


def _route_section(one: Operation, linked: Callable[[str], str]) -> Iterator[str]:
    yield from ("", f"## {one.method} {one.path}", "", one.meaning)
    if one.answer:
        yield from ("", f"Answers with {linked(one.answer)}.")
    if one.rows:
        yield from ("", "| field | where | type | default | meaning |", "|---|---|---|---|---|")
    for row in one.rows:
        kind, meaning = linked(row.kind), _cell(row.meaning)
        yield f"| `{row.name}` | {row.place} | {kind} | {_default(row)} | {meaning} |"


def _asked_row(row: Row, linked: Callable[[str], str]) -> str:
    return f"| `{row.name}` | {linked(row.kind)} | {_default(row)} | {_cell(row.meaning)} |"


def _linker(objects: Iterable[str]) -> Callable[[str], str]:
    """Return a function that turns the names of objects into links to their sections."""
    names = re.compile(rf"\b({'|'.join(objects)})\b")
    return lambda kind: names.sub(lambda found: f"[{found[0]}](#{found[0].lower()})", kind)


def _answer_line(row: Row, linked: Callable[[str], str]) -> str:
    meaning = f": {' '.join(row.meaning.split())}" if row.meaning else ""
    return f"- `{row.name}`, {linked(row.kind)}{meaning}"


def _default(row: Row) -> str:
    return row.default if row.default in ("", "required") else f"`{row.default}`"


def _shown(default: object) -> str:
    if isinstance(default, list):
        return ", ".join(f"`{one}`" for one in default)
    return "" if default in (None, "") or isinstance(default, dict) else f"`{default}`"


# --- MCP ----------------------------------------------------------------------------------------------------


def tools_page() -> Iterator[str]:
    """Yield the page of all tools, resources and prompts of the MCP server."""
    yield "# MCP tools"
    yield ""
    yield from _prose(
        "`engram mcp` serves these to a model; [the guide](../guides/mcp.md) says how. The descriptions are",
        "what the model reads. Scope and agent are options of the command and never arguments. An answer is",
        "text to read and the same as values; an error is an answer with `isError`, a [code](errors.md),",
        "what happened, a hint and the next step.",
    )
    for tool in tool_set("all"):
        set_name = "core" if tool in CORE else "all"
        hints = {"only reads": tool.reads_only, "destroys": tool.destroys, "idempotent": tool.is_idempotent}
        marks = [f"`--tools {set_name}`", *(hint for hint, is_so in hints.items() if is_so)]
        yield from ("", f"## {tool.name}", "", *_prose(tool.description), "", f"Shown by {', '.join(marks)}.")
        if rows := [_argument_row(name, tool.schema) for name in tool.schema["properties"]]:
            yield from ("", "| argument | type | default | meaning |", "|---|---|---|---|", *rows)
    yield from ("", "## Resources", "", "| address | what it holds |", "|---|---|")
    yield from (f"| `{one.uri}` | {_cell(one.description)} |" for one in RESOURCES)
    yield from ("", "## Prompts", "", "| name | arguments | what it asks for |", "|---|---|---|")
    yield from (f"| `{one.name}` | {', '.join(one.takes)} | {_cell(one.description)} |" for one in PROMPTS)


def _argument_row(name: str, schema: dict[str, Any]) -> str:
    one = schema["properties"][name]
    default = "required" if name in schema.get("required", ()) else _shown(one.get("default"))
    kind = " / ".join(one["enum"]) if "enum" in one else one["type"]
    bounds = f"From {one['minimum']} to {one['maximum']}" if "minimum" in one else ""
    meaning = ". ".join(part for part in (one.get("description", ""), bounds) if part)
    return f"| `{name}` | {kind} | {default} | {_cell(meaning)} |"


# --- small things -------------------------------------------------------------------------------------------


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a docstring as Markdown, its example as code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        example = paragraph.removeprefix("Example: ")
        yield from ((paragraph, "") if example == paragraph else ("```console", f"$ {example}", "```", ""))


def _prose(*sentences: str) -> list[str]:
    return textwrap.wrap(" ".join(sentences), 110, break_on_hyphens=False, break_long_words=False)


def _cell(text: str) -> str:
    """Return text that fits a table's cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
