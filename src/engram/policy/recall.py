"""
The numbers of the read path.

Read by `recall`; the presets in `engram.policy` say where the systems differ. What a signal is worth was
chosen on three conversations of LoCoMo and checked on two others: docs/lab/0018-recall.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPolicy:
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
