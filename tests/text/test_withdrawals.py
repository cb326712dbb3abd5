"""A person takes a rule back in words that name it, said outright, and only then."""

from __future__ import annotations

import pytest

from engramdb.text.withdrawals import is_withdrawal, withdrawals, withdrawn

UV = "use uv, never pip"
PUSH = "don't push to main"
FORCE = "never force push to main"
PR = "btw always open a PR"
MOCKS = "no mocks"
FRIDAY = "don't deploy on fridays without asking Ana"
RULES = [UV, PUSH, FORCE, PR, MOCKS, FRIDAY]


def gone(said: str, rules: list[str] = RULES) -> list[str]:
    """Return the rules that are taken back."""
    return [rules[place] for place in withdrawn(withdrawals(said), rules)]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("forget the uv rule", UV),
        ("drop the rule about pip please", UV),
        ("you can ignore that uv thing I told you, we're back on pip", UV),
        ("never mind the uv rule", UV),
        ("nvm the uv rule", UV),
        ("the no-pip rule is off", UV),
        ("the never pip rule is gone", UV),
        ("the uv-only rule no longer applies", UV),
        ("can you drop the uv rule?", UV),
        ("could you please forget the pip rule", UV),
        ("we dropped the uv rule", UV),
        ("I'm lifting the pip ban", UV),
        ("the ban on pip is lifted", UV),
        ("the rule about pip is gone", UV),
        ("forget what I said about uv", UV),
        ("ignore what I told you about pip", UV),
        ("we can use pip now", UV),
        ("you may use pip again", UV),
        ("pip is fine now", UV),
        ("pip is allowed again", UV),
        ("it's ok to use pip again", UV),
        ("you can use pip after all", UV),
        ("ok so the pip rule is history", UV),
        ('forget the "never pip" rule', UV),
        ("scratch that, forget the uv rule", UV),
        ("let's drop the uv rule", UV),
        ("please forget about the uv rule, it was silly", UV),
        ("don't worry about the uv rule anymore", UV),
        ("feel free to use pip again", UV),
        ("you don't have to use uv anymore", UV),
        ("you no longer need to use uv", UV),
        ("the uv rule isn't in force any more", UV),
        ("you can safely ignore the pip rule from yesterday", UV),
        ("from now on you can use pip again", UV),
        ("forget the uv rule we are on poetry now", UV),
        ("QA signed off and we can use pip again", UV),
        ("the uv rule doesn't apply anymore", UV),
        ("i want you to forget the uv rule", UV),
        ("sorry, forget the uv rule", UV),
        ("yes forget the uv rule", UV),
        ("now that the release is out we can use pip again", UV),
        ("Forget that stupid uv rule!", UV),
        ("drop the never pip rule", UV),
        ("we can push to main again", PUSH),
        ("you can push to main again, freeze is over", PUSH),
        ("the freeze is over so we can push to main again", PUSH),
        ("so we can push to main again", PUSH),
        ("pushing to main is allowed again", PUSH),
        ("pushing to main is fine again", PUSH),
        ("We're allowed to push to main again", PUSH),
        ("we are free to push to main again", PUSH),
        ("ok, scrap that PR policy pls", PR),
        ("you don't have to open a PR any more", PR),
        ("the no mocks rule no longer applies", MOCKS),
        ("mocks are fine now", MOCKS),
        ("the no-mocks rule is gone", MOCKS),
        ("drop the friday rule", FRIDAY),
    ],
)
def test_a_rule_that_is_named_or_whose_opposite_is_allowed_is_taken_back(said: str, rule: str) -> None:
    """It alone, whatever else forbids something of the kind; and what takes it back sets no rule."""
    assert gone(said) == [rule]
    assert is_withdrawal(said)


