"""
What a single statement says of whom, read from its words.

Used by the gate for statements that come without subject, relation and object: `remember`, corrections,
imports. Reads only the first clause; what it does not understand it leaves open. How many clauses there are
is asked before one statement takes the place of another: what only one of them says must not go with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.capture.extract.clauses import is_third, read
from engram.capture.extract.openings import take_opening
from engram.capture.extract.propositions import clauses
from engram.capture.extract.relations import relate, subject_of
from engram.text.lazy import lazy

_JOINED = lazy(r"[;,–—]|\s-\s|\b(?:and|but)\b", re.IGNORECASE)
"""Without one of these there is one clause."""
_FURTHER = lazy(
    r"\b(?:and|but)\s+(?:also |then |now |never |always |currently |once )?"
    r"(?:(?:is|was|has|had|does|did|will|can)\b|(?P<verb>[a-z]+))"
)
_ENDED = lazy(r"\b(?:no longer|any ?more|never)\b", re.IGNORECASE)
SOMEONE = "User"
"""Who speaks, where nobody has said."""


@dataclass(frozen=True, slots=True)
class Stated:
    """Subject, relation and object of one statement, and what the object takes the place of."""

    subject: str
    predicate: str
    object: str | None
    replaces: str | None
    is_negated: bool


def read_statement(content: str, *, speaker: str | None = None) -> Stated | None:
    """Return what the statement says, or None where it is not understood."""
    clause = read(_clauses(content)[0])
    if clause is None:
        return None
    found = relate(clause)
    return Stated(
        subject=subject_of(clause, found, speaker=speaker or SOMEONE),
        predicate=found.predicate,
        object=found.object,
        replaces=found.replaces,
        is_negated=clause.is_negated or found.is_ended or bool(_ENDED.search(content)),
    )


def says_more(content: str, other: str) -> bool:
    """Say whether one statement says more than another: "Ann lives in Oslo and works at Acme" says two."""
    return _count(content) > _count(other)


def _count(content: str) -> int:
    """Return how many things are said: the clauses, and further verbs of a subject that has a name."""
    return sum(
        1 + sum(1 for found in _FURTHER.finditer(clause) if found["verb"] is None or is_third(found["verb"]))
        for clause in _clauses(content)
    )


def _clauses(content: str) -> list[str]:
    text = take_opening(content).text
    return (clauses(text) if _JOINED.search(text) else []) or [text]
