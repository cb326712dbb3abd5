"""The mem0-shaped memory: its calls and its answers, with what Engram adds to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Scope, Settings
from engramdb.errors import InvalidContent, InvalidQuery, InvalidScope, MemoryNotFound
from engramdb.integrations.mem0 import AsyncMemory, Memory
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Action, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

RAW: dict[str, Any] = {"user_id": "maya", "infer": False}
TEA = "Maya drinks green tea in the morning"


class Ticking(ManualClock):
    """A clock that goes on whenever it is looked at."""

    def now(self) -> datetime:
        """Return the time, a second later than before."""
        self.advance(seconds=1)
        return super().now()


@pytest.fixture
def memory(engram: Engram) -> Memory:
    """A memory that is called like mem0's."""
    return Memory(engram)


def texts(answer: dict[str, Any]) -> list[str]:
    """Return the words of what was found, in order."""
    return [one["memory"] for one in answer["results"]]


def add(memory: Memory, text: str, **options: Any) -> str:
    """Store a text as it is, and return its id."""
    (result,) = memory.add(text, **{**RAW, **options})["results"]
    return str(result["id"])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A memory with three texts, only to be read."""
    path = tmp_path_factory.mktemp("mem0") / "memory.db"
    opened = Engram.open(
        path, settings=Settings(), clock=ManualClock(), embedder=TinyEmbedder(), background=False
    )
    with opened as engram:
        memory = Memory(engram)
        add(memory, "the drink a", metadata={"topic": "drinks", "n": 1, "tags": ["hot"]})
        add(memory, "the drink b", metadata={"topic": "drinks", "n": 2})
        add(memory, "the car c", metadata={"topic": "cars", "n": 3})
        yield memory


def test_a_text_is_stored_as_it_is_without_inference(memory: Memory) -> None:
    """The answer says what was added, under which id."""
    answer = memory.add(TEA, **RAW, metadata={"topic": "drinks"})

    (result,) = answer["results"]
    assert (result["memory"], result["event"]) == (TEA, "ADD")
    assert memory.get(result["id"]) == {
        "id": result["id"],
        "memory": TEA,
        "hash": "cec954b24c3b6be5aaf11457449335ce",
        "metadata": {"topic": "drinks"},
        "created_at": "2026-01-01T12:00:00+00:00",
        "updated_at": "2026-01-01T12:00:00+00:00",
        "user_id": "maya",
    }


def test_messages_are_stored_one_by_one(memory: Memory) -> None:
    """What the system says is no memory."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": TEA},
        {"role": "assistant", "content": [{"type": "text", "text": "The kettle is blue"}]},
    ]

    assert texts(memory.add(messages, **RAW)) == [TEA, "The kettle is blue"]


def test_with_inference_the_statements_are_read_out(memory: Memory) -> None:
    """A conversation goes in, what it states comes out."""
    answer = memory.add([{"role": "user", "content": "I live in Berlin and I love hiking."}], user_id="maya")

    assert [one["event"] for one in answer["results"]] == ["ADD", "ADD"]
    assert texts(answer) == ["User lives in Berlin", "User loves hiking"]
    assert texts(memory.get_all(user_id="maya")) == texts(answer)


def test_what_has_changed_is_an_update_under_the_same_id(memory: Memory) -> None:
    """The new fact takes the place of the old one; the old one is in the history."""
    (first,) = memory.add("I live in Berlin.", user_id="maya", metadata={"n": 1})["results"]
    (second,) = memory.add("I moved to Lisbon.", user_id="maya", metadata={"m": 2})["results"]

    assert (second["event"], second["id"]) == ("UPDATE", first["id"])
    assert second["previous_memory"] == "User lives in Berlin"
    assert texts(memory.get_all(user_id="maya")) == ["User moved to Lisbon"]
    assert memory.get_all(user_id="maya")["results"][0]["metadata"] == {"n": 1, "m": 2}
    assert [one["event"] for one in memory.history(first["id"])] == ["ADD", "UPDATE"]


def test_the_same_twice_is_one_memory(memory: Memory) -> None:
    """Fifteen inserts of five facts are five facts."""
    ids = {add(memory, TEA) for _ in range(3)}
    memory.add("I live in Berlin.", user_id="maya")
    memory.add("I live in Berlin.", user_id="maya")

    assert len(ids) == 1
    assert texts(memory.get_all(user_id="maya")) == [TEA, "User lives in Berlin"]


