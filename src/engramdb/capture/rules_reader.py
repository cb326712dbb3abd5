"""The reader that is always there: what the rules of capture make of a text. Its chances are 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from engramdb.capture.extract import SentenceExtractor
from engramdb.models.reader import Utterance
from engramdb.policy import CapturePolicy
from engramdb.text.force import read_force
from engramdb.text.injection import scan
from engramdb.text.sentences import sentences, take_opening
from engramdb.text.statements import read_lasting
from engramdb.values import Role, Turn
from engramdb.values.memory import TurnId
from engramdb.values.reading import Force, Lasting, Reading

NAME: Final = "rules/1"
HOSTILE_ABOVE: Final = CapturePolicy().injection_flag_above

_ROLES: Final = {"assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}
_SOME_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Rules read dates as dated whatever the day is."""
_PASSED_OVER: Final = (Force.QUESTION, Force.REQUEST)


class RulesReader:
    """Reads by patterns; gives the same answer for the same text."""

    name: Final = NAME

    def read(self, texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text."""
        return [_reading(one) for one in texts]


def _reading(said: Utterance) -> Reading:
    turn = Turn(
        id=TurnId("rules"),
        content=said.text,
        role=_ROLES.get(said.by, Role.USER),
        occurred_at=_SOME_DAY,
        created_at=_SOME_DAY,
    )
    found = [one for one in SentenceExtractor().extract([turn], context=()) if one.force not in _PASSED_OVER]
    lasting = read_lasting(said.text, now=_SOME_DAY) if found else Lasting.NONE
    is_hostile = scan(said.text).score >= HOSTILE_ABOVE
    return Reading(
        by=NAME,
        keep=float(bool(found)),
        is_kept=bool(found),
        force=_force(said.text),
        lasting=lasting,
        category=(found[0].category or "fact") if found else "none",
        hostile=float(is_hostile),
        is_hostile=is_hostile,
    )


def _force(text: str) -> Force:
    """Return what the first sentence does that is no question or request, or else the first."""
    forces = [read_force(take_opening(one), in_conversation=True) for one in sentences(text)]
    told = [one for one in forces if one not in (Force.QUESTION, Force.REQUEST)]
    return next(iter(told or forces), Force.ASSERTED)
