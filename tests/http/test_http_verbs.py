"""Every verb of the engine over HTTP: the library's own values, in the scope that was named."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import pytest
from surfaces.in_process import client_of, opened, post, read, talking

from engramdb import Engram
from engramdb.capture.agents import AgentCapture
from engramdb.http.app import create_app
from engramdb.lifecycle.drafts import Draft
from engramdb.values import Gap, GapKind, Scope
from engramdb.verbs.memories import Statement
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Request, Route, ScopedRequest, Verb, about, fields_of, withdraw
from engramdb.verbs.verb import verb as declare

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from engramdb.testing import ManualClock

OUTSIDE = {
    "open": "makes the engine",
    "close": "ends it",
    "turn": "lasts while a model thinks: `context` before it and `observe` after it",
    "shown_to": "the server itself shows each caller what it may see",
    "remember_stream": "lazy, for Python; `remember_many` takes the same drafts",
    "rebuild": "for whoever sits at the machine",
    "embed_pending": "the server does it by itself",
    "judge_pending": "the server does it by itself, and `enrich` does it at once",
    "enrich": "the server does it by itself",
    "schedule": "the server does it by itself",
    "changes": "told by the stream of events",
    "backup": "for whoever sits at the machine",
    "export": "for whoever sits at the machine; a program reads the list page by page",
    "registered_export": "works on files of the machine",
    "notebook_sync": "works on folders of the machine",
    "notebook_mark": "works on folders of the machine",
    "hear": "for the hooks of agents",
    "read_due": "for the hooks of agents",
    "questions_about": "for the hooks of agents; a context brings them up by itself",
    "note_success": "for the hooks of agents",
    "note_failures": "for the hooks of agents",
    "note_denial": "for the surfaces themselves",
    "note_token": "for the surfaces themselves",
}
"""Verbs that no route has, and why."""
NAMED_OTHERWISE = {"import_from": "import_text", "relate": "link", "unrelate": "unlink"}
NO_FIELDS = {
    "self",
    "expected_version",
    "progress",
    "may_enter",
    "recalled",
    "counter",
    "fix",
    "salvage",
    "actor",
    "exact",
}
"""Arguments of the engine that cannot travel or that a header carries; a server knows who acts."""


@pytest.fixture
def talk(tmp_path: Path, clock: ManualClock) -> Iterator[tuple[Engram, TestClient]]:
    """An engine that keeps the test's time, and a client of it."""
    with talking(tmp_path / "served", clock) as pair:
        yield pair


@pytest.fixture
def client(talk: tuple[Engram, TestClient]) -> TestClient:
    """The client alone."""
    return talk[1]


@pytest.fixture
def engram(talk: tuple[Engram, TestClient]) -> Engram:
    """The engine alone."""
    return talk[0]


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a store with one memory, for requests that must change nothing."""
    with talking(tmp_path_factory.mktemp("still")) as (engram, client):
        engram.remember("Tea is nice")
        yield client


def plain(value: object) -> Any:
    """Return a value as JSON gives it back."""
    return msgspec.json.decode(msgspec.json.encode(value))


def test_no_verb_is_forgotten(client: TestClient) -> None:
    """What the library can do, a program in another language can do, but for what is named here."""
    verbs, doors = (
        {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
        for kind in (Engram, AgentCapture)
    )
    described = client.get("/openapi.json").json()["paths"].values()
    routes = {told["operationId"] for methods in described for told in methods.values()}

    missing = {NAMED_OTHERWISE.get(name, name) for name in verbs - set(OUTSIDE)} - routes

    assert missing == set()
    assert {f"capture_{name}" for name in doors} <= routes


OFFERED = {name: verb for name, verb in VERBS.items() if verb.http}
OWN_CALLS = {"remember_many", "import_text", "working_memory"}
"""Verbs whose fields are not the engine's arguments."""


@pytest.mark.parametrize("verb", [one for name, one in OFFERED.items() if name not in OWN_CALLS], ids=str)
def test_every_option_of_a_verb_can_be_sent(verb: Verb) -> None:
    """An option that is added to the engine cannot be forgotten here; only functions cannot travel."""
    owner = AgentCapture if verb.method.startswith("capture.") else Engram
    takes = set(inspect.signature(getattr(owner, verb.method.rpartition(".")[2])).parameters)

    fields = {one.engine_name for one in fields_of(verb.request) if one.is_on("http")}

    assert fields == takes - NO_FIELDS


