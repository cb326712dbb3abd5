"""
Code structure: size and shape of the package, files touched by one operation, and CPU time of start-up.

    python -m evals.structure [--package engramdb] [--src src] [--runs 9] [--command "engram"] [--json FILE]

**Shape** is read from the syntax tree. The header of a file is everything down to the last of the docstring,
imports and `if TYPE_CHECKING` blocks it opens with. An importer is another file of the package that names the
module in an import statement; a name in a string does not count.

**Files touched** by an operation are the distinct files of the package in which at least one function was
called, or a generator resumed, while it ran, in any thread or child process. Module and class bodies do not
count, and neither does a function that an import calls. Every operation runs once, in a fresh process, on a
copy of the same small store:

- Python: one method call on an engine that is open, without background threads.
- CLI: the whole command, from the start of the process to its end, opening and closing the store included.
- HTTP and MCP: one request to a server that has already answered a request to list memories, until the answer
  is there and no further file has been touched for `QUIET_SECONDS`. Background work in that time counts.

**CPU time** is user and system time of the child process, the median of `--runs` runs after one that is not
counted. The MCP handshake is measured from the start of the process to the answer to `tools/list`.

Only public interfaces are used, so the same script measures any layout of the package.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.report import keep, show

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

SMALL_LINES = 60
SHORT_LINES, LONG_LINES = 40, 60
QUIET_SECONDS = 2.0
CHILD_SECONDS = 120.0
"""A child that runs longer is killed."""
PROTOCOL_VERSION = "2025-06-18"
SEEDS = (
    "Mara lives in Lisbon.",
    "Mara prefers tea to coffee.",
    "The billing service uses PostgreSQL 16.",
    "Tomas leads the billing team.",
    "Deploy on Tuesdays, never on Fridays.",
)
STATEMENT = "Mara moved to Oslo in May 2024."
QUESTION = "Where does Mara live?"
OPERATIONS = ("remember", "recall", "pin")
HTTP_FIELDS = {"remember": "content", "recall": "query", "pin": "id"}
PYTHON_OPERATION = """
import sys
from {package} import Engram

operation, argument, store = sys.argv[1:]
with Engram.open(store, background=False) as engram:
    print("ready", flush=True)
    input()
    getattr(engram, operation)(argument)
    print("done", flush=True)
    input()
"""


@dataclass(frozen=True, slots=True)
class Program:
    """The package under measurement and the command that runs its console program."""

    package: str
    src: Path
    command: tuple[str, ...]

    @property
    def root(self) -> Path:
        """The folder of the package."""
        return self.src / self.package

    def environment(self, folder: Path, **extra: str) -> dict[str, str]:
        """Return an environment that imports this package and keeps everything of the user in `folder`."""
        dropped = ("ENGRAM", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        own = {"PYTHONPATH": str(self.src), "HOME": str(folder), "ENGRAM_HOME": str(folder)}
        return {**kept, **own, **extra}


@dataclass(frozen=True, slots=True)
class Seed:
    """A folder with a small store, and the id of one memory in it."""

    folder: Path
    memory_id: str

    def argument(self, operation: str) -> str:
        """Return what an operation is called with."""
        return {"remember": STATEMENT, "recall": QUESTION, "pin": self.memory_id}[operation]


# ---------------------------------------------------------------------------------------------------- shape


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package, parsed."""

    name: str
    is_package: bool
    lines: int
    tree: ast.Module


def read_modules(root: Path) -> list[Module]:
    """Return every module below the folder of a package."""
    return [_read_module(path, root.parent) for path in sorted(root.rglob("*.py"))]


