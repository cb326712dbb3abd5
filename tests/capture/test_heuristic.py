"""What the heuristic extractor makes of a turn."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.capture.extract import EXTRACTED_CATEGORIES, Extracted, HeuristicExtractor
from engramdb.text.grammar import bases, is_exclusive
from engramdb.values import Kind, Role, Turn

FRIDAY = datetime(2026, 5, 8, 10, tzinfo=UTC)


def turn(text: str, *, speaker: str | None = None, role: Role = Role.USER) -> Turn:
    """Return a turn said on a Friday."""
    return Turn(id="t1", content=text, role=role, occurred_at=FRIDAY, created_at=FRIDAY, speaker=speaker)


def extract(
    text: str, *, speaker: str | None = None, role: Role = Role.USER, before: tuple[str, ...] = ()
) -> list[Extracted]:
    """Return what one turn states, after earlier turns."""
    context = [turn(earlier) for earlier in before]
    return HeuristicExtractor().extract([turn(text, speaker=speaker, role=role)], context=context)


def contents(text: str, **options: object) -> list[str]:
    """Return the statements as text."""
    return [found.content for found in extract(text, **options)]  # type: ignore[arg-type]


def only(text: str, **options: object) -> Extracted:
    """Return the one statement of a turn."""
    (found,) = extract(text, **options)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "I use Rust for the backend and React for the frontend",
            ["User uses Rust for the backend", "User uses React for the frontend"],
        ),
        ("I like tea and coffee", ["User likes tea", "User likes coffee"]),
        ("I play guitar and piano in a band", ["User plays guitar in a band", "User plays piano in a band"]),
        ("I live in Rome and work as a nurse", ["User lives in Rome", "User works as a nurse"]),
        ("I like cats but not dogs", ["User likes cats", "User does not like dogs"]),
        ("I am left-handed; my wife is not a doctor", ["User is left-handed", "User's wife is not a doctor"]),
        ("I like salt and pepper crisps", ["User likes salt and pepper crisps"]),
        ("I like red and white wine", ["User likes red and white wine"]),
        ("I have two cats, Miso and Tofu", ["User has two cats, Miso and Tofu"]),
    ],
)
def test_one_memory_for_each_proposition(text: str, expected: list[str]) -> None:
    """What can be true on its own stands on its own; what belongs together stays together."""
    assert contents(text) == expected


def test_only_the_sentence_is_kept_and_every_match() -> None:
    """A long message gives its facts, not itself."""
    text = (
        "Hi! Can you help me? I use Docker at work. The build failed again. I prefer short answers. Thanks!"
    )

    assert contents(text) == ["User uses Docker at work", "User prefers short answers"]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("I'm a nurse", "Ann is a nurse"),
        ("I've moved to Oslo", "Ann has moved to Oslo"),
        ("I don't eat meat", "Ann does not eat meat"),
        ("I no longer use vim", "Ann no longer uses vim"),
        ("I study physics", "Ann studies physics"),
        ("My own dog is a corgi", "Ann's own dog is a corgi"),
        ("My brother taught me chess last year", "Ann's brother taught Ann chess in 2025"),
        ("We use Slack", "We use Slack"),
        ("Tom and I went to Rome last week", "Tom and Ann went to Rome in the week of 27 April 2026"),
    ],
)
def test_the_first_person_becomes_the_speaker(said: str, stored: str) -> None:
    """Verbs agree with the name; "we" stays, because nobody said who else it is."""
    assert contents(said, speaker="Ann") == [stored]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "ok",
            "🙂",
            "Hi!",
            "Thanks a lot",
            "I see.",
            "I'm tired.",
            "It works now.",
            "See you tomorrow!",
        ),
        *(
            "Where do I live?",
            "do you know where I work",
            "I wonder what I like",
            "I have a question about Go",
        ),
        *(
            "Fix the test",
            "Please write a poem",
            "I need help with my essay",
            "Can you move my meeting to Monday",
        ),
        *("If I lived in Paris, I would eat bread", "Suppose my name is Bob", "I wish I spoke Italian"),
        *(
            'The article begins with "I live in a van"',
            "> I use Emacs",
            "```\nI use Windows\n```",
            "x = I + 1;",
        ),
        *(
            "Write a story in which my name is Zorg and I live on the moon",
            "I'm so hungry I could eat a horse",
        ),
        *("Wo wohnst du?", "Merci beaucoup", "你好吗？", "ありがとう"),
    ],
)
def test_what_states_nothing_lasting_gives_nothing(text: str) -> None:
    """Small talk, questions, requests, fiction, quotations, code and moods are not remembered."""
    assert contents(text) == []


@pytest.mark.parametrize(
    ("text", "predicate", "object_"),
    [
        ("I live in Lisbon with my dog", "lives_in", "Lisbon"),
        ("I work at Siemens as an engineer", "works_at", "Siemens"),
        ("I work as a nurse", "works_as", "nurse"),
        ("My name is Priya", "is_named", "Priya"),
        ("Please call me Max", "is_named", "Max"),
        ("I'm allergic to peanuts", "is_allergic_to", "peanuts"),
        ("I'm 34 years old", "age", "34"),
        ("I prefer tea to coffee", "prefers", "tea"),
        ("I can't stand meetings", "dislikes", "meetings"),
        ("My favorite color is green", "favourite_color", "green"),
        ("My shell is fish", "shell", "fish"),
        ("I have a dog", "has_pet", "a dog"),
        ("We switched to pnpm", "uses", "pnpm"),
        ("I moved to Paris", "lives_in", "Paris"),
    ],
)
def test_relations_have_canonical_names(text: str, predicate: str, object_: str) -> None:
    """The same relation is called the same however it was said, so that settling can compare."""
    found = only(text)

    assert (found.predicate, found.object) == (predicate, object_)


def test_some_relations_hold_one_thing_at_a_time() -> None:
    """One home, one name, one favourite of a kind; but many tools, tastes and allergies."""
    assert all(
        map(is_exclusive, ["lives_in", "works_at", "is_named", "born_on", "age", "deadline", "favourite_tea"])
    )
    assert not any(map(is_exclusive, ["uses", "likes", "speaks", "is_allergic_to", "has_pet", "is"]))


def test_an_attribute_belongs_to_its_owner() -> None:
    """My shell is something about me; my mother's home is something about her."""
    assert only("My shell is fish", speaker="Ann").subject == "Ann"
    assert only("My mother is from Lisbon", speaker="Ann").subject == "Ann's mother"


