"""
The words that carry what a statement says, so that two wordings of it can be compared, whoever speaks.

What every sentence has goes, and who speaks of themselves does: "I" and "the user" are one. Months, weekdays
and relatives have one form however they are written: "Feb" is February and "mum" is mother. Numbers and names
are those of `specifics`.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.specifics import NUMBER_WORDS, specifics_of, without_codes
from engramdb.text.terms import query_terms

STEM_LETTERS = 6
"""Of a stem: "allergic" and "allergy" are one word here."""
MAX_WORDS = 60
"""Of one statement; a longer text is no statement."""

_FRAME = """
user users user's speaker person someone somebody note notes memory fact reminder imported private background
told said says mentioned got get gets getting really actually currently still already going thing things
nutzer nutzerin benutzer benutzerin utilisateur utilisatrice usuario usuaria utente gebruiker gebruikster
"""
"""Words with which a statement is reported, and those that add nothing to it."""
_PLAIN = frozenset({"may", "mar", "sun", "sat", "wed", "so", "do"})
"""Short words that mostly mean something else than a month or a weekday."""
_KIN, _MONTH, _DAY = "kin ", "month ", "day "


class Gist(Struct, frozen=True):
    """What a statement says, in words that can be counted."""

    words: frozenset[str]
    """Stems of the words that carry it; months, weekdays and relatives in one form."""
    names: frozenset[str] = frozenset()
    """Those of the words that are names."""
    numbers: frozenset[str] = frozenset()
    relatives: frozenset[str] = frozenset()
    """Those of the words that name a relative."""
    times: frozenset[str] = frozenset()
    """Those of the words that name a month or a weekday."""


@cached(2048)
def gist_of(statement: str) -> Gist:
    """Return what a statement says."""
    named, found = specifics_of(statement), set()
    for term in query_terms(without_codes(statement))[:MAX_WORDS]:
        if term not in _small_words() and not any(character.isdigit() for character in term):
            found.add(_form(term))
    names = {_form(term) for name in named.names for term in query_terms(name)}
    kin = {one for one in found if one.startswith(_KIN)}
    times = {one for one in found if one.startswith((_MONTH, _DAY))}
    return Gist(
        words=frozenset(found),
        names=frozenset((names & found) - kin - times),
        numbers=named.numbers,
        relatives=frozenset(kin),
        times=frozenset(times),
    )


def _form(term: str) -> str:
    return _forms().get(term, term[:STEM_LETTERS])


@cache
def _small_words() -> frozenset[str]:
    """Return what says nothing by itself: little words, words of reports, and numbers, counted as such."""
    little = " ".join(one.voices.little for one in LANGUAGES.values())
    return frozenset(query_terms(f"{_FRAME} {little} {' '.join(NUMBER_WORDS)}"))


@cache
def _forms() -> dict[str, str]:
    """Return the one form of months, weekdays and relatives, by stems."""
    found: dict[str, str] = {}
    for language in LANGUAGES.values():
        time = language.time
        for sort, row in (
            *((_MONTH, months) for months in (time.months, time.short_months)),
            *((_DAY, days) for days in (time.weekdays, time.short_weekdays)),
        ):
            for place, forms in enumerate(row.split(), start=1):
                found |= {word: f"{sort}{place}" for word in forms.split("/") if word not in _PLAIN}
        found |= {word: f"{_KIN}{noun}" for noun, said in language.kin.items() for word in said.split()}
    return {stem: form for word, form in found.items() for stem in query_terms(word)}
