"""Numbers of aging: curves, importance, tiers and rules for leaving."""

from __future__ import annotations

import math

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")
CURVES = ("none", "ebbinghaus", "l2", "huber", "elastic", "half_life", "reinforced")
"""How memories fade; `none` leaves it to the rules about dates."""
RULES = (
    *("forget_after", "speculative", "commitment", "unused", "faded", "weak", "decayed"),
    *("low_value", "stale_session", "old_version", "evicted", "crowded_out", "archive_ended"),
)
"""Every rule by which a memory may leave, in the order in which they are asked."""

_COUNTS = (
    *("half_life_days", "stability_most", "lambda_per_day", "sigma_days", "working_minutes"),
    *("speculative_days", "commitment_days", "unused_days", "faded_days", "low_value_days"),
    *("stale_session_days", "old_version_days", "evict_most", "project_most", "archive_days"),
)
BURST_DAYS = 1 / 24
"""Recalls closer to the one before than this are one."""
_SHARES = ("hot", "warm", "cold", "semantic_importance", "faded_retention")
_NOT_NEGATIVE = ("stability_by_spacing", "arousal_slows")
_BITS = ("embedding_bits_hot", "embedding_bits_warm", "embedding_bits_cold", "embedding_bits_evictable")
_PROTECTED = ("commitment", "preference", "decision", "principle")


class AgingPolicy(Struct, frozen=True, kw_only=True):
    """How memories fade, move and leave."""

    curve: str = "huber"
    """How retention falls: none, ebbinghaus, l2, huber, elastic, half_life or reinforced."""
    half_life_days: float = 30.0
    """After so much idle time half is left of what a person stated."""
    overheard_faster: float = 2.0
    """What an assistant happened to say fades so many times faster than what a person said."""
    stable_slower: float = 10.0
    """What somebody knows, and holds until replaced, fades so many times slower than what passes."""
    arousal_slows: float = 1.0
    """What moved deeply fades so many times slower, and one."""
    permanent_layers: tuple[str, ...] = ("procedural", "codebase")
    """Layers in which nothing fades."""
    keeps_promises: bool = True
    """Whether a promise without a date stays until it is kept."""
    stability_per_recall: float = 0.1
    """What one recall adds to stability; those within an hour of the one before add nothing."""
    stability_by_spacing: float = 0.25
    """What each doubling of the days since the recall before adds to that, as a share of it."""
    stability_most: float = 5.0
    """And up to where."""
    lambda_per_day: float = 0.01
    """How fast salience falls (reinforced)."""
    sigma_days: float = 0.3
    """What a recall one day ago adds; one n days ago adds an n-th of it (reinforced)."""
    hot: float = 0.7
    """Retention from which a memory is hot."""
    warm: float = 0.4
    """From which it is warm."""
    cold: float = 0.15
    """From which it is cold; below, it is evictable."""
    working_minutes: float = 30.0
    """After so long a working memory becomes an episode."""
    semantic_importance: float = 0.7
    """An episode of this importance, and recalled often enough, becomes knowledge."""
    rules: tuple[str, ...] = ("forget_after", "speculative", "commitment", "faded")
    """By which rules memories leave."""
    protected: tuple[str, ...] = (*_PROTECTED, "correction")
    """Categories that `unused`, `faded`, `evicted` and `low_value` leave alone."""
    spares_stated: bool = True
    """Whether the same rules leave alone what a person asked to remember."""
    speculative_days: float = 30.0
    """Within so many days."""
    commitment_days: float = 90.0
    """A promise whose day was so long ago is over; where promises are not kept, any that is so old."""
    unused_days: float = 90.0
    """`unused` archives what is older than this,"""
    faded_days: float = 30.0
    """`faded` archives what is older than this,"""
    faded_retention: float = 0.3
    """of which less than this is left,"""
    low_value_days: float = 90.0
    """`low_value` archives episodes older than this"""
    stale_session_days: float = 30.0
    """A session this old is summarised, and its episodes are archived."""
    old_version_days: float = 90.0
    """`old_version` archives what was superseded so long ago."""
    evict_most: int = 50
    """`evicted` archives at most so many evictable memories a sweep, lowest retention first."""
    project_most: int = 10_000
    """`crowded_out` archives the least important working and episodic memories of a project beyond these."""
    archive_days: float = 90.0
    """`archive_ended` prunes what a rule archived so long ago."""
    erase_pruned: bool = False
    """Whether `archive_ended` erases the text for good instead; nothing brings that back."""
    embedding_bits_hot: int = 8
    """Bits a number of the vectors of hot memories: docs/lab/0011-temperature.md."""
    embedding_bits_warm: int = 8
    """Of warm ones."""
    embedding_bits_cold: int = 8
    """Of cold ones."""
    embedding_bits_evictable: int = 8
    """And of evictable ones."""

    def __post_init__(self) -> None:
        require_positive(self, *_COUNTS)
        require_share(self, *_SHARES)
        self._require_known()
        for name in _NOT_NEGATIVE:
            if not 0 <= getattr(self, name) < math.inf:
                raise InvalidSettings(f"policy aging: {name}={getattr(self, name)} must not be negative")
        for name in ("overheard_faster", "stable_slower"):
            if not getattr(self, name) >= 1:
                raise InvalidSettings(f"policy aging: {name}={getattr(self, name)} must be 1 or more")
        if not self.stability_most > 1:
            raise InvalidSettings(f"policy aging: stability_most={self.stability_most} must be above 1")
        if not self.cold <= self.warm <= self.hot:
            raise InvalidSettings("policy aging: cold, warm and hot must rise")
        for name in _BITS:
            if getattr(self, name) not in (1, 2, 4, 8):
                raise InvalidSettings(f"policy aging: {name}={getattr(self, name)} must be 1, 2, 4 or 8")

    def stability_after(self, stability: float, *, idle_days: float) -> float:
        """Return the stability after one more recall, so many days after the one before."""
        if idle_days < BURST_DAYS:
            return stability
        gained = self.stability_per_recall * (1 + self.stability_by_spacing * math.log2(1 + idle_days))
        return max(stability, min(self.stability_most, stability + gained))

    def _require_known(self) -> None:
        if self.curve not in CURVES:
            raise InvalidSettings(
                f"policy aging: curve={self.curve!r}", hint=f"Choose one of {', '.join(CURVES)}."
            )
        for layer in self.permanent_layers:
            if layer not in LAYERS:
                raise InvalidSettings(
                    f"policy aging: no layer is called {layer!r}", hint=f"Choose among {', '.join(LAYERS)}."
                )
        for rule in self.rules:
            if rule not in RULES:
                raise InvalidSettings(
                    f"policy aging: no rule is called {rule!r}", hint=f"Choose among {', '.join(RULES)}."
                )


