"""How a query is searched for: shares, width, depth, by its intent and its shape."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.policy import PRESETS, RecallPolicy
from engramdb.recall.intent import Intent
from engramdb.recall.plan import INTENTS, LEAST_TEXT, MOST_TEXT, PLAIN_TEXT, plan, text_share

NOW = datetime(2026, 5, 4, tzinfo=UTC)
BALANCED, CORTEX = PRESETS["balanced"].recall, PRESETS["cortex"].recall
PLAIN = "does the server restart itself at night"


def test_every_intent_says_how_it_is_searched_for() -> None:
    """A lookup leans on words, a topic on meaning, a cause on links, and follows them further."""
    assert set(INTENTS) == set(Intent)
    assert INTENTS[Intent.LOOKUP].lexical > INTENTS[Intent.LOOKUP].vector
    assert INTENTS[Intent.EXPLORATORY].vector > INTENTS[Intent.EXPLORATORY].lexical
    assert max(INTENTS, key=lambda intent: INTENTS[intent].graph) is Intent.CAUSAL
    assert INTENTS[Intent.CAUSAL].hops > INTENTS[Intent.LOOKUP].hops


@pytest.mark.parametrize(
    "query",
    [
        "MAX_RETRIES in the config of the server",
        "read src/auth/session.py for the server",
        "does port 8080 answer at night",
    ],
)
def test_identifiers_paths_and_digits_ask_for_words(query: str) -> None:
    """What is written exactly is looked for exactly."""
    assert text_share(query) > text_share(PLAIN)


def test_quotes_and_few_words_ask_for_words() -> None:
    """A quotation and a keyword are looked for as they are."""
    assert text_share('does "restart itself" stand there') > text_share("does restart itself stand there")
    assert text_share("wifi password") > text_share("where is the wifi password")


@pytest.mark.parametrize(
    "query",
    [
        "how does the server restart",
        "why does the server restart",
        "what is idempotency good for",
        "warum startet der Server neu",
        "почему сервер сам перезапускается ночью",
        f"{PLAIN} and does anybody get up for it",
    ],
)
def test_open_and_long_questions_ask_for_meaning(query: str) -> None:
    """An explanation is rarely worded like its question."""
    assert text_share(query) < PLAIN_TEXT


def test_an_exact_how_is_not_open() -> None:
    """How many, and what is my size, want one fact; an apostrophe is no quotation, a full stop no path."""
    assert text_share("how many servers restart at night") == PLAIN_TEXT
    assert text_share("what is my shoe size") == PLAIN_TEXT
    assert text_share("Anna's server and Tom's restart at night.") == PLAIN_TEXT


@given(st.text(max_size=300))
def test_neither_words_nor_meaning_are_ever_left_out(query: str) -> None:
    """Whatever is asked, both keep a share."""
    assert LEAST_TEXT <= text_share(query) <= MOST_TEXT


def test_the_share_is_clamped_at_both_ends() -> None:
    """All signs at once do not leave the range."""
    assert text_share('src/a_b.py 42 "x y"', plain=0.6) == MOST_TEXT
    assert text_share("why does it all go on and on without an end", plain=0.15) == LEAST_TEXT


@given(st.text(max_size=200), st.sampled_from([BALANCED, CORTEX]))
def test_a_plan_always_shares_the_whole_score(text: str, policy: RecallPolicy) -> None:
    """Words and meaning make 1 and neither is negative."""
    made = plan(text, policy, now=NOW)

    assert sum(made.weights.values()) == pytest.approx(1)
    assert min(made.weights.values()) >= 0
    assert made.candidates == policy.candidates


def test_a_sure_intent_moves_the_plan_and_a_doubtful_one_hardly() -> None:
    """A why-question follows links; words that say nothing are searched for almost plainly."""
    sure = plan("why did the auth refactor break?", CORTEX, now=NOW)
    doubtful = plan("blue horizon seven on the wall", CORTEX, now=NOW)

    assert sure.intent is Intent.CAUSAL
    assert sure.graph_bonus > CORTEX.graph_bonus + 0.4
    assert sure.hops == 3
    assert doubtful.graph_bonus < CORTEX.graph_bonus + 0.05
    assert doubtful.weights["vector"] > doubtful.weights["lexical"]


def test_only_a_policy_that_plans_by_intent_has_one() -> None:
    """Elsewhere every question is searched for in the same way."""
    made = plan("why did the auth refactor break?", BALANCED, now=NOW)

    assert made.intent is None
    assert made.graph_bonus == BALANCED.graph_bonus
    assert made.weights["vector"] == pytest.approx(BALANCED.vector_weight)
