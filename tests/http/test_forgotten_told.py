"""Every surface says so when nothing was stored because the person had asked to forget it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from surfaces.mcp_talk import talking

from engramdb import Engram, Scope, Settings
from engramdb.errors import StatementForgotten
from engramdb.integrations.mem0 import Memory as Mem0
from engramdb.integrations.tools import MemoryCalls
from engramdb.mcp.render import TELL
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.tools import CORE
from engramdb.values import Actor, ActorKind, NotebookAct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient
    from surfaces.fixtures import Command

    from engramdb.testing import TinyEmbedder

FACT = "My ex Leandro still has a key to the flat"
AGAIN = "Leandro, the ex of the user, still has a key to the flat"
TOLD = "not stored: the person asked to forget this"


@pytest.fixture
def forgetting(engine: Engram) -> Engram:
    """An engine whose person has had something forgotten."""
    for scope in (Scope(), Scope(user="ann")):
        memory = engine.remember(FACT, scope=scope)
        engine.forget(memory.id, reason="please forget that", scope=scope)
    return engine


@pytest.fixture
def agent(forgetting: Engram, tmp_path: Path, embedder: TinyEmbedder) -> Iterator[Engram]:
    """The same store, opened for an agent."""
    settings, actor = Settings(home=tmp_path / "served"), Actor(name="agent", kind=ActorKind.AGENT)
    with Engram.open(settings=settings, embedder=embedder, actor=actor, background=False) as opened:
        yield opened
    assert forgetting.list() == []


@pytest.mark.parametrize("words", [FACT, AGAIN], ids=["same words", "other words"])
def test_a_tool_never_says_remembered(agent: Engram, words: str) -> None:
    """The model is told why, and that calling again does not help; also where it speaks for the user."""
    with talking(MemoryServer(Opening(lambda: agent), tools=CORE).sdk, mode="legacy") as talk:
        for is_users in (False, True):
            refused = talk.refused("remember", content=words, from_user=is_users)

            assert refused["code"] == StatementForgotten.code
            assert refused["message"].startswith(TOLD)
            assert refused["next"] == TELL


def test_http_answers_with_a_conflict(forgetting: Engram, client: TestClient) -> None:
    """What an assistant states is refused; the person may state it, and is told when it was forgotten."""
    refused = client.post("/v1/remember", json={"content": AGAIN, "source": "assistant"})
    taken = client.post("/v1/remember", json={"content": AGAIN})

    assert (refused.status_code, refused.json()["code"]) == (409, StatementForgotten.code)
    assert "Leandro" not in refused.text
    assert taken.status_code == 200
    assert taken.json()["flags"][0].startswith("forgotten before 20")
    assert [one.content for one in forgetting.list()] == [AGAIN]


def test_the_page_tells_the_person(forgetting: Engram, client: TestClient) -> None:
    """Whoever writes there is the person."""
    answer = client.post("/remember", data={"content": AGAIN})

    assert "You had asked to forget this" in client.get(answer.headers["Location"]).text
    assert len(forgetting.list()) == 1


def test_the_command_line_tells_the_person(engram_command: Command) -> None:
    """In the lines under what was remembered; for an assistant's words it fails."""
    engram_command("remember", FACT)
    engram_command("forget", FACT)

    refused = engram_command("remember", AGAIN, "--source", "assistant")
    taken = engram_command("remember", AGAIN)

    assert refused.exit_code != 0
    assert TOLD in refused.stderr
    assert "this had been forgotten on 20" in taken.stdout


def test_mem0_reports_no_addition(forgetting: Engram) -> None:
    """The results name what was stored, and that is nothing."""
    memory, said = Mem0(forgetting), {"role": "assistant", "content": AGAIN}

    added = [memory.add(AGAIN, user_id="ann", infer=False), memory.add([said], user_id="ann")]

    assert added == [{"results": []}, {"results": []}]
    assert memory.get_all(user_id="ann") == {"results": []}


@pytest.mark.parametrize("is_users", [False, True], ids=["concluded", "in the user's name"])
def test_a_frameworks_tool_refuses(forgetting: Engram, *, is_users: bool) -> None:
    """A model calls it, whoever runs the program."""
    calls = MemoryCalls(forgetting, session=None, scope=None)

    with pytest.raises(StatementForgotten, match=TOLD):
        asyncio.run(calls.remember(AGAIN, from_user=is_users))


def test_a_note_in_the_folder_is_refused_and_named(forgetting: Engram, tmp_path: Path) -> None:
    """A copy of the notes from before does not bring it back; the report names the file and the reason."""
    folder = tmp_path / "notes"
    forgetting.notebook_sync(folder)
    note = folder / "facts" / "old.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text(f"{FACT}\n", encoding="utf-8")

    report = forgetting.notebook_sync(folder)

    (change,) = [one for one in report.changes if one.path.endswith("old.md")]
    assert (change.act, change.why) == (NotebookAct.REFUSED, StatementForgotten.code)
    assert forgetting.list() == []
