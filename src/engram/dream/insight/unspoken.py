"""
What a question asks of somebody that nothing known of them speaks of.

Called by the engine before `certainty` judges; pure. A question about Ben's birthday finds whatever is known
of Ben, because his name fits; that is no answer. Only questions that name somebody or something are looked
at: without a name it is the asked words themselves that a memory fits by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.dream.insight.questions import relation_words
from engram.text.mentions import mentions
from engram.text.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.values import Memory

_SPOKEN_OF = {
    "born_on": "birthday birthdate",
    "lives_in": "home address city town country",
    "works_at": "job employer company",
    "works_as": "job profession occupation role",
    "is_married_to": "wife husband spouse partner",
    "likes": "favourite favorite",
    "prefers": "favourite favorite",
    "has_pet": "cat dog animal",
}
"""Words that ask for a relation without being said in it."""


def unspoken(question: str, known: Sequence[Memory]) -> tuple[str, ...]:
    """Return the asked words, where a question names somebody and no memory holds any of these words."""
    names = {term for one in mentions(question) for term in query_terms(one.text)}
    asked = [term for term in query_terms(question) if term not in names]
    if not names or not asked or not known:
        return ()
    held = {term for memory in known for term in _held(memory)}
    return () if held.intersection(asked) else tuple(_as_asked(question, asked))


def _held(memory: Memory) -> Iterable[str]:
    predicate = memory.predicate or ""
    yield from terms(memory.content)
    yield from query_terms(f"{predicate.replace('_', ' ')} {relation_words(predicate)}")
    yield from query_terms(_SPOKEN_OF.get(predicate, ""))


def _as_asked(question: str, asked: Sequence[str]) -> Iterable[str]:
    """Yield the words of the question as they were typed, in place of their stems."""
    for word in question.split():
        plain = word.strip("?!.,;:\"'()")
        if any(term in asked for term in query_terms(plain)):
            yield plain