def test_search_gives_what_fits_best_first_with_scores(memory: Memory) -> None:
    """`top_k` and `limit` are the same; a threshold leaves out what fits less."""
    for text in (TEA, "The car is red", "Maya drinks coffee at work"):
        add(memory, text)

    found = memory.search("what does Maya drink in the morning?", user_id="maya")

    assert texts(found)[0] == TEA
    scores = [one["score"] for one in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert texts(memory.search("green tea", user_id="maya", top_k=1)) == [TEA]
    assert memory.search("green tea", user_id="maya", threshold=1.01) == {"results": []}


def test_ids_keep_memories_apart(memory: Memory) -> None:
    """A user's memories hold those of every agent and run of theirs; nobody else's."""
    add(memory, "Ann drinks tea", user_id="ann")
    add(memory, "Ann drinks tea with the cook", user_id="ann", agent_id="cook")
    add(memory, "Ann drank tea in this run", user_id="ann", agent_id="cook", run_id="r1")
    add(memory, "Ben drinks tea", user_id="ben")

    assert len(texts(memory.get_all(user_id="ann"))) == 3
    assert len(texts(memory.get_all(agent_id="cook"))) == 2
    assert texts(memory.get_all(user_id="ann", run_id="r1")) == ["Ann drank tea in this run"]
    assert texts(memory.search("who drinks tea?", filters={"user_id": "ben"})) == ["Ben drinks tea"]
    assert texts(memory.get_all(user_id="ben", agent_id="cook")) == []


def test_nobodys_memories_cannot_be_asked_for(memory: Memory) -> None:
    """As in mem0, somebody must be named."""
    for call in (
        lambda: memory.add(TEA),
        lambda: memory.search("tea"),
        memory.get_all,
        memory.delete_all,
    ):
        with pytest.raises(InvalidScope, match="user_id"):
            call()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"topic": "drinks"}, ["a", "b"]),
        ({"topic": "drinks", "n": {"gt": 1}}, ["b"]),
        ({"n": {"gte": 1, "lt": 2}}, ["a"]),
        ({"topic": {"ne": "drinks"}}, ["c"]),
        ({"topic": {"in": ["cars", "boats"]}}, ["c"]),
        ({"topic": {"nin": ["cars", "boats"]}}, ["a", "b"]),
        ({"topic": ["cars"]}, ["c"]),
        ({"topic": {"icontains": "DRINK"}}, ["a", "b"]),
        ({"tags": {"contains": "hot"}}, ["a"]),
        ({"tags": "*"}, ["a"]),
        ({"OR": [{"n": 1}, {"topic": "cars"}]}, ["a", "c"]),
        ({"AND": [{"topic": "drinks"}, {"NOT": [{"n": 1}]}]}, ["b"]),
        ({"created_at": {"gte": "2026-01-01"}}, ["a", "b", "c"]),
        ({"created_at": {"lt": "2026-01-01"}}, []),
    ],
)
def test_filters_look_at_metadata_and_times(
    filled: Memory, filters: dict[str, Any], expected: list[str]
) -> None:
    """With mem0's operators; search and listing agree."""
    listed = filled.get_all(user_id="maya", filters=filters)
    found = filled.search("the drink a b car c", user_id="maya", filters=filters)

    assert [text[-1] for text in texts(listed)] == expected
    assert sorted(text[-1] for text in texts(found)) == expected


def test_an_unknown_filter_is_an_error(memory: Memory) -> None:
    """A typing mistake must not look like an empty answer."""
    add(memory, TEA)

    with pytest.raises(InvalidQuery, match="gtt"):
        memory.get_all(user_id="maya", filters={"n": {"gtt": 1}})


def test_updating_keeps_the_id_and_the_old_words(memory: Memory, engram: Engram, clock: ManualClock) -> None:
    """The correction is what is found from then on."""
    known = add(memory, "The car is red", metadata={"n": 1})
    clock.advance(hours=1)

    memory.update(known, "The car is blue")
    memory.update(known, metadata={"n": 2})

    got = memory.get(known)
    assert got is not None
    assert (got["memory"], got["metadata"]) == ("The car is blue", {"n": 2})
    assert texts(memory.search("which colour has the car?", user_id="maya")) == ["The car is blue"]
    assert [(one["old_memory"], one["new_memory"]) for one in memory.history(known)] == [
        (None, "The car is red"),
        ("The car is red", "The car is blue"),
    ]


