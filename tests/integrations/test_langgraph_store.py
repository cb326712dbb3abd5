"""
The LangGraph store: one set of expectations, held by LangGraph's own store in memory and by ours.

Where LangGraph's stores differ among themselves (what an overwritten item was created at, expired
items), the expectation is of ours alone and says so.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    ListNamespacesOp,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from engramdb import Engram, Scope, Settings
from engramdb.errors import InvalidContent, InvalidScope
from engramdb.integrations.langgraph import EngramStore
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

pytestmark = pytest.mark.xdist_group("langgraph")

NUMBERS = itertools.count()
DOCS = ("docs",)
FRUIT = {"text": "apples and pears grow on trees", "kind": "fruit", "rank": 1}
ROCK = {"text": "granite is a hard rock", "kind": "rock", "rank": 2}
SHIP = {"text": "the ship sails to the harbor", "kind": "ship", "rank": 3}


def embedded(texts: Sequence[str]) -> list[list[float]]:
    """Return vectors for LangGraph's own store, from the embedder that ours has."""
    return [list(map(float, row)) for row in TinyEmbedder().embed_documents(texts)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """One memory for the expectations that both hold; every test has a project of its own in it."""
    path = tmp_path_factory.mktemp("langgraph") / "memory.db"
    with Engram.open(path, settings=Settings(), embedder=TinyEmbedder(), background=False) as opened:
        yield opened


@pytest.fixture(params=["theirs", "ours"])
def store(request: pytest.FixtureRequest, shared: Engram) -> BaseStore:
    """LangGraph's store in memory, and ours."""
    if request.param == "ours":
        return EngramStore(shared, fields=["text"], scope=Scope(project=f"project {next(NUMBERS)}"))
    index: IndexConfig = {"dims": 64, "embed": embedded, "fields": ["text"]}
    return InMemoryStore(index=index)


@pytest.fixture
def ours(engram: Engram) -> EngramStore:
    """Our store alone."""
    return EngramStore(engram)


@pytest.fixture
def filled(store: BaseStore) -> BaseStore:
    """A store with three documents."""
    for key, value in (("fruit", FRUIT), ("rock", ROCK), ("ship", SHIP)):
        store.put(DOCS, key, value)
    return store


def keys(found: Any) -> list[str]:
    """Return the keys of items, in order."""
    return [item.key for item in found]


# --- what both hold --------------------------------------------------------------------------------------


def test_an_item_comes_back_as_it_was_put(store: BaseStore) -> None:
    """Value, key, namespace, and moments that know their zone."""
    value = {"text": "tea", "n": 1, "deep": {"list": [1, 2.5, None, True, "ä"]}}
    store.put(("users", "maya"), "prefs", value)

    item = store.get(("users", "maya"), "prefs")

    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "prefs", ("users", "maya"))
    assert item.created_at.tzinfo is not None
    assert item.updated_at >= item.created_at


def test_what_is_not_there_is_none(store: BaseStore) -> None:
    """Neither an unknown key nor an unknown namespace is an error; deleting it is harmless."""
    assert store.get(("no", "where"), "x") is None
    store.delete(("no", "where"), "x")
    assert store.search(("no", "where")) == []


def test_overwriting_replaces_the_whole_value(store: BaseStore) -> None:
    """Fields are not merged."""
    store.put(DOCS, "a", {"text": "one", "old": True})
    store.put(DOCS, "a", {"text": "two"})

    item = store.get(DOCS, "a")

    assert item is not None
    assert item.value == {"text": "two"}
    assert keys(store.search(DOCS)) == ["a"]


def test_a_deleted_item_is_found_no_more(filled: BaseStore) -> None:
    """Neither by key nor by search, with a query or without."""
    filled.delete(DOCS, "rock")

    assert filled.get(DOCS, "rock") is None
    assert keys(filled.search(DOCS)) == ["fruit", "ship"]
    assert "rock" not in keys(filled.search(DOCS, query="granite is a hard rock"))


def test_a_value_of_none_deletes(filled: BaseStore) -> None:
    """As an operation, deleting is putting nothing."""
    filled.batch([PutOp(DOCS, "rock", None)])

    assert filled.get(DOCS, "rock") is None


