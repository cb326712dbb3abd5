"""
The tool `status`: how the memory fares.

Calls `Engram.status`. Counts and states only, and nothing of what other scopes hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.context.isolation import one_line
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit
from engram.text.counted import counted, memories

if TYPE_CHECKING:
    from engram.values import StatusReport


class Nothing(Arguments, frozen=True):
    """It takes no arguments."""


def status(visit: Visit, _asked: Nothing) -> Answer:
    """
    Show how the memory fares: counts, what waits, what fails and since when. Call it when recalls look
    wrong or empty, or the user asks about the memory itself.
    """
    report = visit.engram.status()
    return Answer(in_words(report), in_values(report))


def in_words(report: StatusReport) -> str:
    """Return the state of the store in lines."""
    waiting = report.awaiting_reading, report.awaiting_embedding, report.awaiting_enrichment
    return "\n".join(
        [
            f"{memories(report.memories)}, {counted(report.turns, 'turn', 'turns')}, "
            f"policy {report.policy}, {report.embedder}.",
            f"Waiting: {waiting[0]} turns to be read, {waiting[1]} memories to be embedded, "
            f"{waiting[2]} to be enriched.",
            *(
                f"Fails: {part.name}: {one_line(part.failure or '')}"
                for part in report.parts
                if part.is_failing
            ),
            *(one_line(advice) for advice in report.advice),
        ]
    )


def in_values(report: StatusReport) -> dict[str, Any]:
    """
    Return the same as values; scopes are left out, since their names are not this client's business.
    """
    return {
        "memories": report.memories,
        "turns": report.turns,
        "by_status": dict(report.by_status),
        "by_layer": dict(report.by_layer),
        "policy": report.policy,
        "embedder": report.embedder,
        "waiting": {
            "reading": report.awaiting_reading,
            "embedding": report.awaiting_embedding,
            "enrichment": report.awaiting_enrichment,
        },
        "recalls": dict(report.recalls),
        "parts": [
            {
                "name": part.name,
                "failing": part.is_failing,
                "last_success": part.last_success.isoformat() if part.last_success else None,
                "failure": part.failure,
            }
            for part in report.parts
        ],
        "advice": list(report.advice),
    }


TOOL = Tool(takes=Nothing, does=status, reads_only=True, is_idempotent=True)
