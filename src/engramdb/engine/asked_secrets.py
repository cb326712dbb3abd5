"""
The secret that a question asks for by name, among all of a scope.

Recall reads memories without their secrets, and often finds the sentence before the one with the number. So a
question that names a secret is compared with the messages that the secrets of the scope are from.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from engramdb.policy import RecallPolicy
from engramdb.recall.signals import trust
from engramdb.store.contract import Store, Transaction
from engramdb.text.pii import CONCEALED
from engramdb.text.pii_spoken import awaits_answer
from engramdb.text.sentences import sentences
from engramdb.values import Hit, Memory, Reason, Recall, Scope, SecurityTier
from engramdb.values.memory import INJECTION
from engramdb.vault.asking import secrets_asked_for, secrets_of, shown_to
from engramdb.vault.masking import mask_part, mask_turns, scan_part

ASKED_BY_NAME: Final = "asked by name"
"""The reason of a hit that recall had not found by its masked words."""
MAX_SECRETS: Final = 300
"""The newest of a scope that a question is compared with."""
MAX_AROUND: Final = 500
"""Characters of a message before a statement and behind it."""


def secrets_meant(store: Store, answer: Recall, *, now: datetime | None) -> list[Memory]:
    """
    Return the memories and messages with the secret that a question asks for; a message has its turn's id.

    `now` is when it is asked; None where it looks back, and nothing counts but what the answer holds.
    """
    query = answer.query
    with store.read() as tx:
        held = {hit.memory.id: hit.memory for hit in answer.hits}
        if now is not None:
            others = tx.memories.confidential(
                scope=query.scope, filters=query.filters, limit=MAX_SECRETS, alive_at=now
            )
            held = {one.id: one for one in others if INJECTION not in one.flags} | held
        secret = [one for one in held.values() if one.security is SecurityTier.CONFIDENTIAL]
        messages = {one.id: _message(tx, one, query.scope) for one in secret}
        known = {value for one in secret for value in secrets_of(one)}
        said = [one for one in _said(tx, answer) if not known & secrets_of(one)]
    chosen = secrets_asked_for(query.text, [*secret, *said], messages=messages)
    return [one for one in (*secret, *said) if one.id in chosen]


def with_secrets(shown: Recall, meant: list[Memory], *, now: datetime, policy: RecallPolicy) -> Recall:
    """Return a masked answer with the secrets that are asked for; what recall had not found comes first."""
    whole = {one.id: shown_to(shown.query.text, one) for one in meant}
    hits = tuple(replace(hit, memory=whole.get(hit.memory.id, hit.memory)) for hit in shown.hits)
    said = tuple(
        replace(one, excerpt=whole[one.turn_id].content) if one.turn_id in whole else one
        for one in shown.said
    )
    present = {hit.memory.id for hit in hits} | {one.turn_id for one in said}
    why = Reason(index=ASKED_BY_NAME, rank=1, score=1.0, contribution=1.0)
    found = tuple(
        Hit(
            memory=memory,
            score=1.0,
            trust=trust(memory, relevance=1.0, is_contradicted=False, now=now, policy=policy),
            reasons=(why,),
            is_past=memory.is_past(now),
        )
        for memory_id, memory in whole.items()
        if memory_id not in present
    )
    return replace(shown, hits=(*found, *hits)[: max(len(found), shown.query.limit)], said=said)


def _message(tx: Transaction, memory: Memory, scope: Scope) -> str:
    """Return the message that a memory is from, without secrets, behind the question that it answers."""
    turn = next(filter(None, (tx.turns.get(one, scope=scope) for one in memory.provenance.turns)), None)
    if turn is None:
        return ""
    before = tx.turns.list(scope=turn.scope, session=turn.session, limit=1, before=turn.id)
    place = max(0, turn.content.find(memory.content))
    end = place + len(memory.content) + MAX_AROUND
    words = mask_part(turn, turn.content[max(0, place - MAX_AROUND) : end])
    asked = [one.content for one in mask_turns(before) if awaits_answer(one.content)]
    return " ".join((*(one[-MAX_AROUND:] for one in asked), words))


def _said(tx: Transaction, answer: Recall) -> Iterator[Memory]:
    """Yield what was said with a secret in it, as memories of exactly the words that are masked."""
    masked = {one.turn_id: one.excerpt for one in answer.said if CONCEALED in one.excerpt}
    for turn_id, excerpt in masked.items():
        turn = tx.turns.get(turn_id, scope=answer.query.scope)
        if turn is None:
            continue
        for words in (turn.content, *sentences(turn.content)):
            if mask_part(turn, words) == excerpt:
                yield Memory(
                    id=turn.id,
                    content=words,
                    scope=turn.scope,
                    security=SecurityTier.CONFIDENTIAL,
                    private=scan_part(turn, words).findings,
                    created_at=turn.created_at,
                    updated_at=turn.created_at,
                )
