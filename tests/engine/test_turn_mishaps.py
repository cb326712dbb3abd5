"""What agents bring back may be odd; it must not cost the turn, nor bring back what was erased."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from engramdb import Scope
from engramdb.errors import InvalidQuery

if TYPE_CHECKING:
    from engramdb import Engram


def test_a_tool_that_says_nothing_does_not_cost_the_turn(engram: Engram) -> None:
    """Its silence is kept as such, and the reply with it."""
    with engram.turn("Run the migration", agent="t", session="s") as turn:
        turn.tool("bash", "")
        turn.reply("Done: 12 tables \ud800 changed.")

    said = [one.content for one in engram.turns(session="s", scope=Scope(agent="t"))]
    assert said == ["Run the migration", "(no output)", "Done: 12 tables ? changed."]


def test_what_was_too_long_to_be_kept_whole_is_said(engram: Engram) -> None:
    """The caller learns which reply was cut, and how much of it; one that fits is not mentioned."""
    with engram.turn("write the whole book", agent="a", session="s") as turn:
        turn.tool("search", "three pages")
        turn.reply("a word " * 50_000)

        (told,) = turn.missing

    assert told.index == "reply"
    assert told.reason == "only the first 262,144 of its 350,000 bytes are kept"


def test_an_endless_output_is_cut_and_not_refused(engram: Engram) -> None:
    """The beginning says what it was."""
    with engram.turn("Read the log", agent="t", session="s") as turn:
        turn.tool("cat", "line\n" * 500_000)
        turn.reply("It is long.")

    said = [one.content for one in engram.turns(session="s", scope=Scope(agent="t"))]
    assert len(said) == 3
    assert len(said[1]) < 300_000


def test_what_is_no_text_is_refused_at_once(engram: Engram) -> None:
    """The caller learns of it where the mistake is."""
    with pytest.raises(InvalidQuery), engram.turn("hello", agent="t") as turn:
        turn.reply(None)  # type: ignore[arg-type]


def test_a_user_who_is_erased_during_a_turn_leaves_nothing(engram: Engram) -> None:
    """Neither the reply nor a note is written after the erasure."""
    dora = Scope(user="dora")
    with engram.turn("My dog is called Dingo.", agent="d", scope=dora, session="s") as turn:
        turn.note("dog Dingo")
        turn.reply("Dingo noted")
        engram.erase(user="dora")

    assert engram.turns(scope=Scope(user="dora", agent="d")) == []
    assert engram.working_memory("d", scope=dora).items == ()


def test_messages_may_have_the_shapes_of_chat_interfaces(engram: Engram) -> None:
    """Parts instead of a text, or calls of tools and no text at all."""
    history = [
        {"role": "user", "content": [{"type": "text", "text": "We use port 8080."}]},
        {"role": "assistant", "tool_calls": []},
    ]

    assert "8080" in engram.context("go on", history=history, budget=2_000).text  # type: ignore[arg-type]


def test_of_a_long_reply_beginning_and_end_stay(engram: Engram) -> None:
    """Whoever says "shorten it" finds it there, and more of it than a line."""
    history = [
        {"role": "user", "content": "write an essay"},
        {"role": "assistant", "content": "It begins. " + "Essay text about dogs. " * 3_000 + "It ends."},
    ]

    window = engram.context("shorten it", history=history, budget=4_000)

    assert "It begins." in window.text
    assert "It ends." in window.text
    assert window.tokens > 1_000


def test_two_threads_cannot_enter_one_turn(engram: Engram) -> None:
    """One of them takes the turn; the other is told, and the message is kept once."""
    turn = engram.turn("I live in Oslo.", agent="coder", session="s1")
    outcomes: list[str] = []
    start = threading.Barrier(2)

    def enter() -> None:
        start.wait()
        try:
            turn.__enter__()
        except InvalidQuery:
            outcomes.append("told")
        else:
            outcomes.append("entered")

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turn.reply("Noted.")
    turn.__exit__(None, None, None)

    assert sorted(outcomes) == ["entered", "told"]
    said = [one.content for one in engram.turns(session="s1", scope=Scope(agent="coder"))]
    assert said == ["I live in Oslo.", "Noted."]
