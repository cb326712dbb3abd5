"""
What a report of CrewAI states, read by rules.

Used by `memory` where no model is given to read. A report is what CrewAI makes of a finished task: its
description, the agent, and the result. The rules miss much of what agents write, so they are used only
where they lose nothing: every sentence of the result is read, or the report is kept whole. Pure.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from engram.capture.extract.heuristic import HeuristicExtractor
from engram.text.sentences import sentences
from engram.values import Role, Turn

if TYPE_CHECKING:
    from datetime import datetime

MOST_ASKED_CHARACTERS = 1000
"""Of a task's description: the result must find room in what is remembered of a report, which is 8 KiB."""
_OPENINGS = ("Task: ", "Input: ")
_RESULT = "\nResult: "
_REPORT = re.compile(
    r"(?P<opening>Task|Input): (?P<asked>.*?)\nAgent: (?P<agent>[^\n]*)\n"
    r"(?:Expected result: .*?\n)?Result: (?P<result>.*)",
    re.DOTALL,
)


def is_report(content: str) -> bool:
    """Say whether a text is a report, not a statement."""
    return _RESULT in content and content.startswith(_OPENINGS)


def statements_in(text: str, *, now: datetime) -> list[str]:
    """Return the statements of a report's result, or the report itself where the rules do not read all."""
    report = _REPORT.fullmatch(text)
    if report is None:
        return [text.strip()] if text.strip() else []
    result = report["result"].strip()
    if not result:
        return []
    read = _read(result, speaker=report["agent"].strip() or None, now=now)
    asked = textwrap.shorten(report["asked"], MOST_ASKED_CHARACTERS, placeholder=" …")
    return read or [f"{report['opening']}: {asked}{_RESULT}{result}"]


def _read(result: str, *, speaker: str | None, now: datetime) -> list[str]:
    """Return what the rules read, or nothing where they miss a sentence."""
    turns = [
        Turn(
            id=str(place),
            content=sentence,
            role=Role.USER,  # of the assistant's words the rules would read only promises
            occurred_at=now,
            created_at=now,
            speaker=speaker,
        )
        for place, sentence in enumerate(sentences(result))
    ]
    found = HeuristicExtractor().extract(turns, context=[])
    is_all = {one.turn_id for one in found} == {turn.id for turn in turns}
    return [one.content for one in found] if is_all else []
