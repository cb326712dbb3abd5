"""Numbers of recall: fusion weights, signals, trust and the plan for each intent."""

from __future__ import annotations

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

# What a signal is worth was chosen on three conversations of LoCoMo and checked on two others
# (docs/lab/0018-recall.md); second hops, relations and times on other open sets (docs/lab/0056-answers.md).

STRATEGIES = ("score", "rrf", "mmr", "rrf_then_mmr", "cross_encoder")
"""In which ways the candidates may be put in order."""
FORMULAS = ("relevance", "trust", "beliefs")
"""By what a hit's score is made."""

_SHARES = (
    *("vector_weight", "subject_bonus", "time_bonus", "period_bonus", "graph_bonus", "entity_bonus"),
    *("late_bonus", "relation_bonus", "hop_bonus", "least_score", "mmr_lambda", "linked_share"),
)


class RecallPolicy(Struct, frozen=True, kw_only=True):
    """How memories are found and ranked."""

    candidates: int = 100
    """How many each index may offer before fusion."""
    vector_weight: float = 0.65
    """The vector index's share of the fused score; the text index has the rest: docs/lab/0003-fusion.md."""
    session_reach: tuple[float, ...] = (0.5, 0.3, 0.2)
    """What a memory gains from a good one of the same session: a message away, two, three."""
    subject_bonus: float = 0.08
    """What a memory gains that was said by, or is about, somebody whom the question names."""
    time_bonus: float = 0.05
    """What a memory gains that falls into the time that the question names, or near it;"""
    period_bonus: float = 0.6
    """and what it gains besides for lying inside."""
    graph_bonus: float = 0.4
    """What a memory gains from full activation through links; 0 leaves the graph out."""
    graph_through_entities: bool = True
    """Whether activation also passes from a memory to others that mention the same entity."""
    late_bonus: float = 0.3
    """What covering the question word by word is worth, with the built-in embedder."""
    relation_bonus: float = 0.6
    """What a memory gains that tells the relation which the question asks for, of the one it asks about."""
    hop_bonus: float = 0.3
    """What a memory gains that tells of somebody whom the best memories name and the question does not."""
    entity_bonus: float = 0.0
    """What a memory gains that mentions an entity of the question; 0 leaves entities out."""
    expand_aliases: int = 3
    """By how many other names of its entities a question is widened."""
    plans_by_intent: bool = False
    """Whether the kind of question shifts the weights: docs/lab/0012-intents.md."""
    balances_by_shape: bool = False
    """Whether the shape of the words shifts the balance of text and vector: docs/lab/0012-intents.md."""
    linked_share: float = 0.0
    """With which share of its score each of the best three brings its linked neighbors (beliefs)."""
    strategy: str = "score"
    """How candidates are put in order: score, rrf, mmr, rrf_then_mmr or cross_encoder."""
    mmr_lambda: float = 0.7
    """The weight of relevance against being unlike what was chosen already (mmr)."""
    formula: str = "relevance"
    """What a hit's score is: relevance, trust, or the formula of `beliefs`."""
    least_score: float = 0.05
    """What scores less is no answer, except among the first three, and does not count as recalled."""
    freshness_half_life_days: float = 30.0
    """After how long freshness is halved."""

    @property
    def uses_time(self) -> bool:
        """Whether the time that a question names counts at all."""
        return self.time_bonus > 0 or self.period_bonus > 0

    @property
    def uses_graph(self) -> bool:
        """Whether links between memories are followed at all."""
        return self.graph_bonus > 0 or self.linked_share > 0 or self.plans_by_intent

    @property
    def uses_entities(self) -> bool:
        """Whether the entities that a question names are looked up at all."""
        return self.entity_bonus > 0 or self.expand_aliases > 0

    def __post_init__(self) -> None:
        require_positive(self, "candidates", "freshness_half_life_days")
        require_share(self, *_SHARES)
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


CORTEX = RecallPolicy(
    plans_by_intent=True,
    balances_by_shape=True,
    strategy="rrf_then_mmr",
    formula="trust",
)
"""The kind of question shifts the weights, activation spreads, diversity counts, and trust ranks."""
BELIEFS = RecallPolicy(formula="beliefs", least_score=0.2, linked_share=0.8)
"""Meaning, importance, recency, stability and subject make the score, and neighbors of the best join."""
