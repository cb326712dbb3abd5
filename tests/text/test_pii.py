"""Which personal and secret things are found in a text, and which numbers and words are left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.text import pii_numbers as pii_checks
from engramdb.text.pii import classify, tier_of
from engramdb.values import SecurityTier
from engramdb.values.privacy import PiiKind
from evals.capture import pii as measured

# Made-up keys are put together here, or a code host's own scanner would take them for real ones.
FAKE = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (PiiKind.SSN, "My SSN is 123-45-6789"),
        (PiiKind.EMAIL, "Write to ann.lee@example.org"),
        (PiiKind.PAYMENT_CARD, "Card 4111 1111 1111 1111"),
        (PiiKind.PERSON_NAME, "My name is Caroline"),
        (PiiKind.PERSON_NAME, "User's name is John Smith"),
        (PiiKind.PERSON_NAME, "меня зовут Анна"),
        (PiiKind.LOCATION, "I live in Berlin"),
        (PiiKind.LOCATION, "Caroline lives near Boston"),
        (PiiKind.CREDENTIAL, "my password is hunter2!Xy"),
        (PiiKind.PHONE, "Call +44 20 7946 0958"),
        (PiiKind.POSTAL_ADDRESS, "Ship to 1600 Pennsylvania Avenue NW"),
        (PiiKind.GOVERNMENT_ID, "My passport number is X1234567"),
        (PiiKind.BANK_ACCOUNT, "IBAN GB82 WEST 1234 5698 7654 32"),
    ],
)
def test_each_kind_is_found(kind: PiiKind, text: str) -> None:
    """A plain statement of each kind is recognised as that kind and no other."""
    assert classify(text).kinds == {kind}


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + FAKE,
        "github_pat_" + FAKE,
        "sk-" + FAKE,
        "sk-proj-" + FAKE,
        "sk-ant-" + FAKE,
        "xoxb-" + "123456789012-" + FAKE,
        "AIza" + FAKE[:35],
        "sk_live_" + FAKE,
        "glpat-" + FAKE,
        "hf_" + FAKE,
        "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "postgres://admin:s3cr3tPw@db.internal/app",
        "DB_PASSWORD=letmein99",
        "Authorization: Bearer " + FAKE,
        "client_secret: " + FAKE,
    ],
)
def test_credentials_in_their_common_forms_are_confidential(secret: str) -> None:
    """Vendor keys, tokens, private keys, logins in URLs and assigned secrets are found."""
    found = classify(f"we still use {secret} on the old machine")

    assert PiiKind.CREDENTIAL in found.kinds
    assert found.tier is SecurityTier.CONFIDENTIAL


@pytest.mark.parametrize(
    "text",
    [
        "the token expired yesterday",
        "password policy requires twelve characters",
        "password is required on the second page",
        "token: str | None = None",
        "api_key: ${OPENAI_API_KEY}",
        "We released v2.14.3 on 2024-11-05",
        "session 550e8400-e29b-41d4-a716-446655440000 timed out",
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke it",
        "Order number 1234567890123456 has shipped",
        "ISBN 978-3-16-148410-0",
        "server at 192.168.100.200 is down",
        "git remote is git@github.com:acme/tools.git",
        "We moved to Kubernetes in 2022",
        "The config lives in the etc folder",
        "My dog's name is Rex",
        "I'm Canadian and I love hockey",
        "Wall Street had a bad day",
        "I need to renew my passport",
    ],
)
def test_ordinary_text_is_cleartext(text: str) -> None:
    """Numbers, code and talk about secrets are not personal, so they stay searchable."""
    found = classify(text)

    assert found.kinds == frozenset()
    assert found.tier is SecurityTier.CLEARTEXT


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (pii_checks.is_card, "4111111111111111", "4111111111111112"),
        (pii_checks.is_iban, "DE89370400440532013000", "DE89370400440532013001"),
        (pii_checks.is_routing_number, "021000021", "021000022"),
        (pii_checks.is_spanish_id, "12345678Z", "12345678A"),
        (pii_checks.is_spanish_id, "X1234567L", "X1234567M"),
        (pii_checks.is_italian_code, "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
        (pii_checks.is_brazilian_id, "529.982.247-25", "529.982.247-26"),
        (pii_checks.is_chinese_id, "11010519491231002X", "110105194912310021"),
        (pii_checks.is_german_tax_id, "86095742719", "86095742718"),
        (pii_checks.is_polish_id, "44051401359", "44051401358"),
        (pii_checks.is_australian_tax_number, "123456782", "123456783"),
        (pii_checks.is_swedish_id, "811218-9876", "811218-9877"),
        (pii_checks.is_dutch_id, "111222333", "111222334"),
        (pii_checks.is_verhoeff, "2363", "2364"),
        (pii_checks.is_japanese_number, "123456789018", "123456789019"),
        (pii_checks.is_uk_insurance, "JG103759A", "GB103759A"),
    ],
)
def test_one_wrong_digit_is_not_an_identifier(check: object, right: str, wrong: str) -> None:
    """A check digit accepts the published example and refuses its neighbour."""
    assert callable(check)
    assert check(right)
    assert not check(wrong)


def test_spans_point_at_what_was_found() -> None:
    """The text between a span's ends is the finding itself, and spans do not overlap."""
    text = "I'm Laura Chen, laura@chen.dev, card 4242 4242 4242 4242"

    spans = classify(text).spans

    assert [(span.kind, text[span.start : span.end]) for span in spans] == [
        (PiiKind.PERSON_NAME, "Laura Chen"),
        (PiiKind.EMAIL, "laura@chen.dev"),
        (PiiKind.PAYMENT_CARD, "4242 4242 4242 4242"),
    ]


