"""
Every path that shows words: each verb on each surface, over a store full of secrets, without one coming out.

The paths are derived from the table of verbs, so a verb that is added later is held to it. A verb whose
request cannot be made up from its example fails here until somebody says how.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from click.testing import CliRunner
from surfaces.in_process import client_of
from surfaces.mcp_talk import talking

from engramdb import Engram, Settings
from engramdb.cli.main import app
from engramdb.errors import EngramError
from engramdb.hooks.respond import memory_block
from engramdb.http.app import create_app
from engramdb.mcp.server import MemoryServer
from engramdb.mcp.startup import Opening
from engramdb.mcp.tools import ALL
from engramdb.testing import TinyEmbedder
from engramdb.values import Actor, ActorKind
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Verb, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRETS = {
    "Hunter2!x9": "The wifi password at Zoltan's cabin is Hunter2!x9.",
    "sk-abc123def456ghi789jkl012mno345pqr678": (
        "The storefront is hosted at Fly with the API key sk-abc123def456ghi789jkl012mno345pqr678."
    ),
    "123-45-6789": "My social security number is 123-45-6789.",
    "4111 1111 1111 1111": "Zoltan pays with the card 4111 1111 1111 1111.",
    "DE89 3704 0044 0532 0130 00": "Zoltan's IBAN is DE89 3704 0044 0532 0130 00.",
}
ANSWERED = "471199"
"""A secret that only the question before it gives away."""
PROMPT = "tell me about Zoltan"
UNRELATED = "Write a haiku"
WORDS: dict[str, Any] = {
    "query": PROMPT,
    "question": PROMPT,
    "message": PROMPT,
    "topic": "Zoltan",
    "name": "Zoltan",
    "content": "Zoltan likes tea",
    "limit": 50,
}
"""What a request is given in place of its example, so that it reaches the secrets."""
NO_WORDS = frozenset({"backup", "rebuild", "enrich", "import_text", "erase", "doctor"})
"""Verbs that work on the whole store and return numbers; they run in their own tests."""


def leaks(text: str) -> list[str]:
    """Return the secrets in a text, however they are written."""
    low = text.lower()
    found = [
        one for one in (*SECRETS, ANSWERED) if one.lower() in low or json.dumps(one)[1:-1].lower() in low
    ]
    return [*found, *(["hunter2"] if "hunter2" in low else [])]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store full of secrets, made once."""
    folder = tmp_path_factory.mktemp("secrets")
    with Engram.open(settings=Settings(home=folder), embedder=TinyEmbedder(), background=False) as engram:
        for words in SECRETS.values():
            engram.remember(words)
            engram.observe(words, session="s1")
        engram.remember("Zoltan likes long walks in the Carpathians", pinned=True)
        engram.observe("What is the alarm code?", role="assistant", session="s1")
        engram.observe(ANSWERED, session="s1")
        engram.flush()
        engram.end_session("s1")
        engram.dream()
    return folder


