"""A question names people and things as people do, and a profile gathers what is known of one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from engramdb import Filters, Layer, Scope
from engramdb.errors import MemoryNotFound
from engramdb.recall.entity import MAX_EXPANSIONS, expansions, linked, named_in, profile
from engramdb.values import Entity, EntityType

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.values.entity import EntityProfile

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANYONE = Scope()


def tell(engram: Engram, *texts: str, **options: object) -> None:
    """Store statements, one after the other."""
    for text in texts:
        engram.remember(text, **options)  # type: ignore[arg-type]


def names(engram: Engram, question: str, *, scope: Scope = ANYONE) -> set[str]:
    """Return the names of the entities that a question names."""
    with engram._parts.store.read() as tx:
        return {entity.name for entity in named_in(tx, question, scope=scope)}


def spoken_of(engram: Engram, question: str, **filters: object) -> list[str]:
    """Return the memories of the entities that a question names, in their order."""
    with engram._parts.store.read() as tx:
        entities = named_in(tx, question, scope=ANYONE)
        keys = linked(tx, entities, scope=ANYONE, filters=Filters(**filters), limit=50)  # type: ignore[arg-type]
        memories = tx.memories.by_keys(keys)
    return [memories[key].content for key in keys]


def known_of(engram: Engram, name: str, *, limit: int = 20, scope: Scope = ANYONE) -> EntityProfile:
    """Return the profile of a name."""
    with engram._parts.store.read() as tx:
        return profile(tx, name, scope=scope, limit=limit)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does Priya Raman do?", {"Priya Raman"}),
        ("what does priya do?", {"Priya Raman"}),
        ("priya raman", {"Priya Raman"}),
        ("How is Project Harvest going?", {"Project Harvest"}),
        ("status of the harvest project", {"Project Harvest"}),
        ("Is Harvest late?", {"Project Harvest"}),
        ("when do we harvest the apples", set()),
        ("Did Priya work on Project Harvest?", {"Priya Raman", "Project Harvest"}),
        ("how is k8s set up", {"Kubernetes"}),
        ("what do we pay northwind", {"Northwind"}),
        ("What about Anna Meyer?", set()),
        ("", set()),
        ("the and of", set()),
    ],
)
def test_a_question_names_what_it_means(engram: Engram, question: str, expected: set[str]) -> None:
    """By full names, first names, small letters and nouns beside; a mere word names nothing."""
    tell(
        engram,
        "Priya Raman leads Project Harvest.",
        "Project Harvest runs on Kubernetes.",
        "We harvest apples in September.",
        "The harvest was poor this year.",
        "We buy our paper from a company called Northwind.",
        "Anna Schmidt likes tea.",
    )

    assert names(engram, question) == expected


def test_an_ambiguous_name_gives_all_of_its_bearers(engram: Engram) -> None:
    """There are two Annas: both for the first name, one for the full name or the family name."""
    tell(engram, "Anna Schmidt likes tea.", "Anna Schmidt keeps bees.", "Anna Kowalska skis.")

    with engram._parts.store.read() as tx:
        both = [entity.name for entity in named_in(tx, "What does Anna like?", scope=ANYONE)]

    assert both == ["Anna Schmidt", "Anna Kowalska"]
    assert names(engram, "What does Anna Kowalska like?") == {"Anna Kowalska"}
    assert names(engram, "Where is Dr. Schmidt?") == {"Anna Schmidt"}


def test_a_nickname_leads_to_everything_under_either_name(engram: Engram) -> None:
    """Whether it was used before or after someone said whose it is."""
    tell(
        engram,
        "Bob wrote the importer.",
        "Robert Chen leads the platform team.",
        "Robert Chen goes by Bob.",
        "Bob Chen wants every deploy announced.",
        "Bob is on holiday.",
    )

    for question in ("Who is Robert Chen?", "What does Bob do?", "Tell me about Bob Chen."):
        assert len(spoken_of(engram, question)) == 5, question


def test_a_shared_nickname_does_not_make_two_people_one(engram: Engram) -> None:
    """Two Alexes stay two, although one of them is only ever called so."""
    tell(
        engram,
        "Alexandra Frey is called to the bar.",
        "Alexandra Frey goes by Alex.",
        "Alex Turner sings.",
        "Alex is late.",
    )

    assert "Alex Turner sings." not in spoken_of(engram, "Who is Alexandra Frey?")


def test_a_relation_leads_to_the_one_who_has_a_name(engram: Engram) -> None:
    """Once Tom has said that Julia is his sister, his sister is Julia."""
    tell(engram, "My sister Julia studies law.", "My sister wants a dog.", speaker="Tom")
    tell(engram, "Julia passed the exam.")

    assert len(spoken_of(engram, "What about Tom's sister?")) == 3
    assert len(spoken_of(engram, "How is Julia?")) == 3


def test_what_someone_says_of_himself_is_about_him(engram: Engram) -> None:
    """In the first person the speaker is meant; what he says of others is about them."""
    tell(engram, "I grew up in a village.", "The weather is fine.", speaker="Caroline")

    assert spoken_of(engram, "What do you know about Caroline?") == ["I grew up in a village."]


def test_questions_stay_inside_their_scope(engram: Engram) -> None:
    """Neither a name nor a memory of another user's is found, not even by the same name."""
    ann, bob = Scope(user="ann"), Scope(user="bob")
    tell(engram, "Priya Raman likes tea.", scope=ann)
    tell(engram, "Priya Raman hates tea.", scope=bob)

    with engram._parts.store.read() as tx:
        entities = named_in(tx, "What does Priya like?", scope=ann)
        keys = linked(tx, entities, scope=ann, filters=Filters(), limit=9)
        found = [memory.content for memory in tx.memories.by_keys(keys).values()]

    assert found == ["Priya Raman likes tea."]
    assert names(engram, "What does Priya like?") == set()