NOTEBOOK = AgingPolicy(
    curve="none",
    overheard_faster=1.0,
    rules=("forget_after", "speculative", "commitment", "unused"),
    permanent_layers=(),
    keeps_promises=False,
    spares_stated=False,
)
"""Dates alone decide, and nothing is ever deleted."""
LAYERED = AgingPolicy(
    overheard_faster=1.0,
    stable_slower=1.0,
    arousal_slows=0.0,
    permanent_layers=("semantic", "procedural", "codebase"),
    rules=("forget_after", "faded"),
    faded_days=90.0,
    faded_retention=0.15,
    protected=(),
    spares_stated=False,
)
"""Retention, importance and use together decide, after ninety days; three layers are permanent."""
CORTEX = AgingPolicy(
    curve="ebbinghaus",
    overheard_faster=1.0,
    stable_slower=1.0,
    permanent_layers=(),
    rules=("forget_after", "weak", "archive_ended"),
)
"""Strength follows the forgetting curve; what is stated, important or moving is never collected."""
BELIEFS = AgingPolicy(
    curve="half_life",
    overheard_faster=1.0,
    stable_slower=1.0,
    arousal_slows=0.0,
    permanent_layers=(),
    stability_by_spacing=0.0,
    rules=("forget_after", "decayed"),
)
"""Confidence halves every thirty days times stability, and what nobody believes any more is pruned."""
TIERED = AgingPolicy(
    curve="reinforced",
    overheard_faster=1.0,
    stable_slower=1.0,
    arousal_slows=0.0,
    permanent_layers=(),
    rules=("forget_after", "low_value", "stale_session", "old_version", "evicted", "crowded_out"),
    protected=(),
    spares_stated=False,
)
"""Salience and recent use make a score; the lowest leave first, and a project holds ten thousand."""
