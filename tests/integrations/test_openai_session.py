"""
Sessions of the OpenAI Agents SDK: one set of expectations, held by its own SQLite session and by ours.

A scripted model of the SDK's own kind stands in for a real one; nothing reaches a network.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any, cast

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Session,
    SQLiteSession,
    Usage,
    function_tool,
)
from agents.memory import SessionSettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from engramdb import Engram, Scope
from engramdb.errors import InvalidContent
from engramdb.integrations.openai_agents import EngramSession
from engramdb.values import Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from agents.items import TResponseInputItem

    from engramdb.testing import TinyEmbedder

pytestmark = pytest.mark.xdist_group("openai-agents")

OFFLINE = RunConfig(tracing_disabled=True)
ITEMS: list[Any] = [
    {"role": "user", "content": "I prefer tea over coffee."},
    {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "thinking of tea"}]},
    {"type": "function_call", "call_id": "c1", "name": "boil", "arguments": '{"cups": 2}', "id": "f1"},
    {"type": "function_call_output", "call_id": "c1", "output": "boiled"},
    {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Here is your tea.", "annotations": [], "logprobs": []}],
    },
]


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns."""
    return asyncio.run(work)


@pytest.fixture(params=["theirs", "ours"])
def make(request: pytest.FixtureRequest, engram: Engram, tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """A function that opens a session by its id: of the SDK's own kind, and of ours."""
    opened: list[SQLiteSession] = []

    def theirs(session_id: str, **options: Any) -> Session:
        opened.append(SQLiteSession(session_id, tmp_path / "theirs.db", **options))
        return opened[-1]

    def ours(session_id: str, **options: Any) -> Session:
        return EngramSession(session_id, engram, **options)

    yield ours if request.param == "ours" else theirs
    for one in opened:
        one.close()


class Scripted(Model):
    """A model that says what it is told to, and notes what it was asked."""

    def __init__(self, *script: ResponseOutputMessage | ResponseFunctionToolCall) -> None:
        self._waiting = list(script)
        self.asked: list[list[Any]] = []

    async def get_response(self, *arguments: Any, **options: Any) -> ModelResponse:
        """Return the next reply."""
        given = options.get("input", arguments[1] if len(arguments) > 1 else None)
        self.asked.append([given] if isinstance(given, str) else list(cast("list[Any]", given)))
        return ModelResponse(output=[self._waiting.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        """Refuse: nothing here streams."""
        raise NotImplementedError


def message(text: str) -> ResponseOutputMessage:
    """Return what a model says."""
    part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


# --- what both hold --------------------------------------------------------------------------------------


def test_items_come_back_as_they_went_in(make: Callable[..., Session]) -> None:
    """Every kind of item, in the order of adding, however many calls added them."""
    session = make("s1")

    wait(session.add_items(ITEMS[:2]))
    wait(session.add_items(ITEMS[2:]))
    wait(session.add_items([]))

    assert wait(session.get_items()) == ITEMS
    assert isinstance(session, Session)


def test_a_limit_gives_the_latest_items_in_order(make: Callable[..., Session]) -> None:
    """More than there are is all; none is none; a limit below 0 is no limit."""
    session = make("s1")
    wait(session.add_items(ITEMS))

    assert wait(session.get_items(2)) == ITEMS[-2:]
    assert wait(session.get_items(99)) == ITEMS
    assert wait(session.get_items(0)) == []
    assert wait(session.get_items(-1)) == ITEMS


def test_the_sessions_settings_give_the_usual_limit(make: Callable[..., Session]) -> None:
    """A limit of the call wins over the one that is set."""
    session = make("s1", session_settings=SessionSettings(limit=1))
    wait(session.add_items(ITEMS))

    assert wait(session.get_items()) == ITEMS[-1:]
    assert wait(session.get_items(3)) == ITEMS[-3:]


def test_popping_takes_the_last_item(make: Callable[..., Session]) -> None:
    """Until nothing is left; the next one is added at the end again."""
    session = make("s1")
    wait(session.add_items(ITEMS[:2]))

    assert wait(session.pop_item()) == ITEMS[1]
    wait(session.add_items(ITEMS[3:4]))
    assert wait(session.get_items()) == [ITEMS[0], ITEMS[3]]
    assert [wait(session.pop_item()) for _ in range(3)] == [ITEMS[3], ITEMS[0], None]


def test_clearing_empties_one_session_only(make: Callable[..., Session]) -> None:
    """Sessions know nothing of each other."""
    one, other = make("one"), make("other")
    wait(one.add_items(ITEMS[:1]))
    wait(other.add_items(ITEMS[1:2]))

    wait(one.clear_session())

    assert wait(one.get_items()) == []
    assert wait(other.get_items()) == ITEMS[1:2]


def test_a_runner_goes_on_where_the_session_stopped(make: Callable[..., Session]) -> None:
    """With a tool in between; the second run sees the first one's items before its own."""

    @function_tool
    def boil(cups: int) -> str:
        """Boil water."""
        return f"{cups} cups"

    call = ResponseFunctionToolCall(
        id="f1", call_id="c1", type="function_call", name="boil", arguments='{"cups": 2}'
    )
    model = Scripted(call, message("It boils."), message("Two cups."))
    agent = Agent(name="cook", model=model, tools=[boil])
    session = make("s1")

    first = Runner.run(agent, "Boil water for two.", session=session, run_config=OFFLINE)
    assert wait(first).final_output == "It boils."
    second = Runner.run(agent, "How much was it?", session=session, run_config=OFFLINE)
    assert wait(second).final_output == "Two cups."

    kinds = [item.get("type") or item["role"] for item in wait(session.get_items())]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user", "message"]
    assert [item.get("content") for item in model.asked[-1] if item.get("role") == "user"] == [
        "Boil water for two.",
        "How much was it?",
    ]


# --- what ours holds beyond ------------------------------------------------------------------------------


def test_what_was_said_is_learnt_and_recalled_in_another_session(engram: Engram) -> None:
    """Messages are heard as turns; calls, their results and reasoning are not."""
    wait(EngramSession("s1", engram).add_items(ITEMS))

    said = [(turn.role, turn.content) for turn in engram.turns(session="s1")]
    engram.flush()

    assert said == [("user", "I prefer tea over coffee."), ("assistant", "Here is your tea.")]
    assert "tea" in engram.recall("what do I prefer?").hits[0].memory.content


def test_taking_a_message_back_unlearns_it(engram: Engram) -> None:
    """A user who corrects the last message does not want the wrong one remembered."""
    session = EngramSession("s1", engram)
    wait(session.add_items(ITEMS[:1]))
    engram.flush()
    (learnt,) = engram.list()

    wait(session.pop_item())

    assert engram.get(learnt.id).status is Status.FORGOTTEN
    assert engram.turns(session="s1") == []


def test_taking_a_message_back_leaves_what_was_said_before(engram: Engram) -> None:
    """Said again by mistake and taken back, it is as known as before."""
    session = EngramSession("s1", engram)
    wait(session.add_items(ITEMS[:1]))
    engram.flush()
    (before,) = engram.list()
    wait(session.add_items(ITEMS[:1]))
    engram.flush()

    wait(session.pop_item())

    (after,) = engram.list()
    assert (after.id, after.reinforcements) == (before.id, before.reinforcements)
    assert (after.confidence, after.provenance.turns) == (before.confidence, before.provenance.turns)


def test_clearing_the_session_keeps_what_was_learnt(engram: Engram) -> None:
    """A new conversation is no new life."""
    session = EngramSession("s1", engram)
    wait(session.add_items(ITEMS[:1]))
    engram.flush()

    wait(session.clear_session())

    assert wait(session.get_items()) == []
    assert engram.recall("what do I prefer?").hits


def test_sessions_outlive_the_process_and_keep_to_their_scope(
    store_path: Path, embedder: TinyEmbedder
) -> None:
    """The same id of another user is another conversation."""
    ann, ben = Scope(user="ann"), Scope(user="ben")
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        wait(EngramSession("s1", engram, scope=ann).add_items(ITEMS))
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        assert wait(EngramSession("s1", engram, scope=ann).get_items()) == ITEMS
        assert wait(EngramSession("s1", engram, scope=ben).get_items()) == []


def test_a_cancelled_call_has_ended_its_write_when_it_returns(engram: Engram) -> None:
    """Whoever cancels a run and looks at the session sees what it will stay."""
    session = EngramSession("s1", engram)
    items = cast("list[TResponseInputItem]", ITEMS)
    is_held = threading.Event()

    def hold_the_store() -> None:
        with engram._parts.store.atomic():
            is_held.set()
            time.sleep(0.2)

    async def interrupted() -> Any:
        holder = asyncio.ensure_future(asyncio.to_thread(hold_the_store))
        await asyncio.to_thread(is_held.wait)
        task = asyncio.ensure_future(session.add_items(items))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await session.get_items()
        await holder
        return found

    assert wait(interrupted()) == ITEMS


def test_half_a_character_is_kept_though_nobody_can_hear_it(engram: Engram) -> None:
    """A reply that was cut off inside an emoji must not break the session."""
    session = EngramSession("s1", engram)
    cut = cast("TResponseInputItem", {"role": "user", "content": "I like \ud83c"})

    wait(session.add_items([cut]))

    assert wait(session.get_items()) == [cut]
    assert engram.turns(session="s1") == []


def test_an_item_that_is_no_dictionary_is_an_error(engram: Engram) -> None:
    """It says what was given instead."""
    with pytest.raises(InvalidContent, match="not a Usage"):
        wait(EngramSession("s1", engram).add_items([cast("TResponseInputItem", Usage())]))
