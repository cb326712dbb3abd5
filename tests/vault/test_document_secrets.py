"""Documents of other programs: an agent that looks among them sees no secret, a program gets its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from engramdb import Actor, Engram, Settings
from engramdb.capture.agents import AgentCapture
from engramdb.documents.store import DocumentStore
from engramdb.engine.auditing import CAPTURED, DOCUMENTS_WRITTEN
from engramdb.engine.disclosing import DOCUMENTS_FOUND
from engramdb.integrations.transcript import Transcript, TranscriptMessage
from engramdb.testing import TinyEmbedder
from engramdb.values import Action, ActorKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACE = ("notes",)
AGENT = Actor(name="bot", kind=ActorKind.AGENT)
SECRET = "471199"  # noqa: S105 - invented
SHAPES: dict[str, Any] = {
    "a text": f"The alarm code is {SECRET}.",
    "a field": {"text": f"The alarm code is {SECRET}."},
    "deep": {"page": [{"lines": ["Hello.", f"The alarm code is {SECRET}."]}]},
    "named by its field": {"alarm_code": SECRET},
    "in another spelling": {"house": {"alarmCode": SECRET}},
    "a number": {"alarm code": int(SECRET)},
    "several": {"alarm_code": ["none", SECRET]},
}


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    """A fresh store."""
    with Engram.open(settings=Settings(home=tmp_path), embedder=TinyEmbedder(), background=False) as engram:
        yield engram


def as_text(answer: object) -> str:
    """Return everything in an answer."""
    return msgspec.json.encode(answer, enc_hook=str).decode()


@pytest.mark.parametrize("value", SHAPES.values(), ids=SHAPES)
def test_an_agent_that_looks_among_documents_sees_no_secret(engram: Engram, value: object) -> None:
    """However deep it stands, and where only the name of its field tells."""
    engram.documents.put(PLACE, "a", value, text=f"The alarm code is {SECRET}.")
    seen = engram.shown_to("agent").documents

    found = [seen.search("alarm code", PLACE), seen.list(PLACE)]
    assert [len(one) for one in found] == [1, 1]
    assert SECRET not in as_text(found)
    assert "[confidential]" in as_text(found)
    assert seen.list(PLACE)[0].key == "a"


@pytest.mark.parametrize("value", SHAPES.values(), ids=SHAPES)
def test_a_program_gets_its_own_back_whole(engram: Engram, value: object) -> None:
    """By the key that it chose, and a person's program also by looking."""
    engram.documents.put(PLACE, "a", value)
    seen = engram.shown_to("agent").documents
    got = seen.get(PLACE, "a")

    assert got is not None
    assert got.value == value
    assert [one.value for one in seen.find(PLACE, "a")] == [value]
    assert [one.value for one in engram.documents.list(PLACE)] == [value]


def test_what_is_ordinary_stays_as_it_is(engram: Engram) -> None:
    """Values keep their kinds."""
    value = {"text": "Tea is nice", "count": 12, "is_done": True, "score": 0.5, "none": None, "tags": ["a"]}
    engram.documents.put(PLACE, "a", value)

    assert engram.shown_to("agent").documents.list(PLACE)[0].value == value


def test_a_transcript_of_an_agent_is_replayed_whole(tmp_path: Path) -> None:
    """A masked one would differ from what the program holds, and be heard once more."""
    said = [TranscriptMessage(value={"text": f"The alarm code is {SECRET}."}, role="user", text="Hello.")]
    with Engram.open(
        settings=Settings(home=tmp_path), embedder=TinyEmbedder(), background=False, actor=AGENT
    ) as engram:
        transcript = Transcript(engram, PLACE, session="s", scope=None)
        transcript.add(said)
        transcript.replace(said)

        assert transcript.values() == transcript.values(5) == [said[0].value]
        assert len(engram.turns(session="s")) == 1


def test_every_verb_of_a_part_is_decided() -> None:
    """A verb that is added later counts as a search until somebody says that it writes."""
    read = {"get", "list", "latest", "places", "find", "holders", "search"}

    assert public(DocumentStore) == DOCUMENTS_WRITTEN | read
    assert read >= DOCUMENTS_FOUND
    assert public(AgentCapture) == CAPTURED


def public(kind: type) -> set[str]:
    """Return the verbs of a class."""
    return {name for name, found in vars(kind).items() if callable(found) and not name.startswith("_")}


def test_a_verb_that_another_uses_leaves_no_row_of_its_own(engram: Engram) -> None:
    """One look is one row, also where `keep` looks further."""
    engram.documents.put(PLACE, "a", {"text": "Tea"})

    engram.documents.list(PLACE, keep=lambda item: engram.documents.get(PLACE, item.key) is not None)

    assert [one.action for one in engram.audit() if one.action.is_search] == [Action.DOCUMENTS]
