"""
Questions about memories: how each is known, and how it is put into words.

A question is stored with the ids of what it is about and none of the words. They are put in when it is read,
from the memories as they are then, so a question tells no more than the memories would: nothing of one that
was forgotten, and of a confidential or flagged one not even what it says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from engramdb.errors import InvalidQuery, MemoryNotFound
from engramdb.lifecycle.guard import refuse_agent
from engramdb.store.contract import Store, Transaction
from engramdb.text.dates import long_date, readable
from engramdb.text.grammar import RELATION_QUESTIONS
from engramdb.text.normalize import is_text
from engramdb.values import (
    Action,
    Actor,
    AuditEvent,
    EdgeType,
    Gap,
    GapKind,
    Memory,
    MemoryId,
    Scope,
    SecurityTier,
    Source,
    Voice,
)

SHORT_ID_CHARACTERS = 8
"""The end of an id that may stand for the whole."""
MAX_NAME_CHARACTERS = 60
"""Characters of a name that a question repeats."""
MAX_QUOTED_CHARACTERS = 120
"""Characters of a memory that a question quotes."""

# How much an answer would matter.
CONTRADICTED = 0.9
DISPUTED = 0.8
DOUBTED = 0.7


def gap_id(scope: Scope, kind: GapKind, *parts: str) -> str:
    """Return the id of a question of this kind about these things in this scope."""
    told = json.dumps([scope.parts, kind, *parts], ensure_ascii=False)
    return f"gap-{hashlib.blake2b(told.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"


def stale_question(memory: Memory, *, priority: float, now: datetime) -> Gap:
    """Return the question whether an old belief still holds; once confirmed it may be asked again later."""
    since = memory.last_stated_at.isoformat()
    return _question(GapKind.STALE, [memory], memory.id, since, priority=priority, now=now)


def missing_files_question(memory: Memory, *, priority: float, now: datetime) -> Gap:
    """Return the question whether a memory still holds that names files which are gone."""
    asked = _question(GapKind.MISSING_FILES, [memory], priority=priority, now=now)
    return replace(asked, id=gap_id(memory.scope, GapKind.STALE, memory.id, "files"))


def contradiction_question(first: Memory, second: Memory | None, *, priority: float, now: datetime) -> Gap:
    """Return the question which of two statements holds, or whether a disputed one does."""
    both = [first, second] if second is not None else [first]
    return _question(GapKind.CONTRADICTION, both, *sorted(one.id for one in both), priority=priority, now=now)


def doubt_question(change: Memory, doubtful: Memory, *, now: datetime) -> Gap:
    """Return the question whether a memory still holds after a change."""
    both = [change, doubtful]
    return _question(GapKind.DOUBT, both, *(one.id for one in both), priority=DOUBTED, now=now)


def interference_question(first: Memory, second: Memory, *, priority: float, now: datetime) -> Gap:
    """Return the question what tells two statements apart that are easily confused."""
    both = [first, second]
    return _question(GapKind.INTERFERENCE, both, *sorted(one.id for one in both), priority=priority, now=now)


def question_of_link(source: Memory, target: Memory, kind: EdgeType, *, now: datetime) -> Gap | None:
    """Return the question that a link from one memory to another raises, if it raises any."""
    if source.scope != target.scope or source.is_suspicious or target.is_suspicious:
        return None
    if kind is EdgeType.CONTRADICTS:
        return contradiction_question(source, target, priority=CONTRADICTED, now=now)
    return doubt_question(source, target, now=now) if kind is EdgeType.DOUBTS else None


def hold_both(tx: Transaction, one: Memory, other: Memory) -> bool:
    """Return whether somebody has said that two memories hold beside each other, or not to ask again."""
    pair = gap_id(one.scope, GapKind.CONTRADICTION, *sorted([one.id, other.id]))
    return tx.gaps.is_settled_by_person(pair)


def _question(kind: GapKind, about: Sequence[Memory], *parts: str, priority: float, now: datetime) -> Gap:
    scope = about[0].scope
    return Gap(
        id=gap_id(scope, kind, *parts),
        kind=kind,
        question="",
        scope=scope,
        memories=tuple(sorted({one.id for one in about})),
        priority=priority,
        found_at=now,
    )


def open_questions_about(tx: Transaction, memory_id: MemoryId, scope: Scope) -> list[Gap]:
    """Return the open questions about what a memory says, the weightiest first."""
    gaps = put_into_words(tx, tx.gaps.open_about([memory_id], scope=scope))
    return [gap for gap in gaps if gap.kind.is_about_words and memory_id in asked_about(gap)]


def asked_about(gap: Gap) -> tuple[MemoryId, ...]:
    """Return the memories that a question in words puts into doubt: not the change that gave rise to it."""
    return gap.memories[1:] if gap.kind is GapKind.DOUBT else gap.memories


def put_into_words(tx: Transaction, gaps: Iterable[Gap]) -> list[Gap]:
    """
    Return questions with their words, and what each is about in the order in which it speaks of it.

    One that has lost a memory since it was found is left out.
    """
    found = []
    for gap in gaps:
        if not gap.kind.is_about_words:
            found.append(gap)
            continue
        read = [tx.memories.get(memory_id, scope=gap.scope) for memory_id in gap.memories]
        about = [one for one in read if one is not None]
        if about and len(about) == len(gap.memories):
            about = _in_order(tx, gap, about)
            words = _words(gap.kind, about, [one.stated_at for one in about])
            found.append(replace(gap, question=words, memories=tuple(one.id for one in about)))
    return found


def _in_order(tx: Transaction, gap: Gap, about: Sequence[Memory]) -> list[Memory]:
    """Return the change before what it makes doubtful, and otherwise what was said first before the rest."""
    if gap.kind is GapKind.DOUBT and len(about) > 1:
        changes = {edge.source for edge in tx.edges.of(about[0].id) if edge.type is EdgeType.DOUBTS}
        return sorted(about, key=lambda one: (one.id not in changes, -one.stated_at.timestamp()))
    return sorted(about, key=lambda one: (one.stated_at, one.id))


# Look one up, and settle it.


def open_questions(tx: Transaction, scope: Scope, *, limit: int, after: str | None = None) -> list[Gap]:
    """Return the open questions that a scope may see, in words, the weightiest first."""
    return put_into_words(tx, tx.gaps.open_for(scope, limit=limit, after=after))


def find_question(tx: Transaction, question_id: str, scope: Scope) -> Gap:
    """Return a question that this scope sees, open or closed, by its id or the end of it."""
    named = question_id if isinstance(question_id, str) and is_text(question_id) else ""
    ids = tx.gaps.ids_ending_with(named, scope=scope) if len(named) == SHORT_ID_CHARACTERS else [named]
    gap = tx.gaps.get(ids[0], scope=scope) if len(ids) == 1 else None
    found = put_into_words(tx, [] if gap is None else [gap])
    if not found:
        raise MemoryNotFound(
            f"no question has the id {str(question_id)[:40]!r}", hint="`gaps` shows those that are open."
        )
    return found[0]


def find_open_question(tx: Transaction, question_id: str, scope: Scope) -> Gap:
    """Return an open question of exactly this scope: one of a wider scope is for others to settle."""
    gap = find_question(tx, question_id, scope)
    if gap.scope != scope:
        raise InvalidQuery(
            f"question {question_id} belongs to the scope {gap.scope}", hint="Settle it there."
        )
    if gap.closed_at is not None:
        raise InvalidQuery(f"question {gap.id} is closed already")
    return gap


def close_question(
    store: Store, question_id: str, *, scope: Scope, reason: str, actor: Actor, now: datetime
) -> Gap:
    """Settle an open question without an answer; it is not asked again."""
    with store.atomic() as tx:
        gap = find_open_question(tx, question_id, scope)
        for memory in (tx.memories.get(one, scope=gap.scope) for one in gap.memories):
            if memory is not None:
                refuse_agent(memory, actor, "close a question about")
        tx.acts.join(Action.ANSWER, actor=actor, scope=scope, at=now)
        tx.gaps.close(gap.id, at=now, by=actor.kind, because=reason)
        detail = {"question": "closed"}
        tx.audit.add(
            AuditEvent(at=now, action=Action.FEEDBACK, actor=actor, scope=scope, target=gap.id, detail=detail)
        )
        return replace(gap, closed_at=now)


# The words.


def _words(kind: GapKind, about: Sequence[Memory], moments: Sequence[datetime]) -> str:
    if not all(is_quotable(one) for one in about):
        return _by_topic(kind, about)
    if len(about) == 1:
        asked = _about_files(about[0]) if kind is GapKind.MISSING_FILES else _SINGLE.get(kind, _STILL_SO)
        return f"{_told_on(about[0], moments[0])} {asked}"
    if kind is GapKind.DOUBT:
        change, doubtful = about[0], about[-1]
        return f"{_told([change], moments[:1])} Is {_quoted(doubtful, moments[-1])} still so?"
    return f"{_told(about, moments)} {_PAIR.get(kind, _STILL_SO)}"


_STILL_SO = "Is that still so?"
_SINGLE = {GapKind.CONTRADICTION: "That is disputed. Is it right?"}
_PAIR = {
    GapKind.CONTRADICTION: "Which holds now?",
    GapKind.INTERFERENCE: "They are easily confused: what tells them apart?",
}


def _about_files(memory: Memory) -> str:
    """Return the question about the files that a memory names."""
    *others, last = [shorten_name(path) for path in memory.traits.paths] or ["A file that it names"]
    if not others:
        return f"{last} is not there any more. Is it still so?"
    return f"Not all of {', '.join(others)} and {last} are there any more. Is it still so?"


def is_quotable(memory: Memory) -> bool:
    """Return whether a question may repeat what a memory says."""
    return memory.security is not SecurityTier.CONFIDENTIAL and not memory.is_suspicious


def _by_topic(kind: GapKind, about: Sequence[Memory]) -> str:
    topic = topic_of(next(one for one in about if not is_quotable(one)))
    if kind is GapKind.CONTRADICTION and len(about) > 1:
        return f"Two memories about {topic} contradict each other. Which one holds?"
    if kind is GapKind.CONTRADICTION:
        return f"A memory about {topic} is disputed. Is it right?"
    if kind is GapKind.INTERFERENCE:
        return f"Two memories about {topic} are easily confused. What tells them apart?"
    if kind is GapKind.MISSING_FILES:
        return f"Files are gone that a memory about {topic} names. Does it still hold?"
    return f"Is the old note on {topic} still true?"


def topic_of(memory: Memory) -> str:
    """Return what a memory is about, by the name of its subject alone."""
    if memory.security is SecurityTier.CONFIDENTIAL:
        return "something confidential"
    if memory.is_suspicious:
        return "something that may be an instruction"
    if not memory.subject or not memory.subject.strip():
        return "something" if memory.category == "general" else _with_article(memory.category)
    name = shorten_name(memory.subject)
    template = RELATION_QUESTIONS.get(memory.predicate or "")
    return template.format(name) if template else name


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def shorten_name(name: str) -> str:
    """Return a name on one line and not too long."""
    plain = " ".join(name.split())
    return plain if len(plain) <= MAX_NAME_CHARACTERS else plain[: MAX_NAME_CHARACTERS - 1] + "…"


def _told(about: Sequence[Memory], moments: Sequence[datetime]) -> str:
    """Return who said what and when; what one person said is one sentence."""
    quoted = [_quoted(one, moment) for one, moment in zip(about, moments, strict=True)]
    tellers = [_teller(one) for one in about]
    if len(set(tellers)) == 1:
        return f"{_capitalized(tellers[0])} {' and '.join(quoted)}."
    return " ".join(f"{_capitalized(teller)} {words}." for teller, words in zip(tellers, quoted, strict=True))


def _told_on(memory: Memory, moment: datetime) -> str:
    return f"On {long_date(moment)} {_teller(memory)} {_quotation(memory)}."


def _quoted(memory: Memory, moment: datetime) -> str:
    return f"{_quotation(memory)} ({long_date(moment)})"


def _quotation(memory: Memory) -> str:
    words = " ".join(readable(memory).split()).translate(_INNER_QUOTES).rstrip(".")
    if len(words) > MAX_QUOTED_CHARACTERS:
        words = words[:MAX_QUOTED_CHARACTERS].rsplit(" ", 1)[0] + " …"
    return f"“{words}”"


_INNER_QUOTES = str.maketrans(dict.fromkeys('“”„"', "'"))


def _teller(memory: Memory) -> str:
    """Return who told it, as one speaks to the person whose memory it is."""
    made = memory.provenance
    if memory.is_derived:
        return "it was concluded:"
    if made.voice is not Voice.OWN or made.source is Source.INGEST:
        return "it was noted:"
    if made.source is Source.ASSISTANT:
        return "the assistant said"
    return f"{shorten_name(made.speaker)} said" if made.speaker else "you said"


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]
