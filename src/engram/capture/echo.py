"""
Notice when an agent repeats what it was given from memory: that is an echo, and no news.

Asked by the gate about statements whose source is the assistant. Without it a hallucination that was once
stored comes back as its own evidence, which filled other memories with hundreds of copies. Whatever a
statement adds or changes, a date, a name, a "not", makes it news: an echo is dropped, so nothing may be lost.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from engram.capture.conflict import Statement, same_specifics
from engram.text.normal import normalise
from engram.text.terms import terms
from engram.values import Source

if TYPE_CHECKING:
    from datetime import datetime

    from engram.capture.conflict import ComparesStatements
    from engram.policy import CapturePolicy
    from engram.store.contract import Transaction
    from engram.values import Memory

_MOST_HANDED_OUT = 200
_FRAME = """
as I recall remember, you told me said mentioned stated noted earlier before previously that, according to my
memory memories notes, from what I know, I have it in mind, just to remind you, a reminder, for the record
"""
"""How a quotation is led in. Other words beside it are news."""


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
        if _quotes(said, normalise(known.content)):
            return known
    alike = likeness.between(memory.content, [known.content for known in given])
    mine = Statement.of(memory)
    pairs = (known for known, value in zip(given, alike, strict=True) if value > policy.echo_above)
    return next((known for known in pairs if same_specifics(mine, Statement.of(known), likeness)), None)


def _quotes(said: str, known: str) -> bool:
    """Say whether one is part of the other, and what was said adds only how a quotation is led in."""
    if said in known:
        return True
    before, found, after = said.partition(known)
    return bool(found) and set(terms(f"{before} {after}")) <= _led_in()


@cache
def _led_in() -> frozenset[str]:
    return frozenset(terms(_FRAME))
