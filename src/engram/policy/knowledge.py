"""
The numbers by which a dream turns statements into knowledge.

Read by the steps of `dream` that state something new: semantic, procedures, synthesis, profiles, crystals,
bridges, inference. Numbers without another word are those of the seeds (003 §3, 004 §5–6, 002 §15.6).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from engram.errors import InvalidSettings
from engram.policy.checks import require_positive, require_share

_SHARES = (
    *("idle_factor", "idle_least", "restated_above", "procedure_confidence", "theme_above"),
    *("principle_confidence", "profile_confidence", "crystal_confidence", "bridge_weight"),
    *("inference_damping", "inference_least", "inference_most"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgePolicy:
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
        require_share(self, *_SHARES)
        require_positive(self, *(one.name for one in dataclasses.fields(self) if one.name not in _SHARES))
        if self.inference_least > self.inference_most:
            raise InvalidSettings("policy knowledge: inference_least must not exceed inference_most")
