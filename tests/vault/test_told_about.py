"""What is told about a secret tells nothing of it: reasons, counts in the audit, briefs, hints, turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner

from engramdb import Engram, Settings
from engramdb.cli.main import app
from engramdb.errors import EngramError, StoreReadOnly
from engramdb.hooks.respond import memory_block
from engramdb.testing import TinyEmbedder
from engramdb.values import Action, Actor, ActorKind, AuditEvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOLD = "Nora's alarm code is 7788 and she lives in Ghent"
BETTER = "Nora's alarm code is 9911 and she lives in Ghent"


@pytest.fixture
def engram(tmp_path: Path) -> Iterator[Engram]:
    """An empty store, opened by a person."""
    with Engram.open(settings=Settings(home=tmp_path), embedder=TinyEmbedder(), background=False) as engram:
        yield engram


def as_text(answer: object) -> str:
    """Return everything in an answer."""
    return msgspec.json.encode(answer, enc_hook=str).decode()


@pytest.mark.parametrize("kind", [ActorKind.PERSON, ActorKind.AGENT])
def test_no_reason_gives_a_secret_away(tmp_path: Path, kind: ActorKind) -> None:
    """Not of a correction, a link, a status or an undo, in the history of either memory or over time."""
    with Engram.open(
        settings=Settings(home=tmp_path), embedder=TinyEmbedder(), background=False, actor=Actor(kind=kind)
    ) as engram:
        old = engram.remember(TOLD).id
        other = engram.remember("Nora keeps bees").id
        engram.link(other, old, reason="opens with 7788")
        new = engram.correct(old, BETTER, reason="was 7788 before, 5512 in spring").id
        engram.forget(new, reason="9911 is no longer used, nor 7788")

        told = [as_text(engram.history(one)) for one in (old, new, other)]
        told += [as_text(engram.timeline("Nora")), as_text(engram.acts()), as_text(engram.audit())]
        told += [as_text(engram.evidence(old)), as_text(engram.gaps())]

    assert [one for one in told for code in ("7788", "9911", "5512") if f"{code}" in _without_ids(one)] == []
    assert "[confidential] before" in told[0]


def _without_ids(told: str) -> str:
    """Return an answer without ids and moments, in which any digits may stand."""
    words = told.replace('"', " ").split()
    return " ".join(one for one in words if not (len(one) > 20 or one.count(":") > 1))


def test_a_reason_that_an_older_version_stored_is_masked_when_it_is_read(engram: Engram) -> None:
    """Rows of before are not rewritten, and not shown whole either."""
    old = engram.remember(TOLD).id
    engram.correct(old, BETTER, reason="mistyped")
    with engram._parts.store.atomic() as tx:
        (event,) = [one for one in tx.history.of(old) if one.reason == "mistyped"]
        tx.history.add(msgspec.structs.replace(event, reason="was 7788 or 5512, and 9911 is new"))

    told = [one.reason for one in engram.history(old)]

    assert told[-1] == "was [confidential] or [confidential], and [confidential] is new"


def test_what_is_put_before_an_agent_keeps_the_words_around_a_secret(engram: Engram) -> None:
    """In a hook and in the brief, Nora still lives in Ghent."""
    engram.remember(TOLD)
    masked = "Nora's alarm code is [confidential] and she lives in Ghent"

    block = memory_block(engram, "where does Nora live?", session="s", tokens=800, is_known=lambda _: False)

    assert block is not None
    assert masked in block.text
    assert masked in engram.brief().text


def test_the_audit_counts_as_revealed_only_what_was(engram: Engram) -> None:
    """A mask is no secret that was shown."""
    memory_id = engram.remember(TOLD).id
    engram.get(memory_id)
    engram.list()
    engram.recall("where does Nora live?")
    assert [one.detail.get("revealed", 0) for one in _reads(engram)] == [0, 0, 0]

    engram.get(memory_id, reveal=True)
    engram.recall("what is Nora's alarm code?")

    assert [one.detail.get("revealed", 0) for one in _reads(engram)][:2] == [1, 1]


def test_where_the_audit_cannot_be_written_secrets_stay_masked_and_the_answer_says_so(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a read-only disk, for example; `get` and `list` say it in their error."""
    memory_id = engram.remember(TOLD).id

    def refuse(_secret: object) -> None:
        raise StoreReadOnly("the store can be read and not written")

    monkeypatch.setattr(engram, "_audit_reveal", refuse)
    answer = engram.recall("what is Nora's alarm code?")

    assert "7788" not in as_text(answer)
    assert [(one.index, "audit" in one.reason) for one in answer.quality.missing] == [("secrets", True)]
    with pytest.raises(StoreReadOnly) as refused:
        engram.get(memory_id, reveal=True)
    assert "audit" in refused.value.hint


def _reads(engram: Engram) -> list[AuditEvent]:
    """Return the audited reads, newest first."""
    return [
        one for one in engram.audit(limit=50) if "results" in one.detail and one.action is not Action.REMEMBER
    ]


def test_a_masked_copy_replaces_no_document_and_no_import_a_memory(engram: Engram) -> None:
    """What a masked list showed cannot be put back over the secret."""
    engram.documents.put(("notes",), "wifi", {"text": "the wifi password is Hunter2!x9"})
    engram.remember("the wifi password is Hunter2!x9")

    with pytest.raises(EngramError, match="stands for a secret"):
        engram.documents.put(("notes",), "wifi", {"text": "the wifi password is [confidential]"})
    report = engram.import_text("notes.md", "the wifi password is [confidential]")

    assert (report.added, report.refused) == (0, 1)
    assert "Hunter2!x9" in str(engram.documents.get(("notes",), "wifi"))
    assert any("Hunter2!x9" in one.content for one in engram.list(reveal=True))


CARD = "4111 1111 1111 1111"


def test_a_secret_that_was_only_said_is_told_to_who_asks_for_it_by_name(engram: Engram) -> None:
    """Like that of a memory, and audited like it; who asks for something else sees a mask."""
    engram.observe(f"my visa card {CARD} exp 09/27 cvv 123", session="s")
    engram.flush()

    assert CARD not in as_text(engram.recall("what do I pay with, my visa?"))
    assert not [one for one in engram.audit(limit=50) if one.action is Action.REVEAL]

    assert CARD in as_text(engram.recall("what is my visa card number?"))
    assert [one for one in engram.audit(limit=50) if one.action is Action.REVEAL]
    assert CARD not in as_text(engram.recall("what is the wifi password?"))


@pytest.mark.parametrize("words", [["list"], ["get", "ID"], ["recall", "where does Nora live?"]])
def test_the_command_line_says_how_to_see_a_mask(tmp_path: Path, words: list[str]) -> None:
    """One line beside the result, and none where a program reads it."""
    with Engram.open(settings=Settings(home=tmp_path), embedder=TinyEmbedder(), background=False) as engram:
        memory_id = engram.remember(TOLD).id
    given = [memory_id if one == "ID" else one for one in words]
    store = ["--store", str(tmp_path / "memory.db")]

    assert "--reveal" in CliRunner().invoke(app, [*given, *store]).stderr
    assert "--reveal" not in CliRunner().invoke(app, [*given, *store, "--json"]).output
