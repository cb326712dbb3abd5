"""Estimate how many tokens a text costs in several tokenizers, from the pieces that it is made of."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Final, TypeAlias

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import rows
from engramdb.text.normalize import lazy

# The letters and small words by which the pieces of a text are told apart.
#
# The languages are those that vocabularies treat alike, not those that people would group: what matters is
# how often a word is cut.

_SMALL_ENGLISH = """
the and you with this that are your they from not of it my we was have is what which his her their
been would should there when who how did does our can has i to if else for return self def import
class const function true false none null value string use used file be or by an
"""
ENGLISH_WORDS: Final = frozenset(_SMALL_ENGLISH.split())
"""Small words, and those of programs: what comes after them is English until another language speaks."""

_SMALL_NEAR = """
der das und ist nicht ein eine ich mit auf von zu sich auch dem wir sie im wird werden oder als kann
bei nach le la les des et est une dans que qui pas sur avec je vous nous du au ou ne il en un ce
cette par el los las por para con es se del lo su como una pero mi al puede di che non sono della
gli nel si da ha ma dei os uma com dos em um ao mais foi het een niet voor dat zijn op ik maar te
wordt naar bij mijn hij geen och att som ett det inte av till eller og er ikke jeg af den hvis skal
yang dan untuk dengan ini tidak dari pada dalam saya atau jika bagi els amb unha
"""
NEAR_WORDS: Final = frozenset(_SMALL_NEAR.split())
"""Small words of languages that vocabularies know nearly as well as English."""

_SMALL_FAR = """
nie jest w z ze v k ve bir bu ile veya olarak ja ei tai ole voi jos kui az egy nem hogy vagy nu cu
pe sau este din pentru dla czy albo nebo bude ako alebo ali za ki na ili koji koje od kao nije ang
ng mga ay ya wa kwa ni eta edo ez yn y yr mae ar agus seo gan gus ir yra kai jei vai tiek uz kas nuk
nga duhet eo ket ur ukuba ngaba bya kia kei uchun ushbu va ekki sem til fyrir ny tsy estas kaj ji
"""
FAR_WORDS: Final = frozenset(_SMALL_FAR.split())
"""Small words of languages whose words are cut into many pieces."""

FAR_LETTERS = lazy(r"[\u0100-\u024f]|ää|öö|yy|uu|ii|kk|sz|cz")
"""What is written in such languages and hardly in others."""

COMMON_HAN: Final = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
    "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长"
    "把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身果"
    "加西月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别"
    "打女变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指统区保至形社便空决治展科司五基书非则"
)
"""The characters that are written most: vocabularies hold many pairs of them."""

TRADITIONAL_HAN: Final = frozenset(
    "們個這來時說會過對開關點還經電腦東車見長門問間麼樣學國應當後從發現實與為無將兩業產進動體報數處變結給務讓請誰錢買賣"
    "聽讀寫書語話課題難雖歡愛認識記憶師員號碼機場飛鐵銀錯誤單雙頭風飯館醫藥類級統計劃選項檔設備網絡徑顯輸執編輯構環創"
    "測試視圖標簽種義輕運連邊達遠適離權區響須頁預領願養馬驗麗齊龍總線練組終絕繼續維緊據擊擔換損廣彈彎態懷擁擇陽陰際"
)
"""Characters that are written so in Taiwan and Hong Kong only: vocabularies know them less well."""

_LATIN = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u036f\u1e00-\u1eff"
_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"
_LETTERS = (
    "\u0370-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2c00-\u2dff\u3100-\u312f\ua000-\uabff\ufb00-\ufdff\ufe70-\ufeff"
    "\U00010000-\U0001cfff\U0001e000-\U0001efff\U000e0000-\U0010ffff"
)
PIECE = lazy(
    rf"(?P<word> ?[{_LATIN}]+)|(?P<blank>[^\S\r\n]+)|(?P<mark>[!-/:-@\[-`{{-~]+)|(?P<digits>\d+)"
    rf"|(?P<line>[\r\n]+)|(?P<han>[{_HAN}]+)|(?P<kana>[{_KANA}]+)|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<letters>[{_LETTERS}]+)|(?P<sign>(?s:.))"
)
PUNCTUATION = lazy(r"[\u2000-\u206f\u3000-\u303f\uff00-\uffef]")
NOT_RUSSIAN = lazy(r"[^\u0410-\u0449\u044b-\u044f\u0401\u0451]")
RUSSIAN = lazy(r"[ыэёЫЭЁ]|^(?:что|как|мы|вы|при|или|для|чтобы|было|если|когда|только|уже|ещё)$")
SCRIPTS: Final = (
    (0x370, "greek"), (0x400, "cyrillic"), (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"),
    (0x700, "rare"), (0x900, "devanagari"), (0x980, "bengali"), (0xA00, "gurmukhi"), (0xA80, "gujarati"),
    (0xB00, "rare"), (0xB80, "tamil"), (0xC00, "telugu"), (0xC80, "kannada"), (0xD00, "malayalam"),
    (0xD80, "sinhala"), (0xE00, "thai"), (0xE80, "rare"), (0x1000, "burmese"), (0x10A0, "georgian"),
    (0x1100, "rare"), (0x1780, "khmer"), (0x1800, "rare"), (0x1F00, "greek"), (0x2C00, "rare"),
    (0xFB1D, "hebrew"), (0xFB50, "arabic"), (0xFEFF, "rare"),
)  # fmt: skip
"""Where each script begins; the rare ones are counted by their bytes."""
SCRIPT_STARTS: Final = tuple(start for start, _ in SCRIPTS)


# Cut a text into the pieces that tokenizers make tokens of, and count the pieces by kind.
#
# Words are counted by the language that the small words before them speak, other scripts by their letters.
# A piece is counted by itself and by what stands before it, never by what follows: so a text that is
# continued keeps all its counts, and an estimate made of them can only grow.

Piece: TypeAlias = tuple[str, str, str]
"""The group of the pattern that a piece is of, the piece, and what its kinds depend on."""

SILENT_WORDS: Final = 8
"""So many running words without a small word of English are not English."""

OVER: Final = (3, 5, 8, 12)
"""Letters from which on each further one of a word costs more."""

WIDE: Final = 8
"""Blanks that one token may hold."""

LONGEST_WORD: Final = 40
"""Letters of a word that are read for its language; those that are remembered must not fill the memory."""

FEW_HUMPS: Final = 2
"""Capitals after small letters in a name that a person gave; encoded bytes have more."""

TONGUES: Final = ("english", "near", "far")
"""English, the languages that vocabularies know nearly as well, and those that are cut into many pieces."""

_PLAIN: Final = frozenset(
    (
        *("apostrophe", "blank before digits", "capital", "contraction", "digit", "gap", "hump", "indent"),
        *("line", "line after mark", "mark", "mark after blank", "mark again", "more humps", "more lines"),
        *("more marks", "tab", "three digits", "upper", "wide blank"),
    )
)
_SCRIPT_NAMES: Final = {name for _, name in SCRIPTS if name != "rare"} | {
    *("hangul", "kana", "other cyrillic", "russian"),
}
KINDS: Final = frozenset(
    (
        *_PLAIN,
        *TONGUES,
        *(f"{tongue} glued" for tongue in TONGUES),
        *(f"{tongue} over {over}" for tongue in TONGUES for over in OVER),
        *("accent", "far accent", "two accents"),
        *("common han", "traditional han", "other han"),
        *_SCRIPT_NAMES,
        *(f"more {name}" for name in _SCRIPT_NAMES),
        *("emoji", "punctuation", "rare byte", "sign", "sign again", "small sign"),
    )
)
"""All that a piece can count as."""

_GLUE: Final = ("mark", "digits")
_TAILS: Final = frozenset(("s", "t", "re", "ve", "m", "ll", "d"))
_APOSTROPHES: Final = ("'", "’")
_OVER_KINDS: Final = {tongue: tuple((over, f"{tongue} over {over}") for over in OVER) for tongue in TONGUES}
_GLUED_KINDS: Final = {tongue: f"{tongue} glued" for tongue in TONGUES}
_INDENTED: Final = {tongue: f"{tongue} indented" for tongue in TONGUES}


def cut(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text in order, each with what its kinds depend on."""
    heard = _Heard()
    before = previous = last = ""
    for match in PIECE.finditer(text):
        group, piece = match.lastgroup or "sign", match.group()
        setting = previous
        if group == "word":
            is_tail = last in _APOSTROPHES and before == "word" and piece in _TAILS
            setting = "contraction" if is_tail else heard.word(piece, previous)
        elif group == "letters":
            setting = heard.letters(piece)
        elif piece == last:
            setting = "again"
        yield group, piece, setting
        before, previous, last = previous, group, piece


