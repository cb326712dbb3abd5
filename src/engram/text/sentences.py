"""
Cut text into sentences, each as it was written.

Called by extraction, which judges one sentence at a time, and by whoever needs the first sentence of a text.
A code block, an inline code span, a quotation, a parenthesis, a url, a file name and a number are never cut;
each point of a list is a sentence, without its bullet. Rules of our own: `sentencex` and `nupunkt` know more
abbreviations, but keep neither code nor lists whole: docs/lab/0006-extraction.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WRAPPED_LINE_CHARACTERS = 60
"""A line this long that ends without punctuation was probably wrapped, so the next line continues it."""

MAX_WHOLE_CHARACTERS = 400
"""A quotation or parenthesis longer than this is cut like other text."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_BULLET = re.compile(r"[ \t]*(?:[-*+•◦▪–—][ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+|\(?\d{1,3}[.)][ \t]+)")
_WHOLE = re.compile(
    r"`[^`\n]{1,N}`"
    r'|"[^"\n]{1,N}"'
    r"|“[^“”\n]{1,N}”"
    r"|«[^«»\n]{1,N}»"
    r"|„[^„“”\n]{1,N}[“”]"
    r"|「[^「」\n]{1,N}」"
    r"|\([^()\n]{1,N}\)".replace("N", str(MAX_WHOLE_CHARACTERS))
)
_END = re.compile(r"(?P<wide>[。！？｡]+[”」』）\"']*)|(?P<mark>[.!?…]+)(?P<closing>[\"'”’»)\]*_]*)(?=\s|\Z)")
_LAST_WORD = re.compile(r"\S+\Z")
_ABBREVIATIONS = frozenset(
    "mr mrs ms mx dr prof rev hon st sr jr gen col lt sgt capt cmdr gov sen rep pres fr "
    "vs cf e.g i.e eg ie viz approx ca est dept univ no nos vol ed eds pp fig figs eq sec ch art "
    "bzw z.b d.h u.a usw ggf nr str hr fr. bspw m mme mlle sra srta ud uds p.ej т.е т.д т.п г ул".split()
)
_ENDING_ABBREVIATIONS = frozenset(
    "etc inc ltd co corp gmbh a.m p.m am pm u.s u.k e.u jan feb mar apr jun jul aug sep sept oct nov dec "
    "mon tue tues wed thu thur thurs fri sat sun al al.".split()
)
"""These may close a sentence; they do when a capital letter follows."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in their order, trimmed, none empty."""
    return [sentence for block in _blocks(text) for sentence in _cut(block)]


def is_code_block(sentence: str) -> bool:
    """Say whether a sentence is a fenced block of code."""
    return _FENCE.match(sentence) is not None


def _blocks(text: str) -> Iterator[str]:
    """Yield code blocks whole, and elsewhere lines, with wrapped lines joined and bullets removed."""
    prose: list[str] = []
    code: list[str] = []
    for line in text.splitlines():
        if code:
            code.append(line)
            if _FENCE.match(line):
                yield "\n".join(code)
                code = []
        elif _FENCE.match(line):
            yield from _joined(prose)
            prose, code = [], [line]
        else:
            prose.append(line)
    yield from _joined(prose)
    if code:
        yield "\n".join(code)


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield lines, each with the lines that continue it."""
    waiting = ""
    for line in lines:
        bullet = _BULLET.match(line)
        bare = line[bullet.end() :].strip() if bullet else line.strip()
        if waiting and bare and not bullet and _is_wrapped(waiting):
            waiting = f"{waiting} {bare}"
            continue
        if waiting:
            yield waiting
        waiting = bare
    if waiting:
        yield waiting


def _is_wrapped(line: str) -> bool:
    last_line = line[-WRAPPED_LINE_CHARACTERS * 2 :]
    return len(line) >= WRAPPED_LINE_CHARACTERS and last_line[-1] not in ".!?…:;。！？"


def _cut(block: str) -> Iterator[str]:
    if _FENCE.match(block):
        yield block
        return
    whole = [match.span() for match in _WHOLE.finditer(block)]
    begin = place = 0
    for end in _END.finditer(block):
        while place < len(whole) and whole[place][1] <= end.start():
            place += 1
        inside = place < len(whole) and whole[place][0] < end.start() and end.end() < whole[place][1]
        if inside or not _closes(block, end):
            continue
        if sentence := block[begin : end.end()].strip():
            yield sentence
        begin = end.end()
    if rest := block[begin:].strip():
        yield rest


def _closes(block: str, end: re.Match[str]) -> bool:
    """Say whether a sentence ends at this mark."""
    if end.group("wide"):
        return True
    following = block[end.end() : end.end() + 4].lstrip()[:1]
    if not following:
        return True
    mark, is_lower = end.group("mark"), following.islower()
    if end.group("closing") or mark.startswith(("..", "…")):
        return not is_lower  # "Stop!" he said; well... maybe
    if mark == ".":
        return _dot_closes(block[max(0, end.start() - 40) : end.start()], is_lower=is_lower)
    return True


def _dot_closes(before: str, *, is_lower: bool) -> bool:
    found = _LAST_WORD.search(before)
    word = found.group().casefold().lstrip("(\"'“«[") if found else ""
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i" and not is_lower):
        return False
    return not (is_lower and word in _ENDING_ABBREVIATIONS)
