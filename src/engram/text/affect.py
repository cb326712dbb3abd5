"""
How a statement felt: six signals become valence, intensity and arousal.

Called by the gate on every write; calls `polarity` for the words. Knows nothing of the store: whether this
was a correction or the first of its kind is told, not looked up. Arousal is |valence| · intensity, so that
only what is both clear and strong outlives forgetting. The weights are fitted to labels so that 0.5 divides
strong feelings from mild ones: docs/lab/0008-affect-and-topics.md.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

from engram.text.lazy import lazy
from engram.text.polarity import MOST_CHARACTERS, polarity
from engram.values import Affect

HIGH_AROUSAL = 0.5
"""From here on a memory counts as strongly felt."""

NEUTRAL_BELOW = 0.05
"""Valence this close to zero is no sentiment; VADER's own line."""


class Outcome(StrEnum):
    """How the task that a statement belongs to ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    RETRY = "retry"


Sentiment = Literal["positive", "negative", "neutral"]

_OUTCOMES = {
    Outcome.SUCCESS: (0.3, 0.2),
    Outcome.PARTIAL: (0.1, 0.0),
    Outcome.FAILURE: (-0.3, 0.3),
    Outcome.RETRY: (-0.15, 0.15),
}
"""Valence and intensity that an outcome adds."""

CORRECTION = 0.25
FIRST_OCCURRENCE = 0.2
URGENCY = 0.15
EMPHASIS = 0.15
MOST_EMPHASIS = 3
WORD_STRENGTH = 0.85
"""Share of intensity that strong words reach without an exclamation mark."""

_BANGS = lazy(r"[!！]{2,}|[!?！？]*(?:!\?|\?!)[!?]*|\*\*[^*\n]{1,80}\*\*")
_BANG = lazy("[!！]")
_CAPITALS = "A-ZÄÖÜÉÈА-Я"
_SHOUTED = lazy(
    rf"\b[{_CAPITALS}]{{2,}}\b(?:[ ,]+\b[{_CAPITALS}]+\b)+"  # two in a row; one alone may be an acronym
    r"|\b(?:LOVE|HATE|NEVER|AMAZING|AWESOME|STOP|NOW|WHY|YES|NO)\b"
)
_STRETCHED = lazy(r"\b\w*?([a-z])\1{3,12}\w*\b", re.IGNORECASE)
_REPEATED = lazy(r"([a-z])\1{3}", re.IGNORECASE)
"""What a stretched word holds; looking for the letters alone takes a tenth of the time."""
_EMOJI = lazy("[\U0001f300-\U0001faff\u2600-\u27bf]")
_URGENT = lazy(
    r"\b(?:asap|urgent(?:ly)?|immediately|right now|right away|at once|emergency|deadline|critical(?:ly)?|"
    r"top priority|by (?:tonight|eod|end of day)|dringend|sofort|eilt|urgence|immédiatement|urgente|"
    r"inmediatamente|срочно|немедленно)\b|紧急|马上|立刻|至急|緊急",
    re.IGNORECASE,
)
_PRESSING = (
    "asap|urgen|immediat|right now|right away|at once|emergency|deadline|critical|top priority|by |dringend|"
    "sofort|eilt|inmediat"
)
_URGENT_SIGNS = tuple(_PRESSING.split("|"))
"""Of the ASCII ones above each holds one of these."""
_NOT_URGENT = lazy(r"\bcritical (?:section|path)s?\b|\bnot urgent\b|\bno deadline\b", re.IGNORECASE)


def affect(
    text: str, *, outcome: Outcome | None = None, is_correction: bool = False, is_first: bool = False
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
    loud = 2 * len(_BANGS.findall(text)) + len(_BANG.findall(text)[:1]) + 2 * len(_SHOUTED.findall(text))
    stretched = len(_STRETCHED.findall(text)) if _REPEATED.search(text) else 0
    return min(MOST_EMPHASIS, loud + stretched + len(_EMOJI.findall(text)))


def urgency(text: str) -> int:
    """Return how pressing it sounds, 0 to 2."""
    lower = text.lower()
    if lower.isascii() and not any(sign in lower for sign in _URGENT_SIGNS):
        return 0
    return min(2, len(_URGENT.findall(_NOT_URGENT.sub(" ", text))))


def _clamp(value: float, *, low: float = 0.0) -> float:
    return max(low, min(1.0, value))
