"""The real command in a process of its own: streams, signals, pipes, start-up."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from engramdb import Engram

if TYPE_CHECKING:
    from collections.abc import Sequence

ENGRAM = [sys.executable, "-c", "from engramdb.cli.main import run; run()"]
MORE_THAN_A_PIPE_HOLDS = 300_000


def start(*arguments: str, begun: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start the command with all its streams in our hands, by another command where one is `begun` with."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*begun, *ENGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*ENGRAM, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
        timeout=60,
    )


def test_the_version_is_told() -> None:
    """`engram --version` prints one line."""
    done = run("--version")

    assert re.fullmatch(r"engramdb \d+\.\d+\.\d+\S*\n", done.stdout)


def test_both_commands_introduce_themselves() -> None:
    """`engramdb` and its short form `engram` are installed, and each calls itself by its own name."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    shown = {}
    for name in project["scripts"]:
        script = f"import sys; from engramdb.cli.main import run; sys.argv = [{name!r}, '--help']; run()"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        shown[name] = done.stdout

    assert project["name"] == "engramdb"
    assert set(project["scripts"].values()) == {"engramdb.cli.main:run"}
    assert sorted(shown) == ["engram", "engramdb"]
    assert all(f"Usage: {name} " in text for name, text in shown.items())
    assert all("Engram" in text and "memory" in text for text in shown.values())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_both_commands(shell: str) -> None:
    """One script serves whichever name a person types."""
    script = run("completion", shell).stdout

    assert "_ENGRAM_COMPLETE" in script
    assert "_ENGRAMDB_COMPLETE" in script


def test_a_shell_is_told_the_commands_and_options_that_fit() -> None:
    """Without making more commands than the one that was begun."""
    asked = {"_ENGRAM_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "engram rec"}
    begun = {"_ENGRAM_COMPLETE": "bash_complete", "COMP_CWORD": "2", "COMP_WORDS": "engram recall --as"}
    script = "import sys; from engramdb.cli.main import run; sys.argv = ['engram']; run()"

    told = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ | one
        ).stdout.split()
        for one in (asked, begun)
    ]

    assert told == [["plain,recall"], ["plain,--as-of"]]


def test_results_and_talk_are_kept_apart() -> None:
    """A pipe receives the result only, without colour."""
    run("remember", "Helix is my editor")

    done = run("status")

    assert "memories" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "models add" in done.stderr


def test_an_ascii_terminal_still_gets_every_memory() -> None:
    """JSON is UTF-8 in any locale, and lines for people never fail to print."""
    run("remember", "Grüße aus 東京", PYTHONUTF8="1")

    shown = run("list", PYTHONIOENCODING="ascii")
    document = run("list", "--json", PYTHONIOENCODING="ascii")

    assert shown.returncode == 0
    assert "Gr" in shown.stdout
    assert "Grüße aus 東京" in document.stdout


def test_an_error_is_a_line_and_a_code() -> None:
    """No traceback reaches the user."""
    done = run("list", "--store", "/nowhere/at/all.db")

    assert done.returncode == 3
    assert done.stderr.startswith("engram: E1007 ")
    assert "Traceback" not in done.stderr


def test_ctrl_c_is_quiet() -> None:
    """A command that is interrupted ends with 130 and no traceback."""
    with start("observe", "-") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # The write returns once the command reads, which it does after all its imports; then it waits for
        # more. A signal in the instant between two reads would be noticed only after the second.
        process.stdin.write(b"x" * MORE_THAN_A_PIPE_HOLDS)
        process.stdin.flush()
        time.sleep(1)

        process.send_signal(signal.SIGINT)

        assert process.wait(30) == 130
        assert process.stderr.read() == b""


