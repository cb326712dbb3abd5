"""Scan a turn for signs that it holds something worth keeping, and decide when to read."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from engramdb.policy import CapturePolicy
from engramdb.text.normalize import lazy
from engramdb.values import Scope, Turn

# Scan a turn for signs that it holds something worth keeping.
#
# Called by the write path for every turn before it is buffered: a strong sign means extract now, not with the
# next batch. Patterns only, no model, well under a millisecond. A sign is a hint about when to extract and
# how important the result may be; whether there is a statement at all is decided by extraction.

MAX_SCANNED_CHARACTERS = 8192
"""A turn longer than this is scanned at its beginning and end, so that a pasted log costs no more."""


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


def is_urgent(signals: Iterable[Signal]) -> bool:
    """Say whether extraction should happen now."""
    return any(signal.level is SignalLevel.HIGH for signal in signals)


_KIN = (
    "wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|kids?|child|children|mother|father|"
    "mom|mum|dad|parents|sister|brother|grandma|grandpa|grandmother|grandfather|aunt|uncle|cousin|niece|"
    "nephew|boss|manager|colleague|friend|roommate|neighbou?r|landlord|mentor|dog|cat"
)


def _signal(kind: SignalKind, level: SignalLevel, *alternatives: str) -> tuple[Signal, re.Pattern[str]]:
    return Signal(kind, level), lazy("|".join(alternatives))


_HIGH, _LOW = SignalLevel.HIGH, SignalLevel.LOW
_PATTERNS = (
    _signal(
        SignalKind.EXPLICIT,
        _HIGH,
        r"\b(?:remember|memori[sz]e)\b(?! (?:when|where|what|how|who|me)\b)",
        r"\b(?:note (?:that|down)|take note|make a note|keep in mind|bear in mind|for the record|"
        r"don't forget)\b",
        r"\b(?:merk dir|vergiss nicht|souviens-toi|n'oublie pas|retiens|recuerda|no olvides|запомни|"
        r"не забудь)\b",
        r"记住|别忘了|覚えて|忘れないで",
    ),
    _signal(
        SignalKind.CORRECTION,
        _HIGH,
        r"(?:^|[.!?\n] *)(?:no|nope|actually|correction|wait)\b[,:]",
        r"\b(?:i meant|that's (?:wrong|not right|incorrect|not true)|you're wrong|not correct|i misspoke|"
        r"my mistake)\b",
        r"\b(?:i no longer|no longer|any ?more|i changed my mind|instead of|rather than)\b",
        r"\bnot [\w' -]{1,30},? but\b",
        r"\b(?:switched|moved|changed|migrated) (?:from [\w' -]{1,40} )?to\b",
        r"\bnicht mehr\b|\bne [\w']+ plus\b|\bya no\b|больше не|不再|もう.{1,12}ない",
    ),
    _signal(
        SignalKind.DECISION,
        _HIGH,
        r"\b(?:(?:i|we)(?:'ve| have)? (?:decided|agreed|chose|settled on|picked)|(?:let's|we'll|"
        r"i'll) go with)\b",
        r"\b(?:decision is|final decision|made up my mind)\b",
    ),
    _signal(
        SignalKind.PREFERENCE,
        _HIGH,
        r"\bi (?:\w+ )?(?:prefer|like|love|enjoy|hate|dislike|adore|can't stand)\b",
        r"\bi (?:don't|do not) (?:like|want|enjoy)\b",
        r"\bmy favou?rite\b",
        r"\bich (?:mag|liebe|bevorzuge)\b|\bje préfère\b|\bj'(?:aime|adore)\b|\bprefiero\b|\bme gusta|"
        r"я (?:люблю|предпочитаю)",
        r"我(?:更)?喜欢|が?好きです",
    ),
    _signal(
        SignalKind.IDENTITY,
        _HIGH,
        r"\bmy (?:\w+ )?name(?:'s| is)\b|\bcall me\b|\bi(?:'m| am) (?:an? |from |allergic|\d+ years)",
        r"\bi (?:live|work|study|was born|grew up)\b|\bmy (?:birthday|address|job|e-?mail|phone)\b",
        r"\bich (?:heiße|wohne|arbeite|bin)\b|\bje (?:m'appelle|suis|travaille)\b|\bj'habite\b",
        r"\b(?:me llamo|vivo en|trabajo|soy)\b|меня зовут|я (?:живу|работаю)",
        r"我(?:叫|住在|是)|私(?:は|の名前)",
    ),
    _signal(
        SignalKind.COMMITMENT,
        _HIGH,
        r"\b(?:deadline|due (?:on|by|date|tomorrow|next)|i promise|promised|appointment)\b",
        r"\b(?:i|we)(?:'ll| will) [\w' ]{1,60}\b(?:by|before|on|tomorrow|tonight|next)\b",
    ),
    _signal(
        SignalKind.PRINCIPLE,
        _HIGH,
        r"(?:^|[.!?\n] *)(?:please )?(?:always|never)\b|\bfrom now on\b",
        r"\bwe (?:must|never|always)\b",
    ),
    _signal(SignalKind.RELATIONSHIP, _LOW, rf"\bmy (?:{_KIN})\b", r"\bmarried\b|\bengaged to\b"),
    _signal(
        SignalKind.EVENT,
        _LOW,
        r"\b(?:yesterday|today|tomorrow|tonight|last (?:night|week|month|year)|next (?:week|month|year)|"
        r"\w+ ago)\b",
        r"\b(?:deployed|merged|shipped|released|finished|bought|graduated|joined|quit|won|launched)\b",
        r"\b(?:gestern|heute|morgen|hier|demain|ayer|hoy|вчера|завтра)\b|昨天|明天|昨日|明日",
    ),
)


# When to read statements out of turns: at once, in a batch, or not yet.


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
        """Count a turn and say whether its conversation should be read now."""
        place = (turn.scope, turn.session)
        with self._lock:
            waiting = self._waiting.setdefault(place, _Waiting(0, turn.created_at))
            waiting.count += 1
            trigger = self._trigger(waiting, turn.created_at, is_urgent=is_urgent)
            if trigger is not None:
                del self._waiting[place]
            return trigger

    def overdue(self, now: datetime) -> list[tuple[Scope, str | None]]:
        """Return the conversations whose turns have waited too long, and stop counting them."""
        oldest = now - timedelta(minutes=self._policy.buffer_minutes)
        with self._lock:
            places = [place for place, waiting in self._waiting.items() if waiting.since <= oldest]
            for place in places:
                del self._waiting[place]
            return places

    def _trigger(self, waiting: _Waiting, now: datetime, *, is_urgent: bool) -> Trigger | None:
        if is_urgent:
            return Trigger.SIGNAL
        if waiting.count >= self._policy.buffer_turns:
            return Trigger.COUNT
        if now - waiting.since > timedelta(minutes=self._policy.buffer_minutes):
            return Trigger.AGE
        return None