def test_deleting_forgets_and_keeps_the_history(memory: Memory, engram: Engram) -> None:
    """Gone from every answer, Engram's own included."""
    known = add(memory, TEA)

    memory.delete(known)

    assert memory.get(known) is None
    assert memory.search("green tea", user_id="maya") == {"results": []}
    assert engram.recall("green tea", scope=Scope(user="maya")).hits == ()
    assert [(one["event"], one["is_deleted"]) for one in memory.history(known)] == [("ADD", 0), ("DELETE", 1)]
    with pytest.raises(MemoryNotFound):
        memory.delete(known)


def test_deleting_what_was_read_from_a_conversation_forgets_it(memory: Memory, engram: Engram) -> None:
    """Also where Engram has read it out of a message."""
    (one,) = memory.add("I live in Berlin.", user_id="maya")["results"]

    memory.delete(one["id"])

    assert memory.get_all(user_id="maya") == {"results": []}
    assert engram.get(one["id"], scope=Scope(user="maya")).status is Status.FORGOTTEN


def test_deleting_all_is_of_one_user_and_reset_of_everybody(memory: Memory, engram: Engram) -> None:
    """What came in through other doors stays."""
    for name in ("ann", "ben", "eve"):
        add(memory, f"{name} drinks tea", user_id=name)
    engram.remember("Eve owns a boat", scope=Scope(user="eve"))

    memory.delete_all(user_id="ann")
    left = [name for name in ("ann", "ben", "eve") if texts(memory.get_all(user_id=name))]
    memory.reset()

    assert left == ["ben", "eve"]
    assert texts(memory.get_all(user_id="ben")) == []
    assert [one.content for one in engram.list(scope=Scope(user="eve"))] == ["Eve owns a boat"]


def test_a_correction_through_another_door_is_seen_here(memory: Memory, engram: Engram) -> None:
    """One memory, however it is reached."""
    known = add(memory, "The meeting room is on the second floor")
    engram.correct(known, "The meeting room is on the ninth floor", scope=Scope(user="maya"))

    assert texts(memory.search("where is the meeting room?", user_id="maya")) == [
        "The meeting room is on the ninth floor"
    ]
    assert len(memory.history(known)) == 2


def test_a_scope_around_all_users_is_kept(engram: Engram) -> None:
    """Two products on one file do not see each other's users."""
    shop, bank = (Memory(engram, scope=Scope(project=name)) for name in ("shop", "bank"))
    known = add(shop, TEA)

    assert texts(bank.get_all(user_id="maya")) == []
    assert bank.get(known) is None
    with pytest.raises(MemoryNotFound):
        bank.history(known)
    with pytest.raises(InvalidScope):
        Memory(engram, scope=Scope(user="ann")).get_all(user_id="ben")


def test_the_engines_own_scope_is_kept_too(store_path: Path, embedder: TinyEmbedder) -> None:
    """Where no other is given."""
    shop = Scope(project="shop")
    with Engram.open(store_path, scope=shop, embedder=embedder, background=False) as engram:
        add(Memory(engram), TEA)

        assert [one.scope for one in engram.list(scope=Scope(project="shop", user="maya"))] == [
            Scope(project="shop", user="maya")
        ]


@pytest.mark.parametrize("messages", [7, [{"content": "no role"}], [{"role": "user", "content": 7}]])
def test_odd_messages_are_refused(memory: Memory, messages: Any) -> None:
    """Before anything is stored."""
    with pytest.raises(InvalidContent):
        memory.add(messages, user_id="maya")


def test_asynchronous_calls_do_the_same(engram: Engram) -> None:
    """In worker threads."""
    memory = AsyncMemory(engram)

    async def live() -> list[Any]:
        added = await memory.add(TEA, **RAW)
        known = added["results"][0]["id"]
        await memory.update(known, "Maya drinks coffee")
        seen = [
            texts(await memory.search("what does Maya drink?", user_id="maya")),
            texts(await memory.get_all(user_id="maya")),
            (await memory.get(known) or {})["memory"],
            len(await memory.history(known)),
        ]
        await memory.delete(known)
        await memory.add(TEA, **RAW)
        await memory.delete_all(user_id="maya")
        await memory.reset()
        return [*seen, await memory.get(known)]

    assert asyncio.run(live()) == [
        ["Maya drinks coffee"],
        ["Maya drinks coffee"],
        "Maya drinks coffee",
        2,
        None,
    ]


