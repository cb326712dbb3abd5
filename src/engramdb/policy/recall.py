"""Numbers of recall: fusion weights, signals, trust and the plan for each intent."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

# The numbers of the read path.
#
# Read by `recall`; the presets in `engram.policy` say where the systems differ. What a signal is worth was
# chosen on three conversations of LoCoMo and checked on two others: docs/lab/0018-recall.md.

STRATEGIES = ("score", "rrf", "mmr", "rrf_then_mmr", "cross_encoder")
"""In which ways the candidates may be put in order."""
FORMULAS = ("relevance", "trust", "beliefs")
"""By what a hit's score is made."""

_TRUST_PARTS = ("trust_relevance", "trust_accuracy", "trust_freshness", "trust_utility")
_SHARES = (
    *("vector_weight", "subject_bonus", "time_bonus", "graph_bonus", "entity_bonus", "least_score"),
    *("mmr_lambda", "graph_decay", "graph_floor", "suppress_above", "linked_share", "poor_relevancy"),
    "nothing_below",
)


class RecallPolicy(Struct, frozen=True, kw_only=True):
    """How memories are found and ranked."""

    candidates: int = 100
    """How many each index may offer before fusion."""
    vector_weight: float = 0.7
    """The vector index's share of the fused score; the text index has the rest: docs/lab/0003-fusion.md."""
    session_reach: tuple[float, ...] = (0.4, 0.25, 0.15)
    """What a memory gains from a good one beside it in the same session: next to it, two away, three away."""
    session_crowd: int = 50
    """Only what lies above the score of this rank counts as good."""
    subject_bonus: float = 0.08
    """What a memory gains that was said by, or is about, somebody whom the question names."""
    time_bonus: float = 0.05
    """What a memory gains that falls into the time that the question names."""
    graph_bonus: float = 0.4
    """What a memory gains from full activation through links; 0 leaves the graph out."""
    graph_seeds: int = 10
    """From how many of the best memories activation spreads."""
    graph_hops: int = 2
    """How far."""
    graph_decay: float = 0.6
    """What is left of activation after each hop."""
    graph_floor: float = 0.1
    """Below this it goes no further."""
    graph_through_entities: bool = False
    """Whether activation also passes from a memory to others that mention the same entity."""
    entity_bonus: float = 0.0
    """What a memory gains that mentions an entity of the question; 0 leaves entities out."""
    expand_aliases: int = 3
    """By how many other names of its entities a question is widened."""
    plans_by_intent: bool = False
    """Whether the kind of question shifts the weights: docs/lab/0012-intents.md."""
    balances_by_shape: bool = False
    """Whether the shape of the words shifts the balance of text and vector: docs/lab/0012-intents.md."""
    linked_share: float = 0.0
    """With which share of its score each of the best three brings its linked neighbours (beliefs)."""
    strategy: str = "score"
    """How candidates are put in order: score, rrf, mmr, rrf_then_mmr or cross_encoder."""
    rank_constant: int = 60
    """How little the first ranks count for more than the next (rrf)."""
    mmr_lambda: float = 0.7
    """The weight of relevance against being unlike what was chosen already (mmr)."""
    formula: str = "relevance"
    """What a hit's score is: relevance, trust, or the formula of `beliefs`."""
    least_score: float = 0.05
    """What scores less is no answer and does not count as recalled;"""
    least_hits: int = 3
    """but so many are given all the same, where nothing better is there;"""
    nothing_below: float = 0.02
    """and what scores less than this is not given at all: an empty answer says more."""
    trust_relevance: float = 0.35
    """The share of fitting the question in a hit's trust; the four shares make 1."""
    trust_accuracy: float = 0.25
    """The share of being true: evidence, explicitness, contradiction, feedback."""
    trust_freshness: float = 0.20
    """The share of being recent."""
    trust_utility: float = 0.20
    """The share of being important and of use."""
    freshness_half_life_days: float = 30.0
    """After how long freshness is halved."""
    suppress_above: float = 0.7
    """A question this much like one for which a memory was of no help does not find it again,"""
    suppress_days: float = 90.0
    """for so long."""
    poor_relevancy: float = 0.3
    """An answer with a lower average relevancy is poor,"""
    poor_in_a_row: int = 10
    """and so many poor ones in a row are worth a warning."""

    @property
    def uses_graph(self) -> bool:
        """Whether links between memories are followed at all."""
        return self.graph_bonus > 0 or self.linked_share > 0 or self.plans_by_intent

    @property
    def uses_entities(self) -> bool:
        """Whether the entities that a question names are looked up at all."""
        return self.entity_bonus > 0 or self.expand_aliases > 0

    def __post_init__(self) -> None:
        require_positive(
            self, "candidates", "freshness_half_life_days", "session_crowd", "rank_constant", "suppress_days"
        )
        require_positive(self, "graph_seeds", "graph_hops", "poor_in_a_row", "least_hits")
        require_share(self, *_SHARES, *_TRUST_PARTS)
        if not all(0 <= share <= 1 for share in self.session_reach):
            raise InvalidSettings("policy recall: session_reach has a share outside 0 to 1")
        if self.strategy not in STRATEGIES:
            raise InvalidSettings(
                f"policy recall: strategy={self.strategy!r}", hint=f"Choose one of {', '.join(STRATEGIES)}."
            )
        if self.formula not in FORMULAS:
            raise InvalidSettings(
                f"policy recall: formula={self.formula!r}", hint=f"Choose one of {', '.join(FORMULAS)}."
            )
        total = sum(getattr(self, name) for name in _TRUST_PARTS)
        if abs(total - 1) > 1e-9:
            raise InvalidSettings(f"policy recall: the trust weights add up to {total}, not 1")


CORTEX = RecallPolicy(
    plans_by_intent=True,
    balances_by_shape=True,
    graph_through_entities=True,
    strategy="rrf_then_mmr",
    formula="trust",
)
"""The kind of question shifts the weights, activation spreads, diversity counts, and trust ranks."""
BELIEFS = RecallPolicy(formula="beliefs", least_score=0.2, linked_share=0.8)
"""Meaning, importance, recency, stability and subject make the score, and neighbours of the best join."""


# How each kind of question is searched for: which signals count, which layers first, how wide, how deep.
#
# Handed to `recall.plan`; imports no other room, so intents, indexes and layers are plain names here, and
# tests hold them to the real ones. Lookup, exploratory, procedural and causal have the numbers that Engram
# was asked for; comparative, temporal and entity were only described, and theirs are ours. They are
# starting points: what is switched on, an eval decides (docs/lab/0012-intents.md).

SIGNALS = ("lexical", "vector", "graph", "temporal", "entity")
"""The indexes that a share is given to, by the names that recall uses for them."""

LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")
"""The layers that may be preferred; a test holds them to those of a memory."""

MOST_HOPS = 4
"""Beyond this, everything is connected to everything."""


class IntentWeights(Struct, frozen=True, kw_only=True):
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
