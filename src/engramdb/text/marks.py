"""
How far to believe a memory's words, in one or two words: what every surface that shows them puts beside them.

A guess, a supposition and pasted text look like facts without it. Light to import, since every listing does.
"""

from __future__ import annotations

from typing import Final

from engramdb.values import ConfidenceTier, Memory, Status, Voice
from engramdb.values.reading import Force

_VOICES: Final = {
    Voice.QUOTED: "quoted",
    Voice.PASTED: "pasted",
    Voice.FORWARDED: "forwarded",
    Voice.GENERATED: "generated",
    Voice.CODE: "code",
    Voice.LOG: "output",
}
_FORCES: Final = {
    Force.HEDGED: "unsure",
    Force.HYPOTHETICAL: "supposed",
    Force.QUOTED: "reported",
    Force.QUESTION: "asked",
    Force.REQUEST: "asked for",
}
_CONFIDENCE: Final = {
    ConfidenceTier.EXPLICIT: "",
    ConfidenceTier.IMPLIED: "implied",
    ConfidenceTier.INFERRED: "inferred",
    ConfidenceTier.SPECULATIVE: "unsure",
}


def belief_mark(memory: Memory) -> str:
    """Return what speaks against taking the words for granted, such as `possibly outdated`, if anything."""
    meant = _VOICES.get(memory.provenance.voice) or _FORCES.get(memory.force, "")
    is_disputed = memory.status is Status.CHALLENGED  # which lowers the confidence in what was said outright
    mark = meant or ("" if is_disputed else _CONFIDENCE[memory.confidence_tier])
    return ", ".join(one for one in (mark, "possibly outdated" if is_disputed else "") if one)
