"""Forgotten stays forgotten: by no way in, in no words, until the person brings it back."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from msgspec.structs import replace

from engramdb import Engram, Scope, Settings, Source
from engramdb.dream.service import statement_tools
from engramdb.errors import EngramError, StatementForgotten, StatusNotAllowed
from engramdb.importing.source import SourceMessage
from engramdb.lifecycle.admission import EmbedsTexts, admit, prepare, save
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.service import ECHO
from engramdb.lifecycle.sketches import SketchKey
from engramdb.lifecycle.write import AdmissionOutcome
from engramdb.text.identity import FORGOTTEN_WORDS
from engramdb.values import BELIEVED, Action, Filters, Memory, Outcome, Role, Status
from evals.beliefs.ways_in import AGENT, IN_THE_USERS_NAME, WEAK_WAYS, SharedStore, WayIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from engramdb.testing import ManualClock

ANN = Scope(user="ann")
FACT = "My ex Leandro still has a key to the flat"
OTHER_WORDS = "a key to the user's flat is still in the hands of their ex, Leandro"
WAYS = WEAK_WAYS | IN_THE_USERS_NAME


@pytest.fixture
def store(store_path: Path, clock: ManualClock, tmp_path: Path) -> Iterator[SharedStore]:
    """A store that a person and an agent have open."""
    settings = Settings(embedder="static")
    with (
        Engram.open(store_path, settings=settings, clock=clock, background=False) as person,
        Engram.open(store_path, settings=settings, clock=clock, background=False, actor=AGENT) as agent,
    ):
        yield SharedStore(person, agent, clock, tmp_path)


def forget(store: SharedStore, words: str = FACT, *, scope: Scope = ANN) -> Memory:
    """Let the person state something and have it forgotten, an hour ago."""
    memory = store.person.remember(words, scope=scope)
    gone = store.person.forget(memory.id, reason="please forget that", scope=scope)
    store.clock.advance(hours=1)
    return gone


def known(engram: Engram, scope: Scope = ANN) -> list[str]:
    """Return what is held to be true."""
    return [one.content for one in engram.list(scope=scope, filters=Filters(statuses=BELIEVED))]


def shown(engram: Engram, *, session: str | None = None, scope: Scope = ANN) -> str:
    """Return all that an agent would be shown."""
    window = engram.context("what do you know about the flat key?", session=session, scope=scope, budget=4000)
    answer = engram.recall("who has a key to the flat?", scope=scope)
    texts = [window.text, engram.brief(scope=scope).text]
    texts += [hit.memory.content for hit in answer.hits] + [one.excerpt for one in answer.said]
    return "\n".join(texts + known(engram, scope))


# --- every way in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [FACT, OTHER_WORDS], ids=["same words", "other words"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_way_in_brings_it_back(store: SharedStore, way: WayIn, words: str) -> None:
    """Agents, assistants, tools, files, documents and other people: nothing is stored, nothing is shown."""
    forget(store)

    with suppress(EngramError):
        way(store, ANN, words)
    store.person.dream()

    assert not [one for one in known(store.person) if "Leandro" in one]
    assert "Leandro" not in shown(store.person)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_innocent_comes_in_as_ever(store: SharedStore, way: WayIn) -> None:
    """The same people and things may be spoken of."""
    innocent = "The lock of the cellar was replaced by a locksmith from Valencia in spring"
    forget(store)

    way(store, Scope(user="bob"), innocent)
    way(store, ANN, innocent)

    assert len(known(store.person)) == len(known(store.person, Scope(user="bob")))


def test_the_ways_in_are_open_where_nothing_looks_for_the_forgotten(store: SharedStore) -> None:
    """What is withheld is withheld by the sketches, and by nothing else."""
    pipeline = replace(store.agent._parts.pipeline, forgotten=None)
    store.agent._parts.__dict__["pipeline"] = pipeline
    forget(store)

    store.agent.remember(FACT, source=Source.ASSISTANT, scope=ANN)

    assert known(store.person) == [FACT]


def test_an_agents_correction_does_not_bring_it_back(store: SharedStore) -> None:
    """The memory that was to be corrected stays as it was."""
    forget(store)
    other = store.person.remember("The flat is in Lisbon", scope=ANN)

    with pytest.raises(StatementForgotten):
        store.agent.correct(other.id, OTHER_WORDS, scope=ANN)

    assert store.person.get(other.id, scope=ANN).status is Status.ACTIVE
    assert known(store.person) == ["The flat is in Lisbon"]


def test_an_agent_cannot_change_its_status_back(store: SharedStore) -> None:
    """Only a person may, as the error says."""
    gone = forget(store)

    with pytest.raises(StatementForgotten):
        store.agent.set_status(gone.id, Status.ACTIVE, reason="it seems useful", scope=ANN)

    assert known(store.person) == []


def test_a_dream_does_not_state_it(store: SharedStore) -> None:
    """What a dream would conclude is looked at as any other statement."""
    forget(store)
    memory = Memory(
        id="one",
        content=OTHER_WORDS,
        created_at=store.clock.now(),
        updated_at=store.clock.now(),
        scope=ANN,
        extractor="dream.patterns",
    )

    with pytest.raises(StatementForgotten):
        statement_tools(store.person._parts).screen(memory)


def test_an_import_names_the_record_that_it_left_out(store: SharedStore, tmp_path: Path) -> None:
    """By its place and the code of the reason; the others come in."""
    file = tmp_path / "rows.jsonl"
    contents = (OTHER_WORDS, "Maya drinks green tea")
    file.write_text("\n".join(json.dumps({"content": one}) for one in contents))
    forget(store)

    report = store.person.import_from(file, kind="jsonl", scope=ANN)

    assert report.by_code == {StatementForgotten.code: 1}
    assert (report.added, report.refused) == (1, 1)
    assert known(store.person) == ["Maya drinks green tea"]


def test_of_many_statements_all_others_are_stored(store: SharedStore) -> None:
    """And the error says so."""
    forget(store)
    drafts = [Draft(content=words, scope=ANN) for words in ("I drink tea", OTHER_WORDS, "I live in Bonn")]

    with pytest.raises(StatementForgotten, match=r"1 statement was not stored.*all others are stored"):
        store.agent.remember_many(drafts)

    assert sorted(known(store.person)) == ["I drink tea", "I live in Bonn"]


def test_an_agent_is_told_and_the_audit_notes_it(store: SharedStore) -> None:
    """With the day, and never with the words."""
    forget(store)

    with pytest.raises(StatementForgotten) as told:
        store.agent.remember(OTHER_WORDS, scope=ANN)

    call, event = store.person.audit(limit=2)
    assert told.value.message == "not stored: the person asked to forget this on 2026-01-01"
    assert "Leandro" not in str(told.value)
    assert (event.action, event.actor.name) == (Action.REJECT, AGENT.name)
    assert event.detail == {"code": StatementForgotten.code}
    assert (call.action, call.actor.name, call.outcome) == (Action.REMEMBER, AGENT.name, Outcome.DENIED)
    assert "Leandro" not in str(call.detail)


def test_what_was_forgotten_between_the_look_and_the_write_is_withheld(store: SharedStore) -> None:
    """The last look is in the write itself."""
    pipeline = store.agent._parts.pipeline
    memory = store.person.remember(FACT, scope=ANN)
    prepared = prepare([Draft(content=OTHER_WORDS, scope=ANN)], pipeline, now=store.clock.now())
    store.person.forget(memory.id, scope=ANN)

    with pipeline.store.atomic() as tx:
        (admission,) = save(tx, prepared, pipeline, actor=AGENT, now=store.clock.now())

    assert admission.outcome is AdmissionOutcome.WITHHELD
    assert known(store.person) == []


class _ForgetsMeanwhile:
    """An embedder that lets somebody else act after it has embedded, before the write begins."""

    def __init__(self, embedder: EmbedsTexts, act: Callable[[], object]) -> None:
        self._embedder, self._act = embedder, act
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Embed, and let the other one act the first time."""
        rows = self._embedder.embed_documents(texts)
        self.calls += 1
        if self.calls == 1:
            self._act()
        return rows