def test_a_forgotten_memory_is_linked_to_nothing(engram: Engram) -> None:
    """Forgetting all that was said of someone forgets that there is such a person."""
    memory = engram.remember("Priya Raman likes tea.")

    engram.forget(memory.id)

    assert names(engram, "What does Priya Raman like?") == set()
    with pytest.raises(MemoryNotFound):
        known_of(engram, "Priya Raman")


def test_what_speaks_of_all_that_is_named_comes_first(engram: Engram) -> None:
    """Then the rest, the newest first; filters hold as everywhere."""
    tell(engram, "Priya met Bob in Lisbon.")
    tell(engram, "Bob likes tea.", "Priya likes coffee.", layer=Layer.SEMANTIC)

    together = spoken_of(engram, "Did Priya and Bob meet?")
    known = spoken_of(engram, "Did Priya and Bob meet?", layers=frozenset({Layer.SEMANTIC}))

    assert together == ["Priya met Bob in Lisbon.", "Priya likes coffee.", "Bob likes tea."]
    assert known == ["Priya likes coffee.", "Bob likes tea."]


def entity(name: str, *aliases: str) -> Entity:
    """Return a person with these names."""
    return Entity(id=name, name=name, type=EntityType.PERSON, first_seen=NOW, last_seen=NOW, aliases=aliases)


def test_other_names_join_the_words_of_a_question(engram: Engram) -> None:
    """Only those that share no word with it, and never more than three."""
    bob = entity("Robert Chen", "Bob", "Bob Chen", "Bobby", "The Admiral", "Robbie")

    assert expansions([bob], "What does Bob Chen like?") == ["Bobby", "The Admiral", "Robbie"]
    assert len(expansions([bob, entity("Eve", "Evelyn", "Evie")], "who?")) == MAX_EXPANSIONS
    assert expansions([entity("Anna Schmidt")], "Where is Anna Schmidt?") == []


def test_a_profile_shows_memories_of_all_layers(engram: Engram) -> None:
    """Everything about Project Alpha: what it is, what happened, how it is done, where it lives."""
    for layer in Layer:
        tell(
            engram,
            f"Project Alpha has a {layer} side.",
            f"The {layer} part of Project Alpha works.",
            layer=layer,
        )
    tell(engram, "The weather is fine.")

    whole, narrow = known_of(engram, "project alpha"), known_of(engram, "Alpha", limit=1)

    assert {layer: len(memories) for layer, memories in whole.memories.items()} == dict.fromkeys(Layer, 2)
    assert {len(memories) for memories in narrow.memories.values()} == {1}
    assert whole.entity.mentions == narrow.entity.mentions == 10


def test_a_profile_has_names_relations_company_and_months(engram: Engram) -> None:
    """Under one name everything that was told under any; the moments are those that memories are about."""
    tell(engram, "Priya Raman works at Siemens.", occurred_at=datetime(2025, 3, 1, tzinfo=UTC))
    tell(engram, "Priya met Bob in Lisbon.", occurred_at=datetime(2025, 3, 9, tzinfo=UTC))
    tell(engram, "Priya called Bob.", occurred_at=datetime(2025, 5, 2, tzinfo=UTC))

    priya = known_of(engram, "priya")

    assert (priya.entity.name, priya.aliases) == ("Priya Raman", ("Priya",))
    assert (priya.companions[0].entity.name, priya.companions[0].memories) == ("Bob", 2)
    assert priya.months == {"2025-03": 2, "2025-05": 1}
    assert priya.entity.first_seen == datetime(2025, 3, 1, tzinfo=UTC)
    assert priya.entity.last_seen == datetime(2025, 5, 2, tzinfo=UTC)
    assert ("Priya Raman", "Siemens") in {(one.subject, one.object) for one in priya.relations}


