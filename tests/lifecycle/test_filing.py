"""Every statement is filed where it belongs: layer, type, kind, category and lasting, by every way in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from engramdb import Draft, Engram, Kind, Layer, MemoryType, Scope, Source
from engramdb.lifecycle.filing import file_draft, refiled
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import Memory, Provenance, PutDocument, Status
from engramdb.values.memory import Voice
from engramdb.values.reading import Force, Lasting
from evals.capture.filing import LABELS, NOW
from evals.capture.labelled import DATA

if TYPE_CHECKING:
    from pathlib import Path

CASES: list[dict[str, Any]] = json.loads((DATA / "filing.json").read_text("utf-8"))
LEAST_RIGHT = {"layer": 0.97, "type": 0.96, "kind": 0.96, "category": 0.95, "lasting": 0.94}
"""Of the table; a little below what is reached, so that a better rule may lose a case."""


def filed(content: str, **given: Any) -> Any:
    """Where a draft is filed."""
    return file_draft(Draft(content=content, **given), content, now=NOW)


def test_the_table_is_filed_as_it_was_labelled() -> None:
    """Statements labelled before the rules were written."""
    found = [(case, filed(case["text"], category=case.get("given"))) for case in CASES]

    right = {name: sum(getattr(one, name) == case[name] for case, one in found) for name in LABELS}

    assert {name: count for name, count in right.items() if count < LEAST_RIGHT[name] * len(CASES)} == {}


def test_what_is_given_is_never_overruled() -> None:
    """Any combination of labels that a caller chooses is stored as it is, whatever the words say."""
    for layer, type_, kind, words in product(
        Layer, MemoryType, Kind, ("never push to main", "we met yesterday")
    ):
        one = filed(words, layer=layer, type=type_, kind=kind, category="mine", lasting=Lasting.PERMANENT)
        assert (one.layer, one.type, one.kind, one.category, one.lasting) == (
            *(layer, type_, kind),
            *("mine", Lasting.PERMANENT),
        )


def test_a_reader_that_knows_better_is_believed() -> None:
    """Force and lasting that an extractor gives decide where words would have said something else."""
    rule = filed("the audit wants snapshots", force=Force.RULE)
    guess = filed("The API uses JWT tokens", force=Force.HEDGED)
    over = filed("The API uses JWT tokens", lasting=Lasting.PASSING)

    assert (rule.layer, rule.type) == (Layer.PROCEDURAL, MemoryType.PROCEDURE)
    assert (guess.layer, guess.type) == (Layer.EPISODIC, MemoryType.FACT)
    assert over.layer is Layer.EPISODIC


@pytest.mark.parametrize("force", [Force.QUESTION, Force.HYPOTHETICAL, Force.QUOTED, Force.HEDGED])
def test_what_was_not_meant_is_no_knowledge_and_no_rule(force: Force) -> None:
    """A question about a rule is no rule, and what somebody else said is not known."""
    assert filed("never push to main", force=force).layer is Layer.EPISODIC
    assert filed("Staging runs Postgres 15", force=force).layer is Layer.EPISODIC


@pytest.mark.parametrize("voice", [voice for voice in Voice if voice is not Voice.OWN])
def test_words_that_are_not_the_speakers_own_are_never_a_rule_or_a_preference(voice: Voice) -> None:
    """Pasted, quoted, generated and logged text stands in no window unasked."""
    for words in ("Always answer in JSON", "I prefer tabs", "To deploy, run make deploy"):
        one = filed(words, provenance=Provenance(voice=voice))
        assert (one.layer, one.type, one.category) == (Layer.EPISODIC, MemoryType.FACT, "general")


def test_words_of_an_import_do_not_become_standing_instructions(engram: Engram) -> None:
    """They are found when asked for; only a label of their source, or a person, makes them stand."""
    imported = Provenance(source=Source.INGEST)

    bare = filed("Always answer in JSON", provenance=imported)
    named = filed("Always answer in JSON", provenance=imported, category="procedure")
    (item,) = engram.documents.write(
        [PutDocument(place=("notes",), key="a", value={}, text="Always answer in JSON")]
    )

    assert (bare.layer, bare.type, bare.category) == (Layer.SEMANTIC, MemoryType.PROCEDURE, "procedure")
    assert (named.layer, named.category) == (Layer.PROCEDURAL, "procedure")
    assert item is not None
    (kept,) = engram.list()
    assert (kept.layer, kept.category) == (Layer.SEMANTIC, "general")


@pytest.mark.parametrize(
    "words",
    [
        "Test coverage is 80 percent",
        "Store hours are nine to five",
        "Book club meets on Thursdays",
        "Update server runs on port 80",
        "List price is 40 euros",
        "Test users: alice and bob",
    ],
)
def test_a_noun_that_is_also_a_verb_asks_for_nothing(words: str) -> None:
    """They are facts: believed, and settled against others."""
    one = filed(words)

    assert (one.layer, one.type, one.force) == (Layer.SEMANTIC, MemoryType.FACT, Force.ASSERTED)


def test_a_date_is_seen_from_when_it_was_said() -> None:
    """What lay ahead when an old conversation took place is not yet over in it."""
    said = datetime(2019, 4, 1, 12, tzinfo=UTC)

    then = filed("The review is on 14 May 2019", said_at=said)
    since = filed("The review was on 14 May 2019")

    assert then.lasting is Lasting.DATED
    assert since.lasting is not Lasting.DATED


def test_every_way_in_files_alike(engram: Engram, tmp_path: Path) -> None:
    """One statement of each sort, remembered alone, in bulk and imported from another memory."""
    sorts = {
        "The API uses JWT tokens": (Layer.SEMANTIC, MemoryType.FACT),
        "yesterday the staging server crashed": (Layer.EPISODIC, MemoryType.NARRATIVE),
    }
    dump = tmp_path / "dump.json"
    dump.write_text(
        json.dumps({"results": [{"id": str(n), "memory": words} for n, words in enumerate(sorts)]})
    )

    for words in sorts:
        engram.remember(words, scope=Scope(user="one"))
    engram.remember_many([Draft(content=words, scope=Scope(user="many")) for words in sorts])
    engram.import_from(dump, scope=Scope(user="imported"))

    for user in ("one", "many", "imported"):
        found = {one.content: (one.layer, one.type) for one in engram.list(scope=Scope(user=user))}
        assert found == sorts, user


@pytest.mark.parametrize(
    "record",
    [
        {"memory": "run drift_check before merging", "metadata": {"category": "procedure"}, "id": "1"},
        {"memory": "run drift_check before merging", "categories": ["procedure"], "id": "1"},
        {"memory": "The agent merged", "metadata": {"memory_type": "procedural_memory"}, "id": "1"},
    ],
)
def test_a_procedure_of_mem0_is_imported_as_one(
    engram: Engram, tmp_path: Path, record: dict[str, Any]
) -> None:
    """By its category, and by the mark that mem0 gives what tells how to do something."""
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps([record]))

    engram.import_from(dump)

    (memory,) = engram.list()
    assert (memory.layer, memory.type) == (Layer.PROCEDURAL, MemoryType.PROCEDURE)


def test_an_export_of_a_version_that_did_not_file_is_filed(engram: Engram, tmp_path: Path) -> None:
    """Its one layer for everything is no choice; a layer that a newer one wrote is."""
    lines = [
        {"engram": 1, "content": "The API uses JWT tokens", "layer": "episodic", "type": "fact", "id": "a"},
        {
            "engram": 1,
            "content": "Staging runs Postgres",
            "layer": "episodic",
            "lasting": "stable",
            "id": "b",
        },
    ]
    dump = tmp_path / "old.jsonl"
    dump.write_text("\n".join(map(json.dumps, lines)))

    engram.import_from(dump)

    layers = {one.content: one.layer for one in engram.list()}
    assert layers == {"The API uses JWT tokens": Layer.SEMANTIC, "Staging runs Postgres": Layer.EPISODIC}


def test_lasting_knowledge_read_from_talk_outlives_the_year_and_a_small_event_does_not(
    store_path: Path, clock: ManualClock
) -> None:
    """A fact that was only mentioned is still active after a year without a recall; an outing has faded."""
    with Engram.open(store_path, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        heard = Draft(content="", extractor="heuristic-1", importance=0.3)
        fact, outing = engram.remember_many(
            [
                replace(heard, content="The API uses JWT tokens"),
                replace(heard, content="We went to the lake last weekend"),
            ]
        )
        clock.advance(days=365)
        engram.age()

        assert engram.get(fact.id).status is Status.ACTIVE
        assert engram.get(outing.id).status is Status.ARCHIVED


def test_a_person_who_holds_a_layer_keeps_it() -> None:
    """Refiling leaves alone what was chosen, and files the rest."""
    old = Memory(id="m", content="The API uses JWT tokens", created_at=NOW, updated_at=NOW)

    assert refiled(old).layer is Layer.SEMANTIC
    assert refiled(old.evolve(layer_held=True)).layer is Layer.EPISODIC
    assert refiled(old.evolve(layer=Layer.WORKING)).layer is Layer.WORKING
    assert refiled(old.evolve(category="decision")).type is MemoryType.PROCEDURE
    assert refiled(old.evolve(kind=Kind.EPISODE)).layer is Layer.EPISODIC
