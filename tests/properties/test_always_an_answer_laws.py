"""Whatever is said, dreamt, aged or imported, a question that had an answer keeps having one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram, Scope, Settings
from engramdb.testing import ManualClock
from engramdb.values import Source

Step: TypeAlias = tuple[Any, ...]

ME = Scope(user="me")
QUESTION = "Where do I live?"
STATEMENTS = (
    "I live in Hamburg",
    "I live in Leipzig",
    "I moved to Leipzig",
    "I moved from Leipzig to Hamburg",
    "I no longer live in Hamburg",
    "We live in a small flat these days",
    "My sister lives in Bremen",
)
CITIES = ("Hamburg", "Leipzig")

said = st.sampled_from(STATEMENTS)
steps = st.one_of(
    st.tuples(st.just("remember"), said, st.sampled_from([1, 3])),
    st.tuples(st.just("observe"), said),
    st.tuples(st.just("assistant"), said),
    st.tuples(st.just("import"), said),
    st.tuples(st.just("wait"), st.sampled_from([1, 40, 200])),
    st.tuples(st.just("dream")),
    st.tuples(st.just("age")),
)


def take(engram: Engram, clock: ManualClock, folder: Path, step: Step) -> None:
    """Do one thing that may happen to a store; nobody forgets anything."""
    match step:
        case ("remember", text, times):
            for _ in range(times):
                engram.remember(text, scope=ME)
        case ("observe", text):
            engram.observe(text, scope=ME)
            engram.flush()
        case ("assistant", text):
            engram.remember(text, scope=ME, source=Source.ASSISTANT)
        case ("import", text):
            (folder / "facts.csv").write_text(f"content\n{text}\n", encoding="utf-8")
            engram.import_from(folder / "facts.csv", scope=ME)
        case ("wait", days):
            clock.advance(days=days)
        case ("dream",):
            engram.dream()
        case ("age",):
            engram.age()


@settings(max_examples=25, deadline=None)
@given(st.lists(steps, min_size=2, max_size=9), st.sampled_from(["balanced", "layered", "cortex", "beliefs"]))
def test_no_history_turns_a_known_answer_into_none(history: list[Step], policy: str) -> None:
    """One that named a home keeps being found, the current one or, marked, both sides of a dispute."""
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chosen = Settings(reader="rules", policy=policy)
        with Engram.open(folder / "m.db", settings=chosen, clock=clock, background=False) as engram:
            engram.remember("I live in Hamburg", scope=ME)
            for step in history:
                take(engram, clock, folder, step)

                hits = engram.recall(QUESTION, scope=ME).hits
                assert any(city in hit.memory.content for hit in hits for city in CITIES)
