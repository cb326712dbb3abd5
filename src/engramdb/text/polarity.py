"""
Whether one statement denies what another one says, clause by clause.

A negation alone tells little: "my landlady doesn't allow pets" and "pets are forbidden by my landlady" say
the same, "I'm not allergic to nuts" and "I'm allergic to nuts, I don't eat them" do not. What counts is
whether the words of a clause that is denied in one are said without a denial in the other.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.normalize import lazy
from engramdb.text.terms import query_terms

_CLAUSE: Final = lazy(
    r"[,;:.!?()\n–—]+|\s-\s|\b(?:but|because|since|so|while|although|though|and|aber|weil|und|mais|et|pero|y|maar|en)\b",
    re.IGNORECASE,
)
_DENIAL: Final = lazy(
    r"\b(?:not|no|never|without|neither|nor|none|nothing|nobody|hardly|cannot|stop(?:ped|s)?|quit|refuse[sd]?|"
    r"forb[ia]d\w*|prohibit\w*|ban(?:s|ned)?|disallow\w*|avoid\w*|skip\w*|lack\w*|miss(?:es|ing)?|unable|"
    r"nicht|kein\w*|nie|niemals|ohne|verbot\w*|pas|jamais|sans|interdi\w*|nunca|sin|prohib\w*|niet|geen|nooit|"
    r"zonder|verbod\w*|ни|не|нет|без)\b|n['’]t\b|\w-(?:free|less)\b|不|没|无|ない|ません",
    re.IGNORECASE,
)
_SHARED_ABOVE: Final = 0.5
"""More than this share of a denied clause's words, said without a denial, contradict it."""


class PolarClause(Struct, frozen=True):
    """The terms of one clause, and whether it denies them."""

    terms: frozenset[str]
    is_denied: bool


@cached(2_000)
def polar_clauses(text: str) -> tuple[PolarClause, ...]:
    """Return the clauses of a text that say something."""
    found = []
    for part in _CLAUSE.split(text):
        words = frozenset(query_terms(_DENIAL.sub(" ", part)))
        if words:
            found.append(PolarClause(words, _DENIAL.search(part) is not None))
    return tuple(found)


def deny_each_other(first: str, second: str) -> bool:
    """Return whether one of two statements denies what the other says."""
    return _denies(first, second) or _denies(second, first)


def _denies(denying: str, saying: str) -> bool:
    said = [one for one in polar_clauses(saying) if not one.is_denied]
    denied = [one for one in polar_clauses(denying) if one.is_denied]
    whole = frozenset[str]().union(*(one.terms for one in said))
    repeated = frozenset[str]().union(*(one.terms for one in polar_clauses(saying) if one.is_denied))
    return any(_is_shared(one.terms, whole) and not _is_shared(one.terms, repeated) for one in denied)


def _is_shared(terms: frozenset[str], others: frozenset[str]) -> bool:
    return len(terms & others) > _SHARED_ABOVE * len(terms)
