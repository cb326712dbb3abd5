"""Score how much a text tries to instruct a model instead of informing it."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from engramdb.text.disguises import (
    JOINED,
    MAX_CHARACTERS,
    decoded,
    disguises,
    fold,
    split_words,
    unjoined,
    unspaced,
)
from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy

# Recognise what an injected instruction says, and the marks with which it forges a role.
#
# The signals are in data/injection.toml. `phrases` reads plain lower-case words in English and other
# languages, `marks` reads the text with its lines and case. English signals have anchor words, the others a
# script or a needle: where none occurs the pattern is not run, which keeps an ordinary sentence at a tenth
# of a millisecond.

_WORD = lazy(r"\w+")
_PLACE_OF_WORDS = lazy(r"\{([A-Z]+)\}")
_CYRILLIC = lazy("[\u0400-\u04ff]")
_GREEK = lazy("[\u0370-\u03ff]")
_THAI_MARKS = lazy("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+")
"""Vowels and tones over and under a letter, for which plain words have a space."""
_EAST = lazy("[\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LINK = lazy(r"\]\(\s{0,2}(https?://[^)\n]{1,400})", re.IGNORECASE)
_CARRIES = lazy(
    r"\{\{?\s?[\w.]|<\w|\$\{|USER_|[?&=/]insert|[?&=](?:conversation|chat_?history|memories|"
    r"password|secrets?)\b",
    re.IGNORECASE,
)
_CARRIES_WEIGHT = 0.9


class InjectionSignal(Struct, frozen=True):
    """One thing that injected instructions say, and the words without which they do not say it."""

    reason: str
    weight: float
    pattern: str
    anchors: frozenset[str]
    needle: str


def phrases(words: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for everything that these lower-case words say."""
    anchored = _anchored()
    present = anchored.keys() & _WORD.findall(words)
    for signal in dict.fromkeys(signal for word in present for signal in anchored[word]):
        if _compiled(signal.pattern).search(words):
            yield signal.reason, signal.weight
    for name in _tongues(words):
        for signal in _signals(name):
            if _compiled(signal.pattern).search(words):
                yield signal.reason, signal.weight


def _tongues(words: str) -> Iterator[str]:
    """Yield the tables of other languages that may have something to say about these words."""
    for name, stems in _stems().items():
        if any(map(words.__contains__, stems)):
            yield name
    if not words.isascii():
        if _CYRILLIC.search(words):
            yield "cyrillic"
        if _GREEK.search(words):
            yield "greek"
        if _EAST.search(words):
            yield "east"


