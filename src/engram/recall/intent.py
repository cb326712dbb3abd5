"""
Guess what kind of answer a question wants, without a model.

Called by `recall.plan`; calls `intent_words` to mark names and times and `intent_cues` for what the
words give away. Adds up the cues of each intent and takes the best; knows nothing of indexes or weights.
What it gets right, and what not: docs/lab/0012-intents.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.recall.intent_cues import Cue, cues, found_cues, found_unspaced, without_lead
from engram.recall.intent_words import (
    BEGIN,
    CODE,
    COMMA,
    END,
    NAME,
    QUOTE,
    SIGNS,
    START,
    is_unspaced,
    masked,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Intent(StrEnum):
    """What kind of answer is wanted; where two score alike, the first of them is meant."""

    CAUSAL = "causal"
    COMPARATIVE = "comparative"
    TEMPORAL = "temporal"
    PROCEDURAL = "procedural"
    ENTITY = "entity"
    EXPLORATORY = "exploratory"
    LOOKUP = "lookup"


@dataclass(frozen=True, slots=True)
class Classified:
    """The intent, how sure we are of it in (0, 1], and what each intent scored."""

    intent: Intent
    confidence: float
    scores: Mapping[Intent, float]


WEIGHTS = {"decides": 5.0, "strong": 3.0, "clear": 1.5, "hint": 0.5, "against": -3.0}
"""What a cue of each list adds: steps and not fitted numbers, so that a list of words stays readable."""

TEMPERATURE = 1.6
"""How far scores must lie apart to be sure: one decisive cue alone gives 0.77, no cue at all 0.24."""

ABOUT_REACH = 3
"""Within so many words after "tell me about" a name has to come to be its subject."""

SHORT_WORDS, LONG_WORDS = 3, 12
UNMARKED = 1.0
"""What a lookup has without any cue: most questions to a memory want one fact."""

_ABOUT = "about"


def classify(text: str) -> Classified:
    """Return the likeliest intent of a question, or of whatever else is said to find memories."""
    marked = masked(text)
    words = without_lead(words_of(marked))
    scores = dict.fromkeys(Intent, 0.0)
    for intent, points in itertools.chain(_said(words), _said_unspaced(marked), _shape(words)):
        scores[intent] += points
    best = max(Intent, key=scores.__getitem__)
    return Classified(best, _confidence(best, scores), scores)


def _said(words: Sequence[str]) -> Iterator[tuple[Intent, float]]:
    """Yield what each cue adds to which intent; a comma does not part the words of a cue."""
    last = next((at for at in range(len(words), 0, -1) if words[at - 1] not in (START, COMMA)), 0)
    run = [BEGIN, START, *(word for word in words[:last] if word != COMMA), END]
    for cue, end in found_cues(run):
        is_thing = cue.speaks_for == _ABOUT and _is_thing(run[end : end + ABOUT_REACH])
        yield _meant(cue, is_thing=is_thing), WEIGHTS[cue.strength]


def _said_unspaced(marked: str) -> Iterator[tuple[Intent, float]]:
    if is_unspaced(marked):
        for cue in found_unspaced(marked):
            yield _meant(cue, is_thing=SIGNS[NAME] in marked), WEIGHTS[cue.strength]


def _meant(cue: Cue, *, is_thing: bool) -> Intent:
    if cue.speaks_for != _ABOUT:
        return Intent(cue.speaks_for)
    return Intent.ENTITY if is_thing else Intent.EXPLORATORY


def _is_thing(words: Sequence[str]) -> bool:
    """Say whether a subject is one thing as a whole: a name, "my sister", "the … service"."""
    heads = cues().heads
    return any(word in (NAME, CODE, QUOTE) or word in heads for word in words)


def _shape(words: Sequence[str]) -> Iterator[tuple[Intent, float]]:
    """Yield what the mere form says, where no list could name every word."""
    said = [word for word in words if word != START]
    yield Intent.LOOKUP, UNMARKED
    if len(said) > LONG_WORDS:
        yield Intent.EXPLORATORY, WEIGHTS["hint"]
    for intent, strength, is_so in (
        (Intent.EXPLORATORY, "clear", _is_topic),
        (Intent.EXPLORATORY, "strong", _asks_for_several),
        (Intent.PROCEDURAL, "strong", _is_order),
        (Intent.CAUSAL, "strong", _asks_what_did_it),
        (Intent.COMPARATIVE, "clear", _has_comparative),
        (Intent.COMPARATIVE, "strong", _compares),
        (Intent.ENTITY, "strong", _asks_what_it_is),
    ):
        if is_so(said):
            yield intent, WEIGHTS[strength]


def _is_topic(said: Sequence[str]) -> bool:
    """Say whether a few words only name a subject: "vacation", "open risks", not "passport number"."""
    if not said or len(said) > SHORT_WORDS:
        return False
    is_one_word = len(said) == 1 and said[0] not in SIGNS and not is_unspaced(said[0])
    return is_one_word or _is_plural(said[-1])


def _asks_for_several(said: Sequence[str]) -> bool:
    """Say whether more than one answer is asked for: "what skills do I have", not "which bus"."""
    return len(said) > 2 and said[0] in ("what", "which") and _is_plural(said[1])


def _is_order(said: Sequence[str]) -> bool:
    """Say whether a text begins like an order: "deploy it", "whip up a draft", not "risks of it"."""
    listed = cues()
    if len(said) < 2 or said[0] in listed.no_orders or _is_plural(said[0]):
        return False
    at = 2 if said[1] in listed.particles and len(said) > 2 else 1
    return said[at] in listed.objects


def _asks_what_did_it(said: Sequence[str]) -> bool:
    """Say whether someone asks what acted: "what convinced us", not "what changed"."""
    return len(said) > 2 and said[0] == "what" and said[1].endswith("ed") and said[2] in cues().objects


def _has_comparative(said: Sequence[str]) -> bool:
    return not cues().comparatives.isdisjoint(said)


def _compares(said: Sequence[str]) -> bool:
    """Say whether something is called nicer, less or more than another."""
    comparatives = [at for at, word in enumerate(said) if word in cues().comparatives or word == "more"]
    return bool(comparatives) and "than" in said[comparatives[0] :]


def _asks_what_it_is(said: Sequence[str]) -> bool:
    """Say whether one word is asked about, which may be a name in small letters: "what's tycho"."""
    return len(said) == 3 and said[0] in ("what", "who") and said[1] in ("is", "'s", "was")


def _is_plural(word: str) -> bool:
    return len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _confidence(best: Intent, scores: Mapping[Intent, float]) -> float:
    """Return the share of the best score among all, each as a power: 1 when nothing else is near."""
    return 1 / sum(math.exp((score - scores[best]) / TEMPERATURE) for score in scores.values())