@pytest.mark.parametrize(
    ("text", "object_", "old"),
    [
        ("I switched from vim to Helix", "Helix", "vim"),
        ("I moved from Berlin to Paris", "Paris", "Berlin"),
        ("I replaced my ThinkPad with a Framework", "Framework", "User's ThinkPad"),
        ("Actually I live in Porto, not Lisbon", "Porto", "Lisbon"),
        ("We use Postgres instead of MySQL", "Postgres", "MySQL"),
        ("I switched to Helix", "Helix", None),
    ],
)
def test_a_replacement_names_what_it_replaces(text: str, object_: str, old: str | None) -> None:
    """Settling learns which older memory no longer holds, where that was said."""
    found = only(text)

    assert (found.object, found.replaces) == (object_, old)


@pytest.mark.parametrize(
    "text",
    [
        "I no longer use vim",
        "I don't eat meat any more",
        "I stopped drinking coffee",
        "I never drink rum",
        "I used to live in Rome",
        "I left Acme last month",
    ],
)
def test_what_no_longer_holds_is_marked(text: str) -> None:
    """Negation is understood in every form it takes."""
    assert only(text).is_negated


def test_plans_and_guesses_change_nothing_yet() -> None:
    """Who might move has not moved, and is not sure."""
    found = only("I might move to Canada next year")

    assert found.predicate == "plans"
    assert found.confidence < 0.40


