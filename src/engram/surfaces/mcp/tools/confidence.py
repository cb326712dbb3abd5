"""
The tool `confidence`: whether memory can answer a question at all.

Calls `Engram.confidence`. Counts as no recall and gives no memory.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engram.context.isolation import one_line
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit
from engram.text.counted import counted


class Topic(Arguments, frozen=True):
    """Which question."""

    query: Annotated[str, Meta(description="A question or topic")]


def confidence(visit: Visit, asked: Topic) -> Answer:
    """
    Tell how well a question is covered: confident, uncertain or unknown, and why. For deciding whether
    to answer from memory or to ask; it gives no memories, `recall` does.
    """
    found = visit.engram.confidence(asked.query)
    values = {
        "certainty": found.certainty,
        "confidence": round(found.confidence, 3),
        "evidence": round(found.evidence, 3),
        "supporting": found.supporting,
        "gaps": found.gaps,
        "domain": found.domain.title if found.domain else None,
        "reason": found.reason,
        "missing": list(found.missing),
    }
    incomplete = [f"Incomplete: {one_line(one)}." for one in found.missing]
    fits = counted(found.supporting, "memory fits", "memories fit")
    told = f"{found.certainty}: {one_line(found.reason)} ({fits})"
    return Answer("\n".join([*incomplete, told]), values)


TOOL = Tool(takes=Topic, does=confidence, reads_only=True, is_idempotent=True)