def test_words_that_a_statement_leans_on_are_left_out_where_they_are_forgotten_meanwhile(
    store: SharedStore,
) -> None:
    """The statement is prepared again, outside the write, and its vector knows nothing of them either."""
    memory = store.person.remember(FACT, scope=ANN)
    pipeline = store.agent._parts.pipeline
    embedder = _ForgetsMeanwhile(pipeline.embedder, lambda: store.person.forget(memory.id, scope=ANN))
    racing = replace(pipeline, embedder=embedder)
    draft = Draft(content="Yes, since March", scope=ANN, answers=FACT)

    (admission,) = admit([draft], racing, actor=AGENT, now=store.clock.now())

    assert admission.memory.answers == FORGOTTEN_WORDS
    assert admission.is_embedded
    assert embedder.calls == 2


def test_a_late_look_in_the_write_leaves_them_out_too(store: SharedStore) -> None:
    """The vector that was made with them is not stored: it is made later from what is left."""
    pipeline = store.agent._parts.pipeline
    memory = store.person.remember(FACT, scope=ANN)
    draft = Draft(content="Yes, since March", scope=ANN, answers=FACT)
    prepared = prepare([draft], pipeline, now=store.clock.now())
    store.person.forget(memory.id, scope=ANN)

    with pipeline.store.atomic() as tx:
        (admission,) = save(tx, prepared, pipeline, actor=AGENT, now=store.clock.now())

    assert admission.memory.answers == FORGOTTEN_WORDS
    assert not admission.is_embedded


