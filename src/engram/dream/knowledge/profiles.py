"""
Keep a profile of everyone and everything that enough is known of, one of the user, and an index of topics.

A step of the dream; `naming` links names first, `portraits` says what each profile holds. A profile is a
memory like any other: it is found by recall and by `entity`, has a scope and a tier, can be forgotten,
corrected or pinned, and a new version takes its place when its statements change. Only what changed since the
last run is looked at again.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from engram.dream.knowledge.ground import changed, earlier, grounded, scopes, stored, withdrawn
from engram.dream.knowledge.naming import late_links, link, same_names
from engram.dream.knowledge.portraits import MAKER, USER, of_entity, of_topics, of_user
from engram.dream.proposal import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.dream.knowledge.ground import Earlier
    from engram.dream.proposal import Derive, Proposal
    from engram.dream.step import Dreaming
    from engram.store.contract import Transaction
    from engram.store.contract.gleanings import Mentions
    from engram.values import Entity, Memory, Scope

REACH = 200
"""Statements of one entity that are weighed, the newest."""


class ProfilesStep:
    """Profiles of entities, of the user, and the index of topics."""

    name = "profiles"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield late links and questions about names, then profiles, scope by scope."""
        for scope in scopes(dreaming, changed=True):
            yield from late_links(dreaming, scope)
            yield from same_names(dreaming, scope)
            known: dict[str, Earlier] = {}
            for one in earlier(dreaming, MAKER, scope):
                known[(one.memory.extractor or "").removeprefix(f"{MAKER}:")] = one
            kept: set[str] = set()
            for new, entity in _profiles(dreaming, scope, known):
                before = known.get(new.maker.removeprefix(f"{MAKER}:"))
                kept |= set() if before is None else {before.memory.id}
                yield from _stated(dreaming, new, before, entity)
            yield from withdrawn(known.values(), but=kept)


def _stated(
    dreaming: Dreaming, new: Derive, before: Earlier | None, entity: Entity | None
) -> Iterator[Proposal]:
    """Yield a profile where it is new or has changed, and its link to the entity."""
    proposed = changed(new, before)
    if proposed is not None:
        yield proposed
    card = None if entity is None else stored(dreaming, new)
    if entity is not None and card is not None and not _is_linked(dreaming, card, entity):
        yield Note(
            what="mention",
            about=(card.id,),
            write=partial(_link_card, entity=entity, card=card),
            reason="a profile speaks of what it is of",
        )


def _is_linked(dreaming: Dreaming, card: Memory, entity: Entity) -> bool:
    with dreaming.store.read() as tx:
        return any(one.id == entity.id for one in tx.entities.of_memory(card.id, scope=card.scope))


def _link_card(tx: Transaction, *, entity: Entity, card: Memory) -> bool:
    return link(tx, entity.id, card, name=entity.name)


def _profiles(
    dreaming: Dreaming, scope: Scope, known: dict[str, Earlier]
) -> Iterator[tuple[Derive, Entity | None]]:
    """Yield what every profile of a scope that may have changed should say now."""
    with dreaming.store.read() as tx:
        mentions = tx.gleanings.mentions(scope=scope)
        ids = tx.gleanings.entity_ids(np.unique(mentions.entities).tolist())
    shaken = {name for name, one in known.items() if one.is_shaken}
    for key, told in _touched(mentions, dreaming, shaken={key for key, one in ids.items() if one in shaken}):
        with dreaming.store.read() as tx:
            entity = tx.entities.get(ids[key], scope=scope)
            memories = list(grounded(tx, told[-REACH:]).values())
        card = None if entity is None else of_entity(dreaming, entity, memories, known.get(entity.id))
        if card is not None:
            yield card, entity
    for new in (of_user(dreaming, scope, known.get(USER)), of_topics(dreaming, scope)):
        if new is not None:
            yield new, None


def _touched(mentions: Mentions, dreaming: Dreaming, *, shaken: set[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the entities to look at again, with the memories that speak of each, the oldest first."""
    told: defaultdict[int, list[int]] = defaultdict(list)
    for memory, entity in zip(mentions.memories.tolist(), mentions.entities.tolist(), strict=True):
        told[entity].append(memory)
    news = set(mentions.entities[mentions.changed > dreaming.cursor].tolist()) | shaken
    for entity in sorted(news):
        if len(told[entity]) >= dreaming.policy.knowledge.profile_least:
            yield entity, told[entity]