def composition(text: str) -> dict[str, int]:
    """Return how many of each kind of piece a text is made of; kinds are named as in data/token_costs.tsv."""
    counts: dict[str, int] = {}
    for piece in cut(text):
        for kind, count in kinds(piece):
            counts[kind] = counts.get(kind, 0) + count
    return counts


def kinds(piece: Piece) -> Iterator[tuple[str, int]]:
    """Yield what one piece counts as."""
    group, text, setting = piece
    return _COUNTED[group](text, setting)


def margin_class(kind: str) -> str:
    """Return which margin a kind of piece has: of plain text, near or far languages, or other scripts."""
    first = kind.partition(" ")[0]
    if first in ("near", "accent"):
        return "near"
    if first == "far" or kind == "two accents":
        return "far"
    return "plain" if first == "english" or kind in _PLAIN else "script"


class _Heard:
    """Which languages spoke last."""

    __slots__ = ("_cyrillic", "_silence", "_tongue")

    def __init__(self) -> None:
        self._tongue, self._cyrillic = "english", "cyrillic"
        self._silence = 0

    def word(self, word: str, previous: str) -> str:
        """Return the language of the words before this one, whose own evidence is for the next."""
        tongue, evidence = self._tongue, _evidence(word[:LONGEST_WORD])
        if evidence == "accent":
            self._tongue = "near" if tongue == "english" else tongue
        elif evidence:
            self._tongue, self._silence = evidence, 0
        elif previous == "word" and tongue == "english":
            self._silence += 1
            self._tongue = "far" if self._silence >= SILENT_WORDS else tongue
        if word[0] == " ":
            return _INDENTED[tongue] if previous == "line" else tongue
        return _GLUED_KINDS[tongue] if previous in _GLUE else tongue

    def letters(self, letters: str) -> str:
        """Return the script; Russian costs a third less than the other languages of its letters."""
        script = SCRIPTS[bisect_right(SCRIPT_STARTS, ord(letters[0])) - 1][1]
        if script != "cyrillic":
            return script
        script = self._cyrillic
        if NOT_RUSSIAN.search(letters):
            self._cyrillic = "other cyrillic"
        elif RUSSIAN.search(letters):
            self._cyrillic = "russian"
        return script


