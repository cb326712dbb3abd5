"""
LlamaIndex memory on Engram: a block for its `Memory`, and a whole memory for chat engines and agents.

`EngramMemoryBlock` is the long-term part beside LlamaIndex's own short-term queue: it hears what leaves
the queue and gives back what fits the conversation. `EngramMemory` keeps the messages as well, exactly,
across processes. Either way what is recalled goes to the model as records that are never to be obeyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engramdb.errors import MissingExtra
from engramdb.integrations.transcript import (
    MEMORY_TOKENS,
    ROLES,
    Transcript,
    TranscriptMessage,
    in_thread,
    memory_text,
)
from engramdb.text.tokens import count_tokens

if TYPE_CHECKING:
    from engramdb import Engram, Scope

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory.memory import BaseMemoryBlock
    from llama_index.core.memory.types import BaseMemory
except ImportError as exc:
    raise MissingExtra(
        "llama-index-core is not installed", hint="pip install 'engramdb[llamaindex]'"
    ) from exc


ROOT = "llamaindex"
"""The first name of every place in the document store that belongs to these memories."""
HISTORY_TOKENS = 30_000
"""What the messages may take, as in LlamaIndex's own memory."""


class EngramMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory for LlamaIndex's `Memory`: `Memory.from_defaults(memory_blocks=[…])`."""

    name: str = "engram"
    memory_tokens: int = Field(default=MEMORY_TOKENS, description="What recalled memories may take.")
    _engram: Any = PrivateAttr()
    _scope: Any = PrivateAttr()

    def __init__(self, engram: Engram, *, scope: Scope | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._engram = engram
        self._scope = scope

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return what fits the last thing that the user said."""
        session = block_kwargs.get("session_id")
        return await in_thread(
            memory_text,
            self._engram,
            _asked(messages or []),
            budget=self.memory_tokens,
            session=session if isinstance(session, str) else None,
            scope=self._scope,
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Hear messages that leave the short-term queue."""
        await in_thread(self._hear, messages)

    def _hear(self, messages: Sequence[ChatMessage]) -> None:
        for message in messages:
            heard = _message(message)
            if heard.text.strip():
                session = message.additional_kwargs.get("session_id")
                self._engram.observe(heard.text, role=heard.role, session=session, scope=self._scope)


class EngramMemory(BaseMemory):
    """
    A memory for chat engines and agents: the conversation so far, and what is known beyond it.

    `get` gives the latest messages that fit `token_limit`, beginning with one of the user, and before
    them a system message with what Engram recalls for the input or for what the user said last.
    """

    session_id: str = Field(description="Which conversation it is.")
    token_limit: int = Field(default=HISTORY_TOKENS, description="What the messages may take.")
    memory_tokens: int = Field(default=MEMORY_TOKENS, description="What recalled memories may take.")
    _engram: Any = PrivateAttr()
    _scope: Any = PrivateAttr()
    _transcript: Any = PrivateAttr()

    def __init__(self, engram: Engram, *, scope: Scope | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._engram = engram
        self._scope = scope
        self._transcript = Transcript(engram, (ROOT, self.session_id), session=self.session_id, scope=scope)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex knows the class."""
        return "EngramMemory"

    @classmethod
    def from_defaults(cls, chat_history: list[ChatMessage] | None = None, **kwargs: Any) -> EngramMemory:
        """Return a memory; takes `engram`, `session_id`, the fields, and messages to begin with."""
        memory = cls(**kwargs)
        if chat_history:
            memory.set(chat_history)
        return memory

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002 - its name there
        """Return what the model should see: recalled memories, then the latest messages."""
        messages = self.get_all()
        recalled = memory_text(
            self._engram,
            input or _asked(messages),
            budget=self.memory_tokens,
            session=self.session_id,
            scope=self._scope,
        )
        taken = count_tokens(recalled) + int(kwargs.get("initial_token_count") or 0)
        latest = _latest(messages, self.token_limit - taken)
        return [ChatMessage(role=MessageRole.SYSTEM, content=recalled), *latest] if recalled else latest

    def get_all(self) -> list[ChatMessage]:
        """Return every message of the conversation."""
        return [ChatMessage.model_validate(value) for value in self._transcript.values()]

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages in one write."""
        self._transcript.add([_message(one) for one in messages])

    def set(self, messages: list[ChatMessage]) -> None:
        """Let the conversation be these messages; what is taken out of it is taken back."""
        self._transcript.replace([_message(one) for one in messages])

    def reset(self) -> None:
        """Start the conversation over; what was learnt from it stays remembered."""
        self._transcript.clear()


def _message(message: ChatMessage) -> TranscriptMessage:
    role = ROLES.get(message.role.value, message.role.value)
    return TranscriptMessage(message.model_dump(mode="json"), role, message.content or "")


def _asked(messages: Sequence[ChatMessage]) -> str:
    """Return what the user said last."""
    said = (one.content for one in reversed(messages) if one.role is MessageRole.USER)
    return next((text for text in said if text), "")


def _latest(messages: Sequence[ChatMessage], token_limit: int) -> list[ChatMessage]:
    """Return the latest messages that fit, from one of the user on; the last exchange at any rate."""
    starts = [place for place, one in enumerate(messages) if one.role is MessageRole.USER]
    costs = [count_tokens(one.content or "") for one in messages]
    fitting = [place for place in starts if sum(costs[place:]) <= token_limit]
    if sum(costs) <= token_limit or not starts:
        return list(messages)
    return list(messages[fitting[0] if fitting else starts[-1] :])
