"""
The lifecycle's numbers as named presets.

A `Policy` has one frozen part per room; a preset is a policy with a name. `choose` returns a preset,
with single fields replaced where the settings file says so. Rooms are handed their part and never
look a number up elsewhere. All of this is loaded when it is first named: most commands need no number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.policy.aging import AgingPolicy as AgingPolicy
    from engram.policy.attention import AttentionPolicy as AttentionPolicy
    from engram.policy.capture import CapturePolicy as CapturePolicy
    from engram.policy.context import ContextPolicy as ContextPolicy
    from engram.policy.dream import DreamPolicy as DreamPolicy
    from engram.policy.insight import InsightPolicy as InsightPolicy
    from engram.policy.presets import (
        PRESETS as PRESETS,
        Policy as Policy,
        choose as choose,
    )
    from engram.policy.recall import (
        STRATEGIES as STRATEGIES,
        RecallPolicy as RecallPolicy,
    )
else:
    from engram.late import names_of

NAMES = ("balanced", "notebook", "layered", "cortex", "beliefs", "tiered")
"""Of all presets, so that a name can be checked without making them."""
_NOUNS = {
    "aging": "AgingPolicy",
    "attention": "AttentionPolicy",
    "capture": "CapturePolicy",
    "context": "ContextPolicy",
    "dream": "DreamPolicy",
    "insight": "InsightPolicy",
    "presets": "PRESETS Policy choose",
    "recall": "RecallPolicy STRATEGIES",
}
"""Where each name stands. A test holds this to what is imported above for types."""

if not TYPE_CHECKING:  # with this in sight a checker would take any name for one that is there
    __getattr__ = names_of(__name__, _NOUNS)
