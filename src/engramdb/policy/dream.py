"""Numbers of the dream: merging, knowledge and insight steps."""

from __future__ import annotations

from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.policy.ranges import require_positive, require_share

# The numbers of the dream: how alike statements must be to be one, who wins a contradiction, what is kept.

_COUNTS_AND_TIMES = (
    *("evidence_half_life_days", "clear_winner", "lease_minutes", "resume_hours"),
    *("keep_handed_out_days", "keep_audit_days", "keep_runs_days", "keep_runs"),
)
_SHARES = ("merge_above", "pattern_above", "pattern_confidence", "reinforce_by", "inherit_confidence")


class DreamPolicy(Struct, frozen=True, kw_only=True):
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


# The numbers of insight: what is doubted, replayed and asked, how the tree is cut, and what counts as known.
#
# Read by the dream's steps `probe`, `drift`, `replay`, `gaps`, `tree` and `confidence`, and by
# `engram.confidence`. The last three were fitted on labelled questions: docs/lab/0023-insight.md.

_COUNTS = (
    *("probe_after_days", "probe_recalls", "probe_most", "replay_most", "replay_recalls", "replay_hours"),
    *("replay_strength", "replay_strength_most", "replay_insight_links", "gap_mentions", "gap_most"),
    *("cluster_size", "domain_most", "global_tokens", "depth_full", "fresh_half_life_days"),
)
_SHARES_INSIGHT = (
    *("probe_weaken_by", "probe_weakest", "replay_fading_below", "replay_link_above", "replay_arousal"),
    *("replay_insight_by", "replay_insight_most", "interference_above", "weak_below", "rebuild_share"),
    *("known_above", "confident_above"),
)


class InsightPolicy(Struct, frozen=True, kw_only=True):
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
        require_share(self, *_SHARES_INSIGHT)
        if not self.replay_link_above <= self.interference_above:
            raise InvalidSettings("policy insight: replay_link_above and interference_above must rise")


# The numbers by which a dream turns statements into knowledge.
#
# Read by the steps of `dream` that state something new: semantic, procedures, synthesis, profiles, crystals,
# bridges, inference. Numbers without another word are those of the seeds (003 §3, 004 §5–6, 002 §15.6).

_SHARES_KNOWLEDGE = (
    *("idle_factor", "idle_least", "restated_above", "procedure_confidence", "theme_above"),
    *("principle_confidence", "profile_confidence", "crystal_confidence", "bridge_weight"),
    *("inference_damping", "inference_least", "inference_most"),
)


class KnowledgePolicy(Struct, frozen=True, kw_only=True):
    """How much it takes to state something new, and how far it is believed."""

    summaries_least: int = 5
    """In the summaries of so many sessions a fact must appear to become lasting knowledge."""
    summaries_most: int = 50
    """So many summaries are looked at, the latest; the seed has 20, which is two weeks of work."""
    restated_above: float = 0.85
    """Statements more alike than this count as one fact; the line above which capture takes them for one."""
    idle_days: float = 30.0
    """How long a period without any recall or confirmation is."""
    idle_factor: float = 0.9
    """What each such period leaves of the strength of lasting knowledge,"""
    idle_least: float = 0.1
    """and what is left of it at the end."""

    procedure_least: int = 2
    """On so many occasions the same steps must follow one another to be a procedure."""
    procedure_steps_most: int = 8
    """A longer chain is a project and no procedure."""
    procedure_confidence: float = 0.7
    """How far a procedure is believed that was only watched; as far as a single run of a tool."""
    occasion_minutes: float = 30.0
    """After so much silence a run of a tool belongs to another occasion; as long as a box stays open."""

    theme_above: float = 0.60
    """Statements more alike than this belong to one theme."""
    theme_least: int = 3
    """So many statements make a theme."""
    theme_most: int = 12
    """So many of a theme are summed up, the newest."""
    principles_most: int = 5
    """New principles in one run, and in one day: dreaming again at once does not go on,"""
    principles_hours: float = 20.0
    """but dreaming the next night does."""
    principle_confidence: float = 0.8
    """How far a principle is believed,"""
    principle_stability: float = 3.0
    """and how many times as slowly it fades as a single statement."""

    profile_least: int = 5
    """So many statements must speak of someone or something before there is a profile of it."""
    profile_lines: int = 12
    """Lines of a profile of one person, project or thing."""
    user_lines: int = 40
    """Lines of the profile of the user: what fits into the identity section of a small context."""
    line_characters: int = 160
    """A longer statement is cut on a profile."""
    profile_confidence: float = 0.7
    """How far a profile is believed; its statements are believed as they were."""
    topic_least: int = 5
    """So many statements make a topic of the index."""
    topics_most: int = 40
    """So many topics are in the index, those with the most statements."""
    mentions_reach: int = 2000
    """How many older statements are searched for a name that has just become known."""

    crystal_days: float = 7.0
    """A chain of actions is told as a story when nothing was added to it for so long."""
    crystal_least: int = 2
    """So many finished actions make a story."""
    crystal_confidence: float = 0.6
    """How far a story and its lessons are believed."""
    crystal_stability: float = 3.0
    """How many times as slowly a story fades as a single statement."""
    lesson_stability: float = 2.0
    """The same of a lesson: it fades sooner than the story, and twice as slowly as what taught it."""

    bridge_mentions_most: int = 200
    """What more memories than this speak of connects nothing."""
    bridge_contexts: int = 5
    """In so many contexts of a pair a memory is linked to that of the next one."""
    bridge_weight: float = 0.5
    """Of such a link: more than a mere neighbour, less than what says the same."""

    inference_hops: int = 5
    """The longest chain of statements that is followed."""
    inference_damping: float = 0.9
    """What each further statement of a chain leaves of the confidence."""
    inference_least: float = 0.4
    """Below this a conclusion is speculation and is not stated;"""
    inference_most: float = 0.69
    """above this it would pass for something that was said."""
    inference_fan: int = 5
    """Conclusions about one thing by one relation, the most certain."""

    def __post_init__(self) -> None:
        require_share(self, *_SHARES_KNOWLEDGE)
        require_positive(self, *(name for name in self.__struct_fields__ if name not in _SHARES_KNOWLEDGE))
        if self.inference_least > self.inference_most:
            raise InvalidSettings("policy knowledge: inference_least must not exceed inference_most")
