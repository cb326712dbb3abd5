"""
Sentences in their place: whose words each one is, which question it answers, what it leans on.

A turn is cut into the speaker's own words and what was put in from elsewhere, and both into sentences. A
sentence that means nothing by itself ("the second one", "since March", "it was in the printer") is given the
words that it leans on, as they were said: nothing is resolved that would have to be guessed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, groupby, islice
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from engramdb.capture.actions import parse_task_report
from engramdb.capture.junk import is_filler, is_progress
from engramdb.text.clauses import read
from engramdb.text.commands import parse_run
from engramdb.text.force import rule_parts, sets_rule
from engramdb.text.grammar import Person, opens_with_pronoun, people
from engramdb.text.normalize import lazy
from engramdb.text.pii import CONCEALED, conceal_secrets
from engramdb.text.pii_spoken import awaited_secret
from engramdb.text.quotations import unquoted
from engramdb.text.segments import Segment, segments
from engramdb.text.sentences import Opened, SpeakerCertainty, is_code_block, sentences, take_opening
from engramdb.text.withdrawals import is_withdrawal
from engramdb.values import Role, Turn, Voice
from engramdb.vault.masking import mask_secrets

MAX_SENTENCE_CHARACTERS = 600
"""A longer one is cut between words: rambling talk has no sentence ends."""
MAX_CONTEXT_CHARACTERS = 160
"""Of a question or of what is leaned on."""
MAX_CODE_CHARACTERS = 400
"""A block of code up to this size stays with the sentence that introduces it."""
MAX_FIRST_SENTENCES = 200
MAX_LAST_SENTENCES = 100
"""So many are read at the two ends of a turn; the rest of a pasted book is found among the turns."""
MAX_FRAGMENT_WORDS = 5
MAX_GROUP_WORDS = 30
MAX_OUTPUT_CHARACTERS = 400
"""Output of a tool up to this size is kept whole: what it showed is often what holds now."""
MAX_READ_CHARACTERS = 4000
"""Of the beginning and of the end of a message, to look for options and questions."""
UNNAMED_USER = "User"
ASSISTANT = "Assistant"

_LETTERS = lazy(r"[^\W\d_]{2}|\d")
_LEANING = lazy(
    r"\b(?:it|its|it's|they|them|their|those|these|this|that|he|she|him|her|his|hers|there|one|ones|same|"
    r"either|neither|both|former|latter|first|second|third|option|mine|yours|also|too|instead|otherwise)\b",
    re.IGNORECASE,
)
_CLOSED = lazy(r"\b(?:i|my|we|our)\b.*\b(?:i|my|we|our|is|are|was|were|have|use|live|work)\b", re.IGNORECASE)
_SHORT_WORDS = 5
_LONG_WORDS = 18
"""A longer sentence says what it is about; more words would only drown it."""
_ANSWER_WORDS = 30
_TOPIC_WORDS = 4
_IGNORANCE = lazy(r"i (?:don't|do not) (?:have|know|see)\b|not (?:noted|sure)|no idea", re.IGNORECASE)
MOST_REFERRED = 3
_OPTION = lazy(r"(?:^|[\s:;,])\(?(?P<mark>[1-9]|[a-eA-E])[).:]\s+")
_BY_NUMBER = lazy(
    r"\b(?:(?P<word>first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|former|latter|last)(?:\s+(?:one|option))?\b"
    r"|(?:option|number|no\.|#)\s*(?P<mark>[1-9]|[a-e]|one|two|three|four|five)\b|"
    r"^(?P<bare>[1-9]|[a-e])\b(?![:.]\d))",
    re.IGNORECASE,
)
_PLACES = {
    **{word: place for place, word in enumerate(("first", "second", "third", "fourth", "fifth"))},
    **{word: place for place, word in enumerate(("1st", "2nd", "3rd", "4th", "5th"))},
    "former": 0,
    "latter": -1,
    "last": -1,
}
_COUNTED = ("one", "two", "three", "four", "five")
_LISTED = lazy(r"(?:[:;—–]|\b(?:is|are|either|between))\s+(?P<list>[^:;?]{3,200}?,? or [^,;:?.]{2,80})")
_ALTERNATIVES = lazy(r"(?P<first>[^,;:?]{2,60}?),? or (?P<second>[^,;:?]{2,60}?)(?:[,;?]|\Z)", re.IGNORECASE)
_OFFER = lazy(
    r"\b(?:should i|shall i|do you want|want me|would you like|anything else|can i|may i|ready|okay\?|ok\?)",
    re.IGNORECASE,
)


class SpokenSentence(Struct, frozen=True, kw_only=True):
    """A sentence on its way: who said it and when, whose words it is, and what was said before."""

    turn: Turn
    sentence: str
    """As it was said."""
    opened: Opened
    """Without its opening words, and what those told."""
    voice: Voice = Voice.OWN
    sender: str | None = None
    """Who wrote what was put in, where that is told."""
    answers: str | None = None
    refers_to: tuple[str, ...] = ()
    nearby: tuple[Person, ...] = ()
    before: str = ""
    """The message before, for a reader."""

    @property
    def speaker(self) -> str:
        """The name that "I" becomes."""
        return self.turn.speaker or (ASSISTANT if self.turn.role is Role.ASSISTANT else UNNAMED_USER)

    @property
    def text(self) -> str:
        """What becomes the content of a memory: the words without their opening."""
        return self.opened.text

    @property
    def now(self) -> datetime:
        """When it was said."""
        return self.turn.occurred_at

    @property
    def is_answer_of_weight(self) -> bool:
        """Whether it answers a question that asks for a fact, and no offer."""
        return self.answers is not None and not _OFFER.search(self.answers)


def utterances(turns: Sequence[Turn], *, context: Sequence[Turn]) -> Iterator[SpokenSentence]:
    """Yield the sentences of turns in order; `context` are the turns before."""
    heard = list(context)
    for turn in turns:
        yield from _of_turn(turn, heard)
        heard.append(turn)


def _of_turn(turn: Turn, heard: Sequence[Turn]) -> Iterator[SpokenSentence]:
    if turn.role is Role.TOOL:
        yield from _of_tool(turn)
        return
    before = _Before.of(turn, heard)
    nearby = [person for one in heard[-3:] for person in people(one.content)]
    previous: SpokenSentence | None = None
    for place, (segment, sentence) in _pieces(turn):
        if place == MAX_FIRST_SENTENCES:
            previous = None  # what stood before may have been passed over
        is_own = segment.voice is Voice.OWN
        # An assistant says what it is about; with the question in it, it would outrank who was asked.
        is_told = is_own and turn.role is Role.USER
        leans = is_told and leans_on_others(sentence)
        said = SpokenSentence(
            turn=turn,
            sentence=sentence,
            opened=_opened(sentence) if is_own else Opened(sentence),
            voice=segment.voice,
            sender=segment.sender,
            answers=_answered(
                sentence,
                before.question if is_told and _may_answer(place, sentence, previous) else None,
                awaited_secret([previous.sentence] if previous else []) or before.secret,
            ),
            refers_to=_referred(sentence, before, previous) if leans else (),
            nearby=tuple(nearby),
            before=before.message,
        )
        yield said
        if is_own:
            previous = said
            nearby = [*nearby, *people(sentence)]


def _answered(sentence: str, question: str | None, secret: str | None) -> str | None:
    """
    Return what a sentence answers: the question before it, or the request for the secret that it tells.

    That may stand some messages before, or be the speaker's own "the password is".
    """
    if secret is None or secret == question:
        return question
    is_told = mask_secrets(sentence, answering=secret) != mask_secrets(sentence, answering=question)
    return _short(secret) if is_told else question


def _of_tool(turn: Turn) -> Iterator[SpokenSentence]:
    """Yield short output whole: commands and tasks are read apart, long output is found among the turns."""
    is_action = bool(parse_run(turn.content) or parse_task_report(turn.content))
    if not is_action and len(turn.content) <= MAX_OUTPUT_CHARACTERS:
        opened = Opened(turn.content.strip())
        yield SpokenSentence(turn=turn, sentence=turn.content, opened=opened, voice=Voice.LOG)


class _Before(Struct, frozen=True):
    """What stood before a turn: the last message, the questions in it, options, and the topic."""

    message: str = ""
    question: str | None = None
    options: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    secret: str | None = None
    """The sentence that named a secret which may be told now."""

    @classmethod
    def of(cls, turn: Turn, heard: Sequence[Turn]) -> _Before:
        talk = [one for one in heard if one.role in (Role.USER, Role.ASSISTANT)]
        last = talk[-1] if talk else None
        if last is None:
            return cls()
        is_other = last.role is not turn.role or last.speaker != turn.speaker
        words = _without_secrets(talk, len(talk) - 1)
        asked = [one for one in sentences(words[-2000:]) if one.rstrip(" )\"'*_").endswith("?")]
        question = " ".join(asked[-2:]) if is_other and asked else None
        return cls(
            message=last.content,
            question=_short(question) if question else None,
            options=_options(words),
            topics=_topics(talk, turn),
            secret=_awaited(talk, len(talk)),
        )


def _topics(talk: Sequence[Turn], turn: Turn) -> tuple[str, ...]:
    """Return what is talked about: the last statement before, and what this speaker said last."""
    places = range(max(0, len(talk) - 4), len(talk))
    latest = [(talk[place], _awaited(talk, place)) for place in places]
    said = [pair for pair in latest if (pair[0].role, pair[0].speaker) == (turn.role, turn.speaker)]
    own = (_substance(one, asked, with_questions=True) for one, asked in reversed(said))
    found = [_substance(*latest[-1], with_questions=False), next((words for words in own if words), None)]
    return tuple(dict.fromkeys(words for words in found if words))


def _awaited(talk: Sequence[Turn], place: int) -> str | None:
    """Return the sentence that asked for a secret which the turn at a place may tell."""
    return awaited_secret([one.content for one in talk[:place]])


def _without_secrets(talk: Sequence[Turn], place: int) -> str:
    """Return the words of a turn without secrets; concealed whole, since of a part one may not see it."""
    words = talk[place].content
    most = MAX_READ_CHARACTERS
    parts = [words] if len(words) <= 2 * most else [words[:most], words[-most:]]
    return "\n".join(conceal_secrets(part, answering=_awaited(talk, place)) for part in parts)


def _substance(turn: Turn, asked: str | None, *, with_questions: bool) -> str | None:
    """Return the last sentence of a turn that says enough to stand for what is talked about."""
    for sentence in reversed(sentences(turn.content[:MAX_READ_CHARACTERS])[:8]):
        is_question = sentence.rstrip().endswith("?")
        words = take_opening(sentence).text
        if (
            (with_questions or not is_question)
            and len(words.split()) >= _TOPIC_WORDS
            and not _is_chatter(words)
        ):
            return _short(sentence, answering=asked)
    return None


def _is_chatter(words: str) -> bool:
    return is_filler(words) or is_progress(words) or bool(_IGNORANCE.match(words))


def leans_on_others(sentence: str) -> bool:
    """Return whether a sentence needs what was said before to be understood."""
    words = sentence.split()
    if len(words) <= _SHORT_WORDS:
        return True
    if len(words) > _LONG_WORDS:
        return False
    return bool(_LEANING.search(sentence)) or not _CLOSED.search(sentence)


def _may_answer(place: int, sentence: str, previous: SpokenSentence | None) -> bool:
    is_beginning = place == 0 or (
        place <= 2 and previous is not None and len(previous.sentence.split()) <= _SHORT_WORDS
    )
    return is_beginning and len(sentence.split()) <= _ANSWER_WORDS and not sentence.rstrip().endswith("?")


def _referred(sentence: str, before: _Before, previous: SpokenSentence | None) -> tuple[str, ...]:
    """Return the words that a sentence leans on: the option it names, and what was said just before."""
    found: list[str] = []
    if before.options and (named := _BY_NUMBER.search(sentence)):
        place = _place_of(named)
        if place is not None and -1 <= place < len(before.options):
            found.append(before.options[place])
    if previous is None:
        found += before.topics
    elif previous.voice is Voice.OWN:
        found.append(_short(previous.text, answering=previous.answers))
        if len(previous.text.split()) < _TOPIC_WORDS:
            found += previous.refers_to[:1]
    return tuple(dict.fromkeys(found))[:MOST_REFERRED]


def _place_of(named: re.Match[str]) -> int | None:
    if word := named["word"]:
        return _PLACES[word.lower()]
    mark = (named["mark"] or named["bare"] or "").lower()
    if mark in _COUNTED:
        return _COUNTED.index(mark)
    return int(mark) - 1 if mark.isdigit() else ord(mark) - ord("a") if mark else None


def _options(text: str) -> tuple[str, ...]:
    """Return the choices that a message offers, in their order; where one is a secret, bare words are too."""
    found = tuple(map(_short, _choices(text)))
    if CONCEALED not in found:
        return found
    return tuple(one if " " in one else CONCEALED for one in found)


def _choices(text: str) -> list[str]:
    beginning = text[:MAX_READ_CHARACTERS]
    marks = list(_OPTION.finditer(beginning))
    if len(marks) >= 2:
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        return [text[mark.end() : end].strip(" ,;\n") for mark, end in zip(marks, ends, strict=True)]
    if several := _LISTED.search(beginning):
        return [one.strip() for one in re.split(r",\s*(?:or\s+)?|\s+or\s+", several["list"]) if one]
    found = _ALTERNATIVES.search(beginning)
    return [found["first"].strip(), found["second"].strip()] if found else []


def _short(text: str, *, answering: str | None = None) -> str:
    """Return the beginning of a text on one line, cut between words."""
    beginning = " ".join(text[: 4 * MAX_CONTEXT_CHARACTERS].split())
    line = conceal_secrets(beginning, answering=answering)  # before it is cut: half a secret looks like none
    if len(line) <= MAX_CONTEXT_CHARACTERS:
        return line
    return line[:MAX_CONTEXT_CHARACTERS].rpartition(" ")[0] or line[:MAX_CONTEXT_CHARACTERS]


_EMPHASIS = lazy(
    r"(?:not |no )?(?:ever|always|please|pls|period|full stop|seriously|really|exceptions)\W*\Z",
    re.IGNORECASE,
)
_PUT_IN = (Voice.PASTED, Voice.FORWARDED, Voice.GENERATED)


def _parts(turn: Turn) -> list[Segment]:
    """Return the parts of a message by whose words they are: all prose of an assistant is its own."""
    parts = segments(turn.content)
    if turn.role is not Role.ASSISTANT:
        return parts
    return [replace(one, voice=Voice.OWN, sender=None) if one.voice in _PUT_IN else one for one in parts]


_Piece: TypeAlias = tuple[Segment, str]


def _pieces(turn: Turn) -> Iterator[tuple[int, _Piece]]:
    """Yield the first and the last sentences with the parts that they stand in; code and logs have none."""
    parts = _parts(turn)
    found = [(part, one) for place, part in enumerate(parts) for one in _sentences(parts, place)]
    first = _whole_pieces(found[:MAX_FIRST_SENTENCES])
    last = _whole_pieces(found[MAX_FIRST_SENTENCES:][-MAX_LAST_SENTENCES:])
    yield from enumerate(islice(first, MAX_FIRST_SENTENCES))
    yield from enumerate(deque(chain(first, last), maxlen=MAX_LAST_SENTENCES), start=MAX_FIRST_SENTENCES)


def _whole_pieces(found: Sequence[_Piece]) -> Iterator[_Piece]:
    """Yield sentences that stand for themselves: fragments together, endless ones in pieces."""
    for part, group in groupby(found, key=lambda piece: piece[0]):
        for sentence in _grouped([one for _, one in group]):
            yield from ((part, piece) for piece in _cut(sentence))


def _sentences(parts: Sequence[Segment], place: int) -> list[str]:
    """Return the sentences of a part, with the code or quotation beside it that one of them speaks of."""
    part, before = parts[place], parts[place - 1] if place else None
    following = parts[place + 1] if place + 1 < len(parts) else None
    is_kept = before is not None and _is_small(part, Voice.QUOTED) and _ends_with_request(before)
    if part.voice in (Voice.CODE, Voice.LOG) or is_kept:
        return []
    found = [one for one in sentences(part.text) if _LETTERS.search(one) and not is_code_block(one)]
    if not found or part.voice is not Voice.OWN:
        return found
    found = [rule for one in found for rule in rule_parts(one)]
    if before is not None and _is_small(before, Voice.CODE) and _KEEPS_ABOVE.match(found[0]):
        found[0] = f"{found[0]}\n{before.text.strip()}"
    if following is not None and found[-1].rstrip().endswith(":"):
        if _is_small(following, Voice.CODE):
            found[-1] = f"{found[-1]}\n{following.text.strip()}"
        elif _is_small(following, Voice.QUOTED) and _is_request(found[-1]):
            found[-1] = f"{found[-1]} {following.words}"
    return found


# What is asked to be kept is the writer's own wish, whoever said it first.

_KEEPS_ABOVE = lazy(
    r"\W*(?:(?:please|pls|plz|and|also|ok|okay|so|just|can you|could you|you should)[, ]+)*"
    r"(?:remember|memori[sz]e|save|keep|note|store|write down|make a note of|do(?: not|n['’]?t) forget) (?:"
    r"(?:this|that|these|those|the)(?: [\w-]+){0,2} (?:commands?|snippets?|code|scripts?|quer(?:y|ies)|"
    r"functions?|config\w*|one-?liners?|regex|settings?|blocks?|files?|steps|lines?|incantation|invocation)\b(?!:)|"
    r"(?:this|that|these|those|it|the above)(?: one)?(?: for (?:later|next time|me|the future|us))?\W*\Z)",
    re.IGNORECASE,
)


def _is_request(sentence: str) -> bool:
    """Return whether a sentence is nothing but a request to remember what follows."""
    opened = take_opening(sentence)
    return opened.certainty is SpeakerCertainty.EXPLICIT and opened.text == sentence.strip()


def _ends_with_request(part: Segment) -> bool:
    is_open = part.voice is Voice.OWN and part.text.endswith(":")
    return is_open and _is_request(sentences(part.text[-MAX_CONTEXT_CHARACTERS:])[-1])


def _opened(sentence: str) -> Opened:
    """Return a sentence without its opening; what is asked to be kept comes without quotation marks."""
    opened = take_opening(sentence)
    if "\n" in sentence and _KEEPS_ABOVE.match(sentence.partition("\n")[0]):
        return Opened(sentence, SpeakerCertainty.EXPLICIT)
    is_explicit = opened.certainty is SpeakerCertainty.EXPLICIT
    return replace(opened, text=unquoted(opened.text)) if is_explicit else opened


def _grouped(found: Sequence[str]) -> Iterator[str]:
    """
    Yield sentences, fragments together with the one that they follow: "Noor. My sister. Since March".

    A rule stands alone, and so does what takes one back: each must be able to go without the other.
    """
    waiting = ""
    for sentence in found:
        asks = [one.rstrip(" )\"'").endswith("?") for one in (waiting, sentence)]
        is_joined = waiting and not any(asks) and (is_fragment(sentence) or is_fragment(waiting))
        if is_joined and not _EMPHASIS.match(sentence):
            is_joined = not (_stands_alone(waiting) or _stands_alone(sentence))
        if is_joined and len(waiting.split()) + len(sentence.split()) <= MAX_GROUP_WORDS:
            waiting = f"{waiting} {sentence}"
            continue
        if waiting:
            yield waiting
        waiting = sentence
    if waiting:
        yield waiting


def _stands_alone(sentence: str) -> bool:
    return sets_rule(sentence) or is_withdrawal(sentence)


def is_fragment(sentence: str) -> bool:
    """Return whether a sentence is too short to stand for itself, and says of nobody what is or does."""
    if len(sentence.split()) > MAX_FRAGMENT_WORDS:
        return False
    words = take_opening(sentence).text
    return opens_with_pronoun(words) or read(words) is None


def _is_small(part: Segment, voice: Voice) -> bool:
    return part.voice is voice and len(part.text) <= MAX_CODE_CHARACTERS


def _cut(sentence: str) -> Iterator[str]:
    """Yield a sentence, or pieces of one that is far too long, each ending between words."""
    while len(sentence) > MAX_SENTENCE_CHARACTERS:
        room = sentence[:MAX_SENTENCE_CHARACTERS]
        joint = max(room.rfind(f" {word} ") for word in ("and", "but", "so", "because", "then"))
        end = joint if joint > MAX_SENTENCE_CHARACTERS // 2 else room.rfind(" ")
        end = end if end > MAX_SENTENCE_CHARACTERS // 4 else MAX_SENTENCE_CHARACTERS
        yield sentence[:end].strip()
        sentence = sentence[end:].strip()
    if sentence:
        yield sentence
