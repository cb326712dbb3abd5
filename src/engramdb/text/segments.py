"""
Cut a message into its writer's own words and what is not: quoted, pasted, forwarded, generated, code, logs.

Marks decide first (fences, tags, triple quotes, `>`), then the shapes of lines (mail headers, chat, code,
logs), and for the prose that remains what it sounds like and what the lines around it announce. In doubt a
stretch is foreign: taking a stranger's rule for the writer's own does more harm than the reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from engramdb.text.lexicons import voice_cues
from engramdb.text.line_blocks import Block, BlockKind, line_blocks
from engramdb.text.line_shapes import LineShape, shape_of
from engramdb.text.marked_spans import marked_spans
from engramdb.text.normalize import lazy
from engramdb.text.quotations import (
    CLOSING_MARKS,
    DOUBLE_MARKS,
    MAX_QUOTATION_CHARACTERS,
    OPENING_MARKS,
    quotations,
    whole_quotations,
)
from engramdb.text.voice_chain import Boundary, VoiceStretch, foreign_voices
from engramdb.text.voice_signs import (
    introduces_speech,
    is_by_machine,
    is_message,
    is_verse,
    is_wrapped,
    may_introduce,
    persona_end,
    points_back,
    signs,
)
from engramdb.values.memory import Voice

MAX_PLAIN_CHARACTERS = 300
"""A message of one line that is no longer and has no marks is the writer's own."""
_PLAIN = lazy(rf"(?![\s\S]*(?:^|\s)['‘])[^\r\n:：<>`~{{}}\[\]=;$#|\\*{DOUBLE_MARKS}]*\Z")


_QUOTE_MARK = lazy(r"\s*(?:(?:>|&gt;) ?)+")
_MARK_LINE = lazy(r"\s*(?:`{3,}|~{3,}|\"{3}|'{3}|</?[A-Za-z][\w.:-]*>|[-*_=]{3,})[\w ]*\Z")


class Segment(Struct, frozen=True):
    """A stretch of a message in one voice; between two of them there is nothing but white space."""

    text: str
    voice: Voice
    start: int
    end: int
    sender: str | None = None
    """Who wrote it, where the message says so."""

    @property
    def words(self) -> str:
        """The text without the marks that set it off: fences, tags on lines of their own, `>`, quotes."""
        if self.voice is Voice.OWN:
            return self.text
        lines = (_QUOTE_MARK.sub("", line) for line in self.text.splitlines())
        words = "\n".join(line for line in lines if not _MARK_LINE.match(line)).strip()
        is_quoted = len(words) > 1 and words[0] in OPENING_MARKS and words[-1] in CLOSING_MARKS
        return words[1:-1] if is_quoted else words


def segments(text: str) -> list[Segment]:
    """Return the segments of a message in their order; only white space lies between them."""
    if _is_plain(text):
        return [Segment(text.strip(), Voice.OWN, *_trimmed(text, 0, len(text)))]
    blocks = message_blocks(text)
    voiced = [piece for block in _voiced(text, blocks) for piece in _without_quotations(text, block)]
    return list(_merged(text, voiced))


def _is_plain(text: str) -> bool:
    is_bare = len(text) <= MAX_PLAIN_CHARACTERS and _PLAIN.match(text) is not None
    if not is_bare or shape_of(text) is not LineShape.PROSE:
        return False
    return not (_speech_start(text, is_first=True)[0] or _register_change(text))


# Cut the message where the voice may change.

_SENTENCE_SPLIT = lazy(r"(?<=[.!?…])[\"'”’)]*\s+")
_COLON = lazy(r"[:：]\s+(?=\S)")
_GREETING_INSIDE = lazy(
    r"(?<=\w )(?:Dear|Hello|Hi|Hey|Hallo|Liebe[rs]?|Sehr geehrte[rn]?|Bonjour|Hola|Estimad[oa]|Beste) "
    r"(?:[A-Z][\w.]* ?){1,3},"
)
_WORK_FIRST = lazy(
    rf"\W*(?:[\w']+ ){{0,3}}?(?i:{voice_cues('rewrites')})\b[^.!?:\n]{{2,80}}[.!?] (?=[A-ZÀ-Þ])"
)
_BULLET = lazy(r"\s*(?:[-*•+–—][ \t]|\(?\d{1,3}[.)][ \t]|\s{2,}\S)")
MIN_SPEECH_WORDS = 4
"""Fewer words after a colon are no speech but a name or a number."""
MAX_COLON_CHARACTERS = 400
"""So far into a line a colon may announce somebody else's words in the same line."""


