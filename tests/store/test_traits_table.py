"""What filters look memories up by is true at every moment, and can be made anew."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb.store.sqlite.edges import fold_path, trait_marks
from engramdb.store.sqlite.filters import FEW_MEMORIES
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL, Filters, Memory, Provenance, Scope, Status, Traits, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRAITS = Traits(
    technologies=("Kubernetes", "C++"),
    paths=("./src/Auth/login.py",),
    language="Python",
    sentiment="positive",
)
TELLING = {
    ("technology", "kubernetes"),
    ("technology", "c++"),
    ("path", "src/auth/login.py"),
    ("language", "python"),
    ("sentiment", "positive"),
    ("speaker", "zoe marin"),
}


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = SqliteStore.open(str(store_path), now=NOW)
    yield opened
    opened.close()


def keep(store: SqliteStore, *, traits: Traits = TRAITS, scope: Scope = GLOBAL) -> tuple[int, Memory]:
    """Store a memory and return it with its key."""
    memory = Memory(
        id=new_id(NOW),
        content="A statement.",
        created_at=NOW,
        updated_at=NOW,
        scope=scope,
        traits=traits,
        provenance=Provenance(speaker="Zoë  Marin"),
    )
    with store.atomic() as tx:
        return tx.memories.add(memory, fingerprint=memory.id.encode()), memory


def entered(store: SqliteStore, key: int) -> set[tuple[str, str]]:
    """Return what a memory can be found by, as it stands in the table."""
    with store.read() as tx:
        rows = tx.traits._connection.execute("SELECT kind, value FROM memory_traits WHERE memory = ?", (key,))
        return {(str(kind), str(value)) for kind, value in rows}


def test_a_memory_is_entered_with_the_write_that_stores_it(store: SqliteStore) -> None:
    """Folded, so that case, accents, `./` and spelling do not count; C++ stays C++."""
    key, _ = keep(store)

    assert entered(store, key) == TELLING


def test_a_changed_memory_is_entered_anew(store: SqliteStore) -> None:
    """What it no longer mentions no longer finds it."""
    key, memory = keep(store)

    with store.atomic() as tx:
        tx.memories.replace(memory.evolve(traits=Traits(technologies=("Rust",))))

    assert entered(store, key) == {("technology", "rust"), ("speaker", "zoe marin")}


def test_a_change_of_something_else_leaves_the_rows_alone(store: SqliteStore) -> None:
    """Pinning or aging a memory does not touch what it is found by."""
    key, memory = keep(store)

    with store.atomic() as tx:
        tx.memories.replace(memory.evolve(pinned=True))

    assert entered(store, key) == TELLING


def test_a_forgotten_memory_is_still_found_among_the_forgotten(store: SqliteStore) -> None:
    """A filter on a status shows the same rows as ever; without it, the memory is out of sight."""
    key, memory = keep(store)
    with store.atomic() as tx:
        tx.memories.replace(memory.evolve(status=Status.FORGOTTEN))

    with store.read() as tx:
        among_active = tx.memories.keys_passing(
            scope=GLOBAL, filters=Filters(technologies=frozenset({"k8s"})), limit=9
        )
        among_forgotten = tx.memories.keys_passing(
            scope=GLOBAL,
            filters=Filters(statuses=frozenset({Status.FORGOTTEN}), technologies=frozenset({"k8s"})),
            limit=9,
        )

    assert (among_active, among_forgotten) == ([], [key])


def test_erasing_leaves_no_word_behind(store: SqliteStore) -> None:
    """The words of an erased memory are not in the table, not even as paths or names."""
    key, memory = keep(store)

    with store.atomic() as tx:
        tx.memories.erase_words(memory.id)

    assert entered(store, key) == set()
    with store.read() as tx:
        assert tx.traits.count_wrong() == 0


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM memory_traits WHERE kind = 'path'",
        "INSERT INTO memory_traits VALUES ('technology', 'cobol', 1)",
        "UPDATE memory_traits SET value = 'java' WHERE value = 'python'",
    ],
)
def test_harm_is_counted_and_mended(store: SqliteStore, harm: str) -> None:
    """A row that is missing, strange or changed shows, and is right again after a rebuild."""
    key, _ = keep(store)
    with store.atomic() as tx:
        tx.traits._connection.execute(harm)
        wrong = tx.traits.count_wrong()

    with store.atomic() as tx:
        rows = tx.traits.rebuild()

    assert wrong > 0
    assert rows == len(TELLING)
    assert entered(store, key) == TELLING


def test_a_file_from_before_the_table_is_filled_once(store: SqliteStore) -> None:
    """An upgraded file says that it is not current, until its memories have been entered."""
    key, _ = keep(store)
    with store.atomic() as tx:
        tx.traits._connection.execute("DELETE FROM memory_traits")
        before = tx.traits.is_current

        tx.traits.rebuild()

        assert (before, tx.traits.is_current) == (False, True)
    assert entered(store, key) == TELLING


def test_keys_come_in_order_or_not_at_all(store: SqliteStore) -> None:
    """All keys that pass, or None as soon as they are more than asked for: never a part of them."""
    keys = [keep(store)[0] for _ in range(4)]
    keep(store, traits=Traits(technologies=("Rust",)))
    wanted = Filters(technologies=frozenset({"kubernetes"}))

    with store.read() as tx:
        assert tx.memories.keys_passing(scope=GLOBAL, filters=wanted, limit=4) == keys
        assert tx.memories.keys_passing(scope=GLOBAL, filters=wanted, limit=3) is None
        assert tx.memories.keys_passing(scope=GLOBAL, filters=Filters(), limit=9) == [*keys, keys[-1] + 1]


def test_a_word_that_everyone_uses_is_not_looked_through(store: SqliteStore) -> None:
    """Where no word of the filters is rare, the keys are not listed, however few would pass."""
    key, _ = keep(store)
    with store.atomic() as tx:
        rows = ((f"lib/{number}.py", key) for number in range(FEW_MEMORIES + 1))
        tx.traits._connection.executemany("INSERT INTO memory_traits VALUES ('path', ?, ?)", rows)

    with store.read() as tx:
        common = Filters(paths=frozenset({"lib"}))
        rare = Filters(paths=frozenset({"lib"}), speakers=frozenset({"zoë marin"}))

        assert tx.memories.keys_passing(scope=GLOBAL, filters=common, limit=9) is None
        assert tx.memories.keys_passing(scope=GLOBAL, filters=rare, limit=9) == [key]


def test_keys_stay_inside_the_scope(store: SqliteStore) -> None:
    """Nobody learns the keys of another's memories by a filter."""
    key, _ = keep(store, scope=Scope(user="ann"))
    wanted = Filters(technologies=frozenset({"kubernetes"}))

    with store.read() as tx:
        assert tx.memories.keys_passing(scope=Scope(user="ann"), filters=wanted, limit=9) == [key]
        assert tx.memories.keys_passing(scope=Scope(user="bob"), filters=wanted, limit=9) == []


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("src/auth.py", "src/auth.py"),
        ("./src//Auth.py", "src/auth.py"),
        ("src/", "src"),
        ("/etc/hosts", "/etc/hosts"),
        ("/", "/"),
        (r"C:\Users\Ann\a.txt", "c:/users/ann/a.txt"),
        ("~/notes", "~/notes"),
    ],
)
def test_a_path_has_one_form(written: str, folded: str) -> None:
    """However its slashes and capitals are written; an absolute path stays absolute."""
    assert fold_path(written) == folded


def test_what_was_not_inferred_is_not_entered() -> None:
    """A bare statement has no marks."""
    assert list(trait_marks(Traits(), None)) == []
