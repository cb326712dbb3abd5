"""Which turns are worth extracting at once."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.capture.signals import Signal, SignalKind, SignalLevel, is_urgent, scan, sets_rule


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Remember that I like tea", SignalKind.EXPLICIT),
        ("Don’t forget: the key is under the mat", SignalKind.EXPLICIT),
        ("merk dir bitte meinen Namen", SignalKind.EXPLICIT),
        ("记住我不吃肉", SignalKind.EXPLICIT),
        ("No, I meant the other one", SignalKind.CORRECTION),
        ("That's wrong, it is 42", SignalKind.CORRECTION),
        ("I no longer use vim", SignalKind.CORRECTION),
        ("We switched from vim to Helix", SignalKind.CORRECTION),
        ("It is not red but blue", SignalKind.CORRECTION),
        ("We decided to ship on Monday", SignalKind.DECISION),
        ("I really prefer tabs", SignalKind.PREFERENCE),
        ("My favourite tea is oolong", SignalKind.PREFERENCE),
        ("My name is Ann", SignalKind.IDENTITY),
        ("I live in Rome", SignalKind.IDENTITY),
        ("Ich heiße Jonas", SignalKind.IDENTITY),
        ("The deadline is Friday", SignalKind.COMMITMENT),
        ("I'll send it by Monday", SignalKind.COMMITMENT),
        ("Never push to main", SignalKind.PRINCIPLE),
    ],
)
def test_these_are_extracted_at_once(text: str, kind: SignalKind) -> None:
    """A strong sign is seen, and it is urgent."""
    signals = scan(text)

    assert Signal(kind, SignalLevel.HIGH) in signals
    assert is_urgent(signals)


@pytest.mark.parametrize("text", ["We deployed it yesterday", "my sister called", "昨天下雨了"])
def test_events_and_people_can_wait(text: str) -> None:
    """A weak sign is seen, but the batch is soon enough."""
    signals = scan(text)

    assert signals
    assert not is_urgent(signals)


@pytest.mark.parametrize(
    "text", ["", "ok", "How do I undo a commit?", "Fix the test please", "🙂", "do you remember when we met"]
)
def test_these_say_nothing_of_the_kind(text: str) -> None:
    """Small talk, questions and requests are no sign."""
    assert scan(text) == ()


@given(st.text(max_size=200))
def test_a_scan_never_fails_and_names_each_sign_once(text: str) -> None:
    """Any text has an answer, and it is the same again."""
    signals = scan(text)

    assert len(set(signals)) == len(signals)
    assert scan(text) == signals


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("piece", ["i will ", "not ", "moved from ", "no, ", "a ", " ", "もう"])
def test_a_hostile_text_costs_little(piece: str) -> None:
    """A megabyte of half a sign is scanned in a blink."""
    text = (piece * 1_000_000)[:1_000_000]
    begin = time.thread_time()

    scan(text)

    assert time.thread_time() - begin < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "btw use uv, never pip",
        "ok thanks. don't push to main",
        "anything under migrations needs Maya as reviewer",
    ],
)
def test_a_rule_is_read_at_once_whatever_its_words(text: str) -> None:
    """The next session is to begin with it, however soon that is."""
    assert sets_rule(text)


@pytest.mark.parametrize("text", ["run the linter", "could you fix the tests?", "we deploy on Fridays", ""])
def test_an_order_of_the_moment_is_no_rule(text: str) -> None:
    """It waits for the batch like other talk."""
    assert not sets_rule(text)


@pytest.mark.parametrize("text", ["x " * 3000, "Line\n" * 2000, "def f():\n    return 1\n" * 500])
def test_looking_for_rules_costs_little_however_long_the_text(text: str) -> None:
    """A pasted page holds nobody up."""
    sets_rule(text)
    started = time.perf_counter()
    sets_rule(text)

    assert time.perf_counter() - started < 0.05
