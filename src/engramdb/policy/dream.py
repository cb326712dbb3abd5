"""Numbers of the dream: merging, knowledge and insight steps."""

from __future__ import annotations

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

_COUNTS_AND_TIMES = (
    *("evidence_half_life_days", "clear_winner"),
    *("keep_handed_out_days", "keep_audit_days", "keep_runs_days", "keep_runs"),
)


class DreamPolicy(Struct, frozen=True, kw_only=True):
    """How memories are consolidated while nobody asks."""

    merge_above: float = 0.85
    """At least so much alike, statements that name the same become one."""
    merge_least: int = 2
    """So many of them at least; fewer stay as they are."""
    pattern_above: float = 0.75
    """At least so much alike, statements support the one that they have in common."""
    pattern_least: int = 3
    """So many of them at least make it knowledge."""
    evidence_half_life_days: float = 30.0
    """After so many days without confirmation, a statement weighs half as much against a contradiction."""
    clear_winner: float = 1.5
    """So many times the weight of the other wins a contradiction; less leaves both challenged."""
    reconsolidates_notes: bool = False
    """Whether contradictions among notes are looked for, and not only those that capture found."""
    keep_handed_out_days: float = 30.0
    """How long it is known who was given what."""
    keep_audit_days: float = 365.0
    """How long it is known who did what; the history of a memory stays."""
    keep_runs_days: float = 90.0
    """How long reports of dreams and sweeps are kept."""
    keep_runs: int = 20
    """So many of the latest reports are kept however old they are."""

    def __post_init__(self) -> None:
        require_positive(self, *_COUNTS_AND_TIMES)
        require_share(self, "merge_above", "pattern_above")
        for name, least in (("merge_least", 2), ("pattern_least", 2), ("clear_winner", 1)):
            if getattr(self, name) < least:
                raise InvalidSettings(f"policy: {name}={getattr(self, name)} must be at least {least}")


NOTEBOOK = DreamPolicy(reconsolidates_notes=True)
LAYERED = DreamPolicy(merge_above=0.80, merge_least=5, pattern_least=5)


_INSIGHT_COUNTS = (
    *("probe_after_days", "probe_most", "replay_most", "gap_most", "cluster_size", "fresh_half_life_days"),
)


class InsightPolicy(Struct, frozen=True, kw_only=True):
    """What the dream asks itself about the knowledge."""

    probe_after_days: float = 90.0
    """A belief that nobody confirmed for so long may be out of date."""
    probe_most: int = 10
    """So many beliefs are questioned a run."""
    probe_weaken_by: float = 0.0
    """What a questioned belief loses of its confidence; 0 only asks."""
    probe_challenges: bool = False
    """Whether a questioned belief is disputed until somebody answers; what lasts for good never is."""
    replay_most: int = 50
    """So many memories are replayed a run."""
    replay_link_above: float = 0.75
    """Memories more alike than this belong together, on the common scale."""
    interference_above: float = 0.9
    """Memories more alike than this that still say different things are easily confused."""
    gap_most: int = 100
    """So many questions of a scope are open at most."""
    cluster_size: int = 10
    """About so many memories make a cluster."""
    fresh_half_life_days: float = 90.0
    """After so long without news or use a domain is half as fresh."""

    def __post_init__(self) -> None:
        require_positive(self, *_INSIGHT_COUNTS)
        require_share(self, "probe_weaken_by", "replay_link_above", "interference_above")
        if not self.replay_link_above <= self.interference_above:
            raise InvalidSettings("policy insight: replay_link_above and interference_above must rise")


_KNOWLEDGE_SHARES = ("idle_factor", "inference_damping")


class KnowledgePolicy(Struct, frozen=True, kw_only=True):
    """How much it takes to state something new, and how far it is believed."""

    summaries_least: int = 5
    """In the summaries of so many sessions a fact must appear to become lasting knowledge."""
    idle_days: float = 30.0
    """How long a period without any recall or confirmation is."""
    idle_factor: float = 0.9
    """What each such period leaves of the strength of knowledge that a dream concluded."""
    principles_most: int = 5
    """New principles in one run, and in one day: dreaming again at once adds none."""
    profile_lines: int = 12
    """Lines of a profile of one person, project or thing."""
    user_lines: int = 40
    """Lines of the profile of the user: what fits into the identity section of a small context."""
    inference_damping: float = 0.9
    """What each further statement of a chain leaves of the confidence."""
    inference_fan: int = 5
    """Conclusions about one thing by one relation, the most certain."""

    def __post_init__(self) -> None:
        require_share(self, *_KNOWLEDGE_SHARES)
        require_positive(self, *(name for name in self.__struct_fields__ if name not in _KNOWLEDGE_SHARES))
