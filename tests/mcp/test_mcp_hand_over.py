"""Nothing is lost or answered twice between the greeting and the SDK, whatever a client says and when."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import types
from surfaces.handshakes import INITIALIZED, RECALL, SHOW_TOOLS, greeted, hello, lines, served
from surfaces.mcp_talk import COMMAND, environment

from engramdb.mcp.frames import MOST_AT_ONCE, messages
from engramdb.mcp.handshake import Greeted, greet
from engramdb.mcp.tools import CORE

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram

PING = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
BIT: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 7, "x", [], {}, {"listChanged": True}, {"form": {"deep": 1}}, {"a": {}}]
)
CAPABILITIES = st.dictionaries(
    st.sampled_from(["roots", "sampling", "elicitation", "experimental", "extensions", "tasks", "novel"]), BIT
)
ABOUT = st.dictionaries(st.sampled_from(["name", "version", "title", "websiteUrl", "icons", "novel"]), BIT)


@given(about=ABOUT, capabilities=st.one_of(BIT, CAPABILITIES), meta=st.sampled_from([{}, {"_meta": 7}]))
@settings(max_examples=150, deadline=None)
def test_only_a_greeting_that_the_sdk_takes_is_answered_early(
    about: dict[str, Any], capabilities: object, meta: dict[str, Any]
) -> None:
    """What the SDK would refuse is left to it, so that a client never has both an answer and a refusal."""
    named = {"name": "c", "version": "1", **about}
    first = hello(clientInfo=named, capabilities=capabilities, **meta)

    _, early = greeted(lines(first))

    if early:
        types.InitializeRequestParams.model_validate(first["params"], by_name=False)


@pytest.mark.parametrize(
    "capabilities",
    [
        {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {"schemaValidation": True}}},
        {"roots": {}},
        {"experimental": {"theirs": {"anything": [1]}}},
    ],
)
def test_what_programs_can_do_does_not_slow_their_greeting(capabilities: dict[str, Any]) -> None:
    """As Claude Code, opencode and Codex tell it."""
    about = {"name": "codex-mcp-client", "title": "Codex", "version": "0.166.0"}

    _, early = greeted(lines(hello(clientInfo=about, capabilities=capabilities)))

    assert [one["id"] for one in early] == [0]


@pytest.mark.parametrize(
    "first",
    [
        lines({name: value for name, value in hello().items() if name != "jsonrpc"}),
        lines({**hello(), "result": {}}),
        b"\xef\xbb\xbf" + lines(hello()),
        lines(hello()).replace(b'"c"', b'"\xed\xa0\x80"'),
    ],
    ids=["no-protocol", "answer-too", "byte-order-mark", "half-a-character"],
)
def test_a_first_line_that_is_not_quite_in_order_is_the_sdks(first: bytes) -> None:
    """It hears the very same bytes, and gives the one answer there is."""
    left, early = greeted(first)

    assert (early, left) == ([], Greeted(first))


def test_half_a_character_in_an_id_is_the_same_before_and_after(memory: Engram) -> None:
    """Both answer to the id as it is heard, or the greeting would be answered under two names."""
    left, early = greeted(lines(hello(number="\ud83d"), INITIALIZED, SHOW_TOOLS))

    late = served(lines(PING), memory, left)

    assert [one["id"] for one in [*early, *late]] == ["\ufffd", 1, "p"]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.45, 0.5, 0.6, 0.8, 0.97, 1.0])
def test_wherever_the_first_words_are_cut_each_question_has_one_answer(share: float, memory: Engram) -> None:
    """The greeting hears a part of them, down to the middle of a word, and the SDK the rest."""
    said = lines(hello(), INITIALIZED, RECALL, SHOW_TOOLS, PING)
    cut = int(len(said) * share)

    left, early = greeted(said[:cut])
    late = served(said[cut:], memory, left)

    answers = {one["id"]: one for one in [*early, *late]}
    assert len(answers) == len(early) + len(late)
    assert set(answers) == {0, 1, 2, "p"}
    assert all("result" in one for one in answers.values())


def test_questions_in_one_list_are_answered_one_by_one(memory: Engram) -> None:
    """One version of the protocol lets a client send several at once; none of them is left waiting."""
    several = b"[" + b",".join(lines(one).strip() for one in (RECALL, PING, {"id": 9})) + b"]\n"

    answers = {one["id"]: one for one in served(lines(hello("2025-03-26")) + several, memory)}

    assert set(answers) == {0, 2, "p", 9}
    assert "result" in answers[2]
    assert "error" in answers[9]


@pytest.mark.parametrize(
    "line",
    [b"[]", b"[1]", b"[{}, 1]", b"[[{}]]", b"[" * 90_000, b"[{}" + b",{}" * MOST_AT_ONCE + b"]", b"[{}"],
)
def test_a_list_that_is_no_list_of_messages_is_refused_as_one(line: bytes) -> None:
    """One line is never a flood of refusals."""
    assert messages(line) == [line]


@pytest.mark.parametrize("number", [None, 1.5, True, [1], {"a": 1}])
def test_an_id_that_no_answer_can_carry_is_refused(number: object, memory: Engram) -> None:
    """The SDK would take the request for a notification, and its client would wait for good."""
    answers = served(lines(hello(), {**PING, "id": number}, PING), memory)

    told = {one["id"]: one for one in answers}
    assert set(told) == {0, None, "p"}
    assert told[None]["error"]["message"] == "the id of a request is a whole number or a text"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody is greeted early")
def test_a_pipe_that_does_not_wait_is_made_to() -> None:
    """Its client has not left because it says nothing at the moment."""
    source, writing = os.pipe()
    reading, target = os.pipe()
    for wire in (source, target):
        os.set_blocking(wire, False)
    os.write(writing, lines(hello(), SHOW_TOOLS))
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb"):
        greet(source, target, tools=CORE)

        assert os.get_blocking(source)
        assert os.get_blocking(target)
        os.close(source)
        os.close(target)


@pytest.mark.parametrize("streams", ["<&-", ">&-"])
def test_without_both_streams_there_is_no_client_and_the_command_says_so(
    streams: str, tmp_path: Path
) -> None:
    """A file opened later would take the place of the closed stream: a store, for one."""
    shell = f'"$0" {" ".join(COMMAND)} {streams}'

    done = subprocess.run(
        ["sh", "-c", shell, sys.executable],
        env=environment(tmp_path),
        input=b"",
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"standard input or output is closed" in done.stderr
    assert b"hint:" in done.stderr
