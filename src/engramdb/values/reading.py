"""How a text was read, and how two texts stand to each other: what a reader and a judge give back."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class PairRelation(StrEnum):
    """How a newer statement stands to an older one."""

    SAME = "same"
    """Says the same again: keeping both is redundant."""
    CONFLICT = "conflict"
    """Both cannot hold now: if the newer one is credible, the older one is outdated."""
    REFINES = "refines"
    """Adds detail to the same fact; both hold."""
    RELATED = "related"
    """About the same subject or easily confused with it; both hold."""
    UNRELATED = "unrelated"


class Force(StrEnum):
    """What a speaker does with a sentence."""

    ASSERTED = "asserted"
    HEDGED = "hedged"
    HYPOTHETICAL = "hypothetical"
    QUOTED = "quoted"
    """Reported, told as fiction, or said in jest."""
    QUESTION = "question"
    REQUEST = "request"
    RULE = "rule"


class Lasting(StrEnum):
    """For how long a statement can be expected to hold."""

    PERMANENT = "permanent"
    """A birth date, an allergy, a name."""
    STABLE = "stable"
    """A job, a home, a tool, a convention."""
    PASSING = "passing"
    """Today's mood, this week's bug."""
    DATED = "dated"
    """Has a day on which it is due, ends or returns."""
    NONE = "none"


class Reading(Struct, frozen=True, kw_only=True):
    """What a reader makes of one text. A share is None where this reader has no opinion."""

    by: str
    """Name and version of the reader."""
    is_by_network: bool = True
    """Whether force and lasting count beside the rules; those of the small heads do not."""
    keep: float | None = None
    """The chance that it is worth keeping."""
    is_kept: bool | None = None
    """Whether that is above the reader's threshold for its stated precision."""
    force: Force | None = None
    rule: float | None = None
    """The chance that it sets a rule for what comes, also in passing: "run it again, always with -x"."""
    lasting: Lasting | None = None
    category: str | None = None
    hostile: float | None = None
    """The chance that it tries to steer a later agent."""
    is_hostile: bool | None = None
    """Whether that is above the threshold for at most one false alarm in fifty."""


class PairJudgment(Struct, frozen=True, kw_only=True):
    """What a judge makes of an older statement and a newer one."""

    by: str
    """Name and version of the judge."""
    relation: PairRelation
    """The likeliest."""
    conflict: float
    """The chance that both cannot hold."""
    same: float
    """The chance that they say the same."""
    is_conflict: bool
    """Whether it may be acted on as a conflict: above the judge's threshold for its stated precision."""
    is_same: bool
    """Whether it may be acted on as a repetition."""
    is_mutual: bool = False
    """Whether it was asked both ways, and the less certain answer counts."""
    is_certain: bool = False
    """Whether it needs no second witness: the word of a chat model, not of a small network."""
    is_harmless: bool = False
    """Whether the judge is sure that both hold, whatever the rules say."""

    @classmethod
    def certain(cls, relation: PairRelation, *, by: str, is_harmless: bool = False) -> PairJudgment:
        """Return the judgment of a judge that says one word, so that its chances are 0 or 1."""
        is_conflict, is_same = relation is PairRelation.CONFLICT, relation is PairRelation.SAME
        return cls(
            by=by,
            relation=relation,
            conflict=float(is_conflict),
            same=float(is_same),
            is_conflict=is_conflict,
            is_same=is_same,
            is_certain=is_conflict or is_same,
            is_harmless=is_harmless,
        )
