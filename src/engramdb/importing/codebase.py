"""
A repository, read into statements: what it is, how it is laid out, built and checked, what it asks of agents.

Only files whose names say what they are get opened: README, instructions for agents, manifests, settings of
tools, continuous integration. Links are not followed, folders of other people's code are passed over, and
every number is bounded, so that the same repository always gives the same few statements. Words of a file
stay words of a file: each statement names it, and none of them is anybody's rule.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from msgspec import Struct

from engramdb.errors import InvalidContent
from engramdb.importing.manifests import IMPORTANT, MINOR, USUAL, FileStatement, reader_of
from engramdb.importing.source import BrokenRecord, Record, SkippedFile, SourceStatement
from engramdb.importing.text_files import plain_markdown, says_something
from engramdb.text.lexicons import word_set
from engramdb.text.pii import classify
from engramdb.values import Kind, Layer, MemoryType, SecurityTier
from engramdb.values.memory import Voice
from engramdb.values.reading import Force, Lasting

MAX_FILE_BYTES = 200_000
"""A README or a manifest that is larger was generated."""
MAX_FILES = 60
"""Files that are read; a repository of many packages is told by the first of them."""
MAX_ENTRIES = 20_000
"""Names that are looked at, of the whole repository."""
MAX_DEPTH = 3
"""How many folders deep packages of a repository lie: packages/api/package.json."""
MAX_SECTIONS = 30
"""Sections of one README or instruction file."""
MAX_SECTION_CHARACTERS = 900
MAX_NAMES = 40
"""Names of files and folders in one statement."""

MAX_IGNORED = 200
"""Lines of `.gitignore` that are looked at."""
MAX_PACKAGES = 3
"""Where `src` holds more, it is no package but the code itself."""

_ABOUT = re.compile(
    r"(?:readme|contributing|architecture|development)(?:\.(?:md|markdown|rst|txt))?", re.IGNORECASE
)
_INSTRUCTIONS = word_set(
    "AGENTS.md AGENT.md CLAUDE.md GEMINI.md .cursorrules .windsurfrules .clinerules copilot-instructions.md"
)
_RULE_FOLDER = ".cursor/rules/"
_ENTRY_POINTS = word_set(
    "__main__.py main.py app.py manage.py wsgi.py asgi.py main.go main.rs index.ts index.tsx index.js "
    "main.ts main.tsx main.js server.ts server.js Main.java Program.cs main.kt index.php main.c main.cpp"
)
_SHOWN_HIDDEN = frozenset({".github", ".cursor"})
"""Hidden folders that tell how a repository is worked on."""
_OTHERS_CODE = word_set(
    "node_modules vendor third_party site-packages venv env dist build target out bin obj coverage htmlcov "
    "__pycache__ bower_components Pods Carthage DerivedData"
)
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_UNDERLINE = re.compile(r"([=\-~^\"'#*+])\1{2,}")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_BADGE = re.compile(r"\s*(?:\[?!\[|<(?:img|p|a|h\d|div|br|picture|source|/)|\.\. (?:image|figure)::)")


class RepositoryFile(Struct, frozen=True):
    """A file of a repository: its path below the root, with slashes, and its size."""

    path: str
    size: int

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rpartition("/")[2]


def repository_name(folder: Path) -> str:
    """Return what a repository is called: its folder's name."""
    return re.sub(r"[^\w.@+-]", "-", Path(os.path.realpath(folder)).name) or "repository"


def read_codebase(folder: Path) -> Iterator[Record | SkippedFile]:
    """Yield what a repository says of itself; raises where there is no folder."""
    if not folder.is_dir():
        raise InvalidContent("a codebase is a folder", hint="Name the root of the repository.")
    root, name = Path(os.path.realpath(folder)), repository_name(folder)
    files = list(_walk(root))
    for one in _telling(files):
        place = f"{name}/{one.path}"
        if one.size > MAX_FILE_BYTES:
            yield SkippedFile(place=place)
            continue
        try:
            text = _text(root / one.path)
            found = list(_statements(one, text, name))
        except (OSError, ValueError):
            yield BrokenRecord(place=place)
            continue
        yield from (_record(one.path, statement, name) for statement in found)
    yield from (_record("", statement, name) for statement in _of_the_whole(files, name))