def test_namesakes_are_shown_and_can_be_asked_for_by_id(engram: Engram) -> None:
    """The most mentioned Anna first, and the way to the other one."""
    tell(engram, "Anna Schmidt likes tea.", "Anna Schmidt keeps bees.", "Anna Kowalska skis.")

    first = known_of(engram, "Anna")
    second = known_of(engram, first.namesakes[0].id)

    assert first.entity.name == "Anna Schmidt"
    assert [one.name for one in first.namesakes] == ["Anna Kowalska"]
    assert (second.entity.name, second.namesakes) == ("Anna Kowalska", ())


@pytest.mark.parametrize("name", ["Nobody", "", "   ", "019b0000-0000-7000-8000-000000000000"])
def test_a_profile_of_nobody_is_an_error(engram: Engram, name: str) -> None:
    """An unknown name is not an empty profile, and the message says what to look at."""
    tell(engram, "Priya Raman likes tea.")

    with pytest.raises(MemoryNotFound, match="is known in scope"):
        known_of(engram, name)


def test_a_profile_of_someone_elses_is_an_error(engram: Engram) -> None:
    """Neither the name nor the id of what another user knows leads anywhere."""
    tell(engram, "Priya Raman likes tea.", scope=Scope(user="ann"))
    hers = known_of(engram, "Priya Raman", scope=Scope(user="ann")).entity.id

    for asked in ("Priya Raman", hers):
        with pytest.raises(MemoryNotFound):
            known_of(engram, asked, scope=Scope(user="bob"))


@pytest.mark.parametrize("asked", ["Marta", "marta", "Silva"])
def test_the_only_marta_is_found_by_part_of_her_name(engram: Engram, asked: str) -> None:
    """By `entity`, and by a filter for her first name."""
    tell(engram, "Marta Silva works at Galp in Porto.", "Rui likes chess")

    assert engram.entity(asked).entity.name == "Marta Silva"


def test_a_filter_by_a_first_name_finds_the_only_one_who_has_it(engram: Engram) -> None:
    """With two of them a first name alone is nobody's."""
    tell(engram, "Marta Silva works at Galp in Porto.", "Rui likes chess")
    only = Filters(entities=frozenset({"Marta"}))

    assert [one.content for one in engram.list(filters=only)] == ["Marta Silva works at Galp in Porto."]

    tell(engram, "Marta Costa lives in Braga.")

    assert engram.list(filters=only) == []


@pytest.mark.parametrize(
    ("told", "later", "name"),
    [
        ("Robert Chen goes by Bob", "bob hates cilantro", "Robert Chen"),
        ("Siobhán Walsh, also known as Shiv, is our CTO", "shiv wants two more people", "Siobhán Walsh"),
        ("hermione is my niece's real name, we call her minnie", "minnie plays chess", "hermione"),
        ("kofi aka kobby is back", "Kobby moved to Oslo", "kofi"),
        ("The project we used to call Heron is now Kestrel", "Heron was late again", "Kestrel"),
    ],
)
def test_other_names_mean_the_same_one(engram: Engram, told: str, later: str, name: str) -> None:
    """What is told under either name is told of one."""
    tell(engram, told, later)
    found = engram.entity(name)

    assert {one.content for some in found.memories.values() for one in some} == {told, later}


def test_small_letters_and_large_ones_are_one_name(engram: Engram) -> None:
    """The spelling with its capitals is shown."""
    tell(engram, "kofi moved to tallinn", "Kofi likes sauna")

    assert engram.entity("kofi").entity.name == "Kofi"
    assert engram.entity("Kofi").entity.aliases == ()
    assert engram.entity("Tallinn").entity.type is EntityType.LOCATION


def test_whoever_speaks_of_himself_is_known_though_his_name_is_on_no_list(engram: Engram) -> None:
    """In small letters too."""
    tell(engram, "I love cycling", speaker="Zqixxa")
    tell(engram, "i moved to Oslo", speaker="Wrembo")

    assert engram.entity("Zqixxa").entity.type is engram.entity("Wrembo").entity.type is EntityType.PERSON
