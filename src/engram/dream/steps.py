"""
Every step of a dream, in the order in which they are taken.

Read by the engine and by `run`. What later steps build on comes first: statements are made one before they
are weighed against each other, contradictions are settled before anything is concluded, entities are
described before the tree that is anchored in them, and questions are asked when everything else has had its
chance to answer them. A step whose helper is missing is skipped and says so, and the others go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.dream.insight.confidence import ConfidenceStep
from engram.dream.insight.drift import DriftStep
from engram.dream.insight.gaps import GapsStep
from engram.dream.insight.probe import ProbeStep
from engram.dream.insight.replay import ReplayStep
from engram.dream.insight.tree import TreeStep
from engram.dream.knowledge.bridges import BridgesStep
from engram.dream.knowledge.crystals import CrystalsStep
from engram.dream.knowledge.inference import InferenceStep
from engram.dream.knowledge.procedures import ProceduresStep
from engram.dream.knowledge.profiles import ProfilesStep
from engram.dream.knowledge.semantic import SemanticStep
from engram.dream.knowledge.synthesis import SynthesisStep
from engram.dream.merging.contradictions import ContradictionsStep
from engram.dream.merging.merge import MergeStep
from engram.dream.merging.patterns import PatternsStep
from engram.dream.prune import PruneStep
from engram.errors import InvalidQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.dream.step import Step

STEPS: tuple[Step, ...] = (
    MergeStep(),
    ContradictionsStep(),
    PatternsStep(),
    SemanticStep(),
    ProceduresStep(),
    SynthesisStep(),
    ProfilesStep(),
    CrystalsStep(),
    BridgesStep(),
    InferenceStep(),
    ProbeStep(),
    DriftStep(),
    ReplayStep(),
    GapsStep(),
    TreeStep(),
    ConfidenceStep(),
    PruneStep(),
)


def chosen(names: Sequence[str] | None) -> tuple[Step, ...]:
    """Return the steps of these names, or all of them, always in their own order."""
    if names is None:
        return STEPS
    known = {step.name: step for step in STEPS}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise InvalidQuery(
            f"no step of the dream is called {unknown[0]!r}" if unknown else "no step was named",
            hint=f"Use some of {', '.join(known)}.",
        )
    return tuple(step for step in STEPS if step.name in names)
