"""The step `synthesis`: the general principle of a theme."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import combinations

import numpy as np
from msgspec import Struct, field

from engramdb.dream.ground import (
    EarlierDerivation,
    earlier_derivations,
    propose_if_changed,
    propose_withdrawals,
    scopes_to_visit,
    usable_by_key,
    usable_statements,
)
from engramdb.dream.neighbors import read_wording
from engramdb.dream.step import Derive, Dreaming, Proposal, Skipped, StatementSimilarity
from engramdb.errors import ChatError
from engramdb.lifecycle.pair_rules import contradicts
from engramdb.models.chat import CallLog, Usage, ask
from engramdb.models.prompts import synthesise
from engramdb.policy import CapturePolicy
from engramdb.store.contract.capture import DreamFilter
from engramdb.text.dates import standalone
from engramdb.text.injection import scan
from engramdb.text.mentions import mentions
from engramdb.text.names import fold_name
from engramdb.text.normalize import normalize_text
from engramdb.text.technologies import technology_class
from engramdb.text.traits import infer_traits
from engramdb.values import Memory, MemoryId, Scope

THEME_ABOVE = 0.60
"""Statements more alike than this belong to one theme."""
MIN_THEME = 3
"""So many statements make a theme."""
MAX_THEME = 12
"""How many of a theme are summed up, the newest."""
PRINCIPLES_HOURS = 20.0
"""Hours within which runs share one allowance of new principles."""
PRINCIPLE_CONFIDENCE = 0.8
"""How far a principle is believed,"""
PRINCIPLE_STABILITY = 3.0
"""and how many times as slowly it fades as a single statement."""

# Find statements of one theme: the same subject and relation, or the same topic, and alike.
#
# Statements are only compared within a small group that shares a relation or a topic, and of a large group
# only the newest are, so the work grows with the number of statements.

MAX_COMPARED = 60
"""Statements of one group that are compared with one another, the newest."""

MAX_LISTED = {
    **{
        name: name.replace("_", " ")
        for name in (
            *("likes", "dislikes", "prefers", "uses", "plays", "speaks", "owns", "knows", "collects"),
            *("teaches", "studies", "learns", "drives", "eats", "drinks", "wears", "needs"),
            *("is_allergic_to", "manages", "maintains", "supports", "hosts", "stores", "deploys"),
        )
    },
    "has_pet": "has as pets",
}
"""Relations that hold for several objects at a time, and how they are said before a list."""


class ThemeStatement(Struct, frozen=True):
    """What grouping needs to know of a statement."""

    key: int
    id: MemoryId
    content: str
    subject: str
    predicate: str
    object: str
    topics: tuple[str, ...] = ()


def theme_statement(key: int, memory: Memory) -> ThemeStatement:
    """Return a memory as grouping sees it."""
    return ThemeStatement(
        key,
        memory.id,
        memory.told,
        memory.subject or "",
        memory.predicate or "",
        memory.object or "",
        memory.traits.topics,
    )


def group_by_relation(statements: Iterable[ThemeStatement]) -> dict[tuple[str, str], list[ThemeStatement]]:
    """Return the plain statements by subject and relation; one that denies, doubts or wishes is not plain."""
    found: defaultdict[tuple[str, str], dict[str, ThemeStatement]] = defaultdict(dict)
    for one in statements:
        is_listed = one.predicate in MAX_LISTED and one.subject and one.object
        if is_listed and not read_wording(one.content).marks:
            found[normalize_text(one.subject), one.predicate].setdefault(normalize_text(one.object), one)
    return {group: list(objects.values()) for group, objects in found.items()}


def group_by_topic(statements: Iterable[ThemeStatement]) -> dict[str, list[ThemeStatement]]:
    """Return the statements by each of their topics."""
    found: defaultdict[str, list[ThemeStatement]] = defaultdict(list)
    for one in statements:
        for topic in one.topics:
            found[topic].append(one)
    return dict(found)


def find_themes(
    statements: Sequence[ThemeStatement],
    likeness: StatementSimilarity,
    *,
    min_similarity: float,
    min_size: int,
    max_size: int,
) -> list[list[ThemeStatement]]:
    """Return the clusters of statements each of which is like another of the cluster, the largest first."""
    newest = sorted(statements, key=lambda one: one.key)[-MAX_COMPARED:]
    if len(newest) < min_size:
        return []
    rows = likeness.vectors([one.content for one in newest])
    is_near = likeness.similarity(rows @ rows.T) >= min_similarity
    groups: defaultdict[Hashable, list[ThemeStatement]] = defaultdict(list)
    for place, label in enumerate(_connected_components(is_near)):
        groups[label].append(newest[place])
    large = [group[-max_size:] for group in groups.values() if len(group) >= min_size]
    return sorted(large, key=lambda group: (-len(group), group[0].key))


def _connected_components(is_near: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """Return for each row the first row that it hangs together with."""
    labels = list(range(len(is_near)))
    for row in range(len(is_near)):
        for other in np.flatnonzero(is_near[row, :row]):
            old, new = max(labels[row], labels[other]), min(labels[row], labels[other])
            labels = [new if label == old else label for label in labels]
    return labels


# Tell what a model summed up from what it made up.

_DENIAL = "not"


def find_invention(sentence: str, sources: Sequence[str], policy: CapturePolicy) -> str | None:
    """Return in a few words what a sentence has that its sources do not, or None; never quotes either."""
    known = [read_wording(one) for one in sources]
    words = frozenset[str]().union(*(one.bag for one in known))
    if not _distinctive_words(sentence) <= words or not _folded_names(sentence) <= _folded_words(sources):
        return "a name or a number of its own"
    if _DENIAL in read_wording(sentence).marks and not any(_DENIAL in one.marks for one in known):
        return "a denial of its own"
    traits = infer_traits(sentence)
    whole = "\n".join(sources).casefold()
    if any(one.casefold() not in whole for one in (*traits.paths, *traits.urls)):
        return "a path or an address of its own"
    return "an instruction" if scan(sentence).score >= policy.injection_flag_above else None


def _distinctive_words(sentence: str) -> frozenset[str]:
    """Return the numbers, the technologies and what is written large inside a sentence, as stems."""
    inside = [
        word for place, word in enumerate(sentence.split()) if place and word.strip("([“\"'")[:1].isupper()
    ]
    named = (
        key for key in read_wording(sentence).named if key[:1].isdigit() or technology_class(key) is not None
    )
    return frozenset(named) | read_wording(" ".join(["…", *inside])).bag


def _folded_names(text: str) -> frozenset[str]:
    return frozenset(word for one in mentions(text) for word in fold_name(one.text, one.type).split())


def _folded_words(sources: Sequence[str]) -> frozenset[str]:
    """Return every word of the sources in the form in which names are compared."""
    return frozenset(word for one in sources for word in fold_name(one).split()) | frozenset(
        word for one in sources for word in _folded_names(one)
    )


# State the one general principle of a theme.
#
# With a chat model the principle is a sentence of its own, checked by `truthful`; without one it is a list
# that its sources agree in word by word: one subject, one relation, several objects. A theme that allows
# neither gets none. At most a few are stated in a night, and dreaming again at once adds none.

MAKER = "dream.synthesis/1"
_NO_PRINCIPLE = "no chat model is configured, and no statements agree in subject and relation"


class SynthesisRun(Struct):
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
        night = SynthesisRun(can_ask=dreaming.chat is not None)
        every = scopes_to_visit(dreaming, changed=not _is_new_run(dreaming))
        known = {scope: earlier_derivations(dreaming, MAKER, scope) for scope in every}
        night.left = dreaming.policy.knowledge.principles_most - sum(
            _is_recent(one, dreaming) for some in known.values() for one in some
        )
        for scope, before in known.items():
            kept: set[str] = set()
            for new in _propose_principles(dreaming, scope, before, night):
                if new.replaces is not None:
                    kept.add(new.replaces.id)
                yield new
            yield from propose_withdrawals(before, except_ids=kept)
        if not night.themes and dreaming.chat is None and every:
            raise Skipped(_NO_PRINCIPLE)


def _is_new_run(dreaming: Dreaming) -> bool:
    """Return whether the last run is so long ago that old themes are looked at again."""
    pause = timedelta(hours=PRINCIPLES_HOURS)
    return dreaming.since is None or dreaming.now - dreaming.since >= pause


def _is_recent(one: EarlierDerivation, dreaming: Dreaming) -> bool:
    """Return whether a principle was first stated in this night; a new version of an old one is not new."""
    pause = timedelta(hours=PRINCIPLES_HOURS)
    return one.memory.supersedes is None and dreaming.now - one.memory.created_at < pause


def _propose_principles(
    dreaming: Dreaming, scope: Scope, known: Sequence[EarlierDerivation], night: SynthesisRun
) -> Iterator[Derive]:
    listed = [theme_statement(key, memory) for key, memory in usable_statements(dreaming, scope)]
    for theme in _themes_of_groups(group_by_relation(listed).values(), dreaming):
        night.themes += 1
        yield from _propose_if_changed(_list_principle(dreaming, theme), known, night)
    if night.can_ask:
        for theme in _themes_to_ask_about(dreaming, scope, listed, known, night):
            yield from _propose_if_changed(_principle_by_model(dreaming, theme, night), known, night)


def _themes_of_groups(
    groups: Iterable[Sequence[ThemeStatement]], dreaming: Dreaming
) -> list[list[ThemeStatement]]:
    """Return the themes of all groups, the largest first."""
    found = [
        theme
        for group in groups
        for theme in find_themes(
            group, dreaming.likeness, min_similarity=THEME_ABOVE, min_size=MIN_THEME, max_size=MAX_THEME
        )
    ]
    return sorted(found, key=lambda theme: (-len(theme), theme[0].key))


def _propose_if_changed(
    new: Derive | None, known: Sequence[EarlierDerivation], night: SynthesisRun
) -> Iterator[Derive]:
    """Yield a principle if it is new or has changed, and one more may be stated."""
    if new is None:
        return
    sources = {one.id for one in new.sources}
    night.taken |= sources
    before = _find_earlier_principle(sources, known)
    if any(one.is_refused and sources <= one.sources for one in known):
        return
    is_version = before is not None and before.is_active
    proposed = propose_if_changed(new, before)
    if proposed is not None and (is_version or night.left > 0):
        night.left -= 0 if is_version else 1
        yield proposed


def _find_earlier_principle(
    sources: set[str], known: Sequence[EarlierDerivation]
) -> EarlierDerivation | None:
    """Return the principle that most of these statements went into, the latest of several."""
    shared = [(len(sources & one.sources), place) for place, one in enumerate(known)]
    most = max(shared, default=(0, 0))
    return known[most[1]] if 2 * most[0] >= len(sources) and most[0] else None


def _list_principle(dreaming: Dreaming, theme: Sequence[ThemeStatement]) -> Derive | None:
    """Return a list of the objects; None where two of the statements cannot both hold."""
    memories = _load_memories(dreaming, theme)
    if len(memories) < MIN_THEME:
        return None
    if any(contradicts(new, old) for old, new in combinations(memories, 2)):
        return None
    objects = [one.object or "" for one in memories]
    listed = f"{', '.join(objects[:-1])} and {objects[-1]}"
    return _derive_principle(f"{memories[-1].subject} {MAX_LISTED[theme[0].predicate]}: {listed}", memories)


def _themes_to_ask_about(
    dreaming: Dreaming,
    scope: Scope,
    listed: Sequence[ThemeStatement],
    known: Sequence[EarlierDerivation],
    night: SynthesisRun,
) -> Iterator[list[ThemeStatement]]:
    """Yield the themes to ask about: mostly not summed up yet, and with news unless the night is new."""
    since = DreamFilter(changed_since=0 if _is_new_run(dreaming) else dreaming.cursor)
    news = {key for key, _ in usable_statements(dreaming, scope, since)}
    done = frozenset[str]().union(*(one.sources for one in known)) | night.taken
    for theme in _themes_of_groups(group_by_topic(listed).values(), dreaming):
        if night.left <= 0 or night.asked >= dreaming.policy.knowledge.principles_most:
            return
        fresh = {one.id for one in theme} - done
        if 2 * len(fresh) > len(theme) and any(one.key in news for one in theme):
            done |= fresh
            yield theme


def _principle_by_model(
    dreaming: Dreaming, theme: Sequence[ThemeStatement], night: SynthesisRun
) -> Derive | None:
    """Return the principle that a chat model finds in a theme, if it finds one and makes nothing up."""
    memories, log = _load_memories(dreaming, theme), dreaming.calls or CallLog()
    if dreaming.chat is None or not night.can_ask or len(memories) < MIN_THEME:
        return None
    night.themes, night.asked = night.themes + 1, night.asked + 1
    try:
        question = synthesise.question([standalone(one) for one in memories])
        answer = ask(dreaming.chat, question, log=log).value
    except ChatError:
        night.can_ask = False  # counted in the log; lists need no model
        return None
    if answer is None:
        return None
    sources = [memories[place] for place in answer.places]
    made_up = find_invention(answer.text, [standalone(one) for one in sources], dreaming.policy.capture)
    if made_up is not None:
        log.note(synthesise.PURPOSE, Usage(dropped=1, last_error=f"a principle had {made_up}"))
        return None
    return _derive_principle(answer.text, sources)


def _load_memories(dreaming: Dreaming, theme: Sequence[ThemeStatement]) -> list[Memory]:
    with dreaming.store.read() as tx:
        return list(usable_by_key(tx, [one.key for one in theme]).values())


def _derive_principle(content: str, sources: Sequence[Memory]) -> Derive:
    return Derive(
        content=content,
        sources=tuple(sources),
        category="principle",
        confidence=PRINCIPLE_CONFIDENCE,
        stability=PRINCIPLE_STABILITY,
        maker=MAKER,
        reason=f"what {len(sources)} statements of one theme have in common",
    )
