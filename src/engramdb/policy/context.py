"""Numbers of the context window and of working memory."""

from __future__ import annotations

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

# The shares of the budget are those of seed 002 §8.2.

SHARES = (
    *("identity_share", "working_share", "history_share", "recalled_share", "schemas_share"),
    *("skills_share", "today_share", "roster_share"),
)
"""The fields that divide the budget."""
_COUNTS = ("reply_tokens", "verbatim_exchanges", "compressed_exchanges", "summary_tokens")


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
    """in a large budget it grows to this, at the cost of history."""
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
    verbatim_exchanges: int = 3
    """Where a history does not fit word for word, at least so many exchanges are kept so;"""
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
    gap_questions: int = 2
    """So many open questions may be brought up in a session."""

    def __post_init__(self) -> None:
        require_share(self, *SHARES, "recalled_share_most", "reply_share_most")
        require_positive(self, *_COUNTS)
        total = sum(getattr(self, name) for name in SHARES)
        if abs(total - 1) > 1e-9:
            raise InvalidSettings(f"policy context: the shares add up to {total}, not 1")
        if self.recalled_share_most - self.recalled_share > self.history_share:
            raise InvalidSettings("policy context: history_share is too small to give to recalled")
        if self.gap_questions < 0:
            raise InvalidSettings(f"policy context: gap_questions={self.gap_questions} is below 0")


# What attention leaves switched off by default did not help when it was measured: docs/lab/0021-attention.md.

MIN_SLOTS = 3
"""Working memory gives up to two of its slots to large contents, and holds at least one."""
_COUNTS_AND_TIMES = (
    *("slot_tokens", "half_life_minutes", "full_hours", "decayed_hours", "idle_minutes", "most_minds"),
)


class AttentionPolicy(Struct, frozen=True, kw_only=True):
    """What an agent has in mind, and for how long."""

    slots: int = 7
    """How many things working memory holds: two more while they are small, two fewer while they are large."""
    slot_tokens: int = 1500
    """What they may cost together."""
    half_life_minutes: float = 60.0
    """The time after which a slot's activation is halved."""
    uses_momentum: bool = True
    """Whether what was talked about counts in what is searched for,"""
    leans_only_when_vague: bool = True
    """only where the message says little by itself,"""
    vague_terms: int = 1
    """which is what so few telling words, or fewer, do."""
    continues_above: float = 0.5
    """More alike than this, a message goes on with the topic;"""
    drifts_above: float = 0.4
    """more than this, the topic drifts; less, it is another one."""
    anticipates: bool = False
    """Whether the next recall is prepared while the reply is read."""
    full_hours: float = 4.0
    """A mind that slept for less comes back as it was;"""
    decayed_hours: float = 24.0
    """for less than this, fainter; after longer, a new day begins."""
    idle_minutes: float = 30.0
    """After so much silence a mind is put away, out of the memory of the process."""
    most_minds: int = 1000
    """So many are kept there; the one that was silent longest goes first."""

    def __post_init__(self) -> None:
        require_positive(self, *_COUNTS_AND_TIMES)
        require_share(self, "continues_above", "drifts_above")
        if self.slots < MIN_SLOTS or self.vague_terms < 0:
            raise InvalidSettings(
                f"policy attention: slots={self.slots} must be at least {MIN_SLOTS}, "
                f"vague_terms={self.vague_terms} at least 0"
            )
        if not self.drifts_above <= self.continues_above:
            raise InvalidSettings("policy attention: drifts_above and continues_above must rise")
        if not self.full_hours <= self.decayed_hours:
            raise InvalidSettings("policy attention: full_hours and decayed_hours must rise")


CORTEX = AttentionPolicy(leans_only_when_vague=False, continues_above=0.7, drifts_above=0.4, anticipates=True)
"""As seed 002 has it: every question leans, and the next recall is prepared."""
