"""Profiles of people, of the user and of topics keep up with what is known; names find older statements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Layer, Scope
from engramdb.dream.profiles import MAKER, ProfilesStep
from engramdb.models.chat import BadReply
from engramdb.models.prompts import profile
from engramdb.testing import ScriptedChat
from engramdb.values import Entity, EntityType, Provenance, SecurityTier, Source, Status, new_id

from .learnt import awake, interrupted, made, take, tell, with_chat

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.testing import ManualClock
    from engramdb.values import Memory

ANNA = (
    "Anna Schmidt works at Acme",
    "Anna Schmidt lives in Berlin",
    "Anna Schmidt plays the cello",
    "Anna Schmidt is allergic to nuts",
    "Anna Schmidt has two sons",
)
WISHES = (
    "I prefer short answers",
    "I prefer tabs over spaces",
    "I like dark themes",
    "I dislike long meetings",
    "I prefer tea over coffee",
)


def cards(engram: Engram, of: str = "", *, scope: Scope = Scope()) -> list[Memory]:
    """The profiles of a scope whose heading holds these words."""
    found = made(engram, MAKER, scope=scope)
    return [one for one in found if of in one.content.partition("\n")[0]]


def test_enough_statements_make_a_profile(engram: Engram) -> None:
    """A person that five statements speak of has a card in their own words, found by name."""
    told = tell(engram, *ANNA)

    take(engram, "profiles")

    (card,) = cards(engram, "Anna")
    assert card.content.splitlines() == ["Profile of Anna Schmidt (person):", *(f"- {one}" for one in ANNA)]
    assert (card.category, card.layer) == ("person", Layer.SEMANTIC)
    assert set(card.provenance.episodes) == {one.id for one in told}
    assert card.id in {one.id for one in engram.entity("Anna Schmidt").memories[Layer.SEMANTIC]}


def test_what_an_assistant_happened_to_say_is_no_part_of_a_profile(engram: Engram) -> None:
    """A profile is what people told; an assistant's words pass, and five of them make no card."""
    tell(engram, *ANNA, extractor="rules", provenance=Provenance(source=Source.ASSISTANT))

    take(engram, "profiles")

    assert cards(engram, "Anna") == []


def test_a_profile_is_given_to_who_asks_for_the_whole(engram: Engram) -> None:
    """Whoever names the person or asks about everything gets the card; other questions their statement."""
    tell(engram, *ANNA, *WISHES)
    take(engram, "profiles")

    def given(question: str) -> list[str]:
        found = engram.recall(question, limit=20).hits
        return sorted(hit.memory.content.partition(":")[0] for hit in found if hit.memory.is_profile)

    assert given("Tell me about Anna Schmidt") == ["Profile of Anna Schmidt (person)"]
    assert "Profile of the user" in given("What are my preferences?")
    assert given("Which instrument is the cello?") == []
    assert given("Do I like tea or coffee?") == []


def test_too_few_statements_make_none(engram: Engram) -> None:
    """Four are not enough."""
    tell(engram, *ANNA[:4])

    take(engram, "profiles")

    assert cards(engram, "Anna") == []


def test_a_profile_keeps_up_and_is_left_alone_otherwise(engram: Engram) -> None:
    """Dreaming again changes nothing; a new statement makes a new version of the same card."""
    tell(engram, *ANNA)
    take(engram, "profiles")
    (before,) = cards(engram, "Anna")
    again = take(engram, "profiles")
    tell(engram, "Anna Schmidt speaks Danish")

    take(engram, "profiles")

    (after,) = cards(engram, "Anna")
    assert again.counts == {}
    assert (after.supersedes, after.version) == (before.id, 2)
    assert after.content.endswith("- Anna Schmidt speaks Danish")


def test_a_profile_drops_what_was_forgotten_and_goes_when_too_little_is_left(engram: Engram) -> None:
    """A card never keeps, after the next dream, what somebody asked to forget."""
    told = tell(engram, *ANNA, "Anna Schmidt speaks Danish")
    take(engram, "profiles")

    engram.forget(told[1].id, reason="private")
    take(engram, "profiles")
    (card,) = cards(engram, "Anna")
    engram.forget(told[2].id, reason="private")
    take(engram, "profiles")

    assert "Berlin" not in card.content
    assert cards(engram, "Anna") == []
    assert engram.get(card.id).status is Status.PRUNED


