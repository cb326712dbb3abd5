"""
How each kind of question is searched for: which signals count, which layers first, how wide, how deep.

Handed to `recall.plan`; imports no other room, so intents, indexes and layers are plain names here, and
tests hold them to the real ones. Lookup, exploratory, procedural and causal have the numbers that Engram
was asked for; comparative, temporal and entity were only described, and theirs are ours. They are
starting points: what is switched on, an eval decides (docs/lab/0012-intents.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNALS = ("lexical", "vector", "graph", "temporal", "entity")
"""The indexes that a share is given to, by the names that recall uses for them."""

LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")
"""The layers that may be preferred; a test holds them to those of a memory."""

MOST_HOPS = 4
"""Beyond this, everything is connected to everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentWeights:
    """How one kind of question is searched for."""

    lexical: float
    """The share of words in the mixed score; the five shares make 1."""
    vector: float
    """The share of meaning."""
    graph: float = 0.0
    """The share of what is linked to the best."""
    temporal: float = 0.0
    """The share of lying near the time that is asked for."""
    entity: float = 0.0
    """The share of naming what is asked about."""
    layers: tuple[str, ...] = ("semantic", "episodic")
    """The layers preferred, best first; memories of the others are still found."""
    freshness_bias: float = 0.5
    """How strongly the recent is preferred: 0 not at all, 1 as strongly as the policy allows."""
    candidates_multiplier: float = 1.0
    """How many candidates each index may offer, as a multiple of the recall policy's."""
    hops: int = 2
    """How far the graph is followed from the best."""

    def __post_init__(self) -> None:
        require_share(self, *SIGNALS, "freshness_bias")
        require_positive(self, "candidates_multiplier")
        total = sum(getattr(self, name) for name in SIGNALS)
        if abs(total - 1) > 1e-9:
            raise InvalidSettings(f"policy intents: the shares add up to {total}, not 1")
        if not 0 <= self.hops <= MOST_HOPS:
            raise InvalidSettings(f"policy intents: hops={self.hops} is outside 0 to {MOST_HOPS}")
        if not set(self.layers) <= set(LAYERS) or len(set(self.layers)) < len(self.layers):
            raise InvalidSettings(
                f"policy intents: layers={self.layers!r} must be some of {', '.join(LAYERS)}"
            )

    @property
    def shares(self) -> dict[str, float]:
        """The share of each signal by its name."""
        return {name: getattr(self, name) for name in SIGNALS}


INTENTS: Mapping[str, IntentWeights] = MappingProxyType(
    {
        # One fact, and the newest version of it.
        "lookup": IntentWeights(
            lexical=0.6,
            vector=0.2,
            graph=0.1,
            temporal=0.1,
            freshness_bias=0.8,
            candidates_multiplier=0.2,
        ),
        # Broad, old memories included.
        "exploratory": IntentWeights(
            lexical=0.2,
            vector=0.5,
            graph=0.2,
            temporal=0.1,
            layers=("episodic", "semantic"),
            freshness_bias=0.3,
        ),
        # Both sides have to be found, so what names one of them counts.
        "comparative": IntentWeights(lexical=0.25, vector=0.3, graph=0.15, entity=0.3, freshness_bias=0.4),
        # Time first; being recent is no virtue when another time was asked for.
        "temporal": IntentWeights(
            lexical=0.2,
            vector=0.3,
            graph=0.05,
            temporal=0.4,
            entity=0.05,
            layers=("episodic", "semantic"),
            freshness_bias=0.2,
            candidates_multiplier=0.5,
        ),
        # Asked for as 0.3, 0.3 and 0.1, which do not make 1.
        "procedural": IntentWeights(
            lexical=0.43,
            vector=0.43,
            graph=0.14,
            layers=("procedural", "episodic"),
            candidates_multiplier=0.3,
        ),
        # A cause is linked to its effect and often shares no word with it.
        "causal": IntentWeights(
            lexical=0.2,
            vector=0.2,
            graph=0.5,
            temporal=0.1,
            layers=("episodic", "semantic"),
            freshness_bias=0.4,
            candidates_multiplier=0.5,
            hops=3,
        ),
        # Everything about one thing, whatever the layer and however old.
        "entity": IntentWeights(
            lexical=0.2, vector=0.2, graph=0.1, entity=0.5, layers=(), freshness_bias=0.3
        ),
    }
)
"""The weights of every intent by its name."""


def require_every_intent(weights: Mapping[str, IntentWeights]) -> None:
    """Raise unless there are weights for every intent, and for nothing else."""
    for name in weights:
        if name not in INTENTS:
            raise InvalidSettings(f"policy intents: no intent is called {name!r}")
    for name in INTENTS:
        if name not in weights:
            raise InvalidSettings(f"policy intents: {name} has no weights")