@pytest.mark.parametrize("infer", [True, False])
def test_who_says_nothing_is_passed_over(memory: Memory, infer: bool) -> None:
    """Logs of chat models hold calls of tools without words, and speakers that mem0 does not know."""
    messages: list[Any] = [
        {"role": "developer", "content": "Answer briefly."},
        {"role": "user", "content": "I live in Berlin."},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "critic", "content": "I live in Paris."},
        {"role": "user", "content": "  "},
    ]

    answer = memory.add(messages, user_id="maya", infer=infer)

    assert [one.removesuffix(".").split()[-1] for one in texts(answer)] == ["Berlin"]
    assert memory.add("", user_id="maya", infer=infer) == {"results": []}


def test_no_id_is_nobodys_memory(memory: Memory) -> None:
    """A program that lost an id must not read, or delete, whatever comes first."""
    known = add(memory, TEA)

    nothing: Any = None

    for call in (memory.get, memory.delete, memory.history):
        with pytest.raises(InvalidContent):
            call(nothing)

    assert memory.get(known) is not None


def test_ids_may_stand_among_the_filters(memory: Memory) -> None:
    """Also under an AND, as newer programs write them."""
    add(memory, TEA)
    add(memory, "Ben drinks coffee", user_id="ben")

    direct = memory.get_all(filters={"user_id": "maya"})
    joined = memory.get_all(filters={"AND": [{"user_id": "maya"}, {"metadata": None}]})

    assert texts(direct) == texts(joined) == [TEA]


def test_deleting_leaves_what_another_document_says(engram: Engram) -> None:
    """Also outside the scope of the engine itself."""
    scope = Scope(project="shop", user="maya")
    memory = Memory(engram, scope=Scope(project="shop"))
    known = add(memory, TEA)
    engram.documents.put(("notes",), "tea", {}, text=TEA, scope=scope)

    memory.delete_all(user_id="maya")

    assert texts(memory.get_all(user_id="maya")) == []
    assert engram.get(known, scope=scope).status is Status.ACTIVE


def test_deleting_many_is_one_write(store_path: Path, embedder: TinyEmbedder) -> None:
    """Nobody who asks meanwhile sees half of it, and nobody waits for hundreds of writes."""
    messages = [{"role": "user", "content": f"The boat number {n} is blue"} for n in range(5)]
    with Engram.open(store_path, clock=Ticking(), embedder=embedder, background=False) as engram:
        memory = Memory(engram)
        memory.add(messages, **RAW)

        memory.delete_all(user_id="maya")

        forgotten = [event.at for event in engram.audit(limit=50) if event.action is Action.FORGET]
        assert engram.list(scope=Scope(user="maya")) == []
    assert (len(forgotten), len(set(forgotten))) == (5, 1)


def test_saying_it_again_in_a_run_is_no_event(memory: Memory) -> None:
    """What is known already is not added, and keeps its metadata."""
    (added,) = memory.add("I live in Berlin.", user_id="maya", run_id="r1", metadata={"n": 1})["results"]

    again = memory.add("I live in Berlin.", user_id="maya", run_id="r1", metadata={"n": 2})

    assert again == {"results": []}
    assert (memory.get(added["id"]) or {})["metadata"] == {"n": 1}


@pytest.mark.parametrize("is_said", [True, False])
def test_what_another_door_knows_is_added_when_it_is_said_here(
    memory: Memory, engram: Engram, is_said: bool
) -> None:
    """Whoever adds a statement finds it, though Engram knew it before."""
    maya = Scope(user="maya")
    if is_said:
        engram.observe("I live in Berlin.", session="elsewhere", scope=maya)
        engram.flush()
    else:
        engram.remember("User lives in Berlin", scope=maya)

    (added,) = memory.add("I live in Berlin.", user_id="maya")["results"]

    assert [one.id for one in engram.list(scope=maya)] == [added["id"]]
    assert texts(memory.get_all(user_id="maya")) == ["User lives in Berlin"]
