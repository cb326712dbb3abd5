"""Each proposal in its own write: made true as a whole, or dropped where its ground has shifted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from engramdb.dream.apply import Applier, StatementTools, apply
from engramdb.dream.step import AddLink, Adjust, Derive, Merge, Proposal, Restatus, SideWrite, Supersede
from engramdb.errors import InjectionBlocked
from engramdb.policy import DreamPolicy
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import TinyEmbedder
from engramdb.text.normalize import fingerprint
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    EdgeType,
    HistoryEvent,
    Layer,
    Memory,
    Provenance,
    Scope,
    SecurityTier,
    Source,
    Status,
)

from .dreamt import NOW, put, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PERSON = Actor(name="anna", kind=ActorKind.PERSON)


@dataclass(frozen=True)
class Bench:
    """A store, and a hand that applies proposals to it in the name of one step."""

    store: SqliteStore
    tools: StatementTools = StatementTools()

    def put(self, content: str, **fields: Any) -> Memory:
        """Store a statement."""
        return put(self.store, content, **fields)

    def change(self, memory: Memory, **changes: Any) -> Memory:
        """Change a stored memory behind the back of whoever saw it before."""
        with self.store.atomic() as tx:
            tx.memories.replace(memory.evolve(**changes))
        return self.now(memory)

    def now(self, memory: Memory) -> Memory:
        """The memory as it is stored now."""
        return stored(self.store, memory.scope)[memory.id]

    def apply(self, proposal: Proposal) -> Any:
        """Apply a proposal of the step `trial`."""
        applier = Applier(store=self.store, policy=DreamPolicy(), now=NOW, tools=self.tools)
        return apply(proposal, applier, step="trial")

    def history(self, memory: Memory) -> list[HistoryEvent]:
        """What happened to a memory."""
        with self.store.read() as tx:
            return tx.history.of(memory.id)


@pytest.fixture
def bench(store_path: Path) -> Iterator[Bench]:
    """An empty store to try proposals on."""
    store = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    yield Bench(store)
    store.close()


def derived(*sources: Memory, content: str = "I like tea of all sorts", **fields: Any) -> Derive:
    """Something that follows from these."""
    return Derive(content=content, sources=sources, maker="dream.trial/1", reason="it follows", **fields)


# --- dropped ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"status": Status.FORGOTTEN},
        {"status": Status.SUPERSEDED},
        {"status": Status.CHALLENGED},
        {"content": "I like other tea"},
    ],
    ids=str,
)
def test_ground_that_has_shifted_drops_a_proposal(bench: Bench, changes: dict[str, Any]) -> None:
    """What the step saw is no longer so: nothing changes, and the report counts it as dropped."""
    one, two = bench.put("I like green tea"), bench.put("I like black tea")
    bench.change(two, **changes)
    before = stored(bench.store)

    for proposal in (
        derived(one, two),
        Merge(keep=one, lose=(two,), reason=""),
        Supersede(winner=one, loser=two, reason=""),
        AddLink(source=one, target=two, reason="") if "content" in changes else derived(two, one),
    ):
        applied = bench.apply(proposal)

        assert applied.is_dropped
        assert applied.change is None
    assert stored(bench.store) == before


def test_no_proposal_joins_two_scopes(bench: Bench) -> None:
    """Not even where one scope contains the other."""
    one = bench.put("I like green tea", scope=Scope(project="p"))
    two = bench.put("I like black tea", scope=Scope(project="p", user="u"))

    for proposal in (
        derived(one, two),
        derived(two, one),
        Merge(keep=two, lose=(one,), reason=""),
        Supersede(winner=two, loser=one, reason=""),
        AddLink(source=two, target=one, reason=""),
        Restatus(memory=two, along=(one,), status=Status.CHALLENGED, reason=""),
    ):
        assert bench.apply(proposal).is_dropped


def test_a_pinned_memory_never_loses(bench: Bench) -> None:
    """Neither its status nor its numbers go down; it may gain evidence, links and strength."""
    pinned, other = bench.put("I like green tea", pinned=True), bench.put("I like black tea")
    losing: list[Proposal] = [
        Merge(keep=other, lose=(pinned,), reason=""),
        Supersede(winner=other, loser=pinned, reason=""),
        Restatus(memory=pinned, status=Status.INVALIDATED, reason=""),
        Adjust(memory=pinned, changes={"importance": 0.1}, reason=""),
    ]

    dropped = [bench.apply(proposal).is_dropped for proposal in losing]
    gained = bench.apply(Adjust(memory=pinned, changes={"strength": 1.2}, reason=""))
    merged = bench.apply(Merge(keep=pinned, lose=(other,), reason=""))

    assert dropped == [True] * 4
    assert gained.change is not None
    assert merged.change is not None
    assert (bench.now(pinned).content, bench.now(pinned).status) == (pinned.content, Status.ACTIVE)


def test_words_are_never_adjusted(bench: Bench) -> None:
    """Numbers and layers may be set, nothing else."""
    memory = bench.put("I like green tea")

    for changes in (
        {"content": "x"},
        {"scope": Scope(user="u")},
        {"pinned": True},
        {"security": "cleartext"},
    ):
        assert bench.apply(Adjust(memory=memory, changes=changes, reason="")).is_dropped
    assert bench.now(memory) == memory


def test_a_layer_chosen_by_hand_stays(bench: Bench) -> None:
    """The rest of the adjustment is made."""
    memory = bench.put("I like green tea", layer_held=True)

    bench.apply(Adjust(memory=memory, changes={"layer": Layer.SEMANTIC, "strength": 0.5}, reason=""))

    assert (bench.now(memory).layer, bench.now(memory).strength) == (Layer.EPISODIC, 0.5)


# --- stated -------------------------------------------------------------------------------------------------


def test_what_is_derived_inherits_from_its_sources(bench: Bench) -> None:
    """Strictest tier, any flag, least trust, highest importance, exactly their scope, and a link to each."""
    scope = Scope(project="p", user="u")
    one = bench.put("I like green tea", scope=scope, security=SecurityTier.CONFIDENTIAL, importance=0.9)
    two = bench.put(
        "I like black tea", scope=scope, flags=("injection",), provenance=Provenance(source=Source.INGEST)
    )

    applied = bench.apply(derived(one, two, layer=Layer.SEMANTIC))

    (made,) = [memory for memory in stored(bench.store, scope).values() if memory.id == applied.change.made]
    assert (made.scope, made.security, made.flags) == (scope, SecurityTier.CONFIDENTIAL, ("injection",))
    assert (made.provenance.source, made.importance) == (Source.INGEST, 0.9)
    assert made.provenance.episodes == (one.id, two.id)
    assert (made.layer, made.extractor) == (Layer.SEMANTIC, "dream.trial/1")
    with bench.store.read() as tx:
        links = {(edge.source, edge.target, edge.type) for edge in tx.edges.of(made.id)}
    assert links == {(made.id, source.id, EdgeType.DERIVED_FROM) for source in (one, two)}


def test_what_is_derived_is_found_at_once(store_path: Path) -> None:
    """Its words and its vector are stored with it."""
    tiny = TinyEmbedder()
    store = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    bench = Bench(store, StatementTools(embed=tiny.embed_documents, identity=tiny.identity))
    source = bench.put("I like green tea")

    bench.apply(derived(source))

    with store.read() as tx:
        space = tx.vectors.space(tiny.identity)
        assert space is not None
        assert [one.content for one in tx.vectors.pending(space, limit=5).values()] == [source.content]
        assert tx.terms.statistics([], scope=Scope()).memories == 2
    store.close()


def test_what_was_said_already_gains_evidence(bench: Bench) -> None:
    """Stated once more, from the same sources, nothing changes; from others it rests on those too."""
    one, two = bench.put("I like green tea"), bench.put("I like black tea")
    said = bench.put("I like tea of all sorts", confidence=0.4)

    first = bench.apply(derived(one, said, layer=Layer.SEMANTIC))
    again = bench.apply(derived(one, said, layer=Layer.SEMANTIC))
    bench.apply(derived(two))

    now = bench.now(said)
    assert first.change is not None
    assert (again.change, again.is_dropped) == (None, False)
    assert now.provenance.episodes == (one.id, two.id)
    assert (now.layer, now.confidence, now.content) == (Layer.SEMANTIC, 0.4, said.content)
    assert len(stored(bench.store)) == 3


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.FORGOTTEN, Status.INVALIDATED, Status.MERGED])
def test_what_was_taken_back_is_never_stated_again(bench: Bench, status: Status) -> None:
    """However much speaks for it."""
    source = bench.put("I like green tea")
    bench.put("I like tea of all sorts", status=status)

    assert bench.apply(derived(source)).is_dropped
    assert len(stored(bench.store)) == 2


def test_what_a_dream_took_back_may_be_stated_on_better_ground(bench: Bench) -> None:
    """A rule corrected a rule; where a person took it back, it stays away."""
    source = bench.put("I like green tea")
    for actor, is_dropped in ((Actor(name="dream.x", kind=ActorKind.RULE), False), (PERSON, True)):
        content = f"I like tea, says {actor.name}"
        gone = bench.put(content, status=Status.INVALIDATED, extractor="dream.trial/1")
        event = HistoryEvent(
            memory_id=gone.id,
            at=NOW,
            action=Action.DREAM,
            actor=actor,
            old_status=Status.ACTIVE,
            new_status=Status.INVALIDATED,
        )
        with bench.store.atomic() as tx:
            tx.history.add(event)

        assert bench.apply(derived(source, content=content)).is_dropped is is_dropped


def test_a_new_version_replaces_the_earlier_one(bench: Bench) -> None:
    """One statement of the step is active, and it knows what it replaced."""
    source = bench.put("I like green tea")
    first = bench.apply(derived(source))
    old = stored(bench.store)[first.change.made]

    second = bench.apply(derived(source, content="I like tea of most sorts", replaces=old))

    now = stored(bench.store)
    assert (now[old.id].status, now[old.id].superseded_by) == (Status.SUPERSEDED, second.change.made)
    assert (now[second.change.made].supersedes, now[second.change.made].version) == (old.id, 2)


def test_what_the_gate_refuses_is_not_stated(store_path: Path) -> None:
    """A sentence that a model was talked into does not get in through the dream."""

    def refuse(_memory: Memory) -> Memory:
        raise InjectionBlocked("an attack")

    store = SqliteStore.open(str(store_path), now=NOW, is_durable=False)
    bench = Bench(store, StatementTools(screen=refuse))

    assert bench.apply(derived(bench.put("I like green tea"))).is_dropped
    store.close()


# --- told ---------------------------------------------------------------------------------------------------


def test_every_change_is_in_the_history_and_the_audit(bench: Bench) -> None:
    """With the step's name and its reason, and without a word of what was said."""
    one, two, three = (bench.put(f"I like {what} tea") for what in ("green", "black", "white"))

    bench.apply(Merge(keep=one, lose=(two,), reason="the same"))
    bench.apply(Supersede(winner=one, loser=three, reason="newer"))
    bench.apply(Restatus(memory=bench.now(one), status=Status.CHALLENGED, reason="doubtful"))

    told = {memory.content: [event.action for event in bench.history(memory)] for memory in (one, two, three)}
    assert told == {
        one.content: [Action.MERGE, Action.SUPERSEDE, Action.DREAM],
        two.content: [Action.MERGE],
        three.content: [Action.SUPERSEDE],
    }
    with bench.store.read() as tx:
        audit = tx.audit.recent(limit=20)
    assert {event.actor.name for event in audit} == {"dream.trial"}
    assert {event.target for event in audit} == {one.id, two.id, three.id}
    assert "tea" not in str(audit)