@pytest.fixture
def home(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a copy of that store."""
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path))
    for file in full.glob("memory.db*"):
        shutil.copy(file, tmp_path / file.name)
    return tmp_path


@pytest.fixture
def engram(home: Path) -> Iterator[Engram]:
    """The store, opened by a person."""
    with Engram.open(settings=Settings(home=home), embedder=TinyEmbedder(), background=False) as engram:
        yield engram


def asked(verb: Verb, memory_id: str) -> dict[str, Any]:
    """Return the fields of a request that reaches the secrets."""
    given = {**verb.example}
    for one in fields_of(verb.request):
        if one.engine_name == "memory_id" or (one.name in given and one.name in ("id", "other")):
            given[one.name] = memory_id
        elif one.name in WORDS and (one.is_required or one.name in given or one.name == "limit"):
            given[one.name] = WORDS[one.name]
    return given


def as_text(answer: object) -> str:
    """Return everything in an answer."""
    return msgspec.json.encode(answer, enc_hook=str).decode()


TOLD = [one for one in VERBS.values() if one.name not in NO_WORDS]


@pytest.mark.parametrize("verb", TOLD, ids=[one.name for one in TOLD])
def test_no_verb_of_the_library_tells_a_secret(verb: Verb, engram: Engram) -> None:
    """Whatever is asked without naming a secret, of every memory, no answer holds one."""
    secret = [one for one in engram.list(limit=50) if one.security == "confidential"]
    assert len(secret) >= len(SECRETS)

    for memory in secret:
        with contextlib.suppress(EngramError):
            request = msgspec.convert(asked(verb, memory.id), verb.request)
            assert leaks(as_text(request.call(engram))) == []


OVER_HTTP = [one for one in TOLD if one.http]


@pytest.mark.parametrize("verb", OVER_HTTP, ids=[one.name for one in OVER_HTTP])
def test_no_route_tells_a_secret(verb: Verb, engram: Engram) -> None:
    """Nor does the HTTP API, which answers whoever is let in."""
    client = client_of(create_app(engram))
    secret = [one.id for one in engram.list(limit=50) if one.security == "confidential"]
    assert verb.http is not None

    for memory_id in secret[:3]:
        given = asked(verb, memory_id)
        path = verb.http.path
        for name in [name for name in given if f"{{{name}" in path]:
            path = path.replace(f"{{{name}}}", str(given[name])).replace(f"{{{name}:path}}", str(given[name]))
            del given[name]
        is_read = verb.http.method == "GET"
        answer = client.get(path, params=given) if is_read else client.post(path, json=given)
        assert leaks(answer.text) == []


READ_ON_COMMAND_LINE = [one for one in TOLD if one.cli and not one.writes]


@pytest.mark.parametrize("as_json", [False, True], ids=["told", "json"])
@pytest.mark.parametrize("verb", READ_ON_COMMAND_LINE, ids=[one.name for one in READ_ON_COMMAND_LINE])
def test_no_command_tells_a_secret(verb: Verb, home: Path, engram: Engram, *, as_json: bool) -> None:
    """Neither for eyes nor for programs."""
    assert verb.cli is not None
    memory = next(one for one in engram.list(limit=50) if "wifi" in one.content)
    given = asked(verb, memory.id)
    named = [
        str(given[one.name])
        for one in fields_of(verb.request)
        if one.hints.get("positional") and one.name in given
    ]
    store = ["--store", str(home / "memory.db"), *(["--json"] if as_json else [])]

    shown = CliRunner().invoke(app, [*verb.cli.words.split(), *named, *store])

    assert leaks(shown.output) == []


def test_no_export_or_notebook_holds_a_secret(home: Path, engram: Engram, tmp_path: Path) -> None:
    """Files for people are written without what is confidential; nothing of it is in a file's name."""
    exported = CliRunner().invoke(app, ["export", "--store", str(home / "memory.db")])
    engram.notebook_sync(tmp_path / "notes")
    written = [path for path in (tmp_path / "notes").rglob("*") if path.is_file()]

    assert leaks(exported.output) == []
    assert written
    for path in written:
        assert leaks(f"{path} {path.read_text(encoding='utf-8')}") == []


def test_no_hook_tells_a_secret(engram: Engram) -> None:
    """Nor what is put before an agent unasked, although the prompt names the secret."""
    for prompt in (PROMPT, UNRELATED, "what is the wifi password at Zoltan's cabin?"):
        block = memory_block(engram, prompt, session="s9", tokens=2000, is_known=lambda _: False)
        assert leaks(block.text if block else "") == []
        assert leaks(engram.context(prompt, session="s1").text) == []
        assert leaks(engram.context(prompt, session="s2").text) == []


def test_no_tool_or_resource_of_mcp_tells_a_secret(home: Path) -> None:
    """An agent is told that there is one, and not which, until it asks by name."""
    agent = Actor(name="bot", kind=ActorKind.AGENT)
    settings = Settings(home=home)
    with (
        Engram.open(settings=settings, embedder=TinyEmbedder(), background=False, actor=agent) as engram,
        talking(MemoryServer(Opening(lambda: engram), tools=ALL).sdk, mode="legacy") as talk,
    ):
        memory = next(one for one in engram.list(limit=50) if "wifi" in one.content)
        answer = str(talk.call("recall", query="what is the wifi password at Zoltan's cabin?"))
        assert leaks(answer) == ["Hunter2!x9", "hunter2"]
        for verb in [one for one in TOLD if one.mcp]:
            given = {
                name: value for name, value in asked(verb, memory.id).items() if name not in ("scope", "id")
            }
            if any(one.engine_name == "memory_id" for one in fields_of(verb.request)):
                given["memory"] = memory.id
            shown = ""
            with contextlib.suppress(Exception):  # what it refuses tells nothing either
                shown = str(talk.call(verb.mcp or "", **given))
            assert leaks(shown) == [], verb.name
        for resource in talk.ask("list_resources").resources:
            assert leaks(str(talk.ask("read_resource", str(resource.uri)))) == [], resource.uri


def test_the_page_tells_no_secret(engram: Engram) -> None:
    """Its overview and a question that names none."""
    client = client_of(create_app(engram))

    assert leaks(client.get("/").text + client.get("/", params={"q": PROMPT}).text) == []


def test_no_name_tag_or_topic_is_made_of_a_secret(engram: Engram) -> None:
    """The store itself has none among its entities, traits and summaries."""
    for name in ("Hunter2", "Hunter2!x9", "hunter2"):
        with pytest.raises(EngramError):
            engram.entity(name)
    for memory in engram.list(limit=50, reveal=True):
        assert leaks(as_text((memory.traits, memory.detail))) == []


def test_logs_hold_no_secret(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is done with secrets, on every level of detail."""
    with (
        caplog.at_level(logging.DEBUG),
        Engram.open(settings=Settings(home=home), embedder=TinyEmbedder(), background=False) as engram,
    ):
        engram.recall("what is the wifi password at Zoltan's cabin?")
        engram.context(PROMPT)
        engram.dream()

    assert leaks(caplog.text) == []


def test_asked_by_name_it_is_told_and_audited(engram: Engram) -> None:
    """The same store answers who asks for the very thing, and only that; the audit says so, without words."""
    answer = engram.recall("what is the wifi password at Zoltan's cabin?")

    told = [leaks(hit.memory.content) for hit in answer.hits]
    assert ["Hunter2!x9", "hunter2"] in told
    assert sum(bool(one) for one in told) == 1
    (shown,) = [one for one in engram.audit(limit=20) if one.action == "reveal"]
    assert leaks(as_text(shown)) == []


def test_a_mask_never_replaces_the_secret(engram: Engram) -> None:
    """Who read `[confidential]` and writes it back is refused, and the secret stays."""
    (memory,) = [one for one in engram.list(limit=50) if "wifi" in one.content][:1]

    with pytest.raises(EngramError, match="stands for a secret"):
        engram.correct(memory.id, memory.content)
    with pytest.raises(EngramError, match="stands for a secret"):
        engram.remember(memory.content)

    assert leaks(engram.get(memory.id, reveal=True).content)
    assert engram.pin(memory.id, expected_version=memory).pinned