def message_blocks(text: str) -> list[Block]:
    """Return the blocks of a message; those of prose are cut wherever the voice may change."""
    return [
        piece
        for part in marked_spans(text)
        for block in ([part] if part.voice else line_blocks(text, part.start, part.end))
        for piece in ([block] if block.voice else _stretches(text, block))
    ]


def _stretches(text: str, block: Block) -> Iterator[Block]:
    """Yield a block of prose in parts: lines, or lines that belong together, or sentences after a colon."""
    lines = list(_line_places(text, block))
    contents = [text[start:end] for start, end in lines]
    if len(lines) > 1 and (is_verse(contents) or is_wrapped(contents)):
        yield from _announced_first(block, lines, contents)
        return
    begin = 0
    for place in range(1, len(lines) + 1):
        if place == len(lines) or not (_BULLET.match(contents[place]) and _BULLET.match(contents[place - 1])):
            part = _part(block, lines[begin][0], lines[place - 1][1])
            yield from _speech_apart(text, part)
            begin = place


def _announced_first(block: Block, lines: list[tuple[int, int]], contents: list[str]) -> Iterator[Block]:
    """Yield wrapped lines or verse whole, but for first and last lines that stand apart."""
    first, last = 0, len(lines)
    if not (is_wrapped(contents[:2]) and contents[1][:1].islower()) and _sounds_own(contents[0]):
        yield _part(block, *lines[0])
        first = 1
    if last - first > 1 and not is_wrapped(contents[-2:]) and _sounds_own(contents[-1]):
        last -= 1
    yield _part(block, lines[first][0], lines[last - 1][1])
    if last < len(lines):
        yield _part(block, *lines[-1])


def _sounds_own(line: str) -> bool:
    shown = signs(line)
    return any(name in shown for name in ("small i", "question", "chat words", "begins as a request"))


def _line_places(text: str, block: Block) -> Iterator[tuple[int, int]]:
    start = block.start
    while start < block.end:
        end = text.find("\n", start, block.end)
        end = block.end if end < 0 else end
        yield start, end
        start = end + 1


def _part(block: Block, start: int, end: int) -> Block:
    return Block(start=start, end=end, is_joined=block.is_joined or start > block.start)


def _speech_apart(text: str, part: Block) -> Iterator[Block]:
    """Yield a line, or its beginning and then sentence by sentence what somebody else may say in it."""
    line = text[part.start : part.end]
    is_first = part.start <= len(text) - len(text.lstrip())
    cut, is_introduced = _speech_start(line, is_first=is_first)
    if not cut and is_first and (change := _register_change(line)):
        yield replace(part, end=part.start + change)
        yield replace(part, start=part.start + change, is_joined=True, is_same_line=True)
        return
    if not cut:
        yield part
        return
    yield replace(part, end=part.start + cut)
    ends = [gap.end() for gap in _SENTENCE_SPLIT.finditer(line, cut)]
    for start, end in pairwise([cut, *(end for end in ends if end < len(line)), len(line)]):
        is_first = start == cut
        yield Block(
            start=part.start + start,
            end=part.start + end,
            is_joined=True,
            is_same_line=True,
            is_after_colon=is_first,
            is_introduced=is_introduced and is_first,
        )


def _speech_start(line: str, *, is_first: bool) -> tuple[int, bool]:
    """
    Return where in a line somebody else's words may begin, or 0, and whether the line says so.

    Only the first line of a message is cut where it does not say so: below it, a paste has lines of its own.
    """
    if greeting := _GREETING_INSIDE.search(line, 0, MAX_COLON_CHARACTERS):
        return greeting.start(), True
    if (persona := persona_end(line[:MAX_COLON_CHARACTERS])) and _is_speech(line[persona:]):
        return persona, True
    colons = [
        colon
        for colon in _COLON.finditer(line[:MAX_COLON_CHARACTERS])
        if line[colon.end()] not in OPENING_MARKS and _is_speech(line[colon.end() :])
    ]
    for colon in colons:
        if introduces_speech(line[: colon.start() + 1]):
            return colon.end(), True
    for colon in colons if is_first else ():
        if may_introduce(line[: colon.start() + 1]):
            return colon.end(), False
    if is_first and (works := _WORK_FIRST.match(line)):
        return works.end(), False
    return 0, False


def _is_speech(words: str) -> bool:
    return len(words.split(maxsplit=MIN_SPEECH_WORDS)) >= MIN_SPEECH_WORDS