@pytest.mark.parametrize(
    "said",
    [
        "Maya from ops says we can push to main again but I am not convinced",
        "once the release is out we can push to main again",
        "if QA agrees we can use pip",
        "if QA agrees we can use pip now",
        "Maya: we can push to main again",
        "I think we can push to main again",
        "maybe we can use pip now",
        "we can't push to main again",
        "we can not push to main again",
        "you can never push to main again",
        "don't forget the uv rule",
        "please don't ignore the uv rule",
        "never forget the uv rule",
        "we should drop the uv rule",
        "Maya wants to drop the uv rule",
        "should we drop the uv rule?",
        "what if we drop the uv rule",
        "I won't drop the uv rule",
        "the uv rule isn't working for Maya",
        "the uv rule doesn't say anything about conda",
        "fix the build so we can push to main again",
        "we need green CI so that we can push to main again",
        "let me know when we can use pip again",
        "we can push to main again tomorrow",
        "we can push to main again on fridays",
        "you can use pip now for this repo",
        "just this once you can use pip now",
        "in the sandbox repo you can use pip now",
        "we can push to main again after the release",
        "as soon as CI is green we can push to main again",
        "I wish we could use pip again",
        "the README says pip is fine now",
        "I heard pip is fine now",
        "apparently pip is allowed again",
        "Maya told me the uv rule is gone",
        "ops announced the uv rule is gone",
        "I was told we can push to main again",
        "ignore the uv rule in the legacy folder",
        "ignore the uv rule for now",
        "drop the uv rule from the Makefile",
        "remember the uv rule",
        "follow the uv rule again",
        "the uv rule is back",
        "why is the uv rule gone",
        "can we use pip now",
        "forget it",
        "forget the main rule",
        "drop that",
        "forget the old rule",
        "I don't think we can push to main again",
        'he said "we can push to main again"',
        "is it true that pip is fine now",
        "they dropped the uv rule",
        "i forgot the uv rule",
        "it would be nice to use pip again",
        "we can only use pip again with approval",
        "unless someone objects we can use pip again",
        "the uv rule might be gone",
        "is the uv rule gone?",
        "you don't have to use pip anymore",
        "you can use pip now, but ask me first",
        "assuming QA agrees, the pip ban is lifted",
        "make sure we can push to main again",
        "run it again",
        "don't panic and forget the uv rule",
        "I do not want you to forget the uv rule",
        "when I say go, forget the uv rule",
        "Maya asked whether we can use pip now",
        "pip is fine now?",
        "Has the uv rule been dropped?",
        "we talked about dropping the uv rule",
        "Sam thinks the uv rule is gone",
        "we're not allowed to push to main again",
        "pip is not allowed again",
        "tell the team we can push to main again?",
        "nobody said the uv rule is gone",
        "ask Ana before you drop the uv rule",
        "rumor: uv rule is gone next week",
        "the uv rule will be gone in May",
        "we will drop the uv rule in May",
        "the uv rule is gone, just kidding",
        "Ana would drop the uv rule",
        "I'd drop the uv rule but Ana disagrees",
        "forget the pip stuff, let's look at the tests",
        "drop the pip requirement",
        "can we use pip now?",
        "you can deploy now",
        "i can see it now",
        "> we can use pip now\nwhat do you make of this mail?",
        "the new rule is: no pip",
        "",
    ],
)
def test_what_only_sounds_like_it_takes_nothing_back(said: str) -> None:
    """Questions, other people's words, doubts, conditions, plans, exceptions, and talk of something else."""
    assert gone(said) == []


@pytest.mark.parametrize(
    ("said", "rules", "expected"),
    [
        ("forget the uv rule", ["use uv, never pip. and don't push to main"], []),
        ("we can push to main again", ["use uv, never pip. and don't push to main"], []),
        ("we can push to main again", ["use uv, never pip and don't push to main"], []),
        ("forget the pip rule", ["no force pushes. no pip"], []),
        ("tests are fine now", ["never commit secrets, not even in tests"], []),
        ("forget the uv rule", ["use uv, never pip", "uv lock before uv sync"], []),
        ("the no-pip rule is off", ["use uv, never pip", "pip caches live in /var"], ["use uv, never pip"]),
        ("drop the rule about pip in CI", ["never pip", "never run pip in CI"], ["never run pip in CI"]),
        (
            "forget the pip rule",
            ["use uv, never pip. It is so much faster."],
            ["use uv, never pip. It is so much faster."],
        ),
        ("we can use pip now", ["don't use pip, not even in CI"], ["don't use pip, not even in CI"]),
    ],
)
def test_taking_one_rule_back_touches_no_other(said: str, rules: list[str], expected: list[str]) -> None:
    """A memory with two rules in it stays while one of them holds, and an unclear name takes none."""
    assert gone(said, rules) == expected


@pytest.mark.parametrize(
    "said",
    [
        "forget the uv rule, always use poetry",
        "the pip ban is lifted, never use conda though",
        "never use pip",
        "follow the uv rule",
        "once the release is out we can push to main again",
    ],
)
def test_what_sets_a_rule_besides_is_more_than_a_withdrawal(said: str) -> None:
    """The new rule has to stand."""
    assert not is_withdrawal(said)