def _read_module(path: Path, src: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    is_package = path.name == "__init__.py"
    place = path.parent if is_package else path.with_suffix("")
    return Module(".".join(place.relative_to(src).parts), is_package, len(text.splitlines()), ast.parse(text))


def header_lines(tree: ast.Module) -> int:
    """Return the last line of the docstring, imports and type-only imports that open a file."""
    last = 0
    for node in tree.body:
        if not _is_header(node):
            break
        last = node.end_lineno or last
    return last


def _is_header(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, ast.Import | ast.ImportFrom)


def imported_names(module: Module) -> Iterator[str]:
    """Yield every dotted name that the import statements of a module may load."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    above = node.level - 1 if module.is_package else node.level
    parents = module.name.split(".")
    return ".".join([*parents[: len(parents) - above], *filter(None, [node.module])])


def count_single_importers(modules: Sequence[Module]) -> int:
    """Return how many modules, packages aside, exactly one other file imports."""
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in imported_names(module):
            importers[name].add(module.name)
    return sum(len(importers[one.name] - {one.name}) == 1 for one in modules if not one.is_package)


def count_single_statements(modules: Sequence[Module], package: str) -> int:
    """Return how many names of modules stand in exactly one `from … import` statement."""
    statements = Counter(
        node.module
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module
    )
    return sum(count == 1 and name.startswith(package) for name, count in statements.items())


def measure_shape(program: Program) -> dict[str, Any]:
    """Return size and shape of the package."""
    modules = read_modules(program.root)
    nodes = [node for module in modules for node in ast.walk(module.tree)]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(one.end_lineno or one.lineno) - one.lineno + 1 for one in functions]
    lines = sum(module.lines for module in modules)
    short = sum(length <= SHORT_LINES for length in lengths)
    small = sum(one.lines < SMALL_LINES and not one.is_package for one in modules)
    return {
        "lines": lines,
        "files": len(modules),
        "functions": len(functions),
        "functions per file": len(functions) / len(modules),
        "header share": sum(header_lines(module.tree) for module in modules) / lines,
        f"modules under {SMALL_LINES} lines": small,
        "modules with exactly one importer": count_single_importers(modules),
        "module names in one `from` import": count_single_statements(modules, program.package),
        "class names used more than once": sum(count > 1 for count in classes.values()),
        f"share of functions of {SHORT_LINES} lines or fewer": short / len(lengths),
        f"functions over {LONG_LINES} lines": sum(length > LONG_LINES for length in lengths),
    }


# ---------------------------------------------------------------------------------------------------- tracing


def trace_calls(root: str, switch: mmap.mmap, log: int) -> None:
    """
    Write the name of each file below `root` to `log` when the first of its functions is called.

    Runs as part of `sitecustomize` in a child, so it uses nothing but its arguments and imported modules.
    Files are noticed while the first byte of `switch` is 1, in this thread and in those started later.
    """
    done: set[str] = set()

    def is_import_time(frame: FrameType | None) -> bool:
        while frame is not None:
            is_module = frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(root)
            if is_module and frame.f_globals.get("__name__") != "__main__":
                return True
            frame = frame.f_back
        return False

    def notice(frame: FrameType, event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or file in done or not switch[0]:
            return
        if not file.startswith(root):
            done.add(file)
        elif frame.f_code.co_flags & inspect.CO_OPTIMIZED and not is_import_time(frame):
            done.add(file)
            os.write(log, f"{file}\n".encode())

    threading.setprofile(notice)
    sys.setprofile(notice)


class Trace:
    """A tracer for child processes: hand `environment` to one, and switch it on when it matters."""

    def __init__(self, program: Program, folder: Path) -> None:
        self._root = f"{program.root}{os.sep}"
        self._switch, self._log = folder / "switch", folder / "log"
        self._switch.write_bytes(b"\0")
        self._log.touch()
        (folder / "sitecustomize.py").write_text(self._sitecustomize(), encoding="utf-8")
        self.environment = {"PYTHONPATH": os.pathsep.join([str(folder), str(program.src)])}

    def _sitecustomize(self) -> str:
        return "\n".join(
            [
                "from __future__ import annotations",
                "import inspect, mmap, os, sys, threading",
                inspect.getsource(trace_calls),
                f"with open({str(self._switch)!r}, 'rb') as file:",
                "    switch = mmap.mmap(file.fileno(), 1, access=mmap.ACCESS_READ)",
                f"log = os.open({str(self._log)!r}, os.O_WRONLY | os.O_APPEND)",
                f"trace_calls({self._root!r}, switch, log)",
            ]
        )

    def switch_on(self) -> None:
        """Notice files from now on."""
        with self._switch.open("r+b") as file:  # in place: the child has it mapped
            file.write(b"\1")

    def wait_until_quiet(self) -> None:
        """Return once no further file has been touched for a while."""
        size = -1
        while size != (size := self._log.stat().st_size):
            time.sleep(QUIET_SECONDS)

    def files(self) -> list[str]:
        """Return the files touched, relative to the package."""
        return sorted({line.removeprefix(self._root) for line in self._log.read_text().splitlines()})


@contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str], *, stderr: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a child to talk to, and kill it at the end of the block or when it takes too long."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, stderr=stderr, text=True
    ) as child:
        timer = threading.Timer(CHILD_SECONDS, child.kill)
        timer.start()
        try:
            yield child
        finally:
            timer.cancel()
            child.kill()


def say(child: subprocess.Popen[str], text: str = "") -> None:
    """Write one line to a child."""
    assert child.stdin is not None  # noqa: S101 - `running` made it a pipe
    child.stdin.write(f"{text}\n")
    child.stdin.flush()


def hear(child: subprocess.Popen[str], pattern: str) -> str:
    """Return the first group of the next line from a child that the pattern is found in."""
    assert child.stdout is not None  # noqa: S101 - `running` made it a pipe
    for line in child.stdout:
        if found := re.search(pattern, line):
            return found[1]
    raise RuntimeError(f"{child.args!r} ended before it wrote {pattern!r}")


# ------------------------------------------------------------------------------------------------- operations


@dataclass(frozen=True, slots=True)
class Visit:
    """One operation to trace: what to call, on which store, in which environment."""

    program: Program
    operation: str
    argument: str
    store: str
    environment: dict[str, str]
    trace: Trace


def from_python(visit: Visit) -> None:
    """Call one method of an open engine."""
    code = PYTHON_OPERATION.format(package=visit.program.package)
    command = [sys.executable, "-c", code, visit.operation, visit.argument, visit.store]
    with running(command, visit.environment) as child:
        hear(child, "(ready)")
        visit.trace.switch_on()
        say(child)
        hear(child, "(done)")
        visit.trace.wait_until_quiet()


def from_cli(visit: Visit) -> None:
    """Run one command of the console program."""
    visit.trace.switch_on()
    command = [*visit.program.command, visit.operation, visit.argument, "--store", visit.store]
    run_quietly(command, visit.environment)


def from_http(visit: Visit) -> None:
    """Send one request to a server that has listed memories before."""
    command = [*visit.program.command, "serve", "--no-token", "--port", "0", "--store", visit.store]
    with running(command, visit.environment, stderr=subprocess.STDOUT) as child:
        port = int(hear(child, r"http://[^/\s]+:(\d+)"))
        request(port, "GET", "/v1/memories")
        visit.trace.wait_until_quiet()
        visit.trace.switch_on()
        request(port, "POST", f"/v1/{visit.operation}", {HTTP_FIELDS[visit.operation]: visit.argument})
        visit.trace.wait_until_quiet()


def from_mcp(visit: Visit) -> None:
    """Call one tool of a server that has listed memories before."""
    command = [*visit.program.command, "mcp", "--tools", "all", "--store", visit.store]
    with running(command, visit.environment) as child:
        tools = {tool["name"]: tool for tool in shake_hands(child)["tools"]}
        call_tool(child, 3, "list", {})
        visit.trace.wait_until_quiet()
        visit.trace.switch_on()
        name = tools[visit.operation]["inputSchema"]["required"][0]
        call_tool(child, 4, visit.operation, {name: visit.argument})
        visit.trace.wait_until_quiet()


SURFACES: dict[str, Callable[[Visit], None]] = {
    "Python": from_python,
    "CLI": from_cli,
    "HTTP": from_http,
    "MCP": from_mcp,
}


def run_quietly(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a command that must succeed and return what it printed."""
    return subprocess.run(
        command,
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=CHILD_SECONDS,
    ).stdout


def request(port: int, method: str, path: str, body: Mapping[str, str] | None = None) -> None:
    """Send one HTTP request that must succeed."""
    connection = HTTPConnection("127.0.0.1", port, timeout=CHILD_SECONDS)
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path} gave {answer.status}: {content[:500]!r}")