# --- the person ---------------------------------------------------------------------------------------------


def test_the_person_brings_it_back_and_is_told(store: SharedStore) -> None:
    """By stating it; from then on it is a statement like any other."""
    forget(store)

    memory = store.person.remember(OTHER_WORDS, scope=ANN)
    again = store.agent.remember(FACT, source=Source.ASSISTANT, scope=ANN)

    assert memory.forgotten_before == "2026-01-01"
    assert memory.id in {one.id for one in store.person.list(scope=ANN)}
    assert again.forgotten_before is None


def test_the_person_brings_it_back_in_conversation(store: SharedStore) -> None:
    """In their own words, said after the forgetting."""
    forget(store)

    store.agent.observe(FACT, role="user", session="later", scope=ANN)
    store.agent.flush()

    (memory,) = [one for one in store.person.list(scope=ANN) if "Leandro" in one.content]
    assert memory.forgotten_before == "2026-01-01"
    assert "Leandro" in shown(store.person, session="later")


def test_what_was_said_before_and_is_read_after_stays_away(store: SharedStore) -> None:
    """A turn that waits while its words are forgotten says nothing new."""
    store.person.observe(OTHER_WORDS, role="user", session="first", scope=ANN)
    forget(store)

    store.person.flush()

    assert known(store.person) == []


def test_a_wish_to_forget_does_not_say_it_again(store: SharedStore) -> None:
    """Whoever asks a second time names what must go."""
    forget(store)

    store.agent.observe(f"I told you to forget that {FACT}!", role="user", session="later", scope=ANN)
    store.agent.flush()

    assert "Leandro" not in shown(store.person, session="later")


def test_the_person_undoes_it_by_its_status(store: SharedStore) -> None:
    """The memory counts again, and agents may speak of it."""
    gone = forget(store)

    store.person.set_status(gone.id, Status.ACTIVE, reason="after all", scope=ANN)
    store.agent.remember(FACT, source=Source.ASSISTANT, scope=ANN)

    assert known(store.person) == [FACT]


def test_undoing_the_forgetting_lets_it_come_back_and_undoing_that_does_not(store: SharedStore) -> None:
    """What others had stored of it comes back with it."""
    memory = store.person.remember(FACT, scope=ANN)
    store.agent.remember(OTHER_WORDS, source=Source.ASSISTANT, scope=ANN)
    before = sorted(known(store.person))
    store.person.forget(memory.id, scope=ANN)

    undone = store.person.undo(scope=ANN)
    back = sorted(known(store.person))
    store.person.undo(act=undone.act, scope=ANN)

    assert back == before
    assert known(store.person) == []
    with pytest.raises(StatementForgotten):
        store.agent.remember(OTHER_WORDS, source=Source.ASSISTANT, scope=ANN)


def test_undoing_the_forgetting_of_something_archived_lets_its_words_back(store: SharedStore) -> None:
    """It did not count before and does not afterwards, but nobody wishes any more that it stays unsaid."""
    memory = store.person.remember(FACT, scope=ANN)
    store.person.set_status(memory.id, Status.ARCHIVED, reason="not needed", scope=ANN)
    store.person.forget(memory.id, scope=ANN)

    store.person.undo(scope=ANN)
    store.agent.remember(OTHER_WORDS, source=Source.ASSISTANT, scope=ANN)

    assert store.person.get(memory.id, scope=ANN).status is Status.ARCHIVED
    assert known(store.person) == [OTHER_WORDS]