def test_a_reader_that_has_gone_is_no_error() -> None:
    """`engram list | head -1` ends without a word."""
    with Engram.open(background=False) as engram:
        for number in range(30):
            engram.remember(f"{number} " + "long " * 1500)

    with start("list", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()

        assert process.wait(30) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_background", [False, True], ids=["foreground", "background job"])
def test_serve_tells_its_address_and_ends_in_order(how: signal.Signals, *, is_background: bool) -> None:
    """The address is told when requests are answered; a signal ends the server with 0, the store closed."""
    begun = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh") if is_background else ()
    with start("serve", "--port", "0", begun=begun) as process:
        assert process.stderr is not None
        ready = process.stderr.readline().decode()
        url = ready.split()[-1]
        assert "http.token" in process.stderr.readline().decode()

        health = httpx.get(f"{url}health", trust_env=False).json()
        process.send_signal(how)

        assert health["status"] == "ok"
        assert process.wait(30) == 0
        assert process.stderr.read().decode() == "Engram has stopped\n"


def test_without_a_token_one_line_says_where_the_page_is() -> None:
    """It is the last one before the end, also where there is no terminal."""
    with start("serve", "--no-token", "--port", "0") as process:
        assert process.stderr is not None
        ready = process.stderr.readline().decode()
        (url,) = (word for word in ready.split() if word.startswith("http://"))
        page = httpx.get(url, trust_env=False)
        process.terminate()

        assert process.stderr.read().decode() == "Engram has stopped\n"
    assert page.status_code == 200
    assert "Load the sample life" in page.text


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    """The second server does not start, and says what to do."""
    with start("serve", "--port", "0") as first:
        assert first.stderr is not None
        port = first.stderr.readline().decode().rstrip("/\n").rpartition(":")[2]

        second = run("serve", "--port", port)
        first.terminate()

    assert second.returncode == 2
    assert second.stderr.startswith("engram: E5003 cannot listen on")
    assert "--port" in second.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104
def test_serve_stays_on_this_machine(host: str) -> None:
    """An address that others can reach must be allowed by name."""
    done = run("serve", "--host", host, "--port", "0")

    assert done.returncode == 2
    assert "--allow-remote" in done.stderr


def test_serve_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    """The library works without the server's packages; the command names the extra."""
    hidden = "import sys, importlib.util as u; f = u.find_spec;"
    hidden += "u.find_spec = lambda name, *a: None if name == 'starlette' else f(name, *a);"
    script = f"{hidden} from engramdb.cli.main import run; run()"

    done = subprocess.run(
        [sys.executable, "-c", script, "serve"], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 8
    assert "engramdb[server]" in done.stderr


def modules_after(script: str) -> set[str]:
    """Return what a fresh process has loaded after a script."""
    told = f"import sys\n{script}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def packages_in(loaded: set[str]) -> set[str]:
    """Return the packages of which at least one module is loaded; an empty `__init__` weighs nothing."""
    return {one.split(".")[1] for one in loaded if one.startswith("engramdb.") and one.count(".") > 1}


SERVERS = {"rich", "starlette", "pydantic", "onnxruntime", "matplotlib", "mcp"}
"""What only some commands use, and what takes longer to load than all of ours."""


def test_help_loads_nothing_heavy() -> None:
    """The list of commands is written from the declarations of verbs, without engine and renderers."""
    script = "from engramdb.cli.main import app; app(['--help'], standalone_mode=False)"

    loaded = modules_after(script)

    assert loaded & (SERVERS | {"numpy", "apsw"}) == set()
    assert loaded & {"engramdb.engine.engram", "engramdb.cli.questions", "engramdb.settings"} == set()


def test_a_recall_loads_no_more_than_it_needs() -> None:
    """A question waits for the store and the embedder, and not for what only other commands use."""
    run("remember", "Helix is my editor")
    asking = ("recall", "which editor?", "--limit", "3", "--layer", "episodic", "--since", "2026-01-01")
    script = f"from engramdb.cli.main import app; app({list(asking)!r}, standalone_mode=False)"

    loaded = modules_after(script)

    assert loaded & (SERVERS | {"numpy.ma"}) == set()
    assert (
        packages_in(loaded) & {"context", "dream", "importing", "exporting", "notebook", "documents"} == set()
    )
    assert loaded & {"engramdb.lifecycle.admission", "engramdb.capture.pipeline", "rapidfuzz"} == set()


LOOKING = (["list"], ["get", "{id}"], ["history", "{id}"], ["links", "{id}"], ["status"])
CHANGING = (["pin", "{id}"], ["unpin", "{id}"], ["promote", "{id}"], ["forget", "{id}"])


@pytest.mark.parametrize("verbs", [LOOKING, CHANGING], ids=["looking", "changing"])
def test_a_simple_verb_loads_no_arrays_and_no_package_of_other_verbs(verbs: Sequence[list[str]]) -> None:
    """To look at a memory, or to change what is known of it, takes the store, no index, no model."""
    with Engram.open(background=False) as engram:
        known = engram.remember("Helix is my editor").id
    given = [[word.format(id=known) for word in verb] for verb in verbs]
    script = f"""
from engramdb.cli.main import app
for given in {given!r}:
    app(given, standalone_mode=False)
"""

    loaded = modules_after(script)

    assert "engramdb.engine.engram" in loaded
    assert loaded & (SERVERS | {"numpy", "rapidfuzz"}) == set()
    assert (
        packages_in(loaded)
        & {"context", "dream", "documents", "exporting", "importing", "index", "notebook", "recall"}
        == set()
    )
    assert loaded & {"engramdb.lifecycle.admission", "engramdb.capture.pipeline"} == set()


def test_help_takes_little_of_a_processor() -> None:
    """About a tenth of a second of its time, however long it waits for its turn; the bound is generous."""
    before = os.times()
    done = run("--help")
    after = os.times()

    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert "Put in:" in done.stdout
    assert spent < 0.8


def test_looking_at_memories_takes_little_of_a_processor() -> None:
    """About a third of a second of its time on a quiet machine; the bound is for a crowded one."""
    run("remember", "Helix is my editor")
    before = os.times()
    done = run("list")
    after = os.times()

    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert "Helix" in done.stdout
    assert spent < 2.0