def test_every_condition_of_a_verb_can_be_sent(client: TestClient) -> None:
    """What the library does only if a memory still is as it was seen, a request does by `If-Match`."""
    taking = {
        name
        for name, verb in inspect.getmembers(Engram, inspect.isfunction)
        if "expected_version" in inspect.signature(verb).parameters and not name.startswith("_")
    }
    described = client.get("/openapi.json").json()["paths"].values()
    told = [one for methods in described for one in methods.values()]

    named = {
        one["operationId"]
        for one in told
        if any(parameter["name"].lower() == "if-match" for parameter in one.get("parameters", []))
    }

    assert named == {NAMED_OTHERWISE.get(name, name) for name in taking}
    assert named == {one["operationId"] for one in told if "412" in one["responses"]}


def test_what_is_said_becomes_a_memory(client: TestClient) -> None:
    """Observe, see the turn, read it now, end the session, recall."""
    turn = post(
        client, "observe", content="I switched from vim to Helix last week", session="s1", speaker="Ada"
    )

    listed = read(client, "turns", session="s1")
    flushed = post(client, "flush", session="s1")
    ended = post(client, "end_session", session="s1")
    answer = post(client, "recall", query="Helix", limit=1)

    assert listed == [turn]
    assert (turn["role"], turn["speaker"]) == ("user", "Ada")
    assert set(flushed) == {"turns"}
    assert ended is None
    assert "Helix" in answer["hits"][0]["memory"]["content"]


def test_many_statements_go_in_at_once(client: TestClient, engram: Engram) -> None:
    """In their order, into one scope, each as it would be by itself; twice adds nothing."""
    statements: list[dict[str, Any]]
    statements = [{"content": f"Fact number {number}", "category": "fact"} for number in range(5)]
    statements[2] |= {"pinned": True, "source": "assistant", "speaker": "Otto"}

    first = post(client, "remember_many", statements=statements, scope={"user": "ada"})
    again = post(client, "remember_many", statements=statements, scope={"user": "ada"})

    assert [one["content"] for one in first] == [one["content"] for one in statements]
    assert first[2]["pinned"]
    assert first[2]["provenance"]["speaker"] == "Otto"
    assert [one["id"] for one in again] == [one["id"] for one in first]
    assert len(engram.list(scope=Scope(user="ada"))) == 5
    assert engram.list() == []


def test_one_bad_statement_among_many_is_named(client: TestClient) -> None:
    """By its place where its form is wrong; an empty list is no request."""
    bad = [{"content": "x"}, {"content": "y", "colour": "red"}]

    misspelt = client.post("/v1/remember_many", json={"statements": bad})
    empty = client.post("/v1/remember_many", json={"statements": []})

    assert misspelt.status_code == empty.status_code == 422
    assert "statements.1.colour" in misspelt.json()["message"]


def test_the_life_of_one_memory(client: TestClient) -> None:
    """Pin, unpin, archive, bring back, and read all of it in the history."""
    memory = post(client, "remember", content="Tea is nice")
    one = {"id": memory["id"]}

    states = [
        post(client, "pin", **one)["pinned"],
        post(client, "unpin", **one)["pinned"],
        post(client, "set_status", **one, status="archived", reason="tidy")["status"],
        post(client, "set_status", **one, status="active", reason="still true")["status"],
    ]
    told = read(client, f"memories/{memory['id'][-8:]}/history")

    assert states == [True, False, "archived", "active"]
    assert [event["action"] for event in told][-4:] == ["pin", "unpin", "set_status", "set_status"]
    assert told[-1]["reason"] == "still true"


def test_memories_are_related(client: TestClient) -> None:
    """The link is told from both ends, taken away once, and never joins a memory to itself."""
    tea = post(client, "remember", content="Ada drinks tea at four")["id"]
    four = post(client, "remember", content="The kettle whistles in the afternoon")["id"]

    edge = post(client, "relate", id=tea, other=four[-8:], type="supports", weight=0.5, reason="seen")
    ends = [read(client, f"memories/{one}/links") for one in (tea, four)]
    gone = [post(client, "unrelate", id=tea, other=four, type="supports")["was_there"] for _ in range(2)]
    loop = client.post("/v1/relate", json={"id": tea, "other": tea})

    assert (edge["source"], edge["target"], edge["weight"]) == (tea, four, 0.5)
    assert edge in ends[0]
    assert edge in ends[1]
    assert gone == [True, False]
    assert (loop.status_code, loop.json()["code"][:2]) == (409, "E5")