def test_the_same_key_in_two_namespaces_is_two_items(store: BaseStore) -> None:
    """A namespace is compared whole: `docs` does not begin `docs2`."""
    store.put(DOCS, "a", {"text": "one"})
    store.put(("docs2",), "a", {"text": "two"})

    assert [item.value for item in store.search(DOCS)] == [{"text": "one"}]


def test_search_without_a_query_goes_in_the_order_of_storing(filled: BaseStore) -> None:
    """Limit and offset page through it; there is no score."""
    assert keys(filled.search(DOCS)) == ["fruit", "rock", "ship"]
    assert keys(filled.search(DOCS, limit=2)) == ["fruit", "rock"]
    assert keys(filled.search(DOCS, limit=2, offset=2)) == ["ship"]
    assert [item.score for item in filled.search(DOCS)] == [None, None, None]


def test_search_covers_everything_below_a_prefix(store: BaseStore) -> None:
    """The empty prefix is everything."""
    for namespace in (("a",), ("a", "b"), ("a", "b", "c"), ("d",)):
        store.put(namespace, "k", {"text": "/".join(namespace)})

    assert [item.namespace for item in store.search(("a", "b"))] == [("a", "b"), ("a", "b", "c")]
    assert len(store.search(())) == 4


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"kind": "rock"}, ["rock"]),
        ({"kind": "rock", "rank": 1}, []),
        ({"rank": {"$eq": 2}}, ["rock"]),
        ({"rank": {"$ne": 2}}, ["fruit", "ship"]),
        ({"rank": {"$gt": 1}}, ["rock", "ship"]),
        ({"rank": {"$gte": 2, "$lt": 3}}, ["rock"]),
        ({"rank": {"$lte": 1}}, ["fruit"]),
        ({"missing": None}, ["fruit", "rock", "ship"]),
        ({"missing": 1}, []),
        ({}, ["fruit", "rock", "ship"]),
    ],
)
def test_filters_compare_fields(filled: BaseStore, condition: dict[str, Any], expected: list[str]) -> None:
    """Every field must fit; operators compare."""
    assert keys(filled.search(DOCS, filter=condition)) == expected


def test_filters_reach_into_objects_and_lists(store: BaseStore) -> None:
    """An object is compared field by field, a list as a whole."""
    store.put(DOCS, "a", {"text": "x", "tags": ["red", "hot"], "by": {"name": "ann", "age": 7}})
    store.put(DOCS, "b", {"text": "y", "tags": ["red"], "by": {"name": "ben", "age": 9}})

    assert keys(store.search(DOCS, filter={"by": {"name": "ben"}})) == ["b"]
    assert keys(store.search(DOCS, filter={"by": {"age": {"$lt": 8}}})) == ["a"]
    assert keys(store.search(DOCS, filter={"tags": ["red"]})) == ["b"]


def test_an_unknown_operator_is_an_error(filled: BaseStore) -> None:
    """A typing mistake must not look like an empty answer."""
    with pytest.raises(ValueError, match="operator"):
        filled.search(DOCS, filter={"rank": {"$near": 2}})


