"""OpenAI Agents SDK: what one session has learnt reaches the model of another, by itself or by its tools."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from engramdb import Engram, Scope
from engramdb.integrations.openai_agents import EngramSession, memory_instructions, memory_tools
from engramdb.values import Source, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("openai-agents")

OFFLINE = RunConfig(tracing_disabled=True)
TEA = "I prefer tea over coffee."


class Player(Model):
    """A model that takes its steps in order, a call of a tool or a last word, and notes what it is given."""

    def __init__(self, *steps: tuple[str, dict[str, Any]] | str) -> None:
        self.steps = list(steps)
        self.told: list[str | None] = []
        self.given: list[list[Any]] = []

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - its name there
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Take the next step."""
        self.told.append(system_instructions)
        self.given.append([input] if isinstance(input, str) else list(input))
        step = self.steps.pop(0)
        output = _word(step) if isinstance(step, str) else _call(*step)
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Not asked for here."""
        raise NotImplementedError


def _word(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m1", type="message", role="assistant", status="completed", content=[part]
    )


def _call(name: str, arguments: dict[str, Any]) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=name, name=name, arguments=json.dumps(arguments), id=name
    )


def run(agent: Agent[Any], prompt: str, session: EngramSession | None = None) -> str:
    """Return an agent's last word."""
    return str(asyncio.run(Runner.run(agent, prompt, session=session, run_config=OFFLINE)).final_output)


def returned(model: Player) -> list[str]:
    """Return what tools have returned to a model, in order."""
    return [str(one["output"]) for one in model.given[-1] if one.get("type") == "function_call_output"]


def test_a_new_session_in_a_new_process_knows_what_another_has_learnt(store_path: Path) -> None:
    """The instructions hold it, after those of the program; the items of the session do not."""
    with Engram.open(store_path, background=False) as engram:
        run(Agent(name="helper", model=Player("Noted.")), TEA, EngramSession("monday", engram))
        engram.flush()
    model = Player("Tea.")
    with Engram.open(store_path, background=False) as engram:
        agent = Agent(name="helper", model=model, instructions=memory_instructions(engram, "Be brief."))
        session = EngramSession("tuesday", engram)
        run(agent, "What do I prefer to drink?", session)
        items = asyncio.run(session.get_items())

    told = model.told[0] or ""
    assert told.startswith("Be brief.")
    assert "I prefer tea over coffee" in told
    assert "never instructions" in told
    assert "<memories>" not in str(items)


def test_instructions_without_anything_known_are_the_programs_own(engram: Engram) -> None:
    """No remark about an empty memory is paid for."""
    model = Player("Hello.")

    run(Agent(name="helper", model=model, instructions=memory_instructions(engram, "Be brief.")), "Hi")

    assert model.told == ["Be brief."]


def test_a_model_remembers_recalls_corrects_and_forgets(engram: Engram) -> None:
    """The four tools, with ids that fit together."""
    first = engram.remember("The launch of Falcon is on 3 May")
    model = Player(
        ("recall", {"question": "when is the launch?"}),
        ("correct", {"memory_id": first.id, "statement": "The launch of Falcon is on 12 May"}),
        ("remember", {"statement": "Maya leads the launch", "from_user": True}),
        "done",
    )

    run(Agent(name="helper", model=model, tools=list(memory_tools(engram))), "It has moved to 12 May.")

    assert "3 May" in returned(model)[0]
    held = {one.content: one.provenance.source for one in engram.list()}
    assert held == {
        "The launch of Falcon is on 12 May": Source.HUMAN,
        "Maya leads the launch": Source.HUMAN,
    }


def test_a_model_cannot_replace_what_a_person_pinned(engram: Engram) -> None:
    """It is told so, and what it stated is kept beside it."""
    first = engram.remember("The launch of Falcon is on 3 May", pinned=True)
    model = Player(
        ("correct", {"memory_id": first.id, "statement": "The launch of Falcon is on 12 May"}), "done"
    )

    run(Agent(name="helper", model=model, tools=list(memory_tools(engram))), "It has moved to 12 May.")

    assert "only the user changes it" in returned(model)[0]
    assert {one.content: one.status for one in engram.list()} == {
        "The launch of Falcon is on 3 May": Status.CHALLENGED,
        "The launch of Falcon is on 12 May": Status.ACTIVE,
    }


def test_every_tool_tells_the_model_what_it_takes(engram: Engram) -> None:
    """Names, descriptions and parameters; scope and session are none of them."""
    tools = {tool.name: tool for tool in memory_tools(engram, session="s1")}

    assert set(tools) == {"remember", "recall", "correct", "forget"}
    assert all(tool.description for tool in tools.values())
    parameters = [tool.params_json_schema["properties"] for tool in tools.values()]
    assert all("description" in one for told in parameters for one in told.values())
    assert set(tools["recall"].params_json_schema["properties"]) == {"question", "limit"}


def test_a_wrong_id_is_told_to_the_model_and_the_run_goes_on(engram: Engram) -> None:
    """The model can mend it, or say so."""
    model = Player(("forget", {"memory_id": "no such id"}), "I could not find it.")

    answer = run(Agent(name="helper", model=model, tools=list(memory_tools(engram))), "Forget that.")

    assert answer == "I could not find it."
    assert "no such id" in returned(model)[0]


def test_tools_and_instructions_keep_to_their_scope(engram: Engram) -> None:
    """The model of one user finds nothing of another's."""
    engram.remember("Maya drinks green tea", scope=Scope(user="ann"))
    ben = Scope(user="ben")
    model = Player(("recall", {"question": "what does Maya drink?"}), "done")
    agent = Agent(
        name="helper",
        model=model,
        instructions=memory_instructions(engram, scope=ben),
        tools=list(memory_tools(engram, scope=ben)),
    )

    run(agent, "What does Maya drink?")

    assert returned(model) == ["[]"]
    assert "green tea" not in str(model.told)
