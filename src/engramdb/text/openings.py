"""
Take the opening words off a sentence, and keep what they tell: remember this, this corrects, I am not sure.

Used by the heuristic extractor before anything else looks at the sentence. "By the way" tells nothing and
goes; "actually" marks a correction; "I think" lowers confidence; "maybe" stays, because without it the
sentence would claim more than was said.
"""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

from engramdb.text.normalize import lazy

MAX_OPENINGS = 6
"""A sentence with more openings than this is left as it then is."""


class Certainty(IntEnum):
    """How sure the speaker sounded."""

    GUESSED = 0
    HEDGED = 1
    PLAIN = 2
    EXPLICIT = 3


class Opened(Struct, frozen=True):
    """A sentence without its opening words, and what they told."""

    text: str
    certainty: Certainty = Certainty.PLAIN
    is_correction: bool = False


_EXPLICIT = lazy(
    r"(?:(?:please|also|and|just|so|hey|ok|okay)[, ]+)*(?:"
    r"(?:remember|note|keep in mind|bear in mind|don['’]t forget|never forget|remind yourself|make a note)"
    r"(?: that| this)?(?:\s*[:,]|\s+that\b|\s+(?=i\b|i['’]|my\b|we\b|our\b|the\b))"
    r"|(?:for the record|fyi|for your information|just so you know|important|for (?:future )?reference|nb|"
    r"heads up)"
    r"\s*[:,]?)\s*",
    re.IGNORECASE,
)
_CORRECTION = lazy(
    r"(?:(?:oh|sorry|wait|hmm|hold on)[,. ]+)*(?:"
    r"(?:no|nope|wait|actually|correction|my mistake|i misspoke)\s*[,:–—-]+\s*(?:actually[, ]+)?(?=\S)"
    r"|(?:no[, ]+)?(?:that|this|it)(?:['’]s| is) (?:wrong|not (?:right|true|correct|quite right)|"
    r"incorrect)\s*[,:;–—-]+\s*"
    r"|actually\s+(?=i\b|my\b|the\b|we\b|it\b)"
    r"|i(?:['’]ve| have)? changed my mind\s*[,:;–—-]+\s*)",
    re.IGNORECASE,
)
_ANSWER = lazy(r"(?:(?:oh|sorry|wait|hmm|hold on)[,. ]+)*(?:no|nope|wait)\b[\s,:–—-]*\Z", re.IGNORECASE)
_DENIAL = lazy(r"\b(?:not|n['’]t|meant|actually|instead|wrong|no longer)\b", re.IGNORECASE)
"""What follows "no" where it corrects; otherwise it only answers a question."""
_HEDGE = lazy(
    r"(?:i (?:think|guess|suppose|feel like|would say|assume)|i['’]d say|if i remember correctly,|"
    r"(?:i['’]m|i am) (?:pretty|fairly|quite) sure|as far as i know,|apparently,?|probably,?)"
    r"(?: that)? +(?=(?:i|my|we|our|the|he|she|they|it|[A-Z])\b)",
    re.IGNORECASE,
)
_CHATTER = lazy(
    r"(?:(?:hi|hello|hey)(?: (?:there|all|everyone|again))?[,!.]+|(?:hi|hello|hey|thanks|thank you|yeah|"
    r"yep|yes|wow|ok|okay|cool|awesome|aww|oh|haha|nope|sure),? (?-i:[A-Z])\w+[,!.]+|(?:ok|okay|well|so|"
    r"alright|right|yes|yeah|yep|sure|oh|ah|hmm|um|uh|great|cool|nice|thanks|thank you|sorry|lol|haha|"
    r"anyway|also|and|but|plus|basically|honestly|frankly|obviously|of course|btw|by the way|just|"
    r"well then|in fact|i mean|you know|to be honest|tbh|tbf|fun fact|yesterday was fun)\b(?:\s*[,:!–—-]+|"
    r"\s+(?=(?:so|basically|i|my|we|our|yeah|just|well|then|also)\b))|"
    r"(?:(?:some|quick|more|a bit of) )?(?:context|background|update|about me|my setup|fun fact|"
    r"note to self):|"
    r"(?:as|like) (?:i|we)(?:['’]ve| have)? (?:already )?(?:said|mentioned|told you|wrote)"
    r"(?: (?:before|earlier|already|above|last time))?,|"
    r"(?:sorry|thanks|thank you) (?:for|"
    r"about) [\w' ]{2,40},)\s*",
    re.IGNORECASE,
)
_GUESS = lazy(
    r"\b(?:maybe|perhaps|possibly|might|may(?= (?:be|move|go|try|get|have|buy|start|switch))|could be)\b",
    re.I,
)
_HEDGED = lazy(r"\b(?:probably|i think|i guess|i suppose|kind of|sort of|not sure)\b", re.IGNORECASE)


def take_opening(sentence: str) -> Opened:
    """Return the sentence without its opening words, and what they told."""
    text, is_explicit, is_hedged, is_correction = sentence.strip(), False, False, False
    for _ in range(MAX_OPENINGS):
        if match := _EXPLICIT.match(text):
            is_explicit = True
        elif match := _CORRECTION.match(text):
            is_correction |= not _ANSWER.match(match.group()) or bool(_DENIAL.search(text[match.end() :]))
        elif match := _HEDGE.match(text):
            is_hedged = True
        elif (match := _CHATTER.match(text)) is None:
            break
        if match.end() >= len(text):
            break
        text = text[match.end() :]
    return Opened(text, _certainty(text, is_explicit=is_explicit, is_hedged=is_hedged), is_correction)


def _certainty(text: str, *, is_explicit: bool, is_hedged: bool) -> Certainty:
    if _GUESS.search(text):
        return Certainty.GUESSED
    if is_hedged or _HEDGED.search(text):
        return Certainty.HEDGED
    return Certainty.EXPLICIT if is_explicit else Certainty.PLAIN
