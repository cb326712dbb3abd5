"""
Understand the reply to a question that was brought up in a conversation.

A prompt shows an open question, the assistant asks it in words of its own, and the person answers. A plain
reply is applied; whatever could be the answer to something else is left alone: the assistant must have asked
about these very memories, and about nothing else, just before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engramdb.errors import InvalidQuery
from engramdb.lifecycle.answers import AnswerRequest, Decision, decide, is_about, settle_question
from engramdb.lifecycle.questions import asked_about, put_into_words
from engramdb.store.contract import Transaction
from engramdb.text.normalize import normalize_text
from engramdb.text.replies import MAX_REPLY_WORDS, ReplyKind, asks_what_holds, read_reply
from engramdb.text.sentences import sentences
from engramdb.text.terms import query_terms
from engramdb.values import (
    BELIEVED,
    Answered,
    AnswerOutcome,
    Gap,
    Memory,
    MemoryId,
    Role,
    Turn,
)

TURNS_BEFORE = 12
"""Turns looked at for the assistant's last words; what tools say stands between."""
ASKING_SENTENCES = 3
"""The last sentences of the assistant, in which it says what it asks about."""
SAID_SHARE = 0.5
"""Of the telling words of a memory, so many are in a question that is about it."""
NO_ANSWERS = frozenset(
    {"ok", "okay", "k", "sure", "right", "no thanks", "no thank you", "no worries", "no problem"}
)
"""What people also say only to go on."""
APPLIED = frozenset(
    {
        *(AnswerOutcome.CONFIRMED, AnswerOutcome.INVALIDATED, AnswerOutcome.CHOSEN),
        *(AnswerOutcome.KEPT_BOTH, AnswerOutcome.CORRECTED, AnswerOutcome.SNOOZED),
    }
)


def answer_in_turn(turn: Turn, request: AnswerRequest, *, read: Callable[[], object]) -> Answered | None:
    """
    Apply what a person's message answers, and return that; None where it plainly answers nothing.

    `read` has the message read first where it states something: that memory is then what holds instead.
    """
    store = request.pipeline.store
    with store.read() as tx:
        found = _question_put(tx, turn)
    if found is None:
        return None
    gap, about = found
    decision = _plain_decision(turn, gap, about)
    if decision is None:
        return None
    stated = None
    if decision.statement:
        read()
        with store.read() as tx:
            stated = _statement_of(tx, turn, decision.statement)
            if stated is None or not _is_open(tx, gap):
                return None  # a mere fragment, or what was said has settled it already
    try:
        return settle_question(gap, decision, about, request, stated=stated)
    except InvalidQuery:  # somebody else was faster
        return None


def _question_put(tx: Transaction, turn: Turn) -> tuple[Gap, list[Memory]] | None:
    """Return the one question that the assistant has just asked, with what it is about."""
    if turn.session is None or turn.role is not Role.USER or len(turn.content.split()) > MAX_REPLY_WORDS:
        return None
    put = tx.gaps.asked_in(turn.session, scope=turn.scope)
    asking = _assistant_before(tx, turn) if put else None
    if asking is None:
        return None
    known = [tx.gaps.get(gap_id, scope=turn.scope) for gap_id, at in put.items() if at <= asking.created_at]
    gaps = [gap for gap in known if gap is not None and gap.closed_at is None and gap.scope == turn.scope]
    found = []
    for gap in put_into_words(tx, [gap for gap in gaps if gap.kind.is_about_words]):
        read = [tx.memories.get(memory_id, scope=gap.scope) for memory_id in gap.memories]
        about = [one for one in read if one is not None and one.status in BELIEVED]
        if len(about) == len(gap.memories) and asks_about(asking.content, gap, about):
            found.append((gap, about))
    return found[0] if len(found) == 1 else None


def _assistant_before(tx: Transaction, turn: Turn) -> Turn | None:
    """Return what the assistant said last, where the person has said nothing since."""
    before = tx.turns.list(scope=turn.scope, session=turn.session, limit=TURNS_BEFORE, before=turn.id)
    spoken = [one for one in before if one.role in (Role.USER, Role.ASSISTANT)]
    return spoken[-1] if spoken and spoken[-1].role is Role.ASSISTANT else None


def asks_about(text: str, gap: Gap, about: Sequence[Memory]) -> bool:
    """Return whether a message ends by asking whether these memories hold, and asks nothing else."""
    said = sentences(text)
    asked = [one for one in said if one.rstrip().endswith(("?", "？"))]
    if len(asked) != 1 or asked[0] not in said[-2:] or not asks_what_holds(asked[0]):
        return False
    heard = set(query_terms(" ".join(said[-ASKING_SENTENCES:])))
    doubted = [one for one in about if one.id in asked_about(gap)]
    words = [set(query_terms(one.content)) for one in doubted]
    if len(doubted) > 1:  # each side by a word that the other has not
        return all(heard & (own - _others(words, place)) for place, own in enumerate(words))
    return all(len(heard & own) >= SAID_SHARE * len(own) for own in words)


def _others(words: Sequence[set[str]], place: int) -> set[str]:
    return set[str]().union(*(one for number, one in enumerate(words) if number != place))


def _plain_decision(turn: Turn, gap: Gap, about: Sequence[Memory]) -> Decision | None:
    """Return what the first sentence of a message answers, where that sentence is an answer and no more."""
    first = (sentences(turn.content) or [turn.content])[0]
    reply = read_reply(first)
    is_said_of_one = len(asked_about(gap)) == 1 and reply.kind is ReplyKind.VALUE
    if normalize_text(first) in NO_ANSWERS or is_said_of_one or first.rstrip().endswith("?"):
        return None  # a statement without a "no" is weighed as any other
    try:
        decision = decide(gap, reply, about)
    except InvalidQuery:
        return None
    is_whole = decision.statement == reply.rest and is_about(reply.rest, about)
    if decision.statement and not is_whole:
        return None  # a fragment, or about something else
    return decision if decision.outcome in APPLIED else None


def _statement_of(tx: Transaction, turn: Turn, statement: str) -> MemoryId | None:
    """Return the memory that was read from a message and says most of what the answer states."""
    wanted = set(query_terms(statement))
    made = tx.turns.memories_of([turn.id]).get(turn.id, [])
    living = [one for one in made if one.status in BELIEVED and one.is_believed and one.scope == turn.scope]
    fitting = [one for one in living if wanted & set(query_terms(one.content))]
    return max(fitting, key=lambda one: len(wanted & set(query_terms(one.content)))).id if fitting else None


def _is_open(tx: Transaction, gap: Gap) -> bool:
    living = [tx.memories.get(memory_id, scope=gap.scope) for memory_id in gap.memories]
    return all(one is not None and one.status in BELIEVED for one in living)
