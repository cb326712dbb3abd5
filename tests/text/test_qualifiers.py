"""Shorter forms keep what makes a statement true: not, except, only if, until, at least, 30 seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.context.history import Exchange, HistoryMessage, summarize_by_rule, summarize_exchange
from engramdb.text.detail import levels
from engramdb.text.qualifiers import condense, first_sentence, keeps_qualifiers, qualifiers
from engramdb.values import Role
from evals.windows import losses, qualified

SENTENCES = qualified()


def said(text: str) -> Exchange:
    """Return an exchange in which somebody says this."""
    return Exchange((HistoryMessage(Role.USER, text), HistoryMessage(Role.ASSISTANT, "ok")))


def test_there_is_something_to_test() -> None:
    """Hundreds of sentences of the open evals, which were written by others, are qualified."""
    assert len(SENTENCES) > 500


@pytest.mark.parametrize("form", ["summary", "key_fact"])
def test_no_level_of_detail_loses_a_qualifier(form: str) -> None:
    """By a list of qualifiers that is not the one of the code."""
    lost = [one for one in SENTENCES if losses(one, str(getattr(levels(one), form)))]

    assert lost == []


def test_no_line_of_history_loses_a_qualifier() -> None:
    """Neither in the line of an exchange nor in the decisions of a summary."""
    lines = [one for one in SENTENCES if losses(one, summarize_exchange(said(one)))]
    decided = [
        one
        for one in SENTENCES
        if (told := summarize_by_rule([said(one)], words=200)).count("Said: ") and losses(one, told)
    ]

    assert lines == []
    assert decided == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The API must NOT be called from the browser except in staging", "NOT … except in staging"),
        (
            "The API must not be called from the browser. Except in staging, it may.",
            "not … Except in staging",
        ),
        (
            "Ann writes the notes, Bob reads them aloud, and nobody leaves until 18:30 on Fridays",
            "nobody leaves until 18:30",
        ),
        (
            "Wir rollen freitags aus, Ann schreibt dazu die Notizen, Bob liest sie vor, außer in den Ferien",
            "außer in den Ferien",
        ),
        (
            "Nous déployons le vendredi, Ann écrit les notes, Bob les relit, sauf pendant les vacances",
            "sauf pendant les vacances",
        ),
        ("周五我们发布新版本，安娜写说明，鲍勃朗读给大家听，除了假期", "除了假期"),
    ],
)
def test_a_key_fact_keeps_how_far_it_goes(text: str, kept: str) -> None:
    """In every language that has a word list."""
    short = str(levels(text).key_fact)

    assert all(part in short for part in kept.split(" … "))


def test_what_qualifies_nothing_is_left_out() -> None:
    """A shorter form is shorter, and says where something is missing."""
    text = (
        "We deploy with a script that Ann wrote, the notes are in the wiki, the graphs are on the wall, "
        "and nobody touches the database until the backup is done"
    )

    short = condense(text, 10)

    assert short.startswith("We deploy with a script that Ann wrote … and nobody touches the database until")
    assert "graphs" not in short


def test_an_abbreviation_ends_no_sentence() -> None:
    """A fact about Mrs. Fujimoto does not end at her title."""
    assert (
        levels("My client Mrs. Fujimoto tips in mangoes, comes each 5 weeks for color").key_fact
        != "My client Mrs"
    )
    assert first_sentence("No. It runs on Postgres 15. Ann knows.") == "No. It runs on Postgres 15."


WORDS = [
    "we",
    "run",
    "it,",
    "but",
    "not",
    "on",
    "Fridays",
    "until",
    "9",
    ".",
    "Ann",
    "except,",
    "and",
    "wall",
]


@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_condensing_loses_no_qualifier_of_any_text(words: list[str]) -> None:
    """However it is put together."""
    text = " ".join(words)

    assert keeps_qualifiers(condense(text, 8), text)
    assert len(qualifiers(condense(text, 8))) == len(qualifiers(text))
