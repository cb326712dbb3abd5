"""A chat model in the whole engine: it reads the turns; when it fails the rules do, and `status` says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engramdb import Engram, Settings

from .chat_server import Answer, openai_says, serving, unused_url

if TYPE_CHECKING:
    from pathlib import Path

TURN = "I moved to Paris last year and honestly I love it."
STATEMENT: dict[str, Any] = {
    "turn": 1,
    "content": "Ann loves living in Paris",
    "category": "preference",
    "kind": "note",
    "confidence": 0.9,
    "importance": 0.6,
    "subject": "Ann",
    "predicate": "likes",
    "object": "Paris",
    "is_negated": False,
    "replaces": None,
    "entities": ["Paris"],
    "date": None,
    "verbatim": None,
}


def observe(path: Path, url: str) -> tuple[list[tuple[str, str]], Any]:
    """Observe one turn with a chat model at this address; return what is stored, by whom, and the status."""
    settings = Settings(embedder="static", chat="openai:small", chat_url=url, chat_timeout_seconds=5.0)
    with Engram.open(path, settings=settings, background=False) as engram:
        engram.observe(TURN, speaker="Ann", session="s")
        engram.flush()
        return [(one.content, one.extractor or "") for one in engram.list()], engram.status()


def test_a_chat_model_reads_the_turns(store_path: Path) -> None:
    """What was said is stored under the name of who read it, and the model's calls are counted."""
    with serving(*[openai_says(json.dumps({"statements": [STATEMENT]}))] * 3) as server:
        stored, status = observe(store_path, server.url)

    assert "".join(content for content, _ in stored).startswith("I moved to Paris last year")
    assert any(reader.startswith("model-extract") for _, reader in stored)
    assert sum(spent["calls"] for spent in status.chat.values()) >= 1


def test_the_rules_read_when_the_model_cannot_be_reached(store_path: Path) -> None:
    """Nothing is lost, and the failure is shown with its reason."""
    stored, status = observe(store_path, unused_url())

    assert any(content.startswith("I moved to Paris") for content, _ in stored)
    assert any(part.name == "chat model" and part.is_failing for part in status.parts)


def test_what_the_rules_read_is_not_labelled_as_the_models(store_path: Path) -> None:
    """A model that only makes something up loses nothing, and gets no credit."""
    made_up = STATEMENT | {"content": "Ann owns a red Ferrari", "object": "Ferrari"}
    with serving(*[openai_says(json.dumps({"statements": [made_up]}))] * 3) as server:
        stored, _ = observe(store_path, server.url)

    assert any(content.startswith("I moved to Paris") for content, _ in stored)
    assert not any("Ferrari" in content or reader.startswith("model-") for content, reader in stored)


def test_the_rules_read_when_the_model_talks_nonsense_twice(store_path: Path) -> None:
    """A reply that cannot be read is asked for once more, and then recorded as a failure."""
    with serving(*[Answer(b'{"choices": [{"message": {"content": "banana"}}]}')] * 4) as server:
        stored, status = observe(store_path, server.url)

    assert any(content.startswith("I moved to Paris") for content, _ in stored)
    assert any(part.name == "chat model" and part.is_failing for part in status.parts)
