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


_COUNTS_AND_TIMES = (
    *("max_memory_bytes", "max_turn_bytes", "buffer_turns", "buffer_minutes", "claim_minutes", "link_most"),
    *("evidence_to_coexist", "surprise_neighbours", "echo_hours", "box_minutes", "box_memories"),
)
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
    """What one repetition adds, up to 1."""
    buffer_turns: int = 6
    """So many turns of a conversation are read together, unless a strong signal comes first."""
    buffer_minutes: float = 10.0
    """A turn waits no longer than this to be read."""
    claim_minutes: float = 5.0
    """How long one process may take to read turns before another may try."""
    injection_reject_above: float = 0.85
    """A statement with a higher injection score is refused."""
    injection_flag_above: float = 0.45
    """One with a higher score is stored, but kept out of automatic context."""
    same_above: float = 0.85
    """More alike than this, and not in conflict, two statements say the same."""
    conflict_above: float = 0.70
    """More alike than this, two statements are checked for a contradiction."""
    link_above: float = 0.40
    """More alike than this, a new memory is linked to its neighbour."""
    link_most: int = 3
    """To how many neighbours."""
    version_overlap_above: float = 1.0
    """Sharing a larger part of its words, a statement is a new version of its neighbour; 1 turns this off."""
    evidence_to_coexist: int = 3
    """A statement with so much evidence is weakened by a contradiction, one with less is replaced."""
    weaken_by: float = 0.2
    """What a contradiction takes from the confidence of a statement that stays."""
    weakest: float = 0.1
    """No contradiction takes confidence below this."""
    inherit_confidence: float = 0.2
    """The share of the old statement's confidence that the new one is given on top of its own."""
    surprise_neighbours: int = 5
    """How many neighbours say how new a statement is."""
    novelty_boost: float = 0.3
    """What the most surprising statement gains in importance; a redundant one loses a third of that."""
    echo_above: float = 0.70
    """An agent's statement this much like what it was just given is an echo, and no news."""
    echo_hours: float = 24.0
    """For how long it counts as just given."""
    box_overlap: float = 0.35
    """A statement that shares less with the open box's topics starts a new box."""
    box_minutes: float = 30.0
    """After so much silence a new box is started."""
    box_memories: int = 50
    """So many memories fill a box."""

    @property
    def settles(self) -> bool:
        """Whether new statements are compared with their neighbours at all."""
        return self.conflict_above < 1 or self.same_above < 1 or self.version_overlap_above < 1

    def __post_init__(self) -> None:
        shares = [field.name for field in dataclasses.fields(self) if field.name not in _COUNTS_AND_TIMES]
        _require_positive(self, *_COUNTS_AND_TIMES)
        _require_share(self, *shares)
        if not self.link_above <= self.conflict_above <= self.same_above:
            raise InvalidSettings("policy capture: link_above, conflict_above and same_above must rise")


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
        # Duplicates are skipped by fingerprint alone; conflicts wait for consolidation.
        Policy(
            name="notebook",
            capture=CapturePolicy(
                reinforce_confidence_by=0.0, same_above=1.0, conflict_above=1.0, novelty_boost=0.0
            ),
        ),
        Policy(name="layered", capture=CapturePolicy(conflict_above=0.8)),
        Policy(name="cortex", capture=CapturePolicy(default_confidence=0.8)),
        Policy(name="beliefs", capture=CapturePolicy(default_confidence=0.6, novelty_boost=0.0)),
        # A near repetition is a new version, and strength begins at seven of ten.
        Policy(
            name="tiered",
            capture=CapturePolicy(default_importance=0.7, version_overlap_above=0.7, novelty_boost=0.0),
        ),
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