@cached(4096)
def _evidence(word: str) -> str:
    """Return the language that a word speaks for, if any."""
    lower = word.strip().lower()
    if lower in ENGLISH_WORDS:
        return "english"
    if lower in NEAR_WORDS:
        return "near"
    if lower in FAR_WORDS or FAR_LETTERS.search(lower):
        return "far"
    return "" if lower.isascii() else "accent"


def _word(word: str, setting: str) -> Iterator[tuple[str, int]]:
    if setting == "contraction":
        yield setting, 1
        return
    tongue, _, place = setting.partition(" ")
    if place == "indented":
        yield "indent", 1
    yield setting if place == "glued" else tongue, 1
    word = word.lstrip()
    for over, kind in _OVER_KINDS[tongue]:
        if len(word) > over:
            yield kind, len(word) - over
    if not (word.islower() and word.isascii()):
        yield from _shape(word)


def _shape(word: str) -> Iterator[tuple[str, int]]:
    """Yield what is unusual about the letters of a word."""
    after = [before.isupper() for before, letter in pairwise(word) if letter.isupper()]
    humps = len(after) - sum(after)
    counted = {
        "accent": sum("\x7f" < letter <= "\xff" for letter in word),
        "far accent": sum("\xff" < letter < "\u1e00" for letter in word),
        "two accents": sum(letter >= "\u1e00" for letter in word),
        "capital": int(word[0].isupper()),
        "upper": sum(after),
        "hump": humps,
        "more humps": max(0, humps - FEW_HUMPS),
    }
    yield from ((kind, count) for kind, count in counted.items() if count)


def _blank(blank: str, setting: str) -> Iterator[tuple[str, int]]:
    if setting == "line":
        yield "indent", 1
    elif len(blank) > 1:
        yield "gap", 1
    if len(blank) > WIDE:
        yield "wide blank", 1
    if "\t" in blank:
        yield "tab", blank.count("\t")


def _line(line: str, setting: str) -> Iterator[tuple[str, int]]:
    yield "line after mark" if setting == "mark" else "line", 1
    if len(line) > 1:
        yield "more lines", len(line) - 1


def _mark(marks: str, setting: str) -> Iterator[tuple[str, int]]:
    if marks[0] == "'" and setting == "word":
        yield "apostrophe", 1
    else:
        yield "mark after blank" if setting in ("blank", "line") else "mark", 1
    if len(marks) > 1:
        again = sum(map(str.__eq__, marks, marks[1:]))
        yield "mark again", again
        yield "more marks", len(marks) - 1 - again


def _digits(digits: str, setting: str) -> Iterator[tuple[str, int]]:
    yield "digit", len(digits)
    yield "three digits", (len(digits) + 2) // 3
    if setting == "blank":
        yield "blank before digits", 1


def _sign(sign: str, setting: str) -> Iterator[tuple[str, int]]:
    size = len(sign.encode("utf-8", "replace"))
    if size == 1:
        yield "mark", 1
    elif setting == "again":  # of pieces only single signs can be: the pattern takes all else in runs
        yield "sign again", 1
    elif sign == "’" and setting == "word":
        yield "apostrophe", 1
    elif PUNCTUATION.match(sign):
        yield "punctuation", 1
    else:
        yield "small sign" if size < 3 else "sign" if size == 3 else "emoji", 1


