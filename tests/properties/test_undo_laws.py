"""Whatever is done, undoing it step by step leads back through every state on the way."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from engramdb import Engram, Filters, Settings, Status
from engramdb.errors import EngramError
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.text.identity import FORGOTTEN_WORDS
from engramdb.values import BELIEVED, EdgeType, GapKind, Layer, Memory

ANYTHING = Filters(statuses=frozenset(Status))
QUESTIONS = ("where do I live?", "who is my manager?", "what do I drink?")
STATEMENTS = (
    *("I live in Berlin.", "I live in Lisbon now.", "I moved from Lisbon to Porto."),
    *(
        "I live in a small flat.",
        "My manager is Alice.",
        "My manager is Bob now.",
        "My manager is on holiday.",
    ),
    *("I drink tea.", "I don't drink tea any more.", "I drink tea every morning.", "I like green tea."),
    *("Always use uv.", "The server crashed because the disk was full.", "The disk was full."),
)
STATUSES = (Status.ACTIVE, Status.INVALIDATED, Status.ARCHIVED)
UNTOLD = ("updated_at", "access", "stability", "confirmed_at", "layer_held")
"""What an undo leaves on purpose: when it changed, recalls, and that somebody vouches for what aging took."""
LINKED = (GapKind.CONTRADICTION, GapKind.DOUBT)
"""Questions that a link raises; all others are for the next dream to ask."""

places = st.integers(0, 30)
words = st.sampled_from(STATEMENTS)
Step = tuple[str, Any, Any]
steps = st.one_of(
    st.tuples(st.just("remember"), words, st.booleans()),
    st.tuples(st.just("observe"), words, words),
    st.tuples(st.just("correct"), places, words),
    st.tuples(st.just("forget"), places, st.booleans()),
    st.tuples(st.just("pin"), places, st.booleans()),
    st.tuples(st.just("layer"), places, st.sampled_from(list(Layer))),
    st.tuples(st.just("status"), places, st.sampled_from(STATUSES)),
    st.tuples(st.just("restore"), places, st.none()),
    st.tuples(st.just("link"), places, places),
    st.tuples(st.just("feedback"), places, st.booleans()),
    st.tuples(st.just("dream"), st.none(), st.none()),
    st.tuples(st.just("age"), st.none(), st.none()),
)
quick = settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
"""A life takes a second; a failing one is short enough to be read as it is."""


@quick
@given(life=st.lists(steps, min_size=2, max_size=9))
def test_undoing_step_by_step_leads_back_through_every_state(life: list[Step]) -> None:
    """After each undo the memories that count, their fields, links, status and answers are as they were."""
    with opened() as (engram, clock):
        states, counts = [look(engram)], [0]
        for step in life:
            do(engram, clock, step)
            states.append(look(engram))
            counts.append(len(standing(engram)))

        for state, count in zip(reversed(states[:-1]), reversed(counts[:-1]), strict=True):
            while len(acts := standing(engram)) > count:
                clock.advance(minutes=1)
                engram.undo(act=acts[0])
            engram.embed_pending()
            assert differing(state, look(engram), but=untold(life)) == []
        assert engram.doctor().ok


@quick
@given(life=st.lists(steps, min_size=1, max_size=6))
def test_undoing_the_undoing_leads_forward_again(life: list[Step]) -> None:
    """Every undo can be undone, the last one first, and then nothing has been undone."""
    with opened() as (engram, clock):
        for step in life:
            do(engram, clock, step)
        before, undos = look(engram), []
        for act in standing(engram):
            clock.advance(minutes=1)
            undos.append(engram.undo(act=act).act)

        for undo in reversed(undos):
            clock.advance(minutes=1)
            engram.undo(act=undo)

        engram.embed_pending()
        assert differing(before, look(engram), but={"answers", "questions"}) == []
        assert engram.doctor().ok


@contextmanager
def opened() -> Iterator[tuple[Engram, ManualClock]]:
    """A new store, and its clock."""
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db",
            settings=Settings(durability="relaxed"),
            embedder=TinyEmbedder(),
            clock=clock,
            background=False,
        ) as engram,
    ):
        yield engram, clock


def untold(life: list[Step]) -> set[str]:
    """What a life leaves open: a dream settles questions by itself, and asks them again when it is due."""
    return {"questions"} if any(what == "dream" for what, _, _ in life) else set()


def standing(engram: Engram) -> list[str]:
    """The acts that were not undone and are no undo, newest first."""
    return [one.id for one in engram.acts(limit=1000) if one.can_be_undone]


def look(engram: Engram) -> dict[str, Any]:
    """What can be seen: memories in any status, their links, questions, and the answers to some questions."""
    known = {one.id: one for one in engram.list(filters=ANYTHING, limit=1000)}
    return {
        "memories": {memory_id: seen(one) for memory_id, one in known.items()},
        "links": {
            (edge.source, edge.target, edge.type, edge.weight)
            for one in known.values()
            if one.status in BELIEVED
            for edge in engram.links(one.id)
        },
        "answers": {
            (question, hit.memory.id)
            for question in QUESTIONS
            for hit in engram.recall(question, limit=20).hits
        },
        "questions": {gap.id for gap in engram.gaps(limit=100) if gap.kind in LINKED},
    }


def seen(memory: Memory) -> dict[str, Any]:
    """A memory without what an undo leaves on purpose."""
    fields = {name: getattr(memory, name) for name in memory.__struct_fields__}
    return {name: value for name, value in fields.items() if name not in UNTOLD}


def differing(then: dict[str, Any], now: dict[str, Any], *, but: set[str]) -> list[Any]:
    """
    What is not as it was.

    What was stored since and undone is invalidated, and counts for nothing. Where forgetting is done again,
    it also takes its words from what was said in between.
    """
    later = [one for memory_id, one in now["memories"].items() if memory_id not in then["memories"]]
    found: list[Any] = [one for one in later if one["status"] is not Status.INVALIDATED]
    for memory_id, one in then["memories"].items():
        is_now = now["memories"][memory_id]
        found += [
            (name, one[name], is_now[name])
            for name in one
            if one[name] != is_now[name] and FORGOTTEN_WORDS not in str(is_now[name])
        ]
    for name in {"links", "answers"} - but:
        found += [(name, then[name] ^ now[name])] if then[name] != now[name] else []
    return found if "questions" in but else found + sorted(then["questions"] - now["questions"])


def do(engram: Engram, clock: ManualClock, step: Step) -> None:
    """Take one step; what the engine refuses is no step."""
    what, first, second = step
    clock.advance(days=40 if what == "age" else 0, hours=5)
    known = engram.list(filters=ANYTHING, limit=1000)[::-1]
    one = known[first % len(known)].id if known and isinstance(first, int) else ""
    ways: dict[str, Callable[[], object]] = {
        "remember": lambda: engram.remember(first, pinned=second),
        "observe": lambda: [engram.observe(f"{first} {second}", session="s1"), engram.flush()],
        "correct": lambda: engram.correct(one, second),
        "forget": lambda: engram.forget(one, reinstate=second),
        "pin": lambda: engram.pin(one) if second else engram.unpin(one),
        "layer": lambda: engram.promote(one, layer=second),
        "status": lambda: engram.set_status(one, second, reason="it seems so"),
        "restore": lambda: engram.restore(one),
        "link": lambda: link(engram, first, second),
        "feedback": lambda: engram.feedback(one, helpful=second, query=QUESTIONS[0]),
        "dream": engram.dream,
        "age": engram.age,
    }
    with suppress(EngramError):
        ways[what]()
    engram.embed_pending()


def link(engram: Engram, first: int, second: int) -> None:
    """Link two memories that count; now and then they cannot both be true."""
    believed = engram.list(limit=1000)[::-1]
    if believed:
        source, target = (believed[place % len(believed)].id for place in (first, second))
        engram.link(source, target, type=EdgeType.CONTRADICTS if first % 2 else EdgeType.SUPPORTS, weight=0.5)
