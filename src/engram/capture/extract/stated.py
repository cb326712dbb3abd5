"""
What a single statement says of whom, read from its words.

Used by the gate for statements that come without subject, relation and object: `remember`, corrections,
imports. Reads only the first clause; what it does not understand it leaves open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.capture.extract.clauses import read
from engram.capture.extract.openings import take_opening
from engram.capture.extract.relations import relate, subject_of
from engram.text.lazy import lazy

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
    clause = read(take_opening(content).text)
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