def _register_change(line: str) -> int:
    """Return where a line turns from printed sentences to typed ones, or speaks of those before, or 0."""
    starts = [0, *(gap.end() for gap in _SENTENCE_SPLIT.finditer(line[:MAX_COLON_CHARACTERS]))]
    quoted = list(quotations(line[: MAX_COLON_CHARACTERS + MAX_QUOTATION_CHARACTERS]))
    for start, end in pairwise([*starts[1:], len(line)]):
        is_quoted = any(opening < start < closing for opening, closing in quoted)
        speaks_of_it = not points_back(line[start:end]).keys().isdisjoint(("arrow", "attributed"))
        if speaks_of_it and not is_quoted:
            return 0 if _sounds_own(line[:start]) else start
    letters = [line[start : start + 1] for start in starts]
    small = next((place for place, letter in enumerate(letters) if letter.islower()), len(letters))
    is_change = 2 <= small < len(letters) and not any(map(str.isupper, letters[small:]))
    return starts[small] if is_change and _sounds_own(line[starts[small] :]) else 0


# Give every block a voice.

_SPEAKER = lazy(
    rf"(?P<sender>[^\W\d_][\w'’-]*(?: [A-Z][\w.'’-]*)*)(?: [a-z]+ly| just| also)? "
    rf"(?:{voice_cues('says')})\b[^:.?!\n]{{0,40}}:\s*\Z"
)
_PASSED = (BlockKind.SHAPED, BlockKind.MARKED, BlockKind.RULE)


def _voiced(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks with a voice each."""
    voice, sender = Voice.PASTED, None
    for block, is_foreign in zip(blocks, foreign_voices(chain(text, blocks)), strict=True):
        if block.voice:
            if block.kind is BlockKind.MAIL:
                voice, sender = Voice.FORWARDED, block.sender
            yield block
        elif is_foreign:
            shown = signs(text[block.start : block.end])
            if "generated" in shown:
                voice = Voice.GENERATED
            elif voice is Voice.PASTED and not shown.keys().isdisjoint(("greeting with name", "closing")):
                voice = Voice.FORWARDED
            yield replace(block, voice=voice, sender=sender)
        else:
            yield replace(block, voice=Voice.OWN)
            voice, sender = _announced(text[block.start : block.end])


def _announced(own: str) -> tuple[Voice, str | None]:
    """Return the voice and the sender of what an own line announces."""
    line = own.strip().rsplit("\n", 1)[-1][-200:]
    voice = Voice.GENERATED if is_by_machine(line) else Voice.FORWARDED if is_message(line) else Voice.PASTED
    return voice, _sender(own)


def _sender(own: str) -> str | None:
    found = _SPEAKER.search(own[-200:])
    return found["sender"] if found else None


def chain(text: str, blocks: Sequence[Block]) -> list[VoiceStretch]:
    """Return the blocks as stretches of a chain of voices."""
    rules = [place for place, block in enumerate(blocks) if block.kind is BlockKind.RULE]
    ruled = {
        place
        for first, second in zip(rules[::2], rules[1::2], strict=False)
        for place in range(first + 1, second)
    }
    found = []
    for place, block in enumerate(blocks):
        before = blocks[place - 1] if place else None
        after = "" if before is None or before.voice is None else _after(before)
        found.append(
            VoiceStretch(
                text=text[block.start : block.end],
                boundary=_boundary(block, before),
                after=after,
                is_introduced=block.is_introduced,
                is_in_rules=place in ruled,
                is_foreign=None if block.voice is None else block.voice is not Voice.OWN,
                is_passed=block.kind in _PASSED,
            )
        )
    return found


def _after(before: Block) -> str:
    return str(before.voice) if before.kind is BlockKind.SHAPED else str(before.kind)


def _boundary(block: Block, before: Block | None) -> Boundary:
    if before is None:
        return Boundary.START
    if block.is_same_line:
        return Boundary.COLON if block.is_after_colon else Boundary.SENTENCE
    return Boundary.LINE if block.is_joined else Boundary.BLANK


def _without_quotations(text: str, block: Block) -> Iterator[Block]:
    """Yield a block of own words in parts, whole quotations apart."""
    if block.voice is not Voice.OWN:
        yield block
        return
    done = block.start
    content = text[block.start : block.end]
    for start, end in whole_quotations(content):
        before = content[max(0, start - 80) : start]
        voice = Voice.GENERATED if is_by_machine(before) else Voice.QUOTED
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
