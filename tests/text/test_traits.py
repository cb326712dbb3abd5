"""What a statement mentions: people, technologies and their classes, paths, links, dates, topics."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.technologies import find_technologies, technology_class
from engramdb.text.traits import infer_traits

ADVERSARIAL = [
    *(
        "a/" * 4000,
        "Aa " * 2700,
        "1/" * 4000,
        "@a" * 4000,
        "x.y/" * 2000,
        "https://" * 1000,
        "use Go " * 1150,
    ),
    *("SELECT " * 1150, "C:\\a b" * 1300, "1 May " * 1300, "Aa-Aa'" * 1350, "def a(" * 1350, "." * 8000),
]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("vim", "editor"), ("Helix", "editor"), ("vscode", "editor"), ("nvim", "editor")),
        *(("postgres", "database"), ("PostgreSQL", "database"), ("Go", "language"), ("golang", "language")),
        *(("zsh", "shell"), ("Firefox", "browser"), ("macOS", "os"), ("react", "framework")),
    ],
)
def test_a_technology_has_a_class_in_any_spelling(name: str, kind: str) -> None:
    """Settling "switched to Helix" needs to know that Helix and vim are both editors."""
    assert technology_class(name) == kind


def test_what_is_not_listed_has_no_class() -> None:
    """An unknown name is no technology rather than a guess."""
    assert technology_class("Frobnicator") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I switched from vim to Helix.", ["Vim", "Helix"]),
        ("i switched from vim to helix", ["Vim", "Helix"]),
        ("I use Go for the backend and React for the frontend", ["Go", "React"]),
        ("The service is written in C.", ["C"]),
        ("We use Spring Boot and Kafka", ["Spring", "Kafka"]),
        ("Deno and Bun are JavaScript runtimes", ["Deno", "Bun", "JavaScript"]),
        ("C++, C# and F#", ["C++", "C#", "F#"]),
        ("Python's typing", ["Python"]),
    ],
)
def test_technologies_are_found_under_their_own_names(text: str, expected: list[str]) -> None:
    """In order of mention, under one spelling each."""
    assert [found.name for found in find_technologies(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Go to the store and buy rust remover",
        "In Spring we hike, and I take vitamin C",
        "Ada and Julia visited us",
        "I read Kafka in school",
        "We met in Phoenix last year",
        "The Express train was swift",
        "I bought a bun and some yarn",
    ],
)
def test_everyday_words_are_not_technologies(text: str) -> None:
    """A name that is also a word counts only where technology is meant."""
    assert find_technologies(text) == ()


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("Anna told me that Berlin is cold", ("Anna",)),
        ("Dr. Weber and Frau Schmidt came", ("Weber", "Schmidt")),
        ("Joy Miller, my boss, likes it", ("Joy Miller",)),
        ("My sister Ruby called", ("Ruby",)),
        ("ask @tom.k about it", ("tom.k",)),
        ("Mara's parser is fast", ("Mara",)),
        ("Meeting with Priya Natarajan in Lyon", ("Priya Natarajan",)),
        ("Python wants types, and Monday is a holiday", ()),
        ("write to ann@example.org", ()),
    ],
)
def test_people_are_named_by_more_than_a_capital_letter(text: str, people: tuple[str, ...]) -> None:
    """A title, a relation, a human act or a given name is needed; places and tools are left alone."""
    assert infer_traits(text).people == people


def test_paths_and_links_are_told_from_each_other_and_from_fractions() -> None:
    """A link is no path, and neither is and/or, 24/7 or km/h."""
    text = "See https://example.org/a/b.html, src/tool/errors.py, ~/notes and main.py; and/or 24/7 at 5 km/h."

    traits = infer_traits(text)

    assert traits.urls == ("https://example.org/a/b.html",)
    assert traits.paths == ("src/tool/errors.py", "~/notes", "main.py")


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("due 2024-05-17", ("2024-05-17",)),
        ("on 17 May 2024", ("2024-05-17",)),
        ("on May 17th, 2024", ("2024-05-17",)),
        ("am 17. Mai 2024 oder 18.05.2024", ("2024-05-17", "2024-05-18")),
        ("2024年5月17日", ("2024-05-17",)),
        ("12/05/2024 could be May or December", ("12/05/2024",)),
        ("by May 5", ("May 5",)),
        ("on 31 February 2024", ("31 February 2024",)),
        ("I may 3 times fail", ()),
    ],
)
def test_dates_are_iso_where_they_are_complete(text: str, dates: tuple[str, ...]) -> None:
    """Day, month and year make an ISO date; anything less, or a day that never was, stays as written."""
    assert infer_traits(text).dates == dates


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("```rust\nlet x = 1;\n```", "Rust"),
        ("edit src/app.ts", "TypeScript"),
        ("def f(x): return self.y", "Python"),
        ("I write Haskell at work", "Haskell"),
        ("I like tea", None),
    ],
)
def test_the_language_is_a_programming_language_or_nothing(text: str, language: str | None) -> None:
    """A block, a file, the look of code or a name gives it; talk about tea does not."""
    assert infer_traits(text).language == language


def test_topics_are_readable_and_few() -> None:
    """The fixed list comes first, then kinds of technology, then the statement's own words."""
    topics = infer_traits("We deploy the billing service with Terraform to AWS").topics

    assert "deployment" in topics
    assert "infrastructure" in topics
    assert len(topics) <= 6


def test_a_given_sentiment_is_kept() -> None:
    """Traits carry the sentiment that affect found; they do not guess one."""
    assert infer_traits("fine", sentiment="positive").sentiment == "positive"
    assert infer_traits("fine").sentiment is None


@given(st.text(max_size=300))
def test_any_text_has_traits_and_always_the_same(text: str) -> None:
    """Nothing that can be said breaks the rules, and repetition changes nothing."""
    assert infer_traits(text) == infer_traits(text)


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("text", ADVERSARIAL, ids=lambda text: text[:8])
def test_hostile_text_costs_no_more_than_other_text(text: str) -> None:
    """Eight kilobytes made to be slow are read in a moment."""
    infer_traits("warm up")
    started = time.thread_time()

    infer_traits(text)

    assert time.thread_time() - started < 0.2


def test_a_technology_with_an_ending_is_no_file() -> None:
    """Node.js is what runs, and `next.config.js` is a file."""
    traits = infer_traits("Node.js and Vue.js are set up in next.config.js, .editorconfig and Makefile")

    assert traits.paths == ("next.config.js", ".editorconfig", "Makefile")
    assert {"Node.js", "Vue"} <= set(traits.technologies)


@pytest.mark.parametrize("name", ["Node.js", "node.js", "vue.js"])
def test_a_product_that_is_called_like_a_file_is_none(name: str) -> None:
    """Whatever its capitals; below a folder it is a file after all: node.js in small letters."""
    assert infer_traits(f"We use {name} for that").paths == ()
    assert infer_traits(f"We use {name} for that").technologies
    assert infer_traits(f"It is in web/{name}").paths == (f"web/{name}",)
