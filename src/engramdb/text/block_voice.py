"""
Weigh whether a block of prose is its writer's own words or was put in from elsewhere.

Nothing here decides alone: a block collects what speaks for a foreign voice (a letter's greeting, printed
words, a page's trimmings) and what speaks for the writer's own (a question, words of a chat, small letters),
and the blocks around it add what they announce or point back to.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from engramdb.text.lexicons import LANGUAGES, any_pattern, voice_cues, word_set
from engramdb.text.normalize import lazy

MAX_READ_CHARACTERS = 3000
"""So much of a block is read from its beginning and its end: the voice shows there."""
MAX_LINE_CHARACTERS = 300
"""A line that announces what follows is no longer than this."""


def _whole(name: str) -> re.Pattern[str]:
    return lazy(rf"(?<![\w'’-])(?:{voice_cues(name)})(?![\w'’-])", re.IGNORECASE)


_SAYS, _SHOWS, _DOCUMENTS = _whole("says"), _whole("shows"), _whole("documents")
_TRANSFORMS, _POINTERS = _whole("transforms"), _whole("pointers")
_CHATTY, _FORMAL, _PAGE = _whole("chatty"), _whole("formal"), _whole("page")
_MINE, _TELLS = _whole("mine"), _whole("tells")
_ASSISTANTS = _whole("assistants")
_POINTS_DOWN = lazy(rf"(?:(?<!\w)(?:{voice_cues('points_down')}))\W{{0,3}}\Z", re.IGNORECASE)
_POINTS_BACK = lazy(rf"\W{{0,3}}(?:{voice_cues('points_back')})(?!\w)", re.IGNORECASE)
_POINTS_BACK_INSIDE = lazy(
    rf"(?<!\w)(?:{voice_cues('transforms')}|{voice_cues('says')}) (?:{voice_cues('pointers')})(?!\w)|"
    r"(?<!\w)(?:this|that|these|those|their|his|her|he|she|they|him|the) (?:\w+ ){0,2}"
    rf"(?:{voice_cues('documents')})(?!\w)",
    re.IGNORECASE,
)
_GREETING = lazy(
    rf"\s*(?P<greeting>{voice_cues('greetings')})(?P<name>(?: [^\s,!:.?]+){{0,4}}) ?[,!:]", re.IGNORECASE
)
_BARE_GREETING = lazy(
    r"\s*(?:hello|hi|dear|hallo|bonjour|hola|sehr geehrte\w?|geachte|estimad\w+)\b(?! there)", re.IGNORECASE
)
_CLOSING = lazy(
    rf"(?:\A|[\n.!?,])\s*(?:{voice_cues('closings')})\s*(?:[,.!]|\n|—|-)?\s*(?:[^\W\d_][\w.'’-]*\s*){{0,4}}\W{{0,4}}\Z",
    re.IGNORECASE,
)
_SIGNATURE = lazy(r"(?:[—–]|--)\s?[^\W\d_][\w.'’ -]{1,40}\Z|\. (?:Mrs?|Ms|Dr)\. [\w. ]{2,30}\Z")
_GENERATED = lazy(rf"\W*(?:{voice_cues('generated')})", re.IGNORECASE)
_INSTRUCTIONS = lazy(rf"\W*(?:{voice_cues('instructions')})(?!\w)", re.IGNORECASE)
_NUMBERED_CLAUSE = lazy(r"\s*(?:§+ ?\d|\d+(?:\.\d+)+\.? [A-Z]|(?:Art(?:icle|\.)|Section|Clause|Q) ?\d+[.:]?)")
_ASKS = lazy(rf"\W*(?:{voice_cues('asks')})(?![\w'’])", re.IGNORECASE)
_VERBS = any_pattern([one.sentences.requests for one in LANGUAGES.values()])
_REQUESTS = lazy(
    rf"\W*(?:{_VERBS}|{voice_cues('transforms')})(?!\w)",
    re.IGNORECASE,
)
_OWN_LABEL = lazy(rf"\W*(?:{voice_cues('own_labels')}) ?:", re.IGNORECASE)
_LITTLE_I = lazy(r"(?<![\w.])i(?:['’](?:m|ve|d|ll)|m|ve)?(?![\w.'’)])")
_CONTRACTION = lazy(r"\w(?:n['’]t|['’](?:m|ve|re|d|ll))(?!\w)")
_SENTENCE = lazy(r"(?:\A|[.!?…]['\"”’)]*\s+|\n)\W{0,3}([^\W\d_])")
_ENDED = lazy(r"[.!?…][\"'”’»)\]]{0,2}\s*\Z")
_QUOTATION = lazy(r"[\"“„«][^\"“”„«»\n]{1,600}[\"”“»]")
_WORD = lazy(r"[^\W\d_]+")
_TITLE = lazy(r"[^\W\d_][^\n.!?]{2,70}\n")
_UPPER_TITLE = lazy(r"[A-ZÀ-Þ][A-ZÀ-Þ\d .:#/&-]{5,60}(?:\n|\Z)")
_FIRST_PERSON = lazy(
    r"(?<![\w'’])(?:I|i|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|ich|mein\w*|wir|je|j['’]\w+|mon|mes|yo|mi|ik|mijn)(?![\w])"
)
_LITTLE = {code: word_set(one.voices.little) for code, one in LANGUAGES.items() if one.voices.little}
_SCRIPT = lazy(
    r"[\u0370-\u03ff\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)

_CLAIMS = lazy(
    r"\W*(?:that|this|these|those|it|they)(?:['’]s| is| are|['’]re) (?:my|mine|our|what i|how i)\b"
    r"(?! \w+['’]s)",
    re.IGNORECASE,
)
_BREAK = lazy(r"[.!?…]\s+")
_SPEECH = lazy(
    rf"(?<!\w)(?:{voice_cues('says')})"
    r"(?: (?:me|us|to me|him|her|this|that|about [\w ]{2,30}|(?:to|in|on) [\w #-]{2,30}))? ?\W?:\Z|"
    r"\A\W*(?:(?:fwd|forwarded|from (?!now|then|today|here|this)|quote|per|via) (?:[\w'’.-]+ ?){1,6}|"
    rf"(?:{voice_cues('assistants')})):\Z",
    re.IGNORECASE,
)
MAX_SPEECH_WORDS = 14
"""A sentence that announces speech in the same line is no longer."""

# What speaks for either voice, and how much. Set by hand on the open half of evals/pasted.
_LIMIT_OF_CHATTY = 2.5


class BlockVoice(Struct, frozen=True):
    """What a block shows of whose words it is."""

    own: float
    foreign: float
    is_letter: bool = False
    is_generated: bool = False
    is_to_assistant: bool = False
    """Whether it is a letter to the assistant, as some people write."""
    has_first_person: bool = False


def weigh(block: str) -> BlockVoice:
    """Return what speaks for each voice, without regard to the blocks around."""
    text = _read_part(block)
    plain = _QUOTATION.sub("“…”", text)
    is_letter, letter = _letter(plain)
    greeting = _GREETING.match(plain)
    is_to_assistant = bool(greeting and _ASSISTANTS.search(greeting["name"]))
    is_generated = bool(_GENERATED.match(plain)) or bool(_GENERATED.match(plain.rsplit("\n", 1)[-1]))
    foreign = letter + 2.0 * is_generated + _printed(plain)
    has_first_person = bool(_FIRST_PERSON.search(plain))
    return BlockVoice(_spoken(plain), foreign, is_letter, is_generated, is_to_assistant, has_first_person)


def _read_part(block: str) -> str:
    if len(block) <= 2 * MAX_READ_CHARACTERS:
        return block.strip()
    return f"{block[:MAX_READ_CHARACTERS]}\n{block[-MAX_READ_CHARACTERS:]}".strip()


def _spoken(plain: str) -> float:
    """Return how much a block sounds as if it was typed to an assistant."""
    weight = 0.0
    starts = _SENTENCE.findall(plain)
    is_list = bool(re.match(r"[-*•+]\s|\d+[.)]\s", plain))
    small = sum(letter.islower() for letter in starts)
    if starts and starts[0].islower() and not is_list:
        weight += 1.5
    elif small * 2 > len(starts) and not is_list:
        weight += 0.7
    weight += 0.5 * bool(_CONTRACTION.search(plain))
    weight += 1.0 * bool(_LITTLE_I.search(plain))
    weight += min(0.8 * len(set(map(str.lower, _CHATTY.findall(plain)))), 2.0)
    weight += 1.2 * ("?" in plain) + 0.5 * plain.endswith("?")
    weight += 1.0 * bool(_ASKS.match(plain)) + 0.8 * bool(_REQUESTS.match(plain))
    weight += 1.5 * bool(_OWN_LABEL.match(plain))
    weight += 1.2 * (plain.startswith("(") and plain.endswith(")"))
    words = len(_WORD.findall(plain))
    weight += 0.7 * (not _ENDED.search(plain) and words <= 60 and not is_list and "\n" not in plain)
    return min(weight, _LIMIT_OF_CHATTY + 2.0)


def _letter(plain: str) -> tuple[bool, float]:
    """Return whether a block is a letter to somebody, and how much that weighs."""
    greeting = _GREETING.match(plain)
    if greeting and _ASSISTANTS.search(greeting["name"]):
        return False, 0.0
    closing = bool(_CLOSING.search(plain[-120:]) or _SIGNATURE.search(plain[-60:]))
    if (greeting and greeting["name"].strip()) or (greeting and closing):
        return True, 2.5 + 1.5 * closing
    if _BARE_GREETING.match(plain) and len(plain) > 80:
        return True, 1.0 + 1.5 * closing
    return closing and len(plain) > 80, 1.5 * (closing and len(plain) > 80)


def _printed(plain: str) -> float:
    """Return how much a block looks as if it was written to be read by many."""
    weight = 0.0
    starts = _SENTENCE.findall(plain)
    sentences = len(starts)
    words = len(_WORD.findall(plain))
    is_tidy = sentences >= 2 and all(letter.isupper() for letter in starts) and bool(_ENDED.search(plain))
    weight += 0.8 * is_tidy + 0.4 * (words >= 40) + 0.4 * (words >= 80)
    weight += min(0.7 * len(set(map(str.lower, _FORMAL.findall(plain)))), 2.1)
    weight += 1.5 * bool(_PAGE.search(plain)) + 1.5 * bool(_NUMBERED_CLAUSE.match(plain))
    weight += 2.0 * bool(_INSTRUCTIONS.match(plain)) + 1.0 * bool(_UPPER_TITLE.match(plain))
    weight += 2.0 * plain.startswith(("# ", "## ", "### "))
    weight += 0.7 * bool(re.search(r"\b(?:MUST|SHALL|SHOULD)(?: NOT)?\b", plain))
    weight += 0.7 * (is_tidy and not _FIRST_PERSON.search(plain))
    return weight


def is_verse(lines: list[str]) -> bool:
    """Return whether lines look like a poem or a song: three or more, short, each with a capital letter."""
    return (
        len(lines) >= 3
        and all(len(line) <= 70 and line.strip()[:1].isupper() for line in lines)
        and sum(
            line.rstrip().endswith((",", ";", "—", "–")) or line.rstrip()[-1:].isalpha() for line in lines
        )
        * 2
        >= len(lines)
    )


def has_title(block: str) -> bool:
    """Return whether the first line stands over the rest as a title does."""
    return bool(_TITLE.match(block.lstrip()[:80])) and block.lstrip()[:1].isupper()


class Announcement(Struct, frozen=True):
    """What a line says about what follows it."""

    weight: float = 0.0
    """Positive: it is somebody else's; negative: the writer's own."""
    is_message: bool = False
    is_generated: bool = False


NOTHING = Announcement()


def introduces_speech(words: str) -> bool:
    """Return whether the words before a colon in a line say that somebody else's follow."""
    sentence = _BREAK.split(words[-MAX_LINE_CHARACTERS:])[-1]
    if _MINE.search(sentence) or _TELLS.search(sentence) or len(_WORD.findall(sentence)) > MAX_SPEECH_WORDS:
        return False
    return bool(_SPEECH.search(sentence))