def marks(folded: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for forged roles, tags, tool calls and links that carry content away."""
    lower = folded.lower()
    for needle, signals in _marked():
        if needle in lower:
            for signal in signals:
                if _compiled(signal.pattern).search(folded):
                    yield signal.reason, signal.weight
    if "](" in folded and any(_CARRIES.search(link[1]) for link in _LINK.finditer(folded)):
        yield "link carries content", _CARRIES_WEIGHT


@cache
def _signals(table: str) -> tuple[InjectionSignal, ...]:
    """Return the signals of one table of the file."""
    listed = _listed()
    words = {name: _joined(pieces) for name, pieces in listed["words"].items()}
    flags = "(?im)" if table == "marks" else ""
    return tuple(
        InjectionSignal(
            reason=row["reason"],
            weight=row["weight"],
            pattern=flags + _THAI_MARKS.sub(" ?", _filled(_joined(row["pattern"]), words)),
            anchors=frozenset(
                row.get("anchors", "").replace("OVERRIDE", listed["anchors"]["OVERRIDE"]).split()
            ),
            needle=row.get("needle", ""),
        )
        for row in listed[table]
    )


@cache
def _stems() -> dict[str, tuple[str, ...]]:
    """Return what tables in Latin script need; looked for one by one, in a fifth of the time of a pattern."""
    return {table: tuple(stems.split("|")) for table, stems in _listed()["stems"].items()}


@cache
def _marked() -> tuple[tuple[str, list[InjectionSignal]], ...]:
    """Return the marks by the needle without which they are not there."""
    found: defaultdict[str, list[InjectionSignal]] = defaultdict(list)
    for signal in _signals("marks"):
        found[signal.needle].append(signal)
    return tuple(found.items())


@cache
def _anchored() -> dict[str, list[InjectionSignal]]:
    """Return the English signals by each of their anchor words."""
    found: defaultdict[str, list[InjectionSignal]] = defaultdict(list)
    for signal in _signals("english"):
        for word in signal.anchors:
            found[word].append(signal)
    return dict(found)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern when it is first needed: compiling all of them would cost the command line 50 ms."""
    return re.compile(pattern)


@cache
def _listed() -> dict[str, Any]:
    return registry("injection")


def _joined(pieces: str | list[str]) -> str:
    return pieces if isinstance(pieces, str) else "".join(pieces)


def _filled(pattern: str, words: dict[str, str]) -> str:
    return _PLACE_OF_WORDS.sub(lambda match: _filled(words[match[1]], words), pattern)


# Find the tricks themselves: characters and markup that keep words from a reader's eye.
#
# Invisible characters are normal between emoji, Persian or Devanagari letters, so only those inside Latin
# words count; a comment in HTML counts when it talks to a model. A trick is rarely proof: its weight adds
# to that of what was found behind it.

_TAGS_TRICKS = lazy("(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0020-\U000e007e]{2,}")
_SELECTOR_TRICKS = lazy("[\U000e0100-\U000e01ef]{4,}")
_OVERRIDES = lazy("[\u202d\u202e]")
_INSIDE_WORDS = lazy("(?<=[A-Za-z])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+(?=[A-Za-z ])")
_MIXED_WORD = lazy(
    "(?=[A-Za-z]{0,39}[\u0370-\u03ff\u0400-\u052f])(?=[\u0370-\u03ff\u0400-\u052f]{0,39}[A-Za-z])"
    "[A-Za-z\u0370-\u03ff\u0400-\u052f]{3,40}"
)
_STYLED = lazy("[\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001d400-\U0001d7ff]")

_COMMENTS = (("<!--", "-->"), ("[//]: # (", ")"), ("/*", "*/"))
_HIDDEN_ELEMENT = lazy(
    r"<[a-z]{1,12}\b[^<>]{0,300}?(?:display\s?:\s?none|visibility\s?:\s?hidden|"
    r"font-size\s?:\s?[01](?:px|pt|em)?\b|opacity\s?:\s?0(?![.\d]*[1-9])|"
    r"color\s?:\s?(?:#fff(?:fff)?|white)\b|(?:left|top|text-indent)\s?:\s?-\d{3,5}|\shidden\b|"
    r"aria-hidden=\"true\")[^<>]{0,300}>(?P<inner>[^<]{1,2000})",
    re.IGNORECASE,
)
_ATTRIBUTE = lazy(
    r"<(?:img|meta|input|a)\b[^<>]{0,300}?\b(?:alt|content|title|value)"
    r"\s?=\s?[\"'](?P<inner>[^\"'<>]{5,500})[\"']",
    re.IGNORECASE,
)
_TALKS_TO_A_MODEL = lazy(
    r"\b(?:ai|a\.i\.|llms?|gpt|chatgpt|claude|gemini|copilot|assistants?|agents?|chatbots?|"
    r"bots?|language models?|models?|prompt|instructions?|"
    r"ignore|disregard|summari[sz]er)\b",
    re.IGNORECASE,
)


def tricks(text: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for every way in which this text hides something."""
    if not text.isascii():
        yield from _hidden_characters(text)
    if "<" in text or "[//]" in text or "/*" in text:
        for inner in hidden_markup(text):
            if _TALKS_TO_A_MODEL.search(inner):
                yield "hidden markup speaks to a model", 0.6
                return


def _hidden_characters(text: str) -> Iterator[tuple[str, float]]:
    if _TAGS_TRICKS.search(text):
        yield "tag characters", 0.9
    if _SELECTOR_TRICKS.search(text):
        yield "variation selectors", 0.9
    if _OVERRIDES.search(text):
        yield "text direction override", 0.5
    if inside := len(_INSIDE_WORDS.findall(text)):
        yield "invisible characters inside words", 0.5 if inside >= 3 else 0.2
    if mixed := len(_MIXED_WORD.findall(text)):
        yield "words of mixed alphabets", 0.4 if mixed >= 3 else 0.15
    if len(_STYLED.findall(text)) >= 12:
        yield "styled letters", 0.2


def hidden_markup(text: str) -> Iterator[str]:
    """Yield what stands in comments, in elements that are not shown and in attributes."""
    for opening, closing in _COMMENTS:
        yield from _between(text, opening, closing)
    for pattern in (_HIDDEN_ELEMENT, _ATTRIBUTE):
        for match in pattern.finditer(text):
            yield match["inner"]


def _between(text: str, opening: str, closing: str) -> Iterator[str]:
    """Yield what stands between two marks; searched for, as a pattern would be slow on many openings."""
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start + len(opening) : end]
        start = text.find(opening, end)


MAX_READINGS = 10
"""Texts that are read in one: itself, what it spells undisguised, and what is encoded in it."""
_SENTENCE_WORDS = frozenset(["the", "this", "that", "these", "you", "your", "and", "are", "never", "about"])
"""Small words that sentences have and names of code have not."""


def readings(text: str) -> Iterator[tuple[str, str]]:
    """
    Yield (how, text) for every text that a reader may make of this one, as it stands first.

    At most `MAX_READINGS`, and none is much longer than the text itself.
    """
    text = text[:MAX_CHARACTERS]
    yield from itertools.islice(itertools.chain([("", text)], _hidden_readings(text)), MAX_READINGS)


def _hidden_readings(text: str) -> Iterator[tuple[str, str]]:
    folded = fold(text)
    plain = split_words(folded)
    yield from disguises(plain)
    if joined := unspaced(folded):
        yield "spaced letters", joined
    if (parted := unjoined(folded)) and _says_something(parted, plain):
        yield JOINED, parted
    yield from decoded(text)
    if any(opening in text for opening, _ in _COMMENTS) or "<" in text:
        yield from (("hidden markup", inner) for inner in hidden_markup(text))


def _says_something(parted: str, plain: str) -> bool:
    """Tell whether what was joined is a sentence; a judge would take many a name of code for an order."""
    brought = set(_WORD.findall(parted)).difference(plain.split())
    return len(brought & _SENTENCE_WORDS) >= 2 or any(phrases(parted))


# Score how much a text tries to instruct a model instead of telling it something.
#
# Signals combine by noisy-or, `1 - (1 - a)(1 - b)…`: one strong sign or several weak ones reach a line, and
# no harmless sentence beside them lowers the score. The lines are policy:
# docs/lab/0007-pii-and-injection.md.

Signals = dict[str, float]

_DISGUISE = 0.5
"""Weight of having hidden a payload at all; people do not write requests in base64."""
_HEARD = 0.3
"""A disguised view counts as hiding something when what it says scores at least this."""
_REPORTED = 0.35
"""What is left of a payload's weight where someone reports that a scanner looks for it."""

_REPORT = lazy(
    r"(?i)\b(?:look(?:s|ed|ing)? for|search(?:es|ed|ing)? for|detect(?:s|ed|ing)?|match(?:es|"
    r"ed|ing)?|scan(?:s|ned|ning)? for|block(?:s|ed|ing)?|"
    r"flag(?:s|ged|ging)?|catch(?:es|ing)?|caught|filter(?:s|ed|ing)?(?: out)?|phrases?|payloads?)"
    r"\W{1,3}(?:[\w-]{1,15} ){0,3}[\"'“‘`«](?P<quoted>[^\"'”’`»\n]{5,80})[\"'”’`»]"
)


_QUOTES = ('"', "'", "“", "‘", "`", "«")
"""One of these opens what `_REPORT` looks for."""


class InjectionScan(Struct, frozen=True):
    """How suspicious a text is, from 0 to 1, and why; reasons never quote the text."""

    score: float
    reasons: tuple[str, ...]


def scan(text: str) -> InjectionScan:
    """Return the score of a text and its reasons, weightiest first."""
    text = text[:MAX_CHARACTERS]
    has_quotes = any(map(text.__contains__, _QUOTES))
    quoted = [match["quoted"] for match in _REPORT.finditer(text)] if has_quotes else []
    rest = _REPORT.sub(" ", text) if quoted else text

    signals = _read(rest)
    for mention in quoted:
        weights = _read(mention)
        _add(signals, [("reported payload", _REPORTED * combine(weights))] if weights else [])
    ordered = sorted(signals, key=lambda reason: (-signals[reason], reason))
    return InjectionScan(score=combine(signals), reasons=tuple(ordered))


def combine(signals: Signals) -> float:
    """Return the noisy-or of all weights."""
    return round(1.0 - math.prod(1.0 - weight for weight in signals.values()), 4)


def _read(text: str) -> Signals:
    """Return every signal of a text, as it stands, undisguised and decoded."""
    signals: Signals = dict(tricks(text))
    folded = fold(text)
    _add(signals, marks(folded))
    plain = split_words(folded)
    _add(signals, phrases(plain))
    for how, view in _hidden_views(text, folded, plain):
        said: Signals = {}
        _add(said, view)
        if combine(said) >= _HEARD and not said.keys() <= signals.keys():
            disguise = [] if how == JOINED else [(f"hidden by {how}", _DISGUISE)]
            _add(signals, [*said.items(), *disguise])
    return signals


def _hidden_views(text: str, folded: str, plain: str) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    for how, words in disguises(plain):
        yield how, list(phrases(words))
    if joined := unspaced(folded):
        yield "spaced letters", list(phrases(joined))
    if parted := unjoined(folded):
        yield JOINED, list(phrases(parted))
    for how, piece in decoded(text):
        inner = fold(piece)
        yield how, [*marks(inner), *phrases(split_words(inner))]


def _add(signals: Signals, found: Iterator[tuple[str, float]] | list[tuple[str, float]]) -> None:
    """Keep the greatest weight of each reason: saying the same thing twice is no new evidence."""
    for reason, weight in found:
        signals[reason] = max(weight, signals.get(reason, 0.0))