def _walk(root: Path) -> Iterator[RepositoryFile]:
    """Yield the plain files of a repository, folder by folder: no links, nobody else's code."""
    waiting, left, ignored = [""], MAX_ENTRIES, _ignored_names(root)
    while waiting and left > 0:
        below = waiting.pop(0)
        try:
            with os.scandir(root / below) as found:
                entries = sorted(islice(found, left), key=lambda entry: entry.name)
            modes = [entry.stat(follow_symlinks=False) for entry in entries]
        except OSError:  # a folder that may not be read tells nothing
            continue
        left -= len(entries)
        for entry, seen in zip(entries, modes, strict=True):
            path = f"{below}{entry.name}"
            if any(fnmatchcase(entry.name, pattern) for pattern in ignored):
                continue
            if stat.S_ISREG(seen.st_mode):
                yield RepositoryFile(path, seen.st_size)
            elif stat.S_ISDIR(seen.st_mode) and path.count("/") < MAX_DEPTH and _is_own(entry.name):
                waiting.append(f"{path}/")


def _ignored_names(root: Path) -> list[str]:
    """Return the plain names and patterns of `.gitignore`: what git does not keep is not the repository."""
    try:
        lines = _text(root / ".gitignore").splitlines()[:MAX_IGNORED]
    except (OSError, ValueError):
        return []
    names = [line.strip().strip("/") for line in lines]
    return [name for name in names if name and name[0] not in "#!" and "/" not in name and "**" not in name]


def _is_own(folder: str) -> bool:
    is_hidden = folder.startswith(".") and folder not in _SHOWN_HIDDEN
    return not is_hidden and folder not in _OTHERS_CODE and not folder.endswith(".egg-info")


def _telling(files: list[RepositoryFile]) -> list[RepositoryFile]:
    """Return the files to read: those of the root first, then of its packages."""
    found = [
        one for one in files if _is_about(one) or _is_instruction(one) or reader_of(one.path) is not None
    ]
    return sorted(found, key=lambda one: (one.path.count("/"), one.path))[:MAX_FILES]


def _is_about(file: RepositoryFile) -> bool:
    return "/" not in file.path and _ABOUT.fullmatch(file.name) is not None


def _is_instruction(file: RepositoryFile) -> bool:
    return file.name in _INSTRUCTIONS or file.path.startswith(_RULE_FOLDER)


def _text(path: Path) -> str:
    """Return the text of a file that is still a plain one, however it was exchanged meanwhile."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("not a plain file")
        content = file.read(MAX_FILE_BYTES + 1)
    text = content.decode("utf-8-sig")
    if "\0" in text or len(content) > MAX_FILE_BYTES:
        raise ValueError("not text, or grown too large")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _statements(file: RepositoryFile, text: str, name: str) -> Iterator[FileStatement]:
    """Yield what one file says, each statement complete in itself."""
    if (read := reader_of(file.path)) is not None:
        for one in read(text):
            yield FileStatement(one.part, f"{file.path} of {name}: {one.text}", one.importance)
        return
    is_instruction = _is_instruction(file)
    told = f"{file.path} of {name}{' tells agents' if is_instruction else ''}"
    for number, (heading, body) in enumerate(sections(text)):
        is_opening = number == 0 and not is_instruction
        about = f"{told}, {heading}: " if heading else f"{told}: "
        yield FileStatement(heading or "opening", f"{about}{body}", IMPORTANT if is_opening else MINOR)


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a Markdown or reStructuredText file: their headings and what stands there."""
    path: list[tuple[int, str]] = []
    waiting: list[str] = []
    seen: dict[str, int] = {}
    for level, heading, line in _headed_lines(text):
        if heading is None:
            waiting.append(line)
            continue
        yield from _section(path, waiting, seen)
        waiting = []
        path = [(deep, words) for deep, words in path if deep < level]
        path.append((level, heading))
    yield from _section(path, waiting, seen)


def _section(
    path: list[tuple[int, str]], lines: list[str], seen: dict[str, int]
) -> Iterator[tuple[str, str]]:
    body = _body(lines)
    if not says_something(body) or sum(seen.values()) >= MAX_SECTIONS:
        return
    # The title of the file says nothing of a section below it.
    heading = ", ".join(words for level, words in path if level > 1 or len(path) == 1)
    seen[heading] = seen.get(heading, 0) + 1
    yield (heading if seen[heading] == 1 else f"{heading} ({seen[heading]})"), body


