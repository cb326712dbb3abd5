"""What the MCP server answers when things go wrong, and its resources and prompts."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from mcp import MCPError
from surfaces.mcp_talk import talking, text_of, values_of

from engramdb import Actor, Engram, Settings
from engramdb.errors import (
    AccessDenied,
    ContentTooLarge,
    DiskFull,
    EngramError,
    InvalidQuery,
    InvalidSettings,
    MemoryNotFound,
    StoreBusy,
    StoreClosed,
    StoreLocked,
    StoreNotFound,
    UnknownModel,
)
from engramdb.mcp.render import FIX, NEXT_STEPS, TELL, WAIT, as_answer, next_step, told
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import NamesOnly, Opening
from engramdb.mcp.tools import CORE
from engramdb.verbs.errors import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from surfaces.mcp_talk import Talk

    from engramdb.testing import TinyEmbedder


class Broken:
    """An engine with a mistake in it."""

    actor = Actor()

    def recall(self, *_asked: object, **_options: object) -> NoReturn:
        raise RuntimeError("Ada's secret")

    list = status = recall


@pytest.fixture
def engine(tmp_path: Path, embedder: TinyEmbedder) -> Iterator[Engram]:
    """An engine on a fresh store."""
    with Engram.open(
        settings=Settings(home=tmp_path / "served"), embedder=embedder, background=False
    ) as opened:
        yield opened


@pytest.fixture
def talk(engine: Engram) -> Iterator[Talk]:
    """A client of the core tools, that shakes hands as clients always did."""
    server = MemoryServer(Opening(lambda: engine), tools=CORE)
    with talking(server.sdk, mode="legacy") as opened:
        yield opened


def test_every_error_has_a_next_step() -> None:
    """Whatever goes wrong, the model learns whose turn it is."""
    assert {answer.exit_code for answer in ANSWERS.values()} <= set(NEXT_STEPS)


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (InvalidQuery("x"), FIX),
        (MemoryNotFound("x"), FIX),
        (ContentTooLarge("x"), FIX),
        (StoreBusy("x"), WAIT),
        (DiskFull("x"), WAIT),
        (StoreNotFound("x"), TELL),
        (UnknownModel("x"), TELL),
        (InvalidSettings("x"), TELL),
        (AccessDenied("x"), TELL),
    ],
)
def test_the_next_step_is_one_that_can_help(error: EngramError, step: str) -> None:
    """The model mends its own call, waits where waiting helps, and leaves the rest to a person."""
    assert next_step(error) == step


def test_an_error_is_told_in_words_and_in_values() -> None:
    """Code, what happened, the hint and the next step stand in both."""
    error = StoreBusy("another process holds the file")

    answer = as_answer(error)

    assert answer.values["error"]["code"] == "E1005"
    assert answer.text == f"Failed: E1005 another process holds the file. {error.hint} {WAIT}"
    assert told(InvalidQuery("no such filter")).startswith("E2004 no such filter.")


def test_a_mistake_of_ours_leaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """
    The answer says that it is not the model's fault; the log says where, and nobody quotes the memory.
    """
    broken: Any = Broken()
    server = MemoryServer(Opening(lambda: broken), tools=CORE)

    with talking(server.sdk, mode="legacy") as talk:
        answer = talk.call("recall", query="secret")
        with pytest.raises(MCPError) as resource:
            talk.ask("read_resource", "engram://today")
        with pytest.raises(MCPError) as prompt:
            talk.ask("get_prompt", "what_do_you_know", {"topic": "Ada"})

    assert values_of(answer)["error"]["code"] == "E0000"
    assert "RuntimeError at" in caplog.text
    told_anywhere = text_of(answer) + str(resource.value) + str(prompt.value) + caplog.text
    assert "Ada's secret" not in told_anywhere
    assert "Traceback" not in told_anywhere


def test_logs_of_libraries_hold_no_words() -> None:
    """
    Of a foreign record only the place and the kind of its exception are written; ours are as they are.
    """
    formatter = NamesOnly()
    try:
        raise ValueError("Ada's secret")
    except ValueError as exc:
        caught = (type(exc), exc, exc.__traceback__)

    foreign = logging.LogRecord("mcp.server", logging.ERROR, "x.py", 7, "got %r", ("Ada's secret",), caught)
    ours = logging.LogRecord("engramdb.mcp", logging.ERROR, "x.py", 7, "failed in %s", ("recall",), None)

    assert formatter.format(foreign) == "error: mcp.server, line 7: ValueError"
    assert formatter.format(ours) == "error: engramdb.mcp: failed in recall"


def test_a_store_that_cannot_be_opened_is_the_answer_until_it_can(engine: Engram) -> None:
    """The handshake succeeds all the same, the reason is told, and the next call tries again."""
    is_unlocked = threading.Event()

    def opened() -> Engram:
        if not is_unlocked.is_set():
            raise StoreLocked("the store is encrypted")
        return engine

    server = MemoryServer(Opening(opened), tools=CORE)
    with talking(server.sdk) as talk:
        locked = talk.refused("list")
        is_unlocked.set()
        later = talk.call("list")

    assert (locked["code"], later.is_error) == ("E1001", False)
    assert "ENGRAM_KEY" in locked["hint"]


def test_models_are_loaded_after_the_handshake(engine: Engram) -> None:
    """A slow store holds up the first call and not the greeting or the list of tools."""
    may_open, has_begun = threading.Event(), threading.Event()

    def opened() -> Engram:
        has_begun.set()
        assert may_open.wait(30)
        return engine

    server = MemoryServer(Opening(opened), tools=CORE)
    with talking(server.sdk, mode="legacy") as talk:
        tools = talk.ask("list_tools").tools
        waiting = talk.start("list")
        began = has_begun.wait(30)
        is_early = waiting.done()
        may_open.set()

        assert (len(tools), began, is_early) == (len(CORE), True, False)
        assert waiting.result(30).is_error is False


def test_an_engine_is_not_opened_again_after_the_end(engine: Engram) -> None:
    """A late call is told that the server is ending."""
    opening = Opening(lambda: engine)
    opening.close()

    with pytest.raises(StoreClosed):
        opening.engram()


def test_a_call_that_is_taken_back_does_not_hold_up_others(engine: Engram) -> None:
    """The client stops waiting, the next call is answered, and the work behind it ends by itself."""
    may_go_on, is_inside = threading.Event(), threading.Event()

    class Slow:
        actor = Actor()

        def recall(self, *asked: Any, **options: Any) -> Any:
            is_inside.set()
            may_go_on.wait(30)
            return engine.recall(*asked, **options)

        list = engine.list

    slow: Any = Slow()
    server = MemoryServer(Opening(lambda: slow), tools=CORE)
    with talking(server.sdk, mode="legacy") as talk:
        taken_back = talk.start("recall", query="anything")
        assert is_inside.wait(30)
        taken_back.cancel()

        answer = talk.call("list")
        may_go_on.set()

    assert answer.is_error is False


def test_resources_show_the_profile_today_and_the_state(talk: Talk) -> None:
    """Standing wishes by weight, what came in today, and how the memory fares."""
    talk.values("remember", content="Ada prefers tea", category="preference", importance=0.2)
    talk.values("remember", content="Answer Ada in French", category="instruction", importance=0.9)
    talk.values("remember", content="The fair was loud", occurred_at="2020-01-01")

    def read(name: str) -> str:
        text: str = talk.ask("read_resource", f"engram://{name}").contents[0].text
        return text

    listed = {one.uri for one in talk.ask("list_resources").resources}
    profile = read("profile")

    assert {"engram://profile", "engram://today", "engram://status"} <= listed
    assert 0 < profile.index("Answer Ada in French") < profile.index("Ada prefers tea")
    assert "fair" not in profile + read("today")
    assert "3 memories" in read("status")


def test_resources_of_an_empty_store_say_so(talk: Talk) -> None:
    """Empty is told in words, not as an empty page."""
    for name in ("profile", "today"):
        assert "Nothing" in talk.ask("read_resource", f"engram://{name}").contents[0].text


def test_prompts_bring_what_they_need(talk: Talk) -> None:
    """The one about a topic holds its memories as data; the others tell the model which tools to use."""
    talk.values("remember", content="Priya leads Project Harvest")

    def said(name: str, **given: str) -> str:
        text: str = talk.ask("get_prompt", name, given).messages[0].content.text
        return text

    names = [prompt.name for prompt in talk.ask("list_prompts").prompts]

    assert names == ["remember_conversation", "what_do_you_know", "review_memories"]
    assert "Priya leads Project Harvest" in said("what_do_you_know", topic="Harvest")
    assert "`remember`" in said("remember_conversation")
    assert "`forget`" in said("review_memories")
    with pytest.raises(MCPError, match="E2004"):
        said("what_do_you_know", topic=" ")