def test_erasing_can_be_tried_first(client: TestClient, engram: Engram) -> None:
    """A rehearsal counts and changes nothing; the real one leaves no word."""
    memory = post(client, "remember", content="Ada's secret", scope={"user": "ada"})

    tried = post(client, "erase", user="ada", dry_run=True)
    still = engram.get(memory["id"], scope=Scope(user="ada")).content
    done = post(client, "erase", user="ada", reason="asked to be forgotten")

    assert tried["memories"] == done["memories"] == [memory["id"]]
    assert (tried["dry_run"], done["dry_run"], done["is_file_clean"]) == (True, False, True)
    assert still == "Ada's secret"
    assert "secret" not in client.get("/v1/memories", params={"user": "ada"}).text


def test_a_text_is_imported_once(client: TestClient) -> None:
    """A rehearsal counts, the import adds, a second one adds nothing, and the origin is known."""
    sent = {"name": "kitchen.md", "text": "# Kitchen\n\nMaya is allergic to peanuts.\n"}

    tried = post(client, "import", **sent, dry_run=True)
    first = post(client, "import", **sent)
    second = post(client, "import", **sent)
    (memory,) = read(client, "memories")
    origin = read(client, f"memories/{memory['id']}/origin")

    assert (tried["dry_run"], tried["added"], first["added"], second["added"]) == (True, 1, 1, 0)
    assert origin["kind"] == "markdown"
    assert "kitchen.md" in str(origin)


@pytest.mark.parametrize(
    "name", ["../x.md", "/etc/x.md", "a/b.md", ".hidden", "", "a\\b.md", "x" * 200, "x\n"]
)
def test_an_import_s_name_is_no_path(still: TestClient, name: str) -> None:
    """A name cannot lead out of the folder that it is read in."""
    answer = still.post("/v1/import", json={"name": name, "text": "Tea is nice."})

    assert answer.status_code == 422


def test_a_prompt_is_ready_to_be_sent(client: TestClient) -> None:
    """The window with its text and its messages, from a given history, within a budget."""
    post(client, "remember", content="The otter server runs Debian 12")
    history = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]

    window = post(
        client,
        "context",
        message="upgrade the otter server",
        history=history,
        fixed=["You are Otto."],
        budget=900,
    )

    assert window["text"].startswith("You are Otto.")
    assert window["text"].endswith("upgrade the otter server")
    assert "Debian 12" in window["text"]
    assert window["messages"][-1]["role"] == "user"
    assert window["tokens"] <= window["budget"] == 900


def test_reasoning_gives_evidence_without_a_model(client: TestClient) -> None:
    """There is no answer, and `why` says so."""
    memory = post(client, "remember", content="The otter server runs Debian 12")

    reasoned = post(client, "reason", question="What does the otter server run?", depth=1)

    assert (reasoned["is_answered"], reasoned["answer"]) == (False, None)
    assert reasoned["why"]
    assert reasoned["evidence"][0]["memory"]["id"] == memory["id"]


def test_a_dream_can_be_tried_and_told(client: TestClient) -> None:
    """A rehearsal leaves no report behind, a dream does; unknown steps are refused."""
    post(client, "remember", content="Tea is nice")

    tried = post(client, "dream", dry_run=True, steps=["merge"])
    before = read(client, "dreams")
    done = post(client, "dream", steps=["gaps", "merge"])
    after = read(client, "dreams")
    unknown = client.post("/v1/dream", json={"steps": ["snore"]})

    assert (tried["dry_run"], before) == (True, [])
    assert [step["step"] for step in done["steps"]] == ["merge", "gaps"]
    assert done["changed"] == 0
    assert [report["started_at"] for report in after] == [done["started_at"]]
    assert (unknown.status_code, unknown.json()["code"]) == (422, "E2004")


def test_what_was_never_merged_is_not_taken_apart(still: TestClient) -> None:
    """With a conflict, and the reason."""
    (memory,) = read(still, "memories")

    answer = still.post("/v1/unmerge", json={"id": memory["id"]})

    assert (answer.status_code, answer.json()["code"]) == (409, "E5006")


def open_question(engram: Engram, clock: ManualClock, name: str, *, priority: float = 0.5) -> Gap:
    """Store an open question as a dream would."""
    gap = Gap(
        id=name,
        kind=GapKind.MISSING_FIELD,
        question=f"When is the birthday of {name}?",
        found_at=clock.now(),
        priority=priority,
    )
    with engram._parts.store.atomic() as tx:
        tx.gaps.put(gap)
    return gap


