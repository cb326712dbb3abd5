"""What only the guard model finds private is masked everywhere, as what rules find; without it, it is not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engramdb import Engram, Settings
from engramdb.exporting.export import line_of
from engramdb.models.packs import pack_folder
from engramdb.testing import ManualClock
from engramdb.text.pii import PiiScan, classify, conceal
from engramdb.values import Role, SecurityTier, Turn
from engramdb.values.privacy import PersonalData, PiiKind, PiiSpan
from engramdb.vault.finding import merge
from engramdb.vault.masking import mask_part

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


def test_a_secret_that_is_said_twice_is_masked_in_every_part_of_the_turn() -> None:
    """Also where only its first place was found."""
    turn = Turn(
        id="t",
        content="The gate wants 44-71-9. Yes, 44-71-9 opens it.",
        role=Role.USER,
        occurred_at=NOW,
        created_at=NOW,
        private=(PiiSpan(15, 22, PiiKind.CREDENTIAL),),
    )

    for part in (
        "The gate wants 44-71-9.",
        "Yes, 44-71-9 opens it.",
        "wants 44-7",
        "gate wants … opens 44-71-9",
    ):
        assert "44-7" not in mask_part(turn, part), part
