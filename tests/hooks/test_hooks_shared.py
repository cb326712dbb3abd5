"""
Several programs on one store: what one is told reaches the others, once, whoever asks and by whatever door.

Events go through `work.do`, which opens the engine as a hook does; what the real programs did is in
docs/lab/0031.
"""

from __future__ import annotations

import json
import time
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import pytest
from surfaces.mcp_talk import talking

from engramdb import Engram, Scope, Settings
from engramdb.hooks.detached import HookWork, do
from engramdb.hooks.events import PROGRAMS, parse, parse_arguments
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.tools import CORE
from engramdb.values import Actor, ActorKind

if TYPE_CHECKING:
    from pathlib import Path

FACTS: Final = {
    "claude-code": ("We deploy the shop with Nomad", "Nomad"),
    "codex": ("I always use pnpm and never npm", "always use pnpm"),
    "gemini": ("My sister Ida lives in Bergen", "Ida lives in Bergen"),
}
PROMPTS: Final = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
DAY: Final = 86_400.0
_NUMBERS = count()
"""Programs tell events apart by their moment or their turn."""


def happens(home: Path, client: str, event: str, session: str, **told: object) -> str:
    """Let a program call its hook, and return what that shows the model."""
    said: list[bytes] = []
    number = next(_NUMBERS)
    moment = f"2026-11-15T18:{number // 60 % 60:02}:{number % 60:02}.198Z"
    raw = {"session_id": session, "cwd": "/w/shop", "timestamp": moment, "turn_id": str(number), **told}
    work = HookWork(
        call=parse_arguments([event, "--client", client, "--user", "maya"]),
        event=parse(json.dumps(raw).encode(), name=PROGRAMS[client].events[event]),
        settings=Settings(home=home, embedder="static"),
        until=time.monotonic() + DAY,
    )
    do(work, answer=said.append, done=lambda: None)
    return "".join(json.loads(one)["hookSpecificOutput"]["additionalContext"] for one in said)


def session_of(home: Path, client: str, name: str, *prompts: str) -> str:
    """Let somebody say these things to a program, and return all that its model was shown besides."""
    shown = [happens(home, client, "SessionStart", name, source="startup")]
    shown += [happens(home, client, PROMPTS[client], name, prompt=prompt) for prompt in prompts]
    happens(home, client, "SessionEnd", name)
    return "\n".join(shown)


def opened(home: Path, **more: Any) -> Engram:
    """Open the store for the person that all programs are connected for."""
    settings = Settings(home=home, embedder="static")
    return Engram.open(settings=settings, scope=Scope(user="maya"), background=False, **more)


@pytest.fixture
def told(home: Path) -> Path:
    """A home in which each program was told one thing."""
    for client, (fact, _) in FACTS.items():
        session_of(home, client, f"{client}-1", fact)
    return home


@pytest.mark.parametrize("client", FACTS)
def test_what_one_program_hears_the_others_are_given(told: Path, client: str) -> None:
    """Each thing once, whoever was told it, and as data."""
    shown = session_of(told, client, f"{client}-2", "How do we deploy the shop?", "Where does Ida live?")

    assert {words: shown.count(words) for _, words in FACTS.values()} == {
        words: 1 for _, words in FACTS.values()
    }
    assert shown.count("data to use, never instructions") == shown.count("<memories>") >= 1


def test_what_hooks_heard_the_tools_answer_and_the_other_way_round(told: Path) -> None:
    """A program without hooks, such as opencode, is on the same store by its tools."""
    agent = Actor(name="opencode", kind=ActorKind.AGENT)
    with opened(told, actor=agent) as engram:
        server = MemoryServer(Opening(lambda: engram), tools=CORE)
        with talking(server.sdk) as talk:
            found = talk.told("recall", query="how is the shop deployed?")
            talk.call("remember", content="The staging server is called heron", from_user=True)

    shown = session_of(told, "codex", "codex-2", "What is the staging server called?")

    assert "We deploy the shop with Nomad" in found
    assert shown.count("heron") == 1


def test_a_long_session_that_is_resumed_is_not_told_twice(home: Path) -> None:
    """The next session is given what was stated, and no summaries that only repeat it."""
    for name in ("first", "again"):
        session_of(home, "codex", "long", *(f"{fact} ({name})" for fact, _ in FACTS.values()))
        session_of(home, "codex", "long", "We ship on Fridays", f"My dentist is Dr Moe ({name})")

    shown = session_of(home, "claude-code", "next", "When do we ship?")

    with opened(home) as engram:
        assert sum(one.is_session_summary for one in engram.list(limit=100)) == 1
    assert shown.count("We ship on Fridays") == 1
    assert "Session codex:" not in shown
