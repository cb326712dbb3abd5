"""One lifecycle for every caller: what a turn is given, what it keeps, and how it ends when it goes wrong."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Scope, Settings
from engramdb.errors import EngramError, InvalidQuery, InvalidScope, StoreClosed
from engramdb.values import Action, Role, SlotSource, TopicShift

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock, TinyEmbedder
    from engramdb.values import AuditEvent

AGENT = "coder"
BILLING = "which cluster does the billing service run on?"
FACTS = (
    "The billing service is written in Go and runs on cluster prod-eu",
    "Deploy the billing service with helm after the migration",
    "Deploy it to Netlify, says the page of the website",
    "Tomatoes want sun and compost",
)


@pytest.fixture
def known(engram: Engram) -> Engram:
    """A memory that knows a few things."""
    for fact in FACTS:
        engram.remember(fact)
    return engram


def audited(engram: Engram) -> list[AuditEvent]:
    """How the turns ended, the latest first."""
    with engram._parts.store.read() as tx:
        return [event for event in tx.audit.recent(limit=100) if event.action is Action.TURN]


def stamp(engram: Engram, scope: Scope) -> int:
    """Which snapshot of the agent's mind is stored."""
    with engram._parts.store.read() as tx:
        return tx.attention.stamp(scope)


def held(engram: Engram, agent: str = AGENT) -> dict[str, SlotSource]:
    """What an agent has in mind, and where it came from."""
    return {item.content: item.slot.source for item in engram.working_memory(agent).items}


def talk(engram: Engram, message: str, reply: str = "All right.", **options: Any) -> None:
    """One turn that ends well."""
    with engram.turn(message, agent=AGENT, **options) as turn:
        turn.reply(reply)


# --- a turn that goes well ----------------------------------------------------------------------------------


def test_a_turn_is_given_a_window_and_keeps_what_was_said(known: Engram) -> None:
    """The message and the reply are turns of the session, and the audit says that it ended well."""
    with known.turn(BILLING, agent=AGENT, session="s1", model="claude-opus-4-6") as turn:
        assert "prod-eu" in turn.window.text
        assert turn.recall.hits[0].memory.content == FACTS[0]
        turn.tool("kubectl", "billing: 3 pods ready")
        turn.reply("It runs on prod-eu.")

    said = known.turns(session="s1", scope=Scope(agent=AGENT))
    assert [(one.role, one.content) for one in said] == [
        (Role.USER, BILLING),
        (Role.TOOL, "billing: 3 pods ready"),
        (Role.ASSISTANT, "It runs on prod-eu."),
    ]
    (event,) = audited(known)
    assert event.detail == {"kind": "chat", "outcome": "done", "shift": TopicShift.CONTINUATION}
    assert event.target == said[0].id


def test_what_was_recalled_and_noted_stays_in_mind(known: Engram) -> None:
    """The next turn finds it there, and the window shows it."""
    with known.turn(BILLING, agent=AGENT) as turn:
        turn.note("Ann wants short answers")
        turn.reply("It runs on prod-eu.")

    with known.turn("and now?", agent=AGENT) as turn:
        told = turn.window.section("working memory")
        turn.reply("Nothing else.")

    assert told is not None
    assert "Ann wants short answers" in told.text
    assert "prod-eu" in told.text
    assert held(known)["Ann wants short answers"] is SlotSource.EXPLICIT


def test_what_is_in_mind_is_not_recalled_a_second_time(known: Engram) -> None:
    """Working memory tells it already, word for word."""
    talk(known, BILLING)

    with known.turn(BILLING, agent=AGENT) as turn:
        working, recalled = (turn.window.section(name) for name in ("working memory", "recalled"))
        turn.reply("Still prod-eu.")

    assert working is not None
    assert FACTS[0] in working.text
    assert recalled is None or FACTS[0] not in recalled.text


def test_ok_now_deploy_it_finds_what_it_is(
    store_path: Path, clock: ManualClock, embedder: TinyEmbedder
) -> None:
    """After talk of billing it is the billing service; without momentum it is whatever has the words."""
    first = {}
    for name, uses in (("with", True), ("without", False)):
        settings = Settings(overrides={"attention": {"uses_momentum": uses}, "recall": {"session_reach": []}})
        path = store_path.with_name(f"{name}.db")
        with Engram.open(path, settings=settings, clock=clock, embedder=embedder, background=False) as engram:
            for fact in FACTS:
                engram.remember(fact)
            talk(engram, "the billing service wants a migration with helm", "Helm migrates billing.")
            with engram.turn("deploy it", agent=AGENT) as turn:
                first[name] = turn.recall.hits[0].memory.content
                turn.reply("Done.")

    assert first == {"with": FACTS[1], "without": FACTS[2]}


