"""Topics of a statement, and how far two statements share them."""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import date
from functools import cache
from typing import Any

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import registry
from engramdb.text.names import find_people
from engramdb.text.normalize import lazy
from engramdb.text.technologies import find_technologies, technology_class
from engramdb.text.terms import STOP_WORDS, query_terms, terms
from engramdb.text.topics import named_topics, topic_names
from engramdb.values import Traits

TOPIC_CHANGED_BELOW = 0.35
"""An overlap below this closes a box: the line of the notebook preset."""

TOPIC_MARK = "#"
"""Opens a term that names a topic of the list or a kind of technology; no word begins with it."""

SHARED_TOPIC = 0.4
"""What the only topic of a statement is worth when it is shared; one of four topics is worth half."""

SIMILARITY = 0.8
"""Share of a given similarity that counts: 0.44, just above "worth a link", is then enough alone."""

_DIGITS = lazy(r"[\d.,:%-]+\Z")
_CJK_GRAMMAR = lazy(
    "[的了是在有我他她你们这那很都也要去就和不没个来月着过吗呢吧はがをにでともへ]|です|ます|した|する|して|いる|ある|から|まで"
)


def topic_terms(text: str) -> frozenset[str]:
    """Return the stems, technologies and topics that say what a text is about."""
    technologies = find_technologies(text)
    stems = {stem for stem in query_terms(text) if tells(stem)}
    return frozenset(
        stems
        | {technology.name.casefold() for technology in technologies}
        | {TOPIC_MARK + technology.kind for technology in technologies}
        | {TOPIC_MARK + topic for topic in named_topics(text)}
    )


def overlap(a: frozenset[str], b: frozenset[str], *, similarity: float | None = None) -> float:
    """
    Return how far two sets of topic terms are about the same, 0 to 1.

    Common terms count against the square root of the shorter side: one word in common says a lot about a
    sentence of four and something about one of eight. A topic in common counts less than a word. A similarity
    of the two texts, on the calibrated scale, stands in where the words differ.
    """
    shared = a & b
    if not shared and not similarity:
        return 0.0
    marks, a_marks, b_marks = _count_marks(shared), _count_marks(a), _count_marks(b)
    fewest_marks = min(a_marks, b_marks)
    fewest_words = min(len(a) - a_marks, len(b) - b_marks)
    by_words = min(1.0, (len(shared) - marks) / math.sqrt(fewest_words)) if fewest_words else 0.0
    by_topic = min(1.0, SHARED_TOPIC * marks / math.sqrt(fewest_marks)) if fewest_marks else 0.0
    by_similarity = SIMILARITY * max(0.0, min(1.0, similarity or 0.0))
    return max(by_similarity, 1 - (1 - by_words) * (1 - by_topic))


def _count_marks(found: frozenset[str]) -> int:
    return sum([term.startswith(TOPIC_MARK) for term in found])


@cached(20_000)
def tells(stem: str) -> bool:
    """Return whether a stem says something about the topic."""
    return stem not in _empty_stems() and not _DIGITS.match(stem) and not _is_grammar(stem)


def _is_grammar(stem: str) -> bool:
    """Return whether a pair of characters is held together by grammar only: 我去, です."""
    return len(stem) <= 2 and _CJK_GRAMMAR.search(stem) is not None


@cache
def _empty_stems() -> frozenset[str]:
    return frozenset(terms(_lists()["empty"])).union(terms(" ".join(STOP_WORDS)))


@cache
def _lists() -> dict[str, Any]:
    return registry("topics")


MOST_CHARACTERS = 8_192
MOST_OF_A_KIND = 20
MOST_TOPICS = 6
TOPIC_CHARACTERS = 2_000
"""A text says early what it is about; counting the words of a whole page costs more than it tells."""

