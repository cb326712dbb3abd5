"""Numbers of the context window and of working memory."""

from __future__ import annotations

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

# The numbers of the prompt: who gets how much of the budget, and how much of a memory is worth its tokens.
#
# Read by `context`; the shares are those of seed 002 §8.2. What a level of detail is worth was chosen on
# three
# conversations of LoCoMo and checked on two others: docs/lab/0020-context.md.

SHARES = (
    *("identity_share", "working_share", "history_share", "recalled_share", "schemas_share"),
    *("skills_share", "today_share", "roster_share"),
)
"""The fields that divide the budget."""
_SHARES = (
    *("recalled_share_most", "reply_share_most", "summary_worth", "key_fact_worth"),
    *("tag_worth", "whole_share", "unknown_below", "thin_below"),
)
_COUNTS = (
    *("large_from_tokens", "large_to_tokens", "reply_tokens", "verbatim_exchanges", "compressed_exchanges"),
    *("summary_tokens", "score_power", "tokens_per_hit", "gap_days", "thin_hits"),
)


class ContextPolicy(Struct, frozen=True, kw_only=True):
    """How a window is divided and filled."""

    identity_share: float = 0.08
    """The share of who the agent and the user are: pinned memories, instructions, principles, preferences."""
    working_share: float = 0.15
    """The share of working memory, which is never cut: what it takes beyond, the others give."""
    history_share: float = 0.45
    """The share of the conversation so far."""
    recalled_share: float = 0.12
    """The share of memories that fit the message;"""
    recalled_share_most: float = 0.35
    """it grows to this, at the cost of history,"""
    large_from_tokens: int = 32_000
    """between a budget of so many tokens"""
    large_to_tokens: int = 1_000_000
    """and one of so many."""
    schemas_share: float = 0.05
    """The share of what is known of the people and things in play."""
    skills_share: float = 0.08
    """The share of how things are done."""
    today_share: float = 0.04
    """The share of what was stored today."""
    roster_share: float = 0.03
    """The share of who else is there."""
    reply_tokens: int = 8_192
    """What is kept for the reply where the caller does not say, or what the model can write at most,"""
    reply_share_most: float = 0.25
    """and never more than this share of the model's window."""
    tokens_per_hit: int = 25
    """One memory is asked of recall for each so many tokens there are for it."""
    whole_share: float = 0.6
    """So much of a section's room is for its best memories, whole; the rest goes by worth for a token."""
    score_power: float = 9.0
    """How much more the better hits get of the room: 0 treats all alike, 9 gives the best nearly all."""
    summary_worth: float = 0.1
    """What a summary is worth beside the whole memory,"""
    key_fact_worth: float = 0.03
    """a key fact,"""
    tag_worth: float = 0.003
    """and a tag."""
    verbatim_exchanges: int = 3
    """So many exchanges are kept word for word;"""
    compressed_exchanges: int = 10
    """so many before them as a line each, and the rest as one summary"""
    summary_tokens: int = 240
    """of at most so many tokens."""
    summarises_with_model: bool = True
    """Whether a chat model, where one is configured, writes that summary."""
    identity_categories: tuple[str, ...] = ("instruction", "principle", "preference")
    """What belongs to identity besides what is pinned."""
    reflects: bool = True
    """Whether a note says so when little or nothing is known of the topic."""
    unknown_below: float = 0.4
    """A topic is unknown where the best hit fits less than this,"""
    thin_below: float = 0.42
    """and thinly known where fewer than"""
    thin_hits: int = 2
    """so many hits fit as well as that."""
    gap_questions: int = 2
    """So many open questions may be brought up in a session,"""
    gap_days: float = 7.0
    """and each only once in so many days."""

    def __post_init__(self) -> None:
        require_share(self, *SHARES, *_SHARES)
        require_positive(self, *(name for name in _COUNTS if name not in ("score_power", "thin_hits")))
        total = sum(getattr(self, name) for name in SHARES)
        if abs(total - 1) > 1e-9:
            raise InvalidSettings(f"policy context: the shares add up to {total}, not 1")
        if self.recalled_share_most - self.recalled_share > self.history_share:
            raise InvalidSettings("policy context: history_share is too small to give to recalled")
        if self.large_from_tokens >= self.large_to_tokens:
            raise InvalidSettings("policy context: large_from_tokens must be below large_to_tokens")
        if not 1 >= self.summary_worth >= self.key_fact_worth >= self.tag_worth:
            raise InvalidSettings("policy context: a shorter level of detail must not be worth more")
        if self.score_power < 0 or self.thin_hits < 0 or self.gap_questions < 0:
            raise InvalidSettings("policy context: score_power, thin_hits, gap_questions are below 0")


# The numbers of attention: working memory, momentum, topics, anticipation, and how long a mind is kept.
#
# Read by `attention` and by the engine's registry of minds; the presets in `engram.policy` say where the
# systems differ. What is switched off by default did not help when it was measured:
# docs/lab/0021-attention.md.

_COUNTS_AND_TIMES = (
    *("slots", "slot_tokens", "half_life_minutes", "recall_slots", "kept_topics", "anticipation_seconds"),
    *("full_hours", "decayed_hours", "idle_minutes", "most_minds", "morning_slots", "morning_days"),
)
_ANY = ("slots_give", "vague_terms", "uses_momentum", "leans_only_when_vague", "anticipates")


class AttentionPolicy(Struct, frozen=True, kw_only=True):
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
        shares = [name for name in self.__struct_fields__ if name not in others]
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
