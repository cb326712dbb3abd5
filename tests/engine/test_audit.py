"""The audit of the engine: searches without words, who did it by every way in, and what is kept."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Actor, Engram, Scope, Settings
from engramdb.acting import acting_as
from engramdb.engine.auditing import SEARCHED
from engramdb.integrations.tools import MemoryCalls
from engramdb.lifecycle.drafts import Draft
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Action, ActorKind, AuditEvent, Outcome, Provenance, Source, Surface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

AGENT = Actor(name="bot", kind=ActorKind.AGENT, surface=Surface.MCP, token="0" * 12)
ADA = Scope(user="ada")


@pytest.fixture
def engram(tmp_path: Path, clock: ManualClock) -> Iterator[Engram]:
    """A fresh store."""
    settings = Settings(home=tmp_path, audited_searches=5)
    with Engram.open(settings=settings, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        yield engram


def searches(engram: Engram) -> list[AuditEvent]:
    """Return the searches in the audit, newest first."""
    return [one for one in engram.audit(limit=1000) if one.action.is_search]


LOOKS: dict[str, Callable[[Engram, str], Any]] = {
    "recall": lambda engram, word: engram.recall(f"where is the {word}?", scope=ADA),
    "confidence": lambda engram, word: engram.confidence(f"where is the {word}?", scope=ADA),
    "timeline": lambda engram, word: engram.timeline(word, scope=ADA),
    "entity": lambda engram, _: engram.entity("Marta", scope=ADA),
    "reason": lambda engram, word: engram.reason(f"where is the {word}?", scope=ADA),
    "get": lambda engram, _: engram.get(newest(engram), scope=ADA),
    "history": lambda engram, _: engram.history(newest(engram), scope=ADA),
    "evidence": lambda engram, _: engram.evidence(newest(engram), scope=ADA),
    "links": lambda engram, _: engram.links(newest(engram), scope=ADA),
    "imported_from": lambda engram, _: engram.imported_from(newest(engram), scope=ADA),
    "list": lambda engram, _: engram.list(scope=ADA),
    "acts": lambda engram, _: engram.acts(scope=ADA),
    "forecast": lambda engram, _: engram.forecast(scope=ADA),
    "turns": lambda engram, _: engram.turns(scope=ADA),
    "gaps": lambda engram, _: engram.gaps(scope=ADA),
    "reflect": lambda engram, _: engram.reflect(scope=ADA),
    "domains": lambda engram, _: engram.domains(scope=ADA),
    "summaries": lambda engram, word: engram.summaries(word, scope=ADA),
    "context": lambda engram, word: engram.context(f"where is the {word}?", scope=ADA),
    "brief": lambda engram, _: engram.brief(scope=ADA),
    "questions_about": lambda engram, _: engram.questions_about([], scope=ADA),
    "working_memory": lambda engram, _: engram.working_memory(scope=ADA),
    "resume": lambda engram, _: engram.resume(scope=ADA),
    "export": lambda engram, _: list(engram.export(scope=ADA)),
}
_NEWEST: dict[int, str] = {}


def newest(engram: Engram) -> str:
    """Return the memory that the test has stored."""
    return _NEWEST[id(engram)]


def test_every_search_is_looked_at_here() -> None:
    """Whoever adds a verb that shows memories adds its row."""
    assert LOOKS.keys() == SEARCHED.keys()


@pytest.mark.parametrize("name", LOOKS)
def test_a_search_is_audited_without_its_words(engram: Engram, name: str) -> None:
    """Who looked, where, how much was shown; not what was asked or told."""
    word = f"zq{secrets.token_hex(5)}"
    _NEWEST[id(engram)] = engram.remember(f"Marta keeps the {word} in the shed", scope=ADA).id
    before = len(searches(engram))

    with acting_as(AGENT):
        LOOKS[name](engram, word)
    found = searches(engram)

    assert len(found) == before + 1
    assert (found[0].actor, found[0].action, found[0].scope) == (AGENT, SEARCHED[name], ADA)
    assert "results" in found[0].detail
    assert word not in str(found)


def test_the_same_question_has_the_same_mark_in_one_store_and_another_in_another(
    engram: Engram, tmp_path: Path
) -> None:
    """Searches can be told to belong together, and nobody can look words up in a table."""
    engram.recall("Where is the key?")
    engram.recall("where  is the KEY?")
    engram.recall("where is the lamp?")
    with Engram.open(tmp_path / "other.db", embedder=TinyEmbedder(), background=False) as other:
        other.recall("where is the key?")
        (elsewhere,) = (one.detail["question"] for one in searches(other))
    lamp, again, first = (one.detail["question"] for one in searches(engram))

    assert first == again
    assert len({first, lamp, elsewhere}) == 3


def test_a_search_says_how_secret_it_was_what_it_showed(engram: Engram) -> None:
    """Tiers are counted, so that it can be seen who has looked at confidential memories."""
    engram.remember("Tea is nice")
    engram.remember("My password for the bank is hunter2secret")
    engram.list()
    (row,) = searches(engram)

    assert row.detail["results"] == 2
    assert {name: row.detail.get(name) for name in ("cleartext", "confidential")} == {
        "cleartext": 1,
        "confidential": 1,
    }


def test_only_the_latest_searches_are_kept_and_every_write(engram: Engram) -> None:
    """The setting bounds what looking costs; what was done is kept for good."""
    for number in range(20):
        engram.recall(f"question {number}")
        engram.remember(f"Statement number {number} of many")

    events = engram.audit(limit=1000)

    assert sum(one.action.is_search for one in events) == 5
    assert sum(one.action is Action.REMEMBER for one in events) == 20


def test_a_search_waits_for_no_disk_and_is_written_at_the_end(tmp_path: Path) -> None:
    """It is in the file when the engine is closed, and readers did not wait for it."""
    path = tmp_path / "memory.db"
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        engram.recall("tea?")
        with engram._parts.store.read() as tx:
            meanwhile = tx.audit.recent(limit=10)
    with Engram.open(path, embedder=TinyEmbedder(), background=False) as engram:
        assert [one.action for one in engram.audit()] == [Action.RECALL]
    assert meanwhile == []


def test_an_erased_user_is_named_in_no_scope_of_the_audit(engram: Engram) -> None:
    """The rows stay, under the token that stands for the name."""
    engram.remember("I like tea", scope=ADA)
    engram.recall("tea?", scope=ADA)
    engram.erase(user="ada")
    engram.audit()

    with engram._parts.store.read() as tx:
        rows = tx.audit.recent(limit=100)
    assert not [one for one in rows if one.scope is not None and one.scope.user == "ada"]


@pytest.mark.parametrize("kind", [ActorKind.PERSON, ActorKind.AGENT])
@pytest.mark.parametrize("source", [None, *Source])
@pytest.mark.parametrize("way", ["remember", "remember_many", "correct"])
def test_whose_word_it_is_follows_from_who_says_it(
    engram: Engram, kind: ActorKind, source: Source | None, way: str
) -> None:
    """By every way in: a person's own word is worth most, a relayed one less, a conclusion least."""
    actor = Actor(name="one", kind=kind, surface=Surface.HTTP)
    said = source or (Source.HUMAN if kind is ActorKind.PERSON else Source.ASSISTANT)
    with acting_as(actor):
        if way == "remember":
            memory = engram.remember("The depot opens at six", source=source, confidence=1.0)
        elif way == "remember_many":
            draft = Draft(
                content="The depot opens at six", provenance=Provenance(source=said), confidence=1.0
            )
            (memory,) = engram.remember_many([draft])
        else:
            old = engram.remember("The depot opens at ten", source=source)
            memory = engram.correct(old.id, "The depot opens at six")

    is_relayed = said is Source.HUMAN and kind is ActorKind.AGENT
    assert memory.provenance.source is said
    assert memory.provenance.relayed_by == ("one" if is_relayed else None)
    limit = 0.9 if said is not Source.HUMAN else 0.95 if is_relayed else 1.0
    assert memory.confidence == limit
    assert engram.history(memory.id)[0].actor == actor


