"""One table decides what reaches whom; masking leaves no trace of a secret in any field."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec
import pytest

from engramdb.values import Actor, ActorKind, Memory, Role, SecurityTier, Traits, Turn
from engramdb.values.memory import Claim, Detail
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.vault.asking import secrets_asked_for
from engramdb.vault.disclosure import (
    FORMS,
    Audience,
    Form,
    Viewer,
    disclose,
    disclose_memory,
    disclose_text,
    disclose_turns,
    form_of,
)
from engramdb.vault.masking import mask_numbers, mask_reason, scan_memory
from engramdb.vault.questions import asked_secret

NOW = datetime(2026, 5, 8, tzinfo=UTC)
SECRET = "Hunter2!x9"  # noqa: S105


def memory(content: str, *, id: str = "m", **fields: object) -> Memory:  # noqa: A002
    """Return a confidential memory."""
    fields = {"security": SecurityTier.CONFIDENTIAL, **fields}
    return msgspec.structs.replace(Memory(id=id, content=content, created_at=NOW, updated_at=NOW), **fields)


def turn(content: str, role: Role) -> Turn:
    """Return a turn of one session."""
    return Turn(id=content[:4], content=content, role=role, occurred_at=NOW, created_at=NOW, session="s")


@pytest.mark.parametrize("tier", SecurityTier)
@pytest.mark.parametrize("audience", Audience)
def test_every_tier_has_a_form_for_every_audience(tier: SecurityTier, audience: Audience) -> None:
    """No audience is forgotten; a secret is whole only for models of this machine; telemetry has nothing."""
    form = FORMS[tier][audience]

    if audience in (Audience.LOG, Audience.SPAN, Audience.METRIC):
        assert form is Form.ABSENT
    if tier is SecurityTier.CONFIDENTIAL and form is Form.WHOLE:
        assert audience in (Audience.LOCAL_MODEL, Audience.LOCAL_EMBEDDER)


def test_asking_by_name_shows_a_secret_to_people_and_agents_only() -> None:
    """No list, page, prompt or file shows one, even where it was asked for."""
    shown = {one for one in Audience if form_of(SecurityTier.CONFIDENTIAL, one, asked=True) is Form.WHOLE}

    assert shown == {Audience.PERSON, Audience.AGENT, Audience.LOCAL_MODEL, Audience.LOCAL_EMBEDDER}


def test_hostile_text_enters_nothing_automatic() -> None:
    """A flagged memory reaches no window and no remote model, and is whole for the person who looks."""
    flagged = ("injection",)

    assert form_of(SecurityTier.CLEARTEXT, Audience.PROMPT, flags=flagged) is Form.ABSENT
    assert form_of(SecurityTier.CLEARTEXT, Audience.PERSON, flags=flagged) is Form.WHOLE


def test_a_masked_memory_holds_its_secret_in_no_field() -> None:
    """Content, statement, claims, detail, tags, people, verbatim: all of it is masked or dropped."""
    told = memory(
        f"the wifi password is {SECRET}, ask Bob",
        statement=f"The user's wifi password is {SECRET}.",
        verbatim=f"ok so the wifi password is {SECRET}!!",
        object=SECRET,
        replaces=SECRET,
        claims=(Claim(subject="wifi password", predicate="is", object=SECRET),),
        detail=Detail(summary=f"password {SECRET}", key_fact=SECRET, tag="hunter2"),
        traits=Traits(people=("Bob", "Hunter2"), topics=("wifi", "hunter2")),
        refers_to=(f"password {SECRET}",),
    )

    shown = disclose_memory(told, Audience.PERSON)

    assert shown is not None
    assert shown.content == "the wifi password is [confidential], ask Bob"
    assert shown.traits.people == ("Bob",)
    assert "hunter2" not in msgspec.json.encode(shown).decode().lower()


def test_a_secret_that_cannot_be_located_hides_the_whole_memory() -> None:
    """The tier counts, also where no finder knows why."""
    shown = disclose_memory(memory("nothing to see"), Audience.PERSON)

    assert shown is not None
    assert shown.content == "[confidential]"


def test_what_is_ordinary_passes_untouched() -> None:
    """A cleartext memory is the same object: reading costs nothing."""
    told = memory("Maya likes tea", security=SecurityTier.CLEARTEXT)

    assert disclose_memory(told, Audience.PROMPT) is told
    assert disclose([told], Audience.LIST)[0] is told


def test_a_secret_that_only_a_question_gives_away_is_masked_in_turns() -> None:
    """Digits are harmless alone and secret after the question for the code."""
    said = [turn("what is the alarm code?", Role.ASSISTANT), turn("471199", Role.USER)]

    assert disclose_turns(said, Audience.AGENT)[1].content == "[confidential]"
    assert disclose_turns(said[1:], Audience.AGENT, before=said[:1])[0].content == "[confidential]"


def test_a_model_elsewhere_gets_no_address_and_no_answer_to_a_request_for_a_secret() -> None:
    """Mail and phone are masked for it, a secret after its question too; the person sees the former."""
    mail = "write to noor@example.com about the tiles"

    assert disclose_text(mail, Audience.REMOTE_MODEL) == "write to [personal] about the tiles"
    assert disclose_text(mail, Audience.PROMPT) == mail
    assert "471199" not in (disclose_text("What is the alarm code? 471199", Audience.REMOTE_EMBEDDER) or "")


@pytest.mark.parametrize(
    "question",
    [
        *(
            "what's the alarm code?",
            "alarm code",
            "Wie lautet der Alarmcode?",
            "quel est le code de l'alarm ?",
        ),
        *("¿cuál es el código de alarm?", "tell me the code of the alarm"),
    ],
)
def test_a_question_by_name_finds_its_secret_and_no_other(question: str) -> None:
    """The kinds must match and the other words fit: no bank PIN, no password."""
    held = [
        memory("the alarm code is 471199", id="alarm"),
        memory("my bank PIN is 8052", id="pin"),
        memory(f"the wifi password is {SECRET}", id="wifi"),
    ]

    assert secrets_asked_for(question, held).keys() == {"alarm"}


@pytest.mark.parametrize(
    "question",
    [
        *("Write a haiku about passwords", "which password manager do I use?", "how do I reset my password?"),
        *("tell me about Zoltan", "where is the storefront hosted?", "who knows the alarm code?"),
    ],
)
def test_speaking_of_secrets_is_not_asking_for_one(question: str) -> None:
    """Nothing is shown to who asks for no value."""
    assert asked_secret(question) is None


def test_no_secret_of_the_kind_means_none_is_shown() -> None:
    """Who asks for the alarm code of a house without one is not shown the next best code."""
    assert not secrets_asked_for("what's the alarm code?", [memory("my bank PIN is 8052")])


def test_an_agent_sees_secrets_only_where_the_setting_says_so() -> None:
    """A person may always ask."""
    agent = Actor(name="bot", kind=ActorKind.AGENT)

    assert Viewer.of(Actor(), secrets_for_agents="never").can_ask_for_secrets
    assert Viewer.of(agent, secrets_for_agents="asked").can_ask_for_secrets
    assert not Viewer.of(agent, secrets_for_agents="never").can_ask_for_secrets


@pytest.mark.parametrize(
    "content",
    [
        *(f"the wifi password is {SECRET}, ask Bob", "Nora's alarm code is 7788 and she lives in Ghent"),
        *("my card is 4111 1111 1111 1111, cvv 123", "my SSN is 536-22-1098", "nothing to see"),
    ],
)
def test_masking_what_is_masked_changes_nothing(content: str) -> None:
    """Two surfaces on one path may both mask: the second finds the placeholder and leaves the rest."""
    once = disclose_memory(memory(content, statement=content, verbatim=content), Audience.PROMPT)
    assert once is not None

    assert "[confidential]" in once.content
    assert disclose_memory(once, Audience.PROMPT) == once
    assert disclose_text(once.content, Audience.PROMPT) == once.content


def test_masking_numbers_takes_no_square_of_a_text() -> None:
    """A word without a digit is read once, however long it is."""
    begun = time.process_time()

    assert mask_numbers("a" * 200_000) == "a" * 200_000
    assert mask_numbers("was x55y, then 7,8") == "was [confidential], then [confidential],[confidential]"
    assert time.process_time() - begun < 1


def test_the_placeholder_in_stored_words_is_no_mask() -> None:
    """Where nothing was located nothing is shown, whoever wrote the placeholder and in which field."""
    literal = memory("the [confidential] thing is swordfish", detail=Detail(tokens={"full": 7}))
    told = memory("it is swordfish", verbatim="it is swordfish", private=(PiiSpan(0, 0, PiiKind.CREDENTIAL),))

    for one in (literal, told):
        shown = disclose_memory(one, Audience.PROMPT)
        assert shown is not None
        assert "swordfish" not in str(shown)
        assert disclose_memory(shown, Audience.PROMPT) == shown


def test_a_reason_about_a_secret_holds_no_number() -> None:
    """Also one that no memory knows: the code before the last."""
    told = [memory("Nora's alarm code is 7788")]

    assert mask_reason("was 5512 before, 7788 now", told, by=ActorKind.PERSON) == (
        "was [confidential] before, [confidential] now"
    )
    assert mask_reason("moved in 2021", [], by=ActorKind.PERSON) == "moved in 2021"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("my visa card 4111 1111 1111 1111 exp 09/27 cvv 123", "the flight BA2490 lands 14:35"),
        ("pin for the sim is 0000", "our house number is 4711"),
        ("pin numpy to 1.26.4", "the token count was 4096"),
        ("the alarm code was changed on Monday", "order 20931 has been shipped"),
        ("my locker is number 217", "call me on 0176 5551234"),
    ],
)
def test_a_number_after_a_sentence_that_asks_for_none_is_ordinary(before: str, said: str) -> None:
    """Only a question, or a sentence left open, makes a secret of the digits after it."""
    turns = [turn(before, Role.USER), turn(said, Role.USER)]
    leaning = memory(said, refers_to=(before,), security=SecurityTier.CLEARTEXT)

    assert disclose_turns(turns, Audience.AGENT)[1].content == said
    assert scan_memory(leaning).tier is not SecurityTier.CONFIDENTIAL


@pytest.mark.parametrize(
    "before", ["what's the code?", "the alarm code is:", "please send me the access code", "I need your PIN"]
)
def test_a_number_after_a_request_for_a_code_is_secret(before: str) -> None:
    """With or without a question mark."""
    turns = [turn(before, Role.ASSISTANT), turn("471199", Role.USER)]

    assert disclose_turns(turns, Audience.AGENT)[1].content == "[confidential]"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        *(("what is my social security number?", "ssn"), ("what is my SSN?", "ssn")),
        *(("Wie lautet meine Sozialversicherungsnummer?", "ssn"), ("Wie ist die Geheimzahl der SIM?", "pin")),
        *(("what's the wifi password?", "wifi"), ("wie ist das WLAN-Passwort?", "wifi")),
        *(("what is my visa card number?", "visa"), ("what's my mastercard number?", "master")),
    ],
)
def test_a_secret_is_found_under_any_of_its_names(question: str, found: str) -> None:
    """Who told the SSN may ask for the social security number, and who told the WLAN for the wifi."""
    held = [
        memory("my SSN's 536-22-1098 btw", id="ssn"),
        memory("my SIM's PIN is 4471", id="pin"),
        memory(f"das WLAN-Passwort ist {SECRET}", id="wifi"),
        memory("my visa is 4111 1111 1111 1111", id="visa"),
        memory("my mastercard is 5500 0000 0000 0004", id="master"),
    ]

    assert secrets_asked_for(question, held).keys() == {found}
