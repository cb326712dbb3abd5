"""Split text into sentences, each as it was written, and take the opening words off one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct

from engramdb.text.lexicons import LANGUAGES
from engramdb.text.normalize import lazy
from engramdb.text.quotations import paired
from engramdb.text.word_starts import AnyOf

WRAPPED_LINE_CHARACTERS = 60
"""A line this long that ends without punctuation was probably wrapped, so the next line continues it."""

MAX_WHOLE_CHARACTERS = 400
"""A quotation or parenthesis longer than this is cut like other text."""

_FENCE = lazy(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_BULLET = lazy(r"[ \t]*(?:[-*+•◦▪–—][ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+)")
_NUMBER = lazy(r"[ \t]*\(?\d{1,3}[.)][ \t]+")
"""Marks an item only where several lines begin so; "240. But yeah" is an answer."""
_WHOLE = lazy(
    r"`[^`\n]{1,N}`"
    r'|"[^"\n]{1,N}"'
    rf"|{paired(MAX_WHOLE_CHARACTERS, in_line=True)}"
    r"|\([^()\n]{1,N}\)".replace("N", str(MAX_WHOLE_CHARACTERS))
)
_END = lazy(
    r"(?P<wide>[。！？｡]+[”」』）\"']*)|(?<![.!?…])(?P<mark>[.!?…]++)(?P<closing>[\"'”’»)\]*_]*+)(?=\s|\Z)"
)
_LAST_WORD = lazy(r"\S+\Z")


def _listed(name: str) -> frozenset[str]:
    return frozenset(word for one in LANGUAGES.values() for word in getattr(one.sentences, name).split())


_ABBREVIATIONS = _listed("abbreviations")
_NUMBERED = _listed("before_number")
"""These stand before a number: "fig. 3"; otherwise they are words."""
_ENDING_ABBREVIATIONS = _listed("ending_abbreviations")
"""These may close a sentence; they do when a capital letter follows."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in their order, trimmed, none empty."""
    return [sentence for block in _blocks(text) for sentence in _cut(block)]


def is_code_block(sentence: str) -> bool:
    """Return whether a sentence is a fenced block of code."""
    return _FENCE.match(sentence) is not None


