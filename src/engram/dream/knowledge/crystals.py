"""
Tell a finished piece of work as one story, and keep what was learned from it.

A step of the dream. The results of tasks and the decisions of one session, or of one week where no session
is named, are a chain; it is told once every task in it has ended and a week has passed. With a chat model the
story is prose that `truthful` has checked, otherwise the results in order. Lessons come first and the story
last: it marks the chain as told, so a dream that was stopped in between goes on where it was.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.dream.knowledge.actions import TASK
from engram.dream.knowledge.ground import earlier, scopes, statements, withdrawn
from engram.dream.knowledge.stories import files_of, is_finished, lessons_of, story_of
from engram.dream.knowledge.truthful import invention
from engram.dream.proposal import Derive
from engram.errors import ChatError
from engram.providers.chat import CallLog, Usage, ask
from engram.providers.prompts import crystallise
from engram.store.contract.gleanings import Sift
from engram.text.sentences import sentences
from engram.values import Kind, Layer, MemoryType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.dream.knowledge.ground import Earlier
    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.values import Memory, MemoryId, Scope

MAKER = "dream.crystals/1"
LESSONS = "dream.lessons/1"
MOST_ACTIONS = 20
"""A longer chain is told in parts of so many actions, or it would not fit into one memory."""


class CrystalsStep:
    """Finished chains of actions become stories with lessons."""

    name = "crystals"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield for each chain that is over its lessons and its story."""
        for scope in scopes(dreaming):
            crystals, lessons = earlier(dreaming, MAKER, scope), earlier(dreaming, LESSONS, scope)
            yield from withdrawn((*crystals, *lessons))
            for name, chain in _chains(dreaming, scope, taken=_told(crystals)):
                yield from _crystal(dreaming, name, chain, lessons)


def _told(crystals: Sequence[Earlier]) -> set[MemoryId]:
    """Return the actions that a story tells of; what was taken back for want of ground tells of none."""
    left = [one for one in crystals if not one.was_withdrawn and not (one.may_change and one.is_shaken)]
    return {source for one in left for source in one.sources}


def _chains(dreaming: Dreaming, scope: Scope, *, taken: set[MemoryId]) -> Iterator[tuple[str, list[Memory]]]:
    """Yield the chains of a scope that are over and were not told, in the order of their names."""
    policy = dreaming.policy.knowledge
    groups: defaultdict[str, list[Memory]] = defaultdict(list)
    tasks = statements(dreaming, scope, Sift(extractors=frozenset({TASK})))
    decisions = statements(dreaming, scope, Sift(categories=frozenset({"decision"})))
    for memory in {memory.id: memory for _, memory in (*tasks, *decisions)}.values():
        if memory.id not in taken:
            groups[_group(memory)].append(memory)
    over = dreaming.now - timedelta(days=policy.crystal_days)
    for name in sorted(groups):
        chain = sorted(groups[name], key=lambda one: (one.when, one.id))
        is_over = chain[-1].when <= over and len(chain) >= policy.crystal_least
        if is_over and is_finished(chain):
            for begin in range(0, len(chain), MOST_ACTIONS):
                yield name, chain[begin : begin + MOST_ACTIONS]


def _group(memory: Memory) -> str:
    """Return the session of an action, or else its week."""
    year, week, _ = memory.when.isocalendar()
    return memory.provenance.session or f"{year}-W{week:02}"


def _crystal(
    dreaming: Dreaming, name: str, chain: Sequence[Memory], known: Sequence[Earlier]
) -> Iterator[Derive]:
    policy = dreaming.policy.knowledge
    story, lessons = _told_by_model(dreaming, chain) or (story_of(name, chain), lessons_of(chain))
    for text, sources in lessons:
        ids = {one.id for one in sources}
        if not any(one.sources == ids or one.memory.content == text for one in known):
            yield Derive(
                content=text,
                sources=tuple(sources),
                layer=Layer.EPISODIC,
                type=MemoryType.PROCEDURE,
                category="procedure",
                confidence=policy.crystal_confidence,
                stability=policy.lesson_stability,
                maker=LESSONS,
                reason="learned from a finished chain of actions",
            )
    yield Derive(
        content=story,
        sources=tuple(chain),
        layer=Layer.SEMANTIC,
        type=MemoryType.NARRATIVE,
        kind=Kind.EPISODE,
        category="context",
        confidence=policy.crystal_confidence,
        stability=policy.crystal_stability,
        maker=MAKER,
        reason=f"{len(chain)} finished actions that belong together",
    )


def _told_by_model(
    dreaming: Dreaming, chain: Sequence[Memory]
) -> tuple[str, list[tuple[str, list[Memory]]]] | None:
    """Return the story and the lessons that a chat model tells, or None where the actions must do."""
    if dreaming.chat is None:
        return None
    log, actions = dreaming.calls or CallLog(), [one.content for one in chain]
    try:
        digest = ask(dreaming.chat, crystallise.question(actions), log=log).value
    except ChatError:
        return None  # counted in the log
    policy = dreaming.policy.capture
    made_up = [invention(one, actions, policy) for one in sentences(digest.narrative)]
    lessons = [(line.text, [chain[place] for place in line.places]) for line in digest.lessons]
    true = [
        (text, told)
        for text, told in lessons
        if invention(text, [one.content for one in told], policy) is None
    ]
    dropped = len(lessons) - len(true) + any(made_up)
    if dropped:
        log.note(crystallise.PURPOSE, Usage(dropped=dropped, last_error="a story or lesson made things up"))
    return None if any(made_up) else (f"{digest.narrative}{files_of(chain)}", true)
