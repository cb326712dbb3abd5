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
        ),
        Policy(
            name="cortex",
            capture=CapturePolicy(default_confidence=0.8),
            recall=recall.CORTEX,
            aging=aging.CORTEX,
            attention=context.CORTEX,
        ),
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


def choose(name: str, overrides: Mapping[str, Any] | None = None) -> Policy:
    """Return the preset of that name, with `overrides` such as `{"recall": {"candidates": 50}}` applied."""
    if name not in PRESETS:
        raise UnknownPolicy(f"no policy is called {name!r}", hint=f"Choose one of {', '.join(PRESETS)}.")
    policy = PRESETS[name]
    for room, fields in (overrides or {}).items():
        changed: Any = {room: _override(policy, room, fields)}
        policy = replace(policy, **changed)
    return policy


def _override(policy: Policy, room: str, fields: object) -> object:
    part = getattr(policy, room, None)
    if room == "name" or not isinstance(part, Struct):
        raise InvalidSettings(f"policy has no part {room!r}")
    if not isinstance(fields, dict):
        raise InvalidSettings(f"policy.{room} must be a table of fields, not {fields!r}")
    known = {name: getattr(part, name) for name in part.__struct_fields__}
    for name, given in fields.items():
        if name not in known:
            raise InvalidSettings(f"policy.{room} has no field {name!r}")
        _require_same_type(f"policy.{room}.{name}", given, known[name])
    given_fields: Any = {
        name: tuple(given) if isinstance(given, list) else given for name, given in fields.items()
    }
    return replace(part, **given_fields)


def _require_same_type(name: str, given: object, default: object) -> None:
    accepted: tuple[type, ...] = (int, float) if isinstance(default, float) else (type(default),)
    if isinstance(default, tuple):
        accepted = (tuple, list)
    if not isinstance(given, accepted) or (isinstance(given, bool) and not isinstance(default, bool)):
        raise InvalidSettings(f"{name}={given!r} must be {type(default).__name__}")
