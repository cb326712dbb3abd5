"""
Tell what is done from what is not: "I always use pnpm and never npm" is two statements.

Used by `propositions`, on sentences in which quotations are hidden already. The second half takes the verb of
the first only where nothing but a thing follows, and what leads in ("at work,") holds for both. In doubt a
sentence stays whole, because whole it says what was said, and half of it may say what nobody did.
"""

from __future__ import annotations

import re

from engram.capture.extract.verbs import is_past, word_set
from engram.capture.extract.vocabulary import EVENT_VERBS, PASSING_VERBS, THING_VERBS, VERBS
from engram.text.lazy import lazy

_OPPOSED = lazy(
    r"(?P<lead>\s*(?:[^;]{0,60}?,\s+)??)(?P<who>i|we)\s+(?:[a-z]+ly\s+|always\s+|never\s+)?(?P<verb>[a-z]+)\s+"
    r"(?P<object>[^\s,;][^,;]{0,59}?)(?:,?\s+(?:and|but)|,)\s+"
    r"(?P<how>never|always|rarely|seldom)\s+(?:ever\s+)?(?P<rest>[^\s,;][^,;]{0,59})",
    re.IGNORECASE | re.DOTALL,
)
_NO_OBJECT = lazy(
    r"\b(?:i|we|you|he|she|they|it|that|to|not|always|never|rarely|seldom|who|which|what|when|if|because|"
    r"why|how|whether)\b",
    re.IGNORECASE,
)
"""Where one of these stands, the verb before it has a clause or a second verb behind it."""
_THING = lazy(
    r"(?:(?:at|by|for|from|in|on|with)\s+)?(?:(?:a|an|the|my|our|any|some|this|these|those)\s+)?"
    r"[\w.+#/\ue000-\uf8ff-]+"
    r"(?:\s+(?:or|and|nor|for|in|on|at|with|during|before|after|from)\s+[^,;]+)?[\s.!]*",
    re.IGNORECASE,
)
_NO_THING = (
    EVENT_VERBS
    | PASSING_VERBS
    | THING_VERBS
    | word_set(
        "again been will would can could shall should must may might does did is are was am be has complain "
        "lie skip worry argue hurry laugh relax as at in for on from with without to about by of off out up "
        "down over under before after during since until because when while than then there here alone "
        "enough too very so just really even quite yet it them him her me us that this one once twice"
    )
)
"""
Words with which no object begins: the second half would lose a verb of its own, or the first half's object.

All verbs count that the vocabulary knows, although some are nouns as well: kept whole is never wrong.
"""


def opposed(sentence: str) -> list[str]:
    """Return both halves, each with its verb, or the sentence as it is where it has no such halves."""
    found = _OPPOSED.fullmatch(sentence)
    if found is None or found["verb"].lower() not in VERBS or _NO_OBJECT.search(found["object"]):
        return [sentence]
    first = _first(found["rest"])
    has_verb = first in VERBS or is_past(first)
    if not has_verb and not _is_thing(found["rest"], beside=found["object"]):
        return [sentence]
    verb = "" if has_verb else f"{found['verb']} "
    second = f"{found['lead']}{found['who']} {found['how']} {verb}{found['rest']}"
    return [sentence[: found.end("object")], second]


def _is_thing(rest: str, *, beside: str) -> bool:
    """Say whether it can stand where the other does: "on Fridays" beside "on Mondays", not beside "vim"."""
    first = _first(rest)
    return bool(_THING.fullmatch(rest)) and (first not in _NO_THING or first == _first(beside))


def _first(words: str) -> str:
    return words.split(maxsplit=1)[0].lower().strip(".!")
