"""
Recognise what an injected instruction says, and the marks with which it forges a role.

Called by `injection`; reads injection_signals.toml once. `phrases` reads plain lower-case words in English
and other languages, `marks` reads the text with its lines and case.
English signals have anchor words, the others a script or a needle: where none occurs the pattern is not
run, which keeps an ordinary sentence at a tenth of a millisecond.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = lazy(r"\w+")
_PLACE_OF_WORDS = lazy(r"\{([A-Z]+)\}")
_LATIN_STEMS = (
    "ignor|vergiss|missacht|anweisung|oubli|neglig|olvid|istruzion|instruc|dimentic|esquec|"
    "negeer|vergeet|zapomn|"
    "yok say|unut|system|prompt|memori|erinnerung|souven|utente|nutzer|usuari|utilisateur|"
    "gebruiker|uzytkownik|"
    "restric|einschrankung|censur|zensur|schick|sende|envi|envoie|invia|immer|siempre|toujours|sempre"
    "|rucksicht|vorgaben|betreiber|texte cache|hagas caso|clave|contrasen|passw|schlussel|mots de passe"
    "|kennw|assistent|asistente|l'assistant|non dare|ecoute|compte"
)
_LATIN = tuple(_LATIN_STEMS.split("|"))
"""Looked for one by one: as a pattern they took five times as long."""
_CYRILLIC = lazy("[\u0400-\u04ff]")
_EAST = lazy("[\u0590-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LINK = lazy(r"\]\(\s{0,2}(https?://[^)\n]{1,400})", re.IGNORECASE)
_CARRIES = lazy(
    r"\{\{?\s?[\w.]|<\w|\$\{|USER_|[?&=/]insert|[?&=](?:conversation|chat_?history|memories|"
    r"password|secrets?)\b",
    re.IGNORECASE,
)
_CARRIES_WEIGHT = 0.9


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that injected instructions say, and the words without which they do not say it."""

    reason: str
    weight: float
    pattern: str
    anchors: frozenset[str]
    needle: str


def phrases(words: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for everything that these lower-case words say."""
    anchored = _anchored()
    present = anchored.keys() & _WORD.findall(words)
    for signal in dict.fromkeys(signal for word in present for signal in anchored[word]):
        if _compiled(signal.pattern).search(words):
            yield signal.reason, signal.weight
    for name in _tongues(words):
        for signal in _signals(name):
            if _compiled(signal.pattern).search(words):
                yield signal.reason, signal.weight


def _tongues(words: str) -> Iterator[str]:
    """Yield the tables of other languages that may have something to say about these words."""
    if any(needle in words for needle in _LATIN):
        yield "latin"
    if not words.isascii():
        if _CYRILLIC.search(words):
            yield "cyrillic"
        if _EAST.search(words):
            yield "east"


def marks(folded: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for forged roles, tags, tool calls and links that carry content away."""
    lower = folded.lower()
    for needle, signals in _marked():
        if needle in lower:
            for signal in signals:
                if _compiled(signal.pattern).search(folded):
                    yield signal.reason, signal.weight
    if "](" in folded and any(_CARRIES.search(link[1]) for link in _LINK.finditer(folded)):
        yield "link carries content", _CARRIES_WEIGHT


@cache
def _signals(table: str) -> tuple[Signal, ...]:
    """Return the signals of one table of the file."""
    listed = _listed()
    words = {name: _joined(pieces) for name, pieces in listed["words"].items()}
    flags = "(?im)" if table == "marks" else ""
    return tuple(
        Signal(
            reason=row["reason"],
            weight=row["weight"],
            pattern=flags + _filled(_joined(row["pattern"]), words),
            anchors=frozenset(
                row.get("anchors", "").replace("OVERRIDE", listed["anchors"]["OVERRIDE"]).split()
            ),
            needle=row.get("needle", ""),
        )
        for row in listed[table]
    )


@cache
def _marked() -> tuple[tuple[str, list[Signal]], ...]:
    """Return the marks by the needle without which they are not there."""
    found: defaultdict[str, list[Signal]] = defaultdict(list)
    for signal in _signals("marks"):
        found[signal.needle].append(signal)
    return tuple(found.items())


@cache
def _anchored() -> dict[str, list[Signal]]:
    """Return the English signals by each of their anchor words."""
    found: defaultdict[str, list[Signal]] = defaultdict(list)
    for signal in _signals("english"):
        for word in signal.anchors:
            found[word].append(signal)
    return dict(found)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern when it is first needed: compiling all of them would cost the command line 50 ms."""
    return re.compile(pattern)


@cache
def _listed() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "injection_signals.toml").read_text("utf-8"))


def _joined(pieces: str | list[str]) -> str:
    return pieces if isinstance(pieces, str) else "".join(pieces)


def _filled(pattern: str, words: dict[str, str]) -> str:
    return _PLACE_OF_WORDS.sub(lambda match: _filled(words[match[1]], words), pattern)
