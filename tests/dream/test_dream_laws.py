"""What holds for every dream over every store, and wherever it is interrupted."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.dream.run import dream
from engramdb.errors import StoreClosed
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import Edge, EdgeType, Provenance, Scope, Status

from .dreamt import NOW, put, runner, stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engramdb.values import Memory

POOL = (
    *("I like green tea", "I really like green tea", "I love green tea", "I like green tea with lemon"),
    *("I still like green tea with honey", "I don't like green tea", "I like tea"),
    *("I have a dog", "I have a cat", "My sister has a dog", "I really have a dog"),
    *("I prefer tabs over spaces", "I prefer spaces over tabs", "I live in Berlin", "I reside in Berlin"),
    *("My editor is vim", "My editor is now Helix", "The API uses JWT tokens"),
)
SCOPES = (Scope(), Scope(project="p"), Scope(project="p", user="u"))
STEPS = ("merge", "contradictions", "patterns", "prune")
GONE = (Status.SUPERSEDED, Status.FORGOTTEN, Status.INVALIDATED)

sayings = st.tuples(
    st.sampled_from(POOL),
    st.integers(0, 1),
    st.fixed_dictionaries(
        {
            "pinned": st.sampled_from([False] * 5 + [True]),
            "confidence": st.sampled_from([0.3, 0.6, 1.0]),
            "reinforcements": st.integers(0, 3),
            "turns": st.lists(st.sampled_from(["t1", "t2", "t3", "t4"]), unique=True, max_size=3),
            "status": st.sampled_from([Status.ACTIVE] * 8 + list(GONE)),
        }
    ),
)
lives = st.tuples(
    st.lists(sayings, min_size=2, max_size=14, unique_by=lambda one: one[:2]),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=4),
    st.sampled_from(["balanced", "notebook", "layered"]),
)


class Killed(BaseException):
    """The process is no more."""


class MortalStore:
    """A store that dies in its so manyeth write, just before it is durable or just after."""

    def __init__(self, store: Any, *, dies_in: int, is_late: bool) -> None:
        self._store = store
        self._left = dies_in
        self._is_late = is_late

    @contextmanager
    def atomic(self) -> Iterator[Any]:
        """Open a write."""
        self._left -= 1
        if self._left < 0:
            raise StoreClosed("the process is no more")
        with self._store.atomic() as tx:
            yield tx
            if self._left == 0 and not self._is_late:
                raise Killed
        if self._left == 0:
            raise Killed

    def read(self) -> Any:
        """Open a snapshot."""
        return self._store.read()

    def one_act(self, *arguments: Any, **options: Any) -> Any:
        """Let what is written be one act."""
        return self._store.one_act(*arguments, **options)


@contextmanager
def lived(life: Any) -> Iterator[SqliteStore]:
    """A store that holds these statements and contradictions."""
    said, quarrels, _ = life
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore.open(str(Path(folder) / "memory.db"), now=NOW, is_durable=False)
        kept = [tell(store, *one) for one in said]
        with store.atomic() as tx:
            for one, other in quarrels:
                if one < other < len(kept) and kept[one].scope == kept[other].scope:
                    tx.edges.add(contradiction(kept[other], kept[one]))
        yield store
        store.close()


def tell(store: SqliteStore, content: str, number: int, drawn: dict[str, Any]) -> Memory:
    """Store one statement as it was drawn."""
    fields = dict(drawn)
    made = Provenance(turns=tuple(fields.pop("turns")))
    return put(store, content, scope=SCOPES[number], provenance=made, **fields)


def contradiction(new: Memory, old: Memory) -> Edge:
    """What capture leaves behind."""
    return Edge(source=new.id, target=old.id, type=EdgeType.CONTRADICTS, weight=1.0, created_at=NOW)


def told(store: SqliteStore) -> dict[str, Memory]:
    """All memories of all scopes, by id."""
    return stored(store, SCOPES[2])


def state(store: SqliteStore) -> list[Any]:
    """Where everything stands, without what differs between two stores that say the same."""
    memories = told(store)
    return sorted(
        (
            *(str(one.scope), one.content, one.status, one.layer, one.reinforcements),
            *(round(one.confidence, 6), sorted(one.provenance.turns)),
            sorted(memories[id_].content for id_ in one.provenance.episodes),
            memories[one.superseded_by].content if one.superseded_by else "",
        )
        for one in memories.values()
    )


@settings(max_examples=25)
@given(lives)
def test_a_second_dream_changes_nothing(life: Any) -> None:
    """What there was to do has been done."""
    with lived(life) as store:
        dream(runner(store, policy=life[2], steps=STEPS))
        before = told(store)

        report = dream(runner(store, policy=life[2], steps=STEPS))
        rehearsal = dream(runner(store, policy=life[2], steps=STEPS, dry_run=True))

        assert told(store) == before
        assert (report.changed, rehearsal.changed) == (0, 0)


@settings(max_examples=25)
@given(lives)
def test_nothing_is_lost_and_nothing_leaves_its_place(life: Any) -> None:
    """Pinned stays, gone stays gone, scopes and words stay, and all evidence can still be reached."""
    with lived(life) as store:
        before = told(store)

        dream(runner(store, policy=life[2], steps=STEPS))

        after = told(store)
    for id_, old in before.items():
        new = after[id_]
        assert (new.content, new.scope) == (old.content, old.scope)
        if old.pinned or old.status in GONE:
            assert new.status is old.status
        assert set(old.provenance.turns) <= evidence_of(new, after)
    for new in after.values():
        linked = [after[one].scope for one in (*new.provenance.episodes, new.superseded_by) if one]
        assert set(linked) <= {new.scope}


def evidence_of(memory: Memory, known: dict[str, Memory]) -> set[str]:
    """The turns behind what stands for a memory now."""
    while memory.status is Status.MERGED and memory.superseded_by is not None:
        memory = known[memory.superseded_by]
    return set(memory.provenance.turns)


@settings(max_examples=25)
@given(lives, st.integers(1, 12), st.booleans())
def test_a_dream_that_was_killed_ends_as_if_nothing_had_happened(
    life: Any, dies_in: int, is_late: bool
) -> None:
    """Killed in any write, before or after it counts, and run again, it comes to the same."""
    with lived(life) as whole, lived(life) as broken:
        dream(runner(whole, policy=life[2], steps=STEPS))
        mortal: Any = MortalStore(broken, dies_in=dies_in, is_late=is_late)
        with suppress(Killed):
            dream(runner(mortal, policy=life[2], steps=STEPS))

        report = dream(runner(broken, policy=life[2], steps=STEPS))

        assert report.finished
        assert state(broken) == state(whole)
