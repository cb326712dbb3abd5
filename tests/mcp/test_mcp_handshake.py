"""A client is greeted before the SDK is loaded, and cannot tell the difference."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from surfaces.handshakes import INITIALIZED, RECALL, SHOW_TOOLS, greeted, hello, lines, served

from engramdb import Engram
from engramdb.mcp.handshake import VERSIONS, Greeted

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_the_early_answers_are_those_of_the_sdk(version: str, memory: Engram) -> None:
    """Greeting and tools are the same to the letter, in every version of the protocol that has a greeting."""
    said = lines(hello(version), INITIALIZED, SHOW_TOOLS)

    _, early = greeted(said)
    late = served(said, memory)

    assert early == late
    assert early[0]["result"]["protocolVersion"] == version


def test_the_sdk_goes_on_where_the_greeting_ended(memory: Engram) -> None:
    """It hears what it must know, says nothing twice, and answers what came in between."""
    left, early = greeted(lines(hello(), INITIALIZED, SHOW_TOOLS, RECALL))

    late = served(lines({**RECALL, "id": 3}), memory, left)

    assert [one["id"] for one in early] == [0, 1]
    assert sorted(one["id"] for one in late) == [2, 3]
    assert all("Tea is served at four" in json.dumps(one) for one in late)


def test_a_number_that_a_client_uses_again_is_answered_again(memory: Engram) -> None:
    """Only the one answer that it has already is kept back."""
    left, _ = greeted(lines(hello(), INITIALIZED, SHOW_TOOLS))

    late = served(lines({**RECALL, "id": 0}), memory, left)

    assert [one["id"] for one in late] == [0]


@pytest.mark.parametrize(
    "said",
    [
        lines(hello("2031-01-01"), INITIALIZED, SHOW_TOOLS),
        lines(hello(clientInfo={"name": 7})),
        lines(hello(capabilities=None)),
        lines(hello(number=True)),
        lines(SHOW_TOOLS, hello()),
        b"[" + lines(hello()).strip() + b"]\n",
        b"rubbish\n\n",
        b"[" * 60_000,
        b'{"jsonrpc": "2.0", "id": 0, "method": "initi',
        b"",
    ],
    ids=["newer", "unnamed", "odd", "true", "no-greeting", "several", "rubbish", "deep", "cut", "silent"],
)
def test_what_is_not_the_usual_greeting_is_left_to_the_sdk(said: bytes) -> None:
    """Word for word: nothing of it is answered, and nothing is lost."""
    left, early = greeted(said)

    assert early == []
    assert left == Greeted(said)


def test_other_questions_wait_for_the_sdk(memory: Engram) -> None:
    """A page of tools, or what else a client asks between, is no business of the greeting."""
    page = {**SHOW_TOOLS, "params": {"cursor": "2"}}
    prompts = {"jsonrpc": "2.0", "id": "p", "method": "prompts/list"}

    left, early = greeted(lines(hello(), INITIALIZED, page, prompts))

    assert [one["id"] for one in early] == [0]
    assert left == Greeted(lines(hello(), INITIALIZED, page, prompts), frozenset({0}))


def test_the_greeting_needs_no_sdk() -> None:
    """That is what it is for."""
    code = "import sys, engramdb.mcp.handshake, engramdb.mcp.tools; print('mcp' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert done.stdout.strip() == b"False"
