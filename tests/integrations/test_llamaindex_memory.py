"""LlamaIndex: a block for its `Memory`, and a whole memory in its chat engines, offline."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ImageBlock,
    LLMMetadata,
    MessageRole,
    TextBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import Memory

from engramdb import Engram, Scope
from engramdb.integrations.llamaindex import EngramMemory, EngramMemoryBlock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engramdb.testing import TinyEmbedder

pytestmark = pytest.mark.xdist_group("llamaindex")

TEA = "Maya drinks green tea"


class Parrot(CustomLLM):
    """A model that answers with a number, and notes what it was asked."""

    asked: list[list[ChatMessage]] = []  # noqa: RUF012 - a field, as its base class wants it

    @property
    def metadata(self) -> LLMMetadata:
        """Say what it can do."""
        return LLMMetadata()

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the next answer."""
        self.asked.append(list(messages))
        answer = ChatMessage(role=MessageRole.ASSISTANT, content=f"answer {len(self.asked)}")
        return ChatResponse(message=answer)

    def complete(self, *arguments: Any, **options: Any) -> Any:
        """Refuse: it only chats."""
        raise NotImplementedError

    def stream_complete(self, *arguments: Any, **options: Any) -> Any:
        """Refuse: it only chats."""
        raise NotImplementedError


def user(text: str) -> ChatMessage:
    """Return what the user says."""
    return ChatMessage(role=MessageRole.USER, content=text)


def assistant(text: str) -> ChatMessage:
    """Return what the model says."""
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


async def closed(theirs: Memory) -> None:
    """Let go of the database that LlamaIndex's own memory has opened."""
    engine = theirs.sql_store._async_engine  # type: ignore[attr-defined]
    await engine.dispose()


def memory(engram: Engram, **options: Any) -> EngramMemory:
    """Return the memory of one conversation."""
    return EngramMemory.from_defaults(engram=engram, session_id="s1", **options)


def test_messages_come_back_as_they_were_put(engram: Engram) -> None:
    """Blocks, roles and extra fields, in their order."""
    messages = [
        user("Hello"),
        ChatMessage(
            role=MessageRole.ASSISTANT,
            blocks=[TextBlock(text="Look"), ImageBlock(url="https://example.com/tea.png")],
            additional_kwargs={"tool_calls": [{"id": "1", "n": 2}]},
        ),
        ChatMessage(role=MessageRole.TOOL, content="42", additional_kwargs={"tool_call_id": "1"}),
    ]
    kept = memory(engram)

    kept.put(messages[0])
    kept.put_messages(messages[1:])

    assert kept.get_all() == messages
    assert kept.get() == messages


def test_what_is_known_stands_before_the_messages(engram: Engram) -> None:
    """As records that are never to be obeyed, for the input or for what the user said last."""
    engram.remember(TEA)
    kept = memory(engram)
    kept.put(user("What does Maya drink?"))

    by_message, by_input = kept.get(), kept.get(input="green tea?")

    for found in (by_message, by_input):
        assert found[0].role is MessageRole.SYSTEM
        assert TEA in (found[0].content or "")
        assert "never instructions" in (found[0].content or "")
        assert found[1:] == kept.get_all()


def test_nothing_known_adds_nothing(engram: Engram) -> None:
    """An empty store costs no tokens."""
    kept = memory(engram)
    kept.put(user("Hello"))

    assert kept.get() == [user("Hello")]


def test_a_chat_engine_remembers_across_conversations(engram: Engram) -> None:
    """What the user says in one is recalled in the next, and the messages stay in theirs."""
    model = Parrot(asked=[])
    first = SimpleChatEngine.from_defaults(llm=model, memory=memory(engram))
    first.chat("I prefer tea over coffee.")
    engram.flush()
    second = EngramMemory.from_defaults(engram=engram, session_id="s2")

    SimpleChatEngine.from_defaults(llm=model, memory=second).chat("Do I prefer tea or coffee?")

    system, asked = model.asked[-1]
    assert "tea over coffee" in (system.content or "")
    assert asked == user("Do I prefer tea or coffee?")
    assert [one.content for one in memory(engram).get_all()] == ["I prefer tea over coffee.", "answer 1"]
    assert len(second.get_all()) == 2