def test_what_the_person_brought_back_and_took_back_again_stays_away(store: SharedStore) -> None:
    """Undoing the statement undoes what it had allowed."""
    forget(store)
    store.person.remember(OTHER_WORDS, scope=ANN)

    store.person.undo(scope=ANN)

    with pytest.raises(StatementForgotten):
        store.agent.remember(FACT, source=Source.ASSISTANT, scope=ANN)


# --- what goes along ----------------------------------------------------------------------------------------


def test_the_words_leave_the_window_of_their_session(store: SharedStore) -> None:
    """The sentence and the assistant's echo of it, in the history, in what was said and among the turns."""
    store.person.observe(f"{FACT}. The rent is due on Monday.", role="user", session="s", scope=ANN)
    store.person.observe(
        "It is unsettling that Leandro still has a key.", role="assistant", session="s", scope=ANN
    )
    store.person.flush()
    for memory in store.person.list(scope=ANN):
        if memory.content == FACT:
            store.person.forget(memory.id, scope=ANN)

    window = shown(store.person, session="s")
    turns = [turn.content for turn in store.person.turns(session="s", scope=ANN)]
    given = store.person.context(
        "hello", history=[{"role": "user", "content": FACT}], scope=ANN, budget=2000
    ).text

    assert "Leandro" not in window + given
    assert turns == ["[forgotten] The rent is due on Monday.", "[forgotten]"]
    assert "The rent is due on Monday." in window


def test_what_others_stored_of_it_goes_along(store: SharedStore) -> None:
    """An assistant's words tell it as well as the person's own."""
    memory = store.person.remember(FACT, scope=ANN)
    echo = store.agent.remember(OTHER_WORDS, source=Source.ASSISTANT, scope=ANN)
    other = store.agent.remember("The user's flat has two rooms", source=Source.ASSISTANT, scope=ANN)

    store.person.forget(memory.id, scope=ANN)

    assert echo.id != memory.id
    assert store.person.history(echo.id, scope=ANN)[-1].reason == ECHO
    assert [one.id for one in store.person.list(scope=ANN)] == [other.id]


def test_what_names_another_code_does_not_go_along(store: SharedStore) -> None:
    """Letters and digits in turn are one name, however many of them two codes share."""
    kept = "deployment cebe3f6a"
    memory = store.person.remember("deployment 3f6a02ce", scope=ANN)
    store.agent.remember(kept, source=Source.ASSISTANT, scope=ANN)

    store.person.forget(memory.id, scope=ANN)

    assert known(store.person) == [kept]


def test_numbers_that_share_a_code_are_told_apart_by_the_words(store: SharedStore) -> None:
    """As long as they are in the store: one word in a thousand has the code of another."""
    forget(store, "deployment 7")
    with store.person._parts.store.read() as tx:
        key = SketchKey(tx.forgotten.key(), tx.scopes.find(ANN) or 0)
    twin = next(number for number in range(8, 100_000) if key.coded([str(number)]) == key.coded(["7"]))

    store.agent.remember(f"deployment {twin}", source=Source.ASSISTANT, scope=ANN)

    assert known(store.person) == [f"deployment {twin}"]


def test_a_session_is_summed_up_without_it(store: SharedStore) -> None:
    """Whatever else was said there."""
    for words in (FACT, "The rent is due on Monday", "We bake bread on Sundays", "I keep bees on the roof"):
        store.person.observe(words, role="user", session="s", scope=ANN)
    store.person.flush()
    (memory,) = [one for one in store.person.list(scope=ANN) if one.content == FACT]
    store.person.forget(memory.id, scope=ANN)

    summary = store.person.end_session("s", scope=ANN)

    assert summary is None or "Leandro" not in summary.content
    assert "Leandro" not in shown(store.person, session="s")


def test_a_live_log_does_not_bring_back_what_the_person_had_said_before(store: SharedStore) -> None:
    """The log of a session tells of the forgotten prompt once more."""
    told = SourceMessage(content=FACT, place="log", role=Role.ASSISTANT, session="s", key="one")
    forget(store)

    store.agent.read_due(store.agent.hear([told], scope=ANN))
    store.agent.flush()

    assert "Leandro" not in shown(store.person, session="s")


# --- where it holds -----------------------------------------------------------------------------------------


def test_it_holds_after_the_store_was_closed(store_path: Path, clock: ManualClock) -> None:
    """For every process that opens it."""
    settings = Settings(embedder="static")
    with Engram.open(store_path, settings=settings, clock=clock, background=False) as engram:
        engram.forget(engram.remember(FACT, scope=ANN).id, scope=ANN)

    with Engram.open(store_path, settings=settings, clock=clock, background=False, actor=AGENT) as agent:
        for words in (FACT, OTHER_WORDS):
            with pytest.raises(StatementForgotten):
                agent.remember(words, scope=ANN)


