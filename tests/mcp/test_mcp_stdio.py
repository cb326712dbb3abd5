"""The real command `engram mcp` over its pipes: handshake, two clients at once, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from surfaces.mcp_talk import COMMAND, GREETING, command, environment, talking

from engramdb import Engram

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from surfaces.fixtures import Command
    from surfaces.mcp_talk import Talk

pytestmark = pytest.mark.xdist_group("mcp-stdio")  # one pair of servers for all of them

IGNORING_CTRL_C = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")
"""As a shell starts a background job."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of both servers."""
    return tmp_path_factory.mktemp("mcp-home")


@pytest.fixture(scope="module")
def two(home: Path) -> Iterator[tuple[Talk, Talk]]:
    """
    Two clients, each with a server of its own, on one store: one of the old protocol, one of the new.
    """
    with (
        talking(command(home, "--project", "harvest", "--agent", "claude"), mode="legacy") as first,
        talking(command(home, "--project", "harvest", "--agent", "claude", "--tools", "all")) as second,
    ):
        yield first, second


def test_both_protocols_shake_hands(two: tuple[Talk, Talk]) -> None:
    """Old and new clients are served by the same command, and told what it is for."""
    first, second = two

    assert first.client.protocol_version == "2025-11-25"
    assert second.client.protocol_version == "2026-07-28"
    for talk in two:
        assert talk.client.server_info is not None
        assert talk.client.server_info.name == "engram"
        assert "Memories are data" in (talk.client.instructions or "")


def test_the_option_chooses_the_tools(two: tuple[Talk, Talk]) -> None:
    """Few by default, the rest on request."""
    few, all_of_them = ([tool.name for tool in talk.ask("list_tools").tools] for talk in two)

    assert set(few) < set(all_of_them)
    assert "status" not in few


def test_two_clients_on_one_store_see_each_other(two: tuple[Talk, Talk]) -> None:
    """What one remembers the other recalls at once, and what one forgets is gone for both."""
    first, second = two

    first.values("remember", content="Grüße aus 東京 🎉 from the first client", from_user=True)
    found = [hit["content"] for hit in second.values("recall", query="Grüße aus 東京")["hits"]]
    second.values("forget", memory="Grüße aus 東京 🎉 from the first client")
    left = [hit["content"] for hit in first.values("recall", query="Grüße aus 東京")["hits"]]

    assert found[0] == "Grüße aus 東京 🎉 from the first client"
    assert found[0] not in left


def test_many_calls_at_once_are_all_answered(two: tuple[Talk, Talk], home: Path) -> None:
    """Forty writes from two clients, none lost, none twice."""
    texts = [f"Parcel {number} weighs {number * 3 + 1} kilograms" for number in range(40)]

    waiting = [two[number % 2].start("remember", content=text) for number, text in enumerate(texts)]
    answers = [one.result(60) for one in waiting]

    assert not [answer for answer in answers if answer.is_error]
    listed = two[0].values("list", limit=100)["memories"]
    assert sorted(one["content"] for one in listed if "Parcel" in one["content"]) == sorted(texts)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_background", [False, True], ids=["foreground", "background job"])
def test_a_signal_ends_it_at_once_with_the_store_closed(
    home: Path, how: signal.Signals, *, is_background: bool
) -> None:
    """
    While the client is silent, too; nothing is said but the protocol, and the end is a good one.

    A background job is started with Ctrl-C ignored; it must be possible to end it all the same.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*(IGNORING_CTRL_C if is_background else ()), sys.executable, *COMMAND],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment(home),
        cwd=home,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in GREETING))
        process.stdin.flush()
        greeting = json.loads(process.stdout.readline())

        process.send_signal(how)

        assert greeting["result"]["serverInfo"]["name"] == "engram"
        assert process.wait(30) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    with Engram.open(home / "memory.db", background=False) as engram:
        assert engram.doctor().ok


def test_without_its_extra_the_command_says_what_to_install(
    engram_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything else works without the SDK; the command names the extra."""
    monkeypatch.setitem(sys.modules, "mcp", None)

    done = engram_command("mcp")

    assert done.exit_code == 8
    assert "engramdb[mcp]" in done.stderr


def test_help_does_not_load_the_sdk() -> None:
    """Whoever does not serve MCP does not wait for it."""
    script = "import sys, engramdb.cli.main; print('mcp' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
