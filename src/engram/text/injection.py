"""
Score how much a text tries to instruct a model instead of telling it something.

Called by the gate for every statement and by import; calls `injection_views` to undo disguises,
`injection_signals` for what is said, `injection_tricks` for how it is hidden.
Signals combine by noisy-or, `1 - (1 - a)(1 - b)…`: one strong sign or several weak ones reach a line, and no
harmless sentence beside them lowers the score. The lines are policy: docs/lab/0007-pii-and-injection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.text import injection_signals, injection_tricks, injection_views
from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@dataclass(frozen=True, slots=True)
class InjectionScan:
    """How suspicious a text is, from 0 to 1, and why; reasons never quote the text."""

    score: float
    reasons: tuple[str, ...]


def scan(text: str) -> InjectionScan:
    """Return the score of a text and its reasons, weightiest first."""
    text = text[: injection_views.MAX_CHARACTERS]
    has_quotes = any(mark in text for mark in _QUOTES)
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
    signals: Signals = dict(injection_tricks.tricks(text))
    folded = injection_views.fold(text)
    _add(signals, injection_signals.marks(folded))
    plain = injection_views.words(folded)
    _add(signals, injection_signals.phrases(plain))
    for how, view in _hidden_views(text, folded, plain):
        said: Signals = {}
        _add(said, view)
        if combine(said) >= _HEARD and not said.keys() <= signals.keys():
            _add(signals, [*said.items(), (f"hidden by {how}", _DISGUISE)])
    return signals


def _hidden_views(text: str, folded: str, plain: str) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    for how, words in injection_views.disguises(plain):
        yield how, list(injection_signals.phrases(words))
    if joined := injection_views.unspaced(folded):
        yield "spaced letters", list(injection_signals.phrases(joined))
    for how, piece in injection_views.decoded(text):
        inner = injection_views.fold(piece)
        yield how, [*injection_signals.marks(inner), *injection_signals.phrases(injection_views.words(inner))]


def _add(signals: Signals, found: Iterator[tuple[str, float]] | list[tuple[str, float]]) -> None:
    """Keep the greatest weight of each reason: saying the same thing twice is no new evidence."""
    for reason, weight in found:
        signals[reason] = max(weight, signals.get(reason, 0.0))
