"""
Read the signs of a voice: what speaks for the writer's own words in a stretch of a message, what for others'.

A sign has a name and a strength; what each weighs is in data/voice_weights.toml. A letter's greeting, printed
words and a page's trimmings speak for a foreign voice; questions, words of a chat and small letters for the
writer's own. What a line announces, and what it says about the lines above, counts where the voice changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from engramdb.text.lexicons import LANGUAGES, any_pattern, voice_cues, word_set
from engramdb.text.normalize import lazy
from engramdb.text.quotations import OPENING_MARKS, paired

MAX_READ_CHARACTERS = 1500
"""So much of a stretch is read from its beginning and its end: the voice shows there."""
MAX_LINE_CHARACTERS = 300
"""A line that announces what follows, or points back, is read so far."""
MAX_ANNOUNCING_WORDS = 40
"""A longer line tells a story of its own."""
MAX_SPEECH_WORDS = 14
"""A sentence that announces speech in the same line is no longer."""
MAX_TITLE_WORDS = 10
MIN_WIDTH = 50
"""Shorter lines are no wrapped text."""

Signs: TypeAlias = Mapping[str, float]

# Patterns made of cues are matched against small letters: four times as fast as ignoring case.


def _whole(name: str) -> re.Pattern[str]:
    return lazy(rf"(?<![\w'’-])(?:{voice_cues(name)})(?![\w'’-])")


def _first(name: str, *, gap: str = r"\W*") -> re.Pattern[str]:
    return lazy(rf"{gap}(?:{voice_cues(name)})(?![\w'’-])")


_SAYS = lazy(rf"(?<![\w'’-])(?<!\byou )(?<!\bi )(?:{voice_cues('says')})(?![\w'’-])")
_SHOWS, _DOCUMENTS, _PEOPLE = _whole("shows"), _whole("documents"), _whole("people")
_TRANSFORMS, _POINTERS, _THIS = _whole("transforms"), _whole("pointers"), _whole("this")
_CHATTY, _FORMAL, _PAGE = _whole("chatty"), _whole("formal"), _whole("page")
_MINE, _TELLS, _MESSAGES = _whole("mine"), _whole("tells"), _whole("messages")
_ASSISTANTS, _ATTRIBUTED = _whole("assistants"), _whole("attributed")
_SPEAKER, _SPEAKERS, _OTHERS, _READERS = map(_whole, ("speaker", "speakers", "others", "readers"))
_POINTS_BACK, _CLAIMS = _first("points_back", gap=r"\W{0,3}"), _first("claims")
_TURNS, _FOR = _first("turns"), lazy(r"\W*(?:for|für|pour|para|voor)\b")
_HANDS_OVER = lazy(
    rf"(?<![\w'’-])(?:{voice_cues('hands_over')})(?: (?:me|us|back|{voice_cues('chatty')}|today|yesterday|"
    r"earlier|just now|this morning|last night|(?:in|on|to) [\w#-]+(?: \w+)?)){0,3}[^\w:]*\Z"
)
_PERSONAS = _whole("personas")
_PLAYS = lazy(
    rf"\W*+(?:[\w']+ ){{0,3}}?(?i:{voice_cues('plays')}) (?:[A-ZÀ-Þ][\w'’-]*[ ]?){{1,3}}(?=[.,:!(\n]|\Z)"
)
_PLAYED = lazy(r"[.!?…:]\s+")
_WHOSE = lazy(rf"\W+(?:[\w'’-]+ ){{0,4}}?(?:{voice_cues('whose')}|{voice_cues('messages')})(?!\w)")
_ANSWERS_IT = _whole("answers_it")
_ASKS, _INSTRUCTIONS = _first("asks"), _first("instructions")
_DOCUMENT_FIRST = _first("documents", gap=r"\W*(?:[\w.'’-]+ ){0,4}?")
_GENERATED = lazy(rf"\W*(?:{voice_cues('generated')})")
_OWN_LABEL = lazy(rf"\W*(?:{voice_cues('own_labels')}) ?:")
_REQUESTS = lazy(
    rf"\W*(?:{any_pattern([one.sentences.requests for one in LANGUAGES.values()])}|"
    rf"{voice_cues('transforms')})(?!\w)"
)
_POINTS_DOWN = lazy(rf"(?<!\w)(?:{voice_cues('points_down')})\W{{0,3}}\Z")
_WORKS_ON_IT = lazy(
    rf"(?<!\w)(?:{voice_cues('transforms')}|{voice_cues('rewrites')}) (?:{voice_cues('pointers')})(?!\w)"
)
_POINTS_AT_DOCUMENT = lazy(
    rf"(?<!\w)(?:{voice_cues('pointers')}|{voice_cues('others')}|the) (?:\w+ ){{0,2}}"
    rf"(?:{voice_cues('documents')})(?!\w)"
)
_THIS_DOCUMENT = lazy(
    rf"(?<!\w)(?:{voice_cues('this')}|(?!it|that|what|here|there|let|who|where|how|he|she)\w+['’]s) "
    rf"(?:\w+ ){{0,2}}(?:{voice_cues('documents')})(?!\w)"
)
_THEIR_WORDS = lazy(
    rf"(?<!\w)(?:{voice_cues('people')})['’]s? (?:\w+ ){{0,2}}(?:{voice_cues('documents')})(?!\w)|"
    rf"(?<!\w)(?:{voice_cues('documents')}) (?:from|by|of|von|de|van) (?:\w+ ){{0,3}}"
    rf"(?:{voice_cues('people')})(?!\w)"
)
_GREETING = lazy(
    rf"\s*(?:{voice_cues('greetings')})(?P<name>(?: (?:[^\s,!:.?]+|m(?:r?s?|x)\.|dr\.|prof\.)){{0,4}}) ?[,!:]"
)
_BARE_GREETING = lazy(rf"\s*(?:{voice_cues('greetings')})\b(?! (?:there|so|i|my))")
_CLOSING = lazy(
    rf"(?:\A|[\n.!?,])\s*(?:{voice_cues('closings')})\s*(?:[,.!]|\n|—|-)?\s*"
    r"(?:[^\W\d_][\w.'’-]*\s*){0,4}\W{0,4}\Z"
)
_SPEECH = lazy(
    rf"(?<!\w)(?<!\byou )(?<!\bi )(?:{voice_cues('says')})"
    r"(?: (?:me|us|to me|him|her|this|that|about [\w ]{2,30}|(?:to|in|on) [\w #-]{2,30}))? ?\W?:\Z|"
    rf"(?<!\w)(?:{voice_cues('says')})\b.{{1,20}}\b(?:{voice_cues('this')}) [^:]{{1,60}}:\Z|"
    r"\A\W*(?:(?:fwd|forwarded|quote|per|via|from(?! now| then| today| here| this)) (?:[\w'’.,-]+ ?){1,7}|"
    rf"(?:{voice_cues('assistants')})):\Z|"
    rf"\A\W*(?:[\w']+ ){{0,3}}?(?:{voice_cues('rewrites')})"
    rf"(?: (?:{voice_cues('pointers')}|{voice_cues('chatty')}|{voice_cues('messages')}|"
    r"for \w+|(?:in)?to \w+|back)){0,4} ?:\Z|"
    rf"(?<!\w)(?:{voice_cues('personas')})(?: [^\s:]+){{0,6}} ?:\Z"
)

# What shows without words.

_LABEL = lazy(r"^\W{0,4}([A-Z][\w-]{1,20}(?: [\w()/-]{1,15}){0,2}:) \S", re.MULTILINE)
_SIGNATURE = lazy(r"(?:[—–]|--)\s?[A-Z][\w.'’ -]{1,40}\Z|\. (?:(?:Mrs?|Ms|Dr)\. )?[A-Z][\w.]* ?[A-Z]?\w*\Z")
_BYLINE = lazy(r"\W*[Bb]y [A-Z]\w+ [A-Z]\w+\W*(?:\n|\Z|\|)")
_CLAUSE = lazy(r"\s*(?:§+ ?\d|\d+(?:\.\d+)+\.? [A-Z]|(?:Art(?:icle|\.)|Section|Clause|Chapter|Q) ?\w+[.:]?)")
_LITTLE_I = lazy(r"(?<![\w.])i(?:['’](?:m|ve|d|ll)|m|ve)?(?![\w.'’)])")
_CONTRACTION = lazy(r"\w(?:n['’]t|['’](?:m|ve|re|d|ll))(?!\w)")
_SENTENCE = lazy(r"(?:\A|[.!?…]['\"”’)]*\s+|\n)\W{0,3}([^\W\d_])")
_ENDED = lazy(r"[.!?…][\"'”’»)\]*_]{0,3}\s*\Z")
_BREAK = lazy(r"(?<!\bp)[.!?…]\s+(?=\W?[A-ZÀ-Þ])|[!?]\s+")
_ANY_BREAK = lazy(r"[.!?…]\s+")
_QUOTATION = lazy(rf"\"[^\"\n]{{1,600}}\"|{paired(600, in_line=True)}")
_WORD = lazy(r"[^\W\d_]+")
_DIALOGUE = lazy(
    r"[,.!?][\"”»] (?:said|says|asked|whispered|replied|he|she)\b|[\"”»],? (?:said|asked|whispered|replied)\b"
)
_LONG_QUOTATION = lazy(rf"[:\n] ?[{OPENING_MARKS}](?:\w+\W+){{4}}")
_BULLET = lazy(r"\s*(?:[-*•+–][ \t]|\(?\d{1,2}[.)][ \t])")
_MARKUP = lazy(
    r"!?\[[^\]\n]{1,80}\]\([^)\n]{1,200}\)|\*\*[^*\n]{1,80}\*\*|``[^`\n]+``|`[^`\n]{1,40}`_|^\s*\.\. |"
    r"^\s*\|.*\||</?[a-z][^>\n]{0,80}>|^\s*:[a-z]+:|\[\^?\d+\]|^={3,}$|^-{3,}$",
    re.MULTILINE,
)
_PART = lazy(r"\[[A-Z][\w ]{2,20}\](?:\n|\Z)")
_COLUMNS = lazy(r"\S(?: {3,}|\t+)\S")
_URL = lazy(r"https?://|www\.")
_UPPER_TITLE = lazy(r"[A-ZÀ-Þ][A-ZÀ-Þ\d .:#/&-]{5,60}(?:\n|\Z)")
_MUST = lazy(r"\b(?:MUST|SHALL|SHOULD|REQUIRED|OPTIONAL|BREAKING)\b")
_SCRIPT = lazy(
    r"[\u0370-\u03ff\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ARROWS_BACK = ("^", "↑", "☝", "👆", "⬆", "<-", "←")
_ARROWS_DOWN = ("↓", "👇", "⬇")
_LITTLE = {code: word_set(one.voices.little) for code, one in LANGUAGES.items() if one.voices.little}


class _Words(Struct, frozen=True):
    """A stretch and what is counted in it more than once."""

    plain: str
    """Without what stands in quotation marks."""
    lower: str
    starts: list[str]
    """The first letters of its sentences."""
    words: list[str]
    lines: list[str]
    has_i: bool
    has_quotes: bool
    has_dialogue: bool

    @property
    def is_list(self) -> bool:
        return _BULLET.match(self.plain) is not None

    @property
    def is_tidy(self) -> bool:
        """Whether every sentence begins with a capital letter and the last one ends."""
        begins = bool(self.starts) and all(letter.isupper() for letter in self.starts)
        return begins and bool(_ENDED.search(self.plain))


def signs(stretch: str) -> dict[str, float]:
    """Return the signs that a stretch shows by itself, each with a strength."""
    read = _words(stretch)
    return _shown({**_spoken(read), **_printed(read), **_layout(read), **_letter(read)})


def _words(stretch: str) -> _Words:
    text = stretch.strip()
    if len(text) > 2 * MAX_READ_CHARACTERS:
        text = f"{text[:MAX_READ_CHARACTERS]}\n{text[-MAX_READ_CHARACTERS:]}"
    plain = _QUOTATION.sub("“…”", text)
    lower = plain.lower()
    return _Words(
        plain=plain,
        lower=lower,
        starts=_SENTENCE.findall(plain),
        words=_WORD.findall(lower),
        lines=plain.split("\n"),
        has_i=bool(_SPEAKER.search(lower)),
        has_quotes=plain != text,
        has_dialogue=bool(_DIALOGUE.search(text)),
    )


def _shown(found: Mapping[str, float]) -> dict[str, float]:
    return {name: float(strength) for name, strength in found.items() if strength}


def _spoken(read: _Words) -> dict[str, float]:
    """Return the signs of words typed to an assistant."""
    plain, lower, starts = read.plain, read.lower, read.starts
    is_small = bool(starts) and starts[0].islower() and not read.is_list
    is_small_throughout = is_small and all(map(str.islower, starts))
    is_contracted = bool(_CONTRACTION.search(plain))
    return {
        "small start": is_small,
        "small throughout": is_small_throughout,
        "small sentences": sum(map(str.islower, starts)) * 2 > len(starts)
        and not is_small
        and not read.is_list,
        "small i": bool(_LITTLE_I.search(plain)),
        "chat words": min(len(set(_CHATTY.findall(lower))), 3),
        "question": "?" in plain,
        "ends with a question": plain.endswith("?"),
        "begins as a question": bool(_ASKS.match(lower)),
        "begins as a request": bool(_REQUESTS.match(lower)),
        "own label": bool(_OWN_LABEL.match(lower)),
        "aside": plain.startswith("(") and plain.endswith(")"),
        "contraction": is_contracted,
        "I": read.has_i,
        "I contracted": read.has_i and is_contracted,
        "claims": bool(_CLAIMS.match(lower)),
    }


def _printed(read: _Words) -> dict[str, float]:
    """Return the signs of words written to be read by many."""
    plain, lower = read.plain, read.lower
    has_we = bool(_SPEAKERS.search(lower))
    begins_large = bool(read.starts) and read.starts[0].isupper()
    return {
        "large throughout": len(read.starts) >= 2 and all(map(str.isupper, read.starts)),
        "tidy": read.is_tidy and len(read.starts) >= 2,
        "tidy sentence": read.is_tidy and len(read.starts) < 2,
        "tidy, nobody speaks": read.is_tidy and not read.has_i and not has_we,
        "nobody speaks": begins_large and not read.has_i and len(read.words) >= 10,
        "we": has_we,
        "to readers": bool(_READERS.search(lower)),
        "of others": bool(_OTHERS.search(lower)),
        "long": len(read.words) >= 40,
        "very long": len(read.words) >= 80,
        "long sentences": len(read.words) >= 18 * max(len(read.starts), 1),
        "formal words": min(len(set(_FORMAL.findall(lower))), 3),
        "page": bool(_PAGE.search(lower)) or bool(_BYLINE.match(plain)),
        "clause": bool(_CLAUSE.match(plain)),
        "instructions": bool(_INSTRUCTIONS.match(lower)),
        "generated": bool(_GENERATED.match(lower)) or bool(_GENERATED.match(lower.rsplit("\n", 1)[-1])),
        "capitals": bool(_UPPER_TITLE.match(plain)) or bool(_MUST.search(plain)),
        "quotes": read.has_quotes,
        "dialogue": read.has_quotes and read.has_dialogue,
    }


def _layout(read: _Words) -> dict[str, float]:
    """Return the signs of the way in which the lines are set."""
    plain, lines = read.plain, read.lines
    labels = [label for label in _LABEL.findall(plain) if not _OWN_LABEL.match(label.lower())]
    return {
        "heading": plain.startswith("#") or bool(_PART.match(plain)),
        "markup": min(len(_MARKUP.findall(plain)), 3),
        "address": bool(_URL.search(plain)),
        "labels": min(len(labels), 3),
        "list": read.is_list,
        "wrapped": is_wrapped(lines),
        "verse": is_verse(lines),
        "title": _is_title(read),
        "columns": bool(_COLUMNS.search(plain)),
        "indented": len(lines) > 1 and all(line.startswith((" ", "\t")) for line in lines[1:]),
    }


def _letter(read: _Words) -> dict[str, float]:
    """Return the signs of a letter."""
    lower, plain = read.lower, read.plain
    greeting = _GREETING.match(lower)
    has_name = bool(greeting and greeting["name"].strip())
    is_closed, is_signed = bool(_CLOSING.search(lower[-120:])), bool(_SIGNATURE.search(plain[-60:]))
    is_greeted = bool(greeting) or (bool(_BARE_GREETING.match(lower)) and len(plain) > 80)
    return {
        "to assistant": bool(greeting and _ASSISTANTS.search(greeting["name"])),
        "greeting with name": has_name,
        "greeting": is_greeted and not has_name,
        "closing": is_closed,
        "signature": is_signed and not is_closed,
        "letter": bool(greeting) and (is_closed or is_signed or (has_name and len(read.words) >= 20)),
    }


def is_wrapped(lines: list[str]) -> bool:
    """
    Return whether lines were broken at a width, as in files and mails and hardly ever in a chat.

    Where lines are broken at a width, the first word of the next line would not have fitted in.
    """
    width = max(map(len, lines))
    if len(lines) < 2 or width < MIN_WIDTH:
        return False
    breaks = [
        len(line) + 1 + len(following.split(" ", 1)[0]) >= width
        and not line.endswith(":")
        and not _BULLET.match(following)
        for line, following in pairwise(lines)
    ]
    if len(breaks) == 1 and not (lines[1][:1].islower() and not _ENDED.search(lines[0])):
        return False
    return sum(breaks) * 4 >= len(breaks) * 3


def is_verse(lines: list[str]) -> bool:
    """Return whether lines look like a poem or a song: three or more, short, most with a capital letter."""
    bare = [line.strip() for line in lines if not _PART.match(line)]
    if len(bare) < 3 or any(not line or len(line) > 70 or _BULLET.match(line) for line in bare):
        return False
    open_ends = sum(line[-1] in ",;—–:" or line[-1].isalpha() for line in bare)
    return sum(line[0].isupper() for line in bare) * 2 > len(bare) and open_ends * 2 >= len(bare)


def _is_title(read: _Words) -> bool:
    """Return whether the first line stands over the rest, or alone, as a title does."""
    first = read.lines[0].strip()
    is_short = len(first) <= 70 and (len(read.lines) > 1 or len(read.words) <= MAX_TITLE_WORDS)
    is_set_so = first[:1].isupper() and (first[-1:].isalnum() or first.endswith(")"))
    return is_short and is_set_so and not _SPEAKER.search(first.lower())


# What a line says about what follows it, and about what stands above it.


def announces(stretch: str) -> dict[str, float]:
    """Return the signs in the last line of a stretch that somebody else's words follow."""
    written = stretch.strip().rsplit("\n", 1)[-1][-MAX_LINE_CHARACTERS:]
    line, last = written.lower(), _ANY_BREAK.split(written)[-1].lower()
    if _LONG_QUOTATION.search(written):
        return {}  # what it announces stands in the line itself
    has_colon = line.rstrip(" *_").endswith((":", "：", ":-", *_ARROWS_DOWN))
    count = len(_WORD.findall(line))
    is_short = count <= MAX_ANNOUNCING_WORDS
    says, mine = bool(_SAYS.search(line)), bool(_MINE.search(last))
    shows = not mine and bool(_SHOWS.search(line))
    document = not mine and bool(_DOCUMENTS.search(line))
    transforms, tells = bool(_TRANSFORMS.search(line)), bool(_TELLS.search(last))
    this, refers = bool(_THIS.search(line)), bool(_POINTERS.search(line))
    begins_with_document = document and is_short and bool(_DOCUMENT_FIRST.match(line))
    tells = tells and not begins_with_document
    asks = count <= 25 and bool(_ASKS.match(line) or "?" in line or _REQUESTS.match(line))
    points_down = bool(_POINTS_DOWN.search(line)) or any(arrow in line for arrow in _ARROWS_DOWN)
    hands_over = bool(_HANDS_OVER.search(line) or _PERSONAS.search(line) or _PLAYS.match(written))
    return _shown(
        {
            "colon": has_colon,
            "hands over": hands_over and is_short and not mine and not tells,
            "begins with a document": begins_with_document,
            "this document": not mine and is_short and bool(_THIS_DOCUMENT.search(line)),
            "their words": not mine and is_short and bool(_THEIR_WORDS.search(line)),
            "shows a document": shows and document and is_short,
            "somebody, colon": has_colon and not mine and count <= 8 and bool(_PEOPLE.search(last)),
            "says": says and is_short,
            "says, colon": says and has_colon,
            "shows": shows and is_short,
            "shows, colon": shows and has_colon,
            "document": document and is_short,
            "document, colon": document and has_colon,
            "work on this": transforms and (refers or has_colon) and is_short,
            "work": transforms and is_short,
            "this": this and count <= 25 and (asks or says or shows or transforms or points_down),
            "it": refers and not this and count <= 15,
            "short": count <= 20,
            "ask": asks,
            "bare ask": asks and count <= 5,
            "points down": points_down,
            "mine": mine and not says,
            "tells": tells and not says,
            "tells, colon": (tells or mine) and not says and has_colon,
        }
    )