@pytest.mark.parametrize("value", [FRUIT, ROCK, SHIP])
def test_search_by_meaning_puts_what_fits_first(filled: BaseStore, value: dict[str, Any]) -> None:
    """Best first, with scores that fall."""
    found = filled.search(DOCS, query=str(value["text"]))

    assert found[0].key == value["kind"]
    assert len(found) == 3
    scores = [item.score or 0.0 for item in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.5


def test_search_by_meaning_takes_filters_limit_and_offset(filled: BaseStore) -> None:
    """A filter counts before the limit does."""
    query = "granite is a hard rock"

    assert keys(filled.search(DOCS, query=query, limit=1)) == ["rock"]
    assert keys(filled.search(DOCS, query=query, filter={"rank": {"$ne": 2}}, limit=9))[:1] != ["rock"]
    assert "rock" not in keys(filled.search(DOCS, query=query, offset=1))


def test_an_item_that_is_not_indexed_comes_last_without_a_score(filled: BaseStore) -> None:
    """`index=False` keeps it out of the ranking, not out of the store."""
    filled.put(DOCS, "mute", {"text": "granite is a hard rock"}, index=False)

    found = filled.search(DOCS, query="granite is a hard rock")

    assert keys(found)[0] == "rock"
    assert (found[-1].key, found[-1].score) == ("mute", None)
    assert filled.get(DOCS, "mute") is not None


def test_an_item_may_name_the_fields_that_count(store: BaseStore) -> None:
    """Paths reach into lists; the store's own fields do not count then."""
    value = {"text": "nothing of it", "chapters": [{"title": "apples"}, {"title": "granite and marble"}]}
    store.put(DOCS, "book", value, index=["chapters[*].title"])
    store.put(DOCS, "other", {"text": "ships sail far away"})

    assert store.search(DOCS, query="granite and marble")[0].key == "book"


def test_overwriting_changes_what_is_found(store: BaseStore) -> None:
    """The old words fit no more."""
    store.put(DOCS, "a", {"text": "apples and pears"})
    store.put(DOCS, "b", {"text": "a stone bridge"})
    store.put(DOCS, "a", {"text": "clouds in the sky"})

    now, before = (store.search(DOCS, query=text) for text in ("clouds in the sky", "apples and pears"))
    old = next(item for item in before if item.key == "a")

    assert now[0].key == "a"
    assert (old.score or 0) < 0.3


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: BaseStore) -> None:
    """`*` stands for any one name; what is cut to the same depth is listed once; pages keep order."""
    for namespace in (("a", "x", "f"), ("a", "y", "f"), ("a", "y", "g"), ("b", "x", "f")):
        store.put(namespace, "k", {"text": "t"})

    assert store.list_namespaces(prefix=("a",)) == [("a", "x", "f"), ("a", "y", "f"), ("a", "y", "g")]
    assert store.list_namespaces(suffix=("f",)) == [("a", "x", "f"), ("a", "y", "f"), ("b", "x", "f")]
    assert store.list_namespaces(prefix=("*", "x")) == [("a", "x", "f"), ("b", "x", "f")]
    assert store.list_namespaces(prefix=("a",), suffix=("y", "*")) == [("a", "y", "f"), ("a", "y", "g")]
    assert store.list_namespaces(max_depth=2) == [("a", "x"), ("a", "y"), ("b", "x")]
    assert store.list_namespaces(max_depth=1, offset=1) == [("b",)]
    assert store.list_namespaces(limit=1) == [("a", "x", "f")]
    assert store.list_namespaces(prefix=("a", "x", "f", "deeper")) == []


def test_reads_of_a_batch_see_the_store_before_its_writes(filled: BaseStore) -> None:
    """Results stand where their operations stood; of two writes to one key the last one counts."""
    results = filled.batch(
        [
            PutOp(DOCS, "new", {"text": "first"}),
            GetOp(DOCS, "new"),
            SearchOp(DOCS, limit=10),
            ListNamespacesOp(),
            PutOp(DOCS, "new", {"text": "second"}),
            PutOp(DOCS, "fruit", None),
        ]
    )

    assert results[0] is None
    assert results[1] is None
    assert keys(results[2]) == ["fruit", "rock", "ship"]
    assert results[3] == [DOCS]
    assert [item.value["text"] for item in filled.search(DOCS)][-1] == "second"
    assert filled.get(DOCS, "fruit") is None


def test_namespaces_that_langgraph_refuses_are_refused(store: BaseStore) -> None:
    """Its own checks stand before ours."""
    for namespace in ((), ("a.b",), ("langgraph",), ("",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"text": "t"})


def test_everything_works_from_an_event_loop(store: BaseStore) -> None:
    """The asynchronous calls do what the others do."""

    async def live() -> tuple[Any, ...]:
        await store.aput(DOCS, "a", {"text": "granite is a hard rock"})
        await store.aput(DOCS, "b", {"text": "apples and pears"})
        got = await store.aget(DOCS, "a")
        found = await store.asearch(DOCS, query="granite is a hard rock")
        listed = await store.alist_namespaces()
        await store.adelete(DOCS, "a")
        return got, found, listed, await store.aget(DOCS, "a")

    got, found, listed, gone = asyncio.run(live())

    assert got.value == {"text": "granite is a hard rock"}
    assert (keys(found)[0], listed, gone) == ("a", [DOCS], None)