def test_an_agents_word_stays_below_a_persons_whatever_it_repeats_merges_or_supersedes(
    engram: Engram,
) -> None:
    """No way of gaining confidence leads an agent's own conclusion past its limit."""
    agent = Actor(name="bot", kind=ActorKind.AGENT)
    with acting_as(agent):
        for words in ("I live in Bonn", "I live in Bonn", "I live in Mainz now", "I live in Mainz now"):
            engram.remember(words)
    engram.dream()

    assert max(one.confidence for one in engram.list()) <= 0.9


def test_hooks_hand_on_what_was_typed_and_other_agents_relay(engram: Engram) -> None:
    """The program that the person types into stands between nobody; an agent that reports does."""
    hook = Actor(name="claude-code", kind=ActorKind.AGENT, surface=Surface.HOOK)
    with acting_as(hook):
        typed = engram.observe("I moved to Ghent", session="a")
    with acting_as(AGENT):
        relayed = engram.observe("I moved to Ghent", session="b")
        concluded = engram.observe("The user moved to Ghent", role="assistant", session="b")

    assert (typed.relayed_by, relayed.relayed_by, concluded.relayed_by) == (None, "bot", None)
    assert [one.relayed_by for one in engram.turns(session="b")] == ["bot", None]


def test_what_a_model_calls_is_the_agents(engram: Engram) -> None:
    """Whoever runs the program: its tools are called by a model, searches too."""
    calls = MemoryCalls(engram, session="s", scope=None)
    asyncio.run(calls.remember("The depot opens at six"))
    asyncio.run(calls.recall("when does the depot open?"))

    actors = {one.actor for one in engram.audit() if one.actor.kind is not ActorKind.RULE}
    assert actors == {Actor(name="agent", kind=ActorKind.AGENT, surface=Surface.INTEGRATION)}