def test_lines_are_few_and_the_weightiest(store_path: Path, clock: ManualClock) -> None:
    """The cap is policy, and importance decides what stays."""
    with awake(store_path, clock, profile_lines=2) as engram:
        tell(engram, *ANNA, importance=0.2)
        tell(engram, "Anna Schmidt has a heart condition", "Anna Schmidt is the landlady", importance=0.9)

        take(engram, "profiles")

        assert len(cards(engram, "Anna")[0].content.splitlines()) == 3
        assert "landlady" in cards(engram, "Anna")[0].content


def test_secrets_and_attacks_are_on_no_card(engram: Engram) -> None:
    """What is confidential or flagged is not repeated, and does not count."""
    told = tell(engram, *ANNA, "Anna Schmidt keeps bees")
    with engram._parts.store.atomic() as tx:
        tx.memories.replace(told[0].evolve(security=SecurityTier.CONFIDENTIAL))

    take(engram, "profiles")

    (card,) = cards(engram, "Anna")
    assert "Acme" not in card.content
    assert card.security is not SecurityTier.CONFIDENTIAL


def test_a_card_is_as_protected_as_its_strictest_line(engram: Engram) -> None:
    """One sensitive statement makes the card sensitive."""
    tell(engram, *ANNA, "Anna Schmidt can be reached at anna@example.org")

    take(engram, "profiles")

    assert cards(engram, "Anna")[0].security is SecurityTier.SENSITIVE


def test_scopes_have_cards_of_their_own(engram: Engram) -> None:
    """Three statements of one user and two of another are no card, and a full one stays where it is."""
    tell(engram, *ANNA[:3], scope=Scope(user="ann"))
    tell(engram, *ANNA[3:], scope=Scope(user="bob"))
    tell(engram, *ANNA, scope=Scope(user="cem"))

    take(engram, "profiles")

    owners = {name: len(cards(engram, "Anna", scope=Scope(user=name))) for name in ("ann", "bob", "cem")}
    assert owners == {"ann": 0, "bob": 0, "cem": 1}


def test_a_card_that_a_person_took_away_or_pinned_is_left(engram: Engram) -> None:
    """A corrected card is not written again, whatever is learned later; a pinned one stays as it is."""
    tell(engram, *ANNA)
    tell(engram, *(one.replace("Anna Schmidt", "Bob Miller") for one in ANNA))
    take(engram, "profiles")
    engram.correct(cards(engram, "Anna")[0].id, "Anna Schmidt is none of your business")
    engram.pin(cards(engram, "Bob")[0].id)
    tell(engram, "Anna Schmidt speaks Danish", "Bob Miller speaks Danish")

    take(engram, "profiles")

    assert cards(engram, "Anna") == []
    assert "Danish" not in cards(engram, "Bob")[0].content


def test_the_user_has_a_profile_of_wishes(store_path: Path, clock: ManualClock) -> None:
    """What the user prefers and asks for, within a cap of lines, what binds first."""
    with awake(store_path, clock, user_lines=6) as engram:
        tell(engram, *WISHES, category="preference")
        tell(engram, "Always answer in English", category="instruction")
        tell(engram, "The API uses JWT tokens", category="fact")

        take(engram, "profiles")

        (card,) = cards(engram, "the user")
        assert card.content.splitlines() == [
            "Profile of the user:",
            "- Always answer in English",
            *(f"- {one}" for one in WISHES),
        ]


def test_topics_are_indexed_once_they_have_enough(engram: Engram) -> None:
    """The index names topics without counts, so it changes when a topic is added and not before."""
    tell(engram, *(f"The garden has {what} in it" for what in ("roses", "tulips", "beans", "a pond", "bees")))
    take(engram, "profiles")
    (before,) = cards(engram, "Topics")
    tell(engram, "The garden has a bench in it")

    again = take(engram, "profiles")

    assert "garden" in before.content
    assert again.counts == {}