@pytest.mark.parametrize(
    ("text", "category", "kind"),
    [
        ("I like tea", "preference", Kind.NOTE),
        ("We decided to use Postgres", "decision", Kind.NOTE),
        ("I'll send the report by Monday", "commitment", Kind.NOTE),
        ("Never push to main", "principle", Kind.NOTE),
        ("Tom is my manager", "relationship", Kind.NOTE),
        ("I speak German", "skill", Kind.NOTE),
        ("I ran a marathon yesterday", "moment", Kind.EPISODE),
        ("Orion is our flag service", "entity", Kind.NOTE),
        ("No, I meant staging, not production", "correction", Kind.NOTE),
        ("I live in Rome", "fact", Kind.NOTE),
        ("I bought a small boat", "moment", Kind.EPISODE),
    ],
)
def test_categories_and_kinds(text: str, category: str, kind: Kind) -> None:
    """Each of the ten categories, and whether it happened once or holds."""
    found = only(text)

    assert (found.category, found.kind) == (category, kind)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("I always use pnpm and never npm", ["User always uses pnpm", "User never uses npm"]),
        ("I never use npm, always pnpm", ["User never uses npm", "User always uses pnpm"]),
        ("We deploy on Mondays but never on Fridays", ["We deploy on Mondays", "We never deploy on Fridays"]),
        ("I drink tea and never smoke", ["User drinks tea", "User never smokes"]),
    ],
)
def test_what_is_never_done_stands_beside_what_is(text: str, statements: list[str]) -> None:
    """The second half takes the verb of the first, unless it has one of its own."""
    assert contents(text) == statements


def test_dates_are_made_absolute() -> None:
    """A memory that says yesterday would mean another day tomorrow."""
    found = only("Yesterday I sold my car")

    assert found.content == "On 7 May 2026 User sold User's car"
    assert found.occurred_at == datetime(2026, 5, 7, tzinfo=UTC)


def test_confidence_follows_how_it_was_said() -> None:
    """Asked to remember 0.7, plain less, hedged less, guessed below 0.40."""
    said = ["Remember that I like tea", "I like tea", "I think I like tea", "Maybe I'll learn Go"]

    confidences = [only(text).confidence for text in said]

    assert confidences == sorted(confidences, reverse=True)
    assert confidences[0] == 0.7
    assert confidences[-1] < 0.40


def test_a_pronoun_is_named_where_one_person_fits() -> None:
    """From the same turn or an earlier one; with two who fit, it stays."""
    assert contents("My sister Mei is a doctor. She lives in Oslo.")[1] == "Mei lives in Oslo"
    assert contents("She likes jazz", before=("My sister Mei is here",)) == ["Mei likes jazz"]
    assert contents("She likes jazz", before=("My sister Mei met my aunt Ida",)) == ["She likes jazz"]
    assert contents("He likes jazz", before=("My sister Mei is here",)) == ["He likes jazz"]


def test_exact_words_are_kept_beside_the_statement() -> None:
    """Code and quotations must not be paraphrased."""
    assert only("I always deploy with `make release`").verbatim == "I always deploy with `make release`"
    assert only("I like tea").verbatim is None


def test_an_assistant_states_only_what_it_did_or_will_do() -> None:
    """Its explanations and opinions are not memories, and its word counts for less."""
    assert contents("I think Python is nice. I like tea.", role=Role.ASSISTANT) == []
    assert contents("I could deploy it. Shall I?", role=Role.ASSISTANT) == []
    done = only("I've deployed the new version to staging.", role=Role.ASSISTANT)

    assert done.content == "Assistant has deployed the new version to staging"
    assert done.confidence < only("We deployed version 2").confidence


@pytest.mark.parametrize("role", [Role.TOOL, Role.SYSTEM])
def test_tools_and_systems_state_nothing(role: Role) -> None:
    """What a tool prints was not said by anyone."""
    assert contents("I live in Rome", role=role) == []


@pytest.mark.parametrize(
    ("text", "predicate", "object_"),
    [
        ("Ich wohne in München.", "lives_in", "München"),
        ("Je m'appelle Camille.", "is_named", "Camille"),
        ("Soy alérgica a los gatos.", "is_allergic_to", "los gatos"),
        ("Я живу в Казани.", "lives_in", "Казани"),
        ("我喜欢茶。", "likes", "茶"),
        ("私は東京に住んでいます。", "lives_in", "東京"),
    ],
)
def test_other_languages_are_kept_as_they_were_said(text: str, predicate: str, object_: str) -> None:
    """The words stay, the speaker is the subject, and the relation has the same name as in English."""
    found = only(text, speaker="Kim")

    assert found.content == text.rstrip(".。")
    assert (found.subject, found.predicate, found.object) == ("Kim", predicate, object_)