class State(TypedDict):
    """What the graph of the next test hands on."""

    said: str
    known: list[str]


def test_a_compiled_graph_uses_it(store: BaseStore) -> None:
    """A node remembers, the next one finds."""

    def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        store.put(("memories", "maya"), "1", {"text": state["said"]})
        return {}

    def recall(state: State, *, store: BaseStore) -> dict[str, Any]:
        found = store.search(("memories",), query="who drinks green tea?")
        return {"known": [item.value["text"] for item in found]}

    graph = StateGraph(State)
    graph.add_node("remember", remember)
    graph.add_node("recall", recall)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", "recall")
    graph.add_edge("recall", END)

    end = graph.compile(store=store).invoke({"said": "Maya drinks green tea", "known": []})

    assert end["known"] == ["Maya drinks green tea"]


# --- what ours holds beyond ------------------------------------------------------------------------------


def test_items_outlive_the_process(store_path: Path, embedder: TinyEmbedder) -> None:
    """What was put is in the file, with its meaning."""
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        EngramStore(engram).put(DOCS, "rock", ROCK)
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        found = EngramStore(engram).search(DOCS, query="granite is a hard rock")

    assert [item.value for item in found] == [ROCK]


class Watched(TinyEmbedder):
    """An embedder that notes in which threads it works."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        self.threads.add(threading.get_ident())
        return super().embed_documents(texts)


def test_the_event_loop_goes_on_meanwhile(store_path: Path) -> None:
    """The engine works in another thread, for writing and for searching."""
    embedder = Watched()
    with Engram.open(store_path, embedder=embedder, background=False) as engram:
        ours = EngramStore(engram)

        asyncio.run(ours.aput(DOCS, "rock", ROCK))
        asyncio.run(ours.asearch(DOCS, query="granite"))

    assert embedder.threads
    assert threading.get_ident() not in embedder.threads


def test_an_overwritten_item_keeps_the_day_it_was_created(ours: EngramStore, clock: ManualClock) -> None:
    """As in LangGraph's stores on a database."""
    ours.put(DOCS, "a", {"text": "one"})
    clock.advance(hours=1)
    ours.put(DOCS, "a", {"text": "two"})

    item = ours.get(DOCS, "a")

    assert item is not None
    assert (item.updated_at - item.created_at).total_seconds() == 3600


def test_items_expire_and_reading_keeps_them(ours: EngramStore, clock: ManualClock) -> None:
    """A lifetime counts from the last use, unless a reader says not to refresh it."""
    for key in ("read", "peeked", "left"):
        ours.put(DOCS, key, {"text": key}, ttl=10)
    ours.put(DOCS, "endless", {"text": "endless"})
    clock.advance(minutes=6)
    ours.get(DOCS, "read")
    ours.get(DOCS, "peeked", refresh_ttl=False)
    clock.advance(minutes=6)

    assert keys(ours.search(DOCS)) == ["read", "endless"]
    assert ours.get(DOCS, "left") is None


