"""What people say to a short question, and what of it is an answer."""

from __future__ import annotations

import pytest

from engramdb.text.lexicons import LANGUAGES
from engramdb.text.replies import Reply, ReplyKind, read_reply


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yes", ReplyKind.YES),
        ("Yep, still so.", ReplyKind.YES),
        ("yes, that's right", ReplyKind.YES),
        ("It’s still true", ReplyKind.YES),
        ("nothing changed", ReplyKind.YES),
        ("ja, stimmt noch", ReplyKind.YES),
        ("はい", ReplyKind.YES),
        ("Nope.", ReplyKind.NO),
        ("no longer", ReplyKind.NO),
        ("no, not any more", ReplyKind.NO),
        ("that's wrong", ReplyKind.NO),
        ("das stimmt nicht mehr", ReplyKind.NO),
        ("不是", ReplyKind.NO),
        ("the first one", ReplyKind.FIRST),
        ("No — the old one", ReplyKind.FIRST),
        ("2", ReplyKind.SECOND),
        ("no, the second one", ReplyKind.SECOND),
        ("the new one is right", ReplyKind.SECOND),
        ("both are true", ReplyKind.BOTH),
        ("les deux", ReplyKind.BOTH),
        ("neither of them", ReplyKind.NEITHER),
        ("not now", ReplyKind.LATER),
        ("no idea", ReplyKind.LATER),
        ("I don't know", ReplyKind.LATER),
    ],
)
def test_a_plain_answer_is_all_of_it(text: str, kind: ReplyKind) -> None:
    """Nothing is left to be stored."""
    assert read_reply(text) == Reply(kind)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("no, we moved to Ghent", "we moved to Ghent"),
        ("no we moved to Ghent", "we moved to Ghent"),
        ("no, it is five tulips", "it is five tulips"),
        ("nein wir sind nach Gent gezogen", "wir sind nach Gent gezogen"),
        ("Not any more, I quit in May", "I quit in May"),
    ],
)
def test_after_a_no_stands_what_holds_instead(text: str, rest: str) -> None:
    """With a comma or without."""
    assert read_reply(text) == Reply(ReplyKind.NO, rest)


@pytest.mark.parametrize(
    "text",
    [
        "Leipzig",
        "We've moved to Ghent",
        "no sugar in my coffee",
        "New York",
        "1 May",
        "second street 5",
        "last week we moved",
        "later this year we move",
        "never drink coffee",
        "Right Bank",
    ],
)
def test_a_value_may_begin_with_the_word_of_an_answer(text: str) -> None:
    """It is taken whole."""
    assert read_reply(text) == Reply(ReplyKind.VALUE, text)


@pytest.mark.parametrize("text", ["yes, but only on Tuesdays", "yes but not in winter", "yes no", "both, no"])
def test_what_takes_a_part_of_itself_back_is_no_answer(text: str) -> None:
    """Neither yes nor no."""
    assert read_reply(text).kind is ReplyKind.UNCLEAR


def test_every_language_can_answer() -> None:
    """With at least a yes, a no, and a word for both."""
    for language in LANGUAGES.values():
        assert language.replies.yes, language.name
        assert language.replies.no, language.name
        assert language.replies.both, language.name


@pytest.mark.parametrize(
    "text",
    [
        *(
            "hm",
            "Hmm...",
            "?",
            "🙂",
            "lol",
            "LOL",
            "Busy",
            "what?",
            "it depends",
            "it's complicated",
            "vielleicht",
        ),
        *("both but not Rome", "neither, but ask Ann", "no, wait", "No. Can you sort the file?", "thanks"),
    ],
)
def test_what_says_nothing_is_no_value(text: str) -> None:
    """A sound, a question back, and an answer that is taken back in the same breath."""
    assert read_reply(text).kind is ReplyKind.UNCLEAR
