"""Split text into sentences, each as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engramdb.text.lexicons import languages
from engramdb.text.normalize import lazy

WRAPPED_LINE_CHARACTERS = 60
"""A line this long that ends without punctuation was probably wrapped, so the next line continues it."""

MAX_WHOLE_CHARACTERS = 400
"""A quotation or parenthesis longer than this is cut like other text."""

_FENCE = lazy(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_BULLET = lazy(r"[ \t]*(?:[-*+•◦▪–—][ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+|\(?\d{1,3}[.)][ \t]+)")
_WHOLE = lazy(
    r"`[^`\n]{1,N}`"
    r'|"[^"\n]{1,N}"'
    r"|“[^“”\n]{1,N}”"
    r"|«[^«»\n]{1,N}»"
    r"|„[^„“”\n]{1,N}[“”]"
    r"|「[^「」\n]{1,N}」"
    r"|\([^()\n]{1,N}\)".replace("N", str(MAX_WHOLE_CHARACTERS))
)
_END = lazy(r"(?P<wide>[。！？｡]+[”」』）\"']*)|(?P<mark>[.!?…]+)(?P<closing>[\"'”’»)\]*_]*)(?=\s|\Z)")
_LAST_WORD = lazy(r"\S+\Z")


def _listed(name: str) -> frozenset[str]:
    return frozenset(word for one in languages().values() for word in getattr(one.sentences, name).split())


_ABBREVIATIONS = _listed("abbreviations")
_NUMBERED = _listed("before_number")
"""These stand before a number: "fig. 3"; otherwise they are words."""
_ENDING_ABBREVIATIONS = _listed("ending_abbreviations")
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
    if wide := end.group("wide"):
        return not (wide.endswith(("」", "』")) and block[end.end() : end.end() + 1] in ("と", "っ"))
    following = block[end.end() : end.end() + 4].lstrip()[:1]
    if not following:
        return True
    mark, is_lower = end.group("mark"), following.islower()
    if end.group("closing") or mark.startswith(("..", "…")):
        return not is_lower  # "Stop!" he said; well... maybe
    if mark == ".":
        return _dot_closes(block[max(0, end.start() - 40) : end.start()], following)
    return True


def _dot_closes(before: str, following: str) -> bool:
    found = _LAST_WORD.search(before)
    word = found.group().casefold().lstrip("(\"'“«[") if found else ""
    if word in _ABBREVIATIONS or (word in _NUMBERED and following.isdigit()):
        return False
    if len(word) == 1 and word.isalpha() and word != "i":
        return following.islower()  # an initial: J. Smith
    return not (following.islower() and word in _ENDING_ABBREVIATIONS)