def test_open_questions_are_answered_and_closed(
    client: TestClient, engram: Engram, clock: ManualClock
) -> None:
    """An answer is a memory; a question that is settled is not asked again, and settling twice is refused."""
    ada = open_question(engram, clock, "ada", priority=0.9)
    ben = open_question(engram, clock, "ben")

    asked = read(client, "gaps")
    answered = post(client, "answer", id=ada.id, answer="Ada's birthday is on 10 December")
    closed = post(client, "close_gap", id=ben.id, reason="nobody needs to know")
    again = client.post("/v1/close_gap", json={"id": ben.id})

    assert asked == plain([ada, ben])
    assert answered["holds"][0]["content"] == "Ada's birthday is on 10 December"
    assert closed["closed_at"] is not None
    assert again.status_code == 422
    assert read(client, "gaps") == []


def test_what_is_known_is_told(client: TestClient, engram: Engram) -> None:
    """Confidence looks at the memories; domains and summaries wait for a dream."""
    post(client, "remember", content="Ada's birthday is on 10 December")

    sure = read(client, "confidence", query="Ada's birthday")
    unsure = read(client, "confidence", query="the price of tin in 1850")

    assert sure == plain(engram.confidence("Ada's birthday"))
    assert (sure["supporting"], unsure["certainty"]) == (1, "unknown")
    assert read(client, "domains") == []
    assert read(client, "summaries", query="birthday", breadth="cluster") == []


def test_a_mind_is_put_away_and_brought_back(client: TestClient, engram: Engram) -> None:
    """By the agent's name or by its scope, which is the same mind."""
    with engram.turn("Deploy it to staging", agent="otto", session="s1") as turn:
        turn.note("the tests are red")
        turn.reply("I will.")

    kept = post(client, "suspend", agent="otto")
    back = post(client, "resume", scope={"agent": "otto"})
    held = read(client, "working_memory", agent="otto")

    assert "the tests are red" in {item["content"] for item in kept["items"]}
    assert {item["content"] for item in back["items"]} == {item["content"] for item in kept["items"]}
    assert held["scope"]["agent"] == "otto"
    assert read(client, "working_memory", agent="nobody")["items"] == []


def test_agents_have_doors_of_their_own(client: TestClient) -> None:
    """Compactions, task results, findings and tool runs become memories."""
    compacted = post(
        client, "capture/compaction", summary="The team chose Postgres. Maya reviews migrations."
    )
    result = post(client, "capture/task_result", task="Upgrade", result="Debian 13 runs", outcome="done")
    finding = post(client, "capture/finding", statement="SQLite has one writer", urls=["https://sqlite.org"])
    run = post(client, "capture/tool_run", tool="pytest", purpose="check a change", outcome="failed")

    assert compacted
    assert "Debian 13" in result["content"]
    assert "SQLite has one writer" in finding["content"]
    assert (run["layer"], run["successes"], run["failures"]) == ("procedural", 0, 1)


def test_the_store_is_examined_and_not_touched(client: TestClient) -> None:
    """Status, doctor and audit; repairing is for whoever sits at the machine."""
    memory = post(client, "remember", content="Tea is nice")

    status, doctor, audit = read(client, "status"), read(client, "doctor"), read(client, "audit")
    fix = client.get("/v1/doctor", params={"fix": True})

    assert status["memories"] == 1
    assert doctor["ok"]
    assert not any(check["repaired"] for check in doctor["checks"])
    assert (audit[0]["action"], audit[0]["target"]) == ("remember", memory["id"])
    assert "Tea" not in client.get("/v1/audit").text
    assert fix.status_code == 422


@pytest.mark.parametrize("verb", ["remember", "forget", "correct", "pin", "promote", "feedback", "flush"])
def test_what_cannot_be_rehearsed_says_so(still: TestClient, verb: str) -> None:
    """Whoever asks for a rehearsal never gets the real thing."""
    (memory,) = read(still, "memories")
    body = {"id": memory["id"], "content": "Tea is fine", "helpful": True, "dry_run": True}

    answer = still.post(f"/v1/{verb}", json=body)

    assert answer.status_code == 422
    assert "cannot be rehearsed" in answer.json()["message"]
    assert read(still, "memories") == [memory]


