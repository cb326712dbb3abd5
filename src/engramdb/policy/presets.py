"""The presets: one policy for each way memories may live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import InvalidSettings, UnknownPolicy
from engramdb.policy import aging, context, dream, recall
from engramdb.policy.aging import AgingPolicy
from engramdb.policy.capture import CapturePolicy
from engramdb.policy.context import AttentionPolicy, ContextPolicy
from engramdb.policy.dream import DreamPolicy, InsightPolicy, KnowledgePolicy
from engramdb.policy.recall import RecallPolicy


class Policy(Struct, frozen=True, kw_only=True):
    """All numbers of one preset."""

    name: str
    capture: CapturePolicy = CapturePolicy()
    recall: RecallPolicy = RecallPolicy()
    aging: AgingPolicy = AgingPolicy()
    dream: DreamPolicy = DreamPolicy()
    attention: AttentionPolicy = AttentionPolicy()
    context: ContextPolicy = ContextPolicy()
    knowledge: KnowledgePolicy = KnowledgePolicy()
    insight: InsightPolicy = InsightPolicy()


PRESETS: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy(name="balanced"),
        # Duplicates are skipped by fingerprint alone; conflicts wait for consolidation.
        Policy(
            name="notebook",
            capture=CapturePolicy(
                reinforce_confidence_by=0.0, same_above=1.0, conflict_above=1.0, novelty_boost=0.0
            ),
            aging=aging.NOTEBOOK,
            dream=dream.NOTEBOOK,
        ),
        Policy(
            name="layered",
            capture=CapturePolicy(conflict_above=0.8),
            aging=aging.LAYERED,
            dream=dream.LAYERED,
            insight=InsightPolicy(probe_challenges=True),  # a challenged belief is flagged for review
        ),
        Policy(
            name="cortex",
            capture=CapturePolicy(default_confidence=0.8),
            recall=recall.CORTEX,
            aging=aging.CORTEX,
            attention=context.CORTEX,
        ),
        # It sums up as all presets do where there is a chat model: the numbers are those of seed 003.
        Policy(
            name="beliefs",
            capture=CapturePolicy(default_confidence=0.6, novelty_boost=0.0),
            recall=recall.BELIEFS,
            aging=aging.BELIEFS,
        ),
        # A near repetition is a new version, and strength begins at seven of ten.
        Policy(
            name="tiered",
            capture=CapturePolicy(default_importance=0.7, version_overlap_above=0.7, novelty_boost=0.0),
            aging=aging.TIERED,
        ),
    )
}
"""The presets by name."""

FIXED = {
    "capture": (
        "claim_minutes link_most weaken_by weakest inherit_confidence surprise_neighbours echo_above "
        "echo_hours box_overlap box_minutes"
    ),
    "recall": (
        "session_crowd graph_seeds graph_hops graph_decay graph_floor rank_constant least_hits "
        "nothing_below trust_relevance trust_accuracy trust_freshness trust_utility suppress_above "
        "suppress_days poor_relevancy poor_in_a_row"
    ),
    "aging": (
        "auto_speed huber_tail_half_lives elastic_l1 recall_adds recall_adds_most type_weights "
        "type_weight_default working_recalls semantic_recalls unused_importance unused_recalls "
        "faded_importance faded_recalls weak_below weak_spares_importance weak_spares_arousal "
        "decayed_below low_value_importance speculative_below"
    ),
    "dream": ("pattern_confidence reinforce_by inherit_confidence lease_minutes resume_hours"),
    "attention": (
        "slots_give turn_decay boost least_activation recall_slots recall_relevance centroid_share "
        "momentum_most drift_decay kept_topics anticipation_above anticipation_seconds decayed_least "
        "morning_slots morning_days"
    ),
    "context": (
        "large_from_tokens large_to_tokens tokens_per_hit whole_share score_power summary_worth "
        "key_fact_worth tag_worth unknown_below thin_below thin_hits gap_days"
    ),
    "knowledge": (
        "summaries_most restated_above idle_least procedure_least procedure_steps_most "
        "procedure_confidence occasion_minutes theme_above theme_least theme_most principles_hours "
        "principle_confidence principle_stability profile_least line_characters profile_confidence "
        "topic_least topics_most mentions_reach crystal_days crystal_least crystal_confidence "
        "crystal_stability lesson_stability bridge_mentions_most bridge_contexts bridge_weight "
        "inference_hops inference_least inference_most"
    ),
    "insight": (
        "probe_recalls probe_weakest replay_recalls replay_fading_below replay_hours replay_strength "
        "replay_strength_most replay_arousal replay_insight_links replay_insight_by replay_insight_most "
        "gap_mentions domain_most global_tokens rebuild_share depth_full weak_below known_above "
        "confident_above"
    ),
}
"""Fields by part that could once be set; every preset shared them, so they are constants beside their use."""


def choose(name: str, overrides: Mapping[str, Any] | None = None) -> Policy:
    """Return the preset of that name, with `overrides` such as `{"recall": {"candidates": 50}}` applied."""
    if name not in PRESETS:
        raise UnknownPolicy(f"no policy is called {name!r}", hint=f"Choose one of {', '.join(PRESETS)}.")
    policy = PRESETS[name]
    for part, fields in (overrides or {}).items():
        changed: Any = {part: _override(policy, part, fields)}
        policy = replace(policy, **changed)
    return policy


def _override(policy: Policy, part: str, fields: object) -> object:
    chosen = getattr(policy, part, None)
    if part == "name" or not isinstance(chosen, Struct):
        raise InvalidSettings(f"policy has no part {part!r}")
    if not isinstance(fields, dict):
        raise InvalidSettings(f"policy.{part} must be a table of fields, not {fields!r}")
    known = {name: getattr(chosen, name) for name in chosen.__struct_fields__}
    for name, given in fields.items():
        if name in FIXED.get(part, "").split():
            raise InvalidSettings(
                f"policy.{part}.{name} is a fixed number now and cannot be set",
                hint="Remove it from the settings; docs/reference/policy.md lists what can be set.",
            )
        if name not in known:
            raise InvalidSettings(f"policy.{part} has no field {name!r}")
        _require_same_type(f"policy.{part}.{name}", given, known[name])
    given_fields: Any = {
        name: tuple(given) if isinstance(given, list) else given for name, given in fields.items()
    }
    return replace(chosen, **given_fields)


def _require_same_type(name: str, given: object, default: object) -> None:
    accepted: tuple[type, ...] = (int, float) if isinstance(default, float) else (type(default),)
    if isinstance(default, tuple):
        accepted = (tuple, list)
    if not isinstance(given, accepted) or (isinstance(given, bool) and not isinstance(default, bool)):
        raise InvalidSettings(f"{name}={given!r} must be {type(default).__name__}")