def test_a_message_does_not_find_itself(known: Engram) -> None:
    """It is stored before the recall and read after it."""
    message = "I prefer dark mode in every editor"

    with known.turn(message, agent=AGENT) as turn:
        found = [hit.memory.content for hit in turn.recall.hits]
        turn.reply("Noted.")

    known.flush()
    assert not any("dark mode" in content for content in found)
    assert any("dark mode" in hit.memory.content for hit in known.recall("dark mode", scope=turn.scope).hits)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("task", Role.USER),
        ("cron", Role.SYSTEM),
        ("flow", Role.SYSTEM),
        ("orchestrator", Role.ASSISTANT),
        ("swarm", Role.ASSISTANT),
    ],
)
def test_the_same_call_serves_every_caller(known: Engram, kind: str, role: Role) -> None:
    """Each is given a window, kept under whose words it was, and its result is remembered."""
    with known.turn("Check the billing service", agent=AGENT, kind=kind) as turn:
        assert "prod-eu" in turn.window.text
        turn.reply("All three pods answer within ten milliseconds")

    (first, *_) = known.turns(session=turn.session, scope=turn.scope)
    remembered = [memory.content for memory in known.list(scope=turn.scope)]
    assert first.role is role
    assert any("within ten milliseconds" in content for content in remembered)
    assert audited(known)[0].detail["kind"] == kind


def test_a_switch_of_models_changes_the_window_and_not_the_mind(known: Engram) -> None:
    """A small model in the middle of a conversation is told less, of the same things in mind."""
    for number in range(40):
        known.remember(f"Billing incident number {number}: the service was slow because of {'retries ' * 30}")
    talk(known, BILLING, session="s1")
    budgets, kept = {}, []
    for model in ("claude-opus-4-6", "gpt-4", "claude-opus-4-6"):
        with known.turn(BILLING, agent=AGENT, session="s1", model=model) as turn:
            assert turn.window.tokens <= turn.window.budget
            budgets[model] = (turn.window.budget, turn.window.tokens)
            turn.reply("ok")
        kept.append(set(held(known)))

    assert budgets["gpt-4"][0] < budgets["claude-opus-4-6"][0]
    assert budgets["gpt-4"][1] < budgets["claude-opus-4-6"][1]
    assert kept[0] == kept[1] == kept[2]


def test_the_scheduler_hears_of_a_turn_that_ended_well(known: Engram) -> None:
    """After a turn that ended well, and after no other."""
    with known.turn(BILLING, agent=AGENT):
        pass
    before = known.status().scheduler.woken_by

    talk(known, BILLING)

    assert before != "turn"
    assert known.status().scheduler.woken_by == "turn"


# --- a turn that does not -----------------------------------------------------------------------------------


def test_a_turn_that_raises_leaves_the_mind_as_it_was(known: Engram) -> None:
    """The message was said and stays; the half of a reply does not; the audit says that it failed."""
    talk(known, BILLING, session="s1")
    before, snapshot = held(known), stamp(known, Scope(agent=AGENT))

    def fail() -> None:
        with known.turn("tomatoes and compost, please", agent=AGENT, session="s1") as turn:
            turn.reply("Half of a rep")
            turn.note("never noted")
            raise RuntimeError("the model broke")

    with pytest.raises(RuntimeError, match="the model broke"):
        fail()

    said = [one.content for one in known.turns(session="s1", scope=Scope(agent=AGENT))]
    assert said == [BILLING, "All right.", "tomatoes and compost, please"]
    assert held(known) == before
    assert stamp(known, Scope(agent=AGENT)) == snapshot
    assert audited(known)[0].detail == {"kind": "chat", "outcome": "failed", "error": "RuntimeError"}


def test_a_turn_without_a_reply_is_abandoned(known: Engram) -> None:
    """Whoever looked at the window and went away changed nothing."""
    talk(known, BILLING)
    snapshot = stamp(known, Scope(agent=AGENT))

    with known.turn("tomatoes", agent=AGENT) as turn:
        turn.note("never noted")

    assert audited(known)[0].detail["outcome"] == "abandoned"
    assert stamp(known, Scope(agent=AGENT)) == snapshot


def test_a_turn_that_nobody_holds_any_more_is_closed(known: Engram) -> None:
    """The garbage collector notices, and the next turn writes it down."""
    turn = known.turn("tomatoes", agent=AGENT)
    turn.__enter__()

    del turn
    gc.collect()
    talk(known, BILLING)

    assert [event.detail["outcome"] for event in audited(known)] == ["done", "abandoned"]
    assert known._parts.agents._memories._held[Scope(agent=AGENT)].open_turns == 0