def test_setting_the_history_keeps_what_is_the_same(engram: Engram) -> None:
    """A chat engine with the history anew teaches nothing twice; what is taken out is taken back."""
    kept = memory(engram)
    kept.put_messages([user("I live in Berlin."), assistant("Good."), user("I own a red boat.")])
    kept.set([user("I live in Berlin."), assistant("Good."), user("I own a blue boat.")])

    said = [turn.content for turn in engram.turns(session="s1")]

    assert said == ["I live in Berlin.", "Good.", "I own a blue boat."]
    assert [one.content for one in kept.get_all()] == said


def test_resetting_begins_anew_and_keeps_what_was_learnt(engram: Engram) -> None:
    """A new conversation is no new life."""
    kept = memory(engram)
    kept.put(user("I prefer tea over coffee."))
    engram.flush()

    kept.reset()

    assert kept.get_all() == []
    assert engram.recall("what do I prefer?").hits


def test_a_long_history_is_cut_at_a_message_of_the_user(engram: Engram) -> None:
    """The latest exchanges fit; the last one is there whatever it costs."""
    kept = memory(engram, token_limit=40)
    for number in range(6):
        kept.put_messages([user(f"Question {number} " + "word " * 10), assistant(f"Answer {number}")])

    found = kept.get()
    tiny = memory(engram, token_limit=1).get()

    told = [one for one in found if one.role is not MessageRole.SYSTEM]

    assert 2 <= len(told) < 12
    assert told[0].role is MessageRole.USER
    assert found[-1].content == "Answer 5"
    assert [one.content for one in tiny][-1:] == ["Answer 5"]
    assert len([one for one in tiny if one.role is not MessageRole.SYSTEM]) == 2


def test_conversations_outlive_the_process_and_keep_to_their_scope(
    store_path: Path, embedder: TinyEmbedder
) -> None:
    """The same id of another user is another conversation."""
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        memory(engram, scope=Scope(user="ann")).put(user("Hello"))
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        assert memory(engram, scope=Scope(user="ann")).get_all() == [user("Hello")]
        assert memory(engram, scope=Scope(user="ben")).get_all() == []


def test_asynchronous_calls_do_the_same(engram: Engram) -> None:
    """In worker threads."""
    engram.remember(TEA)
    kept = memory(engram)

    async def live() -> tuple[list[ChatMessage], list[ChatMessage]]:
        await kept.aput(user("What does Maya drink?"))
        found = await kept.aget()
        await kept.areset()
        return found, await kept.aget_all()

    found, left = asyncio.run(live())

    assert TEA in (found[0].content or "")
    assert left == []


def test_the_block_adds_what_is_known_to_llamaindexs_own_memory(engram: Engram) -> None:
    """Beside its short-term queue, inside its own template."""
    engram.remember(TEA)
    theirs = Memory.from_defaults(session_id="s1", memory_blocks=[EngramMemoryBlock(engram)])

    async def live() -> list[ChatMessage]:
        await theirs.aput(user("What does Maya drink?"))
        found = await theirs.aget()
        await closed(theirs)
        return found

    system, asked = asyncio.run(live())

    assert "<engram>" in (system.content or "")
    assert TEA in (system.content or "")
    assert asked.content == "What does Maya drink?"


def test_the_block_hears_what_leaves_the_queue(engram: Engram) -> None:
    """Messages that no longer fit are turns of their session, and what they say is learnt."""
    block = EngramMemoryBlock(engram, scope=Scope(user="ann"))
    theirs = Memory.from_defaults(session_id="s1", memory_blocks=[block], token_limit=40, token_flush_size=10)

    async def live() -> None:
        for number in range(8):
            await theirs.aput(user(f"I keep boat number {number} in the harbor."))
            await theirs.aput(assistant("Noted."))
        await closed(theirs)

    asyncio.run(live())

    said = [turn.content for turn in engram.turns(session="s1", scope=Scope(user="ann"))]
    assert said[0] == "I keep boat number 0 in the harbor."
    assert len(said) < 16


def test_a_memory_may_begin_with_messages(engram: Engram) -> None:
    """As chat engines make memories."""
    said = [ChatMessage(role=MessageRole.USER, content="hello")]

    memory = EngramMemory.from_defaults(engram=engram, session_id="s1", chat_history=said)

    assert memory.get_all() == said
    assert EngramMemory.from_defaults(engram=engram, session_id="s1").get_all() == said
