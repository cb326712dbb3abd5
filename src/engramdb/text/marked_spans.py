"""Find the parts of a message that marks set off: fences, triple quotes, tags, forum quotes, quoted lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engramdb.text.line_blocks import Block, BlockKind, looks_like
from engramdb.text.normalize import lazy
from engramdb.text.quotations import whole_quotations
from engramdb.values.memory import Voice

_FENCE = lazy(
    r"^[ \t>]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)$|(?P<late>`{3,})[ \t]*\w*[ \t]*$", re.MULTILINE
)
_TRIPLE = lazy(r'"""|\'\'\'|“““|”””')
_TAG = lazy(r"<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]{0,40})(?P<rest>(?:\s[^<>\n]{0,200})?)(?P<void>/?)>")
_FORUM = lazy(r"\[(?P<close>/?)quote(?:=(?P<sender>[^\]\n]{1,60}))?\]", re.IGNORECASE)
_EMPHASIS = frozenset(
    ["b", "i", "u", "s", "em", "strong", "br", "hr", "p", "sub", "sup", "kbd", "mark", "small", "span"]
)
_CODE_TAGS = frozenset(
    ["code", "pre", "html", "head", "body", "div", "script", "style", "svg", "table", "xml"]
)


def marked_spans(text: str) -> Iterator[Block]:
    """Yield the whole text in parts, in their order: those that marks set off have a voice, others none."""
    found = sorted(
        [*_fences(text), *_triples(text), *_tagged(text), *_forum(text), *_quoted_lines(text)], key=_place
    )
    done = 0
    for block in found:
        if block.start < done:
            continue
        if block.start > done:
            yield Block(start=done, end=block.start)
        yield block
        done = block.end
    if done < len(text):
        yield Block(start=done, end=len(text))


def _place(block: Block) -> tuple[int, int]:
    return block.start, -block.end


def _fences(text: str) -> Iterator[Block]:
    if "```" not in text and "~~~" not in text:
        return
    opened: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        run = (mark["mark"] or mark["late"]).strip()
        if opened is None:
            if (
                mark["late"] is None
                or text.count("```", text.rfind("\n", 0, mark.start()) + 1, mark.end()) % 2
            ):
                opened, fence = mark, run
        elif run.startswith(fence) and (mark["late"] is not None or not mark["info"].strip()):
            yield _fenced(text, opened.start(), mark.end())
            opened = None
    if opened is not None:
        yield _fenced(text, opened.start(), len(text))


def _fenced(text: str, start: int, end: int) -> Block:
    return Block(start=start, end=end, voice=looks_like(text[start:end]), kind=BlockKind.MARKED)


def _triples(text: str) -> Iterator[Block]:
    opened: re.Match[str] | None = None
    for mark in _TRIPLE.finditer(text):
        if opened is None:
            opened = mark
        else:
            yield Block(start=opened.start(), end=mark.end(), voice=Voice.PASTED, kind=BlockKind.MARKED)
            opened = None
    if opened is not None and not text[text.rfind("\n", 0, opened.start()) + 1 : opened.start()].strip():
        yield Block(start=opened.start(), end=len(text), voice=Voice.PASTED, kind=BlockKind.MARKED)


def _tagged(text: str) -> Iterator[Block]:
    if "</" not in text:
        return
    open_at: dict[str, list[int]] = {}
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if name in _EMPHASIS or tag["void"]:
            continue
        if not tag["close"]:
            open_at.setdefault(name, []).append(tag.start())
        elif open_at.get(name):
            voice = Voice.CODE if name in _CODE_TAGS else Voice.PASTED
            yield Block(start=open_at[name].pop(), end=tag.end(), voice=voice, kind=BlockKind.MARKED)


def _forum(text: str) -> Iterator[Block]:
    """Yield quotations of a forum; one that is not closed goes on to the end."""
    opened: re.Match[str] | None = None
    for mark in _FORUM.finditer(text):
        if mark["close"] and opened is not None:
            yield _forum_quote(opened, mark.end())
            opened = None
        elif not mark["close"] and opened is None:
            opened = mark
    if opened is not None:
        yield _forum_quote(opened, len(text))


def _forum_quote(opened: re.Match[str], end: int) -> Block:
    sender = (opened["sender"] or "").strip("\"' ") or None
    return Block(start=opened.start(), end=end, voice=Voice.QUOTED, kind=BlockKind.MARKED, sender=sender)


def _quoted_lines(text: str) -> Iterator[Block]:
    """Yield the quotations of others that fill their lines."""
    for start, end in whole_quotations(text):
        before = text[max(0, start - 1) : start]
        after = text[end : end + 1]
        if before in ("", "\n") and after in ("", "\n", "\r"):
            yield Block(start=start, end=end, voice=Voice.QUOTED, kind=BlockKind.MARKED)
