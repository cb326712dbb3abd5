"""Numbers of aging: curves, importance, tiers and rules for leaving."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

CURVES = ("none", "ebbinghaus", "l2", "huber", "elastic", "half_life", "reinforced")
"""How memories fade; `none` leaves it to the rules about dates."""
RULES = (
    *("forget_after", "speculative", "commitment", "unused", "faded", "weak", "decayed"),
    *("low_value", "stale_session", "old_version", "evicted", "crowded_out", "archive_ended"),
)
"""Every rule by which a memory may leave, in the order in which they are asked."""

_COUNTS = (
    *(
        "half_life_days",
        "auto_speed",
        "huber_tail_half_lives",
        "stability_most",
        "lambda_per_day",
        "sigma_days",
    ),
    *(
        "working_minutes",
        "speculative_days",
        "commitment_days",
        "unused_days",
        "faded_days",
        "low_value_days",
    ),
    *("stale_session_days", "old_version_days", "evict_most", "project_most", "archive_days"),
)
_SHARES = (
    *("hot", "warm", "cold", "semantic_importance", "speculative_below", "unused_importance", "elastic_l1"),
    *("faded_retention", "faded_importance", "weak_below", "weak_spares_importance", "weak_spares_arousal"),
    *("decayed_below", "low_value_importance", "recall_adds_most", "recall_adds"),
)
_BITS = ("embedding_bits_hot", "embedding_bits_warm", "embedding_bits_cold", "embedding_bits_evictable")
_PROTECTED = ("commitment", "preference", "decision", "principle")


def _type_weights() -> Mapping[str, float]:
    return {
        "architecture": 0.9,
        "decision": 0.9,
        "principle": 0.9,
        "preference": 0.85,
        "instruction": 0.85,
        "pattern": 0.8,
        "skill": 0.8,
        "bug": 0.7,
        "correction": 0.7,
        "workflow": 0.6,
        "procedure": 0.6,
        "commitment": 0.6,
    }


class AgingPolicy(Struct, frozen=True, kw_only=True):
    """How memories fade, move and leave."""

    curve: str = "huber"
    """How retention falls: none, ebbinghaus, l2, huber, elastic, half_life or reinforced."""
    half_life_days: float = 30.0
    """After so much idle time half is left of what a person stated."""
    auto_speed: float = 3.0
    """What was extracted fades so many times faster than what was stated (l2, huber, elastic)."""
    huber_tail_half_lives: float = 12.0
    """Where the straight tail of `huber` reaches nothing."""
    elastic_l1: float = 0.1
    """What `elastic` cuts off either end: so much from the top stays whole, so much at the bottom is gone."""
    recall_adds: float = 0.1
    """What recalls add to retention, times ln(1 + recalls) (l2, huber, elastic)."""
    recall_adds_most: float = 0.3
    """And at most."""
    stability_per_recall: float = 0.1
    """What one recall adds to stability."""
    stability_most: float = 5.0
    """And up to where."""
    lambda_per_day: float = 0.01
    """How fast salience falls (reinforced)."""
    sigma_days: float = 0.3
    """What a recall one day ago adds; one n days ago adds an n-th of it (reinforced)."""
    type_weights: Mapping[str, float] = field(default_factory=_type_weights)
    """Salience by category (reinforced)."""
    type_weight_default: float = 0.5
    """Salience of the other categories."""
    hot: float = 0.7
    """Retention from which a memory is hot."""
    warm: float = 0.4
    """From which it is warm."""
    cold: float = 0.15
    """From which it is cold; below, it is evictable."""
    working_minutes: float = 30.0
    """After so long a working memory becomes an episode."""
    working_recalls: int = 2
    """Or after so many recalls."""
    semantic_importance: float = 0.7
    """An episode of this importance, and recalled often enough, becomes knowledge."""
    semantic_recalls: int = 5
    """What often enough means."""
    rules: tuple[str, ...] = ("forget_after", "speculative", "commitment", "faded")
    """By which rules memories leave."""
    protected: tuple[str, ...] = (*_PROTECTED, "correction")
    """Categories that `unused`, `faded`, `evicted` and `low_value` leave alone."""
    spares_stated: bool = True
    """Whether the same rules leave alone what a person asked to remember."""
    speculative_below: float = 0.4
    """A statement less sure than this must be confirmed."""
    speculative_days: float = 30.0
    """Within so many days."""
    commitment_days: float = 90.0
    """A promise that nobody spoke of for so long is over."""
    unused_days: float = 90.0
    """`unused` archives what is older than this,"""
    unused_importance: float = 0.3
    """was stored with less importance than this,"""
    unused_recalls: int = 2
    """and recalled at most so often."""
    faded_days: float = 90.0
    """`faded` archives what is older than this,"""
    faded_retention: float = 0.15
    """of which less than this is left,"""
    faded_importance: float = 0.3
    """whose importance is now below this,"""
    faded_recalls: int = 3
    """and that was recalled less often than this."""
    weak_below: float = 0.05
    """`weak` archives what has less strength left than this,"""
    weak_spares_importance: float = 0.9
    """except above this importance,"""
    weak_spares_arousal: float = 0.5
    """from this arousal on, and what a person asked to remember."""
    decayed_below: float = 0.05
    """`decayed` prunes beliefs that are less sure than this by now."""
    low_value_days: float = 90.0
    """`low_value` archives episodes older than this"""
    low_value_importance: float = 0.3
    """and less important than this."""
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
        if not self.elastic_l1 < 0.5 or not self.huber_tail_half_lives > 1 or not self.stability_most > 1:
            raise InvalidSettings(
                "policy aging: elastic_l1 must be below 0.5, huber_tail_half_lives and stability_most above 1"
            )
        if not self.cold <= self.warm <= self.hot:
            raise InvalidSettings("policy aging: cold, warm and hot must rise")
        for name in _BITS:
            if getattr(self, name) not in (1, 2, 4, 8):
                raise InvalidSettings(f"policy aging: {name}={getattr(self, name)} must be 1, 2, 4 or 8")

    def _require_known(self) -> None:
        if self.curve not in CURVES:
            raise InvalidSettings(
                f"policy aging: curve={self.curve!r}", hint=f"Choose one of {', '.join(CURVES)}."
            )
        for rule in self.rules:
            if rule not in RULES:
                raise InvalidSettings(
                    f"policy aging: no rule is called {rule!r}", hint=f"Choose among {', '.join(RULES)}."
                )
        if not all(0 <= weight <= 1 for weight in (*self.type_weights.values(), self.type_weight_default)):
            raise InvalidSettings("policy aging: type_weights are outside 0 to 1")


NOTEBOOK = AgingPolicy(
    curve="none",
    rules=("forget_after", "speculative", "commitment", "unused"),
    spares_stated=False,
)
"""Dates alone decide, and nothing is ever deleted."""
LAYERED = AgingPolicy(rules=("forget_after", "faded"), protected=(), spares_stated=False)
"""Retention, importance and use together decide, after ninety days; knowledge and procedures stay."""
CORTEX = AgingPolicy(curve="ebbinghaus", rules=("forget_after", "weak", "archive_ended"))
"""Strength follows the forgetting curve; what is stated, important or moving is never collected."""
BELIEFS = AgingPolicy(curve="half_life", rules=("forget_after", "decayed"))
"""Confidence halves every thirty days times stability, and what nobody believes any more is pruned."""
TIERED = AgingPolicy(
    curve="reinforced",
    rules=("forget_after", "low_value", "stale_session", "old_version", "evicted", "crowded_out"),
    protected=(),
    spares_stated=False,
)
"""Salience and recent use make a score; the lowest leave first, and a project holds ten thousand."""
