"""
State the one general principle of a theme.

A step of the dream. With a chat model the principle is a sentence of its own, checked by `truthful`; without
one it is a list that its sources agree in word by word: one subject, one relation, several objects. A theme
that allows neither gets none. At most a few are stated in a night, and dreaming again at once adds none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING

from engram.dream.knowledge.ground import changed, earlier, grounded, scopes, statements, withdrawn
from engram.dream.knowledge.themes import LISTED, by_relation, by_topic, said, themes
from engram.dream.knowledge.truthful import invention
from engram.dream.proposal import Derive
from engram.dream.step import Skipped
from engram.errors import ChatError
from engram.providers.chat import CallLog, Usage, ask
from engram.providers.prompts import synthesise
from engram.store.contract.gleanings import Sift

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engram.dream.knowledge.ground import Earlier
    from engram.dream.knowledge.themes import Said
    from engram.dream.proposal import Proposal
    from engram.dream.step import Dreaming
    from engram.values import Memory, Scope

MAKER = "dream.synthesis/1"
_NOTHING = "no chat model is configured, and no statements agree in subject and relation"


@dataclass(slots=True)
class Night:
    """One run: what may still be stated, and what came of it."""

    left: int = 0
    themes: int = 0
    asked: int = 0
    can_ask: bool = False
    taken: set[str] = field(default_factory=set)
    """Statements that a principle has summed up in this run."""


class SynthesisStep:
    """One principle per theme."""

    name = "synthesis"

    def propose(self, dreaming: Dreaming) -> Iterator[Proposal]:
        """Yield principles, the largest themes of each scope first, and take back what lost its ground."""
        night = Night(can_ask=dreaming.chat is not None)
        every = scopes(dreaming, changed=not _is_new_night(dreaming))
        known = {scope: earlier(dreaming, MAKER, scope) for scope in every}
        night.left = dreaming.policy.knowledge.principles_most - sum(
            _is_recent(one, dreaming) for some in known.values() for one in some
        )
        for scope, before in known.items():
            kept: set[str] = set()
            for new in _principles(dreaming, scope, before, night):
                if new.replaces is not None:
                    kept.add(new.replaces.id)
                yield new
            yield from withdrawn(before, but=kept)
        if not night.themes and dreaming.chat is None and every:
            raise Skipped(_NOTHING)


def _is_new_night(dreaming: Dreaming) -> bool:
    """Say whether the last run is so long ago that old themes are looked at again."""
    pause = timedelta(hours=dreaming.policy.knowledge.principles_hours)
    return dreaming.since is None or dreaming.now - dreaming.since >= pause


def _is_recent(one: Earlier, dreaming: Dreaming) -> bool:
    """Say whether a principle was first stated in this night; a new version of an old one is not new."""
    pause = timedelta(hours=dreaming.policy.knowledge.principles_hours)
    return one.memory.supersedes is None and dreaming.now - one.memory.created_at < pause


def _principles(dreaming: Dreaming, scope: Scope, known: Sequence[Earlier], night: Night) -> Iterator[Derive]:
    listed = [said(key, memory) for key, memory in statements(dreaming, scope)]
    for theme in _themes(by_relation(listed).values(), dreaming):
        night.themes += 1
        yield from _proposed(_list_of(dreaming, theme), known, night)
    if night.can_ask:
        for theme in _asked_about(dreaming, scope, listed, known, night):
            yield from _proposed(_summed_up(dreaming, theme, night), known, night)


def _themes(groups: Iterable[Sequence[Said]], dreaming: Dreaming) -> list[list[Said]]:
    """Return the themes of all groups, the largest first."""
    policy = dreaming.policy.knowledge
    sizes = {"least": policy.theme_least, "most": policy.theme_most}
    found = [
        theme
        for group in groups
        for theme in themes(group, dreaming.likeness, above=policy.theme_above, **sizes)
    ]
    return sorted(found, key=lambda theme: (-len(theme), theme[0].key))


def _proposed(new: Derive | None, known: Sequence[Earlier], night: Night) -> Iterator[Derive]:
    """Yield a principle if it is new or has changed, and one more may be stated."""
    if new is None:
        return
    sources = {one.id for one in new.sources}
    night.taken |= sources
    before = _same_theme(sources, known)
    if any(one.is_refused and sources <= one.sources for one in known):
        return
    is_version = before is not None and before.stands
    proposed = changed(new, before)
    if proposed is not None and (is_version or night.left > 0):
        night.left -= 0 if is_version else 1
        yield proposed


def _same_theme(sources: set[str], known: Sequence[Earlier]) -> Earlier | None:
    """Return the principle that most of these statements went into, the latest of several."""
    shared = [(len(sources & one.sources), place) for place, one in enumerate(known)]
    most = max(shared, default=(0, 0))
    return known[most[1]] if 2 * most[0] >= len(sources) and most[0] else None


def _list_of(dreaming: Dreaming, theme: Sequence[Said]) -> Derive | None:
    """Return a list of the objects; None where two of the statements cannot both hold."""
    memories = _read(dreaming, theme)
    if len(memories) < dreaming.policy.knowledge.theme_least:
        return None
    if any(dreaming.contradict(new, old) for old, new in combinations(memories, 2)):
        return None
    objects = [one.object or "" for one in memories]
    listed = f"{', '.join(objects[:-1])} and {objects[-1]}"
    return _principle(dreaming, f"{memories[-1].subject} {LISTED[theme[0].predicate]}: {listed}", memories)


def _asked_about(
    dreaming: Dreaming, scope: Scope, listed: Sequence[Said], known: Sequence[Earlier], night: Night
) -> Iterator[list[Said]]:
    """Yield the themes to ask about: mostly not summed up yet, and with news unless the night is new."""
    since = Sift(changed_since=0 if _is_new_night(dreaming) else dreaming.cursor)
    news = {key for key, _ in statements(dreaming, scope, since)}
    done = frozenset[str]().union(*(one.sources for one in known)) | night.taken
    for theme in _themes(by_topic(listed).values(), dreaming):
        if night.left <= 0 or night.asked >= dreaming.policy.knowledge.principles_most:
            return
        fresh = {one.id for one in theme} - done
        if 2 * len(fresh) > len(theme) and any(one.key in news for one in theme):
            done |= fresh
            yield theme


def _summed_up(dreaming: Dreaming, theme: Sequence[Said], night: Night) -> Derive | None:
    """Return the principle that a chat model finds in a theme, if it finds one and makes nothing up."""
    memories, log = _read(dreaming, theme), dreaming.calls or CallLog()
    if dreaming.chat is None or not night.can_ask or len(memories) < dreaming.policy.knowledge.theme_least:
        return None
    night.themes, night.asked = night.themes + 1, night.asked + 1
    try:
        question = synthesise.question([one.content for one in memories])
        answer = ask(dreaming.chat, question, log=log).value
    except ChatError:
        night.can_ask = False  # counted in the log; lists need no model
        return None
    if answer is None:
        return None
    sources = [memories[place] for place in answer.places]
    made_up = invention(answer.text, [one.content for one in sources], dreaming.policy.capture)
    if made_up is not None:
        log.note(synthesise.PURPOSE, Usage(dropped=1, last_error=f"a principle had {made_up}"))
        return None
    return _principle(dreaming, answer.text, sources)


def _read(dreaming: Dreaming, theme: Sequence[Said]) -> list[Memory]:
    with dreaming.store.read() as tx:
        return list(grounded(tx, [one.key for one in theme]).values())


def _principle(dreaming: Dreaming, content: str, sources: Sequence[Memory]) -> Derive:
    policy = dreaming.policy.knowledge
    return Derive(
        content=content,
        sources=tuple(sources),
        category="principle",
        confidence=policy.principle_confidence,
        stability=policy.principle_stability,
        maker=MAKER,
        reason=f"what {len(sources)} statements of one theme have in common",
    )
