"""
The numbers of the read path.

Read by `recall`; the presets in `engram.policy` say where the systems differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

_TRUST_PARTS = ("trust_relevance", "trust_accuracy", "trust_freshness", "trust_utility")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPolicy:
    """How memories are found and ranked."""

    candidates: int = 100
    """How many each index may offer before fusion."""
    vector_weight: float = 0.7
    """The vector index's share of the fused score; the text index has the rest: docs/lab/0003-fusion.md."""
    trust_relevance: float = 0.35
    """The share of fitting the question in a hit's trust; the four shares make 1."""
    trust_accuracy: float = 0.25
    """The share of being true: confidence and source."""
    trust_freshness: float = 0.20
    """The share of being recent."""
    trust_utility: float = 0.20
    """The share of being important."""
    freshness_half_life_days: float = 30.0
    """After how long freshness is halved."""

    def __post_init__(self) -> None:
        require_positive(self, "candidates", "freshness_half_life_days")
        require_share(self, "vector_weight", *_TRUST_PARTS)
        total = sum(getattr(self, name) for name in _TRUST_PARTS)
        if abs(total - 1) > 1e-9:
            raise InvalidSettings(f"policy recall: the trust weights add up to {total}, not 1")
