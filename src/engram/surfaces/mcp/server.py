"""
Bind the tools, resources and prompts to the official SDK.

Built by `engram mcp` and by tests; carried by `stdio` or `http`. The low-level server of the SDK is
used, because schemas and answers are then ours to the last token. The engine is synchronous: every call
runs in a worker thread, is answered once, and goes on to its end unheard when the client takes it back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
from mcp import MCPError, types
from mcp.server.lowlevel import Server

from engram import __version__
from engram.errors import EngramError
from engram.surfaces.mcp import failures
from engram.surfaces.mcp.greeting import INSTRUCTIONS, as_told
from engram.surfaces.mcp.prompts import PROMPTS, Prompt
from engram.surfaces.mcp.resources import RESOURCES
from engram.surfaces.mcp.tool import Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp.server.context import ServerRequestContext

    from engram.surfaces.mcp.opening import Opening
    from engram.surfaces.mcp.tool import Answer, Tool

    Given = TypeVar("Given")
    Context = ServerRequestContext[Any, Any]

VALUES = "engram/values"
"""Under which name the metadata of an answer hold it as values, for programs."""

MOST_AT_ONCE = 16
"""Calls that run at the same time; further ones wait, as they would for the store."""


class MemoryServer:
    """The tools, resources and prompts of one engine, for any number of clients."""

    def __init__(self, opening: Opening, *, tools: Sequence[Tool], session: str | None = None) -> None:
        self._opening = opening
        self._tools = {tool.name: tool for tool in tools}
        self._session = session
        self._places: anyio.CapacityLimiter | None = None
        self.sdk: Server[Any] = Server(
            "engram",
            version=__version__,
            title="Engram",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        self.sdk.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._greeted
        )

    async def _greeted(self, _context: Context, _params: types.NotificationParams) -> None:
        self._opening.begin()

    # --- tools ----------------------------------------------------------------------------------------------

    async def _list_tools(self, _context: Context, _params: Any) -> types.ListToolsResult:
        self._opening.begin()  # a client of the newest protocol shakes no hands, but asks for this
        return types.ListToolsResult(tools=[described(tool) for tool in self._tools.values()])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!r}; there are {known}")
        try:
            answer = await self._do(lambda visit: tool.call(visit, params.arguments), context, what=tool.name)
        except EngramError as exc:
            return _result(failures.as_answer(exc), is_error=True)
        return _result(answer)

    # --- resources and prompts ------------------------------------------------------------------------------

    async def _list_resources(self, _context: Context, _params: Any) -> types.ListResourcesResult:
        self._opening.begin()
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=one.uri, name=one.name, description=one.description, mime_type="text/plain"
                )
                for one in RESOURCES
            ]
        )

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        found = next((one for one in RESOURCES if one.uri == params.uri), None)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {params.uri[:200]!r}")
        text = await self._told(found.reads, context, what=found.uri)
        contents = types.TextResourceContents(uri=found.uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _list_prompts(self, _context: Context, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_listed(prompt) for prompt in PROMPTS])

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        found = next((one for one in PROMPTS if one.name == params.name), None)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name[:80]!r}")
        given = params.arguments or {}
        text = await self._told(lambda visit: found.says(visit, given), context, what=found.name)
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=found.description, messages=[message])

    # --- the way to the engine ------------------------------------------------------------------------------

    async def _told(self, act: Callable[[Visit], str], context: Context, *, what: str) -> str:
        """Return a text from the engine; an error becomes one of the protocol, with the same words."""
        try:
            return await self._do(act, context, what=what)
        except EngramError as exc:
            raise MCPError(types.INTERNAL_ERROR, failures.told(exc), data={"code": exc.code}) from None

    async def _do(self, act: Callable[[Visit], Given], context: Context, *, what: str) -> Given:
        """Run it in a worker thread; the wait can be given up, the work goes on to its end."""
        if self._places is None:
            self._places = anyio.CapacityLimiter(MOST_AT_ONCE)
        session = self._session or _session_of(context)
        work = partial(
            failures.foreseen, lambda: act(Visit(engram=self._opening.engram(), session=session)), what=what
        )
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._places)


def described(tool: Tool) -> types.Tool:
    """Return a tool as clients see it, whether the SDK tells them or `greeting` does."""
    return types.Tool.model_validate(as_told(tool))


def _session_of(context: Context) -> str | None:
    """
    Return a name for the conversation of a client over HTTP, where its protocol still has such a thing.
    """
    number = context.request.headers.get("mcp-session-id") if context.request else None
    return f"mcp-{number[:12]}" if number else None


def _listed(prompt: Prompt) -> types.Prompt:
    takes = [
        types.PromptArgument(name=name, description=meaning, required=True)
        for name, meaning in prompt.takes.items()
    ]
    return types.Prompt(name=prompt.name, description=prompt.description, arguments=takes or None)


def _result(answer: Answer, *, is_error: bool = False) -> types.CallToolResult:
    """
    Return an answer with its values where programs find them and models do not.

    Not as `structuredContent`: Claude Code and Codex then give the model that in place of the text, and gone
    are the frame that calls memories data, and of `context` all but numbers (lab 32).
    """
    return types.CallToolResult(
        content=[types.TextContent(text=answer.text)],
        _meta={VALUES: dict(answer.values)},
        is_error=is_error,
    )