def test_the_worst_kind_decides_the_tier() -> None:
    """A name alone is sensitive; with a card beside it the whole text is confidential."""
    assert tier_of(frozenset()) is SecurityTier.CLEARTEXT
    assert tier_of(frozenset({PiiKind.PERSON_NAME})) is SecurityTier.SENSITIVE
    assert tier_of(frozenset({PiiKind.PERSON_NAME, PiiKind.PAYMENT_CARD})) is SecurityTier.CONFIDENTIAL


def test_an_address_is_not_also_a_location() -> None:
    """One stretch of text is one kind: the more exact one."""
    assert classify("I live at 742 Evergreen Terrace, Springfield").kinds == {PiiKind.POSTAL_ADDRESS}


@settings(deadline=None, max_examples=150)
@given(st.text(st.characters(codec=None), max_size=400))
def test_any_text_can_be_classified(text: str) -> None:
    """No text makes the search fail, and every span lies inside the text."""
    found = classify(text)

    assert found.kinds == {span.kind for span in found.spans}
    assert all(0 <= span.start < span.end <= len(text) for span in found.spans)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from("0123456789+-. ()/"), max_size=200).map("".join))
def test_any_run_of_digits_can_be_classified(text: str) -> None:
    """Digits and separators in any order are read without failing."""
    assert classify(text).tier in SecurityTier


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(["Then we had lunch. ", "说明书。", "Das war gut. "]), st.integers(0, 20))
def test_company_does_not_hide_a_secret(filler: str, count: int) -> None:
    """A secret is found however much ordinary text stands around it."""
    text = filler * count + "my SSN is 123-45-6789. " + filler * count

    assert PiiKind.SSN in classify(text).kinds


HOSTILE = [
    *(
        "1",
        "1 ",
        "1-",
        "12 Aa ",
        "+49 ",
        "GB82 ",
        "password is ",
        "a@",
        "a@a.",
        "eyJ",
        "Aa-",
        "My ",
        "Aa 12, ",
    ),
    *(
        "My name is ",
        "I live in a ",
        "passport no. ",
        "postgres://a:",
        "Calle a ",
        "curl -u ",
        "(at) ",
        "我住在",
    ),
]


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_read_in_bounded_time(unit: str) -> None:
    """No 8 KB of repetition makes a pattern explode; the line is far above the usual few milliseconds."""
    text = (unit * 8192)[:8192]
    classify(text)

    started = time.thread_time()
    classify(text)

    assert time.thread_time() - started < 0.25


def test_the_labelled_set_is_held_on_the_tune_half() -> None:
    """Precision and recall over all kinds are at least 95 %."""
    tune = measured.measure()[0]

    assert tune["precision"] >= 0.95
    assert tune["recall"] >= 0.95
