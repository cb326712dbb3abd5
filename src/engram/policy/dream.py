"""
The numbers of the dream: how alike statements must be to be one, who wins a contradiction, what is kept.

Read by `dream`; the presets in `engram.policy` say where the systems differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

_COUNTS_AND_TIMES = (
    *("evidence_half_life_days", "clear_winner", "lease_minutes", "resume_hours"),
    *("keep_handed_out_days", "keep_audit_days", "keep_runs_days", "keep_runs"),
)
_SHARES = ("merge_above", "pattern_above", "pattern_confidence", "reinforce_by", "inherit_confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamPolicy:
    """How memories are consolidated while nobody asks."""

    merge_above: float = 0.85
    """At least so much alike, statements that name the same become one."""
    merge_least: int = 2
    """So many of them at least; fewer stay as they are."""
    pattern_above: float = 0.75
    """At least so much alike, statements support the one that they have in common."""
    pattern_least: int = 3
    """So many of them at least make it knowledge."""
    pattern_confidence: float = 0.8
    """How sure they must be together: one minus the chance that all of them are wrong."""
    reinforce_by: float = 0.1
    """What being said again in other words adds to the confidence of a statement, once for each merge."""
    evidence_half_life_days: float = 30.0
    """After so many days without confirmation, a statement weighs half as much against a contradiction."""
    clear_winner: float = 1.5
    """So many times the weight of the other wins a contradiction; less leaves both challenged."""
    inherit_confidence: float = 0.2
    """The share of the loser's confidence that the winner is given."""
    reconsolidates_notes: bool = False
    """Whether contradictions among notes are looked for, and not only those that capture found."""
    lease_minutes: float = 5.0
    """For how long a process may be silent before another goes on with its work."""
    resume_hours: float = 12.0
    """An interrupted run that began earlier than this is not gone on with."""
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
        require_share(self, *_SHARES)
        for name, least in (("merge_least", 2), ("pattern_least", 2), ("clear_winner", 1)):
            if getattr(self, name) < least:
                raise InvalidSettings(f"policy: {name}={getattr(self, name)} must be at least {least}")


NOTEBOOK = DreamPolicy(reconsolidates_notes=True)
LAYERED = DreamPolicy(merge_above=0.80, merge_least=5, pattern_least=5)
