"""
Engram for pydantic-ai: tools for an agent, instructions with what it knows, and its conversations stored.

`memory_tools` lets the model remember, recall, correct and forget by itself; `memory_instructions` gives
it, with every run, what fits the prompt, without leaving that in the message history;
`EngramConversation` keeps the messages exactly and hears what is said in them. Each works without the
others, in worker threads.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from engramdb.errors import MissingExtra
from engramdb.integrations.tools import MemoryCalls
from engramdb.integrations.transcript import MEMORY_TOKENS, in_thread, memory_text
from engramdb.values import Document, DocumentMessage, PutDocument

if TYPE_CHECKING:
    from engramdb import Engram, Scope

try:
    from pydantic_ai import FunctionToolset, ModelRetry, RunContext
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        TextPart,
        UserPromptPart,
    )
except ImportError as exc:
    raise MissingExtra("pydantic-ai is not installed", hint="pip install 'engramdb[pydantic-ai]'") from exc


ROOT = "pydantic-ai"
"""The first name of every place in the document store that belongs to these conversations."""


def memory_tools(
    engram: Engram, *, session: str | None = None, scope: Scope | None = None
) -> FunctionToolset[Any]:
    """Return the tools `remember`, `recall`, `correct` and `forget` for `Agent(toolsets=…)`."""
    calls = MemoryCalls(engram, session=session, scope=scope, refusal=ModelRetry)
    return FunctionToolset(calls.all(), id="engram")


def memory_instructions(
    engram: Engram, *, budget: int = MEMORY_TOKENS, session: str | None = None, scope: Scope | None = None
) -> Callable[[RunContext[Any]], Awaitable[str]]:
    """Return `Agent(instructions=…)`: what fits the prompt, as records that are never to be obeyed."""

    async def instructions(ctx: RunContext[Any]) -> str:
        return await in_thread(
            memory_text, engram, _text_of(ctx.prompt), budget=budget, session=session, scope=scope
        )

    return instructions


class EngramConversation:
    """
    One conversation: `message_history=await it.history()` before a run, `await it.save(result)` then.

    `processor` does the saving by itself where it is given to an agent as a history processor, except
    for the last reply of a run, which it sees in the next. A message that was saved is not saved or
    heard again.
    """

    def __init__(self, engram: Engram, session: str, *, scope: Scope | None = None) -> None:
        self._engram = engram
        self._session = session
        self._scope = scope
        self._place = (ROOT, session)

    async def history(self, limit: int | None = None) -> list[ModelMessage]:
        """
        Return the messages for `message_history`, or the latest of them, but always the last exchange.

        Those begin with a prompt of the user, for models refuse the result of a call that they do not
        see.
        """
        return await in_thread(self._history, limit)

    async def save(self, result: Any) -> None:
        """Keep what a run has added: its result, or a list of messages."""
        messages = result if isinstance(result, list) else result.new_messages()
        await in_thread(self._save, messages)

    async def processor(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Keep the messages that pass, and return them as they are."""
        await in_thread(self._save, messages)
        return messages

    async def clear(self) -> None:
        """Let go of the messages; what was learnt from them stays remembered."""
        await in_thread(self._engram.documents.clear, self._place, scope=self._scope)

    def _history(self, limit: int | None) -> list[ModelMessage]:
        documents = self._engram.documents
        if limit is None:
            return _messages(documents.latest(self._place, scope=self._scope))
        if limit <= 0:
            return []
        latest = _messages(documents.latest(self._place, limit=limit, scope=self._scope))
        starts = [place for place, one in enumerate(latest) if _is_prompt(one)]
        if starts:
            return latest[starts[0] :]
        whole = _messages(documents.latest(self._place, scope=self._scope))
        starts = [place for place, one in enumerate(whole) if _is_prompt(one)]
        return whole[starts[-1] :] if starts else latest

    def _save(self, messages: Sequence[ModelMessage]) -> None:
        values = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        known = {item.key for item in self._engram.documents.list(self._place, scope=self._scope)}
        new, seen = [], Counter[str]()
        for message, value in zip(messages, values, strict=True):
            mark = _mark(value)
            key = f"{mark}-{seen[mark]}" if seen[mark] else mark  # the same twice in a list is said twice
            seen[mark] += 1
            if key not in known:
                known.add(key)
                new.append(PutDocument(place=self._place, key=key, value=value, said=self._heard(message)))
        if new:
            self._engram.documents.write(new, scope=self._scope)

    def _heard(self, message: ModelMessage) -> DocumentMessage | None:
        role, text = _said(message)
        return DocumentMessage(content=text, role=role, session=self._session) if text.strip() else None


def _messages(items: Sequence[Document]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_python([item.value for item in items])


def _is_prompt(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(one, UserPromptPart) for one in message.parts)


def _mark(value: dict[str, Any]) -> str:
    """Return what a message is known by: its parts, with their times and the ids of calls."""
    told = repr((value.get("kind"), value.get("parts"), value.get("timestamp")))
    return hashlib.blake2b(told.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def _said(message: ModelMessage) -> tuple[str, str]:
    if isinstance(message, ModelRequest):
        prompts = [_text_of(part.content) for part in message.parts if isinstance(part, UserPromptPart)]
        return "user", "\n".join(prompts)
    return "assistant", "\n".join(part.content for part in message.parts if isinstance(part, TextPart))


def _text_of(prompt: object) -> str:
    """Return the words of a prompt, which may hold pictures and files beside them."""
    if isinstance(prompt, str):
        return prompt
    parts = prompt if isinstance(prompt, list | tuple) else ()
    return "\n".join(one for one in parts if isinstance(one, str))