def points_back(stretch: str) -> dict[str, float]:
    """Return the signs that a stretch speaks of somebody else's words above it."""
    text = stretch.strip()[:MAX_LINE_CHARACTERS].lower()
    if _CLAIMS.match(text):
        return {"claims": 1.0}
    is_arrow, is_attributed = text.startswith(_ARROWS_BACK), bool(_ATTRIBUTED.search(text))
    says_whose = bool(_WHOSE.match(text)) if is_arrow else is_attributed and bool(_POINTS_BACK.match(text))
    return _shown(
        {
            "arrow": is_arrow,
            "says whose": says_whose and not _MINE.search(text),
            "turns": bool(_TURNS.match(text)),
            "that": bool(_POINTS_BACK.match(text)),
            "answers it": bool(_ANSWERS_IT.search(text)),
            "attributed": is_attributed,
            "names a document": bool(_DOCUMENT_FIRST.match(text)),
            "works on it": bool(_WORKS_ON_IT.search(text)),
            "that document": bool(_POINTS_AT_DOCUMENT.search(text)),
            "pointer": bool(_POINTERS.search(text)),
        }
    )


_INTRODUCTIONS = (_DOCUMENTS, _SHOWS, _SAYS, _PEOPLE, _ASSISTANTS, _TRANSFORMS, _THIS)


