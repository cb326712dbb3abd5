"""
What was said and not kept: the last resort of a recall, where its memories fall short.

A turn is found by its words and shown by the sentences that fit. What a memory holds, whatever became of it,
is not shown again; nor is anything of a turn that a forgotten memory was read from or that repeats one. What
reads like an order to a model is marked, and disclosure leaves it out for everybody but a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from engramdb.index.turns import TurnMatches, search_turns
from engramdb.lifecycle.screening import Screen, origin_of_turn
from engramdb.policy import CapturePolicy
from engramdb.store.contract import Transaction
from engramdb.text.excerpts import Excerpt, best_excerpt
from engramdb.text.normalize import normalize_text
from engramdb.text.pii_spoken import MAX_BETWEEN, awaited_secret
from engramdb.text.sentences import sentences
from engramdb.text.terms import distinct_terms, query_terms, retells
from engramdb.values import Filters, Hit, Memory, Role, SaidTurn, Status, Turn
from engramdb.values.memory import INJECTION
from engramdb.vault.indexing import open_memory, open_turn
from engramdb.vault.masking import mask_part

if TYPE_CHECKING:
    from engramdb.recall.gather import KnowsForgotten
    from engramdb.recall.pipeline import Asking

TURNS = "turns"
"""What the index of turns is called in the quality of an answer."""
MAX_SAID = 3
"""The most that is shown: a last resort is no second answer."""
CANDIDATES = 20
"""How many turns are looked into."""
SCREENED = 2 * MAX_SAID
"""How many of the best are looked at for what may not be shown."""
POOR_BELOW = 0.4
"""Where the best memory fits less, turns are looked at although there are as many memories as asked for."""
COVERS_FROM = 0.25
"""What covers less of the question is not shown: docs/lab/0038-said.md."""
ROLE_SHARES = {Role.USER: 1.0, Role.ASSISTANT: 0.9, Role.TOOL: 0.7, Role.SYSTEM: 0.7}
"""What covering is worth by who spoke: output and prompts hold every word, and seldom what someone told."""
KEPT_OVERLAP = 0.6
"""A memory that holds this share of a sentence's words says what the sentence says."""
TRUST = 0.3
"""How far what was said is believed at most: nobody has compared it with anything."""
_OF_MEMORIES = (
    *("layers", "types", "kinds", "categories", "entities"),
    *("technologies", "paths", "languages", "sentiments"),
)


def falls_short(asking: Asking, hits: Sequence[Hit]) -> bool:
    """Return whether the memories leave a place for what was only said."""
    if not _asks_for_turns(asking.query.filters):
        return False
    shown = hits[: asking.query.limit]
    return len(shown) < asking.query.limit or max(hit.trust.relevance for hit in shown) < POOR_BELOW


def find_said(tx: Transaction, asking: Asking, hits: Sequence[Hit]) -> tuple[SaidTurn, ...]:
    """Return what was said that fits the question and that no memory holds, best first."""
    query = asking.query
    matches = search_turns(
        tx,
        query.text,
        scope=query.scope,
        filters=query.filters,
        heard_by=asking.then.as_of,
        limit=CANDIDATES,
    )
    ranked = sorted(
        _fitting(tx, matches, query.text), key=lambda one: (-one.score, -one.turn.occurred_at.timestamp())
    )
    distinct: dict[str, SaidCandidate] = {}
    for one in ranked:
        distinct.setdefault(normalize_text(one.excerpt.text), one)
    best = list(distinct.values())[:SCREENED]
    shown = _without_forgotten(tx, best, asking.sources.forgotten) if best else []
    screen = Screen(CapturePolicy(), asking.sources.hostility)
    ceiling = min((hit.trust.composite for hit in hits), default=TRUST)
    return tuple(
        one.shown(ceiling=ceiling, answering=_awaited(tx, one.turn), flags=flags)
        for one, flags in _enough(shown, screen)
    )


def _enough(
    found: Sequence[SaidCandidate], screen: Screen
) -> Iterator[tuple[SaidCandidate, tuple[str, ...]]]:
    """Yield the best with their marks; one that is marked takes no place from what is harmless."""
    harmless = 0
    for one in found:
        is_clean = one.is_clean(screen)
        yield one, () if is_clean else (INJECTION,)
        harmless += is_clean
        if harmless == MAX_SAID:
            return


