"""
Notice when an agent repeats what it was given from memory: that is an echo, and no news.

Asked by the gate about statements whose source is the assistant. Without it a hallucination that was once
stored comes back as its own evidence, which filled other memories with hundreds of copies.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engram.text.normal import normalise
from engram.values import Source

if TYPE_CHECKING:
    from datetime import datetime

    from engram.capture.conflict import ComparesStatements
    from engram.policy import CapturePolicy
    from engram.store.contract import Transaction
    from engram.values import Memory

_MOST_HANDED_OUT = 200


def echoes(
    tx: Transaction, memory: Memory, likeness: ComparesStatements, policy: CapturePolicy, *, now: datetime
) -> Memory | None:
    """Return what an assistant's statement repeats or quotes of what readers in its scope were just given."""
    if memory.provenance.source is not Source.ASSISTANT:
        return None
    since = now - timedelta(hours=policy.echo_hours)
    given = tx.handed_out.since(since, scope=memory.scope, limit=_MOST_HANDED_OUT)
    said = normalise(memory.content)
    for known in given:
        if normalise(known.content) in said or said in normalise(known.content):
            return known
    alike = likeness.between(memory.content, [known.content for known in given])
    pairs = zip(given, alike, strict=True)
    return next((known for known, value in pairs if value > policy.echo_above), None)
