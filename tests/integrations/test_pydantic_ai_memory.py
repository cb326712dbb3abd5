"""pydantic-ai: tools, instructions and kept conversations, with the package's own models for tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai import Agent, AgentRunResult, BinaryContent, Tool
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from speaking import say

from engramdb import Engram, Scope
from engramdb.integrations.pydantic_ai import EngramConversation, memory_instructions, memory_tools
from engramdb.values import Source, Status

pytestmark = pytest.mark.xdist_group("pydantic-ai")

TEA = "Maya drinks green tea"


def calling(*steps: ToolCallPart | str) -> FunctionModel:
    """Return a model that takes these steps, one a request: a call of a tool, or a last word."""
    waiting = list(steps)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = waiting.pop(0)
        return ModelResponse(parts=[TextPart(step) if isinstance(step, str) else step])

    return FunctionModel(answer)


def seeing(asked: list[tuple[list[ModelMessage], str | None]]) -> FunctionModel:
    """Return a model that notes what it was given."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append((list(messages), info.instructions))
        return ModelResponse(parts=[TextPart(f"answer {len(asked)}")])

    return FunctionModel(answer)


def run(agent: Agent[None, str], prompt: str, **options: Any) -> AgentRunResult[str]:
    """Return the result of a run, in an event loop that is closed afterwards."""
    return asyncio.run(agent.run(prompt, **options))


def boil(cups: int) -> str:
    """Boil tea."""
    return f"{cups} cups"


def returned(messages: list[ModelMessage]) -> list[Any]:
    """Return what tools returned, in order."""
    parts = (part for message in messages if isinstance(message, ModelRequest) for part in message.parts)
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


def test_a_model_remembers_recalls_and_forgets(engram: Engram) -> None:
    """The three tools, with ids that fit together."""
    first = Agent(
        calling(
            ToolCallPart("remember", {"statement": TEA}),
            ToolCallPart("recall", {"question": "what does Maya drink?"}),
            "done",
        ),
        toolsets=[memory_tools(engram)],
    )
    told, found = returned(run(first, "Remember that.").all_messages())
    second = Agent(
        calling(ToolCallPart("forget", {"memory_id": found[0]["id"], "reason": "wrong"}), "done"),
        toolsets=[memory_tools(engram)],
    )
    run(second, "Forget it.")

    assert told == found[0]
    assert found[0]["memory"] == TEA
    assert engram.get(told["id"]).status is Status.FORGOTTEN
    assert engram.get(told["id"]).provenance.source is Source.ASSISTANT


def test_a_model_is_told_what_was_only_said(engram: Engram) -> None:
    """Marked, and without an id: there is no memory to correct or to forget."""
    say(engram, "The spare key is under the blue flowerpot.", speaker="Ada")
    agent = Agent(
        calling(ToolCallPart("recall", {"question": "where is the spare key?"}), "done"),
        toolsets=[memory_tools(engram)],
    )

    ((said,),) = returned(run(agent, "Where is it?").all_messages())

    assert said["said"] == "The spare key is under the blue flowerpot."
    assert (said["by"], said["note"], "id" in said) == ("Ada", "said, not kept as a memory", False)


def test_every_tool_explains_itself(engram: Engram) -> None:
    """A model chooses by names, descriptions and parameters; scope and session are none of them."""
    model = TestModel(call_tools=[])
    run(Agent(model, toolsets=[memory_tools(engram, session="s1")]), "hello")

    request = model.last_model_request_parameters
    assert request is not None
    tools = {tool.name: tool for tool in request.function_tools}
    assert set(tools) == {"remember", "recall", "correct", "forget"}
    assert all(tool.description for tool in tools.values())
    parameters = {name: tool.parameters_json_schema["properties"] for name, tool in tools.items()}
    assert set(parameters["recall"]) == {"question", "limit"}
    assert all("description" in one for told in parameters.values() for one in told.values())


def test_a_model_corrects_what_it_has_just_recalled(engram: Engram) -> None:
    """The new words stand in the place of the old, and what the user said counts as the user's."""
    known = engram.remember("The launch of Falcon is on 3 May")
    agent = Agent(
        calling(
            ToolCallPart("recall", {"question": "when is the launch?"}),
            ToolCallPart(
                "correct", {"memory_id": known.id, "statement": "The launch of Falcon is on 12 May"}
            ),
            ToolCallPart("remember", {"statement": "Maya leads the launch", "from_user": True}),
            "done",
        ),
        toolsets=[memory_tools(engram)],
    )

    run(agent, "The launch has moved to 12 May, and Maya leads it.")

    held = {one.content: one.provenance.source for one in engram.list()}
    assert held == {
        "The launch of Falcon is on 12 May": Source.HUMAN,
        "Maya leads the launch": Source.HUMAN,
    }


def test_a_mistake_of_the_model_is_told_to_the_model(engram: Engram) -> None:
    """It may try again; the run goes on."""
    agent = Agent(
        calling(ToolCallPart("forget", {"memory_id": "no such id"}), "I could not find it."),
        toolsets=[memory_tools(engram)],
    )

    assert run(agent, "Forget that.").output == "I could not find it."


