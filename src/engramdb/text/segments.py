"""
Cut a message into its writer's own words and what is not: quoted, pasted, forwarded, generated, code, logs.

Marks decide first (fences, tags, triple quotes, `>`), then the shapes of lines (mail headers, chat, code,
logs), and for the prose that remains what it sounds like and what the blocks around it announce. In doubt a
block is foreign: taking a stranger's rule for the writer's own does more harm than the reverse.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from engramdb.text.block_voice import (
    NOTHING,
    Announcement,
    BlockVoice,
    announces,
    has_title,
    introduces_speech,
    is_verse,
    language,
    points_back,
    weigh,
)
from engramdb.text.lexicons import voice_cues
from engramdb.text.line_blocks import Block, BlockKind, line_blocks
from engramdb.text.line_shapes import LineShape, shape_of
from engramdb.text.marked_spans import marked_spans, quotations, whole_quotations
from engramdb.text.normalize import lazy
from engramdb.values.memory import Voice

MAX_PLAIN_CHARACTERS = 300
"""A message of one line that is no longer and has no marks is the writer's own."""
_PLAIN = lazy(r"(?![\s\S]*(?:^|\s)['‘])[^\r\n:：\"“„«「<>`~{}\[\]=;$#|\\]*\Z")


class Segment(Struct, frozen=True):
    """A stretch of a message in one voice; between two of them there is nothing but white space."""

    text: str
    voice: Voice
    start: int
    end: int
    sender: str | None = None
    """Who wrote it, where the message says so."""


def segments(text: str) -> list[Segment]:
    """Return the segments of a message in their order; only white space lies between them."""
    if len(text) <= MAX_PLAIN_CHARACTERS and _PLAIN.match(text) and shape_of(text) is LineShape.PROSE:
        return [Segment(text.strip(), Voice.OWN, *_trimmed(text, 0, len(text)))]
    blocks = [
        block
        for part in marked_spans(text)
        for block in ([part] if part.voice else line_blocks(text, part.start, part.end))
    ]
    voiced = [piece for block in _judged(text, blocks) for piece in _without_quotations(text, block)]
    return list(_merged(text, voiced))


def inline_quotes(sentence: str) -> list[tuple[int, int]]:
    """Return the places of the words in a sentence that its speaker quotes from others, marks included."""
    return list(quotations(sentence))


# Judge the prose between what marks and shapes have settled. The weights were set on the open half of
# evals/pasted.

EXPECTED = 3.0
"""A block that the line before announces so clearly needs no other sign."""
INTRODUCED = 6.0
"""What words weigh after "she wrote:" in the same line."""
STAYS_INSIDE = 1.5
"""What a block weighs because a foreign one, or a line of output, stands right before it."""
AFTER_CODE = 0.5
IN_RULES = 2.5
OTHER_LANGUAGE = 2.0
CONTRAST = 1.2
"""What a tidy block weighs in a message of which another block is clearly talk."""
POINTED_AT = 0.8
VERSE = 1.0
TITLE = 0.8
THRESHOLD = 1.0
ALONE_THRESHOLD = 2.9
"""What must speak for a foreign voice where a message is one block that nothing sets off."""
LEAST_OWN_TAIL = 2.5
"""How much more own than foreign a last line or sentence must sound to be cut off what was put in."""

_SENTENCE_SPLIT = lazy(r"(?<=[.!?…])[\"'”’)]*\s+")
_COLON = lazy(r"[:：]\s+(?=\S)")
_OPENING_QUOTES = "\"'“„«‘"
_LINE_ENDED = (".", "!", "?", ":", '"', "”", "…", ")")
_ASSISTANTS = lazy(rf"(?<!\w)(?:{voice_cues('assistants')})(?!\w)", re.IGNORECASE)
_SPEAKER = lazy(
    rf"(?P<sender>[^\W\d_][\w'’-]*(?: [A-Z][\w.'’-]*)*)(?: [a-z]+ly| just| also)? "
    rf"(?:{voice_cues('says')})\b[^:.?!\n]{{0,40}}:\s*\Z"
)
MAX_COLON_CHARACTERS = 400
"""So far into a line a colon may announce somebody else's words in the same line."""


class _Context(Struct):
    """What the blocks before say about the next one."""

    announced: Announcement = NOTHING
    inside: float = 0.0
    voice: Voice = Voice.PASTED
    sender: str | None = None


