"""Plan a recall: what is asked, period, subject, weights."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from engramdb.policy import RecallPolicy
from engramdb.recall.intent import Intent, classify, is_code, is_unspaced
from engramdb.recall.period import Period, find_period
from engramdb.settings import DateOrder
from engramdb.store.contract import Sketch
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.names import fold_name
from engramdb.text.normalize import lazy

GRAPH_HOPS = 2
"""How far links are followed where no intent says otherwise."""

# Whom does the question name? What they said, and what is about them, comes first.

_PRONOUNS = frozenset(
    {"i", "we", "you", "he", "she", "it", "they", "this", "that", "there", "the user", "user"}
)
_POSSESSIVE = lazy(r"['’]s\b")


def subjects(question: str, sketches: Mapping[int, Sketch]) -> list[int]:
    """Return the candidates that were said by, or are about, somebody whom the question names."""
    asked = f" {fold_name(_POSSESSIVE.sub('', question))} "
    known: dict[str, bool] = {}

    def is_named(name: str | None) -> bool:
        if not name or name.casefold() in _PRONOUNS:
            return False
        if name not in known:
            folded = fold_name(name)
            known[name] = bool(folded) and any(f" {part} " in asked for part in (folded, folded.split()[0]))
        return known[name]

    return [key for key, one in sketches.items() if is_named(one.speaker) or is_named(one.subject)]


# How a query is searched for: the share of each index, and how deep links are followed.

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
_OPEN = [word for one in LANGUAGES.values() if one.spaced for word in one.questions.open.split()]
_EXACT = [word for one in LANGUAGES.values() for word in one.questions.exact.split()]
"""After a word that opens a question wide, these close it again: "how many" wants a number."""
_OPEN_UNSPACED = [word for one in LANGUAGES.values() if not one.spaced for word in one.questions.open.split()]
_DEFINITE = ("the", "my", "our", "your", "his", "her", "their", "this", "that")


class IntentShares(Struct, frozen=True, kw_only=True):
    """How one kind of question is searched for."""

    lexical: float
    """The weight of words against that of meaning;"""
    vector: float
    """of meaning against that of words."""
    graph: float
    """What is added to the bonus of memories that are linked to the best."""
    hops: int = GRAPH_HOPS
    """How far links are followed from the best."""


INTENTS: Mapping[Intent, IntentShares] = MappingProxyType(
    {
        Intent.LOOKUP: IntentShares(lexical=0.6, vector=0.2, graph=0.1),
        Intent.EXPLORATORY: IntentShares(lexical=0.2, vector=0.5, graph=0.2),
        Intent.COMPARATIVE: IntentShares(lexical=0.25, vector=0.3, graph=0.15),
        Intent.TEMPORAL: IntentShares(lexical=0.2, vector=0.3, graph=0.05),
        # Asked for as 0.3, 0.3 and 0.1, which do not make 1.
        Intent.PROCEDURAL: IntentShares(lexical=0.43, vector=0.43, graph=0.14),
        # A cause is linked to its effect and often shares no word with it.
        Intent.CAUSAL: IntentShares(lexical=0.2, vector=0.2, graph=0.5, hops=3),
        Intent.ENTITY: IntentShares(lexical=0.2, vector=0.2, graph=0.1),
    }
)
"""
Starting points; what is switched on, an eval decides: docs/lab/0012-intents.md.

Lookup, exploratory, procedural and causal have the numbers of seed 002; it only describes the other three.
"""


class RecallPlan(Struct, frozen=True, kw_only=True):
    """How one query is searched for, under a policy."""

    weights: Mapping[str, float]
    """Of the lexical and the vector index; they make 1."""
    candidates: int
    """How many each index may offer."""
    graph_bonus: float
    hops: int
    """How far links are followed."""
    period: Period | None
    intent: Intent | None = None
    """Where the kind of question shifted something."""


def plan(query: str, policy: RecallPolicy, *, now: datetime, date_order: DateOrder = "auto") -> RecallPlan:
    """
    Return how a query is searched for under this policy, at this moment.

    An intent is a guess, so it moves the weights away from the plain ones only as far as it is sure; a
    wrong guess then costs little.
    """
    words = 1 - policy.vector_weight
    if policy.balances_by_shape:
        words = text_share(query, plain=words)
    plain = RecallPlan(
        weights={"lexical": words, "vector": 1 - words},
        candidates=policy.candidates,
        graph_bonus=policy.graph_bonus,
        hops=GRAPH_HOPS,
        period=find_period(query, now=now, date_order=date_order),
    )
    return _shifted(plain, query) if policy.plans_by_intent else plain


def _shifted(plain: RecallPlan, query: str) -> RecallPlan:
    """Return the plan, moved towards what the intent of the query wants as far as that is sure."""
    guessed = classify(query)
    shares, sure = INTENTS[guessed.intent], guessed.confidence
    words = plain.weights["lexical"]
    lexical = _between(words, shares.lexical, sure)
    vector = _between(1 - words, shares.vector, sure)
    return replace(
        plain,
        weights={"lexical": lexical / (lexical + vector), "vector": vector / (lexical + vector)},
        graph_bonus=plain.graph_bonus + sure * shares.graph,
        hops=shares.hops,
        intent=guessed.intent,
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
    """Return whether an explanation is wanted: "how does it", "what is idempotency", not "what is my"."""
    if any(piece in text for piece in _OPEN_UNSPACED):
        return True
    first, second, third = [*_WORD.findall(text[:100].lower()), "", "", ""][:3]
    if first == "what" and second in ("is", "s"):
        return third not in _DEFINITE
    return (first in _OPEN and second not in _EXACT) or (first, second) == ("por", "qué")


def _between(start: float, end: float, share: float) -> float:
    return start + share * (end - start)
