"""
Put an open question into words, under an id that is the same whenever the same question is found.

Used by the steps that ask; pure. A question is made from a template and the name of what it is about, never
from a statement, and of what is confidential not even the name is said. It carries the ids of the memories
that it is about, so that it goes with the first of them that is forgotten.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from engram.values import Gap, GapKind, SecurityTier

if TYPE_CHECKING:
    from datetime import datetime

    from engram.values import Memory, Scope

LONGEST_NAME = 60
"""Characters of a name that a question repeats."""
INJECTION = "injection"
"""The flag of what may be an instruction in disguise; nothing is asked or concluded from it."""

_RELATIONS = {
    "lives_in": "where {} lives",
    "works_at": "where {} works",
    "works_as": "what {} works as",
    "born_on": "when {} was born",
    "born_in": "where {} was born",
    "is_named": "what {} is called",
    "is_married_to": "whom {} is married to",
    "is_allergic_to": "what {} is allergic to",
    "age": "how old {} is",
    "uses": "what {} uses",
    "likes": "what {} likes",
    "prefers": "what {} prefers",
    "has_pet": "which pet {} has",
}


def gap_id(scope: Scope, kind: GapKind, *parts: str) -> str:
    """Return the id of a question of this kind about these things in this scope."""
    told = json.dumps([scope.parts, kind, *parts], ensure_ascii=False)
    return f"gap-{hashlib.blake2b(told.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"


def stale(memory: Memory, *, priority: float, now: datetime) -> Gap:
    """Return the question whether an old belief still holds; once confirmed it may be asked again later."""
    since = memory.vouched_at.isoformat()
    return Gap(
        id=gap_id(memory.scope, GapKind.STALE, memory.id, since),
        kind=GapKind.STALE,
        question=f"Is the old note on {matter(memory)} still true?",
        scope=memory.scope,
        memories=(memory.id,),
        priority=priority,
        found_at=now,
    )


def moved(memory: Memory, *, priority: float, now: datetime) -> Gap:
    """Return the question where the files have gone that a memory speaks of."""
    return Gap(
        id=gap_id(memory.scope, GapKind.STALE, memory.id, "files"),
        kind=GapKind.STALE,
        question=f"Files are gone that a memory about {matter(memory)} names. Does it still hold?",
        scope=memory.scope,
        memories=(memory.id,),
        priority=priority,
        found_at=now,
    )


def contradiction(first: Memory, second: Memory | None, *, priority: float, now: datetime) -> Gap:
    """Return the question which of two statements holds, or whether a disputed one does."""
    both = sorted({first.id} | ({second.id} if second else set()))
    named = first if first.id == both[0] or second is None else second
    asked = (
        f"Two memories about {matter(named)} contradict each other. Which one holds?"
        if second
        else f"A memory about {matter(named)} is disputed. Is it right?"
    )
    return Gap(
        id=gap_id(first.scope, GapKind.CONTRADICTION, *both),
        kind=GapKind.CONTRADICTION,
        question=asked,
        scope=first.scope,
        memories=tuple(both),
        priority=priority,
        found_at=now,
    )


def interference(first: Memory, second: Memory, *, priority: float, now: datetime) -> Gap:
    """Return the question what tells two statements apart that are easily confused."""
    both = sorted([first.id, second.id])
    named = first if first.id == both[0] else second
    return Gap(
        id=gap_id(first.scope, GapKind.INTERFERENCE, *both),
        kind=GapKind.INTERFERENCE,
        question=f"Two memories about {matter(named)} are easily confused. What tells them apart?",
        scope=first.scope,
        memories=tuple(both),
        priority=priority,
        found_at=now,
    )


def matter(memory: Memory) -> str:
    """Return what a memory is about, by the name of its subject alone."""
    if memory.security is SecurityTier.CONFIDENTIAL:
        return "something confidential"
    if not memory.subject or not memory.subject.strip():
        return "something" if memory.category == "general" else _one(memory.category)
    name = shortened(memory.subject)
    template = _RELATIONS.get(memory.predicate or "")
    return template.format(name) if template else name


def _one(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def relation_words(predicate: str) -> str:
    """Return the words by which a relation is asked for; none for one that has no question of its own."""
    return _RELATIONS.get(predicate, "").format("")


def shortened(name: str) -> str:
    """Return a name on one line and not too long."""
    plain = " ".join(name.split())
    return plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - 1] + "…"
