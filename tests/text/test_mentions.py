"""What a text names is found, with its type, and ordinary words are left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.mentions import MAX_MENTIONS, mentions, possible_names, type_of
from engramdb.text.names import fold_name
from engramdb.values import EntityType

PERSON, PLACE, FIRM = EntityType.PERSON, EntityType.LOCATION, EntityType.ORGANIZATION
PROJECT, TOOL = EntityType.PROJECT, EntityType.TECHNOLOGY
FILE, SERVICE, UNKNOWN = EntityType.FILE, EntityType.SERVICE, EntityType.UNKNOWN


def found(text: str, speaker: str | None = None) -> list[tuple[str, EntityType]]:
    """Return the mentions as pairs."""
    return [(mention.text, mention.type) for mention in mentions(text, speaker=speaker)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yesterday Priya called Dr. Weber.", [("Priya", PERSON), ("Dr. Weber", PERSON)]),
        ("Ask @tom_b about it.", [("@tom_b", PERSON)]),
        ("Her colleague is named Xylo Quandt.", [("Xylo Quandt", PERSON)]),
        ("He works at Plumbago in Oslo.", [("Plumbago", FIRM), ("Oslo", PLACE)]),
        ("Quandt GmbH is late.", [("Quandt GmbH", FIRM)]),
        ("She studied at the University of Tartu.", [("University of Tartu", FIRM)]),
        ("They moved to Wexcombe.", [("Wexcombe", PLACE)]),
        ("Project Heron is done.", [("Project Heron", PROJECT)]),
        ("Our Heron app is slow.", [("Heron app", PROJECT)]),
        ("The search-service is down.", [("search-service", SERVICE)]),
        ("Look at src/main.rs please.", [("src/main.rs", FILE)]),
        ("We moved from MySQL to Postgres.", [("MySQL", TOOL), ("Postgres", TOOL)]),
        ("Her dog is named Biscuit.", [("Biscuit", UNKNOWN)]),
    ],
)
def test_a_name_is_found_with_what_it_names(text: str, expected: list[tuple[str, EntityType]]) -> None:
    """Lists, suffixes and the words beside a name tell its type."""
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The meeting is on Monday in May.",
        "Mark the invoice as paid.",
        "Will it rain tomorrow?",
        "User is learning Spanish.",
        "See https://anna.example.com/Berlin/page.html for more.",
        "Write to anna@example.com.",
        "PLEASE READ THE WHOLE THING",
        "The customer service was slow.",
        "Der Tisch steht in der Küche.",
    ],
)
def test_a_capital_alone_names_nothing(text: str) -> None:
    """Sentence starts, the calendar, languages, addresses, shouting and German nouns are no names."""
    assert found(text) == []


def test_a_relation_is_someone_only_when_the_speaker_is_known() -> None:
    """Whose sister "my sister" is, only the speaker tells."""
    text = "My sister lives abroad."

    assert found(text) == []
    assert found(text, "Tom") == [("Tom's sister", PERSON)]


def test_a_name_beside_a_relation_is_the_mention() -> None:
    """Who has a name is called by it."""
    assert found("My sister Ana lives abroad.", "Tom") == [("Ana", PERSON)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Meine Mutter wohnt in Leipzig.", [("Jo's mother", PERSON), ("Leipzig", PLACE)]),
        ("Ma sœur habite à Brest.", [("Jo's sister", PERSON), ("Brest", PLACE)]),
        ("Сергей Иванов живёт в Твери.", [("Сергей Иванов", PERSON), ("Твери", PLACE)]),
        ("李娜住在上海。", [("李娜", PERSON), ("上海", PLACE)]),
        ("佐藤さんは京都に行きました。", [("佐藤さん", PERSON), ("京都", PLACE)]),
    ],
)
def test_other_languages_have_names_too(text: str, expected: list[tuple[str, EntityType]]) -> None:
    """The same rules work where patterns allow it."""
    assert found(text, "Jo") == expected


def test_the_same_thing_is_mentioned_once() -> None:
    """Two spellings of one name are one mention, the first."""
    assert found("Anna came, ANNA left, Anna's back.")[0] == ("Anna", PERSON)
    assert len(found("Anna met Anna, and Anna left.")) == 1


def test_doubtful_words_are_offered_apart() -> None:
    """A first word on no list, or a given name in small letters, may be a name to one who knows it."""
    assert possible_names("Quandtix renewed it, says anna.") == ("Quandtix", "anna")


@pytest.mark.parametrize(
    ("name", "kind"), [("Berlin", PLACE), ("Anna Schmidt", PERSON), ("README.md", FILE), ("blorp", UNKNOWN)]
)
def test_a_bare_name_has_a_likely_type(name: str, kind: EntityType) -> None:
    """What an extractor names without a type is given the one that it seems to have."""
    assert type_of(name) is kind


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Dr. Anna Schmidt", "anna schmidt", PERSON),
        ("José", "JOSE", PERSON),
        ("the React app", "React project", PROJECT),
        ("Acme Inc.", "ACME Corp", FIRM),
        ("auth-service", "the auth service", SERVICE),
        ("k8s", "Kubernetes", TOOL),
        ("田中さん", "田中", PERSON),
    ],
)
def test_two_ways_of_writing_a_name_fold_alike(one: str, other: str, kind: EntityType) -> None:
    """What people leave out at will does not count."""
    assert fold_name(one, kind) == fold_name(other, kind)


@pytest.mark.parametrize(("one", "other", "kind"), [("C", "C++", TOOL), ("a.py", "b.py", FILE)])
def test_two_things_do_not_fold_alike(one: str, other: str, kind: EntityType) -> None:
    """Punctuation that is part of a name counts."""
    assert fold_name(one, kind) != fold_name(other, kind)


@given(st.text(max_size=300), st.none() | st.text(min_size=1, max_size=10))
def test_any_text_is_answered(text: str, speaker: str | None) -> None:
    """Whatever comes in, a bounded list of names with letters in them comes out, and the same list again."""
    first = mentions(text, speaker=speaker)

    assert len(first) <= MAX_MENTIONS
    assert all(mention.text.strip() and fold_name(mention.text, mention.type) for mention in first)
    assert mentions(text, speaker=speaker) == first


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize(
    "piece", ["Ab ", "a.", "a/", "@a", "A's ", "Dr. ", "Bank of ", "Anna van ", "王", "a-", "~/a"]
)
def test_a_bad_text_takes_no_more_than_a_moment(piece: str) -> None:
    """Eight kilobytes of anything are read in linear time; the bound is generous for a busy machine."""
    text = piece * (8000 // len(piece))
    mentions("warm up")

    started = time.thread_time()
    mentions(text, speaker="Tom")

    assert time.thread_time() - started < 0.5
