"""
The secret that a question asks for by name, among all of a scope.

Recall reads memories without their secrets, and often finds the sentence before the one with the number. So a
question that names a secret is compared with the messages that the secrets of the scope are from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from engramdb.policy import RecallPolicy
from engramdb.recall.signals import trust
from engramdb.store.contract import Store, Transaction
from engramdb.text.pii import CONCEALED
from engramdb.text.pii_spoken import awaits_answer
from engramdb.text.sentences import sentences
from engramdb.values import Hit, Memory, MemoryId, Reason, Recall, Scope, SecurityTier
from engramdb.vault.asking import secrets_asked_for, secrets_of, shown_with
from engramdb.vault.masking import mask_part, mask_turns, scan_part

ASKED: Final = "asked"
"""The reason of a hit that recall had not found by its masked words."""
MAX_SECRETS: Final = 300
"""The newest of a scope that a question is compared with."""
MAX_AROUND: Final = 500
"""Characters of a message before a statement and behind it."""


def secrets_meant(store: Store, answer: Recall, *, now: datetime | None) -> dict[MemoryId, Memory]:
    """
    Return the memories and messages with the secret that a question asks for, each with that secret alone.

    `now` is when it is asked; None where it looks back, and nothing counts but what the answer holds. A
    message has its turn's id.
    """
    query = answer.query
    with store.read() as tx:
        held = {hit.memory.id: hit.memory for hit in answer.hits}
        if now is not None:
            others = tx.memories.confidential(
                scope=query.scope, filters=query.filters, limit=MAX_SECRETS, alive_at=now
            )
            held |= {one.id: one for one in others if one.id not in held}
        secret = [one for one in held.values() if one.security is SecurityTier.CONFIDENTIAL]
        messages = {one.id: _message(tx, one, query.scope) for one in secret}
        known = {value for one in secret for value in secrets_of(one)}
        said = [one for one in _said(tx, answer) if not known & secrets_of(one)]
    meant = secrets_asked_for(query.text, [*secret, *said], messages=messages)
    return {one.id: shown_with(one, meant[one.id]) for one in (*secret, *said) if one.id in meant}


def with_secrets(
    shown: Recall, meant: Mapping[MemoryId, Memory], *, now: datetime, policy: RecallPolicy
) -> Recall:
    """Return a masked answer with the secret that is asked for; memories that hold it come first."""
    found = [replace(hit, memory=meant[hit.memory.id]) for hit in shown.hits if hit.memory.id in meant]
    said = tuple(
        replace(one, excerpt=meant[one.turn_id].content) if one.turn_id in meant else one
        for one in shown.said
    )
    present = {hit.memory.id for hit in found} | {one.turn_id for one in said}
    why = Reason(index=ASKED, rank=1, score=1.0, contribution=1.0)
    added = [
        Hit(
            memory=memory,
            score=1.0,
            trust=trust(memory, relevance=1.0, is_contradicted=False, now=now, policy=policy),
            reasons=(why,),
            is_past=memory.is_past(now),
        )
        for memory_id, memory in meant.items()
        if memory_id not in present
    ]
    others = [hit for hit in shown.hits if hit.memory.id not in meant]
    return replace(shown, hits=(*found, *added, *others)[: shown.query.limit], said=said)


def _message(tx: Transaction, memory: Memory, scope: Scope) -> str:
    """Return what stands around a statement in its message, without secrets, behind what that answers."""
    turn = next(filter(None, (tx.turns.get(one, scope=scope) for one in memory.provenance.turns)), None)
    if turn is None:
        return ""
    place = max(0, turn.content.find(memory.content))
    begin, end = max(0, place - MAX_AROUND), place + len(memory.content) + MAX_AROUND
    asked = ""
    if begin == 0 and turn.session is not None:
        before = tx.turns.list(scope=turn.scope, session=turn.session, limit=1, before=turn.id)
        heard = [one.content for one in mask_turns(before) if one.scope == turn.scope]
        asked = next((one[-MAX_AROUND:] for one in heard if awaits_answer(one)), "")  # nothing but a question
    words = mask_part(turn, turn.content[begin:end], answering=asked or None)
    return f"{asked} {words}"


def _said(tx: Transaction, answer: Recall) -> Iterator[Memory]:
    """Yield what was said with a secret in it, as memories of exactly the words that are masked."""
    masked = {one.turn_id: one.excerpt for one in answer.said if CONCEALED in one.excerpt}
    for turn_id, excerpt in masked.items():
        turn = tx.turns.get(turn_id, scope=answer.query.scope)
        if turn is None:
            continue
        for words in dict.fromkeys((turn.content, *sentences(turn.content))):
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