def test_closing_the_memory_closes_open_turns(
    store_path: Path, clock: ManualClock, embedder: TinyEmbedder
) -> None:
    """A reply that comes later has nowhere to go, and says so."""
    with Engram.open(store_path, clock=clock, embedder=embedder, background=False) as engram:
        turn = engram.turn("tomatoes", agent=AGENT)
        turn.__enter__()
        turn.reply("Red ones.")

    with pytest.raises(StoreClosed):
        turn.__exit__(None, None, None)
    with Engram.open(store_path, clock=clock, embedder=embedder, background=False) as engram:
        assert audited(engram)[0].detail["outcome"] == "abandoned"


def test_what_cannot_be_stored_takes_everything_else_back(known: Engram) -> None:
    """What a tool put out is no text: nothing of the turn is kept, and the mind is what it was."""
    talk(known, BILLING, session="s1")
    snapshot = stamp(known, Scope(agent=AGENT))

    def end_badly() -> None:
        with known.turn("go on", agent=AGENT, session="s1") as turn:
            turn.reply("A good one.")
            turn.tool("broken", 3)  # type: ignore[arg-type]
            turn.note("never noted")

    with pytest.raises(InvalidQuery):
        end_badly()

    said = [one.content for one in known.turns(session="s1", scope=Scope(agent=AGENT))]
    assert said == [BILLING, "All right.", "go on"]
    assert stamp(known, Scope(agent=AGENT)) == snapshot
    assert audited(known)[0].detail["outcome"] == "failed"


def test_a_window_that_cannot_be_built_fails_the_turn(known: Engram) -> None:
    """The message is kept all the same, and the mind is free for the next turn."""
    with (
        pytest.raises(EngramError),
        known.turn("tomatoes", agent=AGENT, fixed="word " * 200_000, model="gpt-4"),
    ):
        pass

    assert audited(known)[0].detail["outcome"] == "failed"
    assert [one.content for one in known.turns(scope=Scope(agent=AGENT))] == ["tomatoes"]
    assert known._parts.agents._memories._held[Scope(agent=AGENT)].open_turns == 0


def test_a_turn_works_without_an_embedder(known: Engram, embedder: TinyEmbedder) -> None:
    """Words still find memories; where the talk is going waits until there are vectors again."""
    embedder.failure = "not now"

    with known.turn(BILLING, agent=AGENT) as turn:
        assert turn.recall.hits[0].memory.content == FACTS[0]
        assert turn.window.is_degraded
        turn.reply("prod-eu")

    assert FACTS[0] in held(known)


def test_a_turn_is_used_inside_its_block_and_once(known: Engram) -> None:
    """Before, after and a second time it says what is wrong."""
    turn = known.turn(BILLING, agent=AGENT)
    with pytest.raises(InvalidQuery, match="not open"):
        turn.reply("too early")

    with turn:
        turn.reply("in time")

    assert "prod-eu" in turn.window.text
    with pytest.raises(InvalidQuery, match="is over"):
        turn.reply("too late")
    with pytest.raises(InvalidQuery, match="once"):
        turn.__enter__()


def test_an_agent_is_named_once(known: Engram) -> None:
    """Two names for one turn are a mistake; the same name twice is not."""
    with pytest.raises(InvalidScope):
        known.turn("hello", agent="coder", scope=Scope(agent="writer"))

    assert known.turn("hello", agent="coder", scope=Scope(agent="coder")).scope == Scope(agent="coder")


# --- async --------------------------------------------------------------------------------------------------


def test_async_callers_use_the_same_block(known: Engram) -> None:
    """The blocking parts run in a worker thread, and several turns at once do not disturb one another."""

    async def ask(number: int) -> str:
        async with known.turn(BILLING, agent=f"agent{number}", session="s") as turn:
            await asyncio.sleep(0)
            turn.reply(f"Answer {number}")
            return turn.window.text

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(ask(number) for number in range(4)))

    windows = asyncio.run(all_of_them())

    assert all("prod-eu" in text for text in windows)
    assert [event.detail["outcome"] for event in audited(known)] == ["done"] * 4


def test_a_cancelled_task_fails_its_turn(known: Engram) -> None:
    """Cancelling is an exception like any other."""

    async def wait_for_ever() -> None:
        async with known.turn(BILLING, agent=AGENT) as turn:
            turn.reply("nearly")
            await asyncio.sleep(60)

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait_for_ever(), timeout=0.5)

    asyncio.run(cancel())

    assert audited(known)[0].detail == {"kind": "chat", "outcome": "failed", "error": "CancelledError"}