def test_tools_keep_to_their_scope(engram: Engram) -> None:
    """The model of one user finds nothing of another's."""
    engram.remember(TEA, scope=Scope(user="ann"))
    agent = Agent(
        calling(ToolCallPart("recall", {"question": "what does Maya drink?"}), "done"),
        toolsets=[memory_tools(engram, scope=Scope(user="ben"))],
    )

    assert returned(run(agent, "What does she drink?").all_messages()) == [[]]


def test_instructions_hold_what_fits_the_prompt_and_leave_no_trace(engram: Engram) -> None:
    """Each run sees what is known now, as records; no message part holds it afterwards."""
    engram.remember(TEA)
    asked: list[tuple[list[ModelMessage], str | None]] = []
    agent = Agent(seeing(asked), instructions=["Be brief.", memory_instructions(engram)])

    result = run(agent, "What does Maya drink?")

    instructions = asked[0][1] or ""
    assert instructions.startswith("Be brief.")
    assert TEA in instructions
    assert "never instructions" in instructions
    assert all(TEA not in str(part) for message in result.all_messages() for part in message.parts)


def test_a_conversation_comes_back_as_it_was(engram: Engram) -> None:
    """Tool calls and pictures too; the next run goes on from it."""
    talk = EngramConversation(engram, "s1")
    agent = Agent(TestModel(call_tools=["recall"]), toolsets=[memory_tools(engram)])

    async def live() -> tuple[list[ModelMessage], list[ModelMessage], int]:
        picture = BinaryContent(data=b"\x00\xff", media_type="image/png")
        first = await agent.run(["Look at this", picture], message_history=await talk.history())
        await talk.save(first)
        second = await agent.run("And now?", message_history=await talk.history())
        await talk.save(second)
        await talk.save(second)
        return await talk.history(), second.all_messages(), len(await talk.history(limit=2))

    kept, whole, latest = asyncio.run(live())

    assert kept == whole
    assert latest == 2


def test_what_is_said_in_a_conversation_is_learnt_once(engram: Engram) -> None:
    """The user's words and the model's are turns; saving twice says nothing twice."""
    talk = EngramConversation(engram, "s1")
    agent = Agent(calling("Noted.", "Yes."))

    async def live() -> None:
        first = await agent.run("I prefer tea over coffee.")
        await talk.save(first)
        await talk.save(first.all_messages())

    asyncio.run(live())
    said = [(turn.role, turn.content) for turn in engram.turns(session="s1")]
    engram.flush()

    assert said == [("user", "I prefer tea over coffee."), ("assistant", "Noted.")]
    assert engram.recall("what do I prefer?").hits


def test_a_history_processor_saves_as_messages_pass(engram: Engram) -> None:
    """It changes nothing; the last reply is saved when the next run brings it along."""
    talk = EngramConversation(engram, "s1")
    agent = Agent(calling("One.", "Two."), capabilities=[ProcessHistory(talk.processor)])

    first = run(agent, "Hello")
    between = [turn.content for turn in engram.turns(session="s1")]
    run(agent, "Again", message_history=first.all_messages())

    assert between == ["Hello"]
    assert [turn.content for turn in engram.turns(session="s1")] == ["Hello", "One.", "Again"]


def test_clearing_a_conversation_keeps_what_was_learnt(engram: Engram) -> None:
    """A new conversation is no new life."""
    talk = EngramConversation(engram, "s1", scope=Scope(user="ann"))
    agent = Agent(calling("Noted."))

    async def live() -> list[ModelMessage]:
        await talk.save(await agent.run("I prefer tea over coffee."))
        await talk.clear()
        return await talk.history()

    left = asyncio.run(live())

    assert left == []
    assert len(engram.turns(session="s1", scope=Scope(user="ann"))) == 2


def test_the_latest_messages_begin_with_a_prompt(engram: Engram) -> None:
    """A model would refuse the result of a call that it does not see; the last exchange is whole."""
    call = ToolCallPart("boil", {"cups": 2})
    agent = Agent(calling("hello", call, "boiled"), tools=[Tool(boil)])
    conversation = EngramConversation(engram, "s1")

    async def live() -> list[int]:
        for prompt in ("hi", "tea, please"):
            history = await conversation.history()
            await conversation.save(await agent.run(prompt, message_history=history))
        return [len(await conversation.history(limit)) for limit in (0, 1, 3, 4, 5, 6, 99)]

    assert asyncio.run(live()) == [0, 4, 4, 4, 4, 6, 6]


def test_the_same_words_at_the_same_moment_are_two_messages(engram: Engram) -> None:
    """In one list nothing is said twice by mistake; saving the list again adds nothing."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    asked = ModelRequest(parts=[UserPromptPart("yes", timestamp=moment)])
    answered = ModelResponse(parts=[TextPart("ok")], timestamp=moment)
    messages: list[ModelMessage] = [asked, answered, asked, answered]
    conversation = EngramConversation(engram, "s1")

    async def live() -> list[ModelMessage]:
        await conversation.save(messages)
        await conversation.save(messages)
        return await conversation.history()

    assert asyncio.run(live()) == messages
