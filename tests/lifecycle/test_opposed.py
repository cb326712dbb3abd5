"""What is done and what is not: two statements where both are sure, and the whole sentence otherwise."""

from __future__ import annotations

import pytest

from engramdb.text.clauses import clauses, listed, opposed


@pytest.mark.parametrize(
    ("sentence", "halves"),
    [
        ("I always use pnpm and never npm", ["I always use pnpm", "I never use npm"]),
        ("I use pnpm and never ever npm", ["I use pnpm", "I never use npm"]),
        ("I never drink coffee but always tea", ["I never drink coffee", "I always drink tea"]),
        ("We deploy on Mondays but never on Fridays", ["We deploy on Mondays", "We never deploy on Fridays"]),
        (
            "When we deploy, we use canaries and never scripts",
            ["When we deploy, we use canaries", "When we deploy, we never use scripts"],
        ),
        (
            "We deploy on Fridays and never had a problem",
            ["We deploy on Fridays", "We never had a problem"],
        ),
        ("I live in Oslo and never lived elsewhere", ["I live in Oslo", "I never lived elsewhere"]),
    ],
)
def test_each_half_says_what_was_said(sentence: str, halves: list[str]) -> None:
    """The second takes the verb of the first, or keeps its own, and what leads in holds for both."""
    assert opposed(sentence) == halves


@pytest.mark.parametrize(
    "sentence",
    [
        "Nobody thinks I always use tabs and never spaces",
        "She said I always use tabs and never spaces",
        "I hate that we always use npm and never pnpm",
        "I know that I always use tabs and never spaces",
        "I have always used pnpm and never npm",
        "I do not always use pnpm and never npm",
        "I prefer to always use pnpm and never npm",
        "If I use pnpm I always use caching and never npm",
        "I always take the train and never regret it",
        "I always take the stairs and never complain",
        "I use Postgres in production, never in tests",
        "I always have my coffee black and never with milk",
        "I always go out with Ann and never with Bob",
        "I always use pnpm and never would I use npm",
        "I always use pnpm and never will",
        "I prefer tea and never really liked coffee",
        "I always use pnpm and never  ",
    ],
)
def test_in_doubt_a_sentence_stays_whole(sentence: str) -> None:
    """A half that lost who says so, its condition, its object or its verb would be something else."""
    assert opposed(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    ["I don't use npm and never yarn", "I always use pnpm and never, ever npm", "I use vim, never ed"],
)
def test_never_is_no_member_of_a_list(sentence: str) -> None:
    """Nobody uses "never yarn"."""
    statements = [one for clause in clauses(sentence) for one in listed(clause)]

    assert not any("use never" in one or "use ever" in one for one in statements)