def announces(block: str) -> Announcement:
    """Return what the last line of a block says about what follows."""
    line = block.strip().rsplit("\n", 1)[-1][-MAX_LINE_CHARACTERS:]
    if not line:
        return NOTHING
    has_colon = line.rstrip(" *_").endswith((":", "：", ":-", "↓", "👇"))
    says, shows = bool(_SAYS.search(line)), bool(_SHOWS.search(line))
    document = bool(_DOCUMENTS.search(line))
    asks = bool(_TRANSFORMS.search(line))
    points = bool(_POINTERS.search(line)) or bool(_POINTS_DOWN.search(line))
    by_machine = bool(_ASSISTANTS.search(line)) and (says or shows)
    mine, tells = bool(_MINE.search(line)), bool(_TELLS.search(line))
    is_message = says or bool(
        re.search(r"(?i)mail|message|text|letter|chat|slack|whatsapp|nachricht|brief", line)
    )
    weight = 0.0
    if has_colon:
        weight = 6.0 if says else 5.0 if shows and document else 3.0 if document or shows or asks else 0.5
        if not says and (mine or (tells and not shows and not (asks and points))):
            weight = -2.5
    else:
        weight += 1.2 * document + 1.0 * (says and document) + 0.8 * says + 1.0 * (asks and points)
        weight += 1.0 * bool(_POINTS_DOWN.search(line)) + 0.6 * shows
        weight += 0.4 * points
        weight = min(weight, 3.0) - 1.0 * ((mine or tells) and not says)
    return Announcement(weight, is_message, by_machine)


def points_back(block: str) -> float:
    """Return how clearly a block speaks of what stands above it."""
    text = block.strip()[:MAX_LINE_CHARACTERS]
    if _CLAIMS.match(text):
        return -4.0
    if text.startswith(("^", "↑", "☝", "👆")):
        return 3.0
    return 1.5 * bool(_POINTS_BACK.match(text)) + 1.0 * bool(_POINTS_BACK_INSIDE.search(text))


def language(block: str) -> str | None:
    """Return the language or script of a block, where little words show it."""
    text = block[:MAX_READ_CHARACTERS]
    if _SCRIPT.search(text) and len(_SCRIPT.findall(text)) * 3 > len(text):
        return "other"
    counts: Counter[str] = Counter()
    words = [word.lower() for word in _WORD.findall(text)]
    for code, little in _LITTLE.items():
        counts[code] = sum(word in little for word in words)
    if not counts:
        return None
    (best, most), *rest = counts.most_common(2)
    return best if most >= 3 and (not rest or most >= 2 * rest[0][1]) else None
