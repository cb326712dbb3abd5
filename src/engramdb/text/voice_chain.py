"""
Find the likeliest sequence of voices for the stretches of a message: the writer's own, or foreign.

A chain with two states. Every stretch says by its signs how foreign it sounds, and every boundary what a
change of voice costs there: little after a line that announces somebody else's words, much inside a
paragraph. The weights are in data/voice_weights.toml.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.voice_signs import Signs, announces, language, points_back, signs

MAX_READ_STRETCHES = 150
"""So many are read at the beginning and at the end of a message; between them the voice goes on."""


class Boundary(StrEnum):
    """What stands between a stretch and the one before it."""

    START = "start"
    BLANK = "blank"
    LINE = "line"
    SENTENCE = "sentence"


class VoiceStretch(Struct, frozen=True, kw_only=True):
    """A part of a message between two possible changes of voice."""

    text: str
    boundary: Boundary
    after: str = ""
    """What settled part stands right before it: code, log, marked, mail, chat, rule."""
    is_introduced: bool = False
    """Whether the words before it in the same line say that somebody else's follow."""
    is_in_rules: bool = False
    """Whether it stands between two horizontal rules."""
    is_foreign: bool | None = None
    """Known for what marks and shapes have settled; None for what is to be judged."""
    is_passed: bool = False
    """Whether the voice before it goes on after it: code stands in a pasted page as in own words."""


class StretchSigns(Struct, frozen=True):
    """The signs of a stretch by what they speak for."""

    foreign: Signs
    """That it is foreign."""
    enters: Signs
    """That foreign words begin with it."""
    leaves: Signs
    """That foreign words end before it."""


def foreign_voices(stretches: Sequence[VoiceStretch]) -> list[bool]:
    """Return for every stretch whether it is foreign, as the likeliest whole tells."""
    weights = _weights()
    own, foreign = 0.0, -math.inf
    """The best scores of a path that ends here in either voice."""
    origins: list[tuple[bool, bool]] = []
    """Where the best path to own and to foreign comes from: whether from foreign."""
    for stretch, shown in zip(stretches, chain_signs(stretches), strict=True):
        if shown is None:
            origins.append((False, True))
            if stretch.is_foreign is not None and not stretch.is_passed:
                origins[-1] = (foreign > own, foreign > own)
                own, foreign = (-math.inf, 0.0) if stretch.is_foreign else (0.0, -math.inf)
            continue
        left = foreign + _sum(shown.leaves, weights["leaves"])
        entered = own + _sum(shown.enters, weights["enters"])
        origins.append((left > own, foreign >= entered))
        own, foreign = max(own, left), max(foreign, entered) + _sum(shown.foreign, weights["foreign"])
    return _path(stretches, origins, is_foreign=foreign > own)


def _path(
    stretches: Sequence[VoiceStretch], origins: Sequence[tuple[bool, bool]], *, is_foreign: bool
) -> list[bool]:
    """Return the voices of the best path, followed back from its end."""
    path = []
    for stretch, (own_origin, foreign_origin) in zip(reversed(stretches), reversed(origins), strict=True):
        path.append(is_foreign if stretch.is_foreign is None else stretch.is_foreign)
        is_foreign = foreign_origin if is_foreign else own_origin
    return path[::-1]


def chain_signs(stretches: Sequence[VoiceStretch]) -> list[StretchSigns | None]:
    """Return the signs of every stretch that is to be judged, with what neighbors and the message add."""
    soft = [place for place, one in enumerate(stretches) if one.is_foreign is None]
    soft = soft[:MAX_READ_STRETCHES] + soft[MAX_READ_STRETCHES:][-MAX_READ_STRETCHES:]
    shown = {place: signs(stretches[place].text) for place in soft}
    if len(soft) > 1:
        _add_message(stretches, shown)
    found: list[StretchSigns | None] = []
    above = _Above()
    is_mail = False
    for place, stretch in enumerate(stretches):
        is_mail = (is_mail or stretch.after == "mail") and stretch.after not in ("rule", "marked")
        if place not in shown:
            found.append(None)
            above = _Above()
            continue
        mine = shown[place] | above.heading_signs(stretch)
        mine |= {"in rules": float(stretch.is_in_rules), "in mail": float(is_mail)}
        enters, leaves = _at_boundary(stretch, above.announced, is_alone=len(stretches) == 1)
        found.append(StretchSigns(mine, enters, leaves))
        above.take(stretch)
    return found


def _add_message(stretches: Sequence[VoiceStretch], shown: Mapping[int, dict[str, float]]) -> None:
    """Add to every stretch what it shows beside the others of its message."""
    languages = {place: language(stretches[place].text) for place in shown}
    counts = Counter(one for one in languages.values() if one)
    is_letter = any("to assistant" in one for one in shown.values())
    is_sloppy = any("small start" in one or "small i" in one for one in shown.values())
    for place, mine in shown.items():
        tongue = languages[place]
        is_other = tongue is not None and len(counts) > 1 and counts[tongue] == 1
        mine["other language"] = float(is_other)
        mine["contrast"] = float(is_sloppy and ("tidy" in mine or "tidy sentence" in mine))
        mine["letter to assistant"] = float(is_letter)


class _Above(Struct):
    """What the lines above say about a stretch: the one right before it, and one that ends with a colon."""

    announced: Signs = {}
    heading: Signs = {}
    is_begun: bool = False
    """Whether the paragraph below the heading has begun."""

    def heading_signs(self, stretch: VoiceStretch) -> dict[str, float]:
        """Return what a line with a colon says about the paragraph below it."""
        if self.is_begun and stretch.boundary is Boundary.BLANK:
            self.heading = {}
        return {f"under: {name}": strength for name, strength in self.heading.items()}

    def take(self, stretch: VoiceStretch) -> None:
        """Make a stretch the line above."""
        self.announced = announces(stretch.text)
        self.is_begun = bool(self.heading)
        if not self.is_begun and ("colon" in self.announced or "points down" in self.announced):
            self.heading = {name: 1.0 for name in _HEADING_SIGNS if name in self.announced}


_HEADING_SIGNS = (
    "colon",
    "says, colon",
    "shows, colon",
    "document, colon",
    "tells, colon",
    "work on this",
    "points down",
)


def _at_boundary(stretch: VoiceStretch, announced: Signs, *, is_alone: bool) -> tuple[Signs, Signs]:
    """Return the signs that foreign words begin with a stretch, and that they end before it."""
    place = {f"at {stretch.boundary}": 1.0}
    if stretch.after:
        place[f"after {stretch.after}"] = 1.0
        place[f"after {stretch.after}, at once"] = float(stretch.boundary is Boundary.LINE)
    own = {"alone": float(is_alone), "introduced": float(stretch.is_introduced)}
    return {**place, **own, **announced}, {**place, **points_back(stretch.text)}


def _sum(found: Signs, weights: Mapping[str, float]) -> float:
    return sum(strength * weights.get(name, 0.0) for name, strength in found.items())


@cache
def _weights() -> Mapping[str, Mapping[str, float]]:
    return registry("voice_weights")