class _Soft(Struct, frozen=True):
    """A block that is to be judged, and what it shows."""

    content: str
    voice: BlockVoice
    language: str | None


def _judged(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks with a voice each, cut where the voice changes inside one."""
    split = [piece for block in blocks for piece in _at_announcements(text, block)]
    soft = _soft_blocks(text, split)
    bonus = _bonuses(split, soft)
    threshold = ALONE_THRESHOLD if len(split) == 1 else THRESHOLD
    context = _Context()
    for place, block in enumerate(split):
        if place not in soft:
            is_followed = place + 1 < len(split) and split[place + 1].is_joined
            context = _after_settled(context, block, is_followed=is_followed)
            yield block
            continue
        voice = soft[place].voice
        score = voice.foreign - voice.own + bonus[place] + context.inside + context.announced.weight
        if score + INTRODUCED * block.is_introduced > threshold:
            foreign = _foreign_voice(context, voice)
            yield from _peeled(text, replace(block, voice=foreign, sender=context.sender))
            context = _Context(inside=STAYS_INSIDE, voice=foreign, sender=context.sender)
        else:
            yield replace(block, voice=Voice.OWN)
            context = _after_own(soft[place].content)


def _soft_blocks(text: str, blocks: Sequence[Block]) -> dict[int, _Soft]:
    contents = {place: text[one.start : one.end] for place, one in enumerate(blocks) if one.voice is None}
    soft = {place: _Soft(content, weigh(content), language(content)) for place, content in contents.items()}
    if any(one.voice.is_to_assistant for one in soft.values()):
        return {place: replace(one, voice=replace(one.voice, foreign=0.0)) for place, one in soft.items()}
    return soft


def _after_settled(context: _Context, block: Block, *, is_followed: bool) -> _Context:
    """Return what a block that marks or shapes have settled says about the next one."""
    if block.kind is BlockKind.MAIL:
        return _Context(inside=EXPECTED, voice=Voice.FORWARDED, sender=block.sender)
    if block.kind is BlockKind.RULE:
        return _Context(voice=context.voice, sender=context.sender)
    if block.kind is BlockKind.SHAPED and is_followed:
        return _Context(inside=STAYS_INSIDE)
    if block.kind is BlockKind.SHAPED and context.inside:
        return _Context(inside=context.inside, voice=context.voice, sender=context.sender)
    return _Context(inside=AFTER_CODE if block.voice is Voice.LOG else 0.0)


def _after_own(own: str) -> _Context:
    said = announces(own)
    voice = Voice.GENERATED if said.is_generated else Voice.FORWARDED if said.is_message else Voice.PASTED
    return _Context(announced=said, voice=voice, sender=_sender(own))


def _foreign_voice(context: _Context, voice: BlockVoice) -> Voice:
    if voice.is_generated:
        return Voice.GENERATED
    return Voice.FORWARDED if voice.is_letter and context.voice is Voice.PASTED else context.voice


def _sender(own: str) -> str | None:
    found = _SPEAKER.search(own[-200:])
    return found["sender"] if found else None


def _bonuses(blocks: Sequence[Block], soft: Mapping[int, _Soft]) -> list[float]:
    """Return what the other blocks of the message add to each one that is to be judged."""
    bonus = [0.0] * len(blocks)
    _add_rules(blocks, soft, bonus)
    if len(soft) < 2:
        return bonus
    most_own = max(one.voice.own for one in soft.values())
    languages = Counter(one.language for one in soft.values() if one.language)
    for place, following in zip(soft, [*list(soft)[1:], None], strict=True):
        block = soft[place]
        if following is not None and soft[following].voice.own >= 1.0:
            bonus[place] += POINTED_AT * points_back(soft[following].content)
        is_tidy = block.voice.own <= 0.8 and block.voice.foreign >= 0.7
        bonus[place] += CONTRAST * (most_own >= 2.0 and is_tidy)
        bonus[place] += VERSE * is_verse(block.content.splitlines()) + TITLE * has_title(block.content)
        is_other = block.language is not None and len(languages) > 1 and languages[block.language] == 1
        bonus[place] += OTHER_LANGUAGE * is_other
    return bonus


def _add_rules(blocks: Sequence[Block], soft: Mapping[int, _Soft], bonus: list[float]) -> None:
    """Add what horizontal rules tell: two enclose what is put in, one parts it from the writer's words."""
    rules = [place for place, block in enumerate(blocks) if block.kind is BlockKind.RULE]
    enclosed = [range(first + 1, second) for first, second in zip(rules[::2], rules[1::2], strict=False)]
    if len(rules) == 1:
        sides = (range(rules[0]), range(rules[0] + 1, len(blocks)))
        own = [
            max((soft[one].voice.own - soft[one].voice.foreign for one in side if one in soft), default=-9.0)
            for side in sides
        ]
        enclosed = [sides[own[0] > own[1]]]
    for side in enclosed:
        for place in side:
            bonus[place] += IN_RULES


# Cut inside a block: after a line that announces, before a last line that is the writer's own again.


def _at_announcements(text: str, block: Block) -> Iterator[Block]:
    """Yield a block of prose in parts, cut after every line that announces what follows it."""
    if block.voice:
        yield block
        return
    begin = start = block.start
    is_introduced = False
    while start < block.end:
        end = text.find("\n", start, block.end)
        end = block.end if end < 0 else end
        line = text[start:end]
        if cut := _inline_cut(line):
            yield _part(block, begin, start + cut, is_introduced=is_introduced)
            begin, is_introduced = start + cut, True
        elif end < block.end and announces(line).weight >= EXPECTED:
            yield _part(block, begin, end, is_introduced=is_introduced)
            begin, is_introduced = end, False
        start = end + 1
    yield _part(block, begin, block.end, is_introduced=is_introduced)


def _part(block: Block, start: int, end: int, *, is_introduced: bool) -> Block:
    is_joined = block.is_joined or start > block.start
    return Block(start=start, end=end, is_joined=is_joined, is_introduced=is_introduced)


def _inline_cut(line: str) -> int:
    """Return where in a line the words of somebody else begin after a colon, or 0."""
    for colon in _COLON.finditer(line[:MAX_COLON_CHARACTERS]):
        is_quotation = line[colon.end()] in _OPENING_QUOTES
        if not is_quotation and introduces_speech(line[: colon.start() + 1]):
            return colon.end()
    return 0


def _peeled(text: str, block: Block) -> Iterator[Block]:
    """Yield a foreign block, and apart from it a last line or sentence that is the writer's own."""
    content = text[block.start : block.end]
    cut = 0
    newline = content.rfind("\n")
    if newline > 0:
        is_ended = content[:newline].rstrip().endswith(_LINE_ENDED)
        cut = newline + 1 if is_ended and _is_own_tail(content[newline + 1 :]) else 0
    elif breaks := list(_SENTENCE_SPLIT.finditer(content)):
        last = content[breaks[-1].end() :]
        cut = breaks[-1].end() if last[:1].islower() and _is_own_tail(last) else 0
    if cut:
        yield replace(block, end=block.start + cut)
        yield replace(block, start=block.start + cut, voice=Voice.OWN, sender=None)
    else:
        yield block


def _is_own_tail(words: str) -> bool:
    voice = weigh(words)
    return voice.own - voice.foreign >= LEAST_OWN_TAIL


def _without_quotations(text: str, block: Block) -> Iterator[Block]:
    """Yield a block of own words in parts, whole quotations apart."""
    if block.voice is not Voice.OWN:
        yield block
        return
    done = block.start
    content = text[block.start : block.end]
    for start, end in whole_quotations(content):
        before = content[max(0, start - 80) : start]
        voice = Voice.GENERATED if _ASSISTANTS.search(before) else Voice.QUOTED
        yield replace(block, start=done, end=block.start + start)
        yield Block(start=block.start + start, end=block.start + end, voice=voice, sender=_sender(before))
        done = block.start + end
    yield replace(block, start=done)


def _merged(text: str, blocks: Sequence[Block]) -> Iterator[Segment]:
    """Yield segments without outer white space; neighbors of one voice and sender become one."""
    waiting: Block | None = None
    for block in blocks:
        start, end = _trimmed(text, block.start, block.end)
        if start >= end:
            continue
        if waiting and (waiting.voice, waiting.sender) == (block.voice, block.sender):
            waiting = replace(waiting, end=end)
            continue
        if waiting:
            yield _segment(text, waiting)
        waiting = replace(block, start=start, end=end)
    if waiting:
        yield _segment(text, waiting)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    content = text[start:end]
    start += len(content) - len(content.lstrip())
    return start, start + len(content.strip())


def _segment(text: str, block: Block) -> Segment:
    content = text[block.start : block.end]
    return Segment(content, block.voice or Voice.OWN, block.start, block.end, block.sender)
