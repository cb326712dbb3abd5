"""
Read shell commands and their output: what is run, whether it only looks, what failed and what then worked.

Pure and light: hooks ask before anything heavy is loaded. A run is told in one line that can be read back,
so that a later run of the session can be compared with it.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from engramdb.text.normalize import lazy

MAX_COMMAND_CHARACTERS = 240
MAX_RESULT_CHARACTERS = 200
MAX_READ_CHARACTERS = 4000
"""How much of a command, and of the end of its output, is looked at."""
LEAST_SHARED = 0.5
"""Of the arguments of a failed command, as many must be in the one that worked for it to be its successor."""

_SEPARATORS = frozenset({"&&", "||", ";", "|", "|&", "&", ";;", "(", ")"})
_ASSIGNMENT = lazy(r"[A-Za-z_]\w*=")
_SUBCOMMAND = lazy(r"[a-z][a-z0-9:_-]*\Z")
_EXPANSION = lazy(r"<<-?\s*['\"]?(\w+)")
_RUN = lazy(r"Ran `(?P<command>.+?)`(?:: (?P<result>.*))?\Z", re.DOTALL)
_FAILED_RUN = lazy(r"`(?P<command>.+)` failed(?:: (?P<result>.*))?\Z", re.DOTALL)
_FAILURE = lazy(
    r"^(?:\S+: )?(?:error|fatal|E|ERROR|ERR!|npm ERR!|failed|FAILED|panic)(?:\[\w+\])?[:\s]|^Error\b|"
    r"^Traceback \(most recent|command not found|No such file or directory|[Pp]ermission denied|"
    r"\bnot found\s*\Z|^make: \*\*\*|panicked at|^FAILED\b|\b[1-9]\d* failed\b|^\w+(?:Error|Exception):",
    re.MULTILINE,
)
_IN_ADDRESS = lazy(r"://[^@/\s'\"]+@")
_ASSIGNED_SECRET = lazy(
    r"(?i)((?:(?:token|secret|passw(?:or)?d|api[_-]?key|auth\w{0,30})\s{0,8}[=:]\s{0,8}|--password[= ])"
    r"(?:(?:bearer|basic|token)\s{1,8})?)[^\s'\"]+"
)
_NOTABLE = lazy(
    r"(?:git (?:commit|merge|rebase|revert|tag|push)|(?:npm|cargo|poetry|flit|uv) publish|twine upload"
    r"|(?:docker|podman) push|kubectl (?:apply|rollout\b.*)|terraform (?:apply|destroy)"
    r"|helm (?:install|upgrade)|gh (?:release|pr) (?:create|merge)|(?:fly|flyctl|vercel|netlify) deploy"
    r"|alembic (?:upgrade|downgrade)"
    r"|(?:make|just|task) (?:deploy|release|publish|migrate)"
    r"|(?:pip3?|uv pip|npm|pnpm|yarn|brew|apt|apt-get|gem) install|(?:uv|npm|pnpm|yarn|cargo|poetry) add)\Z"
)


class _Programs(Struct, frozen=True):
    looking: frozenset[str]
    plumbing: frozenset[str]
    checks: frozenset[str]
    prefixes: frozenset[str]
    prefixes_with_value: frozenset[str]
    subcommands: Mapping[str, int]
    runners: Mapping[str, frozenset[str]]
    looking_subcommands: Mapping[str, frozenset[str]]


@cache
def _programs() -> _Programs:
    text = (Path(__file__).parent / "data" / "commands.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Programs)


class CommandStep(Struct, frozen=True):
    """One program that a command line runs: its name with its subcommand, and the other words."""

    program: str
    name: str
    """Such as `git commit`, `npm run build` or `pytest`."""
    arguments: tuple[str, ...]

    @property
    def only_looks(self) -> bool:
        """Whether it changes nothing."""
        known = _programs()
        if self.program == "sed":
            return not any(word.startswith(("-i", "--in-place")) for word in self.arguments)
        subcommand = self.name.removeprefix(self.program).strip()
        return self.program in known.looking or subcommand in known.looking_subcommands.get(self.program, ())

    @property
    def line(self) -> str:
        """The whole of it."""
        return " ".join([self.name, *self.arguments])

    @property
    def is_check(self) -> bool:
        """Whether it runs tests, checks or builds without a subcommand."""
        return self.program in _programs().checks

    @property
    def is_plumbing(self) -> bool:
        """Whether it only prepares: moves, makes or changes files."""
        return self.program in _programs().plumbing or self.program == "sed"


def command_steps(command: str) -> list[CommandStep]:
    """Return what a command line runs, in order."""
    return [step for words in _parts(command[:MAX_READ_CHARACTERS]) if (step := _step(words)) is not None]


def telling_steps(command: str) -> list[CommandStep]:
    """Return what a command line does, without what only looks or prepares."""
    return [step for step in command_steps(command) if not step.only_looks and not step.is_plumbing]


def only_looks(command: str) -> bool:
    """Return whether a command line changes nothing and checks nothing: `ls`, `git status | head`."""
    return all(step.only_looks for step in command_steps(command))


def is_notable(command: str) -> bool:
    """Return whether a command commits, ships, migrates or installs something by name."""
    found = (step for step in telling_steps(command) if _NOTABLE.match(step.name))
    return any(not step.name.endswith("install") or _names_package(step) for step in found)


def _names_package(step: CommandStep) -> bool:
    return "-r" not in step.arguments and any(not word.startswith("-") for word in step.arguments)


def _parts(command: str) -> Iterator[list[str]]:
    """Yield the words of each program that is run."""
    part: list[str] = []
    for word in _words(command):
        if word in _SEPARATORS:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _words(command: str) -> list[str]:
    """Return the words of a command line; of one that no shell would take, what stands between spaces."""
    heredoc = _EXPANSION.search(command)
    text = command[: heredoc.start()] if heredoc else command
    joined = text.replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(joined, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return joined.split()


def _step(words: Sequence[str]) -> CommandStep | None:
    """Return what one program with its arguments does; None for assignments alone."""
    known, left = _programs(), list(words)
    while left and (_ASSIGNMENT.match(left[0]) or left[0] in known.prefixes | known.prefixes_with_value):
        del left[: 2 if left[0] in known.prefixes_with_value else 1]
    if not left or not left[0]:
        return None
    program = left[0].rpartition("/")[2] or left[0]
    count = 1 + _subcommand_words(program, left[1:])
    if program.startswith("python") and left[1:2] == ["-m"]:
        count = min(3, len(left))
    return CommandStep(program, " ".join([program, *left[1:count]]), tuple(left[count:]))


def _subcommand_words(program: str, words: Sequence[str]) -> int:
    """Return how many of these words name the subcommand; options before it are not looked through."""
    known = _programs()
    limit = known.subcommands.get(program, 0)
    if words and words[0] in known.runners.get(program, ()):
        limit = 2
    count = 0
    while count < min(limit, len(words)) and _SUBCOMMAND.match(words[count]):
        count += 1
    return count


# One run, told in a line, and read back.


class CommandRun(Struct, frozen=True, kw_only=True):
    """A command that was run, what came of it, and whether it failed."""

    command: str
    result: str = ""
    is_failed: bool = False

    @classmethod
    def of(cls, command: str, output: str, *, is_failed: bool) -> CommandRun:
        """Return a run without passwords, cut to what tells something."""
        return cls(
            command=one_safe_line(command, MAX_COMMAND_CHARACTERS),
            result=one_safe_line(telling_output(output, is_failed=is_failed), MAX_RESULT_CHARACTERS),
            is_failed=is_failed,
        )

    @property
    def told(self) -> str:
        """The run in a line: ``Ran `X`: Y`` or `` `X` failed: Y``."""
        told = f"`{self.command}` failed" if self.is_failed else f"Ran `{self.command}`"
        return f"{told}: {self.result}" if self.result else told


def parse_run(text: str) -> CommandRun | None:
    """Return the run that a line tells, or None."""
    if found := _FAILED_RUN.fullmatch(text):
        return CommandRun(command=found["command"], result=found["result"] or "", is_failed=True)
    found = _RUN.fullmatch(text)
    return CommandRun(command=found["command"], result=found["result"] or "") if found else None


def has_failure(output: str) -> bool:
    """Return whether an output reads like that of a failed command, where nobody tells the exit code."""
    return bool(_FAILURE.search(output[-MAX_READ_CHARACTERS:]))


def telling_output(output: str, *, is_failed: bool) -> str:
    """Return the line of an output that says most: the first error where it failed, else the last line."""
    lines = [line.strip() for line in output[-MAX_READ_CHARACTERS:].splitlines() if line.strip()]
    errors = [line for line in lines if _FAILURE.search(line)] if is_failed else []
    return errors[0] if errors else lines[-1] if lines else ""


def one_safe_line(text: str, max_characters: int) -> str:
    """Return a text on one line, without passwords, cut to a number of characters."""
    line = " ".join(text.split())
    safe = _ASSIGNED_SECRET.sub(r"\1…", _IN_ADDRESS.sub("://…@", line))
    whole = safe.encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= max_characters else whole[: max_characters - 1] + "…"


# What failed and then, changed, worked.


def lesson_of(runs: Sequence[CommandRun]) -> tuple[str, int] | None:
    """
    Return what the last of some runs, in order, teaches, and the place of the failed one that it follows.

    A command that failed and then worked in another form teaches that form. One that worked as it stood
    teaches what was run in between; nothing where that was nothing but looking around.
    """
    if not runs or runs[-1].is_failed:
        return None
    place = _open_failure(runs)
    if place is None:
        return None
    failed, worked = runs[place], runs[-1]
    why = f": {failed.result.rstrip('.;')}" if failed.result else ""
    if failed.command != worked.command:
        return f"`{worked.command}` worked after `{failed.command}` failed{why}", place
    between = [run for run in runs[place + 1 : -1] if not run.is_failed and telling_steps(run.command)]
    if not between:
        return None
    return f"`{worked.command}` worked after `{between[-1].command}`; before that it failed{why}", place


def _open_failure(runs: Sequence[CommandRun]) -> int | None:
    """Return where the latest failure is that only the last run resolves."""
    for place in range(len(runs) - 2, -1, -1):
        if not follows(runs[place], runs[-1]):
            continue
        return place if runs[place].is_failed else None
    return None


def follows(before: CommandRun, after: CommandRun) -> bool:
    """Return whether a run is another try at what an earlier one was to do."""
    if before.command == after.command:
        return True
    one, other = telling_steps(before.command), telling_steps(after.command)
    if one and any(f" {one[-1].line} " in f" {step.line} " for step in other):
        return True
    if {step.name for step in one} & {step.name for step in other}:
        had = _arguments(one)
        return not had or len(had & _arguments(other)) >= LEAST_SHARED * len(had)
    had, has = _arguments(one), _arguments(other)
    shared = had & has
    is_about_same = any(not word.startswith("-") for word in shared)
    return is_about_same and len(shared) > 1 and len(shared) >= LEAST_SHARED * min(len(had), len(has))


def _arguments(steps: Sequence[CommandStep]) -> set[str]:
    return {word for step in steps for word in step.arguments}
