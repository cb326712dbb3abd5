"""How a statement felt: six signals, their bounds, and words that only look like feelings."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.affect import HIGH_AROUSAL, affect, emphasis, sentiment, urgency
from engramdb.values import TaskOutcome

ADVERSARIAL = ["great but bad " * 580, "!?" * 4000, "soooo" * 1600, "A" * 8000, "**a" * 2700, "可怕" * 4000]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thank you, that is perfect", "positive"),
        ("I am frustrated, this is broken", "negative"),
        ("The standup is at half past nine", "neutral"),
        ("The build is no longer broken", "positive"),
        ("Das war wunderbar", "positive"),
        ("Ça ne marche pas, malheureusement", "negative"),
        ("Мне очень понравился фильм", "positive"),
        ("我不喜欢这个颜色", "negative"),
        ("旅行はとても楽しかったです", "positive"),
        ("😍😍", "positive"),
    ],
)
def test_words_give_a_statement_its_sentiment(text: str, expected: str) -> None:
    """Feelings are read in several languages, with negation."""
    assert sentiment(affect(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Kill the process and restart it",
        "Failed jobs go to the dead letter queue",
        "Our customer Joy Miller moved to Ghent",
        'The word "terrible" has eight letters',
        "Der Zug ist schon da",
    ],
)
def test_terms_of_work_and_names_are_not_feelings(text: str) -> None:
    """A word that sounds strong elsewhere stays neutral as a term, a name or a quotation."""
    assert sentiment(affect(text)) == "neutral"


def test_a_task_that_failed_feels_bad_and_one_that_worked_feels_good() -> None:
    """The outcome alone decides where the words say nothing."""
    text = "The import of the address book ran"

    felt = {outcome: affect(text, outcome=outcome) for outcome in TaskOutcome}

    assert felt[TaskOutcome.DONE].valence == pytest.approx(0.3)
    assert felt[TaskOutcome.PARTIAL].valence == pytest.approx(0.1)
    assert felt[TaskOutcome.RETRY].valence == pytest.approx(-0.15)
    assert felt[TaskOutcome.FAILED].valence == pytest.approx(-0.3)
    assert (
        felt[TaskOutcome.FAILED].intensity
        > felt[TaskOutcome.RETRY].intensity
        > felt[TaskOutcome.PARTIAL].intensity
    )


def test_a_correction_and_a_first_time_are_felt_more_but_neither_better_nor_worse() -> None:
    """Both raise intensity and leave valence alone."""
    plain = affect("I like the tea")
    corrected = affect("I like the tea", is_correction=True)
    first = affect("I like the tea", is_first=True)

    assert corrected.valence == first.valence == plain.valence
    assert corrected.intensity > first.intensity > plain.intensity


def test_emphasis_and_urgency_raise_intensity() -> None:
    """Shouting, exclamation marks, emoji and deadlines make a statement more intense."""
    assert emphasis("THIS IS IT!!") > emphasis("this is it!") > emphasis("this is it")
    assert urgency("we need it ASAP, it is an emergency") == 2
    assert urgency("the critical section is short") == 0
    assert affect("fix it ASAP").intensity > affect("fix it").intensity


def test_only_strong_feelings_reach_high_arousal() -> None:
    """The line divides what is shouted from what is mentioned."""
    assert affect("This is absolutely amazing, thank you so much!!!").arousal >= HIGH_AROUSAL
    assert affect("I hate this, it is a disaster!!").arousal >= HIGH_AROUSAL
    assert affect("Thanks, that works.").arousal < HIGH_AROUSAL


@given(
    text=st.text(max_size=300),
    outcome=st.sampled_from([None, *TaskOutcome]),
    is_correction=st.booleans(),
    is_first=st.booleans(),
)
def test_affect_never_leaves_its_bounds(
    text: str, outcome: TaskOutcome | None, is_correction: bool, is_first: bool
) -> None:
    """Whatever is said, valence lies in [-1, 1], the others in [0, 1], and arousal is their product."""
    felt = affect(text, outcome=outcome, is_correction=is_correction, is_first=is_first)

    assert -1 <= felt.valence <= 1
    assert 0 <= felt.intensity <= 1
    assert felt.arousal == pytest.approx(abs(felt.valence) * felt.intensity)


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("text", ADVERSARIAL, ids=lambda text: text[:8])
def test_hostile_text_costs_no_more_than_other_text(text: str) -> None:
    """Eight kilobytes made to be slow are read in a moment."""
    affect("warm up")
    started = time.thread_time()

    affect(text)

    assert time.thread_time() - started < 0.2
