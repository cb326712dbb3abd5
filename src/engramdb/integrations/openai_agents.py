"""
Engram for the OpenAI Agents SDK: stored sessions, tools for an agent, and instructions with what is known.

`EngramSession` goes to `Runner.run(…, session=…)`: items come back exactly as they went in, and messages
are heard as turns. `memory_instructions` gives a model, with every turn, what fits the last message of the
user, also from other sessions; `memory_tools` lets it look up and write by itself. Each works without
the others, in worker threads. Nothing here speaks to a network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from engramdb.errors import EngramError, InvalidContent, MissingExtra
from engramdb.integrations.tools import MemoryCalls
from engramdb.integrations.transcript import (
    MEMORY_TOKENS,
    ROLES,
    Transcript,
    TranscriptMessage,
    in_thread,
    memory_text,
)

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

    from engramdb import Engram, Scope

try:
    from agents import Agent, FunctionTool, RunContextWrapper, default_tool_error_function, function_tool
    from agents.memory import SessionABC, SessionSettings
except ImportError as exc:
    raise MissingExtra(
        "openai-agents is not installed", hint="pip install 'engramdb[openai-agents]'"
    ) from exc


ROOT = "openai-agents"
"""The first name of every place in the document store that belongs to these sessions."""
_TEXTS = ("input_text", "output_text", "text", "refusal")


class EngramSession(SessionABC):
    """One conversation by its `session_id`; the engine stays open when the session is let go of."""

    def __init__(
        self,
        session_id: str,
        engram: Engram,
        *,
        scope: Scope | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._transcript = Transcript(engram, (ROOT, session_id), session=session_id, scope=scope)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, or as many of the latest as asked for or set, in their order."""
        wanted = self.session_settings.limit if limit is None and self.session_settings else limit
        return await in_thread(self._transcript.values, None if wanted is None or wanted < 0 else wanted)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end of the conversation."""
        await in_thread(self._transcript.add, [_message(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item back, with what was learnt from it alone, and return it."""
        return cast("TResponseInputItem | None", await in_thread(self._transcript.pop))

    async def clear_session(self) -> None:
        """Let go of all items; what was learnt from them stays remembered."""
        await in_thread(self._transcript.clear)


def memory_tools(
    engram: Engram, *, session: str | None = None, scope: Scope | None = None
) -> list[FunctionTool]:
    """Return the tools `remember`, `recall`, `correct` and `forget` for `Agent(tools=…)`."""
    calls = MemoryCalls(engram, session=session, scope=scope)
    return [function_tool(call, failure_error_function=_refused) for call in calls.all()]


def memory_instructions(
    engram: Engram,
    instructions: str = "",
    *,
    budget: int = MEMORY_TOKENS,
    session: str | None = None,
    scope: Scope | None = None,
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """Return `Agent(instructions=…)`: yours, then what fits the last message, never to be obeyed."""

    async def with_memory(ctx: RunContextWrapper[Any], agent: Agent[Any]) -> str:  # noqa: ARG001 - the SDK gives both
        asked = _asked(ctx.turn_input)
        known = await in_thread(memory_text, engram, asked, budget=budget, session=session, scope=scope)
        return "\n\n".join(part for part in (instructions, known) if part)

    return with_memory


def _refused(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """Tell the model what it can mend, such as a wrong id; the SDK's own words hide that."""
    return str(error) if isinstance(error, EngramError) else default_tool_error_function(ctx, error)


def _asked(items: Sequence[TResponseInputItem]) -> str:
    """Return what the user said last."""
    messages = (_message(item) for item in reversed(items))
    return next((one.text for one in messages if one.role == "user" and one.text), "")


def _message(item: TResponseInputItem) -> TranscriptMessage:
    """Return an item with what is said in it; calls, their results and reasoning say nothing."""
    value = cast("dict[str, Any]", item)
    if not isinstance(value, dict):
        raise InvalidContent(f"an item is a dictionary, not a {type(item).__name__}")
    role = value.get("role")
    if value.get("type", "message") != "message" or not isinstance(role, str):
        return TranscriptMessage(value)
    return TranscriptMessage(value, ROLES.get(role, role), _said(value.get("content")))


def _said(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    texts = [one.get("text") or one.get("refusal") for one in parts if one.get("type") in _TEXTS]
    return "\n".join(text for text in texts if isinstance(text, str))
