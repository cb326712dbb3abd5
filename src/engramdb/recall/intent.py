"""The intent of a question, read from its words."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct, field

from engramdb.text.lexicons import registry
from engramdb.text.mentions import mentions
from engramdb.text.moments import find_moments
from engramdb.text.normalize import lazy
from engramdb.values import EntityType

# Cut a query into words, with a mark in place of each time phrase, name, identifier and quotation.
#
# With marks, "who is NAME" is one cue for everybody, and "in March" is one with every other month.
# Only the beginning and the end of a long text are read, so that no query takes more than a few
# milliseconds.

HEAD_CHARACTERS, TAIL_CHARACTERS = 600, 300
"""Of a long text only these are read: what is wanted is said first or last, around what was pasted."""

START, BEGIN, END, COMMA = "^", "^^", "$", ","
"""Where a sentence begins, where the text begins, where it ends, where it pauses."""

TIME, NAME, CODE, QUOTE, CLOCK = "TIME", "NAME", "CODE", "QUOTE", "CLOCK"
SIGNS = {TIME: "\ue000", NAME: "\ue001", CODE: "\ue002", QUOTE: "\ue003", CLOCK: "\ue004"}
"""One private character for each mark, so that a masked text is still a text."""

_NO_SIGNS = {ord(sign): " " for sign in SIGNS.values()}
_MARKS = {sign: mark for mark, sign in SIGNS.items()}
_TOKEN = lazy(r"[\ue000-\ue004]|'s\b|\w+(?:'(?!s\b)\w+)*|[,，、]|[.;:!?…—\n。！？；：]")
_QUOTED = lazy(r"[\"“„«][^\"”“»\ue000-\ue004\n]{2,120}[\"”“»]|`[^`\n]{1,120}`")
_CLOCKED = lazy(r"\b\d{1,2}(?::\d\d| ?[ap]m)\b", re.IGNORECASE)
_HASTY = lazy(r"\b(what|who|where|when|why|how)(?:s|'(d))\b")  # "whats", "how'd"
_ACCENTS = lazy("[\u0300-\u036f]")
_UNSPACED = lazy("[\u3040-\u30ff\u4e00-\u9fff]")
_CAMEL = lazy(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_COMMAS = (",", "，", "、")
_PUNCTUATION = ".,;:!?\"'()[]{}<>"
_ANY_NOW = datetime(2026, 1, 1, tzinfo=UTC)  # whether a phrase speaks of time does not depend on the day


def is_code(word: str) -> bool:
    """Return whether a word is an identifier, a call, a path or a file, and no word of a language."""
    bare = word.strip(_PUNCTUATION)
    if len(bare) < 2 or "@" in bare:
        return False
    is_call = word.rstrip(".,;:!?").endswith("()")
    is_joined = "_" in bare or "::" in bare or _CAMEL.search(bare) is not None
    is_path = bare[0] in "/~" or bare.count("/") > 1 or ("." in bare and "/" in bare)
    is_dotted = "." in bare[1:-1] and not bare.replace(".", "").isdigit() and ".." not in bare
    is_mixed = len(bare) > 5 and any(map(str.isdigit, bare)) and any(map(str.isalpha, bare))
    return is_call or is_joined or is_path or is_dotted or is_mixed


def is_unspaced(text: str) -> bool:
    """Return whether a text holds a script without spaces, in which words cannot be cut apart."""
    return _UNSPACED.search(text) is not None


def masked(text: str) -> str:
    """Return the beginning and the end of a text, with a sign for whatever has a mark."""
    text = _ends(text).translate(_NO_SIGNS)
    names = [found.text for found in mentions(text) if found.type is not EntityType.FILE]
    for moment in sorted(find_moments(text, now=_ANY_NOW), key=lambda one: -one.first):
        text = f"{text[: moment.first]} {SIGNS[TIME]} {text[moment.last :]}"
    text = _CLOCKED.sub(f" {SIGNS[CLOCK]} ", text)
    for name in sorted(names, key=len, reverse=True):
        text = _replaced(text, name, SIGNS[NAME])
    text = " ".join(SIGNS[CODE] if is_code(word) else word for word in text.split(" "))
    return _QUOTED.sub(SIGNS[QUOTE], text)


def words_of(text: str) -> list[str]:
    """Return a masked text's words in small letters without accents, its marks, and where it pauses."""
    spelt = _HASTY.sub(lambda hasty: f"{hasty[1]} did" if hasty[2] else f"{hasty[1]}'s", fold(text))
    return [_word(token) for token in _TOKEN.findall(spelt)]


