"""
The presets of the lifecycle's numbers, for one part of a policy after the other.

Read through `engram.policy`, which names them; built when the first is asked for. A `Policy` has one frozen
part per room; a preset is a policy with a name. Where the systems that Engram learned from disagree, the
difference is a preset here and not a second code path.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidSettings, UnknownPolicy
from engram.policy import aging, attention, dream, recall
from engram.policy.aging import AgingPolicy
from engram.policy.attention import AttentionPolicy
from engram.policy.capture import CapturePolicy
from engram.policy.context import ContextPolicy
from engram.policy.dream import DreamPolicy
from engram.policy.insight import InsightPolicy
from engram.policy.knowledge import KnowledgePolicy
from engram.policy.recall import RecallPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
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
            attention=attention.CORTEX,
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
        policy = dataclasses.replace(policy, **changed)
    return policy


def _override(policy: Policy, room: str, fields: object) -> object:
    part = getattr(policy, room, None)
    if room == "name" or not dataclasses.is_dataclass(part) or isinstance(part, type):
        raise InvalidSettings(f"policy has no part {room!r}")
    if not isinstance(fields, dict):
        raise InvalidSettings(f"policy.{room} must be a table of fields, not {fields!r}")
    known = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    for name, given in fields.items():
        if name not in known:
            raise InvalidSettings(f"policy.{room} has no field {name!r}")
        _require_same_type(f"policy.{room}.{name}", given, known[name])
    given_fields: Any = {
        name: tuple(given) if isinstance(given, list) else given for name, given in fields.items()
    }
    return dataclasses.replace(part, **given_fields)


def _require_same_type(name: str, given: object, default: object) -> None:
    accepted: tuple[type, ...] = (int, float) if isinstance(default, float) else (type(default),)
    if isinstance(default, tuple):
        accepted = (tuple, list)
    if not isinstance(given, accepted) or (isinstance(given, bool) and not isinstance(default, bool)):
        raise InvalidSettings(f"{name}={given!r} must be {type(default).__name__}")
