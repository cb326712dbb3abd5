"""
The numbers of insight: what is doubted, replayed and asked, how the tree is cut, and what counts as known.

Read by the dream's steps `probe`, `drift`, `replay`, `gaps`, `tree` and `confidence`, and by
`engram.confidence`. The last three were fitted on labelled questions: docs/lab/0023-insight.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

_COUNTS = (
    *("probe_after_days", "probe_recalls", "probe_most", "replay_most", "replay_recalls", "replay_hours"),
    *("replay_strength", "replay_strength_most", "replay_insight_links", "gap_mentions", "gap_most"),
    *("cluster_size", "domain_most", "global_tokens", "depth_full", "fresh_half_life_days"),
)
_SHARES = (
    *("probe_weaken_by", "probe_weakest", "replay_fading_below", "replay_link_above", "replay_arousal"),
    *("replay_insight_by", "replay_insight_most", "interference_above", "weak_below", "rebuild_share"),
    *("known_above", "confident_above"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightPolicy:
    """What the dream asks itself about the knowledge."""

    probe_after_days: float = 90.0
    """A belief that nobody confirmed for so long may be out of date."""
    probe_recalls: int = 10
    """It is worth a question where it was used so often."""
    probe_most: int = 10
    """So many beliefs are questioned a run."""
    probe_weaken_by: float = 0.0
    """What a questioned belief loses of its confidence; 0 only asks."""
    probe_weakest: float = 0.4
    """No questioning takes confidence below this: an old belief is doubted, not made speculative."""
    replay_most: int = 50
    """So many memories are replayed a run."""
    replay_recalls: int = 3
    """What was recalled so often is worth keeping."""
    replay_fading_below: float = 0.7
    """And needs replaying once its retention has fallen below this."""
    replay_hours: float = 24.0
    """A memory rests so long between two replays."""
    replay_strength: float = 0.2
    """What a replay adds to strength, and at least to stability."""
    replay_strength_most: float = 2.0
    """And up to where."""
    replay_arousal: float = 0.6
    """A memory that moved more than this is chosen twice as readily."""
    replay_link_above: float = 0.75
    """Memories more alike than this belong together, on the common scale."""
    replay_insight_links: int = 3
    """So many new links at once are an insight."""
    replay_insight_by: float = 0.1
    """What each of them adds to the arousal of the memory that they met in."""
    replay_insight_most: float = 0.8
    """And up to where."""
    interference_above: float = 0.9
    """Memories more alike than this that still say different things are easily confused."""
    gap_mentions: int = 3
    """Whoever so many memories speak of is worth asking about."""
    gap_most: int = 100
    """So many questions of a scope are open at most."""
    cluster_size: int = 10
    """About so many memories make a cluster."""
    domain_most: int = 64
    """So many domains a scope has at most."""
    global_tokens: int = 200
    """What the summary of a whole scope may cost."""
    rebuild_share: float = 0.25
    """When more than this share of a tree is new or gone, it is made anew instead of mended."""
    depth_full: float = 8.0
    """So many well believed memories make two thirds of a domain's depth."""
    fresh_half_life_days: float = 90.0
    """After so long without news or use a domain is half as fresh."""
    weak_below: float = 0.4
    """A domain below this confidence is looked at more finely."""
    known_above: float = 0.37
    """A question that no memory fits better than this is about something unknown."""
    confident_above: float = 0.68
    """So well surrounded, undoubted and fresh must the best memory be to answer with confidence."""

    def __post_init__(self) -> None:
        require_positive(self, *_COUNTS)
        require_share(self, *_SHARES)
        if not self.replay_link_above <= self.interference_above:
            raise InvalidSettings("policy insight: replay_link_above and interference_above must rise")
