"""How text is cut into terms: words in many languages, identifiers whole and in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.text.terms import MAX_TERM_CHARACTERS, query_terms, terms

if TYPE_CHECKING:
    from engramdb import Engram


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("We deploy with getUserName()", "user name"),
        ("We deploy with getUserName()", "getUserName"),
        ("set MAX_RETRY_COUNT to 3", "retry count"),
        ("edit src/engramdb/text/terms.py first", "text terms py"),
        ("edit src/engramdb/text/terms.py first", "src/engramdb/text/terms.py"),
        ("write to ann@example.org", "ann@example.org"),
        ("write to ann@example.org", "example"),
        ("upgrade to v2.0.1 today", "v2.0.1"),
        ("HTTPServer listens", "http server"),
        ("the port is 8080", "8080"),
        ("I prefer C++ to C#", "C++"),
        ("Café Müller in Łódź", "cafe muller lodz"),
        ("naïve Ångström", "naive angstrom"),
        ("she was running late", "run"),
        ("two berries", "berry"),
        ("Ann's bicycle", "Ann"),
        ("don’t forget", "don't forget"),
        ("я люблю книги", "книга"),
        ("мы бежали домой", "бежали"),
        ("我喜欢绿茶", "绿茶"),
        ("我喜欢绿茶", "茶"),
        ("東京に住んでいます", "東京"),
        ("我有一只猫", "猫"),
        ("ฉันชอบชาเขียว", "ชา"),
        ("안녕하세요 세계", "세계"),
        ("مرحبا بالعالم", "مرحبا"),
        ("party 🎉 tonight", "🎉"),
        ("ﬁne ﬂavour", "fine flavour"),
        ("ＦＵＬＬ width", "full"),
    ],
)
def test_a_statement_is_found_by_these_words(content: str, query: str) -> None:
    """Every term of the query is among the terms of the statement."""
    assert set(query_terms(query)) <= set(terms(content))
    assert query_terms(query)


@pytest.mark.parametrize(
    ("one", "other"),
    [("C", "C++"), ("C", "C#"), ("1.5", "15"), ("猫", "犬"), ("🎉", "🎂")],
)
def test_what_means_something_else_is_another_term(one: str, other: str) -> None:
    """Cutting does not make one word of two that people keep apart."""
    assert terms(one)[0] != terms(other)[0]


def test_stop_words_are_left_out_unless_nothing_else_is_there() -> None:
    """A question's small words are not asked for, except where it has no others."""
    assert query_terms("what is the name of the dog?") == ["name", "dog"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


def test_one_character_is_indexed_and_pairs_are_asked_for() -> None:
    """In scripts without spaces a query of several characters asks for neighbours, which mean more."""
    assert query_terms("绿茶杯") == ["绿茶", "茶杯"]
    assert query_terms("茶") == ["茶"]
    assert {"绿", "茶", "绿茶"} <= set(terms("绿茶"))


def test_terms_are_never_longer_than_they_may_be() -> None:
    """A hash or a base64 blob does not bloat the index."""
    assert all(len(term) <= MAX_TERM_CHARACTERS for term in terms("x" * 5000 + " " + "aB3" * 400))


def test_no_words_no_terms() -> None:
    """Punctuation and space alone give nothing to index and nothing to ask for."""
    assert terms(" .,;:!? ()[] \n") == []
    assert query_terms("???") == []


def test_a_question_of_stop_words_finds_by_them(engram: Engram) -> None:
    """A statement that is all small words can still be found by them."""
    memory = engram.remember("To be or not to be")

    assert engram.recall("to be").hits[0].memory.id == memory.id


def test_a_statement_without_words_can_be_stored_and_listed(engram: Engram) -> None:
    """A memory of punctuation has no terms, and is still complete in the doctor's eyes."""
    memory = engram.remember("?!")

    assert engram.list() == [memory]
    assert engram.doctor().ok