_URL = lazy(r"\b(?:https?://|www\.)[^\s<>\"'`)\]}]{3,500}", re.IGNORECASE)
_ENDINGS = """
py pyi ipynb Python  js mjs jsx JavaScript  ts tsx TypeScript  rs Rust  go Go  java Java  kt Kotlin
swift Swift  c h C  cpp hpp cc C++  cs C#  rb Ruby  php PHP  lua Lua  scala Scala  ex exs Elixir  hs Haskell
ml OCaml  jl Julia  r R  sh Bash  sql SQL  zig Zig  dart Dart  pl Perl  html HTML  css CSS
"""
_EXTENSIONS = {
    ending: language
    for *endings, language in (group.split() for group in re.split(r"  |\n", _ENDINGS.strip()))
    for ending in endings
}
_PLAIN_EXTENSIONS = (
    "md|rst|txt|json|toml|yaml|yml|ini|cfg|conf|xml|csv|log|lock|gradle|pdf|docx|xlsx|png|jpg|svg|env|zip|gz|"
    "db|sqlite"
)
_DOT_FILES = (
    "env|gitignore|gitattributes|bashrc|zshrc|vimrc|dockerignore|editorconfig|prettierrc|eslintrc|cursorrules|"
    "windsurfrules|clinerules|nvmrc|npmrc|flake8|pylintrc|clang-format|tool-versions|python-version"
)
_BARE_FILES = "Makefile|Dockerfile|Justfile|Procfile|Gemfile|Rakefile|go\\.mod|go\\.work"
_ENDING = rf"\.(?:{'|'.join(_EXTENSIONS)}|{_PLAIN_EXTENSIONS})"
_PATH = lazy(
    r"(?<![\w/.:@])(?:"
    r"(?:~|\.{1,2})?/(?:[\w.@+-]{1,100}/){0,20}[\w.@+-]{1,100}/?"
    r"|[A-Za-z]:\\(?:[\w .@+-]{1,100}\\){0,20}[\w.@+-]{1,100}"
    r"|(?:src|tests?|docs?|lib|app|bin|etc|usr|var|home|pkg|internal|cmd|packages)/(?:[\w.@+-]{1,100}/){0,20}[\w.@+-]{0,100}"
    rf"|(?:[\w.@+-]{{1,100}}/){{1,20}}[\w.@+-]{{0,100}}?{_ENDING}\b"
    rf"|\.?[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,3}}?{_ENDING}\b"
    rf"|\.(?:{_DOT_FILES})\b|(?:{_BARE_FILES})\b(?![-/.]\w))"
)
_NOT_A_PATH = lazy(r"\A/?\d+(?:/\d+)*\Z|\A/\w{1,2}\Z")
_HAN, _KANA = "\u4e00-\u9fff", "\u3040-\u30ff"
_PLAIN_WORD = lazy(rf"[^\W\d_{_HAN}{_KANA}]{{2,40}}(?!['’]t\b)|(?<![{_HAN}])[{_HAN}]{{2,4}}(?![{_HAN}])")
_FENCE = lazy(r"```([A-Za-z+#]{1,15})\b")
_CODE_SIGNS = (
    (
        lazy(r"(?m)^\s*(?:def \w+\(.*\).*:|from \w[\w.]* import |async def )|\bself\.\w|\bprint\(f?[\"']"),
        "Python",
    ),
    (lazy(r"\bfn \w+\s*[(<]|\blet mut \b|\bimpl \w+ for |println!\("), "Rust"),
    (lazy(r"\bfunc \w+\(|\bfmt\.Print|:= range "), "Go"),
    (lazy(r"#include\s*<|\bstd::\w"), "C++"),
    (lazy(r"\bconsole\.log\(|\bconst \w+ = (?:\(|async|require)|=> \{"), "JavaScript"),
    (lazy(r"\bSELECT\b[\s\S]{1,200}\bFROM\b|\bCREATE TABLE\b|\bINSERT INTO\b"), "SQL"),
    (lazy(r"\bpublic (?:static )?(?:void|class|int|String)\b"), "Java"),
)
_IN_CODE = (
    "def | import |self.|print(|fn |let mut |impl |println!(|func |fmt.Print|:= range |#include|std::|"
    "console.log(|const |=> {|SELECT|TABLE|INSERT|public "
)
_CODE_WORDS = tuple(_IN_CODE.split("|"))
"""What the signs above hold: prose has none of it."""
_FENCE_NAMES = {
    "py": "Python",
    "js": "JavaScript",
    "ts": "TypeScript",
    "rs": "Rust",
    "sh": "Bash",
    "shell": "Bash",
}

_MONTH_NAMES = (
    ("january", "jan", "januar", "janvier", "enero"),
    ("february", "feb", "februar", "février", "febrero"),
    ("march", "mar", "märz", "mars", "marzo"),
    ("april", "apr", "avril", "abril"),
    ("may", "mai", "mayo"),
    ("june", "jun", "juni", "juin", "junio"),
    ("july", "jul", "juli", "juillet", "julio"),
    ("august", "aug", "août", "agosto"),
    ("september", "sep", "sept", "septembre", "septiembre"),
    ("october", "oct", "oktober", "octobre", "octubre"),
    ("november", "nov", "novembre", "noviembre"),
    ("december", "dec", "dezember", "décembre", "diciembre"),
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names}
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b"
_DATE = lazy(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)"
    rf"|(?P<cjk>(?P<cy>\d{{4}})年(?P<cm>\d{{1,2}})月(?:(?P<cd>\d{{1,2}})日)?)"
    rf"|(?P<dotted>\b(?P<dd>\d{{1,2}})\.(?P<dm>\d{{1,2}})\.(?P<dy>\d{{4}})\b)"
    rf"|(?P<slashed>\b\d{{1,2}}/\d{{1,2}}/\d{{4}}\b)"
    rf"|(?P<dmy>\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er)?\.?(?: (?:of|de))? (?P<month>{_MONTH})\.?"
    r"(?:(?:,| de)? (?P<year>\d{4})\b)?)"
    rf"|(?P<mdy>\b(?P<month2>{_MONTH})\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{{4}})\b)?)"
    rf"|(?P<my>\b{_MONTH} (?:\d{{4}})\b)",
    re.IGNORECASE,
)
_DAY_SIGN = lazy(r"\d[-./年]\d")
_STEMS = "jan feb fév mar mär apr avr abr may mai jun jui jul aug aoû ago sep oct okt nov dec déc dez dic ene"
_MONTH_STEMS = tuple(_STEMS.split())
_DATE_SIGN = lazy(rf"\d[-./年]\d|\d[a-z]{{0,2}}\.?(?: of| de)? {_MONTH}|\b{_MONTH}\.? \d", re.IGNORECASE)
"""What every date holds; it takes a third of the time where there is none."""
_VERB_MAY = lazy(r"(?:may|march|mar) ")


