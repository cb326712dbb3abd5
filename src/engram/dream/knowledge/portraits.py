"""
What the profile of someone or something should say now.

Called by the step `profiles`, which compares it with what was said before. `cards` puts statements into
lines; a chat model may sum them up instead, and each of its lines is checked by `truthful` against the
statements that it names. Where the statements are the same as before, no model is asked again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from engram.dream.knowledge.cards import CATEGORY, by_behaviour, chosen, heading, is_of_user, written
from engram.dream.knowledge.ground import statements
from engram.dream.knowledge.truthful import invention
from engram.dream.proposal import Derive
from engram.errors import ChatError
from engram.providers.chat import CallLog, Usage, ask
from engram.providers.prompts import profile
from engram.values import MemoryType, SecurityTier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.dream.knowledge.ground import Earlier
    from engram.dream.step import Dreaming
    from engram.values import Entity, Memory, Scope

MAKER = "dream.profiles/1"
"""Followed by a colon and what the profile is of: the id of an entity, or one of these two."""
USER, TOPICS = "user", "topics"

SHOWN_TO_MODEL = 3
"""So many times as many statements as lines are shown to a chat model."""


def of_entity(
    dreaming: Dreaming, entity: Entity, memories: Sequence[Memory], known: Earlier | None
) -> Derive | None:
    """Return the profile of an entity that enough statements speak of."""
    policy = dreaming.policy.knowledge
    told = chosen(memories, most=len(memories))
    if entity.type not in CATEGORY or len(told) < policy.profile_least:
        return None
    content, sources = _lines(dreaming, heading(entity), told, known, most=policy.profile_lines)
    return _profile(dreaming, content, sources, category=CATEGORY[entity.type], of=entity.id)


def of_user(dreaming: Dreaming, scope: Scope, known: Earlier | None) -> Derive | None:
    """Return how the user of a scope wants things done, what binds most first."""
    policy = dreaming.policy.knowledge
    told = [memory for _, memory in statements(dreaming, scope) if is_of_user(memory)]
    if len(told) < policy.profile_least:
        return None
    content, sources = _lines(dreaming, "Profile of the user:", told, known, most=policy.user_lines)
    return _profile(dreaming, content, sources, category="person", of=USER)


def of_topics(dreaming: Dreaming, scope: Scope) -> Derive | None:
    """
    Return the topics that a scope has enough statements about, by name, each with its oldest statement.

    Without counts, or it would change with every statement; and only of what needs no protection, since a
    topic that stands here is said of all that is listed beside it.
    """
    policy = dreaming.policy.knowledge
    found: defaultdict[str, list[Memory]] = defaultdict(list)
    for _, memory in statements(dreaming, scope):
        if memory.security is SecurityTier.CLEARTEXT and memory.type is MemoryType.FACT:
            for topic in memory.traits.topics:
                found[topic].append(memory)
    often = {topic: told for topic, told in found.items() if len(told) >= policy.topic_least}
    most = sorted(often, key=lambda topic: (-len(often[topic]), topic))[: policy.topics_most]
    if not most:
        return None
    sources = {often[topic][0].id: often[topic][0] for topic in most}
    content = f"Topics: {', '.join(sorted(most))}"
    return _profile(dreaming, content, list(sources.values()), category="context", of=TOPICS)


def _profile(
    dreaming: Dreaming, content: str, sources: Sequence[Memory], *, category: str, of: str
) -> Derive:
    return Derive(
        content=content,
        sources=tuple(sources),
        type=MemoryType.NARRATIVE,
        category=category,
        confidence=dreaming.policy.knowledge.profile_confidence,
        maker=f"{MAKER}:{of}",
        reason=f"a profile out of {len(sources)} statements",
    )


def _lines(
    dreaming: Dreaming, head: str, told: Sequence[Memory], known: Earlier | None, *, most: int
) -> tuple[str, list[Memory]]:
    """Return the content of a profile and the statements that it rests on."""
    policy = dreaming.policy.knowledge
    if dreaming.chat is not None:
        shown = chosen(told, most=SHOWN_TO_MODEL * most)
        if known is not None and known.stands and {one.id for one in shown} == known.sources:
            return known.memory.content, shown
        lines = _summed_up(dreaming, head, shown, most=most)
        if lines:
            return written(head, lines, characters=policy.line_characters), shown
    picked = chosen(told, most=most)
    ordered = by_behaviour(picked) if all(is_of_user(one) for one in picked) else picked
    return written(head, [one.content for one in ordered], characters=policy.line_characters), picked


def _summed_up(dreaming: Dreaming, head: str, shown: Sequence[Memory], *, most: int) -> list[str]:
    """Return the lines that a chat model makes of the statements and that make nothing up."""
    if dreaming.chat is None:
        return []
    log, contents = dreaming.calls or CallLog(), [one.content for one in shown]
    try:
        question = profile.question(head.rstrip(":"), contents, most=most)
        lines = ask(dreaming.chat, question, log=log).value
    except ChatError:
        return []  # counted in the log
    true = [
        line.text
        for line in lines
        if invention(line.text, [contents[place] for place in line.places], dreaming.policy.capture) is None
    ]
    if len(true) < len(lines):
        dropped = Usage(dropped=len(lines) - len(true), last_error="a line of a profile made things up")
        log.note(profile.PURPOSE, dropped)
    return true[:most]
