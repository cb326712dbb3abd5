"""
Undo what hides words: the same text as an attacker hopes a model will read it.

A view is plain lower-case words; how it was hidden is its name. Work is bounded: views are cut at a length,
decoded pieces at a number and a depth, as anyone may send this. Confusable letters are folded only in a view
of their own: Russian must stay Russian for its patterns.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import itertools
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator

from engramdb.text.normalize import lazy

MAX_CHARACTERS = 20_000
"""How much of a text is read; a memory has at most 8 KB, so only the import of whole documents comes near."""
MAX_PIECES = 8
"""Encoded pieces that are decoded in one text."""
MAX_DEPTH = 2
LAST_SPELT = 0x52F
"""The last letter of the alphabets that character codes are read in: Latin, Greek and Cyrillic."""
JOINED = "joined words"
"""The one way to hide words that is no sign of bad faith: names are written so, too."""
_WORD = lazy(r"\w+")
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