def _awaited(tx: Transaction, turn: Turn) -> str | None:
    """Return the request for a secret that a turn may answer."""
    before = tx.turns.list(scope=turn.scope, session=turn.session, limit=MAX_BETWEEN + 1, before=turn.id)
    return awaited_secret([one.content for one in before if one.role in (Role.USER, Role.ASSISTANT)])


class SaidCandidate(Struct, frozen=True):
    """A turn, and the sentences of it that fit."""

    turn: Turn
    excerpt: Excerpt

    @property
    def score(self) -> float:
        """The share of the question that the sentences cover, less for those who seldom tell anything."""
        return self.excerpt.covers * ROLE_SHARES[self.turn.role]

    def is_clean(self, screen: Screen) -> bool:
        """Return whether nothing in the sentences tries to give orders to a model."""
        return screen.is_clean(self.excerpt.text, origin=origin_of_turn(self.turn.role))

    def shown(self, *, ceiling: float, answering: str | None, flags: tuple[str, ...]) -> SaidTurn:
        """Return it as the answer shows it: believed no more than the ceiling, and no secret in it."""
        return SaidTurn(
            turn_id=self.turn.id,
            excerpt=mask_part(self.turn, self.excerpt.text, answering=answering),
            role=self.turn.role,
            speaker=self.turn.speaker,
            session=self.turn.session,
            occurred_at=self.turn.occurred_at,
            score=self.score,
            trust=min(TRUST * self.score, ceiling),
            flags=flags,
        )


def _without_forgotten(
    tx: Transaction, found: Sequence[SaidCandidate], known: KnowsForgotten | None
) -> list[SaidCandidate]:
    """Return what repeats nothing forgotten: word for word, retold in its session, or in other words."""
    ids = [one.turn.id for one in found]
    repeating, words = tx.erasures.retelling_forgotten(ids), tx.erasures.forgotten_words(ids)
    return [
        one
        for one in found
        if one.turn.id not in repeating
        and not any(retells(one.excerpt.text, told) for told in words.get(one.turn.id, ()))
        and not (known is not None and known.is_told(tx, one.turn, one.excerpt.text))
    ]


def _asks_for_turns(filters: Filters) -> bool:
    """Return whether a turn can pass: it has no status, layer or anything else that only memories have."""
    return Status.ACTIVE in filters.statuses and not any(getattr(filters, name) for name in _OF_MEMORIES)


def _fitting(tx: Transaction, matches: TurnMatches, question: str) -> list[SaidCandidate]:
    """Return turns with the sentences that cover enough of the question and that are not kept anywhere."""
    bounds = {one.key: one.score + matches.unsearched for one in matches.found}
    likely = [key for key, bound in bounds.items() if bound >= COVERS_FROM]
    turns = tx.turns.by_keys(likely)
    memories = tx.turns.memories_of([turn.id for turn in turns.values()])
    asked = frozenset(map(normalize_text, (question, *sentences(question))))
    found: list[SaidCandidate] = []
    for key in likely:
        if sum(one.score >= bounds[key] for one in found) >= SCREENED:
            break  # no sentence covers more than its turn does
        turn = _as_open(tx, turns[key])
        kept = [frozenset(distinct_terms(_words(memory))) for memory in memories.get(turn.id, ())]
        is_wanted = partial(_is_news, asked=asked, kept=kept)
        excerpt = best_excerpt(turn.content, matches.shares, is_wanted=is_wanted)
        if excerpt is not None and (candidate := SaidCandidate(turn, excerpt)).score >= COVERS_FROM:
            found.append(candidate)
    return found


def _as_open(tx: Transaction, turn: Turn) -> Turn:
    before = tx.turns.list(scope=turn.scope, session=turn.session, limit=MAX_BETWEEN + 1, before=turn.id)
    return open_turn(turn, before=before)


def _is_news(sentence: str, *, asked: frozenset[str], kept: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence neither is the question nor says what a memory of its turn says."""
    if normalize_text(sentence) in asked:
        return False
    words = set(query_terms(sentence)) if kept else set()
    return not any(len(words & held) >= KEPT_OVERLAP * len(words) for held in kept)


def _words(memory: Memory) -> str:
    shown = open_memory(memory)
    return f"{shown.content} {shown.statement or ''} {shown.verbatim or ''}"
