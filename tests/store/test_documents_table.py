"""The table of documents: exact JSON, found by path, in one scope, until it expires."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from engramdb import Scope
from engramdb.errors import ContentTooLarge
from engramdb.store.contract import DocumentRange
from engramdb.store.sqlite import documents as shelf
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NUMBERS = itertools.count()
ODD = some.sampled_from(["a", "b", 'a"b', "a,b", "[", "]", "ä", "*", "%", "_", " ", "-", ",", "a\\", "\n"])
PLACES = some.lists(ODD, min_size=1, max_size=3).map(tuple)
JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """One store for all examples; every one has a user of its own."""
    place = tmp_path_factory.mktemp("shelf") / "memory.db"
    opened = SqliteStore.open(str(place), now=NOON, is_durable=False)
    yield opened
    opened.close()


@pytest.fixture
def scope() -> Scope:
    """A scope that nobody has used."""
    return Scope(user=f"user {next(NUMBERS)}")


def keys(store: SqliteStore, corner: DocumentRange) -> list[str]:
    """Return the keys of a part of the shelf, in order."""
    with store.read() as tx:
        return [item.key for item in tx.documents.iterate(corner)]


@settings(max_examples=40)
@given(JSON)
def test_a_document_comes_back_as_it_went_in(store: SqliteStore, value: Any) -> None:
    """Large numbers, odd characters and deep nesting are the same afterwards, types included."""
    with store.atomic() as tx:
        tx.documents.put(("exact",), "one", {"v": value}, scope=GLOBAL, now=NOON)
        found = tx.documents.get(("exact",), "one", scope=GLOBAL, now=NOON)

    assert found is not None
    assert repr(found.value) == repr({"v": value})


def test_half_a_surrogate_pair_survives(store: SqliteStore, scope: Scope) -> None:
    """What UTF-8 cannot hold is escaped, not lost: another program's document is not ours to mend."""
    with store.atomic() as tx:
        tx.documents.put(("odd",), "one", {"text": "half \ud800 pair"}, scope=scope, now=NOON)

        (found,) = tx.documents.iterate(DocumentRange(scope=scope, now=NOON))

    assert found.value == {"text": "half \ud800 pair"}


@settings(max_examples=40)
@given(some.lists(PLACES, max_size=6), PLACES)
def test_a_place_holds_what_lies_below_it_and_nothing_else(
    store: SqliteStore, places: list[tuple[str, ...]], prefix: tuple[str, ...]
) -> None:
    """Names are compared whole, whatever characters they have; `a` is not the beginning of `ab`."""
    own = Scope(user=f"user {next(NUMBERS)}")
    with store.atomic() as tx:
        for number, place in enumerate(places):
            tx.documents.put(place, str(number), number, scope=own, now=NOON)

    found = keys(store, DocumentRange(scope=own, now=NOON, place=prefix))

    assert found == [str(n) for n, place in enumerate(places) if place[: len(prefix)] == prefix]


def test_overwriting_keeps_number_and_beginning(store: SqliteStore, scope: Scope) -> None:
    """A document keeps its place in the order when it changes."""
    later = NOON + timedelta(hours=1)
    with store.atomic() as tx:
        for key in ("first", "second"):
            tx.documents.put(("a",), key, 1, scope=scope, now=NOON)
        changed = tx.documents.put(("a",), "first", 2, scope=scope, now=later)

    assert (changed.value, changed.created_at, changed.updated_at) == (2, NOON, later)
    assert keys(store, DocumentRange(scope=scope, now=later)) == ["first", "second"]


def test_what_has_expired_is_on_no_answer(store: SqliteStore, scope: Scope) -> None:
    """The moment counts, and not whether somebody has cleared away since."""
    with store.atomic() as tx:
        tx.documents.put(("a",), "short", 1, scope=scope, now=NOON, lifetime=timedelta(minutes=5))
        tx.documents.put(("b",), "long", 1, scope=scope, now=NOON)
    over = NOON + timedelta(minutes=5)

    with store.read() as tx:
        places = tx.documents.places(DocumentRange(scope=scope, now=over))
        pointers = tx.documents.pointers(DocumentRange(scope=scope, now=over))
        got = tx.documents.get(("a",), "short", scope=scope, now=over)
        latest = tx.documents.latest(DocumentRange(scope=scope, now=over), limit=9)

    assert keys(store, DocumentRange(scope=scope, now=over)) == ["long"]
    assert (places, len(pointers), got, [item.key for item in latest]) == ([("b",)], 1, None, ["long"])


def test_touching_lets_a_lifetime_begin_again(store: SqliteStore, scope: Scope) -> None:
    """Only what has a lifetime is touched."""
    with store.atomic() as tx:
        short = tx.documents.put(("a",), "short", 1, scope=scope, now=NOON, lifetime=timedelta(minutes=5))
        endless = tx.documents.put(("a",), "endless", 1, scope=scope, now=NOON)

        touched = tx.documents.touch([short.id, endless.id], now=NOON + timedelta(minutes=4))

    assert [(item.key, item.expires_at) for item in touched] == [("short", NOON + timedelta(minutes=9))]


def test_a_scope_sees_neither_wider_nor_narrower_documents(store: SqliteStore) -> None:
    """One document is of exactly one scope; who asks for what lies within sees the narrower ones."""
    name = f"project {next(NUMBERS)}"
    wide, narrow = Scope(project=name), Scope(project=name, user="ann")
    beside = Scope(project=f"{name} b", user="ann")
    with store.atomic() as tx:
        for key, scope in (("wide", wide), ("narrow", narrow), ("beside", beside)):
            tx.documents.put(("a",), key, 1, scope=scope, now=NOON)

    assert keys(store, DocumentRange(scope=wide, now=NOON)) == ["wide"]
    assert keys(store, DocumentRange(scope=narrow, now=NOON)) == ["narrow"]
    assert keys(store, DocumentRange(scope=wide, now=NOON, within=True)) == ["wide", "narrow"]
    assert keys(store, DocumentRange(scope=narrow, now=NOON, within=True)) == ["narrow"]


def test_a_document_has_a_largest_size(store: SqliteStore, scope: Scope) -> None:
    """A program gone wild does not fill the file with one call."""
    with store.atomic() as tx, pytest.raises(ContentTooLarge):
        tx.documents.put(("a",), "huge", "x" * shelf.MAX_DOCUMENT_BYTES, scope=scope, now=NOON)

    assert keys(store, DocumentRange(scope=scope, now=NOON)) == []