def _han(letters: str, _setting: str) -> Iterator[tuple[str, int]]:
    common = sum(map(COMMON_HAN.__contains__, letters))
    traditional = sum(map(TRADITIONAL_HAN.__contains__, letters))
    yield "common han", common
    yield "traditional han", traditional
    yield "other han", len(letters) - common - traditional


def _letters(letters: str, setting: str) -> Iterator[tuple[str, int]]:
    if setting == "rare":
        yield "rare byte", len(letters.encode("utf-8", "replace"))
    else:
        yield setting, 1
        yield f"more {setting}", len(letters) - 1


def _kana(letters: str, _setting: str) -> Iterator[tuple[str, int]]:
    return _letters(letters, "kana")


def _hangul(letters: str, _setting: str) -> Iterator[tuple[str, int]]:
    return _letters(letters, "hangul")


_COUNTED: Final = {
    "word": _word,
    "blank": _blank,
    "line": _line,
    "mark": _mark,
    "digits": _digits,
    "sign": _sign,
    "han": _han,
    "kana": _kana,
    "hangul": _hangul,
    "letters": _letters,
}
"""How each group of the pattern is counted."""


_MARGIN = "margin "
(_, *_named), *_rows = rows("token_costs")
TOKENIZERS: Final = tuple(_named)
COSTS: Final = {kind: tuple(map(float, costs)) for kind, *costs in _rows if not kind.startswith(_MARGIN)}
"""What each kind of piece costs, in the order of the tokenizers."""
MARGINS: Final = {
    kind.removeprefix(_MARGIN): tuple(map(float, costs)) for kind, *costs in _rows if kind.startswith(_MARGIN)
}
"""By class of piece, how far above the estimate a passage may go."""

# Estimate how many tokens a text costs, for each of several tokenizers.
#
# Knows no vocabulary and loads nothing: each kind of piece costs what it cost on average,
# so a longer text never costs less than its beginning. How far off that is, by kind of text and by
# tokenizer: docs/lab/0019-tokens.md.

USUAL: Final = "o200k"
"""Whose tokens are meant where no tokenizer is named; levels of detail are counted in these."""

LONGEST_KEPT: Final = 40
"""Characters of a piece whose cost is remembered; longer ones are rarely seen twice, and fill the memory."""

MOST_COUNTED: Final = 16_384
"""Texts whose count is remembered, at 140 bytes each; all of them go when there are more."""


@cached(64)  # one write counts the same few texts again and again
def count_tokens(text: str, tokenizer: str = USUAL) -> int:
    """Return about how many tokens a text costs; 0 for nothing, at least 1 for something."""
    return min(_bytes(text), max(1, round(sum([_price(piece, tokenizer)[0] for piece in cut(text)]))))


def most_tokens(text: str, tokenizer: str = USUAL) -> int:
    """
    Return a number of tokens that a text hardly ever exceeds, for a budget that must hold.

    Made for texts of 50 tokens and more: of 2,216 held out, one was above it; of messages in 43 languages one
    in 165, in rarer ones one in 16. Each class of piece has a margin of its own. Bytes are the limit: a
    vocabulary has each of them, and some add one token in front.
    """
    if not text:
        return 0
    mark = (tokenizer, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    known = _counted.get(mark)
    if known is None:
        priced = sum([_price(piece, tokenizer)[1] for piece in cut(text)])
        known = 1 + min(_bytes(text), math.ceil(priced))
        if len(_counted) >= MOST_COUNTED:
            _counted.clear()
        _counted[mark] = known
    return known


_counted: dict[tuple[str, bytes], int] = {}
"""Counts by tokenizer and mark of the text: a window shows much of what the last one showed. No words."""


def forget_counts() -> None:
    """Forget every remembered count, as before a measurement."""
    _counted.clear()


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _price(piece: Piece, tokenizer: str) -> tuple[float, float]:
    """Return what a piece costs, and the most that it may."""
    return (_kept_price if len(piece[1]) <= LONGEST_KEPT else _reckon)(piece, tokenizer)


def _reckon(piece: Piece, tokenizer: str) -> tuple[float, float]:
    usual, most = _costs(tokenizer), _most_costs(tokenizer)
    counted = list(kinds(piece))
    return sum([usual[kind] * n for kind, n in counted]), sum([most[kind] * n for kind, n in counted])


_kept_price = cached(8192)(_reckon)
"""By piece and not by text: most words of a text were counted before."""


@cache
def _costs(tokenizer: str) -> Mapping[str, float]:
    column = TOKENIZERS.index(tokenizer)
    return {kind: row[column] for kind, row in COSTS.items()}


@cache
def _most_costs(tokenizer: str) -> Mapping[str, float]:
    column = TOKENIZERS.index(tokenizer)
    most = {kind: row[column] * MARGINS[margin_class(kind)][column] for kind, row in COSTS.items()}
    return most | {"rare byte": 1.0}