def _headed_lines(text: str) -> Iterator[tuple[int, str | None, str]]:
    """Yield each line with the level and the words of the heading that it is, if any."""
    lines = text.split("\n")
    is_code, is_passed = False, False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if is_passed:  # the underline of a heading
            is_passed = False
            continue
        is_fence = _FENCE.match(line) is not None
        heading = None if is_code or is_fence else _HEADING.fullmatch(line.rstrip())
        is_underlined = not is_code and _is_underlined(line, after)
        if heading:
            yield len(heading[1]), plain_markdown(heading[2].rstrip("#").strip()), line
        elif is_underlined:
            is_passed = True
            yield 1 if after[0] == "=" else 2, line.strip(), line
        else:
            yield 0, None, line
        is_code = is_code != is_fence


def _is_underlined(line: str, after: str) -> bool:
    is_rule = _UNDERLINE.fullmatch(after.rstrip()) is not None
    is_words = bool(line.strip()) and line[:1].isalnum()
    return is_rule and is_words and len(after.rstrip()) >= len(line.rstrip()) - 2


def _body(lines: list[str]) -> str:
    """Return the words of a section on few lines: without pictures and badges, and cut where it is long."""
    told, length, is_code = [], 0, False
    for line in lines:
        is_fence = _FENCE.match(line) is not None
        is_code = is_code != is_fence
        if is_fence or not line.strip() or (not is_code and _BADGE.match(line)):
            continue
        words = line.rstrip() if is_code else plain_markdown(line.strip())
        length += len(words) + 1
        if length > MAX_SECTION_CHARACTERS:
            told.append(words[: max(0, MAX_SECTION_CHARACTERS - length)] + "…")
            break
        told.append(words)
    return "\n".join(told).strip()


def _of_the_whole(files: list[RepositoryFile], name: str) -> Iterator[FileStatement]:
    """Yield how a repository is laid out and where it starts."""
    yield from _layout(files, name, below="", part="layout")
    sources = {
        one.path.split("/")[1] for one in files if one.path.startswith("src/") and one.path.count("/") > 1
    }
    for package in sorted(sources)[:MAX_NAMES] if len(sources) <= 3 else []:
        yield from _layout(files, name, below=f"src/{package}/", part=f"layout of src/{package}")
    starts = [one.path for one in files if one.name in _ENTRY_POINTS and "test" not in one.path]
    if starts:
        listed = ", ".join(starts[:MAX_NAMES])
        yield FileStatement("entry points", f"Entry points of {name}: {listed}", IMPORTANT)


def _layout(files: list[RepositoryFile], name: str, *, below: str, part: str) -> Iterator[FileStatement]:
    inside = [one.path[len(below) :] for one in files if one.path.startswith(below)]
    folders = sorted({f"{path.partition('/')[0]}/" for path in inside if "/" in path})
    plain = sorted(path for path in inside if "/" not in path and not path.startswith("."))
    if folders or plain:
        listed = ", ".join([*folders, *plain][:MAX_NAMES])
        where = f"{below.rstrip('/')} of {name}" if below else name
        yield FileStatement(part, f"Top-level layout of {where}: {listed}", IMPORTANT if not below else USUAL)


def _record(path: str, statement: FileStatement, name: str) -> SourceStatement | SkippedFile:
    """Return a statement as a record; one that holds a secret stays where it is."""
    place = f"{name}/{path}: {statement.part}" if path else f"{name}: {statement.part}"
    if classify(statement.text).tier is SecurityTier.CONFIDENTIAL:
        return SkippedFile(place=place)
    is_quoted = bool(path) and reader_of(path) is None
    return SourceStatement(
        content=statement.text,
        place=place,
        key=place,
        category="technical",
        layer=Layer.CODEBASE,
        type=MemoryType.FACT,
        kind=Kind.NOTE,
        importance=statement.importance,
        # What a file says is reported; what it lists was read from it.
        force=Force.QUOTED if is_quoted else Force.ASSERTED,
        voice=Voice.PASTED if is_quoted else Voice.OWN,
        lasting=Lasting.STABLE,
    )
