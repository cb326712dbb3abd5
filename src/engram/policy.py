"""
The lifecycle's numbers as named presets.

A `Policy` has one frozen part per room; a preset is a policy with a name. `choose` returns a preset,
with single fields replaced where the settings file says so. Rooms are handed their part and never
look a number up elsewhere. Where the systems that Engram learned from disagree, the difference is a
preset here and not a second code path.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidSettings, UnknownPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping


_TRUST_PARTS = ("trust_relevance", "trust_accuracy", "trust_freshness", "trust_utility")


def _require_positive(part: object, *names: str) -> None:
    for name in names:
        if not getattr(part, name) > 0:
            raise InvalidSettings(f"policy: {name}={getattr(part, name)} must be above 0")


def _require_share(part: object, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(part, name) <= 1:
            raise InvalidSettings(f"policy: {name}={getattr(part, name)} is outside 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePolicy:
    """How statements enter."""

    max_memory_bytes: int = 8 * 1024
    """A memory is one statement; a longer text is a document and must be split."""
    max_turn_bytes: int = 1024 * 1024
    """A turn is kept as it was said, so only an accident is refused."""
    default_confidence: float = 1.0
    """Of what a person states outright."""
    default_importance: float = 0.5
    """Of a statement whose weight nobody gave."""
    reinforce_confidence_by: float = 0.1
    """What one exact repetition adds, up to 1."""

    def __post_init__(self) -> None:
        _require_positive(self, "max_memory_bytes", "max_turn_bytes")
        _require_share(self, "default_confidence", "default_importance", "reinforce_confidence_by")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPolicy:
    """How memories are found and ranked."""

    candidates: int = 100
    """How many each index may offer before fusion."""
    vector_weight: float = 0.7
    """The vector index's share of the fused score; the text index has the rest: docs/lab/0003-fusion.md."""
    trust_relevance: float = 0.35
    """The share of fitting the question in a hit's trust; the four shares make 1."""
    trust_accuracy: float = 0.25
    """The share of being true: confidence and source."""
    trust_freshness: float = 0.20
    """The share of being recent."""
    trust_utility: float = 0.20
    """The share of being important."""
    freshness_half_life_days: float = 30.0
    """After how long freshness is halved."""

    def __post_init__(self) -> None:
        _require_positive(self, "candidates", "freshness_half_life_days")
        _require_share(self, "vector_weight", *_TRUST_PARTS)
        total = sum(getattr(self, name) for name in _TRUST_PARTS)
        if abs(total - 1) > 1e-9:
            raise InvalidSettings(f"policy recall: the trust weights add up to {total}, not 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All numbers of one preset."""

    name: str
    capture: CapturePolicy = CapturePolicy()
    recall: RecallPolicy = RecallPolicy()


PRESETS: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy(name="balanced"),
        Policy(name="notebook", capture=CapturePolicy(reinforce_confidence_by=0.0)),
        Policy(name="layered"),
        Policy(name="cortex"),
        Policy(name="beliefs", capture=CapturePolicy(default_confidence=0.6)),
        Policy(name="tiered", capture=CapturePolicy(default_importance=0.7)),
    )
}
"""The presets by name; later rooms add their parts here."""


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
    return dataclasses.replace(part, **fields)


def _require_same_type(name: str, given: object, default: object) -> None:
    accepted = (int, float) if isinstance(default, float) else (type(default),)
    if not isinstance(given, accepted) or (isinstance(given, bool) and not isinstance(default, bool)):
        raise InvalidSettings(f"{name}={given!r} must be {type(default).__name__}")