SAID = """
I we my our the Tom she he they you and but not no longer always never use like live in work at moved from
to switched prefer tea Rome vim yesterday last week by Monday is am are was have had don't can't will if
when that because , . ; ! ? - " ` ( ) 5 May maybe remember actually please call me it's I'm I've I'll Ich
wohne 我 住在
"""
WORDS = [*SAID.split(), "\n"]


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=200))
def test_any_text_gives_small_statements_and_the_same_again(text: str) -> None:
    """Nothing raises; every statement is complete, bounded and repeatable."""
    found = extract(text)

    assert found == extract(text)
    for one in found:
        assert one.content.strip()
        assert len(one.content.encode()) <= 8192
        assert one.category in EXTRACTED_CATEGORIES
        assert 0 < one.confidence <= 0.7
        assert 0 <= one.importance <= 1


GRAMMAR = """
user assistant s is are was has have had do does did not will would be of the week on in at by since
january february march april may june july august september october november december morning afternoon
evening night weekend end spring summer autumn winter and
"""


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), st.sampled_from(["Ann", None]))
def test_nothing_is_invented(text: str, speaker: str | None) -> None:
    """Every word of a statement was said, names the speaker, or belongs to grammar or a date."""
    grammar = GRAMMAR.split()
    said = {base for word in re.findall(r"\w+", text.lower()) for base in bases(word)}

    for found in extract(text, speaker=speaker):
        for word in re.findall(r"[^\W\d]+", found.content.lower()):
            known = word in grammar or word == (speaker or "").lower()
            assert known or said.intersection(bases(word)), word


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize(
    "piece", ["I like a and ", "my ", "and I ", "; ", "1. ", "not but ", "Tom's ", "ich ", "I, ", '"']
)
def test_a_hostile_turn_costs_little(piece: str) -> None:
    """Eight kilobytes of half a statement are read in a blink."""
    text = (piece * 8192)[:8192]
    begin = time.thread_time()

    extract(text)

    assert time.thread_time() - begin < 0.5


@pytest.mark.parametrize(
    ("text", "subject", "predicate", "what"),
    [
        ("Anna reports to Tom", "Anna", "reports_to", "Tom"),
        ("Project Alpha is written in Rust", "Project Alpha", "written_in", "Rust"),
        ("Alpha is part of Project Orion", "Alpha", "part_of", "Project Orion"),
        (
            "The billing service depends on the ledger service",
            "The billing service",
            "depends_on",
            "the ledger service",
        ),
    ],
)
def test_how_things_hang_together_is_kept(text: str, subject: str, predicate: str, what: str) -> None:
    """Who reports to whom and what is part of what is knowledge, and inference can follow it."""
    found = only(text)

    assert (found.subject, found.predicate, found.object) == (subject, predicate, what)


@pytest.mark.parametrize("text", ["Don't touch the migrations folder.", "Please do not commit to main"])
def test_what_is_forbidden_in_a_project_is_a_standing_rule(text: str) -> None:
    """An agent that forgets it does harm."""
    found = only(text)

    assert found.category == "principle"
    assert found.is_negated


@pytest.mark.parametrize(
    "text",
    [
        "Don't delete that file yet",
        "Don't change it",
        "Don't worry about the logs",
        "Don't use this one",
        "Do not push until I am back",
        "Don't you use tabs?",
    ],
)
def test_what_is_forbidden_for_the_moment_is_no_rule(text: str) -> None:
    """It is over when the task is."""
    assert extract(text) == []


def test_what_an_agent_decided_is_kept() -> None:
    """Why something was done so is asked weeks later."""
    said = "I decided to use blue-green deploys because rollbacks are easier."

    assert contents(said, role=Role.ASSISTANT) == [
        "Assistant decided to use blue-green deploys because rollbacks are easier"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs, not spaces",
        "Please use pnpm instead of npm",
        "Prefer composition over inheritance",
        "use httpx rather than requests",
    ],
)
def test_one_thing_and_not_another_is_a_standing_rule(text: str) -> None:
    """The most ordinary thing that one tells an agent about a project."""
    assert only(text).category == "principle"


@pytest.mark.parametrize(
    "text",
    [
        "Use this one instead of that",
        "Use Postgres, not MySQL, for this",
        "Use the second option, not the first",
        "No, I meant tests/test_cart.py",
        "Use the hammer",
    ],
)
def test_what_is_said_of_the_task_at_hand_is_no_rule(text: str) -> None:
    """Nobody wants to hear of it again."""
    assert extract(text) == []
