"""A verb is its declaration and the engine's method: every surface offers it without being told."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from click.testing import CliRunner
from msgspec import Struct
from starlette.testclient import TestClient

from engramdb import Engram, Settings
from engramdb.cli.main import application
from engramdb.http.app import Access, create_app
from engramdb.http.tokens import NamedTokens, Tokens
from engramdb.mcp.tool import Visit
from engramdb.mcp.tools import tool_set
from engramdb.testing import TinyEmbedder
from engramdb.values import GLOBAL, Memory, Scope
from engramdb.verbs.fields import OneMemory, Text
from engramdb.verbs.verb import Command, Route, about, verb, withdraw

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:7070"


class Praise(Struct, frozen=True):
    """Kind words about a memory."""

    memory: str
    words: str
    is_loud: bool


def praise(
    engram: Engram,
    memory_id: str,
    words: str,
    *,
    loud: bool = False,
    expected_version: Memory | None = None,
    scope: Scope | None = None,
) -> Praise:
    """Stand for a method added to the engine; what changes one memory takes `expected_version`."""
    assert expected_version is None
    memory = engram.get(memory_id, scope=scope)
    return Praise(memory.content, words, loud)


@pytest.fixture
def _praise(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Declare the verb, and give the engine its method."""

    @verb(
        "praise",
        gives=Praise,
        writes=True,
        http=Route(method="POST", path="/v1/praise", tag="memories"),
        cli=Command(words="praise", section="Put in", examples=('praise 3f2a9c1b "well said"',)),
        mcp="praise",
        example={"id": "5d2f3f2b", "words": "well said"},
    )
    class PraiseRequest(OneMemory, frozen=True, kw_only=True):
        """Say something kind about a memory."""

        words: Annotated[Text, about("The kind words.")]
        loud: Annotated[bool, about("Say it loudly.")] = False

    # Types are looked up in the module, where a real declaration would stand.
    monkeypatch.setitem(globals(), "PraiseRequest", PraiseRequest)
    monkeypatch.setattr(Engram, "praise", praise, raising=False)
    yield
    withdraw("praise")


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    """A store without background work."""
    settings = Settings(home=tmp_path)
    with Engram.open(settings=settings, embedder=TinyEmbedder(), background=False) as opened:
        yield opened


def reference() -> Any:
    """Load the script that writes the reference."""
    spec = importlib.util.spec_from_file_location("write_reference", ROOT / "scripts" / "write_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("_praise")
def test_the_command_line_offers_it(engram: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With options and help from the declaration, as JSON and for a person."""
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path))
    monkeypatch.setenv("ENGRAM_EMBEDDER", "static")
    memory = engram.remember("Ada plays the cello")
    engram.close()
    app, runner = application(), CliRunner()

    asked = ["praise", memory.id, "well said", "--loud"]
    as_json = runner.invoke(app, [*asked, "--json"])
    shown = runner.invoke(app, asked)

    assert json.loads(as_json.stdout) == {
        "memory": "Ada plays the cello",
        "words": "well said",
        "is_loud": True,
    }
    assert "Ada plays the cello" in shown.stdout
    assert "Say something kind about a memory." in runner.invoke(app, ["--help"]).stdout
    assert "Say it loudly." in runner.invoke(app, ["praise", "--help"]).stdout
    assert runner.invoke(app, ["praise", memory.id]).exit_code == 2


@pytest.mark.usefixtures("_praise")
def test_http_serves_and_describes_it(engram: Engram) -> None:
    """A route, a schema with the words of the declaration, and errors that name a field."""
    memory = engram.remember("Ada plays the cello")
    client = TestClient(create_app(engram), base_url=ADDRESS)

    answer = client.post("/v1/praise", json={"id": memory.id, "words": "well said"})
    refused = client.post("/v1/praise", json={"id": memory.id, "words": "x", "colour": "red"})
    described = client.get("/openapi.json").json()

    assert answer.json() == {"memory": "Ada plays the cello", "words": "well said", "is_loud": False}
    assert refused.status_code == 422
    assert "colour" in refused.json()["message"]
    assert described["paths"]["/v1/praise"]["post"]["operationId"] == "praise"
    assert "Say it loudly." in json.dumps(described)


@pytest.mark.usefixtures("_praise")
@pytest.mark.parametrize(
    ("scope", "read_only", "status"),
    [(GLOBAL, True, 403), (GLOBAL, False, 200), (Scope(user="ada"), False, 404)],
    ids=["read only", "all", "another scope"],
)
def test_authorization_knows_it(
    engram: Engram, tmp_path: Path, scope: Scope, *, read_only: bool, status: int
) -> None:
    """It writes, so a token that only reads is refused; and it stays inside the token's scope."""
    memory = engram.remember("Ada plays the cello", scope=Scope(user="bob"))
    named = NamedTokens(tmp_path)
    token = named.add("one", scope=scope, read_only=read_only, narrower=False, now=datetime.now(UTC))
    client = TestClient(create_app(engram, access=Access(tokens=Tokens("own", named))), base_url=ADDRESS)
    body = {"id": memory.id, "words": "well said"}
    if scope == GLOBAL:
        body |= {"scope": {"user": "bob"}}  # type: ignore[dict-item] # JSON holds objects too

    answer = client.post("/v1/praise", json=body, headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == status


@pytest.mark.usefixtures("_praise")
def test_models_get_it_as_a_tool(engram: Engram) -> None:
    """Described by its declaration until somebody writes words for models."""
    memory = engram.remember("Ada plays the cello")
    (tool,) = (one for one in tool_set("all") if one.name == "praise")

    answer = tool.call(Visit(engram=engram), {"memory": memory.id, "words": "well said"})

    assert "Say something kind about a memory." in tool.description
    assert tool.schema["properties"]["loud"]["description"] == "Say it loudly."
    assert not tool.reads_only
    assert "Ada plays the cello" in answer.text


@pytest.mark.usefixtures("_praise")
def test_the_reference_documents_it() -> None:
    """On the pages of the command line, of HTTP and of tools."""
    pages = reference().pages()

    assert "## engram praise" in pages["cli.md"]
    assert "/v1/praise" in pages["http.md"]
    assert "praise" in pages["tools.md"]
