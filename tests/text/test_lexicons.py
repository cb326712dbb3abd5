"""The word lists of the languages."""

from __future__ import annotations

import re

import msgspec
import pytest

from engramdb.capture.signals import SignalKind
from engramdb.text.lexicons import LANGUAGES, Language
from engramdb.text.moment_words import MONTHS, UNITS

PARTS_OF_DAY = {"morning", "afternoon", "evening", "night"}


@pytest.mark.parametrize(("code", "language"), LANGUAGES.items(), ids=str)
def test_rows_that_are_counted_are_whole(code: str, language: Language) -> None:
    """A language that names its months names twelve, seven weekdays and four seasons, in their order."""
    time = language.time

    assert len(time.months.split()) in (0, len(MONTHS)), code
    assert len(time.weekdays.split()) in (0, 7), code
    assert len(time.seasons.split()) in (0, 4), code
    assert set(time.units) <= set(UNITS.values()), code


@pytest.mark.parametrize(("code", "language"), LANGUAGES.items(), ids=str)
def test_set_phrases_say_a_unit_and_a_distance(code: str, language: Language) -> None:
    """Each key is a unit or a part of the day, and how many of it lie between then and now."""
    for key in language.time.phrases:
        unit, count = key.split()
        assert unit in {*UNITS.values(), *PARTS_OF_DAY}, (code, key)
        assert -3 <= int(count) <= 3, (code, key)


@pytest.mark.parametrize(("code", "language"), LANGUAGES.items(), ids=str)
def test_patterns_can_be_compiled_and_kinds_are_known(code: str, language: Language) -> None:
    """A mistake in a file shows here, and not when somebody happens to say the words."""
    assert set(language.signals) <= set(SignalKind), code
    patterns = [*language.facts.values(), *(one for said in language.signals.values() for one in said)]
    rows = (language.names, language.sentences, language.questions)
    patterns += [
        getattr(row, field) for row in rows for field in row.__struct_fields__ if field != "relations"
    ]
    patterns += [one for asked in language.questions.relations.values() for one in asked]
    assert all("WHO" in one for asked in language.questions.relations.values() for one in asked), code
    patterns += [
        row for field in language.voices.__struct_fields__ for row in getattr(language.voices, field)
    ]
    patterns += [one for said in language.statements.values() for one in said]
    for pattern in patterns:
        re.compile(pattern)


def test_a_misspelled_field_is_named() -> None:
    """Nothing that a contributor writes is ignored."""
    with pytest.raises(msgspec.ValidationError, match="wekdays"):
        msgspec.convert({"name": "X", "time": {"wekdays": "a b"}}, Language)


def test_every_language_says_its_name_once() -> None:
    """Two files do not speak for one language."""
    names = [language.name for language in LANGUAGES.values()]

    assert len(set(names)) == len(names)
