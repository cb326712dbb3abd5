"""Valence, intensity and arousal of a statement."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Literal

import Stemmer
from msgspec import Struct

from engramdb.text.lexicons import LANGUAGES, AffectWords, any_pattern, registry
from engramdb.text.normalize import lazy
from engramdb.values import Affect, TaskOutcome

# How good or bad the words of a text sound, from -1 to 1.
#
# Reads words only: what a task came to and who corrected whom is told elsewhere. VADER was made for tweets,
# so terms of work ("kill the process") are silenced and phrases it lacks are added; both lists are in
# data/vader.toml, and what they gain is in docs/lab/0008-affect-and-topics.md.

MOST_CHARACTERS = 2_000
"""Of one text that are read: VADER's rule for "but" is quadratic, and a feeling does not need more room."""

NORMALISING = 15.0  # VADER's own constant, so that both kinds of score lie on one scale
MILD, STRONG = 1.8, 3.2
BOOST, BANG = 0.3, 0.292  # VADER's for "very" and for each of up to four exclamation marks
NEGATED = -0.74
NEGATION_REACH = 3
TOO_MUCH, CANNOT = -1.3, -1.1  # "too loud" and "can't log in" complain, whatever the word after them

_WORD = lazy(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TOKEN = lazy(r"\w+")
_QUOTED = lazy(r"[\"“«「][^\"”»」]{1,60}[\"”»」]|`[^`]{1,200}`|\blabelled \w+|\bcalled \w+")
_CJK = lazy("[\u3040-\u30ff\u4e00-\u9fff]")
_KANA = lazy("[\u3040-\u30ff]")
_CYRILLIC = lazy("[\u0400-\u04ff]")
_TOO = lazy(r"\btoo (?!bad\b|much fun\b|good\b)(?=[a-z]{3,})", re.IGNORECASE)
_CANNOT = lazy(r"\b(?:can't|cannot|couldn't) (?=(?!wait|believe|complain|be |feel|thank|stop)[a-z]{3,})")
_CLAUSE = lazy(r"[,.;:!?，。；：！？、\n]+")
_BANGS = lazy("[!！]")
_NAME = lazy(r"(?<=[\w,;] )[A-Z][a-z]+\b")


_EVIDENCE = (
    *("positive", "strong_positive", "negative", "strong_negative"),
    *("negators", "boosters", "markers", "silent"),
)
"""The lists whose words speak for a language."""


class _AffectLexicon(Struct, frozen=True):
    """The words of one language: what each weighs, and which turn or strengthen the next."""

    weights: dict[str, float]
    negators: frozenset[str]
    boosters: frozenset[str]
    evidence: frozenset[str]
    """Words that speak for this language: its small words and the listed ones."""
    silent: frozenset[str]
    """Words whose stem is that of a listed one but that mean something else: schon is not schön."""
    stems: str
    """The stemmer's name for the language; empty for scripts without spaces."""
    scan: re.Pattern[str] | None
    """For scripts without spaces: every listed word, longest first."""


def polarity(text: str) -> float:
    """Return how the words sound, -1 to 1; 0 where they say nothing or cancel out."""
    read = text[:MOST_CHARACTERS]
    language = language_of(read)
    if language == "en":
        return _english(read)
    total = sum(_foreign(read, _languages()[language]))
    emoji = _emoji(read)
    if total == 0:
        return emoji
    total += math.copysign(BANG * min(len(_BANGS.findall(read)), 4), total)
    return _clamp(total / math.sqrt(total * total + NORMALISING) + emoji, low=-1.0)


def language_of(text: str) -> str:
    """Return the language whose words fit: by script, then by small words; English unless another wins."""
    if _CJK.search(text):
        return "ja" if _KANA.search(text) else "zh"
    if _CYRILLIC.search(text):
        return "ru"
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    languages = _languages()
    votes = {code: sum(map(languages[code].evidence.__contains__, words)) for code in ("de", "fr", "es")}
    english = sum(map(_english_markers().__contains__, words))
    best = max(votes, key=lambda code: votes[code])
    return best if votes[best] > english else "en"


def _english(text: str) -> float:
    marked = _without_names(_QUOTED.sub(" ", text.replace("’", "'")))
    if _may_hold_phrase(marked):
        marked = _phrases().sub(_mark, marked)
    marked = _TOO.sub(f"{_marker(TOO_MUCH)} ", _CANNOT.sub(f"{_marker(CANNOT)} ", marked))
    return float(_vader().polarity_scores(marked)["compound"])


def _without_names(text: str) -> str:
    """Return the text without capitalised words inside a sentence: Joy Miller is not joy."""
    return text if text.istitle() else _NAME.sub("_", text)


def _mark(match: re.Match[str]) -> str:
    """Return the word that stands for a phrase in the lexicon, loud if the phrase was."""
    weight = _corrections()["phrases"][match.group().casefold()]
    marker = _marker(weight)
    return marker.upper() if match.group().isupper() else marker


def _marker(weight: float) -> str:
    return f"feel{weight:+.1f}"


def _foreign(text: str, language: _AffectLexicon) -> Iterator[float]:
    """Yield the weight of each listed word, turned round by a negation before it in the same clause."""
    for clause in _CLAUSE.split(text):
        words = _words(clause, language)
        for at, word in enumerate(words):
            if word in language.weights:
                yield _weigh(word, words[max(0, at - NEGATION_REACH) : at], language)


def _weigh(word: str, before: list[str], language: _AffectLexicon) -> float:
    weight = language.weights[word]
    if any(earlier in language.boosters for earlier in before):
        weight += math.copysign(BOOST, weight)
    return weight * NEGATED if any(earlier in language.negators for earlier in before) else weight


def _words(text: str, language: _AffectLexicon) -> list[str]:
    if language.scan:
        return language.scan.findall(text)
    plain = [_plain(word) for word in _WORD.findall(text)]
    return _stems([word for word in plain if word not in language.silent], language.stems)


def _stems(words: list[str], stems: str) -> list[str]:
    """Return the stems, so that one form of a word in the list stands for all."""
    stemmed: list[str] = Stemmer.Stemmer(stems).stemWords(words) if stems else words
    return stemmed


def _plain(word: str) -> str:
    """Return a word without case and without what is run together with it: l'hiver, j'aime."""
    return word.casefold().replace("’", "'").rpartition("'")[2]


def _emoji(text: str) -> float:
    """Return what the emoji alone say; they need no language."""
    known = _vader().emojis
    found = " ".join(character for character in text if character in known)
    return float(_vader().polarity_scores(found)["compound"]) if found else 0.0


@cache
def _vader() -> Any:
    """Return VADER with our words in its lexicon; imported here because reading alone never needs it."""
    analyzer = import_module("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()
    english = _corrections()
    for word in english["neutral"].split():
        analyzer.lexicon.pop(word, None)
    for event in english["events"]:
        for word in event["words"].split():
            analyzer.lexicon.setdefault(word, event["weight"])
    analyzer.lexicon.update(english["words"])
    analyzer.lexicon.update(
        {_marker(weight): weight for weight in (*english["phrases"].values(), TOO_MUCH, CANNOT)}
    )
    return analyzer


@cache
def _english_markers() -> frozenset[str]:
    return frozenset(_corrections()["markers"].split())


@cache
def _phrases() -> re.Pattern[str]:
    longest_first = sorted(_corrections()["phrases"], key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def _may_hold_phrase(text: str) -> bool:
    """Return whether two words in a row begin a phrase: seldom, and the pattern for all of them is slow."""
    if not text.isascii():
        return True
    words = _TOKEN.findall(text.lower())
    return not _openings().isdisjoint([*itertools.pairwise(words), *words])


@cache
def _openings() -> frozenset[tuple[str, ...] | str]:
    """Return the first two words of each phrase, or the word that is one by itself."""
    every = (_TOKEN.findall(phrase.lower()) for phrase in _corrections()["phrases"])
    return frozenset(words[0] if len(words) == 1 else tuple(words[:2]) for words in every)


@cache
def _languages() -> dict[str, _AffectLexicon]:
    return {code: _read_language(one.affect, one.stemmer) for code, one in LANGUAGES.items() if one.affect}


def _read_language(words: AffectWords, stems: str) -> _AffectLexicon:
    def listed(row: str) -> list[str]:
        return _stems([_plain(word) for word in row.split()], stems)

    weights = dict.fromkeys(listed(words.positive), MILD) | dict.fromkeys(
        listed(words.strong_positive), STRONG
    )
    weights |= dict.fromkeys(listed(words.negative), -MILD) | dict.fromkeys(
        listed(words.strong_negative), -STRONG
    )
    negators, boosters = frozenset(listed(words.negators)), frozenset(listed(words.boosters))
    longest_first = sorted({*weights, *negators, *boosters}, key=lambda word: (-len(word), word))
    return _AffectLexicon(
        weights=weights,
        negators=negators,
        boosters=boosters,
        evidence=frozenset(" ".join(getattr(words, name) for name in _EVIDENCE).split()),
        silent=frozenset(words.silent.split()),
        stems=stems,
        scan=None if stems else re.compile("|".join(map(re.escape, longest_first))),
    )


@cache
def _corrections() -> dict[str, Any]:
    return registry("vader")


def _clamp(value: float, *, low: float = 0.0) -> float:
    return max(low, min(1.0, value))


# How a statement felt: six signals become valence, intensity and arousal.
#
# Knows nothing of the store: whether this was a correction or the first of its kind is told, not looked up.
# Arousal is |valence| · intensity, so that only what is both clear and strong outlives forgetting. The
# weights are fitted to labels so that 0.5 divides strong feelings from mild ones:
# docs/lab/0008-affect-and-topics.md.

HIGH_AROUSAL = 0.5
"""From here on a memory counts as strongly felt."""

NEUTRAL_BELOW = 0.05
"""Valence this close to zero is no sentiment; VADER's own line."""


Sentiment = Literal["positive", "negative", "neutral"]

_OUTCOMES = {
    TaskOutcome.DONE: (0.3, 0.2),
    TaskOutcome.PARTIAL: (0.1, 0.0),
    TaskOutcome.FAILED: (-0.3, 0.3),
    TaskOutcome.CANCELLED: (-0.05, 0.0),
    TaskOutcome.RETRY: (-0.15, 0.15),
}
"""Valence and intensity that an outcome adds."""

CORRECTION = 0.25
FIRST_OCCURRENCE = 0.2
URGENCY = 0.15
EMPHASIS = 0.15
MOST_EMPHASIS = 3
WORD_STRENGTH = 0.85
"""Share of intensity that strong words reach without an exclamation mark."""

_EMPHATIC = lazy(r"[!！]{2,}|[!?！？]{0,20}(?:!\?|\?!)[!?]*|\*\*[^*\n]{1,80}\*\*")
_CAPITALS = "A-ZÄÖÜÉÈА-Я"
_SHOUTED = lazy(
    rf"\b[{_CAPITALS}]{{2,}}\b(?:[ ,]+\b[{_CAPITALS}]+\b)+"  # two in a row; one alone may be an acronym
    r"|\b(?:LOVE|HATE|NEVER|AMAZING|AWESOME|STOP|NOW|WHY|YES|NO)\b"
)
_STRETCHED = lazy(r"\b\w*?([a-z])\1{3,12}\w*\b", re.IGNORECASE)
_REPEATED = lazy(r"([a-z])\1{3}", re.IGNORECASE)
"""What a stretched word holds; looking for the letters alone takes a tenth of the time."""
_EMOJI = lazy("[\U0001f300-\U0001faff\u2600-\u27bf]")
_PRESSING_ENGLISH = (
    r"asap|urgent(?:ly)?|immediately|right now|right away|at once|emergency|deadline|critical(?:ly)?|"
    r"top priority|by (?:tonight|eod|end of day)"
)
_URGENT_SPACED, _URGENT_UNSPACED = (
    any_pattern([one.affect.urgent for one in LANGUAGES.values() if one.affect and one.spaced is is_spaced])
    for is_spaced in (True, False)
)
_URGENT = lazy(rf"\b(?:{_PRESSING_ENGLISH}|{_URGENT_SPACED})\b|{_URGENT_UNSPACED}", re.IGNORECASE)
_PRESSING = (
    "asap|urgen|immediat|right now|right away|at once|emergency|deadline|critical|top priority|by |dringend|"
    "sofort|eilt|inmediat"
)
_URGENT_SIGNS = tuple(_PRESSING.split("|"))
"""Of the ASCII ones above each holds one of these."""
_NOT_URGENT = lazy(r"\bcritical (?:section|path)s?\b|\bnot urgent\b|\bno deadline\b", re.IGNORECASE)


def affect(
    text: str, *, outcome: TaskOutcome | None = None, is_correction: bool = False, is_first: bool = False
) -> Affect:
    """
    Return how a statement felt.

    Words and the task's outcome decide the valence; strong words, emphasis, urgency, a correction and
    a first occurrence raise the intensity.
    """
    read = text[:MOST_CHARACTERS]
    words = polarity(read)
    outcome_valence, outcome_intensity = _OUTCOMES[outcome] if outcome else (0.0, 0.0)
    valence = _clamp(words + outcome_valence, low=-1.0)
    intensity = _clamp(
        WORD_STRENGTH * abs(words)
        + EMPHASIS * emphasis(read)
        + outcome_intensity
        + CORRECTION * is_correction
        + FIRST_OCCURRENCE * is_first
        + URGENCY * urgency(read)
    )
    return Affect(valence=valence, intensity=intensity, arousal=abs(valence) * intensity)


def sentiment(felt: Affect) -> Sentiment:
    """Return the valence in a word."""
    if abs(felt.valence) < NEUTRAL_BELOW:
        return "neutral"
    return "positive" if felt.valence > 0 else "negative"


def emphasis(text: str) -> int:
    """Return how loud the writing is, 0 to 3: exclamation marks, capitals, stretched words, bold, emoji."""
    loud = 2 * len(_EMPHATIC.findall(text)) + len(_BANGS.findall(text)[:1]) + 2 * len(_SHOUTED.findall(text))
    stretched = len(_STRETCHED.findall(text)) if _REPEATED.search(text) else 0
    return min(MOST_EMPHASIS, loud + stretched + len(_EMOJI.findall(text)))


def urgency(text: str) -> int:
    """Return how pressing it sounds, 0 to 2."""
    lower = text.lower()
    if lower.isascii() and not any(sign in lower for sign in _URGENT_SIGNS):
        return 0
    return min(2, len(_URGENT.findall(_NOT_URGENT.sub(" ", text))))
