"""
Name what was found: one of the ten categories, episode or note, how sure, how important.

Used by the heuristic extractor for each statement that it keeps. The kind follows six steps in order of
priority: a true temporal marker, the category, (tags, which an extractor has none of,) a past doing, a word
that speaks of what always holds, and otherwise episode. Confidence never exceeds 0.7: patterns do not
understand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.capture.extract.clauses import Clause, Who
from engram.capture.extract.openings import Certainty
from engram.capture.extract.verbs import word_set
from engram.capture.extract.vocabulary import KIN, PETS, ROLES, STATE_CHANGES
from engram.text.lazy import lazy
from engram.values import Kind

if TYPE_CHECKING:
    from engram.capture.extract.lasting import Dates

MAX_CONFIDENCE = 0.7

CONFIDENCE = {
    Certainty.EXPLICIT: 0.7,
    Certainty.PLAIN: 0.65,
    Certainty.HEDGED: 0.5,
    Certainty.GUESSED: 0.35,
}
"""By how sure the speaker sounded; below 0.40 a memory is speculative and expires unless it is confirmed."""

PRONOUN_PENALTY = 0.15
"""Taken off where it is not said who "she" is."""

IMPORTANCE = {
    "correction": 0.8,
    "decision": 0.75,
    "commitment": 0.75,
    "principle": 0.7,
    "relationship": 0.65,
    "preference": 0.6,
    "skill": 0.5,
    "fact": 0.5,
    "entity": 0.5,
    "moment": 0.45,
}
PREDICATE_IMPORTANCE = {
    "is_allergic_to": 0.9,
    "is_named": 0.8,
    "lives_in": 0.7,
    "works_at": 0.7,
    "born_on": 0.7,
    "deadline": 0.8,
    "is_married_to": 0.75,
    "works_as": 0.65,
}
EXPLICIT_BONUS = 0.15

_NOTE_CATEGORIES = frozenset({"preference", "decision", "commitment", "principle", "skill", "correction"})
_RULE = lazy(
    r"(?:please\s+)?(?:always|never)\b|from now on\b|.*\b(?:should|must) (?:never|always|not|be|keep|use|"
    r"have)\b|we (?:must|never|always)\b|.*\bmotto\b|in my opinion\b",
    re.IGNORECASE,
)
_APPOINTMENT = lazy(
    r"\b(?:appointment|meeting|flight|interview|exam|deadline|due|birthday|wedding|retro|standup|demo|"
    r"release|call|trip|goal|launch|presentation|party|concert|surgery|review)\b",
    re.IGNORECASE,
)
_TASTES = frozenset(["likes", "dislikes", "prefers"])
_SKILL_STATE = lazy(
    r"(?:not |very |really )*(?:fluent|good at|bad at|great at|terrible at|proficient|experienced)", re.I
)


def category_of(clause: Clause, dates: Dates, *, is_correction: bool, predicate: str) -> str:
    """Return one of the ten categories; the more telling ones come first."""
    telling = (
        ("correction", is_correction or clause.verb == "mean"),
        ("decision", predicate == "decided"),
        ("commitment", _is_commitment(clause, dates, predicate)),
        ("principle", _is_principle(clause)),
        ("preference", predicate in _TASTES or predicate.startswith(("favourite", "hobby"))),
        ("relationship", _is_relationship(clause, predicate)),
        ("skill", _is_skill(clause, predicate)),
        ("fact", clause.verb in STATE_CHANGES or "used to" in clause.auxiliaries),
        ("moment", _is_moment(clause, dates)),
        ("entity", _is_entity(clause, predicate)),
    )
    return next((category for category, applies in telling if applies), "fact")


def _is_principle(clause: Clause) -> bool:
    return clause.verb == "believe" or (clause.who is not Who.NAMED and bool(_RULE.match(clause.text)))


def _is_moment(clause: Clause, dates: Dates) -> bool:
    """Say whether something happens once: done, or dated from where the speaker stands."""
    if clause.is_past and not clause.is_copula and clause.verb not in ("grow", "have"):
        return True
    return dates.is_relative and (clause.is_past or dates.has_future)


def _is_entity(clause: Clause, predicate: str) -> bool:
    is_thing = clause.who in (Who.NAMED, Who.THING, Who.OURS) and predicate != "works_as"
    return is_thing and clause.is_copula and bool(re.match(r"(?:an?|our|the|called|named)\b", clause.tail))


def _is_commitment(clause: Clause, dates: Dates, predicate: str) -> bool:
    if predicate in ("promised", "deadline", "plans") or "deadline" in clause.subject.lower():
        return True
    if clause.who in (Who.SPEAKER, Who.WE) and clause.auxiliaries & {"will", "shall"}:
        return True
    if clause.is_past:
        return False
    if clause.verb in ("need", "have") and clause.tail.startswith("to "):
        return dates.has_future
    return dates.has_future and (bool(_APPOINTMENT.search(clause.text)) or clause.is_progressive)


def _is_relationship(clause: Clause, predicate: str) -> bool:
    if predicate == "is_married_to":
        return True
    if clause.who is Who.OWNED and KIN.search(clause.subject) and not PETS.search(clause.subject):
        return True
    if clause.is_copula and ROLES.match(clause.tail):
        return True
    return clause.verb == "have" and bool(KIN.search(clause.tail)) and clause.who in (Who.SPEAKER, Who.WE)


def _is_skill(clause: Clause, predicate: str) -> bool:
    if predicate in ("speaks", "learns", "knows"):
        return not clause.is_past and not re.match(r"(?:to|with|about|that)\b", clause.tail)
    if clause.is_copula and clause.who is Who.SPEAKER and _SKILL_STATE.match(clause.tail):
        return True
    if "can" in clause.auxiliaries and not clause.is_negated and clause.who is Who.SPEAKER:
        return True
    return (
        clause.is_progressive
        and "have" in clause.auxiliaries
        and clause.verb in ("code", "program", "play", "work", "cod")
    )


_CHRONIC = word_set("be have grow live work")


def kind_of(clause: Clause, dates: Dates, category: str) -> Kind:
    """Return episode or note, by the first of the six steps that applies."""
    if dates.is_relative and dates.has_past:
        return Kind.EPISODE
    if category in _NOTE_CATEGORIES:
        return Kind.NOTE
    if category == "moment":
        return Kind.NOTE if dates.has_future else Kind.EPISODE
    if clause.is_past and "used to" not in clause.auxiliaries and clause.verb not in _CHRONIC:
        return Kind.EPISODE
    return (
        Kind.NOTE
    )  # what is said in the present holds until it is replaced; nothing else is left for step six


def confidence_of(certainty: Certainty, *, is_by_assistant: bool, has_open_pronoun: bool) -> float:
    """Return how far to trust the statement."""
    confidence = CONFIDENCE[certainty] - PRONOUN_PENALTY * has_open_pronoun
    return round(min(confidence, 0.5) if is_by_assistant else confidence, 2)


def importance_of(category: str, predicate: str | None, certainty: Certainty) -> float:
    """Return how much the statement matters, by what it is and whether it was asked to be kept."""
    base = max(IMPORTANCE[category], PREDICATE_IMPORTANCE.get(predicate or "", 0.0))
    return round(min(0.95, base + EXPLICIT_BONUS * (certainty is Certainty.EXPLICIT)), 2)
