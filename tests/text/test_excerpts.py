"""The part of a text that is shown is the one that says most of what is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.excerpts import MAX_CHARACTERS, best_excerpt
from engramdb.text.terms import distinct_terms, terms

SHARES = {"spare": 0.5, "key": 0.3, "hidden": 0.2}


def test_the_sentence_that_covers_most_is_chosen() -> None:
    """With the share of the question that it covers."""
    text = "We talked for hours about the weather. The spare key is with my neighbor. Keys are small things."

    found = best_excerpt(text, SHARES)

    assert found is not None
    assert (found.text, found.covers) == ("The spare key is with my neighbor.", 0.8)


def test_a_neighbor_that_adds_to_it_is_shown_too() -> None:
    """In the order in which both were said."""
    text = "There is a key in this house somewhere. It is the spare one, under the blue flowerpot there."

    found = best_excerpt(text, SHARES)

    assert found is not None
    assert (found.text, found.covers) == (text, 0.8)


def test_a_word_is_not_shown_alone() -> None:
    """What is too short to understand comes with what stands beside it."""
    found = best_excerpt("What did we forget this time? Spare. So much for that. And now to bed.", SHARES)

    assert found is not None
    assert found.text == "What did we forget this time? Spare. So much for that."


def test_a_question_is_worth_half_of_a_statement() -> None:
    """It asks what is wanted and does not say it."""
    found = best_excerpt("Where did you put the spare key when you went to the sea last summer?", SHARES)

    assert found is not None
    assert found.covers == 0.4


def test_sentences_that_are_not_wanted_are_passed_over() -> None:
    """And where none is left, there is no excerpt."""
    text = "The spare key is with my neighbor, who is never at home. A key of mine is at the office in Leeds."

    found = best_excerpt(text, SHARES, is_wanted=lambda sentence: "neighbor" not in sentence)

    assert found is not None
    assert found.text == "A key of mine is at the office in Leeds."
    assert best_excerpt(text, SHARES, is_wanted=lambda _sentence: False) is None
    assert best_excerpt("nothing of the kind", SHARES) is None


def test_a_long_text_is_searched_to_its_end_and_cut() -> None:
    """Also one without sentences, lines or spaces to cut at."""
    for joint in ("\n", " ", ", "):
        words = [f"w{number}" for number in range(5000)]
        found = best_excerpt(joint.join([*words, "the spare key", *words]), SHARES)

        assert found is not None
        assert "spare" in found.text
        assert len(found.text) <= MAX_CHARACTERS + 2


@given(st.text(max_size=9000), st.dictionaries(st.text(max_size=5), st.floats(0, 1), max_size=4))
def test_an_excerpt_of_anything_is_short_and_its_score_a_share(text: str, shares: dict[str, float]) -> None:
    """Whatever the text and whatever is asked for."""
    found = best_excerpt(text, shares)

    assert found is None or (0 < found.covers <= 1 and 0 < len(found.text) <= MAX_CHARACTERS + 2)


@given(st.text(max_size=300))
def test_each_term_once_is_all_terms(text: str) -> None:
    """What is cut once for many occurrences is cut as it always is."""
    assert set(distinct_terms(text)) == set(terms(text))
    assert len(distinct_terms(text)) == len(set(terms(text)))
