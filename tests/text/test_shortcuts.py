"""What is looked for first, because it is quick, never hides what the full rule would have found."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice

import pytest

from engramdb.text import (
    affect,
    disguises,
    terms,
    traits,
)
from engramdb.text import (
    affect as polarity,
)
from engramdb.text import (
    name_runs as name_cues,
)
from engramdb.text.force import _patterns, has_cue
from engramdb.text.moments import find_moments
from engramdb.text.word_starts import AnyOf, word_starts
from evals.natural import natural_statements

TEXTS = (
    "Maya prefers tea over pizza since the trip to Malmö in 2021",
    "node.js, C++ and C# at ~/src/main.py: it's a_b-c d'e 1.5 x@y.de #5 ++",
    "Die Katze ist nicht im Haus, keinerlei Spur und jede Menge Zeit",
    "We were fed up with the crash report, best practices or not",
    "日本語 and English: 2024年3月5日, naïve Straße",
)
STRESSED = ("ASAP please", "it is critical", "by tonight", "no deadline", "à faire immédiatement", "срочно")
DATED = ("on 3 March", "May 5th", "2024-03-01", "1.2.2024", "12/31/2024", "le 3 août 2024", "mayo 2024")


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_is_cut_as_any_text_is(text: str) -> None:
    """The short way for ASCII gives the terms of the long one."""
    plain = text.encode("ascii", "ignore").decode()

    assert terms.terms(plain) == list(terms._cut_mixed(plain, pairs_only=False))


@pytest.mark.parametrize("text", TEXTS)
def test_german_is_told_by_its_words_as_by_the_pattern(text: str) -> None:
    """Counting words one by one comes to the same as looking for all of them."""
    plain = text.encode("ascii", "ignore").decode()

    by_pattern = len(name_cues._GERMAN.findall(plain)) > len(name_cues._ENGLISH.findall(plain))

    assert name_cues.capitals_prove_nothing(plain) == by_pattern


@pytest.mark.parametrize("phrase", sorted(polarity._corrections()["phrases"]))
def test_no_phrase_is_overlooked(phrase: str) -> None:
    """Whatever stands around it, a phrase of the list is looked for where it is."""
    assert polarity._may_hold_phrase(f"So, {phrase.upper()}! it was")


@pytest.mark.parametrize("text", STRESSED)
def test_what_presses_is_looked_at(text: str) -> None:
    """The quick look passes on all that the pattern knows."""
    expected = min(2, len(affect._URGENT.findall(affect._NOT_URGENT.sub(" ", text))))

    assert affect.urgency(text) == expected


@pytest.mark.parametrize("text", DATED)
def test_a_date_is_looked_for_where_one_is(text: str) -> None:
    """A sign of a date is in every date, in each language of the months."""
    assert traits.infer_traits(f"They met {text} in Oslo").dates


@pytest.mark.parametrize("month", sorted(traits._MONTHS))
def test_every_month_has_a_stem_by_which_it_is_noticed(month: str) -> None:
    """A month that is added to the list needs a stem, too."""
    assert any(stem in month for stem in traits._MONTH_STEMS)


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (disguises._REVERSED_WORDS, disguises._REVERSED),
        (disguises._ROT13_WORDS, disguises._ROT13),
    ],
)
def test_hidden_words_are_those_of_the_pattern(words: tuple[str, ...], pattern: object) -> None:
    """Both lists name the same words, so that none is looked for in one place only."""
    expression = pattern.pattern  # type: ignore[attr-defined]

    assert all(word in expression for word in words)
    assert expression.count("|") == len(words) - 1


def test_the_same_moment_in_two_zones_is_asked_about_by_two_clocks() -> None:
    """Half past eleven in the evening in London is tomorrow in Delhi: "yesterday" is another day there."""
    london = datetime(2024, 5, 6, 23, 30, tzinfo=UTC)
    delhi = london.astimezone(timezone(timedelta(hours=5, minutes=30)))

    (here,), (there,) = (find_moments("I arrived yesterday", now=now) for now in (london, delhi))

    assert here.start == datetime(2024, 5, 5, tzinfo=UTC)
    assert there.start - here.start == timedelta(hours=18, minutes=30)


@pytest.mark.parametrize("cue", sorted(_patterns()))
def test_no_cue_is_overlooked(cue: str) -> None:
    """Looking at how words begin first gives the answer of one search for all patterns of a cue."""
    plain = re.compile("|".join(_patterns()[cue]))
    said = [*TEXTS, *STRESSED, *DATED, *islice(natural_statements(), 2_000)]

    for text in (one.lower() for one in said):
        assert has_cue(cue, text) == (plain.search(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "starts"),
    [
        (r"\b(?:asthma|epi(?:pen|lepsy))\b", {"asthm", "epipen"[:5], "epilepsy"}),
        (r"\bcolou?rs?\b", {"color", "colour"[:5]}),
        (r"\b\w+ (?:days|weeks) ago\b", {"days ago", "weeks ag"}),
        (r"^no", {"no"}),
        (r"(?:a|ä)llergisch", None),
        (r"\d+ ?mg", None),
        (r"(?:\w+ )*hope", None),
        (r"\b(?:\w+)?ing", None),
    ],
)
def test_beginnings_are_known_only_where_every_match_has_one(pattern: str, starts: set[str] | None) -> None:
    """What may begin within a word, or with anything, is always tried."""
    assert word_starts(pattern) == starts


@pytest.mark.parametrize(
    ("patterns", "text", "is_in"),
    [
        ([r"\bmy (?:\w+ ){0,2}?wife\b"], "that is my first dear wife", True),
        ([r"\b(?:born|\w+'s name is)\b"], "the dog's name is rex", True),
        (["アレルギー"], "卵アレルギーです", True),
        (["アレルギー"], "no allergy", False),
        ([r"\bborn\b"], "stubborn", False),
    ],
)
def test_patterns_are_found_whatever_stands_before_their_words(
    patterns: list[str], text: str, *, is_in: bool
) -> None:
    """A word in the middle of a match does as well as the first one."""
    assert AnyOf(patterns).is_in(text) is is_in
