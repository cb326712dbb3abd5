"""
Notice when an agent repeats what it was given from memory: that is an echo, and no news.

Asked by admission about statements whose source is the assistant. Without it a hallucination that was once
stored comes back as its own evidence, which filled other memories with hundreds of copies. Whatever a
statement adds or changes, a date, a name, a "not", makes it news: an echo is dropped, so nothing may be lost.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from engramdb.lifecycle.conflict import ComparesStatements, is_negation, same_specifics, understood
from engramdb.store.contract import Transaction
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.terms import terms
from engramdb.values import Memory, Source

ECHO_ABOVE = 0.70
"""An agent's statement this much like what it was just given is an echo, and no news."""
ECHO_HOURS = 24.0
"""For how long it counts as just given."""

_MOST_HANDED_OUT = 200
_FRAME = """
as I recall remember, you told me said mentioned stated noted earlier before previously that, according to my
memory memories notes, from what I know, I have it in mind, just to remind you, a reminder, for the record
"""
"""How a quotation is led in. Other words beside it are news."""
_TURNING = lazy(
    r"\b(?:if|unless|until|till|when|whenever|while|before|after|only|except|maybe|perhaps|might|may|could|"
    r"would|should|doubts?|denie[sd]|false|untrue|wrong|used to|wenn|falls|bis|nur|si|sauf|solo|если)\b"
)
"""Words in whose company a statement is not held to be true, or not always."""
_CUT = lazy(r"[^\W\u2e80-\uffff]\0[^\W\u2e80-\uffff]|\d[.,:/-]\0\d|\d\0[.,:/-]\d")
"""A cut, shown as NUL, through a word or a number; scripts without spaces may be cut anywhere."""


def echoes(tx: Transaction, memory: Memory, likeness: ComparesStatements, *, now: datetime) -> Memory | None:
    """Return what an assistant's statement repeats or quotes of what readers in its scope were just given."""
    if memory.provenance.source is not Source.ASSISTANT:
        return None
    since = now - timedelta(hours=ECHO_HOURS)
    given = tx.handed_out.since(since, scope=memory.scope, limit=_MOST_HANDED_OUT)
    said = normalize_text(memory.content)
    for known in given:
        if _quotes(said, normalize_text(known.content)):
            return known
    alike = likeness.between(memory.content, [known.content for known in given])
    mine = understood(memory)
    turns = _turns(said)
    pairs = (known for known, value in zip(given, alike, strict=True) if value > ECHO_ABOVE)
    same = (known for known in pairs if _turns(normalize_text(known.content)) == turns)
    return next((known for known in same if same_specifics(mine, understood(known), likeness)), None)


def _quotes(said: str, known: str) -> bool:
    """
    Return whether one is part of the other, and what was said adds only how a quotation is led in.

    A part of what is known is no quotation where the rest of it turns it round or sets a condition.
    """
    rest = _around(said, known)
    if rest is not None:
        return not is_negation(rest) and not _turns(rest)
    added = _around(known, said)
    return added is not None and set(terms(added)) <= _led_in()


def _turns(text: str) -> set[str]:
    """Return the words that keep a text from being held to be true as it stands."""
    return set(_TURNING.findall(text))


def _around(part: str, whole: str) -> str | None:
    """Return what stands around a part, where it stands in whole words and numbers: 1 is no part of 10."""
    before, found, after = whole.partition(part)
    if not found or _CUT.search(f"{before[-2:]}\0{part[:1]}") or _CUT.search(f"{part[-1:]}\0{after[:2]}"):
        return None
    return f"{before} {after}"


@cache
def _led_in() -> frozenset[str]:
    return frozenset(terms(_FRAME))