def _blocks(text: str) -> Iterator[str]:
    """Yield code blocks whole, and elsewhere lines, with wrapped lines joined and bullets removed."""
    prose: list[str] = []
    code: list[str] = []
    for line in text.splitlines():
        if code:
            code.append(line)
            if _FENCE.match(line):
                yield "\n".join(code)
                code = []
        elif _FENCE.match(line):
            yield from _joined(prose)
            prose, code = [], [line]
        else:
            prose.append(line)
    yield from _joined(prose)
    if code:
        yield "\n".join(code)


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield lines, each with the lines that continue it."""
    waiting = ""
    is_numbered = sum(1 for line in lines if _NUMBER.match(line)) > 1
    for line in lines:
        bullet = _BULLET.match(line) or (_NUMBER.match(line) if is_numbered else None)
        bare = line[bullet.end() :].strip() if bullet else line.strip()
        if waiting and bare and not bullet and _is_wrapped(waiting):
            waiting = f"{waiting} {bare}"
            continue
        if waiting:
            yield waiting
        waiting = bare
    if waiting:
        yield waiting


def _is_wrapped(line: str) -> bool:
    last_line = line[-WRAPPED_LINE_CHARACTERS * 2 :]
    return len(line) >= WRAPPED_LINE_CHARACTERS and last_line[-1] not in ".!?…:;。！？"


def _cut(block: str) -> Iterator[str]:
    if _FENCE.match(block):
        yield block
        return
    whole = [match.span() for match in _WHOLE.finditer(block)]
    begin = place = 0
    for end in _END.finditer(block):
        while place < len(whole) and whole[place][1] <= end.start():
            place += 1
        inside = place < len(whole) and whole[place][0] < end.start() and end.end() < whole[place][1]
        if inside or not _closes(block, end):
            continue
        if sentence := block[begin : end.end()].strip():
            yield sentence
        begin = end.end()
    if rest := block[begin:].strip():
        yield rest


def _closes(block: str, end: re.Match[str]) -> bool:
    """Return whether a sentence ends at this mark."""
    if wide := end.group("wide"):
        return not (wide.endswith(("」", "』")) and block[end.end() : end.end() + 1] in ("と", "っ"))
    following = block[end.end() : end.end() + 4].lstrip()[:1]
    if not following:
        return True
    mark, is_lower = end.group("mark"), following.islower()
    if end.group("closing") or mark.startswith(("..", "…")):
        return not is_lower  # "Stop!" he said; well... maybe
    if mark == ".":
        return _dot_closes(block[max(0, end.start() - 40) : end.start()], following)
    return True


def _dot_closes(before: str, following: str) -> bool:
    found = _LAST_WORD.search(before)
    word = found.group().casefold().lstrip("(\"'“«[") if found else ""
    if word in _ABBREVIATIONS or (word in _NUMBERED and following.isdigit()):
        return False
    if len(word) == 1 and word.isalpha() and word != "i":
        return following.islower()  # an initial: J. Smith
    return not (following.islower() and word in _ENDING_ABBREVIATIONS)


# Opening words, and what they tell: remember this, this corrects, I am not sure. "By the way" tells nothing
# and goes; "actually" marks a correction; "I think" lowers confidence; "maybe" stays, because without it the
# sentence would claim more than was said.

MAX_OPENINGS = 6
"""A sentence with more openings than this is left as it then is."""


class SpeakerCertainty(IntEnum):
    """How sure the speaker sounded."""

    GUESSED = 0
    HEDGED = 1
    PLAIN = 2
    EXPLICIT = 3


class Opened(Struct, frozen=True):
    """A sentence without its opening words, and what they told."""

    text: str
    certainty: SpeakerCertainty = SpeakerCertainty.PLAIN
    is_correction: bool = False


_EXPLICIT = lazy(
    r"(?:(?:please|also|and|just|so|hey|ok|okay)[, ]+)*(?:"
    r"(?:(?:can|could|would|will) you (?:please )?|i (?:want|need) you to |make sure (?:you |to )?)?"
    r"(?:remember|memori[sz]e|note(?: down)?|keep in mind|bear in mind|don['’]t (?:ever )?forget|"
    r"never forget|"
    r"remind yourself|make a note(?: of)?|write down|take note)"
    r"(?: that| this)?(?:\s*[:,]|\s+that\b|\s+(?=i\b|i['’]|my\b|we\b|our\b|the\b|[\"“„«‘❝]))"
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
    r"note to self|lesson(?: learn(?:ed|t))?|tip|gotcha|rule|convention|reminder):|"
    r"(?:btw|by the way|oh and|ps|p\.s\.)\b[,:]?(?=\s)|"
    r"(?:as|like) (?:i|we)(?:['’]ve| have)? (?:already )?(?:said|mentioned|told you|wrote)"
    r"(?: (?:before|earlier|already|above|last time))?,|"
    r"(?:sorry|thanks|thank you) (?:for|"
    r"about) [\w' ]{2,40},)\s*",
    re.IGNORECASE,
)
_GUESS = AnyOf(
    [r"\b(?:maybe|perhaps|possibly|might|may(?= (?:be|move|go|try|get|have|buy|start|switch))|could be)\b"]
)
_HEDGED = AnyOf([r"\b(?:probably|i think|i guess|i suppose|kind of|sort of|not sure)\b"])


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


def _certainty(text: str, *, is_explicit: bool, is_hedged: bool) -> SpeakerCertainty:
    lower = text.lower().replace("’", "'")
    if _GUESS.is_in(lower):
        return SpeakerCertainty.GUESSED
    if is_hedged or _HEDGED.is_in(lower):
        return SpeakerCertainty.HEDGED
    return SpeakerCertainty.EXPLICIT if is_explicit else SpeakerCertainty.PLAIN
