"""
The numbers of the prompt: who gets how much of the budget, and how much of a memory is worth its tokens.

Read by `context`; the shares are those of seed 002 §8.2. What a level of detail is worth was chosen on three
conversations of LoCoMo and checked on two others: docs/lab/0020-context.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
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