def test_names_that_became_known_later_are_linked(engram: Engram) -> None:
    """A statement that came before its name was known is found by it after a dream, in its scope only."""
    early = tell(engram, "Zorblax renewed the lease in March")[0]
    other = tell(engram, "Zorblax renewed the lease in March", scope=Scope(user="bob"))[0]
    tell(engram, "We rent the office from Zorblax Inc.")
    spoken = engram.entity("Zorblax").memories
    assert early.id not in {one.id for some in spoken.values() for one in some}

    take(engram, "profiles")

    spoken = engram.entity("Zorblax").memories
    assert early.id in {one.id for some in spoken.values() for one in some}
    with engram._parts.store.read() as tx:
        assert tx.entities.of_memory(other.id, scope=Scope(user="bob")) == []
    assert take(engram, "profiles").counts == {}


def test_entities_that_share_a_name_are_asked_about_and_not_merged(
    engram: Engram, clock: ManualClock
) -> None:
    """Two people called the same are a question, asked once."""
    told = tell(engram, "Anna Schmidt works at Acme", "The cat sleeps")
    now = clock.now()
    twin = Entity(
        id=new_id(now), name="Anna Schmidt", type=EntityType.PERSON, first_seen=now, last_seen=now, mentions=0
    )
    with engram._parts.store.atomic() as tx:
        tx.entities.add(twin)
        tx.entities.link(twin.id, told[1].id, name="Anna Schmidt", at=now)

    report, again = take(engram, "profiles"), take(engram, "profiles")

    with engram._parts.store.read() as tx:
        (gap,) = tx.gaps.open_in(Scope())
        assert tx.entities.count() == 3  # the two, and Acme
    assert set(gap.memories) == {one.id for one in told}
    assert gap.question.startswith("Are Anna Schmidt")
    assert (report.counts.get("question"), again.counts) == (1, {})


def reply(*lines: tuple[str, list[int]]) -> str:
    """What a chat model answers."""
    return json.dumps({"lines": [{"text": text, "statements": numbers} for text, numbers in lines]})


def test_a_chat_model_sums_up_and_is_held_to_the_statements(engram: Engram) -> None:
    """A line that names what its statements do not is left out; the others stand. Nobody is asked twice."""
    tell(engram, *ANNA)
    lines = [("Anna Schmidt works at Acme in Berlin", [1, 2]), ("Anna Schmidt studied in Oslo", [1])]
    chat = ScriptedChat(lambda prompt: reply(*lines) if "Anna" in prompt.user else reply(("Nothing", [1])))
    with_chat(engram, chat)

    take(engram, "profiles")
    asked = len(chat.prompts)
    again = take(engram, "profiles")

    (card,) = cards(engram, "Anna")
    assert card.content.splitlines() == [
        "Profile of Anna Schmidt (person):",
        "- Anna Schmidt works at Acme in Berlin",
    ]
    assert engram._parts.calls.by_purpose()["profile"].dropped >= 1
    assert (len(chat.prompts), again.counts) == (asked, {})


@pytest.mark.parametrize("text", ["{}", '{"lines": []}', '{"lines": [{"text": "x", "statements": [9]}]}'])
def test_a_profile_in_another_form_is_a_bad_reply(text: str) -> None:
    """Every line must name statements of the list."""
    with pytest.raises(BadReply):
        profile.parse(text, count=2)


def test_a_rehearsal_tells_and_writes_nothing(engram: Engram) -> None:
    """A dry run lists the card that would be made."""
    tell(engram, *ANNA)

    report = engram.dream(steps=["profiles"], dry_run=True)

    assert report.steps[0].counts["derive"] >= 1
    assert cards(engram) == []


def test_a_dream_that_is_stopped_is_not_done(engram: Engram) -> None:
    """Stopping in the middle of reading leaves the step to be taken again."""
    tell(engram, *ANNA)

    interrupted(engram, ProfilesStep(), after=2)

    with engram._parts.store.read() as tx:
        assert tx.dreams.mark("profiles") is None
    take(engram, "profiles")
    assert len(cards(engram, "Anna")) == 1
