"""
Which relation a question asks for, of whom: "where does Kofi live?" wants what `lives_in` says of Kofi.

What was read as a claim when it came in is found by it, in whatever words it was told and whoever told it.
The patterns stand with each language, under `questions.relations`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct

from engramdb.store.contract import Related
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.names import fold_name

RELATION: Final = "relation"
"""The signal of what tells the relation that was asked for."""
MAX_RELATED: Final = 1000
"""The newest memories with a relation that are looked at."""
MAX_QUESTION: Final = 300
"""Characters of a question; a longer one is no such question."""
_WHO: Final = r"(?P<who>[\w.\-]+(?:['’]s)?(?: [\w.\-]+(?:['’]s)?){0,3}?)"
_FIRST_PERSON: Final = frozenset({"i", "we", "me", "us", "my", "our"})
_OWN: Final = re.compile(r"(?:my|our)\s+", re.IGNORECASE)
_OWNER: Final = re.compile(r"['’]s\b")
_NARRATORS: Final = frozenset({"user", "the user", "i", "we"})


class AskedRelation(Struct, frozen=True):
    """A relation, and of whom it is asked, in the question's words."""

    predicates: tuple[str, ...]
    who: str


def asked_relation(question: str) -> AskedRelation | None:
    """Return the relation that a question asks for, where its words leave no doubt."""
    if len(question) > MAX_QUESTION:
        return None
    for pattern, predicates in _patterns():
        if found := pattern.search(question):
            return AskedRelation(predicates, found["who"].strip())
    return None


def tells_of(asked: AskedRelation, told: Related) -> bool:
    """Return whether a claim is about the one whom the question is about."""
    subject, speaker = told.subject or "", told.speaker or ""
    is_own = subject.casefold() in _NARRATORS or (bool(speaker) and fold_name(subject) == fold_name(speaker))
    who = asked.who.casefold()
    if who in _FIRST_PERSON:
        return is_own
    if _OWN.match(asked.who):
        owner, _, owned = subject.rpartition("'s ")
        is_mine = owner.casefold() in _NARRATORS or (bool(speaker) and fold_name(owner) == fold_name(speaker))
        return is_mine and fold_name(owned) == fold_name(_OWN.sub("", asked.who))
    wanted, named = (fold_name(_OWNER.sub("", one)) for one in (asked.who, subject))
    is_whole = wanted == named or ("'s " not in subject and wanted == named.split(" ")[0])
    return bool(wanted) and is_whole


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    return tuple(
        (re.compile(rf"\b(?:{pattern.replace('WHO', _WHO)})\W*\Z", re.IGNORECASE), tuple(names.split()))
        for language in LANGUAGES.values()
        for names, patterns in language.questions.relations.items()
        for pattern in patterns
    )