def test_a_circle_of_inference_is_dropped(bench: Bench) -> None:
    """A memory never comes to prove itself; a link that is there is not made twice."""
    one, two = bench.put("I like green tea"), bench.put("I like black tea")
    forth = AddLink(source=one, target=two, type=EdgeType.CAUSED_BY, reason="")
    back = AddLink(source=two, target=one, type=EdgeType.CAUSED_BY, reason="")

    results = [bench.apply(proposal) for proposal in (forth, forth, back)]

    assert [one.change is not None for one in results] == [True, False, False]
    assert [one.is_dropped for one in results] == [False, False, True]


def test_a_note_that_changes_nothing_is_no_change(bench: Bench) -> None:
    """The function that writes it says so."""
    changing = SideWrite(what="question", write=lambda _tx: True, reason="")
    idle = SideWrite(what="question", write=lambda _tx: False, reason="")

    answers = [bench.apply(changing), bench.apply(idle)]

    assert [answer.change is not None for answer in answers] == [True, False]


def test_two_memories_are_challenged_together_or_not_at_all(bench: Bench) -> None:
    """Where one of them may not be, the other is not either."""
    one, two = bench.put("I like green tea"), bench.put("I hate green tea", pinned=True)

    applied = bench.apply(Restatus(memory=one, along=(two,), status=Status.CHALLENGED, reason=""))

    assert applied.is_dropped
    assert bench.now(one).status is Status.ACTIVE


def test_fingerprints_of_statements_tell_speakers_apart(bench: Bench) -> None:
    """What one speaker took back, another may have said of himself."""
    anna, tom = Provenance(speaker="Anna"), Provenance(speaker="Tom")
    source = bench.put("I like green tea", provenance=tom)
    bench.put("I like tea of all sorts", status=Status.SUPERSEDED, provenance=anna)

    applied = bench.apply(derived(source))

    assert applied.change is not None
    made = stored(bench.store)[applied.change.made]
    assert made.provenance.speaker == "Tom"
    assert fingerprint(made.content, speaker="Tom") != fingerprint(made.content)
