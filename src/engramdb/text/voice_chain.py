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
from enum import IntEnum, StrEnum
from functools import cache

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.voice_signs import Signs, announces, language, points_back, signs

MAX_READ_STRETCHES = 150
"""So many are read at the beginning and at the end of a message; between them the voice goes on."""


ONCE_MORE = "once more"
"""The sign that foreign words begin after others have ended."""


class Boundary(StrEnum):
    """What stands between a stretch and the one before it."""

    START = "start"
    BLANK = "blank"
    LINE = "line"
    SENTENCE = "sentence"
    COLON = "colon"


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


class _State(IntEnum):
    """Where in a message a path is: most messages have foreign words in one place at most."""

    OWN = 0
    FOREIGN = 1
    OWN_AGAIN = 2


def foreign_voices(stretches: Sequence[VoiceStretch]) -> list[bool]:
    """Return for every stretch whether it is foreign, as the likeliest whole tells."""
    best = [0.0, -math.inf, -math.inf]
    """The best score of a path that ends here in each state."""
    origins: list[tuple[_State, _State, _State]] = []
    """The state before, of each of these paths."""
    for stretch, shown in zip(stretches, chain_signs(stretches), strict=True):
        if shown is not None:
            best, came_from = _step(best, shown)
        elif stretch.is_foreign is None or stretch.is_passed:
            came_from = (_State.OWN, _State.FOREIGN, _State.OWN_AGAIN)
        else:
            came_from = (_best(best),) * 3
            best = [-math.inf] * 3
            best[_State.FOREIGN if stretch.is_foreign else _State.OWN_AGAIN] = 0.0
        origins.append(came_from)
    state, path = _best(best), []
    for stretch, came_from in zip(reversed(stretches), reversed(origins), strict=True):
        path.append(state is _State.FOREIGN if stretch.is_foreign is None else stretch.is_foreign)
        state = came_from[state]
    return path[::-1]


def _best(scores: Sequence[float]) -> _State:
    return max(_State, key=lambda state: scores[state])


def _step(best: Sequence[float], shown: StretchSigns) -> tuple[list[float], tuple[_State, _State, _State]]:
    """Return the best scores after one more stretch, and where each of them comes from."""
    weights = _weights()
    own, foreign, again = best
    enters, leaves = _sum(shown.enters, weights["enters"]), _sum(shown.leaves, weights["leaves"])
    into = (own + enters, foreign, again + enters + weights["enters"][ONCE_MORE])
    entered_from = _best(into)
    is_left = foreign + leaves > again
    scores = [own, into[entered_from] + _sum(shown.foreign, weights["foreign"]), max(again, foreign + leaves)]
    return scores, (_State.OWN, entered_from, _State.FOREIGN if is_left else _State.OWN_AGAIN)


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
        back = points_back(stretch.text)
        mine["points back"] = float(not back.keys().isdisjoint(_SPEAKS_OF_OTHERS))
        enters, leaves = _at_boundary(stretch, mine, back, above.announced, is_alone=len(stretches) == 1)
        found.append(StretchSigns(mine, enters, leaves))
        above.take(stretch, mine)
    return found


def _add_message(stretches: Sequence[VoiceStretch], shown: Mapping[int, dict[str, float]]) -> None:
    """Add to every stretch what it shows beside the others of its message."""
    languages = {place: language(stretches[place].text) for place in shown}
    counts = Counter(one for one in languages.values() if one)
    is_letter = any("to assistant" in one for one in shown.values())
    is_sloppy = any("small throughout" in one or "small i" in one for one in shown.values())
    for place, mine in shown.items():
        tongue = languages[place]
        is_other = tongue is not None and len(counts) > 1 and counts[tongue] == 1
        mine["other language"] = float(is_other)
        mine["contrast"] = float(is_sloppy and "large throughout" in mine)
        mine["contrast, one sentence"] = float(is_sloppy and "tidy sentence" in mine)
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
        under = "further under" if self.is_begun else "under"
        return {f"{under}: {name}": strength for name, strength in self.heading.items()}

    def take(self, stretch: VoiceStretch, shown: Signs) -> None:
        """Make a stretch the line above."""
        self.announced = announces(stretch.text)
        self.is_begun = bool(self.heading)
        if not self.is_begun and ("colon" in self.announced or "points down" in self.announced):
            self.heading = {name: 1.0 for name in _HEADING_SIGNS if name in self.announced}
        elif not self.is_begun and "title" in shown and stretch.boundary is not Boundary.SENTENCE:
            self.heading = {"title": 1.0}


_SPEAKS_OF_OTHERS = ("arrow", "attributed", "answers it")
_HEADING_SIGNS = (
    "colon",
    "says, colon",
    "shows, colon",
    "document, colon",
    "tells, colon",
    "somebody, colon",
    "work on this",
    "points down",
)


def _at_boundary(
    stretch: VoiceStretch, shown: Signs, back: dict[str, float], announced: Signs, *, is_alone: bool
) -> tuple[Signs, Signs]:
    """Return the signs that foreign words begin with a stretch, and that they end before it."""
    place = {f"at {stretch.boundary}": 1.0}
    if stretch.after:
        place[f"after {stretch.after}"] = 1.0
        place[f"after {stretch.after}, at once"] = float(stretch.boundary is Boundary.LINE)
    own = {"alone": float(is_alone), "introduced": float(stretch.is_introduced)}
    if stretch.boundary is Boundary.COLON:
        own["I after a colon"] = float("I" in shown)
    if stretch.boundary not in (Boundary.SENTENCE, Boundary.COLON):
        back.pop("turns", None)
    if stretch.after:
        back.pop("says whose", None)  # of what marks and shapes have settled
    return {**place, **own, **announced}, {**place, **back}


def _sum(found: Signs, weights: Mapping[str, float]) -> float:
    return sum(strength * weights.get(name, 0.0) for name, strength in found.items())


@cache
def _weights() -> Mapping[str, Mapping[str, float]]:
    return registry("voice_weights")