def test_the_stores_own_lifetime_counts_where_an_item_has_none(engram: Engram, clock: ManualClock) -> None:
    """`ttl` of the store is LangGraph's configuration; None for one item means for ever."""
    store = EngramStore(engram, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(DOCS, "usual", {"text": "usual"})
    store.put(DOCS, "endless", {"text": "endless"}, ttl=None)
    clock.advance(minutes=6)
    store.search(DOCS)
    clock.advance(minutes=6)

    assert keys(store.search(DOCS)) == ["endless"]
    assert store.list_namespaces() == [DOCS]


def test_every_other_door_knows_what_was_put(ours: EngramStore, engram: Engram) -> None:
    """An item's own text becomes a memory; overwriting corrects it, deleting forgets it."""
    ours.put(("memories", "maya"), "1", {"content": "Maya drinks green tea", "score": 3})
    (known,) = engram.recall("what does Maya drink?").hits
    ours.put(("memories", "maya"), "1", {"content": "Maya drinks black coffee", "score": 3})
    (changed,) = engram.recall("what does Maya drink?").hits
    ours.delete(("memories", "maya"), "1")

    assert known.memory.content == "Maya drinks green tea"
    assert changed.memory.content == "Maya drinks black coffee"
    assert engram.get(changed.memory.id).status is Status.FORGOTTEN


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"text": "Maya drinks tea", "kind": "taste"}, "Maya drinks tea"),
        ({"kind": "Memory", "content": {"content": "Maya drinks tea"}}, "Maya drinks tea"),
        ({"theme": "dark", "font_size": 12}, "theme: dark; font size: 12"),
        (
            {"facts": ["Tom plays chess", {"pet": "dog"}], "is_new": True},
            "facts: Tom plays chess, pet: dog; is new: yes",
        ),
        ({"memory": ["one", "two"]}, "one, two"),
        ({"text": "", "note": "see below"}, "note: see below"),
        ({"nothing": None, "empty": []}, None),
    ],
)
def test_what_an_item_says_is_put_into_words(
    ours: EngramStore, engram: Engram, value: dict[str, Any], words: str | None
) -> None:
    """Its own text where it has one; otherwise every value with its name."""
    ours.put(DOCS, "a", value)

    assert [memory.content for memory in engram.list()] == ([] if words is None else [words])


def test_a_store_with_scopes_keeps_users_apart(engram: Engram) -> None:
    """The store finds everybody's items; Engram's own recall sees those of its user alone."""
    store = EngramStore(engram, scope_of=lambda names: Scope(user=names[1]))
    store.put(("memories", "ann"), "1", {"text": "Ann drinks green tea"})
    store.put(("memories", "ben"), "1", {"text": "Ben drinks green tea"})

    theirs = engram.recall("who drinks tea?", scope=Scope(user="ann")).hits
    found = store.search(("memories",), query="who drinks green tea?")

    assert [hit.memory.content for hit in theirs] == ["Ann drinks green tea"]
    assert engram.recall("who drinks tea?").hits == ()
    assert {item.namespace for item in found} == {("memories", "ann"), ("memories", "ben")}
    assert store.get(("memories", "ben"), "1") is not None
    assert store.list_namespaces(max_depth=1) == [("memories",)]


def test_a_scope_outside_the_stores_own_is_refused(engram: Engram) -> None:
    """A mistake in `scope_of` must not write into somebody else's project."""
    store = EngramStore(engram, scope=Scope(project="shop"), scope_of=lambda _: Scope(user="ann"))

    with pytest.raises(InvalidScope):
        store.put(DOCS, "a", {"text": "x"})


def test_what_json_cannot_hold_is_an_error(ours: EngramStore) -> None:
    """Nothing is stored that would come back as something else."""
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"inner": [deep]}
    for value in ({"when": object()}, {"deep": deep}, {"text": {1: "one"}}):
        with pytest.raises(InvalidContent):
            ours.put(DOCS, "a", value)
    with pytest.raises(InvalidContent):
        ours.put(DOCS, "a", {"text": "x"}, index="text")  # type: ignore[arg-type]

    assert ours.search(DOCS) == []


@pytest.mark.parametrize("ttl", [float("nan"), float("inf"), 1e12])
def test_a_lifetime_that_no_clock_knows_is_an_error(ours: EngramStore, ttl: float) -> None:
    """It names the lifetime, and nothing is stored."""
    with pytest.raises(InvalidContent, match="ttl="):
        ours.put(DOCS, "a", FRUIT, ttl=ttl)

    assert ours.search(DOCS) == []


def test_a_cancelled_batch_has_ended_its_write_when_it_returns(ours: EngramStore, engram: Engram) -> None:
    """Whoever cancels a node and looks at the store sees what it will stay."""
    is_held, go_on = threading.Event(), threading.Event()

    def hold_the_store() -> None:
        with engram._parts.store.atomic():
            is_held.set()
            go_on.wait(30)

    async def interrupted() -> Any:
        holder = asyncio.ensure_future(asyncio.to_thread(hold_the_store))
        await asyncio.to_thread(is_held.wait)
        task = asyncio.ensure_future(ours.aput(DOCS, "a", FRUIT))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = ours.get(DOCS, "a")
        await holder
        return found

    found = asyncio.run(interrupted())

    assert found is not None
    assert found.value == FRUIT