def test_a_failed_write_is_audited_by_its_code(engram: Engram) -> None:
    """Neither the words nor the id that was wrong."""
    with pytest.raises(Exception, match="no memory"):
        engram.pin("zqnonsense words that may be a memory")

    (row,) = engram.audit()
    assert (row.action, row.outcome, row.detail) == (Action.PIN, Outcome.FAILED, {"reason": "E5005"})


def test_documents_are_audited_too(engram: Engram) -> None:
    """Reading and searching among what other programs store."""
    engram.documents.put(("notes",), "a", {"text": "zqtea"}, text="Tea is nice")
    engram.documents.search("zqtea", ("notes",))
    engram.documents.get(("notes",), "a")

    found = searches(engram)
    assert [one.action for one in found] == [Action.DOCUMENTS] * 2
    assert "zqtea" not in str(engram.audit())


@pytest.mark.parametrize("way", ["recall", "get", "list"])
def test_a_secret_that_is_shown_is_audited_where_it_belongs(engram: Engram, way: str) -> None:
    """Whose secret it was can be asked by the scope."""
    bob = Scope(user="bob")
    memory = engram.remember("My password for the bank is hunter2secret", scope=bob)
    if way == "recall":
        engram.recall("what is my password for the bank?", scope=bob)
    elif way == "get":
        engram.get(memory.id, scope=bob, reveal=True)
    else:
        engram.list(scope=bob, reveal=True)

    (row,) = [one for one in engram.audit(scope=bob) if one.action is Action.REVEAL]
    assert (row.target, row.scope) == (memory.id, bob)


def test_denials_are_counted_while_another_write_takes_long(engram: Engram, clock: ManualClock) -> None:
    """One that has to be written waits for the store; one that is only counted does not wait for that."""
    log, agent = engram.audit_log, Actor(name="bot", kind=ActorKind.AGENT)

    def deny(reason: str, times: int = 1) -> None:
        for _ in range(times):
            log.note(Action.RECALL, Outcome.DENIED, actor=agent, scope=None, reason=reason)

    deny("old", times=3)
    clock.advance(seconds=50)
    deny("again", times=2)
    clock.advance(seconds=20)
    with engram._own_parts.store.atomic():
        writing = threading.Thread(target=deny, args=("new",))
        writing.start()
        counting = threading.Thread(target=deny, args=("again",))
        time.sleep(0.3)
        counting.start()
        counting.join(timeout=3)
        is_counted = not counting.is_alive()
    for one in (writing, counting):
        one.join(timeout=30)
    log.close()

    assert is_counted
    told = {one.detail["reason"]: one.detail.get("times", 1) for one in engram.audit(outcome=Outcome.DENIED)}
    assert told == {"old": 3, "again": 3, "new": 1}
