"""
What the manifests and settings of a repository say, in words: one short statement for each thing one asks.

Pure functions from the text of a file. They read what is there and run nothing; what they do not understand
they leave out, and a file that is broken raises `ValueError`. Versions of dependencies are left out: they
change with every update, and the file is the place to look them up. Patterns never span lines, and long lines
are dropped, so that a hostile file takes linear time.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from msgspec import Struct

from engramdb.text import fields

MAX_LISTED = 40
"""Names in one statement; what has more is not told by a list."""
MAX_COMMANDS = 20
MAX_COMMAND_CHARACTERS = 100
IMPORTANT, USUAL, MINOR = 0.6, 0.5, 0.4
"""What an agent should have seen at the start; what it asks for; and what is good to know."""

MAX_SETTINGS = 12
MAX_VALUE_CHARACTERS = 60
"""A longer value is a list that says less than it takes room."""
MAX_LINE_CHARACTERS = 400
"""A longer line is no setting that a person wrote."""

_SECRET = re.compile(r"token|secret|passw|credential|private|api[-_]?key", re.IGNORECASE)
_PACKAGE = re.compile(r"\s*([A-Za-z0-9@][\w@.:/-]*)")


class FileStatement(Struct, frozen=True):
    """One thing that a file says: which part of it, and in words."""

    part: str
    text: str
    importance: float = USUAL


ReadsManifest: TypeAlias = Callable[[str], Iterator[FileStatement]]


def reader_of(path: str) -> ReadsManifest | None:
    """Return what reads a file, by its name or its path below the root of the repository."""
    name = path.rpartition("/")[2]
    return next((read for pattern, read in _READERS.items() if _is_called(path, name, pattern)), None)


def _is_called(path: str, name: str, pattern: str) -> bool:
    return fnmatchcase(path if "/" in pattern else name, pattern)


# Python.


def _pyproject(text: str) -> Iterator[FileStatement]:
    data = tomllib.loads(text)
    tools = fields.mapping(data.get("tool"))
    project = fields.mapping(data.get("project")) or fields.mapping(tools.get("poetry"))
    yield from _about(project, "Python", needs=project.get("requires-python"))
    yield from _names("dependencies", "depends on", project.get("dependencies"))
    yield from _names("extras", "has the optional extras", project.get("optional-dependencies"), MINOR)
    for group, packages in fields.mapping(data.get("dependency-groups")).items():
        yield from _names(f"dependencies for {group}", f"for {group}, depends on", packages, MINOR)
    yield from _commands("commands", "installs the commands", project.get("scripts"))
    for tool, about in sorted(tools.items()):
        if tool in _PYTHON_TOOLS:
            yield from _settings_of(_PYTHON_TOOLS[tool], _flat(fields.mapping(about)))


_PYTHON_TOOLS = {
    "ruff": "the linter and formatter ruff",
    "black": "the formatter black",
    "isort": "the import sorter isort",
    "mypy": "the type checker mypy",
    "pyright": "the type checker pyright",
    "pytest": "the test runner pytest",
    "coverage": "test coverage",
    "pylint": "the linter pylint",
}


def _requirements(text: str) -> Iterator[FileStatement]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    yield from _names("dependencies", "depends on", [one for one in lines if one and one[0] != "-"])


# JavaScript and TypeScript.


def _package_json(text: str) -> Iterator[FileStatement]:
    data = _json(text)
    engines = "; ".join(f"{name} {version}" for name, version in _texts(data.get("engines")).items())
    yield from _about(data, "JavaScript", needs=engines)
    tool = fields.text(data.get("packageManager"))
    if tool:
        yield FileStatement("package manager", f"the package manager is {tool.partition('@')[0]}", IMPORTANT)
    yield from _commands("scripts", "has the scripts", data.get("scripts"))
    yield from _names("dependencies", "depends on", data.get("dependencies"))
    for_work = data.get("devDependencies")
    yield from _names("dependencies for development", "for development, depends on", for_work, MINOR)
    yield from _names("workspaces", "has the workspaces", data.get("workspaces"))


def _tsconfig(text: str) -> Iterator[FileStatement]:
    found = [_COMPILER_OPTION.match(line.strip()) for line in _lines(text)]
    yield from _settings_of("TypeScript", {one[1]: one[2].strip('"') for one in found if one})


_COMPILER_OPTION = re.compile(
    r'"(strict|target|module|jsx|moduleResolution|noUnused\w+)"\s*:\s*("[^"]*"|\w+)'
)


# Rust, Go, Java.


def _cargo(text: str) -> Iterator[FileStatement]:
    data = tomllib.loads(text)
    package = fields.mapping(data.get("package"))
    edition = fields.text(package.get("edition"))
    yield from _about(package, "Rust", needs=f"edition {edition}" if edition else None)
    yield from _names("dependencies", "depends on", data.get("dependencies"))
    yield from _names("workspace", "has the crates", fields.mapping(data.get("workspace")).get("members"))
    binaries = [fields.mapping(one).get("name") for one in fields.sequence(data.get("bin"))]
    yield from _names("binaries", "builds the programs", binaries)


def _go_mod(text: str) -> Iterator[FileStatement]:
    module = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
    version = re.search(r"^go\s+(\S+)", text, re.MULTILINE)
    if module:
        needs = f", needs Go {version[1]}" if version else ""
        yield FileStatement("about", f"{module[1]} is a Go module{needs}", IMPORTANT)
    direct = [line for line in _lines(text) if "// indirect" not in line]
    found = [_REQUIRED.match(line) for line in direct]
    yield from _names("dependencies", "depends on", [one[1] for one in found if one])


_REQUIRED = re.compile(r"[ \t]*(?:require[ \t]+)?([\w.-]+\.\w+/\S+)[ \t]+v")


def _pom(text: str) -> Iterator[FileStatement]:
    name = re.search(r"<artifactId>([^<]+)</artifactId>", _without_elements(text, _NOT_THE_PROJECT))
    java = re.search(r"<(?:maven\.compiler\.(?:release|source|target)|java\.version)>([^<]+)<", text)
    if name:
        needs = f", needs Java {java[1].strip()}" if java else ""
        yield FileStatement("about", f"{name[1].strip()} is a Maven project{needs}", IMPORTANT)
    yield from _names("modules", "has the modules", re.findall(r"<module>([^<]+)</module>", text))
    found = re.findall(r"<dependency>\s*<groupId>[^<]+</groupId>\s*<artifactId>([^<]+)<", text)
    yield from _names("dependencies", "depends on", found)


_NOT_THE_PROJECT = ("parent", "dependencies", "build", "dependencyManagement", "profiles")
"""Elements of a `pom.xml` that name other artifacts before its own."""


def _without_elements(text: str, names: Iterable[str]) -> str:
    """Return a text without these elements, looking at every character once for each of them."""
    for name in names:
        kept, start = [], 0
        while (begin := text.find(f"<{name}>", start)) >= 0:
            kept.append(text[start:begin])
            end = text.find(f"</{name}>", begin)
            start = len(text) if end < 0 else end + len(name) + 3
        text = "".join([*kept, text[start:]])
    return text


# How it is built, run and checked.


def _makefile(text: str) -> Iterator[FileStatement]:
    text = "\n".join(_lines(text))
    targets: dict[str, str] = {}
    for found in _TARGET.finditer(text):
        if found["name"] not in targets:
            targets[found["name"]] = _first_recipe(text[found.end() :]) or (found["about"] or "").strip()
    yield from _commands("targets", "has the targets", targets)


_TARGET = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w./-]{0,60})(?: [^:=\n]*)?:(?![:=])[^#\n]*(?:##? ?(?P<about>[^\n]*))?$", re.M
)
_RECIPE = re.compile(r"\n(?:\t| {2,})@?-?(?P<command>\S[^\n]*)")


def _first_recipe(rest: str) -> str | None:
    """Return the first command of a target, where the next line is one."""
    found = _RECIPE.match(rest)
    return found["command"].strip() if found else None


def _dockerfile(text: str) -> Iterator[FileStatement]:
    told: dict[str, list[str]] = {}
    for line in _lines(text):
        word, _, rest = line.strip().partition(" ")
        told.setdefault(word.upper(), []).append(rest.strip())
    images = [image.split()[0].partition("@")[0] for image in told.get("FROM", ()) if image]
    bases = [one for one in images if "/" in one or ":" in one or len(images) == 1]
    yield from _names("images", "builds on the images", bases)
    starts = [*told.get("ENTRYPOINT", ()), *told.get("CMD", ())]
    if starts:
        yield FileStatement("start", f"starts {_code(' '.join(starts))}", IMPORTANT)
    yield from _names("ports", "listens on the ports", " ".join(told.get("EXPOSE", ())).split())


def _compose(text: str) -> Iterator[FileStatement]:
    found, is_inside = [], False
    for line in _lines(text):
        if line[:1] not in (" ", "\t", "#", ""):
            is_inside = line.startswith("services:")
        elif is_inside and (service := _SERVICE.match(line)):
            found.append(service[1])
    yield from _names("services", "runs the services", found)


_SERVICE = re.compile(r"(?: {2}|\t)([\w.-]+):")


def _workflow(text: str) -> Iterator[FileStatement]:
    """Yield what continuous integration runs: single commands, and the first lines of longer ones."""
    lines = _lines(text)
    name = next((line[5:].strip() for line in lines if line.startswith("name:")), "")
    commands = [one for one in dict.fromkeys(_runs(lines)) if not _SECRET.search(one)][:MAX_COMMANDS]
    if commands:
        called = f" “{name}”" if name else ""
        yield FileStatement("runs", f"continuous integration{called} runs {', '.join(map(_code, commands))}")


_RUN = re.compile(r"(?:- )?run: ?(.*)")


def _runs(lines: list[str]) -> Iterator[str]:
    """Yield the commands of GitHub's `run:` and of GitLab's `script:`."""
    waits_for_first, is_script = False, False
    for line in map(str.strip, lines):
        if waits_for_first and line:
            yield line
            waits_for_first = False
        elif found := _RUN.match(line):
            waits_for_first = found[1][:1] in ("|", ">", "")
            if not waits_for_first:
                yield found[1]
        elif is_script and line.startswith("- "):
            yield line[2:]
        else:
            is_script = line in ("script:", "before_script:")


def _pre_commit(text: str) -> Iterator[FileStatement]:
    hooks = [line.partition("id:")[2].strip() for line in _lines(text) if line.strip().startswith("- id:")]
    yield from _names("hooks", "runs before a commit", hooks)


def _settings(text: str) -> Iterator[FileStatement]:
    """Yield the settings of a small file of `key = value` or `key: value`, or of a flat JSON object."""
    found = [_SETTING.fullmatch(line.strip().rstrip(",")) for line in _lines(text)]
    yield from _settings_of("", {one[1]: one[2].strip().strip('"') for one in found if one})


_SETTING = re.compile(r"\"?([A-Za-z][\w.-]*)\"?\s*[=:]\s*([^#;{\[].*)")


_READERS: Mapping[str, ReadsManifest] = {
    "pyproject.toml": _pyproject,
    "requirements.txt": _requirements,
    "package.json": _package_json,
    "tsconfig.json": _tsconfig,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "pom.xml": _pom,
    "Makefile": _makefile,
    "justfile": _makefile,
    "Dockerfile": _dockerfile,
    "docker-compose.y*ml": _compose,
    "compose.y*ml": _compose,
    ".github/workflows/*.y*ml": _workflow,
    ".gitlab-ci.yml": _workflow,
    ".pre-commit-config.yaml": _pre_commit,
    **dict.fromkeys(
        (
            *(".editorconfig", "ruff.toml", ".ruff.toml", "mypy.ini", "pytest.ini", "tox.ini", ".flake8"),
            *("rustfmt.toml", ".clang-format", ".prettierrc", ".prettierrc.json", ".eslintrc.json"),
            *(".golangci.yml", "biome.json"),
        ),
        _settings,
    ),
}
"""By name, or by path where that matters; the first that fits."""


# Words for what was found.


def _about(project: Mapping[str, Any], language: str, *, needs: object) -> Iterator[FileStatement]:
    name, told = fields.text(project.get("name")), fields.text(project.get("description"))
    if name is None:
        return
    wanted = fields.text(needs)
    text = f"{name} is a {language} project{f': {told.strip()}' if told else ''}"
    yield FileStatement("about", f"{text.rstrip('.')}{f'; it needs {wanted}' if wanted else ''}", IMPORTANT)


def _names(part: str, words: str, found: object, importance: float = USUAL) -> Iterator[FileStatement]:
    names = [match[1] for match in map(_PACKAGE.match, _listed(found)) if match is not None]
    unique = list(dict.fromkeys(names))
    if unique:
        more = f" and {len(unique) - MAX_LISTED} more" if len(unique) > MAX_LISTED else ""
        yield FileStatement(part, f"{words} {', '.join(unique[:MAX_LISTED])}{more}", importance)


def _listed(found: object) -> list[str]:
    if isinstance(found, Mapping):
        return [str(name) for name in found]
    return [one for one in found if isinstance(one, str)] if isinstance(found, Iterable) else []


def _commands(part: str, words: str, found: object) -> Iterator[FileStatement]:
    told = [f"{name} ({_code(run)})" if run else name for name, run in _texts(found).items()]
    if told:
        more = f" and {len(told) - MAX_COMMANDS} more" if len(told) > MAX_COMMANDS else ""
        yield FileStatement(part, f"{words} {', '.join(told[:MAX_COMMANDS])}{more}", IMPORTANT)


def _settings_of(tool: str, found: Mapping[str, str]) -> Iterator[FileStatement]:
    short = {name: value for name, value in found.items() if len(value) <= MAX_VALUE_CHARACTERS}
    told = [f"{name} = {value}" for name, value in short.items() if not _SECRET.search(f"{name}{value}")]
    if told:
        part, whose = (f"settings of {tool}", f"sets for {tool}") if tool else ("settings", "sets")
        yield FileStatement(part, f"{whose} {', '.join(told[:MAX_SETTINGS])}")


def _flat(found: Mapping[str, Any], *, prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Return settings by dotted names, without lists of tables and what lies deep."""
    flat: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, Mapping) and depth < 1:
            flat |= _flat(value, prefix=f"{prefix}{name}.", depth=depth + 1)
        elif isinstance(value, list):
            texts = [one for one in value if isinstance(one, str)]
            if texts:
                flat[f"{prefix}{name}"] = " ".join(texts[:MAX_COMMANDS])
        elif isinstance(value, str | int | float):
            flat[f"{prefix}{name}"] = str(value)
    return flat


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) <= MAX_LINE_CHARACTERS]


def _texts(found: object) -> dict[str, str]:
    return {name: value for name, value in fields.mapping(found).items() if isinstance(value, str)}


def _code(command: str) -> str:
    short = " ".join(command.split())
    return f"`{short if len(short) <= MAX_COMMAND_CHARACTERS else f'{short[:MAX_COMMAND_CHARACTERS]}…'}`"


def _json(text: str) -> Mapping[str, Any]:
    try:
        return fields.mapping(json.loads(text))
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
