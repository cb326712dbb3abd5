"""Tell by its shape what a line is: code, output of a program, a mail header, a line of a chat, or prose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from engramdb.text.lexicons import any_pattern, registry, voice_cues
from engramdb.text.normalize import lazy

MAX_LOOK_CHARACTERS = 400
"""So far into a line its shape shows; a longer look would cost more than it tells."""


class LineShape(StrEnum):
    """What a line looks like."""

    BLANK = "blank"
    PROSE = "prose"
    LIST = "list"
    HEADING = "heading"
    LABEL = "label"
    """A name or key, a colon, and something."""
    RULE = "rule"
    QUOTE = "quote"
    HEADER = "header"
    """A field of a mail, or what a mail program writes above one."""
    CHAT = "chat"
    CODE = "code"
    LOG = "log"


_SHAPES = registry("line_shapes")
_RULE = lazy(r"\s*(?:(?:[-*_=~—–+][ \t]?){3,}|[-=*_~]{2,} ?[^\s\-=*_~][^\n]{0,60}? ?[-=*_~]{2,})\s*\Z")
_QUOTE = lazy(r"\s*(?:>(?!>> |=)|&gt;|\| (?=[^|]*\Z))")
_FORWARDED = lazy(rf"\W*(?:{voice_cues('forwarded')})\b[^.!?]{{0,60}}:?\W*\Z", re.IGNORECASE)
_HEADER = lazy(rf"\s*[*_]{{0,2}}(?:{voice_cues('headers')})[*_]{{0,2}} ?:[*_]{{0,2}}(?:\s|\Z)", re.IGNORECASE)
_WROTE = lazy(
    rf"(?=[^\n]*[\d@])\S[^\n]{{5,200}}\b(?:{voice_cues('wrote')})(?: [^\n:]{{1,60}})? ?:\s*\Z", re.IGNORECASE
)
_HEADING = lazy(r"\s{0,3}#{1,6} \S")
_LIST = lazy(r"\s*(?:[-*+•◦▪‣–—][ \t]+|\(?\d{1,3}[.)][ \t]+|\(?[a-z][)][ \t]+)")
_TIME = r"\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?:\s?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}\.? [A-Z][a-zé]{2,9}\.?|[A-Z][a-z]{2,8} \d{1,2}"
_WHEN = rf"[\[(]?(?:(?:{_DATE})(?:,? (?:at )?{_TIME})?|{_TIME}(?:,? (?:{_DATE}))?)[\])]?"
_NAME = (
    r"(?:[@~]|u/)?[^\W\d_][\w.'’&-]{0,24}(?: (?:[A-ZÀ-Þ(]|(?:van|von|de|der|da|dos|el|la) )[\w.'’()&-]{0,20})"
    r"{0,3}(?: \([^()\n]{1,25}\))?"
)
_CHAT = lazy(
    rf"\s*(?:{_WHEN}\s*[-–—|,]?\s*<?(?P<sender>{_NAME})>?:(?:\s|\Z)|<(?P<nick>[\w.\-\[\]|]{{1,30}})> |"
    rf"(?P<named>{_NAME}) [\[(]{_TIME}[\])]:?\s)"
)
_CHAT_HEAD = lazy(rf"\s*(?P<sender>{_NAME}) {{1,4}}(?:APP )?[—–-]?\s?(?:[A-Z][a-z]+ at )?{_TIME}\s*\Z")
_LABEL = lazy(rf"\s*[*_]{{0,2}}(?P<sender>{_NAME})[*_]{{0,2}} ?:[*_]{{0,2}}(?=\s+\S)")

_LOG = lazy(rf"\s*(?:{any_pattern(_SHAPES['log'])})")
_OUTPUT = lazy(
    r"\s*(?:\S*\d\d:\d\d|\[|[A-Z]{4,}\b|\S*(?:Error|Exception|Traceback|rror:)|[$#>/*<{-]|"
    r"npm (?:ERR|WARN))"
)
_MARKED_CODE = lazy(r"`[^`]{1,200}`")
_AMOUNT = lazy(r"[£$€]?\d[\d.,]*[\w%€]{0,3}[.,;:)]*\Z")
_PLAIN_WORD = lazy(r"[(\"'“]?[^\W\d_]+(?:['’-][^\W\d_]+)*[.,!?:;)\"'”…]*\Z")
_TAGGED = lazy(r"\s*\[[A-Za-z][\w .:/@-]{0,30}\](?P<words>:?\s+\S)?")
_SECTION = lazy(r"\s*\[\[?[\w.\"' :-]{1,60}\]\]?\s*\Z")
_CODE = lazy(rf"\s*(?:{any_pattern(_SHAPES['code'])})")
_YAML = lazy(
    r"\s*(?:- )?[a-z_][\w.-]*:(?:(?: {2,}|\t)\S.*| [^\s,.!?]+| \"[^\"]*\"| '[^']*')?(?:\s+#.*)?\s*\Z"
)
_CODE_END = lazy(
    r"(?:[;{}]|\)\s*=>\s*\{?|\\|&&|\|\|)\s*\Z|[)\w\]] => [\w({\[]|\b\w+ = ['\"\d{\[]|\w+\(\w*\)\.\w+\("
)
_COMMENT = lazy(r"\s*(?:#|//|;|--|\*|/\*|<!--|\"\"\"|%)")
_INDENTED = lazy(r"(?: {4,}|\t)\S")


def shape_of(line: str) -> LineShape:
    """Return the shape of a line, as far as it shows without its neighbors."""
    head = line[:MAX_LOOK_CHARACTERS]
    if not head.strip():
        return LineShape.BLANK
    if is_attribution(head) or _HEADER.match(head):
        return LineShape.HEADER
    shape = next((shape for shape, pattern in _STARTS if pattern.match(head)), LineShape.PROSE)
    is_open = shape in (LineShape.LIST, LineShape.LABEL, LineShape.PROSE)
    ends_as_code = is_open and _CODE_END.search(line[-MAX_LOOK_CHARACTERS:])
    return LineShape.CODE if ends_as_code and not reads_as_prose(line) else shape


def chat_sender(line: str) -> str | None:
    """Return who said a line of a copied chat, or None where it names nobody."""
    head = line[:MAX_LOOK_CHARACTERS]
    found = _CHAT.match(head) or _CHAT_HEAD.match(head) or _LABEL.match(head)
    if found is None:
        return None
    groups = found.groupdict()
    name = groups.get("sender") or groups.get("nick") or groups.get("named") or ""
    return name.strip("*_ ") or None


def chat_prefix(line: str) -> int:
    """Return how long the time and the name before the words of a chat line are."""
    head = line[:MAX_LOOK_CHARACTERS]
    found = _CHAT.match(head) or _CHAT_HEAD.match(head) or _LABEL.match(head)
    return found.end() if found else 0


def is_comment(line: str) -> bool:
    """Return whether a line is a comment, given that code is around it."""
    return _COMMENT.match(line) is not None


def is_indented(line: str) -> bool:
    """Return whether a line is set in as code is."""
    return _INDENTED.match(line) is not None


def is_tagged(line: str, *, has_words: bool = False) -> bool:
    """Return whether a line begins with a word in brackets, as lines of many programs do."""
    found = _TAGGED.match(line)
    return found is not None and (found["words"] is not None or not has_words)


def is_section(line: str) -> bool:
    """Return whether a line is the head of a section in a configuration file."""
    return _SECTION.match(line) is not None


def is_yaml(line: str) -> bool:
    """Return whether a line is a key in small letters with at most one word after it."""
    return _YAML.match(line[:MAX_LOOK_CHARACTERS]) is not None


def is_attribution(line: str) -> bool:
    """Return whether a line stands above a quoted or passed-on mail: On Monday, Ann wrote."""
    return bool(_FORWARDED.match(line[:MAX_LOOK_CHARACTERS]) or _WROTE.match(line[:MAX_LOOK_CHARACTERS]))


def plain_words(words: Iterable[str]) -> int:
    """Return how many are words of a language, and no names of files, numbers or signs."""
    return sum(_PLAIN_WORD.match(word) is not None for word in words)


def reads_as_prose(line: str) -> bool:
    """Return whether a lone line with a piece of code in it is a sentence that speaks of the code."""
    words = [
        word for word in _MARKED_CODE.sub("", line[:MAX_LOOK_CHARACTERS]).split() if not _AMOUNT.match(word)
    ]
    return len(words) >= 6 and plain_words(words) * 4 >= len(words) * 3 and not _OUTPUT.match(line)


_STARTS = (
    (LineShape.RULE, _RULE),
    (LineShape.QUOTE, _QUOTE),
    (LineShape.CHAT, _CHAT),
    (LineShape.CHAT, _CHAT_HEAD),
    (LineShape.LOG, _LOG),
    (LineShape.CODE, _CODE),
    (LineShape.HEADING, _HEADING),
    (LineShape.LIST, _LIST),
    (LineShape.LABEL, _LABEL),
)
