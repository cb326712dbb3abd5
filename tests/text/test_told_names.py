"""A text that tells another name of someone is read so; one that only sounds alike is not."""

from __future__ import annotations

import pytest

from engramdb.text.names import speaks_of_self, stated_aliases


@pytest.mark.parametrize(
    ("text", "name", "other"),
    [
        ("Robert Chen goes by Bob.", "Robert Chen", "Bob"),
        ("Margaret is better known as Peggy.", "Margaret", "Peggy"),
        ("We run Kubernetes, k8s for short.", "Kubernetes", "k8s"),
        ('William "Bill" Hughes chairs the club.', "William Hughes", "Bill"),
        ("Everyone in the lab calls Anna Schmidt Annie.", "Anna Schmidt", "Annie"),
        ("Manuel Ortega, Manu to his friends, repairs motorcycles.", "Manuel Ortega", "Manu"),
        ("Project Gather, formerly known as Harvest, is late.", "Project Gather", "Harvest"),
        ("Project Alpha was renamed Bravo.", "Project Alpha", "Bravo"),
        ("Elizabeth's nickname is Lizzy.", "Elizabeth", "Lizzy"),
        ("Jo is short for Josephine.", "Josephine", "Jo"),
        ("The tool Moneta (aka Coins) is slow.", "Moneta", "Coins"),
        ("Heute kommt Johanna Wolf, genannt Hanni.", "Johanna Wolf", "Hanni"),
        ("Kwabena Osei, who goes by Kobby online, is here.", "Kwabena Osei", "Kobby"),
        ("Mrs. Popa, or Kiki as the whole house knows her, is in.", "Popa", "Kiki"),
        ("The World Food Programme, the WFP, pays.", "World Food Programme", "WFP"),
        ("talked to siobhan aka shiv about it", "talked to siobhan", "shiv"),
        ("the tool we used to call Heron is now Kestrel", "Kestrel", "Heron"),
        ("our app that used to be called lantern is now beacon", "beacon", "lantern"),
        ("Meta, formerly Facebook, is hiring.", "Meta", "Facebook"),
        ("We renamed Heron to Kestrel.", "Kestrel", "Heron"),
        ("Kestrel used to be called Heron.", "Kestrel", "Heron"),
        ("Heron is now called Kestrel.", "Kestrel", "Heron"),
        ("Aleksander prefers to be called Olek.", "Aleksander", "Olek"),
        ("Ola, short for Aleksandra, is here.", "Aleksandra", "Ola"),
        ("My sister Julia studies law.", "Julia", "Tom's sister"),
        ("Eva's husband is called Piet.", "Piet", "Eva's husband"),
        ("I visited my dad Karl on Sunday.", "Karl", "Tom's father"),
    ],
)
def test_another_name_is_read(text: str, name: str, other: str) -> None:
    """Nicknames, old names, short forms and relations, as people tell them."""
    assert stated_aliases(text, speaker="Tom").pairs == ((name, other),)


@pytest.mark.parametrize(
    "text",
    [
        "We call Anna on Mondays.",
        "We call Bob Monday.",
        "They called Anna a hero.",
        "Everyone calls Mark boring.",
        "Berlin is known as the capital of cool.",
        "Anna goes by bike.",
        "Robert Chen goes by car, Bob by train.",
        "Anna is known for her cakes.",
        "Tom renamed the file.",
        "We rented a flat in Paris, France for short stays.",
        "My friend Ana called.",
        "My boss Friday was worse than my boss today.",
        "Vitamin C is short for a few hours.",
        "Lisbon (Portugal) is sunny.",
        "The API is known as slow.",
        "kofi goes by train",
        "Anna is now Director.",
        "Tom became King.",
        "the shop is known as cheap",
        "The Red Cross, the NHS, and others came.",
        "We used to call Anna on Mondays.",
    ],
)
def test_what_only_sounds_alike_tells_no_name(text: str) -> None:
    """A wrong alias would mix two things up in every answer, so nothing is taken from these."""
    assert stated_aliases(text, speaker="Tom").pairs == ()


def test_the_other_name_is_blotted_out_of_the_rest() -> None:
    """What is left names one person once, so that nobody is registered twice."""
    assert stated_aliases("Everyone calls Anna Schmidt Annie.").rest == "Everyone calls Anna Schmidt      ."


@pytest.mark.parametrize(
    ("text", "nickname"),
    [
        ("hermione is my niece, we call her minnie", "minnie"),
        ("His name is Aleksander but he goes by Sasha", "Sasha"),
        ("Everyone just calls him Bear.", "Bear"),
        ("We call it Beacon.", "Beacon"),
        ("my friends call me Kit", "Kit"),
    ],
)
def test_a_pronoun_may_be_called_something(text: str, nickname: str) -> None:
    """Whom it means is decided where the people of the statement are known."""
    assert [other for _, other in stated_aliases(text).nicknames] == [nickname]


@pytest.mark.parametrize(
    "text", ["we call her every day", "they call him back", "she goes by bus", "call her Monday"]
)
def test_a_call_is_no_nickname(text: str) -> None:
    """Common words and days are none."""
    assert stated_aliases(text).nicknames == ()


def test_a_relation_needs_an_owner() -> None:
    """“My sister” is nobody's while nobody knows who speaks."""
    assert stated_aliases("My sister Julia studies law.").pairs == ()


@pytest.mark.parametrize(
    "text", ["I moved to Oslo.", "The car is mine.", "Ich wohne in Wien.", "Ask me again."]
)
def test_the_first_person_speaks_of_itself(text: str) -> None:
    """Statements in the first person are about the one who says them."""
    assert speaks_of_self(text)


@pytest.mark.parametrize(
    "text", ["Anna moved to Oslo.", "We meet at nine.", "The iPhone is new.", "Mexico is big."]
)
def test_the_third_person_does_not(text: str) -> None:
    """Neither "we", nor letters inside other words, make a statement one about its speaker."""
    assert not speaks_of_self(text)