def test_it_holds_in_no_other_scope_but_narrower_ones(store: SharedStore) -> None:
    """A narrower scope sees the same memories; another user, and a wider scope, learn nothing of it."""
    place = Scope(project="shop", user="ann")
    forget(store, scope=place)

    for other in (Scope(project="shop", user="bob"), Scope(project="shop"), Scope(user="ann"), Scope()):
        assert store.agent.remember(FACT, source=Source.ASSISTANT, scope=other).content == FACT
    with pytest.raises(StatementForgotten):
        store.agent.remember(OTHER_WORDS, scope=Scope(project="shop", user="ann", agent="coder"))


def test_what_is_brought_back_in_a_narrower_scope_stays_forgotten_in_the_wider_one(
    store: SharedStore,
) -> None:
    """Nobody changes what belongs to a wider scope from a narrower one."""
    forget(store, scope=Scope())

    store.person.remember(FACT, scope=ANN)

    with pytest.raises(StatementForgotten):
        store.agent.remember(FACT, source=Source.ASSISTANT, scope=Scope())


@pytest.mark.parametrize("words", [FACT, OTHER_WORDS], ids=["same words", "other words"])
def test_it_holds_when_the_words_are_erased(store: SharedStore, words: str) -> None:
    """What is left of an erased memory recognizes it, and holds none of its words."""
    memory = store.person.remember(FACT, scope=ANN)
    store.person.erase(memory.id, scope=ANN)

    with pytest.raises(StatementForgotten):
        store.agent.remember(words, source=Source.ASSISTANT, scope=ANN)


def test_nothing_is_left_of_a_user_who_was_erased(store: SharedStore, store_path: Path) -> None:
    """The sketches go with everything else."""
    forget(store)
    with suppress(StatementForgotten):  # so that the sketch is there
        store.agent.remember(FACT, scope=ANN)

    store.person.erase(user="ann")

    assert rows(store_path) == []


@pytest.mark.parametrize("is_erased", [False, True], ids=["forgotten", "erased"])
def test_no_word_is_in_the_sketch(store: SharedStore, store_path: Path, *, is_erased: bool) -> None:
    """Nor in any other column of the table."""
    memory = store.person.remember(FACT, scope=ANN)
    (store.person.erase if is_erased else store.person.forget)(memory.id, scope=ANN)
    with suppress(StatementForgotten):
        store.agent.remember(FACT, scope=ANN)

    (row,) = rows(store_path)
    written = b" ".join(one if isinstance(one, bytes) else str(one).encode() for one in row)

    assert isinstance(row[-1], bytes)
    for word in FACT.casefold().split():
        if len(word) > 3:
            assert word.encode() not in written.lower()


def test_what_a_rule_took_away_may_come_back(store: SharedStore) -> None:
    """Nobody asked for it to be forgotten."""
    until = store.clock.now()
    store.clock.advance(days=-1)
    store.person.remember(FACT, forget_after=until, scope=ANN)
    store.clock.advance(days=3)
    store.person.age()

    store.agent.remember(FACT, source=Source.ASSISTANT, scope=ANN)

    assert known(store.person) == [FACT]


def test_a_program_may_store_again_what_it_had_removed(store: SharedStore) -> None:
    """Its own housekeeping is nobody's wish to forget."""
    documents = store.agent.documents
    documents.put(("notes",), "n1", {"text": FACT}, text=FACT, scope=ANN)
    documents.remove(("notes",), "n1", scope=ANN)

    documents.put(("notes",), "n1", {"text": FACT}, text=FACT, scope=ANN)

    assert known(store.person) == [FACT]


def test_only_the_person_restores_it(store: SharedStore) -> None:
    """An agent restores what a rule removed, and nothing else."""
    gone = forget(store)

    with pytest.raises(StatusNotAllowed):
        store.agent.restore(gone.id, scope=ANN)
    store.person.restore(gone.id, scope=ANN)
    store.agent.remember(FACT, source=Source.ASSISTANT, scope=ANN)

    assert known(store.person) == [FACT]


def rows(path: Path) -> list[tuple[object, ...]]:
    """Return the table as it is in the file."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("SELECT number, scope, memory, at, since, sketch FROM forgotten").fetchall()
    connection.close()
    return found
