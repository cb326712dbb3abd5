"""Score how much a text tries to instruct a model instead of informing it."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import itertools
import math
import re
import unicodedata
import urllib.parse
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy

# Recognise what an injected instruction says, and the marks with which it forges a role.
#
# The signals are in data/injection.toml. `phrases` reads plain lower-case words in English and other
# languages, `marks` reads the text with its lines and case. English signals have anchor words, the others a
# script or a needle: where none occurs the pattern is not run, which keeps an ordinary sentence at a tenth
# of a millisecond.

_WORD = lazy(r"\w+")
_PLACE_OF_WORDS = lazy(r"\{([A-Z]+)\}")
_CYRILLIC = lazy("[\u0400-\u04ff]")
_GREEK = lazy("[\u0370-\u03ff]")
_THAI_MARKS = lazy("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+")
"""Vowels and tones over and under a letter, for which plain words have a space."""
_EAST = lazy("[\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LINK = lazy(r"\]\(\s{0,2}(https?://[^)\n]{1,400})", re.IGNORECASE)
_CARRIES = lazy(
    r"\{\{?\s?[\w.]|<\w|\$\{|USER_|[?&=/]insert|[?&=](?:conversation|chat_?history|memories|"
    r"password|secrets?)\b",
    re.IGNORECASE,
)
_CARRIES_WEIGHT = 0.9


class InjectionSignal(Struct, frozen=True):
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
    for name, stems in _stems().items():
        if any(map(words.__contains__, stems)):
            yield name
    if not words.isascii():
        if _CYRILLIC.search(words):
            yield "cyrillic"
        if _GREEK.search(words):
            yield "greek"
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
def _signals(table: str) -> tuple[InjectionSignal, ...]:
    """Return the signals of one table of the file."""
    listed = _listed()
    words = {name: _joined(pieces) for name, pieces in listed["words"].items()}
    flags = "(?im)" if table == "marks" else ""
    return tuple(
        InjectionSignal(
            reason=row["reason"],
            weight=row["weight"],
            pattern=flags + _THAI_MARKS.sub(" ?", _filled(_joined(row["pattern"]), words)),
            anchors=frozenset(
                row.get("anchors", "").replace("OVERRIDE", listed["anchors"]["OVERRIDE"]).split()
            ),
            needle=row.get("needle", ""),
        )
        for row in listed[table]
    )


@cache
def _stems() -> dict[str, tuple[str, ...]]:
    """Return what tables in Latin script need; looked for one by one, in a fifth of the time of a pattern."""
    return {table: tuple(stems.split("|")) for table, stems in _listed()["stems"].items()}


@cache
def _marked() -> tuple[tuple[str, list[InjectionSignal]], ...]:
    """Return the marks by the needle without which they are not there."""
    found: defaultdict[str, list[InjectionSignal]] = defaultdict(list)
    for signal in _signals("marks"):
        found[signal.needle].append(signal)
    return tuple(found.items())


@cache
def _anchored() -> dict[str, list[InjectionSignal]]:
    """Return the English signals by each of their anchor words."""
    found: defaultdict[str, list[InjectionSignal]] = defaultdict(list)
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
    return registry("injection")


def _joined(pieces: str | list[str]) -> str:
    return pieces if isinstance(pieces, str) else "".join(pieces)


def _filled(pattern: str, words: dict[str, str]) -> str:
    return _PLACE_OF_WORDS.sub(lambda match: _filled(words[match[1]], words), pattern)


# Undo what hides words: the same text as an attacker hopes a model will read it.
#
# A view is plain lower-case words; how it was hidden is its name. Work is bounded: views are cut at a
# length, decoded pieces at a number and a depth, as anyone may send this. Confusable letters are folded
# only in a view of their own: Russian must stay Russian for its patterns.

MAX_CHARACTERS = 20_000
"""How much of a text is read; a memory has at most 8 KB, so only the import of whole documents comes near."""
MAX_PIECES = 8
"""Encoded pieces that are decoded in one text."""
MAX_DEPTH = 2
LAST_SPELT = 0x52F
"""The last letter of the alphabets that character codes are read in: Latin, Greek and Cyrillic."""
JOINED = "joined words"
"""The one way to hide words that is no sign of bad faith: names are written so, too."""
MAX_READINGS = 10
"""Texts that are read in one: itself, what it spells undisguised, and what is encoded in it."""

_INVISIBLE = lazy(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060"
    "-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_ACCENTS = lazy("[\u0300-\u036f]")
_PUNCTUATION = lazy(  # what `rm -rf ~/x`, `curl … | sh`, "don't" and addresses need is kept
    r"(?! [a-z0-9])(?:[^\w.!?:/@$%&=+'|~\u0900-\u0dff-]|_|~(?!/)|(?<!\w)'|'(?!\w)|(?<!\w)-(?!\w))+"
)
"""A run of them becomes one space; what is one space already is passed over."""
_CONFUSABLE = str.maketrans(
    "абвгеёзіїјкмнорстухѕһԁԛԝьαβγεζηικμνορτυχωϲɑɡıғʙɢʜɪʟɴʀʏᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜰꜱꞯ",
    "abbreeziijkmhopctyxshdqwbabyeznikuvoptuxwcagifbghilnryacdejkmoptuvwzfsq",
)
_LEET = str.maketrans("0134578@$!|", "oieastbasil")
_LEET_SIGN = lazy(r"[0134578@$!|]")
_LEET_WORD = lazy(r"(?<![\w])(?=[\w@$!|]{0,20}[a-z])(?=[\w@$!|]{0,20}[0134578@$!|])[a-z0134578@$!|]{3,20}")
_SPACED = lazy(r"(?<![^\W_])[^\W_](?:[ \t\-._*/|]{1,3}[^\W_](?![^\W_])){5,}")
_DOTTED = lazy(r"(?<![^\W\d_])[^\W\d_]{1,20}(?:\.{1,3}[^\W\d_]{1,20}){3,}")
_DASHED = lazy(r"(?<![\w/.]-)(?<![\w/.])[^\W\d_]{1,20}+(?:-[^\W\d_]{1,20}+){3,}+(?![\w/-]|\.\w)")
"""Not within links, paths and names of files, where dashes are ordinary."""
_UPPER, _LOWER = "A-ZÀ-ÖØ-ÞΑ-ΩА-ЯЁ", "a-zß-öø-ÿα-ωа-яё"
_CAMEL = lazy(
    f"(?<![{_UPPER}{_LOWER}])(?:[{_LOWER}]{{1,20}}|[{_UPPER}][{_LOWER}]{{0,20}})(?:[{_UPPER}][{_LOWER}]{{0,20}}){{3,}}"
)
_HUMP = lazy(f"(?<=[{_LOWER}])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])")
_BASE64 = lazy(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{16,4096}={0,2}")
_HEX = lazy(r"(?i)(?<![0-9a-z])(?:0x)?(?:[0-9a-f]{2}[ :,]?){10,2048}(?![0-9a-z])")
_DECIMAL = lazy(r"(?<![\w.])\d{2,4}(?:[\s,;|/-]{1,2}\d{2,4}){9,2047}")
_BINARY = lazy(r"(?<!\w)[01][01\s,]{47,20000}")
_CODE = lazy(r"\d+")
_PERCENT = lazy(r"(?:%[0-9A-Fa-f]{2}[^%\s]{0,2}){6,}")
_ESCAPES = lazy(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_IMAGE = lazy(r"data:(?:image|audio|video|font)/[\w.+-]{1,40};base64,[A-Za-z0-9+/=]{0,20000}")
_TAGS = lazy("(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0020-\U000e007f]{4,}")
_SELECTORS = lazy("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
"""Variation selectors, each of which can hide a byte; the two behind emoji stand for none of a text."""
_ROT13 = lazy(
    r"(?i)\b(?:vtaber|qvfertneq|vafgehpgvbaf?|cerivbhf|flfgrz|cebzcg|erirny|zrzbevrf|cnffjbeq|"
    r"sbetrg|olcnff|rkrphgr)\b"
)
_REVERSED = lazy(r"(?i)snoitcurtsni|tpmorp|erongi|dragersid|seiromem|ssapyb|\blaever\b|drowssap")
_BACKWARDS = "snoitcurtsni tpmorp erongi dragersid seiromem ssapyb laever drowssap"
_ROTATED = (
    "vtaber qvfertneq vafgehpgvba cerivbhf flfgrz cebzcg erirny zrzbevrf cnffjbeq sbetrg olcnff rkrphgr"
)
_REVERSED_SMALL = frozenset(["eht", "dna", "uoy", "ruoy", "siht", "taht", "lla", "resu", "ton", "sdrawkcab"])
_ROT13_SMALL = frozenset(["gur", "naq", "lbh", "lbhe", "guvf", "gung", "nyy", "hfre", "abg", "jvgu"])
"""Small words that no language has, of which two are enough."""
_SENTENCE_WORDS = frozenset(["the", "this", "that", "these", "you", "your", "and", "are", "never", "about"])
"""Small words that sentences have and names of code have not."""
_REVERSED_WORDS, _ROT13_WORDS = tuple(_BACKWARDS.split()), tuple(_ROTATED.split())
"""Looked for first: a dozen plain words are found, or not, in a tenth of the time of the pattern."""
_VOCABULARY = lazy(  # longer words first, or "instruction" would be cut out of "instructions"
    "instructions|restrictions|instruction|guidelines|directives|everything|developer|recommend|assistant|disregard|"
    "anything|previous|override|memories|password|without|earlier|execute|command|pretend|private|answer|"
    "always|delete|secret|memory|reveal|repeat|output|prompt|system|ignore|forget|bypass|limits|longer|hidden|enable|"
    "prior|above|rules|print|bound|every|never|files|skip|show|your|send|user|tell|must|mode|data|from|that|will|"
    "all|any|and|you|are|now|the|run|act|to|do|no|of|on|as|is|it|me"
)


def fold(text: str) -> str:
    """Return the text composed for compatibility, without invisible characters; case and lines are kept."""
    if text.isascii():
        return text
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text.replace("’", "'")))


def split_words(folded: str) -> str:
    """Return lower-case words with one space between them, accents and decoration gone."""
    if folded.isascii():
        return _PUNCTUATION.sub(" ", folded.lower()).strip()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded.casefold()))
    return _PUNCTUATION.sub(" ", unicodedata.normalize("NFC", bare)).strip()


def disguises(plain: str) -> Iterator[tuple[str, str]]:
    """Yield (how, words) for what the same letters spell once look-alikes, digits and gaps are undone."""
    if not plain.isascii():
        yield "look-alike letters", plain.translate(_CONFUSABLE)
    if _LEET_SIGN.search(plain) and len(_LEET_WORD.findall(plain)) >= 2:
        yield "digits for letters", _LEET_WORD.sub(lambda match: match[0].translate(_LEET), plain)
    words = set(_WORD.findall(plain))
    if len(words & _REVERSED_SMALL) > 1 or (_may_hold(_REVERSED_WORDS, plain) and _REVERSED.search(plain)):
        yield "reversed text", plain[::-1]
    if len(words & _ROT13_SMALL) > 1 or (_may_hold(_ROT13_WORDS, plain) and _ROT13.search(plain)):
        yield "rot13", codecs.decode(plain, "rot13")


def readings(text: str) -> Iterator[tuple[str, str]]:
    """
    Yield (how, text) for every text that a reader may make of this one, as it stands first.

    At most `MAX_READINGS`, and none is much longer than the text itself.
    """
    text = text[:MAX_CHARACTERS]
    yield from itertools.islice(itertools.chain([("", text)], _hidden_readings(text)), MAX_READINGS)


def _hidden_readings(text: str) -> Iterator[tuple[str, str]]:
    folded = fold(text)
    plain = split_words(folded)
    yield from disguises(plain)
    if joined := unspaced(folded):
        yield "spaced letters", joined
    if (parted := unjoined(folded)) and _says_something(parted, plain):
        yield JOINED, parted
    yield from decoded(text)
    if any(opening in text for opening, _ in _COMMENTS) or "<" in text:
        yield from (("hidden markup", inner) for inner in hidden_markup(text))


def _may_hold(wanted: tuple[str, ...], plain: str) -> bool:
    """Tell whether lower-case words may hold one; beyond ASCII a letter has more forms than these."""
    return not plain.isascii() or any(map(plain.__contains__, wanted))


def unspaced(folded: str) -> str | None:
    """Return the text with s p a c e d letters joined into words, or None where there are none."""
    if not _SPACED.search(folded):
        return None
    return split_words(_SPACED.sub(_join_letters, folded))


def _join_letters(match: re.Match[str]) -> str:
    run = match[0]
    dashed = re.search(r"[-._*/|]", run) is not None
    pieces = re.split(r"[ \t]+" if dashed else r"[ \t]{2,}", run)
    letters = [re.sub(r"[\W_]", "", piece) for piece in pieces]
    spelt = " ".join(letters)
    # Without wider gaps the words are lost; known ones are cut out of the run of letters.
    return spelt if len(letters) > 1 else _VOCABULARY.sub(r" \g<0> ", spelt.casefold())


def unjoined(folded: str) -> str | None:
    """
    Return the words of a text with those.joined.by.dots, by-dashes or ByCapitals apart, or None without any.

    Fewer than four are a name: `console.log`, `systemPrompt`, `com.example.app`.
    """
    parted = folded
    if folded.count(".") >= 3:
        parted = _DOTTED.sub(lambda match: match[0].replace(".", " "), parted)
    if folded.count("-") >= 3:
        parted = _DASHED.sub(lambda match: match[0].replace("-", " "), parted)
    if not folded.islower():
        parted = _CAMEL.sub(lambda match: _HUMP.sub(" ", match[0]), parted)
    return None if parted == folded else split_words(parted)


def _says_something(parted: str, plain: str) -> bool:
    """Tell whether what was joined is a sentence; a judge would take many a name of code for an order."""
    brought = set(_WORD.findall(parted)).difference(plain.split())
    return len(brought & _SENTENCE_WORDS) >= 2 or any(phrases(parted))


def decoded(text: str, *, depth: int = MAX_DEPTH) -> Iterator[tuple[str, str]]:
    """Yield (how, text) for pieces in an encoding that models read: base64, character codes, tags, …"""
    for how, piece in itertools.islice(_decode_once(_IMAGE.sub(" ", text)), MAX_PIECES):
        yield how, piece
        if depth > 1:
            yield from decoded(piece, depth=depth - 1)


def _decode_once(text: str) -> Iterator[tuple[str, str]]:
    if not text.isascii():
        yield from _decode_invisible(text)
    if "&#" in text or "&lt;" in text:
        yield "entities", html.unescape(text)
    if "\\u" in text or "\\x" in text:
        yield "escapes", _ESCAPES.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    if _PERCENT.search(text):
        yield "percent encoding", urllib.parse.unquote(text, errors="replace")
    for match in _HEX.finditer(text):
        if piece := _readable(_from_hex(match[0])):
            yield "hexadecimal", piece
    if _CODE.search(text):
        yield from _decode_codes(text)
    for match in _BASE64.finditer(text):
        if piece := _readable(_from_base64(match[0])):
            yield "base64", piece


def _decode_invisible(text: str) -> Iterator[tuple[str, str]]:
    for match in _TAGS.finditer(text):
        yield "tag characters", "".join(chr(ord(character) - 0xE0000) for character in match[0])
    if piece := _readable(_from_selectors("".join(_SELECTORS.findall(text)))):
        yield "variation selectors", piece


def _decode_codes(text: str) -> Iterator[tuple[str, str]]:
    for match in _BINARY.finditer(text):
        if piece := _spelt(_from_binary(match[0])):
            yield "binary codes", piece
    for match in _DECIMAL.finditer(text):
        if piece := _spelt([int(code) for code in _CODE.findall(match[0])]):
            yield "decimal codes", piece


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(re.sub(r"0x|[ :,]", "", text.lower()))
    except ValueError:
        return b""


def _from_base64(text: str) -> bytes:
    standard = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4))
    except binascii.Error:
        return b""


def _from_selectors(selectors: str) -> bytes:
    codes = map(ord, selectors)
    return bytes(code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16 for code in codes)


def _from_binary(text: str) -> list[int]:
    """Return the codes of groups of seven digits and of eights; other numbers beside them are passed over."""
    codes: list[int] = []
    for group in _CODE.findall(text):
        size = 7 if len(group) == 7 else 8
        if len(group) % size == 0:
            codes += [int(group[start : start + size], 2) for start in range(0, len(group), size)]
    return codes


def _spelt(codes: list[int]) -> str | None:
    """Return what character codes spell where they are words; a list of ages or prices spells none."""
    if not codes or max(codes) > LAST_SPELT:
        return None
    text = "".join(map(chr, codes))
    wordlike = sum(character.isalpha() or character == " " for character in text)
    return text if " " in text and wordlike >= 0.8 * len(text) else None


def _readable(raw: bytes) -> str | None:
    """Return the bytes as text where they are text; hashes and pictures are not."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    printable = sum(character.isprintable() or character.isspace() for character in text)
    return text if len(text) >= 6 and printable >= 0.9 * len(text) else None


