"""What only the guard model finds private is masked everywhere, as what rules find; without it, it is not."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.exporting.export import line_of
from engramdb.lifecycle.candidates import classified
from engramdb.models.packs import pack_folder
from engramdb.testing import ManualClock
from engramdb.text.pii import PiiScan, classify, conceal, proven
from engramdb.values import Memory, Role, SecurityTier, Turn
from engramdb.values.privacy import PersonalData, PiiKind, PiiSpan
from engramdb.vault.finding import find_values, merge, relocate
from engramdb.vault.masking import mask_part, mask_turn, stays_out_of_files

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUESTION = "What do guests need to get on the wifi?"
ANSWER = "it's maple-Tractor-88, she painted it on the fridge"
LATER = "It took her a whole afternoon."
SECRET = "maple-Tractor-88"  # noqa: S105 - invented
HEALTH = "turns out the lump is benign but I start on letrozole next week"


def opened(home: Path, folder: Path, reader: str = "auto") -> Engram:
    """Open a store in a folder with a reader."""
    settings = Settings(home=home, reader=reader, embedder="static")
    return Engram.open(folder / "memory.db", settings=settings, clock=ManualClock(), background=False)


@pytest.fixture
def engram(e5_home: Path, tmp_path: Path) -> Iterator[Engram]:
    """A store with the pack."""
    with opened(e5_home, tmp_path) as engram:
        yield engram


def tell(engram: Engram) -> None:
    """Say what holds a secret that no rule knows, between sentences that lean on it."""
    engram.observe(QUESTION, role="assistant", session="s")
    engram.observe(f"{ANSWER}. {LATER}", role="user", session="s")
    engram.flush()


def everything(engram: Engram) -> str:
    """Return all that is shown without asking for the secret by name."""
    shown = [
        engram.list(limit=50),
        engram.turns(limit=50),
        engram.recall("what did she paint?"),
        engram.recall("fridge"),
        engram.context("how long did it take her?", session="s").text,
        engram.summaries(limit=10),
        [engram.history(one.id) for one in engram.list(limit=50)],
    ]
    return str(shown)


def test_a_secret_without_a_cue_word_is_masked_on_every_path(engram: Engram) -> None:
    """In its memory, in its turn, and where a neighbor leans on its sentence."""
    tell(engram)

    assert SECRET not in everything(engram)
    assert "[confidential]" in str(engram.turns(limit=5))


def test_it_is_masked_before_anybody_has_read_the_turn(engram: Engram) -> None:
    """From the moment that it is stored, and what the caller gets back is what the caller said."""
    engram.observe(QUESTION, role="assistant", session="s")
    turn = engram.observe(ANSWER, session="s")

    assert SECRET in turn.content
    assert "start=" not in str(turn)
    assert SECRET not in str(engram.turns()) + engram.context("go on", session="s").text


def test_without_the_model_it_is_shown(e5_home: Path, tmp_path: Path) -> None:
    """Switched off, the same talk shows it: rules alone do not know it."""
    with opened(e5_home, tmp_path, reader="rules") as engram:
        tell(engram)

        assert SECRET in everything(engram)


def test_its_words_are_in_no_index(engram: Engram, e5_home: Path, tmp_path: Path) -> None:
    """The right guess finds it no better than a wrong one: nobody can guess it by searching."""
    tell(engram)
    answers = [engram.recall(guess) for guess in ("maple tractor", "birch scooter")]
    tell_another = ANSWER.replace(SECRET, "birch-Scooter-31")
    (tmp_path / "other").mkdir()
    with opened(e5_home, tmp_path / "other") as other:
        other.observe(QUESTION, role="assistant", session="s")
        other.observe(f"{tell_another}. {LATER}", role="user", session="s")
        other.flush()
        others = [other.recall(guess) for guess in ("maple tractor", "birch scooter")]

    for mine, theirs in zip(answers, others, strict=True):
        assert [hit.score for hit in mine.hits] == [hit.score for hit in theirs.hits]
        assert [one.score for one in mine.said] == [one.score for one in theirs.said]


def test_the_statement_is_confidential_and_given_to_who_asks_by_name(engram: Engram) -> None:
    """What was found is stored with it, so that a process without the pack masks it too."""
    memory = engram.remember("to get on the wifi at mum's: maple-Tractor-88")

    assert memory.security is SecurityTier.CONFIDENTIAL
    assert SECRET in engram.get(memory.id, reveal=True).content
    assert SECRET not in engram.get(memory.id).content


def test_a_sentence_is_masked_for_what_its_message_says(engram: Engram) -> None:
    """Neither alone nor with the one before it does it say what its words are for."""
    engram.observe(
        "The school wants a word before anybody takes Junie home. My mother will fetch her on Friday. "
        "My mother chose waffle iron and Junie giggles every time.",
        session="s",
    )
    engram.flush()

    assert "My mother chose [confidential] and Junie giggles every time" in [
        one.content for one in engram.list(limit=9)
    ]
    assert "waffle iron" not in everything(engram)


def test_a_bare_answer_is_read_with_its_question(engram: Engram) -> None:
    """Two plain words are a secret only because of what was asked, which no rule knows."""
    for session, question in (
        ("s", "What word does the babysitter have to say at the school gate?"),
        ("t", "What shall I draw next?"),
    ):
        engram.observe(question, role="assistant", session=session)
        engram.observe("waffle iron", role="user", session=session)
    engram.flush()

    assert [one.content for one in engram.turns(session="s")][-1] == "[confidential]"
    assert [one.content for one in engram.turns(session="t")][-1] == "waffle iron"


def test_a_process_without_the_pack_masks_what_was_found(e5_home: Path, tmp_path: Path) -> None:
    """The place is in the file; nobody has to find it again."""
    with opened(e5_home, tmp_path) as engram:
        tell(engram)

    with opened(tmp_path, tmp_path, reader="rules") as other:
        assert SECRET not in everything(other)


def test_health_in_other_words_is_sensitive(engram: Engram) -> None:
    """A diagnosis without a word of the list."""
    assert engram.remember(HEALTH).security is SecurityTier.SENSITIVE


def test_callers_get_no_places(engram: Engram) -> None:
    """Where private words stand is for us: no answer carries it."""
    memory = engram.remember("to get on the wifi at mum's: maple-Tractor-88")

    for shown in (memory, engram.get(memory.id), engram.list()[0], engram.recall("wifi").hits[0].memory):
        assert "start=" not in str(shown)


def test_a_broken_model_costs_no_write_and_is_named(e5_home: Path, tmp_path: Path) -> None:
    """Rules decide alone, and status says that a part fails."""
    home = tmp_path / "home"
    shutil.copytree(pack_folder("e5-small", e5_home), pack_folder("e5-small", home))
    (pack_folder("e5-small", home) / "guard.onnx").write_bytes(b"rubbish")

    with opened(home, tmp_path) as engram:
        stored = engram.remember("the wifi password is Hunter2!x9")
        failing = [part.name for part in engram.status().parts if part.is_failing]

    assert stored.security is SecurityTier.CONFIDENTIAL
    assert "guard model" in failing


def test_forgetting_a_sentence_unmasks_no_other(engram: Engram) -> None:
    """What was found in the rest of the message still counts."""
    engram.observe(f"{QUESTION} My dog is called Rex. To get on the wifi: {SECRET}.", session="s")
    engram.flush()
    dog = next(one for one in engram.list() if "Rex" in one.content)

    engram.forget(dog.id, reason="not mine")

    assert "Rex" not in str(engram.turns())
    assert SECRET not in everything(engram)


def test_what_is_private_stays_out_of_exports(engram: Engram) -> None:
    """Health beside a town is no mere town; and no line tells where private words stand."""
    engram.remember("I live in Oslo and I am in recovery from alcohol")
    engram.remember("I live in Bergen")

    told = list(engram.export())
    every = list(engram.export(tiers=list(SecurityTier)))

    assert [one.memory.content for one in told] == ["I live in Bergen"]
    assert b'"private"' not in b"".join(map(line_of, every))
    assert [one.memory for one in every] == [engram.get(one.memory.id) for one in every]


def test_rules_and_model_join_where_they_overlap() -> None:
    """A rule that saw half of a code does not keep the other half in sight."""
    text = "Our pin is 4471-99 B2 and hash"
    rules = PiiScan.of([PiiSpan(11, 15, PiiKind.CREDENTIAL)])
    found = PersonalData((PiiSpan(11, 21, PiiKind.CREDENTIAL),))

    assert conceal(text, merge(text, rules, found)) == "Our pin is [confidential] and hash"


def test_a_phone_that_is_a_code_is_a_code() -> None:
    """The stricter of two kinds counts."""
    text = "recovery word 415-555-0142"
    rules = PiiScan.of([PiiSpan(14, 26, PiiKind.PHONE)])

    both = merge(text, rules, PersonalData((PiiSpan(14, 26, PiiKind.CREDENTIAL),)))

    assert both.tier is SecurityTier.CONFIDENTIAL


def test_a_proven_secret_is_never_cleared() -> None:
    """A model that sees nothing takes away what only rules suspect, and not what check digits prove."""
    card, code = "my card is 4539 1488 0343 6467", "the version is 4471"
    nothing = PersonalData(cleared=frozenset({PiiKind.PAYMENT_CARD, PiiKind.CREDENTIAL}))

    assert merge(card, classify(card), nothing).tier is SecurityTier.CONFIDENTIAL
    assert merge(code, PiiScan.of([PiiSpan(15, 19, PiiKind.CREDENTIAL)]), nothing).kinds == frozenset()


def test_the_code_behind_a_card_and_a_medicine_that_is_taken_are_never_cleared() -> None:
    """A model of this size knows neither every language nor every medicine."""
    card = '{"pan":"5425233430109903","exp":"0828","cvc":"419"}'
    medicine = "can I run a half marathon on lithium? 600 mg twice a day"
    nothing = PersonalData((), frozenset(PiiKind))

    assert "419" not in conceal(card, merge(card, classify(card), nothing))
    assert merge(medicine, classify(medicine), nothing).tier is SecurityTier.SENSITIVE


def test_what_looks_like_nothing_but_a_password_is_never_cleared() -> None:
    """Of both cases, with digits and signs; a number that a rule took for a code is cleared."""
    nothing = PersonalData((), frozenset(PiiKind))
    told = "the keystore was easy, the pfx just wants Violin.Xo_73k and off it goes"
    number = "what is the code of this lock maker? model TSE 4103, the battery is flat"

    assert "Violin" not in conceal(told, merge(told, classify(told), nothing))
    assert merge(number, PiiScan.of([PiiSpan(47, 51, PiiKind.CREDENTIAL)]), nothing).kinds == frozenset()


def test_the_public_half_of_a_key_is_no_secret() -> None:
    """Whatever the model makes of its jumble; the private half beside it is one."""
    public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKq7v0WbTzXn4Rj2LmYd8sGhPc5FuEo1NkVtQw9ZiBxA me@host"
    found = PersonalData((PiiSpan(12, 80, PiiKind.CREDENTIAL),))
    both = f"{public} with the passphrase tulip-Anchor-77"
    start = both.index("tulip")
    beside = PersonalData((PiiSpan(start, len(both), PiiKind.CREDENTIAL),))

    assert merge(public, classify(public), found).tier is SecurityTier.CLEARTEXT
    assert conceal(both, merge(both, PiiScan.of(()), beside)).endswith("passphrase [confidential]")


def test_a_published_example_is_private_only_where_the_model_says_so_too() -> None:
    """An encyclopedia's IBAN is nobody's, and yet somebody may pass it off as theirs."""
    text = "Wikipedia explains mod 97 with GB82 WEST 1234 5698 7654 32"
    account = PersonalData((PiiSpan(31, len(text), PiiKind.BANK_ACCOUNT),))

    assert merge(text, classify(text), PersonalData(())).tier is SecurityTier.CLEARTEXT
    assert merge(text, classify(text), account).tier is SecurityTier.CONFIDENTIAL
    assert classify(text).tier is SecurityTier.CONFIDENTIAL, "without the model the rules decide alone"


BASE64 = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo"
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{BASE64}\n{BASE64}\nVQIDAQAB\n-----END CERTIFICATE-----"
WORD = "tangerine"


def told_by_the_model(text: str, secret: str) -> str:
    """Return what is shown of a text in which the model finds a secret."""
    start = text.index(secret)
    found = PersonalData((PiiSpan(start, start + len(secret), PiiKind.CREDENTIAL),))
    return conceal(text, merge(text, PiiScan.of(()), found))


@pytest.mark.parametrize(
    "text",
    [
        f"{CERTIFICATE}\nthe duress word for the alarm people is {WORD}",
        f"-----BEGIN CERTIFICATE-----\n{BASE64}\nthe duress word is {WORD}",
        f"-----BEGIN CERTIFICATE-----\nthe duress word is {WORD}\n-----END CERTIFICATE-----",
        f"-----BEGIN PUBLIC KEY-----\n{WORD}",
        f"sha256:{WORD}{'a' * 30}",
        f"sha256:{'ab' * 32}{WORD}",
        f"md5={WORD}{'b' * 23}x",
        f"ssh-rsa AAAAsuper{WORD}password/KdTulipTulip99",
        f"ssh-ed25519 AAAAB3NzaC1yc2E{WORD}",
    ],
)
def test_what_only_stands_beside_a_public_form_is_no_part_of_it(text: str) -> None:
    """Each form ends where it ends: a block with its last line, a checksum after its own length."""
    assert WORD not in told_by_the_model(text, WORD)


@pytest.mark.parametrize(
    "text",
    [
        CERTIFICATE,
        CERTIFICATE.replace("\n", "\\n"),
        CERTIFICATE.rsplit("\n", 2)[0],
        f"sha256:{'ab' * 32}",
        f"the integrity is sha512-{'Ab1+' * 21}Ab==",
        "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 is GitHub's",
        f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{'Cx9v' * 90} me@host",
    ],
)
def test_public_keys_certificates_and_checksums_are_public_to_their_end(text: str) -> None:
    """Also with line breaks that were written out, and a block that was cut off."""
    last = max(text.replace("\\n", " ").split(), key=len)[-20:]

    assert last in told_by_the_model(text, last)


def test_what_is_public_by_its_form_is_no_secret_for_rules_either() -> None:
    """A checksum after the word token; what is proven stays, whatever stands around it."""
    checksum, nothing = f"the token is sha256:{'9f8a7b6c5d4e3f21' * 4}", PersonalData(())
    key = f"{CERTIFICATE}\nand the key is AKIAIOSFODNN7ABCDEFG"

    assert classify(checksum).tier is SecurityTier.CONFIDENTIAL, "the rules take it for a token"
    assert merge(checksum, classify(checksum), nothing).tier is SecurityTier.CLEARTEXT
    assert "AKIA" not in conceal(key, merge(key, classify(key), nothing))


@pytest.mark.parametrize("before", ["", "my iban ", "IBAN: ", "the account is "])
def test_a_published_example_is_one_whatever_stands_before_it(before: str) -> None:
    """Where a rule begins to read makes no difference; a real number after the same words stays."""
    example, real = f"{before}DE89370400440532013000", f"{before}DE75512108001245126199"

    assert merge(example, classify(example), PersonalData(())).tier is SecurityTier.CLEARTEXT
    assert merge(real, classify(real), PersonalData(())).tier is SecurityTier.CONFIDENTIAL


def test_the_digits_behind_a_test_card_are_cleared_with_it() -> None:
    """They prove nothing; behind a card that a bank may have given out they are its code."""
    cleared = PersonalData((), frozenset(PiiKind))
    test, real = "test card 4242424242424242, 123", "my card 4539148803436467, 123"

    assert merge(test, classify(test), cleared).kinds == frozenset()
    assert conceal(real, merge(real, classify(real), cleared)) == "my card [confidential], [confidential]"


@pytest.mark.parametrize(
    ("example", "real"),
    [("GB82WEST12345698765432", "GB98MIDL07009312345678"), ("4242424242424242", "4539148803436467")],
)
def test_a_number_with_check_digits_is_proven_and_a_published_one_is_not(example: str, real: str) -> None:
    """A model that clears them has its way with those of the documentation only."""
    assert proven(f"it is {example} there") == frozenset()
    assert {text for text in [real] if proven(f"it is {text} there")} == {real}


@pytest.mark.parametrize(
    ("public", "other"),
    [
        ("1Z 999 AA1 01 2345 6784", "1Z 999 AA1 01 2345 6785"),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"),
        ("$BILLING_DB_PASSWORD", "$BILLING"),
        ("${TOKEN}", "$TOKEN$"),
    ],
)
def test_what_check_digits_or_form_prove_public_is_no_secret(public: str, other: str) -> None:
    """A parcel, the address of a wallet, and the name of a variable; not what merely looks like one."""
    for value, is_public in ((public, True), (other, False)):
        found = PersonalData((PiiSpan(4, 4 + len(value), PiiKind.CREDENTIAL),))
        assert (merge(f"use {value} there", PiiScan.of(()), found).spans == ()) is is_public, value


def test_a_text_full_of_keys_takes_no_square_of_their_number() -> None:
    """Four times the keys take about four times as long to join, to mask and to find in another text."""

    def seconds(count: int) -> float:
        text = " ".join(f"AKIA{number:016d}" for number in range(count))
        spans = tuple(PiiSpan(at, at + 20, PiiKind.CREDENTIAL) for at in range(0, len(text), 21))
        rules = PiiScan.of(spans)
        begin = time.thread_time()
        both = merge(text, rules, PersonalData(spans, frozenset(PiiKind)))
        assert "AKIA" not in mask_turn(spoken(text, both.findings), heard=[]).content
        assert len(list(relocate(spans, text, text))) == count
        return time.thread_time() - begin

    gc.disable()  # how long it takes depends on all that other tests have left
    try:
        assert min(seconds(8_000) / seconds(2_000) for _ in range(3)) < 9
    finally:
        gc.enable()


def test_a_value_that_is_found_twice_is_placed_once() -> None:
    """In the order in which it is said, in capitals or not, and never inside a longer word."""
    before, after = "wren and wren", "Wren, wrench, WREN"
    spans = [PiiSpan(0, 4, PiiKind.CREDENTIAL), PiiSpan(9, 13, PiiKind.CREDENTIAL)]

    assert [(one.start, one.end) for one in relocate(spans, before, after)] == [(0, 4), (14, 18)]


def test_values_that_overlap_are_all_found() -> None:
    """One inside the other, one that begins in the other, and a run of one sign in a longer run."""
    found = find_values(
        "Blue Wren Lake! at !!!", ["blue wren", "wren", "Wren Lake!", "lake", "!!", "blue wren sea"]
    )

    assert sorted(found) == [
        *((0, 9, "blue wren"), (5, 9, "wren"), (5, 15, "Wren Lake!"), (10, 14, "lake")),
        *((19, 21, "!!"), (20, 22, "!!")),
    ]


def spoken(text: str, private: tuple[PiiSpan, ...]) -> Turn:
    """Return a turn in which something was found."""
    return Turn(id="t", content=text, role=Role.USER, occurred_at=NOW, created_at=NOW, private=private)


def test_a_secret_that_is_said_twice_is_masked_in_every_part_of_the_turn() -> None:
    """Also where only its first place was found."""
    found = (PiiSpan(15, 22, PiiKind.CREDENTIAL),)
    turn = spoken("The gate wants 44-71-9. Yes, 44-71-9 opens it.", found)

    for part in (
        "The gate wants 44-71-9.",
        "Yes, 44-71-9 opens it.",
        "wants 44-7",
        "gate wants … opens 44-71-9",
    ):
        assert "44-7" not in mask_part(turn, part), part


class FindsLump:
    """Takes one word for a matter of health."""

    def find(self, text: str, *, before: str = "") -> PersonalData:
        """Return where the word stands."""
        at = text.find("lump")
        return PersonalData(() if at < 0 else (PiiSpan(at, at + 4, PiiKind.HEALTH),))


def test_an_everyday_name_does_not_hide_what_a_memory_leans_on() -> None:
    """Labelled for its town alone, it would be exported with the words that only the model knows."""
    town = Memory(id="m", content="My brother Paul lives in Braga", created_at=NOW, updated_at=NOW)

    assert not stays_out_of_files(classified(town, FindsLump()))
    assert stays_out_of_files(classified(town.evolve(refers_to=("the lump is back",)), FindsLump()))
