"""Rules that a tool can check: where the clock, the environment, SQL and print may be used."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import engramdb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunChild

pytestmark = pytest.mark.xdist_group("code-rules")  # one process reads the files once

SOURCE = Path(engramdb.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py"))
SURFACES = {"cli", "http", "mcp", "web", "hooks", "connect", "integrations", "verbs"}
INSIDE = [path for path in MODULES if path.relative_to(SOURCE).parts[0] not in SURFACES]

CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"}
SQL = re.compile(
    r"\b(SELECT\s+[\w*(]|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|VIRTUAL)|"
    r"PRAGMA\s+\w|BEGIN\s+(IMMEDIATE|EXCLUSIVE))"
)
SHARED_CLASS_NAMES = {"EngramMemory", "Memory"}
"""Integrations take the names that their frameworks expect."""
HEAVY = (
    "onnx",
    "onnxruntime",
    "starlette",
    "uvicorn",
    "click",
    "click",
    "rich",
    "pydantic",
    "jinja2",
    "prometheus_client",
    "httpx",
    "yaml",
    "http.server",
    "asyncio",
    "unittest",
)

IMPORT = """
    import sys
    import engramdb
    print(*sorted(sys.modules))
"""

# Opening a socket raises, so any attempt to use the network is an error with a traceback.
WITHOUT_NETWORK = """
    import socket, sys

    def refuse(*arguments, **options):
        raise RuntimeError("something used the network")

    socket.socket.connect = refuse
    socket.socket.bind = refuse
    socket.create_connection = refuse
    socket.getaddrinfo = refuse

    from engramdb import Engram
    with Engram.open(sys.argv[1]) as engram:
        engram.remember("I like tea")
        engram.observe("hello")
        print(len(engram.recall("tea").hits), engram.doctor().ok, engram.status().memories)
"""


@functools.cache
def parsed(path: Path) -> ast.Module:
    """A file as Python reads it, once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def calls(path: Path) -> tuple[tuple[str, int], ...]:
    """The dotted names that a file mentions, with their lines."""
    nodes = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute | ast.Name))
    return tuple((ast.unparse(node), node.lineno) for node in nodes)


def texts(path: Path) -> Iterator[tuple[str, int]]:
    """The strings in a file that are not documentation, with their lines."""
    tree = parsed(path)
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value, node.lineno


def places(found: list[tuple[Path, int]]) -> list[str]:
    """Where something was found, to show."""
    return [f"{path.relative_to(SOURCE)}:{line}" for path, line in found]


def test_only_the_engine_and_the_surfaces_read_the_clock() -> None:
    """Time is an argument everywhere else: a year can be simulated in seconds."""
    found = [
        (path, line)
        for path in INSIDE
        if path.name != "clock.py"
        for name, line in calls(path)
        if any(name == clock or name.endswith(f".{clock}") for clock in CLOCKS)
    ]

    assert places(found) == []


def test_only_settings_and_the_surfaces_read_the_environment() -> None:
    """Configuration is read in one place."""
    found = [
        (path, line)
        for path in INSIDE
        if path.name != "settings.py"
        for name, line in calls(path)
        if name in ("os.environ", "os.getenv", "environ", "getenv")
    ]

    assert places(found) == []


def test_only_the_surfaces_print_and_nobody_logs_content() -> None:
    """
    Results are returned; what a user reads is written by a surface, and memories never reach a log.

    The engine may warn that a name is deprecated: such a warning holds two names of ours and nothing else.
    """
    found = [
        (path, line)
        for path in INSIDE
        for name, line in calls(path)
        if name in ("print", "logging", "warnings.warn", "sys.stdout", "sys.stderr")
        or name.startswith("logging.")
        if (path.name, name) != ("engram.py", "warnings.warn")
    ]

    assert places(found) == []


def test_sql_stands_in_the_store_only() -> None:
    """No other package writes SQL."""
    found = [
        (path, line)
        for path in MODULES
        if "store" not in path.relative_to(SOURCE).parts
        for text, line in texts(path)
        if SQL.search(text)
    ]

    assert places(found) == []


def test_types_are_made_ready_for_decoding_at_import() -> None:
    """Threads that meet a type together for the first time can crash msgspec: `Decoder(T)` at import."""
    late = [
        f"{path.relative_to(SOURCE)}:{call.lineno}"
        for path in MODULES
        for call in ast.walk(parsed(path))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).startswith("msgspec.")
        and any(word.arg == "type" for word in call.keywords)
    ]

    assert late == []


def test_every_module_says_what_it_is_for() -> None:
    """Every module says in a docstring what it holds."""
    silent = [path for path in MODULES if not ast.get_docstring(parsed(path))]

    assert [str(path.relative_to(SOURCE)) for path in silent] == []


def test_public_names_exist_and_are_documented() -> None:
    """What `from engramdb import …` offers is there, is listed once, and explains itself."""
    assert sorted(engramdb.__all__) == sorted(set(engramdb.__all__))
    for name in engramdb.__all__:
        assert (getattr(engramdb, name).__doc__ or "").strip(), name


def test_public_verbs_are_documented() -> None:
    """Every method that a user of `Engram` can call says what it does."""
    verbs = {name: verb for name, verb in vars(engramdb.Engram).items() if not name.startswith("_")}

    assert [name for name, verb in verbs.items() if not (getattr(verb, "__doc__", "") or "").strip()] == []


def test_every_error_has_its_own_code() -> None:
    """Codes are stable names: two errors never share one."""
    family, waiting = [], [engramdb.EngramError]
    while waiting:
        error = waiting.pop()
        family.append(error)
        waiting += error.__subclasses__()

    codes = [error.code for error in family if error.__module__ == "engramdb.errors"]

    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"E\d{4}", code) for code in codes)


@pytest.mark.slow
def test_importing_engram_is_light(child: RunChild) -> None:
    """The command line answers at once because nothing optional or heavy is imported with the library."""
    loaded = set(child(IMPORT).split())

    assert [name for name in HEAVY if name in loaded] == []


def test_importing_and_using_engram_needs_no_network(child: RunChild, store_path: Path) -> None:
    """A store opens, remembers and answers with no key, no server and no connection."""
    assert child(WITHOUT_NETWORK, store_path) == "1 True 1"


def test_a_class_name_is_unique() -> None:
    """A search for a class finds one class."""
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert {name for name, count in names.items() if count > 1} <= SHARED_CLASS_NAMES