def may_introduce(words: str) -> bool:
    """Return whether the words before a colon in a line name a text, or who may have written what follows."""
    sentence = _BREAK.split(words[-MAX_LINE_CHARACTERS:])[-1].lower()
    if any(cue.match(sentence) for cue in (_OWN_LABEL, _FOR)) or _MINE.search(sentence):
        return False
    if len(_WORD.findall(sentence)) > 2 * MAX_SPEECH_WORDS:
        return False
    if _THIS_DOCUMENT.search(sentence):
        return True
    return not _TELLS.search(sentence) and any(cue.search(sentence) for cue in _INTRODUCTIONS)


def introduces_speech(words: str) -> bool:
    """Return whether the words before a colon in a line say that somebody else's follow."""
    written = _BREAK.split(words[-MAX_LINE_CHARACTERS:])[-1]
    sentence = written.lower()
    if _MINE.search(sentence) or _TELLS.search(sentence) or len(_WORD.findall(sentence)) > MAX_SPEECH_WORDS:
        return False
    return bool(_SPEECH.search(sentence) or _PLAYS.match(written))


def persona_end(line: str) -> int:
    """Return where the sentence ends with which a line asks the assistant to be somebody, or 0."""
    found = _PLAYS.match(line)
    end = _PLAYED.search(line, found.end()) if found and not is_by_machine(found.group()) else None
    return end.end() if end else 0


def is_by_machine(line: str) -> bool:
    """Return whether a line names an assistant whose words follow."""
    return bool(_ASSISTANTS.search(line.lower()))


def is_message(line: str) -> bool:
    """Return whether a line speaks of a message that somebody sent."""
    lower = line.lower()
    return bool(_SAYS.search(lower) or _MESSAGES.search(lower))


def language(stretch: str) -> str | None:
    """Return the language or script of a stretch, where little words show it."""
    text = stretch[:MAX_READ_CHARACTERS]
    if not text.isascii() and len(_SCRIPT.findall(text)) * 3 > len(text):
        return "other"
    words = _WORD.findall(text.lower())
    counts = Counter({code: sum(word in little for word in words) for code, little in _LITTLE.items()})
    (best, most), (_, second) = counts.most_common(2)
    return best if most >= 3 and most >= 2 * second else None
