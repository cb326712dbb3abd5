"""Policies: the numbers that presets or users vary."""

from engramdb.policy.aging import AgingPolicy
from engramdb.policy.capture import CapturePolicy
from engramdb.policy.context import AttentionPolicy, ContextPolicy
from engramdb.policy.dream import DreamPolicy, InsightPolicy
from engramdb.policy.presets import PRESETS, Policy, choose
from engramdb.policy.recall import RecallPolicy, STRATEGIES

NAMES = ("balanced", "notebook", "layered", "cortex", "beliefs", "tiered")
"""Names of all presets."""

__all__ = [
    "NAMES",
    "PRESETS",
    "STRATEGIES",
    "AgingPolicy",
    "AttentionPolicy",
    "CapturePolicy",
    "ContextPolicy",
    "DreamPolicy",
    "InsightPolicy",
    "Policy",
    "RecallPolicy",
    "choose",
]