def infer_traits(text: str, *, sentiment: str | None = None) -> Traits:
    """Return what a text mentions, each kind in order of first mention and without repetition."""
    read = text[:MOST_CHARACTERS]
    urls = [match.group().rstrip(".,;:!?") for match in _URL.finditer(read)]
    without_urls = _URL.sub(" ", read) if urls else read
    paths = _paths(without_urls)
    prose = without_paths(without_urls)
    technologies = find_technologies(prose)
    people = find_people(prose, taken=[prose[found.start : found.end] for found in technologies])
    return Traits(
        people=people[:MOST_OF_A_KIND],
        technologies=tuple(found.name for found in technologies[:MOST_OF_A_KIND]),
        paths=paths[:MOST_OF_A_KIND],
        dates=_dates(prose)[:MOST_OF_A_KIND],
        urls=_distinct(urls)[:MOST_OF_A_KIND],
        topics=_topics(prose[:TOPIC_CHARACTERS], [found.kind for found in technologies], people),
        language=_language(read, paths, [found.name for found in technologies if found.kind == "language"]),
        sentiment=sentiment,
    )


def _topics(text: str, kinds: list[str], people: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a text is about: topics of the fixed list, kinds of technology, then its own words."""
    topics = named_topics(text)
    stems = frozenset(stem for stem in query_terms(text) if tells(stem))
    left_out = {part.casefold() for name in people for part in name.split()} | topic_names()
    words = [word.casefold() for word in _PLAIN_WORD.findall(text)]
    counted = Counter(word for word in words if word not in left_out and not stems.isdisjoint(terms(word)))
    own = sorted(counted, key=lambda word: (-counted[word], words.index(word)))
    return _distinct([*topics, *kinds[:2], *own])[:MOST_TOPICS]


def _may_hold_path(text: str) -> bool:
    return "/" in text or "." in text or "\\" in text or "file" in text


def without_paths(text: str) -> str:
    """Return a text without the files and folders that it names: words in their names say nothing."""
    if not _may_hold_path(text):
        return text
    return _PATH.sub(lambda match: match.group() if _is_technology(match.group()) else " ", text)


def _paths(text: str) -> tuple[str, ...]:
    if not _may_hold_path(text):
        return ()
    found = (match.group().rstrip(".") for match in _PATH.finditer(text))
    return _distinct([path for path in found if not _NOT_A_PATH.match(path) and _is_path(path)])


def _is_path(name: str) -> bool:
    """Return whether what looks like a file is one: Node.js and vue.js are technologies and nothing else."""
    return "." not in name or not _is_technology(name)


def _is_technology(name: str) -> bool:
    return "/" not in name and technology_class(name) is not None


def _dates(text: str) -> tuple[str, ...]:
    lower = text.lower()
    if not _DAY_SIGN.search(text) and not any(stem in lower for stem in _MONTH_STEMS):
        return ()
    if not _DATE_SIGN.search(text):
        return ()
    found = (match for match in _DATE.finditer(text) if not _VERB_MAY.match(match.group()))
    return _distinct([_iso(match) or match.group() for match in found])


def _iso(match: re.Match[str]) -> str | None:
    """Return the date in ISO form where day, month and year are written and are a real day."""
    parts = match.groupdict()
    year = parts["cy"] or parts["dy"] or parts["year"] or parts["year2"]
    day = parts["cd"] or parts["dd"] or parts["day"] or parts["day2"]
    name = parts["month"] or parts["month2"]
    month = _MONTHS[name.casefold()] if name else parts["cm"] or parts["dm"]
    if not (year and month and day):
        return None
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _language(text: str, paths: tuple[str, ...], named: list[str]) -> str | None:
    """Return the programming language: of a code block, of a file, of the code's look, then as named."""
    fence = _FENCE.search(text)
    if fence:
        return _FENCE_NAMES.get(fence.group(1).casefold()) or fence.group(1).capitalize()
    for path in paths:
        language = _EXTENSIONS.get(path.rpartition(".")[2].casefold())
        if language:
            return language
    if any(word in text for word in _CODE_WORDS):
        for sign, language in _CODE_SIGNS:
            if sign.search(text):
                return language
    return named[0] if named else None


def _distinct(found: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