@pytest.mark.parametrize("verb", ["age", "dream", "erase", "import", "remember"])
def test_an_option_in_the_address_of_a_post_is_refused(still: TestClient, verb: str) -> None:
    """`?dry_run=true` beside a body would be passed over, and the real thing done."""
    bodies: dict[str, dict[str, str]] = {
        "erase": {"user": "ada"},
        "import": {"name": "a.md", "text": "Planted."},
        "remember": {"content": "Planted."},
    }

    answer = still.post(f"/v1/{verb}?dry_run=true", json=bodies.get(verb, {}))

    assert (answer.status_code, answer.json()["code"]) == (422, "E2004")
    assert [memory["content"] for memory in read(still, "memories")] == ["Tea is nice"]


def test_scopes_hold_for_every_verb(client: TestClient) -> None:
    """Another user's memory can neither be seen nor changed, by any route that names one."""
    memory = post(client, "remember", content="Ada's secret", scope={"user": "ada"})
    one = {"id": memory["id"], "scope": {"user": "bob"}, "reason": "x"}
    bodies: dict[str, dict[str, Any]] = {
        "correct": {**one, "content": "no secret"},
        "forget": one,
        "erase": one,
        "restore": one,
        "promote": one,
        "demote": one,
        "set_status": {**one, "status": "archived"},
        "unmerge": one,
        "pin": {"id": memory["id"], "scope": {"user": "bob"}},
        "unpin": {"id": memory["id"], "scope": {"user": "bob"}},
        "release": {"id": memory["id"], "scope": {"user": "bob"}},
    }

    changed = {verb: client.post(f"/v1/{verb}", json=body).status_code for verb, body in bodies.items()}
    seen = [
        client.get(f"/v1/memories/{memory['id']}{rest}", params={"user": "bob"}).status_code
        for rest in ("", "/history", "/origin")
    ]

    assert set(changed.values()) == {404}, changed
    assert seen == [404, 404, 404]
    assert read(client, f"memories/{memory['id']}", user="ada") == memory


def test_a_server_has_a_scope_of_its_own(tmp_path: Path) -> None:
    """Whatever names none works in it: one statement, many, and the mind of an agent."""
    with opened(tmp_path / "shop", scope=Scope(project="shop")) as engram:
        client = client_of(create_app(engram))
        post(client, "remember", content="Tea is nice")
        post(client, "remember_many", statements=[{"content": "Milk is fine"}])

        listed = read(client, "memories")
        minds = (post(client, "suspend", agent="otto"), read(client, "working_memory", agent="otto"))

    assert engram.scope == Scope(project="shop")
    assert {memory["scope"]["project"] for memory in listed} == {"shop"}
    assert len(listed) == 2
    assert {(mind["scope"]["project"], mind["scope"]["agent"]) for mind in minds} == {("shop", "otto")}


def test_a_draft_knows_all_that_a_statement_says() -> None:
    """A field of a statement that the draft did not take would be lost among many."""
    fields = set(Statement.__struct_fields__) - {"source", "speaker", "session"}

    assert fields <= set(Draft.__struct_fields__)


@pytest.fixture
def counted() -> Iterator[type[Request]]:
    """A verb that is declared here and nowhere else."""

    @declare(
        "count_words",
        engine="list",
        gives=dict[str, int],
        writes=False,
        http=Route(method="GET", path="/v1/words/{word}", tag="insight", has_etag=True),
        example={"word": "tea"},
    )
    class CountWordsRequest(ScopedRequest, frozen=True, kw_only=True):
        """Count the memories that hold a word."""

        word: Annotated[str, about("The word.")]

        def call(self, engram: Any, **options: Any) -> dict[str, int]:
            found = engram.list(scope=self.scope, **options)
            return {self.word: sum(self.word in one.content for one in found)}

    yield CountWordsRequest
    withdraw("count_words")


@pytest.mark.usefixtures("counted")
def test_a_verb_that_is_declared_is_served_described_and_limited(tmp_path: Path) -> None:
    """Route, parameters, ETag, description and the refusal of what it does not take come by themselves."""
    with opened(tmp_path / "words") as engram:
        client = client_of(create_app(engram))
        post(client, "remember", content="Ada drinks tea", scope={"user": "ada"})

        found = client.get("/v1/words/tea", params={"user": "ada"})
        known = client.get("/v1/words/tea?user=ada", headers={"If-None-Match": found.headers["ETag"]})
        refused = client.get("/v1/words/tea", params={"usr": "ada"})
        described = client.get("/openapi.json").json()["paths"]["/v1/words/{word}"]["get"]

    assert found.json() == {"tea": 1}
    assert (known.status_code, refused.status_code) == (304, 422)
    assert described["description"] == "Count the memories that hold a word."
    assert [one["name"] for one in described["parameters"]][:2] == ["word", "project"]
