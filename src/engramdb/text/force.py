"""
How a sentence is meant: told, asked, guessed, imagined, quoted, ordered, or laid down as a rule.

One table of cues for every way in; their words are `statements` in `data/languages`. What stands in a note is
meant to last ("run the tests with -n 4"); what is said to an agent is often an order of the moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.normalize import lazy
from engramdb.text.sentences import Opened, SpeakerCertainty, take_opening
from engramdb.text.word_starts import AnyOf
from engramdb.values.reading import Force

MAX_CHARACTERS: Final = 2_000
"""A text says early what it is; a pasted page costs no more than a paragraph."""
MAX_BARE_WORDS: Final = 13
_MARKS: Final = " *_-–—("
"""May stand before the first word."""
_BEFORE_REQUEST: Final = lazy(
    rf"(?:(?:{any_pattern([one.sentences.before_requests for one in LANGUAGES.values()])})\b[,!]*\s+)+"
)
_BETWEEN_RULES: Final = lazy(
    r"(?:[,;]?\s+(?:and|also|plus)(?: also| please)?|;)\s+(?=(?:please )?(?:don['’]t|do not|never|always)\b)",
    re.IGNORECASE,
)


class _Cue(NamedTuple):
    name: str
    force: Force
    is_of_talk: bool = False
    """Whether it counts in a conversation alone: in a note "any change needs a review" asks nothing."""
    is_bare: bool = False
    """Whether it counts only in a short sentence that tells nothing besides."""


_CUES: Final = (
    _Cue("fiction", Force.QUOTED),
    _Cue("standing_rule", Force.RULE),
    _Cue("asking", Force.QUESTION, is_of_talk=True),
    _Cue("order", Force.REQUEST, is_of_talk=True),
    _Cue("bare_question", Force.QUESTION, is_of_talk=True, is_bare=True),
    _Cue("bare_order", Force.REQUEST, is_of_talk=True, is_bare=True),
    _Cue("question", Force.QUESTION),
    _Cue("rule", Force.RULE),
    _Cue("imagined", Force.HYPOTHETICAL),
    _Cue("reported", Force.QUOTED),
    _Cue("hedge", Force.HEDGED),
    _Cue("promise", Force.ASSERTED),
    _Cue("wished", Force.HYPOTHETICAL),
    _Cue("how_to", Force.ASSERTED),
    _Cue("request", Force.REQUEST),
    _Cue("imperative", Force.RULE),
)
"""The first that a sentence has decides."""


def read_force(sentence: Opened, *, in_conversation: bool = False) -> Force:
    """Return what the speaker does with a sentence."""
    words = bare_words(sentence.text)
    is_bare = len(words.split()) <= MAX_BARE_WORDS and not has_cue("telling", words)
    is_unsure = sentence.certainty <= SpeakerCertainty.HEDGED
    for cue in _CUES:
        if (cue.is_of_talk and not in_conversation) or (cue.is_bare and not is_bare):
            continue
        if has_cue(cue.name, words) or (cue.force is Force.HEDGED and is_unsure):
            return cue.force
    return Force.ASSERTED


def sets_rule(sentence: str) -> bool:
    """Return whether a sentence of a conversation lays down a rule by its words alone."""
    opened = take_opening(sentence)
    words = bare_words(opened.text)
    is_none = has_cue("others_rule", words) or has_cue("idiom", words)
    return not is_none and read_force(opened, in_conversation=True) is Force.RULE


def rule_parts(sentence: str) -> list[str]:
    """Return the rules that a sentence joins by "and", each as it was said, or the sentence as it is."""
    if len(sentence) > MAX_CHARACTERS:
        return [sentence]
    parts, begin = list[str](), 0
    for joint in _BETWEEN_RULES.finditer(sentence):
        left, right = sentence[begin : joint.start()], sentence[joint.end() :]
        if sets_rule(left) and has_cue("standing_rule", bare_words(right)):
            parts.append(left)
            begin = joint.end()
    return [*parts, sentence[begin:]]


def bare_words(text: str) -> str:
    """Return a sentence in small letters, as the cues are written, without what is said before a request."""
    lower = text[:MAX_CHARACTERS].lower().replace("’", "'").strip().lstrip(_MARKS)
    opening = _BEFORE_REQUEST.match(lower)
    return lower[opening.end() :] if opening and opening.end() < len(lower) else lower


def has_cue(name: str, words: str) -> bool:
    """Return whether a text in small letters has words that speak for a sort of statement."""
    return _cue(name).is_in(words)


@cache
def _cue(name: str) -> AnyOf:
    return AnyOf(_patterns()[name])


@cache
def _patterns() -> Mapping[str, list[str]]:
    """Return the patterns of all languages, by what they speak for."""
    said: dict[str, list[str]] = {}
    for one in LANGUAGES.values():
        for sort, patterns in one.statements.items():
            said.setdefault(sort, []).extend(patterns)
        if verbs := one.sentences.requests:
            said.setdefault("order", []).append(rf"^(?:{verbs})\b(?!,)" if one.spaced else rf"^(?:{verbs})")
    return said
