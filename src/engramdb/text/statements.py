"""
What sort of statement a text is, by its words: its category and lasting, with the force that `force` reads.

Patterns, in `data/languages`, and the grammar of English clauses; no model. A reader that understands more
says so, and then this is not asked. Written so that a doubt costs little: what is not clearly a rule, an
event or a passing state is taken for something known, which is kept.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from typing import Final

from msgspec import Struct

from engramdb.text.clauses import Clause, clauses, read
from engramdb.text.force import MAX_CHARACTERS, has_cue, read_force
from engramdb.text.grammar import STATE_CHANGES
from engramdb.text.lexicons import word_set
from engramdb.text.moments import MomentRange, TimeRelation, find_moments
from engramdb.text.sentences import take_opening
from engramdb.values.reading import Force, Lasting

ACTING: Final = word_set(
    "procedure instruction principle rule workflow pattern lesson howto how-to playbook runbook convention"
)
"""Categories of what tells how to act."""
HAPPENED: Final = word_set("moment event episode milestone experience")
"""Categories of what happens once."""
KNOWN: Final = word_set("fact preference decision entity relationship person skill correction")
"""Categories of what holds until something replaces it; others name a topic, and the words decide."""
_HOLDING: Final = KNOWN | {"commitment"}
"""What was promised holds, though promising it has happened once."""
BINDING: Final = frozenset({"preference", "decision", "correction"})
"""Those of them that may be said as a rule: "from now on, quote prices in francs"."""

_NOT_SAID_OF_THE_WORLD = frozenset({Force.QUESTION, Force.HYPOTHETICAL, Force.QUOTED})
_NO_EVENTS = word_set(
    "grow live work be decide agree choose settle prefer like love hate mean learn study know rename"
)
"""Verbs whose past says how things are now."""
_DAY = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)\b")
_AFTERMATH = re.compile(r"[:;]|,? so\b|\bnow\b|\bmeans\b")
"""What follows one of these in a report is what holds since then."""


class StatementSort(Struct, frozen=True, kw_only=True):
    """What sort of statement a text is."""

    force: Force
    category: str
    lasting: Lasting
    is_event: bool
    """Whether it tells of something that has happened once."""
    is_acting: bool
    """Whether it tells what to do, or how."""
    is_of_now: bool
    """Whether it says that it holds today, or at this moment."""
    is_permanent: bool
    """Whether its words speak of what does not end by itself: an identity, health, a number, a yearly day."""


def sort_statement(
    text: str, *, now: datetime, force: Force | None = None, category: str | None = None
) -> StatementSort:
    """Return what sort of statement a text is, seen from when it was said; what is given is believed."""
    words = _StatementWords(text[:MAX_CHARACTERS], now)
    told = force or read_force(words.opened)
    is_event = words.is_event()
    chosen = category or words.category(told, is_event=is_event)
    return StatementSort(
        force=told,
        category=chosen,
        lasting=words.lasting(told, chosen),
        is_event=chosen not in _HOLDING and (is_event or (chosen in HAPPENED and not words.is_ahead())),
        is_acting=_is_acting(words, told, chosen),
        is_of_now=words.has("now"),
        is_permanent=words.is_permanent(),
    )


def read_lasting(text: str, *, now: datetime) -> Lasting:
    """Return for how long a statement can be expected to hold, seen from when it was said."""
    return sort_statement(text, now=now).lasting


def _is_acting(words: _StatementWords, force: Force, category: str) -> bool:
    if force in (Force.QUESTION, Force.HYPOTHETICAL):
        return False
    if category in ACTING:
        return True
    if category in KNOWN:
        return force is Force.RULE and category in BINDING
    return force is Force.RULE or words.has("how_to")


class _StatementWords:
    """A text on its way to being sorted."""

    def __init__(self, text: str, now: datetime) -> None:
        self.opened = take_opening(text)
        self._text = self.opened.text
        self._lower = self._text.lower().replace("’", "'").strip()
        self._now = now
        self._found: dict[str, bool] = {}

    def has(self, sort: str) -> bool:
        """Return whether the text has words that speak for a sort of statement."""
        if sort not in self._found:
            self._found[sort] = has_cue(sort, self._lower)
        return self._found[sort]

    def category(self, force: Force, *, is_event: bool) -> str:
        """Return the category that the words speak for, the more telling ones first."""
        if force in _NOT_SAID_OF_THE_WORLD:
            return "general"
        is_ahead = self.is_ahead() and not self.has("habit")
        telling = (
            ("correction", self.opened.is_correction, "correction"),
            ("decision", False, "decision"),
            ("procedure", False, "how_to"),
            ("preference", False, "taste"),
            ("instruction", force is Force.RULE, ""),
            ("commitment", False, "commitment" if is_ahead else "promise"),
            ("moment", is_event, "appointment" if is_ahead else ""),
            ("relationship", False, "relationship"),
            ("skill", False, "skill"),
        )
        found = (category for category, is_sure, cue in telling if is_sure or (cue and self.has(cue)))
        return next(found, "fact")

    def lasting(self, force: Force, category: str) -> Lasting:
        if self.is_permanent():
            return Lasting.PERMANENT
        if self.has("now") or self.has("passing"):
            return Lasting.PASSING
        if (self.has("due") and self._has_day()) or (self.is_ahead() and not self.has("habit")):
            return Lasting.DATED
        is_open = force in (Force.HEDGED, Force.HYPOTHETICAL) and category == "decision"
        return Lasting.PASSING if is_open else Lasting.STABLE

    def is_permanent(self) -> bool:
        """Return whether it does not end by itself: who somebody is, their health, a number, a yearly day."""
        return self.has("permanent") or self.has("health") or self.has("yearly")

    def is_event(self) -> bool:
        """Return whether the text only tells of something that has happened."""
        if self.has("habit") or self.is_ahead():
            return False
        parts = [read(part) for part in clauses(self._text) or [self._text]]
        if any(part is not None and not part.is_past for part in parts) or _AFTERMATH.search(self._lower):
            return False
        first = parts[0]
        if first is not None and first.is_past and not first.is_copula:
            return self._is_done(first)
        is_dated = any(one.relation is not TimeRelation.SINCE for one in self._moments)
        return self.has("happened") or (is_dated and not self.has("present") and not self.has("permanent"))

    def _is_done(self, clause: Clause) -> bool:
        """Return whether a past clause tells of a doing; a change of state says how things are since then."""
        if clause.verb == "have":
            return self.has("happened")
        if clause.verb in _NO_EVENTS or "used to" in clause.auxiliaries:
            return False
        return clause.verb not in STATE_CHANGES

    def _has_day(self) -> bool:
        return bool(self._moments) or _DAY.search(self._lower) is not None

    def is_ahead(self) -> bool:
        """Return whether a time is named that has not begun, or that ends what holds until then."""
        return any(
            one.start > self._now or (one.relation is TimeRelation.UNTIL and one.end > self._now)
            for one in self._moments
        )

    @cached_property
    def _moments(self) -> list[MomentRange]:
        return find_moments(self._text, now=self._now)
