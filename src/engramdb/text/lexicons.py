"""
Word lists, read once from `data/`: one file per language, and registries that belong to no language.

A new language is a new file in `data/languages/`. Every section is optional, and what a file names is used
everywhere at once. Rows of words are written as text; a slash stands between forms of one word, a bar between
alternatives of a pattern. A misspelled field is an error that names it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

DATA = Path(__file__).parent / "data"


class TimeFrame(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a language that writes spaces says around its months, weekdays and years: patterns."""

    in_month: str
    on_day: str
    """Before a date, where the language wants a word there."""
    on_weekday: str
    in_season: str
    in_year: str
    since: str
    before: str
    after: str
    until: str
    between: str
    """Opens a span that `joint` carries on."""
    joint: str
    early: str
    middle: str
    late: str
    last: str
    """Last, in front of a weekday or behind it."""
    coming: str
    current: str
    of_unit: str
    """Before one of `of_units`: of this week, month or year, after the beginning, the middle or the end."""
    of_units: str
    last_units: str
    """The last COUNT UNIT, up to now."""
    last_keys: str
    """The words of that phrase of which one is in it always."""
    of: str = ""
    """May stand between a day, its month and its year."""
    year: str = ""
    """May stand before or after the number of a year."""


class KeyedPattern(Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern, in which COUNT and UNIT stand for such words, and the words of which it always has one."""

    keys: str
    pattern: str


class TimeWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a language speaks of time."""

    months: str = ""
    """Twelve, in the forms that follow a preposition."""
    short_months: str = ""
    weekdays: str = ""
    """Seven, from Monday."""
    short_weekdays: str = ""
    seasons: str = ""
    """Four, from spring."""
    counts: str = ""
    """Numbers from one on."""
    few: str = ""
    """Words for two to five."""
    vague: Mapping[str, tuple[int, int]] = {}
    """Other words that do not want to be exact, and the least and the most that they mean."""
    units: Mapping[str, str] = {}
    """The words for each unit: minute, hour, day, week, weekend, fortnight, month, year."""
    phrases: Mapping[str, list[str]] = {}
    """Set phrases by what they mean: "day -1" is yesterday, "evening 0" this evening."""
    holidays: Mapping[str, tuple[int, int, int]] = {}
    """Month, day, and how many days: feasts that have the same date every year."""
    recently: list[str] = []
    weekends: list[str] = []
    """The weekend without saying which."""
    every: str = ""
    """What stands before a weekday that comes back every week."""
    before_date: str = ""
    """What makes a date of two numbers behind it,"""
    perhaps_before_date: str = ""
    """and what does so where they are no usual fraction."""
    after_fraction: str = ""
    """What two numbers count or measure before it."""
    ago: KeyedPattern | None = None
    ahead: KeyedPattern | None = None
    """In two weeks."""
    frame: TimeFrame | None = None


class SentenceWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words by which sentences are cut and told apart."""

    abbreviations: str = ""
    """Never the end of a sentence."""
    before_number: str = ""
    """Abbreviations before a number ("fig. 3"), and otherwise words."""
    ending_abbreviations: str = ""
    """May close a sentence; they do when a capital letter follows."""
    requests: str = ""
    """Verbs, as patterns, with which a request begins."""
    before_requests: str = ""
    """What may stand before one, as patterns: please, ok, then."""
    greetings: str = ""
    """Greetings and thanks with which a sentence begins that says no more, as patterns."""
    filler: str = ""
    """Words of which no number says anything: what is made of them alone is filler."""
    pointing: str = ""
    """Those of them of which more than three may say something all the same: that is my new one."""
    turning: str = ""
    """What turns a fact round or makes less of it, as patterns: not, never, maybe."""
    qualifying: str = ""
    """What says how far a fact goes, as patterns: except, only, until, at least, probably."""


class QuestionWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the words of a question say about its answer."""

    open: str = ""
    """With these begins a question that wants an explanation,"""
    exact: str = ""
    """unless one of these follows: "how many" wants a number."""
    ahead: str = ""
    """Patterns that point to the future."""
    relations: Mapping[str, list[str]] = {}
    """By the predicates that answer them, the forms of a question for a relation of WHO."""
    overview: str = ""
    """Patterns that ask for everything that is known,"""
    whole: str = ""
    """if there is nothing beside them but these words."""


class NameCues(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Patterns before a name that say what it names."""

    called: str = ""
    works_at: str = ""
    lives_in: str = ""
    mine: str = ""
    """Before somebody's relation to the speaker: my."""


class AffectWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How words feel."""

    positive: str
    strong_positive: str
    negative: str
    strong_negative: str
    negators: str = ""
    boosters: str = ""
    markers: str = ""
    """Small words that speak for this language."""
    silent: str = ""
    """Words whose stem is that of a listed one but that mean something else: schon is not schön."""
    urgent: str = ""
    """Patterns that say that it is pressing."""


class VerbLists(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """English verbs by what a clause with them is worth; base forms."""

    irregular: str = ""
    """A line for each: base, past, participle."""
    same_in_past: str = ""
    looks_past: str = ""
    of_things: str = ""
    events: str = ""
    vague_events: str = ""
    state_changes: str = ""
    passing: str = ""


class VoiceCues(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By which words a message shows that a part of it is not its writer's own; patterns in small letters."""

    headers: list[str] = []
    """The fields at the head of a mail: from, to, subject."""
    sender: list[str] = []
    """The field with the sender."""
    forwarded: list[str] = []
    """What a mail program writes above a message that it passes on."""
    wrote: list[str] = []
    """Ends the line above a quoted mail: On Monday, Ann wrote."""
    says: list[str] = []
    """What others do when they send words: wrote, texted, says."""
    people: list[str] = []
    """Who sends them: boss, landlord, sister."""
    messages: list[str] = []
    """What they send: mail, text, letter."""
    shows: list[str] = []
    """Opens the line above what is put in: here is, found this."""
    documents: list[str] = []
    """What people put into a message."""
    transforms: list[str] = []
    """What they ask to be done with it: translate, proofread."""
    rewrites: list[str] = []
    """Those of them that work on nothing but a text."""
    this: list[str] = []
    """Words that stand for what comes next: this, the following."""
    pointers: list[str] = []
    """Words that stand for what is put in, wherever it is: this, it, the above."""
    points_down: list[str] = []
    """Ends a line above what is put in, without a colon."""
    points_back: list[str] = []
    """Begins a line about what stands above: does that, the last line."""
    attributed: list[str] = []
    """Says that what stands above is somebody else's: she wrote that, it's from the vendor."""
    answers_it: list[str] = []
    """Asks for an answer to what stands above: write a reply, what do I say."""
    hands_over: list[str] = []
    """Ends a line below which somebody else's message stands: what she sent, can you reply to him."""
    whose: list[str] = []
    """After an arrow that points up: from, by."""
    personas: list[str] = []
    """Names somebody who is made up: persona, backstory."""
    plays: list[str] = []
    """Asks the assistant to be somebody, before a name: act as."""
    turns: list[str] = []
    """With these a sentence turns back to the writer's own words after somebody else's."""
    claims: list[str] = []
    """Says that what stands above is the writer's own: that's my day."""
    mine: list[str] = []
    """Says that what follows is the writer's own: my notes, my rules."""
    tells: list[str] = []
    """Says that the writer is about to tell something: how I like it, things I need."""
    own_labels: list[str] = []
    """Stand before a colon in one's own message: background, question."""
    me: list[str] = []
    """How the writer is called in a copied chat."""
    own_speech: list[str] = []
    """Before a quotation of oneself: I said."""
    greetings: list[str] = []
    """Open a letter, before a name."""
    closings: list[str] = []
    """End a letter, before a name."""
    assistants: list[str] = []
    """Whom one writes to here, and who writes machine-made text."""
    generated: list[str] = []
    """What an assistant says at the beginning or the end of an answer."""
    instructions: list[str] = []
    """How a file of instructions for an assistant begins."""
    chatty: list[str] = []
    """Words that are typed into a chat and hardly ever printed."""
    formal: list[str] = []
    """Words that are printed and hardly ever typed into a chat."""
    page: list[str] = []
    """What a web page has around its text: read more, share this."""
    asks: list[str] = []
    """With these begins what is said to an assistant."""
    speaker: list[str] = []
    """I, my."""
    speakers: list[str] = []
    """We, our."""
    others: list[str] = []
    """He, she, they."""
    readers: list[str] = []
    """How printed text speaks to its readers: you can, your."""
    little: str = ""
    """The commonest little words that no other language here has."""


class ReplyWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How people answer a short question; patterns of phrases in small letters, each of which may be all."""

    yes: list[str] = []
    no: list[str] = []
    first: list[str] = []
    """The first of two."""
    second: list[str] = []
    both: list[str] = []
    neither: list[str] = []
    later: list[str] = []
    """Not now, and: I do not know."""
    vague: list[str] = []
    """Says nothing about what was asked, as the whole of a reply."""
    but: list[str] = []
    """Opens what takes back a part of the answer."""
    subjects: list[str] = []
    """After "no" and without a comma, one of these begins what holds instead: no we moved."""
    asks: list[str] = []
    """Is in a question about whether something holds: still, which, correct."""


class Language(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one file says about its language."""

    name: str
    spaced: bool = True
    """Whether it writes spaces between words."""
    stemmer: str = ""
    """The name by which the Snowball stemmer knows it."""
    stop_words: str = ""
    time: TimeWords = TimeWords()
    sentences: SentenceWords = SentenceWords()
    questions: QuestionWords = QuestionWords()
    signals: Mapping[str, list[str]] = {}
    """Patterns by the kind of sign that they are, in small letters."""
    statements: Mapping[str, list[str]] = {}
    """Patterns by the sort of statement that they speak for, in small letters."""
    facts: Mapping[str, str] = {}
    """What the commonest facts about oneself begin with, by predicate; without spaces, the whole pattern."""
    names: NameCues = NameCues()
    kin: Mapping[str, str] = {}
    """Words for relatives by the English one."""
    affect: AffectWords | None = None
    verbs: VerbLists = VerbLists()
    voices: VoiceCues = VoiceCues()
    replies: ReplyWords = ReplyWords()
    predicates: Mapping[str, str] = {}
    """Predicates, and the verbs that stand for each."""


def _read(file: Path) -> Language:
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Language)


# Read at import, where one thread does it: msgspec must not meet a type in two threads at once.
LANGUAGES: Mapping[str, Language] = {
    file.stem: _read(file) for file in sorted((DATA / "languages").glob("*.toml"))
}
"""Every language by its code."""
ENGLISH = LANGUAGES["en"]
"""The language whose grammar is written in code."""


def registry(name: str) -> dict[str, Any]:
    """Return a file that belongs to no single language; callers keep what they make of it."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def rows(name: str) -> list[list[str]]:
    """Return the rows of a table, its cells separated by tabs."""
    lines = (DATA / f"{name}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def plain_text(name: str) -> str:
    """Return the words of a plain list without its comments."""
    lines = (DATA / f"{name}.txt").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def word_set(row: str) -> frozenset[str]:
    """Return the words of a row."""
    return frozenset(row.split())


def any_pattern(patterns: list[str]) -> str:
    """Return the alternatives of all that are not empty."""
    return "|".join(filter(None, patterns))


def voice_cues(name: str) -> str:
    """Return the alternatives of a cue of voices in all languages."""
    return any_pattern([row for one in LANGUAGES.values() for row in getattr(one.voices, name)])
