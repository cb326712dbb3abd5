"""
Decide how a query is searched for: the share of each index, the layers preferred, how wide and how deep.

Called by `recall.pipeline` before anything is gathered; calls `intent`, and is handed the weights that
policy gives to each intent. Pure: the same words make the same plan. An intent is a guess, so it moves
the shares and the width away from the plain ones only as far as it is sure; a wrong guess then costs
little. What the guesses are worth: docs/lab/0012-intents.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.policy.intents import INTENTS
from engram.recall.intent import Intent, classify
from engram.recall.intent_words import is_code, is_unspaced
from engram.recall.period import find_period
from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from engram.policy import RecallPolicy
    from engram.policy.intents import IntentWeights
    from engram.recall.period import Period

LEAST_TEXT, MOST_TEXT = 0.1, 0.7
"""However a query looks, neither words nor meaning are left out."""

PLAIN_TEXT = 0.3
"""The share of words in a query whose shape says nothing: docs/lab/0003-fusion.md."""

LITERAL_STEP, CONCEPT_STEP = 0.1, 0.08
"""What each sign of an exact or of an open question moves the share of words by, as asked for."""

SHORT_WORDS, LONG_WORDS = 3, 8
"""So few words are looked for as they are; more than so many describe something."""

CHARACTERS_PER_WORD = 2
"""In scripts without spaces, roughly."""

MOST_CHARACTERS = 1000
"""Of a query that are looked at for its shape."""

_QUOTED = lazy(r"\"[^\"]{2,100}\"|“[^”]{2,100}”|«[^»]{2,100}»|「[^」]{1,100}」|`[^`]{1,100}`")
_WORD = lazy(r"\w+")
_OPEN = (
    *("how", "why", "explain", "describe", "wie", "warum", "weshalb", "wieso", "erkläre", "pourquoi"),
    *("comment", "explique", "cómo", "explica", "почему", "зачем", "как", "объясни"),
)
_EXACT = (
    *("many", "much", "old", "often", "long", "far", "big", "tall"),
    *("viel", "viele", "alt", "oft", "lange", "heißt", "lautet"),
)
"""After a word that opens a question wide, these close it again: "how many" wants a number."""

_OPEN_UNSPACED = ("为什么", "為什麼", "怎么", "如何", "なぜ", "どうして", "どうやって")
_DEFINITE = ("the", "my", "our", "your", "his", "her", "their", "this", "that")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one query is searched for."""

    intent: Intent
    confidence: float
    """How sure the intent is, in (0, 1]."""
    weights: Mapping[str, float]
    """The share of each index in the mixed score, by its name; they make 1."""
    layers: tuple[str, ...]
    """The layers preferred, best first; the others are searched as well."""
    freshness_bias: float
    """How strongly the recent is preferred, from 0."""
    candidates: int
    """How many each index may offer."""
    hops: int
    """How far the graph is followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What the pipeline does for one query, under a policy."""

    weights: Mapping[str, float]
    """Of the lexical and the vector index; they make 1."""
    candidates: int
    graph_bonus: float
    hops: int
    period: Period | None
    intent: str | None = None
    """Where the kind of question shifted something."""


def plan(query: str, policy: RecallPolicy, *, now: datetime) -> Planned:
    """Return how a query is searched for under this policy, at this moment."""
    words = 1 - policy.vector_weight
    period = find_period(query, now=now)
    if policy.balances_by_shape:
        words = text_share(query, plain=words)
    if not policy.plans_by_intent:
        return Planned(
            weights={"lexical": words, "vector": 1 - words},
            candidates=policy.candidates,
            graph_bonus=policy.graph_bonus,
            hops=policy.graph_hops,
            period=period,
        )
    made = make_plan(query, weights=INTENTS, candidates=policy.candidates, plain_text=words)
    both = made.weights["lexical"] + made.weights["vector"]
    return Planned(
        weights={name: made.weights[name] / both for name in ("lexical", "vector")},
        candidates=max(made.candidates, policy.candidates),
        graph_bonus=policy.graph_bonus + made.weights["graph"],
        hops=made.hops,
        period=period,
        intent=made.intent,
    )


def make_plan(
    text: str,
    *,
    weights: Mapping[str, IntentWeights],
    candidates: int = 100,
    plain_text: float = PLAIN_TEXT,
) -> Plan:
    """Return the plan of a query's intent, as far as the intent is sure, over the plain one."""
    guessed = classify(text)
    chosen, sure = weights[guessed.intent], guessed.confidence
    words = text_share(text, plain=plain_text)
    plain = {"lexical": words, "vector": 1 - words}
    return Plan(
        intent=guessed.intent,
        confidence=sure,
        weights={name: _between(plain.get(name, 0.0), to, sure) for name, to in chosen.shares.items()},
        layers=chosen.layers,
        freshness_bias=sure * chosen.freshness_bias,
        candidates=max(1, round(candidates * _between(1.0, chosen.candidates_multiplier, sure))),
        hops=chosen.hops,
    )


def text_share(query: str, *, plain: float = PLAIN_TEXT) -> float:
    """
    Return how much the words count against the meaning, by the shape of the query alone.

    Identifiers, paths, digits, quotations and few words ask for words; how, why and length for meaning.
    """
    read = query[:MOST_CHARACTERS]
    words = read.split()
    count = len(read) / CHARACTERS_PER_WORD if is_unspaced(read) else len(words)
    literal = (
        any("/" in word and is_code(word) for word in words),
        any(map(str.isdigit, read)),
        any("/" not in word and is_code(word) for word in words),
        _QUOTED.search(read) is not None,
        count <= SHORT_WORDS,
    )
    concept = (_asks_openly(read), count > LONG_WORDS)
    share = plain + LITERAL_STEP * sum(literal) - CONCEPT_STEP * sum(concept)
    return min(MOST_TEXT, max(LEAST_TEXT, share))


def _asks_openly(text: str) -> bool:
    """Say whether an explanation is wanted: "how does it", "what is idempotency", not "what is my"."""
    if any(piece in text for piece in _OPEN_UNSPACED):
        return True
    first, second, third = [*_WORD.findall(text[:100].lower()), "", "", ""][:3]
    if first == "what" and second in ("is", "s"):
        return third not in _DEFINITE
    return (first in _OPEN and second not in _EXACT) or (first, second) == ("por", "qué")


def _between(start: float, end: float, share: float) -> float:
    return start + share * (end - start)