# Find the tricks themselves: characters and markup that keep words from a reader's eye.
#
# Invisible characters are normal between emoji, Persian or Devanagari letters, so only those inside Latin
# words count; a comment in HTML counts when it talks to a model. A trick is rarely proof: its weight adds
# to that of what was found behind it.

_TAGS_TRICKS = lazy("(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0020-\U000e007e]{2,}")
_SELECTOR_TRICKS = lazy("[\U000e0100-\U000e01ef]{4,}")
_OVERRIDES = lazy("[\u202d\u202e]")
_INSIDE_WORDS = lazy("(?<=[A-Za-z])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+(?=[A-Za-z ])")
_MIXED_WORD = lazy(
    "(?=[A-Za-z]{0,39}[\u0370-\u03ff\u0400-\u052f])(?=[\u0370-\u03ff\u0400-\u052f]{0,39}[A-Za-z])"
    "[A-Za-z\u0370-\u03ff\u0400-\u052f]{3,40}"
)
_STYLED = lazy("[\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001d400-\U0001d7ff]")

_COMMENTS = (("<!--", "-->"), ("[//]: # (", ")"), ("/*", "*/"))
_HIDDEN_ELEMENT = lazy(
    r"<[a-z]{1,12}\b[^<>]{0,300}?(?:display\s?:\s?none|visibility\s?:\s?hidden|"
    r"font-size\s?:\s?[01](?:px|pt|em)?\b|opacity\s?:\s?0(?![.\d]*[1-9])|"
    r"color\s?:\s?(?:#fff(?:fff)?|white)\b|(?:left|top|text-indent)\s?:\s?-\d{3,5}|\shidden\b|"
    r"aria-hidden=\"true\")[^<>]{0,300}>(?P<inner>[^<]{1,2000})",
    re.IGNORECASE,
)
_ATTRIBUTE = lazy(
    r"<(?:img|meta|input|a)\b[^<>]{0,300}?\b(?:alt|content|title|value)"
    r"\s?=\s?[\"'](?P<inner>[^\"'<>]{5,500})[\"']",
    re.IGNORECASE,
)
_TALKS_TO_A_MODEL = lazy(
    r"\b(?:ai|a\.i\.|llms?|gpt|chatgpt|claude|gemini|copilot|assistants?|agents?|chatbots?|"
    r"bots?|language models?|models?|prompt|instructions?|"
    r"ignore|disregard|summari[sz]er)\b",
    re.IGNORECASE,
)


