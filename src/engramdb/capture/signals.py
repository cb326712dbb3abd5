"""Scan a turn for signs that it holds something worth keeping, and decide when to read."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from engramdb.policy import CapturePolicy
from engramdb.text.force import read_force
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.normalize import lazy
from engramdb.text.sentences import sentences, take_opening
from engramdb.values import Scope, Turn
from engramdb.values.reading import Force

# Scan a turn for signs that it holds something worth keeping.
#
# A strong sign means extract now, not with the next batch. Patterns only, no model, well under a
# millisecond. A sign is a hint about when to extract and how important the result may be; whether there is
# a statement at all is decided by extraction.

MAX_SCANNED_CHARACTERS = 8192
"""A turn longer than this is scanned at its beginning and end, so that a pasted log costs no more."""

MAX_RULE_CHARACTERS, MAX_RULE_SENTENCES, MAX_RULE_LENGTH = 2000, 20, 300
"""Rules are looked for in so much of a turn, a sentence being no longer; others come with the next batch."""


class SignalKind(StrEnum):
    """What a sign points to."""

    EXPLICIT = "explicit"
    CORRECTION = "correction"
    DECISION = "decision"
    PREFERENCE = "preference"
    IDENTITY = "identity"
    COMMITMENT = "commitment"
    RELATIONSHIP = "relationship"
    PRINCIPLE = "principle"
    EVENT = "event"


class SignalLevel(StrEnum):
    """Whether to extract at once or with the next batch."""

    HIGH = "high"
    LOW = "low"


class Signal(Struct, frozen=True):
    """One sign that was seen."""

    kind: SignalKind
    level: SignalLevel


def scan(text: str) -> tuple[Signal, ...]:
    """Return the signs in a text, each once, strongest kinds first."""
    if len(text) > MAX_SCANNED_CHARACTERS:
        half = MAX_SCANNED_CHARACTERS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    lower = text.lower().replace("’", "'")
    return tuple(signal for signal, pattern in _PATTERNS if pattern.search(lower))


def sets_rule(text: str) -> bool:
    """Return whether a sentence of a person lays down a rule: the next session is to begin with it."""
    said = islice(sentences(text[:MAX_RULE_CHARACTERS]), MAX_RULE_SENTENCES)
    return any(
        read_force(take_opening(one), in_conversation=True) is Force.RULE
        for one in said
        if len(one) <= MAX_RULE_LENGTH
    )


def is_urgent(signals: Iterable[Signal]) -> bool:
    """Return whether extraction should happen now."""
    return any(signal.level is SignalLevel.HIGH for signal in signals)


_LOW = (SignalKind.RELATIONSHIP, SignalKind.EVENT)
"""Kinds that can wait for the next batch."""


def _pattern(kind: SignalKind) -> tuple[Signal, re.Pattern[str]]:
    said = [pattern for one in LANGUAGES.values() for pattern in one.signals.get(kind, ())]
    level = SignalLevel.LOW if kind in _LOW else SignalLevel.HIGH
    return Signal(kind, level), lazy("|".join(said))


_PATTERNS = tuple(
    _pattern(kind)
    for kind in (
        SignalKind.EXPLICIT,
        SignalKind.CORRECTION,
        SignalKind.DECISION,
        SignalKind.PREFERENCE,
        SignalKind.IDENTITY,
        SignalKind.COMMITMENT,
        SignalKind.PRINCIPLE,
        SignalKind.RELATIONSHIP,
        SignalKind.EVENT,
    )
)


# When to read turns: at once, in a batch, or not yet.


class Trigger(StrEnum):
    """Why turns are read now."""

    SIGNAL = "signal"
    COUNT = "count"
    AGE = "age"


class _Waiting(Struct):
    count: int
    since: datetime


class SmartBuffer:
    """How many turns of each conversation wait, and since when."""

    def __init__(self, policy: CapturePolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._waiting: dict[tuple[Scope, str | None], _Waiting] = {}

    def add(self, turn: Turn, *, is_urgent: bool) -> Trigger | None:
        """Count a turn and return whether its conversation should be read now."""
        place = (turn.scope, turn.session)
        with self._lock:
            waiting = self._waiting.setdefault(place, _Waiting(0, turn.created_at))
            waiting.count += 1
            trigger = self._trigger(waiting, turn.created_at, is_urgent=is_urgent)
            if trigger is not None:
                del self._waiting[place]
            return trigger

    def drop_overdue(self, now: datetime) -> None:
        """Stop counting the turns of conversations that have waited too long, or were read elsewhere."""
        oldest = now - timedelta(minutes=self._policy.buffer_minutes)
        with self._lock:
            for place in [place for place, waiting in self._waiting.items() if waiting.since <= oldest]:
                del self._waiting[place]

    def _trigger(self, waiting: _Waiting, now: datetime, *, is_urgent: bool) -> Trigger | None:
        if is_urgent:
            return Trigger.SIGNAL
        if waiting.count >= self._policy.buffer_turns:
            return Trigger.COUNT
        if now - waiting.since > timedelta(minutes=self._policy.buffer_minutes):
            return Trigger.AGE
        return None
