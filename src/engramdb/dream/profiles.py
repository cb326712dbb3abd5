"""The step `profiles`: a profile of each person and thing that enough is known about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from engramdb.dream.bridges import link_to_entity, propose_duplicate_questions, propose_late_links
from engramdb.dream.ground import (
    EarlierDerivation,
    earlier_derivations,
    find_stored,
    propose_if_changed,
    propose_withdrawals,
    scopes_to_visit,
    usable_by_key,
    usable_statements,
)
from engramdb.dream.step import Derive, Dreaming, Proposal, SideWrite
from engramdb.dream.synthesis import find_invention
from engramdb.errors import ChatError
from engramdb.models.chat import CallLog, Usage, ask
from engramdb.models.prompts import profile
from engramdb.store.contract import Transaction
from engramdb.store.contract.capture import Mentions
from engramdb.text.dates import standalone
from engramdb.text.normalize import normalize_text
from engramdb.values import Entity, EntityType, Memory, MemoryType, Scope, SecurityTier, Source

MIN_PROFILE = 5
"""So many statements must mention someone or something before there is a profile of it."""
LINE_CHARACTERS = 160
"""A longer statement is cut on a profile."""
PROFILE_CONFIDENCE = 0.7
"""How far a profile is believed; its statements are believed as they were."""
MIN_TOPIC = 5
"""So many statements make a topic of the index."""
MAX_INDEX_TOPICS = 40
"""So many topics are in the index, those with the most statements."""

# Put what is known of someone or something into a few lines.

CATEGORY = {
    EntityType.PERSON: "person",
    EntityType.PROJECT: "project",
    EntityType.TECHNOLOGY: "technical",
    EntityType.SERVICE: "technical",
    EntityType.ORGANIZATION: "entity",
    EntityType.CONCEPT: "entity",
    EntityType.LOCATION: "entity",
}
"""Of what there are profiles, and the category of each; a file and an unclear name have none."""

BEHAVIOR = ("instruction", "correction", "preference", "principle", "skill")
"""What a statement must be to tell how someone wants things done, the most binding first."""
_USER = frozenset({"user", "the user"})


def select_statements(memories: Iterable[Memory], *, limit: int) -> list[Memory]:
    """Return the weightiest statements, each thing said once, in the order in which they were stored."""
    by_words: dict[str, Memory] = {}
    for one in sorted(memories, key=lambda one: (-one.importance * one.confidence, one.id)):
        if one.type is not MemoryType.NARRATIVE and one.is_believed and not one.is_overheard:
            by_words.setdefault(normalize_text(one.told), one)
    return sorted(list(by_words.values())[:limit], key=lambda one: one.id)


def profile_heading(entity: Entity) -> str:
    """Return the first line of a profile: whom it is of, what that is, and its other names."""
    others = [alias for alias in entity.aliases if normalize_text(alias) != normalize_text(entity.name)]
    called = f", also called {', '.join(others)}" if others else ""
    return f"Profile of {entity.name} ({entity.type}){called}:"


def write_card(head: str, lines: Iterable[str], *, characters: int) -> str:
    """Return a card: a heading and one line for each statement, cut where it is too long."""
    return "\n".join([head, *(f"- {_truncate(line, characters)}" for line in lines)])


def is_about_user(memory: Memory) -> bool:
    """Return whether a statement tells how the user wants things or works."""
    if memory.category not in BEHAVIOR or memory.provenance.source is Source.INGEST:
        return False
    if memory.subject is None:
        return memory.provenance.speaker is None and memory.provenance.source is Source.HUMAN
    return normalize_text(memory.subject) in _USER


def sort_by_behavior(memories: Sequence[Memory]) -> list[Memory]:
    """Return the statements with what binds most first."""
    return sorted(memories, key=lambda one: (BEHAVIOR.index(one.category), one.id))


def _truncate(text: str, characters: int) -> str:
    whole = " ".join(text.split())
    if len(whole) <= characters:
        return whole
    return f"{whole[: characters - 2].rsplit(' ', 1)[0]} …"


# What the profile of someone or something should say now.
#
# `write_card` puts statements into lines; a chat model may sum them up instead, and each of its lines is
# checked by `find_invention` against the statements that it names. Where the statements are the same as
# before, no model is asked again.

MAKER = "dream.profiles/1"
"""Followed by a colon and what the profile is of: the id of an entity, or one of these two."""
USER, TOPICS = "user", "topics"

SHOWN_TO_MODEL = 3
"""So many times as many statements as lines are shown to a chat model."""


def entity_profile(
    dreaming: Dreaming, entity: Entity, memories: Sequence[Memory], known: EarlierDerivation | None
) -> Derive | None:
    """Return the profile of an entity that enough statements mention."""
    policy = dreaming.policy.knowledge
    told = select_statements(memories, limit=len(memories))
    if entity.type not in CATEGORY or len(told) < MIN_PROFILE:
        return None
    content, sources = _profile_lines(
        dreaming, profile_heading(entity), told, known, max_lines=policy.profile_lines
    )
    return _derive_profile(content, sources, category=CATEGORY[entity.type], of=entity.id)


def user_profile(dreaming: Dreaming, scope: Scope, known: EarlierDerivation | None) -> Derive | None:
    """Return how the user of a scope wants things done, what binds most first."""
    policy = dreaming.policy.knowledge
    told = [memory for _, memory in usable_statements(dreaming, scope) if is_about_user(memory)]
    if len(told) < MIN_PROFILE:
        return None
    content, sources = _profile_lines(
        dreaming, "Profile of the user:", told, known, max_lines=policy.user_lines
    )
    return _derive_profile(content, sources, category="person", of=USER)


def topic_index(dreaming: Dreaming, scope: Scope) -> Derive | None:
    """
    Return the topics that a scope has enough statements about, by name, each with its oldest statement.

    Without counts, or it would change with every statement; and only of what needs no protection, since a
    topic that stands here is said of all that is listed beside it.
    """
    found: defaultdict[str, list[Memory]] = defaultdict(list)
    for _, memory in usable_statements(dreaming, scope):
        if memory.security is SecurityTier.CLEARTEXT and memory.type is MemoryType.FACT:
            for topic in memory.traits.topics:
                found[topic].append(memory)
    often = {topic: told for topic, told in found.items() if len(told) >= MIN_TOPIC}
    most = sorted(often, key=lambda topic: (-len(often[topic]), topic))[:MAX_INDEX_TOPICS]
    if not most:
        return None
    sources = {often[topic][0].id: often[topic][0] for topic in most}
    content = f"Topics: {', '.join(sorted(most))}"
    return _derive_profile(content, list(sources.values()), category="context", of=TOPICS)


def _derive_profile(content: str, sources: Sequence[Memory], *, category: str, of: str) -> Derive:
    return Derive(
        content=content,
        sources=tuple(sources),
        type=MemoryType.NARRATIVE,
        category=category,
        confidence=PROFILE_CONFIDENCE,
        maker=f"{MAKER}:{of}",
        is_introduced=False,
        reason=f"a profile out of {len(sources)} statements",
    )


def _profile_lines(
    dreaming: Dreaming,
    head: str,
    statements: Sequence[Memory],
    known: EarlierDerivation | None,
    *,
    max_lines: int,
) -> tuple[str, list[Memory]]:
    """Return the content of a profile and the statements that it rests on."""
    if dreaming.chat is not None:
        shown = select_statements(statements, limit=SHOWN_TO_MODEL * max_lines)
        if known is not None and known.is_active and {one.id for one in shown} == known.sources:
            return known.memory.content, shown
        lines = _lines_by_model(dreaming, head, shown, max_lines=max_lines)
        if lines:
            return write_card(head, lines, characters=LINE_CHARACTERS), shown
    picked = select_statements(statements, limit=max_lines)
    ordered = sort_by_behavior(picked) if all(is_about_user(one) for one in picked) else picked
    return write_card(head, [standalone(one) for one in ordered], characters=LINE_CHARACTERS), picked


def _lines_by_model(dreaming: Dreaming, head: str, shown: Sequence[Memory], *, max_lines: int) -> list[str]:
    """Return the lines that a chat model makes of the statements and that make nothing up."""
    if dreaming.chat is None:
        return []
    log, contents = dreaming.calls or CallLog(), [standalone(one) for one in shown]
    try:
        question = profile.question(head.rstrip(":"), contents, most=max_lines)
        lines = ask(dreaming.chat, question, log=log).value
    except ChatError:
        return []  # counted in the log
    true = [
        line.text
        for line in lines
        if find_invention(line.text, [contents[place] for place in line.places], dreaming.policy.capture)
        is None
    ]
    if len(true) < len(lines):
        dropped = Usage(dropped=len(lines) - len(true), last_error="a line of a profile made things up")
        log.note(profile.PURPOSE, dropped)
    return true[:max_lines]


# Keep a profile of everyone and everything that enough is known of, one of the user, and an index of
# topics.
#
# Names are linked first. A profile is a memory like any other: it is found by recall and by `entity`, has a
# scope and a tier, can be forgotten, corrected or pinned, and a new version takes its place when its
# statements change. Only what changed since the last run is looked at again.

MAX_ENTITIES_PER_RUN = 200
"""Statements of one entity that are weighed, the newest."""


class ProfilesStep:
    """Profiles of entities, of the user, and the index of topics."""

    name = "profiles"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield late links and questions about names, then profiles, scope by scope."""
        for scope in scopes_to_visit(dreaming, changed=True):
            yield from propose_late_links(dreaming, scope)
            yield from propose_duplicate_questions(dreaming, scope)
            known: dict[str, EarlierDerivation] = {}
            for one in earlier_derivations(dreaming, MAKER, scope):
                known[(one.memory.extractor or "").removeprefix(f"{MAKER}:")] = one
            kept: set[str] = set()
            for new, entity in _profiles_to_write(dreaming, scope, known):
                before = known.get(new.maker.removeprefix(f"{MAKER}:"))
                kept |= set() if before is None else {before.memory.id}
                yield from _propose_profile(dreaming, new, before, entity)
            yield from propose_withdrawals(known.values(), except_ids=kept)