def fold(text: str) -> str:
    """Return a text in small letters without accents: people leave both out when they search."""
    lower = text.replace("’", "'").lower()
    if lower.isascii():
        return lower
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", lower)))


def _word(token: str) -> str:
    if token in _MARKS:
        return _MARKS[token]
    if token[0].isalnum() or token[0] in "'_":
        return token
    return COMMA if token in _COMMAS else START


def _ends(text: str) -> str:
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"


def _replaced(text: str, name: str, sign: str) -> str:
    """Return the text with a sign wherever the name stands as words of its own."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        is_whole = not (text[max(0, at - 1) : at].isalnum() or text[end : end + 1].isalnum())
        if is_whole or is_unspaced(name):
            text, end = text[:at] + sign + text[end:], at + 1
        at = text.find(name, end)
    return text


# Find in a query's words the cues that text/data/intents.toml lists.
#
# Reads the file once. A cue is a run of words that is looked up in a table, so the time grows with the
# words of the query and not with the length of the list, and nothing can run away as a pattern can. Each
# cue of the file counts once in a query, in whichever of its spellings it occurs.

Words: TypeAlias = tuple[str, ...]

_SIGNPOSTS = (START, BEGIN, "$", *SIGNS)


class Cue(Struct, frozen=True):
    """One spelling of a listed cue: what it speaks for, how strongly, and what must follow."""

    line: int
    speaks_for: str
    strength: str
    then: tuple[Words, ...] = ()
    """Runs of words that have to come later, in this order."""


class Cues(Struct, frozen=True):
    """The whole file, ready to be looked up."""

    runs: dict[Words, list[Cue]] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    """How many words the longest run has that begins with this one."""
    unspaced: dict[str, Cue] = field(default_factory=dict)
    leads: frozenset[Words] = frozenset()
    leads_before_question: frozenset[Words] = frozenset()
    question_words: frozenset[str] = frozenset()
    heads: frozenset[str] = frozenset()
    """Words for one thing as a whole: asked about, "our landlord" is as good as a name."""
    objects: frozenset[str] = frozenset()
    """Words that follow the verb of an order."""
    particles: frozenset[str] = frozenset()
    """Words that may stand between the verb of an order and its object."""
    no_orders: frozenset[str] = frozenset()
    """Words with which an order does not begin."""
    comparatives: frozenset[str] = frozenset()


def found_cues(words: Sequence[str]) -> Iterator[tuple[Cue, int]]:
    """Yield each cue of these words and the place behind it, every one of the file at most once."""
    counted = set[int]()
    missed = set[Cue]()  # what does not follow here does not follow further on either
    for cue, end in _begun(words):
        if cue.line in counted or cue in missed:
            continue
        behind = _behind(words, end, cue.then)
        if behind is None:
            missed.add(cue)
        else:
            counted.add(cue.line)
            yield cue, behind


def found_unspaced(text: str) -> Iterator[Cue]:
    """Yield the cues of a text in a script without spaces."""
    folded = fold(text)
    for piece, cue in cues().unspaced.items():
        if piece in folded:
            yield cue


def without_lead(words: Sequence[str]) -> Sequence[str]:
    """Return the words without "ok, can you tell me" before the question proper."""
    while length := _lead(words):
        words = words[length:]
    return words


@cache
def cues() -> Cues:
    """Return the file, read once."""
    listed = registry("intents")
    lead, subject, grammar = (listed.pop(name) for name in ("lead", "subject", "grammar"))
    found = Cues(
        leads=frozenset(_spellings(lead["always"])),
        leads_before_question=frozenset(_spellings(lead["before_question"])),
        question_words=_single(lead["question_words"]),
        heads=_single(subject["heads"]),
        objects=_single(grammar["objects"]),
        particles=_single(grammar["particles"]),
        no_orders=_single(grammar["no_orders"]),
        comparatives=_single(grammar["comparatives"]),
    )
    lines = itertools.count()
    for speaks_for, lists in listed.items():
        _add(found, lists, speaks_for, lines)
    return found


def _add(found: Cues, lists: dict[str, Any], speaks_for: str, lines: Iterator[int]) -> None:
    for strength, pieces in lists.pop("unspaced", {}).items():
        for piece in pieces:
            found.unspaced[fold(piece)] = Cue(next(lines), speaks_for, strength)
    for strength, phrases in lists.items():
        for phrase, line in zip(phrases, lines, strict=False):
            for first, *then in map(_runs, _alternatives(phrase)):
                found.runs.setdefault(first, []).append(Cue(line, speaks_for, strength, tuple(then)))
                found.longest[first[0]] = max(len(first), found.longest.get(first[0], 0))


def _begun(words: Sequence[str]) -> Iterator[tuple[Cue, int]]:
    """Yield each cue whose first run of words stands here, and the place behind that run."""
    runs, longest = cues().runs, cues().longest
    for at, word in enumerate(words):
        for end in range(at + 1, min(at + longest.get(word, 0), len(words)) + 1):
            for cue in runs.get(tuple(words[at:end]), ()):
                yield cue, end


def _behind(words: Sequence[str], at: int, runs: Sequence[Words]) -> int | None:
    """Return the place behind these runs, found one after another, or none if one is missing."""
    for run in runs:
        places = range(at, len(words) - len(run) + 1)
        place = next((place for place in places if tuple(words[place : place + len(run)]) == run), None)
        if place is None:
            return None
        at = place + len(run)
    return at


def _lead(words: Sequence[str]) -> int:
    """Return how many words at the front come before the question proper."""
    if words and words[0] in (START, COMMA):
        return 1
    listed = cues()
    for length in range(min(6, len(words) - 1), 0, -1):
        run = tuple(words[:length])
        if run in listed.leads:
            return length
        if run in listed.leads_before_question and words[length] in listed.question_words:
            return length
    return 0


def _alternatives(phrase: str) -> Iterator[str]:
    """Yield each spelling of a phrase in which "a/b" stands for either."""
    choices = [word.split("/") for word in phrase.split()]
    return (" ".join(chosen) for chosen in itertools.product(*choices))


def _runs(spelling: str) -> list[Words]:
    """Return the runs of words that "…" divides."""
    return [_words(part) for part in spelling.split("…")]


def _words(part: str) -> Words:
    return tuple(itertools.chain.from_iterable(map(_written, part.split())))


@cache
def _written(word: str) -> Words:
    """Return a word of the file as it is met in a query; a text that begins also begins a sentence."""
    if word in _SIGNPOSTS:
        return (BEGIN, START) if word == BEGIN else (word,)
    return tuple(words_of(word))


def _spellings(phrases: Iterable[str]) -> Iterator[Words]:
    return (_words(spelling) for phrase in phrases for spelling in _alternatives(phrase))


def _single(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word if word in SIGNS else fold(word) for line in lines for word in line.split())


# Guess what kind of answer a question wants, without a model.
#
# Adds up the cues of each intent and takes the best; knows nothing of indexes or weights. What it gets
# right, and what not: docs/lab/0012-intents.md.


class Intent(StrEnum):
    """What kind of answer is wanted; where two score alike, the first of them is meant."""

    CAUSAL = "causal"
    COMPARATIVE = "comparative"
    TEMPORAL = "temporal"
    PROCEDURAL = "procedural"
    ENTITY = "entity"
    EXPLORATORY = "exploratory"
    LOOKUP = "lookup"


class Classified(Struct, frozen=True):
    """The intent, how sure we are of it in (0, 1], and what each intent scored."""

    intent: Intent
    confidence: float
    scores: Mapping[Intent, float]


WEIGHTS = {"decides": 5.0, "strong": 3.0, "clear": 1.5, "hint": 0.5, "against": -3.0}
"""What a cue of each list adds: steps and not fitted numbers, so that a list of words stays readable."""

TEMPERATURE = 1.6
"""How far scores must lie apart to be sure: one decisive cue alone gives 0.77, no cue at all 0.24."""

ABOUT_REACH = 3
"""Within so many words after "tell me about" a name has to come to be its subject."""

SHORT_WORDS, LONG_WORDS = 3, 12
UNMARKED = 1.0
"""What a lookup has without any cue: most questions to a memory want one fact."""

_ABOUT = "about"


def classify(text: str) -> Classified:
    """Return the likeliest intent of a question, or of whatever else is said to find memories."""
    marked = masked(text)
    words = without_lead(words_of(marked))
    scores = dict.fromkeys(Intent, 0.0)
    for intent, points in itertools.chain(_said(words), _said_unspaced(marked), _shape(words)):
        scores[intent] += points
    best = max(Intent, key=scores.__getitem__)
    return Classified(best, _confidence(best, scores), scores)


def _said(words: Sequence[str]) -> Iterator[tuple[Intent, float]]:
    """Yield what each cue adds to which intent; a comma does not part the words of a cue."""
    last = next((at for at in range(len(words), 0, -1) if words[at - 1] not in (START, COMMA)), 0)
    run = [BEGIN, START, *(word for word in words[:last] if word != COMMA), END]
    for cue, end in found_cues(run):
        is_thing = cue.speaks_for == _ABOUT and _is_thing(run[end : end + ABOUT_REACH])
        yield _meant(cue, is_thing=is_thing), WEIGHTS[cue.strength]


def _said_unspaced(marked: str) -> Iterator[tuple[Intent, float]]:
    if is_unspaced(marked):
        for cue in found_unspaced(marked):
            yield _meant(cue, is_thing=SIGNS[NAME] in marked), WEIGHTS[cue.strength]


def _meant(cue: Cue, *, is_thing: bool) -> Intent:
    if cue.speaks_for != _ABOUT:
        return Intent(cue.speaks_for)
    return Intent.ENTITY if is_thing else Intent.EXPLORATORY


def _is_thing(words: Sequence[str]) -> bool:
    """Return whether a subject is one thing as a whole: a name, "my sister", "the … service"."""
    heads = cues().heads
    return any(word in (NAME, CODE, QUOTE) or word in heads for word in words)


def _shape(words: Sequence[str]) -> Iterator[tuple[Intent, float]]:
    """Yield what the mere form says, where no list could name every word."""
    said = [word for word in words if word != START]
    yield Intent.LOOKUP, UNMARKED
    if len(said) > LONG_WORDS:
        yield Intent.EXPLORATORY, WEIGHTS["hint"]
    for intent, strength, is_so in (
        (Intent.EXPLORATORY, "clear", _is_topic),
        (Intent.EXPLORATORY, "strong", _asks_for_several),
        (Intent.PROCEDURAL, "strong", _is_order),
        (Intent.CAUSAL, "strong", _asks_what_did_it),
        (Intent.COMPARATIVE, "clear", _has_comparative),
        (Intent.COMPARATIVE, "strong", _compares),
        (Intent.ENTITY, "strong", _asks_what_it_is),
    ):
        if is_so(said):
            yield intent, WEIGHTS[strength]


def _is_topic(said: Sequence[str]) -> bool:
    """Return whether a few words only name a subject: "vacation", "open risks", not "passport number"."""
    if not said or len(said) > SHORT_WORDS:
        return False
    is_one_word = len(said) == 1 and said[0] not in SIGNS and not is_unspaced(said[0])
    return is_one_word or _is_plural(said[-1])


def _asks_for_several(said: Sequence[str]) -> bool:
    """Return whether more than one answer is asked for: "what skills do I have", not "which bus"."""
    return len(said) > 2 and said[0] in ("what", "which") and _is_plural(said[1])


def _is_order(said: Sequence[str]) -> bool:
    """Return whether a text begins like an order: "deploy it", "whip up a draft", not "risks of it"."""
    listed = cues()
    if len(said) < 2 or said[0] in listed.no_orders or _is_plural(said[0]):
        return False
    at = 2 if said[1] in listed.particles and len(said) > 2 else 1
    return said[at] in listed.objects


def _asks_what_did_it(said: Sequence[str]) -> bool:
    """Return whether someone asks what acted: "what convinced us", not "what changed"."""
    return len(said) > 2 and said[0] == "what" and said[1].endswith("ed") and said[2] in cues().objects


def _has_comparative(said: Sequence[str]) -> bool:
    return not cues().comparatives.isdisjoint(said)


def _compares(said: Sequence[str]) -> bool:
    """Return whether something is called nicer, less or more than another."""
    comparatives = [at for at, word in enumerate(said) if word in cues().comparatives or word == "more"]
    return bool(comparatives) and "than" in said[comparatives[0] :]


def _asks_what_it_is(said: Sequence[str]) -> bool:
    """Return whether one word is asked about, which may be a name in small letters: "what's tycho"."""
    return len(said) == 3 and said[0] in ("what", "who") and said[1] in ("is", "'s", "was")


def _is_plural(word: str) -> bool:
    return len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _confidence(best: Intent, scores: Mapping[Intent, float]) -> float:
    """Return the share of the best score among all, each as a power: 1 when nothing else is near."""
    return 1 / sum(math.exp((score - scores[best]) / TEMPERATURE) for score in scores.values())
