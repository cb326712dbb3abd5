"""
`engram enrich`: infer now what waits to be inferred.

Calls `Engram.embed_pending` and `Engram.enrich`. A server does both by itself; a store that is filled from
the command line in bulk has nobody else to find its entities, traits and vectors.
"""

from dataclasses import dataclass

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import counted, out, present
from engram.surfaces.cli.progress import counting


@dataclass(frozen=True, slots=True, kw_only=True)
class Enriched:
    """The answer: how many memories were embedded, and of how many the words were looked at."""

    embedded: int
    enriched: int


def enrich(shared: Shared) -> None:
    """
    Embed what waits for it, and infer people, technologies, feelings and topics from what came in bulk.

    Example: engram enrich --store memory.db
    """
    with shared.open_existing() as engram:
        report = engram.status()
        total = report.awaiting_embedding + report.awaiting_enrichment
        with counting("enriching", total=total) as progress:
            done = Enriched(
                embedded=engram.embed_pending(progress=progress), enriched=engram.enrich(progress=progress)
            )

    present(done, _show, as_json=shared.json)


def _show(done: Enriched) -> None:
    embedded = counted(done.embedded, "memory", "memories")
    out(f"embedded {embedded}, looked at the words of {done.enriched}")
