"""Numbers of capture: buffering, settling, trust."""

from __future__ import annotations

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

_SWITCHES = ("summarizes_with_model",)
_COUNTS_AND_TIMES = (
    *("max_memory_bytes", "max_turn_bytes", "buffer_turns", "buffer_minutes"),
    *("evidence_to_coexist", "box_memories", "summary_turns", "summary_every"),
)


class CapturePolicy(Struct, frozen=True, kw_only=True):
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
    injection_reject_above: float = 0.85
    """A statement with a higher injection score is refused."""
    injection_flag_above: float = 0.35
    """One with a higher score is stored, but kept out of automatic context."""
    injection_flag_person_above: float = 0.7
    """The same for a person's own words, who may set rules for an assistant; none of them is refused."""
    same_above: float = 0.85
    """More alike than this, and not in conflict, two statements say the same."""
    conflict_above: float = 0.70
    """More alike than this, two statements are checked for a contradiction."""
    link_above: float = 0.40
    """More alike than this, a new memory is linked to its neighbour."""
    version_overlap_above: float = 1.0
    """Sharing a larger part of its words, a statement is a new version of its neighbour; 1 turns this off."""
    evidence_to_coexist: int = 3
    """A statement with so much evidence is weakened by a contradiction, one with less is replaced."""
    novelty_boost: float = 0.3
    """What the most surprising statement gains in importance; a redundant one loses a third of that."""
    box_memories: int = 50
    """So many memories fill a box."""
    # When to sum up is as seed 003 has it.
    summary_turns: int = 4
    """A session, or a stretch of one, with fewer messages is not summed up."""
    summary_every: int = 5
    """After so many messages of the user a chat model, where one is configured, sums up what is new."""
    summarizes_with_model: bool = True
    """Whether it does; otherwise the rules sum up a session when it ends, as without a chat model."""

    @property
    def settles(self) -> bool:
        """Whether new statements are compared with their neighbors at all."""
        return self.conflict_above < 1 or self.same_above < 1 or self.version_overlap_above < 1

    def __post_init__(self) -> None:
        shares = [name for name in self.__struct_fields__ if name not in (*_COUNTS_AND_TIMES, *_SWITCHES)]
        require_positive(self, *_COUNTS_AND_TIMES)
        require_share(self, *shares)
        if not self.link_above <= self.conflict_above <= self.same_above:
            raise InvalidSettings("policy capture: link_above, conflict_above and same_above must rise")