def tricks(text: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for every way in which this text hides something."""
    if not text.isascii():
        yield from _hidden_characters(text)
    if "<" in text or "[//]" in text or "/*" in text:
        for inner in hidden_markup(text):
            if _TALKS_TO_A_MODEL.search(inner):
                yield "hidden markup speaks to a model", 0.6
                return


def _hidden_characters(text: str) -> Iterator[tuple[str, float]]:
    if _TAGS_TRICKS.search(text):
        yield "tag characters", 0.9
    if _SELECTOR_TRICKS.search(text):
        yield "variation selectors", 0.9
    if _OVERRIDES.search(text):
        yield "text direction override", 0.5
    if inside := len(_INSIDE_WORDS.findall(text)):
        yield "invisible characters inside words", 0.5 if inside >= 3 else 0.2
    if mixed := len(_MIXED_WORD.findall(text)):
        yield "words of mixed alphabets", 0.4 if mixed >= 3 else 0.15
    if len(_STYLED.findall(text)) >= 12:
        yield "styled letters", 0.2


def hidden_markup(text: str) -> Iterator[str]:
    """Yield what stands in comments, in elements that are not shown and in attributes."""
    for opening, closing in _COMMENTS:
        yield from _between(text, opening, closing)
    for pattern in (_HIDDEN_ELEMENT, _ATTRIBUTE):
        for match in pattern.finditer(text):
            yield match["inner"]


def _between(text: str, opening: str, closing: str) -> Iterator[str]:
    """Yield what stands between two marks; searched for, as a pattern would be slow on many openings."""
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start + len(opening) : end]
        start = text.find(opening, end)


# Score how much a text tries to instruct a model instead of telling it something.
#
# Signals combine by noisy-or, `1 - (1 - a)(1 - b)…`: one strong sign or several weak ones reach a line, and
# no harmless sentence beside them lowers the score. The lines are policy:
# docs/lab/0007-pii-and-injection.md.

Signals = dict[str, float]

_DISGUISE = 0.5
"""Weight of having hidden a payload at all; people do not write requests in base64."""
_HEARD = 0.3
"""A disguised view counts as hiding something when what it says scores at least this."""
_REPORTED = 0.35
"""What is left of a payload's weight where someone reports that a scanner looks for it."""

_REPORT = lazy(
    r"(?i)\b(?:look(?:s|ed|ing)? for|search(?:es|ed|ing)? for|detect(?:s|ed|ing)?|match(?:es|"
    r"ed|ing)?|scan(?:s|ned|ning)? for|block(?:s|ed|ing)?|"
    r"flag(?:s|ged|ging)?|catch(?:es|ing)?|caught|filter(?:s|ed|ing)?(?: out)?|phrases?|payloads?)"
    r"\W{1,3}(?:[\w-]{1,15} ){0,3}[\"'“‘`«](?P<quoted>[^\"'”’`»\n]{5,80})[\"'”’`»]"
)


_QUOTES = ('"', "'", "“", "‘", "`", "«")
"""One of these opens what `_REPORT` looks for."""


class InjectionScan(Struct, frozen=True):
    """How suspicious a text is, from 0 to 1, and why; reasons never quote the text."""

    score: float
    reasons: tuple[str, ...]


def scan(text: str) -> InjectionScan:
    """Return the score of a text and its reasons, weightiest first."""
    text = text[:MAX_CHARACTERS]
    has_quotes = any(map(text.__contains__, _QUOTES))
    quoted = [match["quoted"] for match in _REPORT.finditer(text)] if has_quotes else []
    rest = _REPORT.sub(" ", text) if quoted else text

    signals = _read(rest)
    for mention in quoted:
        weights = _read(mention)
        _add(signals, [("reported payload", _REPORTED * combine(weights))] if weights else [])
    ordered = sorted(signals, key=lambda reason: (-signals[reason], reason))
    return InjectionScan(score=combine(signals), reasons=tuple(ordered))


def combine(signals: Signals) -> float:
    """Return the noisy-or of all weights."""
    return round(1.0 - math.prod(1.0 - weight for weight in signals.values()), 4)


def _read(text: str) -> Signals:
    """Return every signal of a text, as it stands, undisguised and decoded."""
    signals: Signals = dict(tricks(text))
    folded = fold(text)
    _add(signals, marks(folded))
    plain = split_words(folded)
    _add(signals, phrases(plain))
    for how, view in _hidden_views(text, folded, plain):
        said: Signals = {}
        _add(said, view)
        if combine(said) >= _HEARD and not said.keys() <= signals.keys():
            disguise = [] if how == JOINED else [(f"hidden by {how}", _DISGUISE)]
            _add(signals, [*said.items(), *disguise])
    return signals


def _hidden_views(text: str, folded: str, plain: str) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    for how, words in disguises(plain):
        yield how, list(phrases(words))
    if joined := unspaced(folded):
        yield "spaced letters", list(phrases(joined))
    if parted := unjoined(folded):
        yield JOINED, list(phrases(parted))
    for how, piece in decoded(text):
        inner = fold(piece)
        yield how, [*marks(inner), *phrases(split_words(inner))]


def _add(signals: Signals, found: Iterator[tuple[str, float]] | list[tuple[str, float]]) -> None:
    """Keep the greatest weight of each reason: saying the same thing twice is no new evidence."""
    for reason, weight in found:
        signals[reason] = max(weight, signals.get(reason, 0.0))
