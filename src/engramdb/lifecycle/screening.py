"""
Screening: does a text inform, or does it try to steer whoever reads it later?

Patterns always look at it; a judge of hostile text, where there is one, weighs their finding and the rest of
the words. Who says it counts: a person's own rules for an assistant are ordinary, the same words in a mail
or in the output of a tool are an attempt. A text is clean, flagged (stored and searchable, in no automatic
window) or refused, which happens only on overwhelming evidence and never to a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from engramdb.erasable_cache import cached
from engramdb.errors import EngramError, InjectionBlocked
from engramdb.policy import CapturePolicy
from engramdb.text.injection import scan
from engramdb.text.sentences import sentences
from engramdb.values import Actor, ActorKind, Provenance, Role, Source, Voice
from engramdb.vault.finding import FindsPersonalData

JUDGED: Final = "hostile wording"
"""The reason that is given where the judge and no pattern found something."""


class Authorship(StrEnum):
    """Whose words they are, as far as steering an assistant goes."""

    PERSON = "person"
    """Typed by the person whose assistant it is, who may set rules for it."""
    OTHER = "other"
    """An agent's, or of a page, a mail, a tool, a file: nobody there may."""


class JudgesHostility(Protocol):
    """Tells how likely a text is to be an attempt to steer a later agent."""

    def chance(self, text: str, *, patterns: float) -> float:
        """Return the chance, given what the patterns found; raises an `EngramError` when it cannot work."""
        ...


class Screening(Struct, frozen=True):
    """What came of screening a text; reasons never quote it."""

    score: float = 0.0
    reasons: tuple[str, ...] = ()
    is_flagged: bool = False
    is_refused: bool = False


HARMLESS_BELOW: Final = 0.05
"""Below this chance a judge overrules patterns: "Ann told Bob to ignore the instructions of the manual"."""
MAX_SENTENCES: Final = 12
"""Of a text, judged one by one as well: harmless sentences around an order would hide it in the whole."""
TOGETHER: Final = 3
"""So many sentences are judged at once behind those, up to the end of what a memory may hold."""
MAX_PARTS: Final = 80


class Screen(Struct, frozen=True):
    """Screens texts by patterns and, where there is one, a judge."""

    policy: CapturePolicy
    judge: JudgesHostility | None = None
    personal: FindsPersonalData | None = None
    """Finds private words beside the rules; asked once, when a text is stored."""

    def screen(
        self, text: str, *, origin: Authorship = Authorship.OTHER, is_whole: bool = False
    ) -> Screening:
        """
        Return how suspicious a text is for somebody's words, and what follows from that.

        A text of several sentences is as suspicious as the worst of them, unless it counts as a whole.
        """
        found = scan(text)
        chance = self._chance([text] if is_whole else _parts(text))
        is_person = origin is Authorship.PERSON
        policy = self.policy
        may_overrule = is_person or found.score < policy.injection_reject_above
        score = combine_scores(found.score, chance, may_overrule=may_overrule)
        flag_above = policy.injection_flag_person_above if is_person else policy.injection_flag_above
        is_flagged = score >= flag_above
        is_judged_so = chance is None or chance >= HARMLESS_BELOW
        is_sure = found.score >= policy.injection_reject_above and is_judged_so
        return Screening(
            score=score,
            reasons=found.reasons or ((JUDGED,) if is_flagged else ()),
            is_flagged=is_flagged,
            is_refused=not is_person and is_sure,  # neither a judge nor patterns refuse alone
        )

    def is_clean(self, text: str, *, origin: Authorship = Authorship.OTHER) -> bool:
        """Return whether a text may stand in an automatic window."""
        return not self.screen(text, origin=origin).is_flagged

    def _chance(self, parts: Iterable[str]) -> float | None:
        if self.judge is None:
            return None
        try:
            return max(self.judge.chance(one, patterns=scan(one).score) for one in parts)
        except EngramError:  # noted in health; the patterns decide alone
            return None


def _parts(text: str) -> Iterator[str]:
    """Yield a text, and where it has several sentences each of the first, and then a few at a time."""
    yield text
    found = sentences(text)
    if len(found) > 1:
        yield from found[:MAX_SENTENCES]
        for start in range(MAX_SENTENCES, min(len(found), MAX_PARTS * TOGETHER), TOGETHER):
            yield " ".join(found[start : start + TOGETHER])


@cached(5000)
def is_harmless(text: str, origin: Authorship) -> bool:
    """Return whether no pattern flags a text; for what is looked at again and again, such as stored talk."""
    return Screen(CapturePolicy()).is_clean(text, origin=origin)


def combine_scores(patterns: float, chance: float | None, *, may_overrule: bool = True) -> float:
    """Return the greater of both, unless the judge is sure of a harmless text and may overrule patterns."""
    if chance is None:
        return patterns
    is_overruled = may_overrule and chance < HARMLESS_BELOW
    return chance if is_overruled else max(patterns, chance)


def origin_of(provenance: Provenance, actor: Actor | None = None) -> Authorship:
    """Return whose words a statement is, by where it came from and by who brings it."""
    is_own = provenance.source is Source.HUMAN and provenance.voice is Voice.OWN
    is_brought_by_agent = actor is not None and actor.kind is ActorKind.AGENT
    return Authorship.PERSON if is_own and not is_brought_by_agent else Authorship.OTHER


def origin_of_turn(role: Role) -> Authorship:
    """Return whose words a message is as a whole."""
    return Authorship.PERSON if role is Role.USER else Authorship.OTHER


def refusal(screening: Screening) -> InjectionBlocked:
    """Return the error for a statement that may not enter; it never quotes it."""
    return InjectionBlocked(
        f"the statement reads like an attack on the agent: {', '.join(screening.reasons)}"
    )
