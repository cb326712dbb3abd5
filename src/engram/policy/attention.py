"""
The numbers of attention: working memory, momentum, topics, anticipation, and how long a mind is kept.

Read by `attention` and by the engine's registry of minds; the presets in `engram.policy` say where the
systems differ. What is switched off by default did not help when it was measured:
docs/lab/0021-attention.md.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

_COUNTS_AND_TIMES = (
    *("slots", "slot_tokens", "half_life_minutes", "recall_slots", "kept_topics", "anticipation_seconds"),
    *("full_hours", "decayed_hours", "idle_minutes", "most_minds", "morning_slots", "morning_days"),
)
_ANY = ("slots_give", "vague_terms", "uses_momentum", "leans_only_when_vague", "anticipates")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPolicy:
    """What an agent has in mind, and for how long."""

    slots: int = 7
    """How many things working memory holds,"""
    slots_give: int = 2
    """give or take so many: more while they are small, fewer while they are large."""
    slot_tokens: int = 1500
    """What they may cost together; below half of it there is room for the extra slots."""
    turn_decay: float = 0.9
    """What is left of a slot's activation after each turn,"""
    half_life_minutes: float = 60.0
    """and the time after which it is halved."""
    boost: float = 0.3
    """How much of the way to full activation a slot gains when it is used."""
    least_activation: float = 0.1
    """What is weaker leaves; what somebody put there on purpose does not."""
    recall_slots: int = 3
    """So many of the best answers of a turn are kept in mind,"""
    recall_relevance: float = 0.35
    """where they fit at least this well."""
    centroid_share: float = 0.3
    """The share of the latest turn in the running centre of what is talked about."""
    uses_momentum: bool = True
    """Whether what is talked about leans on what is searched for,"""
    momentum_most: float = 0.4
    """with at most this share of the question,"""
    leans_only_when_vague: bool = True
    """and only where the message says little by itself,"""
    vague_terms: int = 1
    """which is what so few telling words, or fewer, do."""
    continues_above: float = 0.5
    """More alike than this, a message goes on with the topic;"""
    drifts_above: float = 0.4
    """more than this, the topic drifts; less, it is another one."""
    drift_decay: float = 0.7
    """What a drift leaves of every slot's activation."""
    kept_topics: int = 5
    """How many topics that were left are kept, to come back to."""
    anticipates: bool = False
    """Whether the next recall is prepared while the reply is read,"""
    anticipation_above: float = 0.6
    """to be used where the next question is at least this much like what was expected,"""
    anticipation_seconds: float = 60.0
    """and comes this soon."""
    full_hours: float = 4.0
    """A mind that slept for less comes back as it was;"""
    decayed_hours: float = 24.0
    """for less than this, fainter; after longer, the day begins anew."""
    decayed_least: float = 0.2
    """What is left of activation at the end of that time."""
    idle_minutes: float = 30.0
    """After so much silence a mind is put away, out of the memory of the process."""
    most_minds: int = 1000
    """So many are kept there; the one that was silent longest goes first."""
    morning_slots: int = 5
    """How many things a new day begins with,"""
    morning_days: float = 14.0
    """of those that came up within so many days, except promises."""

    def __post_init__(self) -> None:
        others = (*_COUNTS_AND_TIMES, *_ANY)
        shares = [field.name for field in dataclasses.fields(self) if field.name not in others]
        require_positive(self, *_COUNTS_AND_TIMES)
        require_share(self, *shares)
        if not 0 <= self.slots_give < self.slots or self.vague_terms < 0:
            raise InvalidSettings("policy attention: slots_give or vague_terms is out of range")
        if not self.drifts_above <= self.continues_above:
            raise InvalidSettings("policy attention: drifts_above and continues_above must rise")
        if not self.full_hours <= self.decayed_hours:
            raise InvalidSettings("policy attention: full_hours and decayed_hours must rise")


CORTEX = AttentionPolicy(leans_only_when_vague=False, continues_above=0.7, drifts_above=0.4, anticipates=True)
"""As seed 002 has it: every question leans, and the next recall is prepared."""