def ask_mcp(child: subprocess.Popen[str], number: int, method: str, params: object) -> dict[str, Any]:
    """Send one JSON-RPC request and return its result."""
    say(child, json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
    while True:
        answer = json.loads(hear(child, r"(\{.*)"))
        if answer.get("id") == number:
            break
    if "result" not in answer or answer["result"].get("isError"):
        raise RuntimeError(f"{method} {params} failed: {answer}")
    result: dict[str, Any] = answer["result"]
    return result


def call_tool(child: subprocess.Popen[str], number: int, name: str, arguments: Mapping[str, str]) -> None:
    """Call one MCP tool that must succeed."""
    ask_mcp(child, number, "tools/call", {"name": name, "arguments": arguments})


def shake_hands(child: subprocess.Popen[str]) -> dict[str, Any]:
    """Greet an MCP server and return its list of tools."""
    client = {"name": "structure", "version": "1"}
    greeting = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
    ask_mcp(child, 1, "initialize", greeting)
    say(child, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return ask_mcp(child, 2, "tools/list", {})


def make_seed(program: Program, folder: Path) -> Seed:
    """Fill a small store through the command line."""
    folder.mkdir()
    environment, store = program.environment(folder), str(folder / "memory.db")
    for content in SEEDS:
        run_quietly([*program.command, "remember", content, "--store", store], environment)
    listed = run_quietly([*program.command, "list", "--json", "--store", store], environment)
    found = re.search(r'"id":\s*"([^"]+)"', listed)
    if found is None:
        raise RuntimeError(f"`list --json` shows no id: {listed[:500]}")
    return Seed(folder, found[1])


def touched_files(program: Program, surface: str, operation: str, seed: Seed) -> list[str]:
    """Return the files of the package that one operation touches."""
    with tempfile.TemporaryDirectory(prefix="structure-") as name:
        home = Path(name, "home")
        shutil.copytree(seed.folder, home)
        trace = Trace(program, Path(name))
        environment = program.environment(home, **trace.environment)
        argument, store = seed.argument(operation), str(home / "memory.db")
        SURFACES[surface](Visit(program, operation, argument, store, environment, trace))
        return trace.files()


def measure_touched(program: Program, seed: Seed) -> dict[str, dict[str, list[str]]]:
    """Return the files touched by each operation, through each interface."""
    return {
        operation: {surface: touched_files(program, surface, operation, seed) for surface in SURFACES}
        for operation in OPERATIONS
    }


# --------------------------------------------------------------------------------------------------- CPU time


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of processor and of wall time."""

    cpu: float
    wall: float


def cost_of_command(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command to its end."""
    nothing = subprocess.DEVNULL
    started = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdin=nothing, stdout=nothing)
    cost = _reap(child, started)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return cost


def cost_of_handshake(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Start an MCP server, wait for its list of tools, and kill it."""
    started = time.perf_counter()
    with running(command, environment) as child:
        shake_hands(child)
        answered = time.perf_counter()
        child.kill()
        return Cost(_reap(child, started).cpu, (answered - started) * 1000)


def _reap(child: subprocess.Popen[Any], started: float) -> Cost:
    _, status, usage = os.wait4(child.pid, 0)
    ended = time.perf_counter()
    child.returncode = os.waitstatus_to_exitcode(status)
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, (ended - started) * 1000)


def measure_cpu(program: Program, seed: Seed, runs: int) -> list[dict[str, Any]]:
    """Return what start-up and short commands cost; the cases take turns, so that all see the same load."""
    environment, store = program.environment(seed.folder), ["--store", str(seed.folder / "memory.db")]
    python, command = [sys.executable, "-c"], program.command
    words = {
        "python -c pass": [*python, "pass"],
        f"import {program.package}": [*python, f"import {program.package}"],
        f"from {program.package} import Engram": [*python, f"from {program.package} import Engram"],
        "--help": [*command, "--help"],
        "list": [*command, "list", *store],
        "recall": [*command, "recall", QUESTION, *store],
    }
    cases = {name: partial(cost_of_command, one, environment) for name, one in words.items()}
    cases["mcp handshake"] = partial(cost_of_handshake, [*command, "mcp", *store], environment)
    costs: defaultdict[str, list[Cost]] = defaultdict(list)
    for _ in range(runs + 1):
        for name, case in cases.items():
            costs[name].append(case())
    return [_cost_row(name, found[1:]) for name, found in costs.items()]


def _cost_row(name: str, costs: Sequence[Cost]) -> dict[str, Any]:
    return {
        "": name,
        "CPU ms": statistics.median(cost.cpu for cost in costs),
        "CPU ms, least": min(cost.cpu for cost in costs),
        "wall ms": statistics.median(cost.wall for cost in costs),
    }


# ----------------------------------------------------------------------------------------------------- report


def console_command(src: Path) -> tuple[str, ...]:
    """Return a command for the first console program that the project declares."""
    project = tomllib.loads((src.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, entry = next(iter(project["scripts"].items()))
    module, _, function = entry.partition(":")
    code = f"import sys; sys.argv[0] = {name!r}; from {module} import {function} as run; sys.exit(run())"
    return (sys.executable, "-c", code)


def measure(program: Program, runs: int) -> dict[str, Any]:
    """Return everything that is measured."""
    with tempfile.TemporaryDirectory(prefix="structure-") as name:
        seed = make_seed(program, Path(name, "seed"))
        touched = measure_touched(program, seed)
        cpu = measure_cpu(program, seed, runs)
    return {"package": program.package, "shape": measure_shape(program), "touched": touched, "cpu": cpu}


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.structure", description=__doc__.split("\n")[1])
    parser.add_argument("--package", default="engramdb")
    parser.add_argument("--src", type=Path, default=Path(__file__).parent.parent / "src")
    parser.add_argument("--runs", type=int, default=9, help="runs of each command that is timed")
    parser.add_argument("--command", type=shlex.split, help="console program; else from pyproject.toml")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    src = arguments.src.resolve()
    program = Program(arguments.package, src, tuple(arguments.command or console_command(src)))
    found = measure(program, arguments.runs)
    show(f"Shape of {program.package}", [{"": name, "value": one} for name, one in found["shape"].items()])
    rows = [
        {"": operation, **{surface: len(files) for surface, files in by_surface.items()}}
        for operation, by_surface in found["touched"].items()
    ]
    show("Files touched by one operation", rows)
    show("CPU and wall time of a fresh process", found["cpu"])
    print(f"\nWritten to {keep('structure', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