def _propose_profile(
    dreaming: Dreaming, new: Derive, before: EarlierDerivation | None, entity: Entity | None
) -> Iterator[Proposal]:
    """Yield a profile where it is new or has changed, and its link to the entity."""
    proposed = propose_if_changed(new, before)
    if proposed is not None:
        yield proposed
    card = None if entity is None else find_stored(dreaming, new)
    if entity is not None and card is not None and not _is_linked(dreaming, card, entity):
        yield SideWrite(
            what="mention",
            about=(card.id,),
            write=partial(_link_card, entity=entity, card=card),
            reason="a profile speaks of what it is of",
        )


def _is_linked(dreaming: Dreaming, card: Memory, entity: Entity) -> bool:
    with dreaming.store.read() as tx:
        return any(one.id == entity.id for one in tx.entities.of_memory(card.id, scope=card.scope))


def _link_card(tx: Transaction, *, entity: Entity, card: Memory) -> bool:
    return link_to_entity(tx, entity.id, card, name=entity.name)


def _profiles_to_write(
    dreaming: Dreaming, scope: Scope, known: dict[str, EarlierDerivation]
) -> Iterator[tuple[Derive, Entity | None]]:
    """Yield what every profile of a scope that may have changed should say now."""
    with dreaming.store.read() as tx:
        mentions = tx.dream_reads.mentions(scope=scope)
        ids = tx.dream_reads.entity_ids(np.unique(mentions.entities).tolist())
    shaken = {name for name, one in known.items() if one.is_shaken}
    for key, told in _entities_to_update(
        mentions, dreaming, shaken={key for key, one in ids.items() if one in shaken}
    ):
        with dreaming.store.read() as tx:
            entity = tx.entities.get(ids[key], scope=scope)
            memories = list(usable_by_key(tx, told[-MAX_ENTITIES_PER_RUN:]).values())
        card = None if entity is None else entity_profile(dreaming, entity, memories, known.get(entity.id))
        if card is not None:
            yield card, entity
    for new in (user_profile(dreaming, scope, known.get(USER)), topic_index(dreaming, scope)):
        if new is not None:
            yield new, None


def _entities_to_update(
    mentions: Mentions, dreaming: Dreaming, *, shaken: set[int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield the entities to look at again, with the memories that mention each, the oldest first."""
    told: defaultdict[int, list[int]] = defaultdict(list)
    for memory, entity in zip(mentions.memories.tolist(), mentions.entities.tolist(), strict=True):
        told[entity].append(memory)
    news = set(mentions.entities[mentions.changed > dreaming.cursor].tolist()) | shaken
    for entity in sorted(news):
        if len(told[entity]) >= MIN_PROFILE:
            yield entity, told[entity]
