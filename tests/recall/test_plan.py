"""How a query is searched for: shares, width, depth, by its intent and its shape."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.errors import InvalidSettings
from engramdb.policy.recall import INTENTS, LAYERS, MOST_HOPS, IntentWeights, require_every_intent
from engramdb.recall.intent import Intent
from engramdb.recall.plan import LEAST_TEXT, MOST_TEXT, PLAIN_TEXT, make_plan, text_share
from engramdb.values import Layer

PLAIN = "does the server restart itself at night"


def test_policy_knows_every_intent_and_layer() -> None:
    """Policy names intents and layers as plain words; they are the real ones."""
    assert set(INTENTS) == set(Intent)
    assert set(LAYERS) == set(Layer)
    require_every_intent(INTENTS)


@pytest.mark.parametrize("name", INTENTS)
def test_shares_make_one(name: str) -> None:
    """The signals of every intent share the score among them."""
    assert sum(INTENTS[name].shares.values()) == pytest.approx(1)


def test_each_intent_leans_on_the_signal_it_needs() -> None:
    """A lookup leans on words, a topic on meaning, a cause on links, a time on time, a name on names."""
    strongest = {name: max(each.shares, key=each.shares.__getitem__) for name, each in INTENTS.items()}

    assert strongest["lookup"] == "lexical"
    assert strongest["exploratory"] == "vector"
    assert strongest["causal"] == "graph"
    assert strongest["temporal"] == "temporal"
    assert strongest["entity"] == "entity"
    assert INTENTS["procedural"].layers[0] == "procedural"
    assert INTENTS["causal"].hops > INTENTS["lookup"].hops


@pytest.mark.parametrize(
    "wrong",
    [
        {"lexical": 0.5},
        {"lexical": -0.1, "vector": 1.1},
        {"freshness_bias": 1.5},
        {"candidates_multiplier": 0.0},
        {"hops": MOST_HOPS + 1},
        {"hops": -1},
        {"layers": ("attic",)},
        {"layers": ("semantic", "semantic")},
    ],
)
def test_weights_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    """Shares that do not make 1, unknown layers and endless hops are errors when the policy is made."""
    with pytest.raises(InvalidSettings):
        msgspec.structs.replace(INTENTS["lookup"], **wrong)


def test_a_table_without_an_intent_or_with_a_strange_one_is_refused() -> None:
    """A policy says how every intent is searched for, and nothing about what is none."""
    without = {name: each for name, each in INTENTS.items() if name != "causal"}

    with pytest.raises(InvalidSettings, match="causal"):
        require_every_intent(without)
    with pytest.raises(InvalidSettings, match="gossip"):
        require_every_intent({**INTENTS, "gossip": INTENTS["lookup"]})


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


@given(st.text(max_size=200), st.integers(1, 500))
def test_a_plan_always_shares_the_whole_score(text: str, candidates: int) -> None:
    """Shares make 1 and none is negative; there is always a candidate."""
    plan = make_plan(text, weights=INTENTS, candidates=candidates)

    assert sum(plan.weights.values()) == pytest.approx(1)
    assert min(plan.weights.values()) >= 0
    assert 1 <= plan.candidates <= candidates


def test_a_sure_intent_moves_the_plan_and_a_doubtful_one_hardly() -> None:
    """A why-question follows links; words that say nothing are searched for almost plainly."""
    sure = make_plan("why did the auth refactor break?", weights=INTENTS)
    doubtful = make_plan("blue horizon seven on the wall", weights=INTENTS)

    assert sure.intent is Intent.CAUSAL
    assert sure.weights["graph"] > 0.4
    assert sure.hops == 3
    assert doubtful.weights["graph"] < 0.05
    assert doubtful.weights["vector"] > doubtful.weights["lexical"]


def test_an_intent_of_full_width_keeps_every_candidate() -> None:
    """The width is a multiple of the policy's own, and 1 changes nothing."""
    broad = make_plan("what do we know about caching?", weights=INTENTS, candidates=100)
    narrow = make_plan("how many people are on the team?", weights=INTENTS, candidates=100)

    assert broad.candidates == 100
    assert narrow.candidates < 60


def test_weights_come_from_the_policy_that_is_handed_in() -> None:
    """Another table makes another plan."""
    words_only = IntentWeights(lexical=1.0, vector=0.0, layers=("codebase",), hops=0)

    plan = make_plan("why did the auth refactor break?", weights=dict.fromkeys(INTENTS, words_only))

    assert plan.weights["lexical"] > 0.9
    assert plan.layers == ("codebase",)
    assert plan.hops == 0
