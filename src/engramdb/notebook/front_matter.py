"""Front matter of a note."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from engramdb.errors import InvalidContent
from engramdb.text.normalize import lazy

Value: TypeAlias = str | tuple[str, ...]

FENCE = "---"
_ENDS = (FENCE, "...")
_NOT_NAMES = frozenset("#-[]{}")
_ITEM = lazy(r"\s*-(?:\s+(?P<rest>.*))?\Z")
_COMMENT = lazy(r"(?:^|\s)#.*\Z")
_PLAIN = lazy(r"[^\W_][\w ./+-]*(?<! )\Z")
_SPECIAL = frozenset({"true", "false", "yes", "no", "on", "off", "null", "~", "y", "n"})
_MEMBER = lazy(r"[^,\]]*")
_BLANKS = lazy(r"\s*")
_MOMENT = lazy(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z\Z")
_DOUBLE = lazy(r'"(?:[^"\\]|\\.)*"')
_SINGLE = lazy(r"'(?:[^']|'')*'")


class Front(Struct, frozen=True):
    """Front matter as it was read: our values by name, and the lines of everything else."""

    fields: Mapping[str, Value]
    extras: tuple[str, ...] = ()


def split(text: str) -> tuple[list[str] | None, str]:
    """
    Return the lines of the front matter, or None where there is none, and the rest of the text.

    Raises where it is opened and not closed: taken for words, its names would end in a memory.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        return None, "\n".join(lines)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in _ENDS:
            return lines[1:number], "\n".join(lines[number + 1 :])
    raise InvalidContent("the front matter is not closed")


def read(lines: Sequence[str], known: Collection[str]) -> Front:
    """Return the known names with their values; raises where one of them is not a plain value or a list."""
    fields: dict[str, Value] = {}
    extras: list[str] = []
    for name, block in _blocks(lines):
        if name not in known:
            extras += block
        elif name in fields:
            raise InvalidContent(f"the front matter names {name} twice")
        else:
            fields[name] = _value(name, block)
            extras += [line for line in block[1:] if line.lstrip().startswith("#")]
    return Front(fields, tuple(extras))


def write(fields: Mapping[str, Value], extras: Sequence[str]) -> str:
    """Return front matter, fences included, that `read` gives back as it was."""
    lines = [FENCE]
    for name, value in fields.items():
        told = value if isinstance(value, str) else f"[{', '.join(_quoted(one) for one in value)}]"
        lines.append(f"{name}: {_scalar(told) if isinstance(value, str) else told}".rstrip())
    return "\n".join([*lines, *extras, FENCE])


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each name with its lines; comments and empty lines belong to whatever stands before them."""
    name, block = "", list[str]()
    for line in lines:
        found = _named(line)
        if found is None:
            block.append(line)
            continue
        if block:
            yield name, block
        name, block = found[0], [line]
    if block:
        yield name, block


def _named(line: str) -> tuple[str, str] | None:
    """Return the name that a line begins with and what stands behind it; None for a line that goes on."""
    name, is_named, rest = line.partition(":")
    if not is_named or not name.strip() or name[0].isspace() or name[0] in _NOT_NAMES:
        return None
    return (name.strip().strip("\"'"), rest) if not rest or rest[0].isspace() else None


def _value(name: str, block: Sequence[str]) -> Value:
    found = _named(block[0])
    first = "" if found is None else found[1]
    more = [line for line in block[1:] if line.strip() and not line.lstrip().startswith("#")]
    if not more:
        first = first.strip()
        return tuple(_items(name, first)) if first.startswith("[") else _bare(name, first)
    items = [_ITEM.match(line) for line in more]
    if _COMMENT.sub("", first).strip() or not all(items):
        raise InvalidContent(f"the front matter gives {name} in more than one line")
    return tuple(_bare(name, (item["rest"] or "").strip()) for item in items if item is not None)


def _bare(name: str, text: str) -> str:
    """Return a scalar without its quotes and without a comment behind it."""
    for quoted in (_DOUBLE, _SINGLE):
        found = quoted.match(text)
        if found:
            if _COMMENT.sub("", text[found.end() :]).strip():
                raise InvalidContent(f"the front matter has more behind the quoted {name}")
            return _unquoted(name, found.group())
    if text[:1] in ('"', "'", "{", "|", ">", "&", "*", "!"):
        raise InvalidContent(f"the front matter gives {name} in a form that is not read here")
    bare = _COMMENT.sub("", text).strip()
    return "" if bare in ("~", "null") else bare


def _unquoted(name: str, text: str) -> str:
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text, strict=False))
    except ValueError as exc:
        raise InvalidContent(f"the front matter escapes something in {name} that is not read here") from exc


def _items(name: str, text: str) -> Iterator[str]:
    """Yield the members of a list in brackets."""
    place = _after_blanks(text, 1)
    while text[place : place + 1] not in ("", "]"):
        quoted = _DOUBLE.match(text, place) or _SINGLE.match(text, place)
        ending = quoted or _MEMBER.match(text, place)
        end = place if ending is None else ending.end()
        if member := text[place:end].strip():
            yield _bare(name, member)
        place = _after_blanks(text, end)
        if text[place : place + 1] == ",":
            place = _after_blanks(text, place + 1)
        elif text[place : place + 1] != "]":
            break
    if text[place : place + 1] != "]" or _COMMENT.sub("", text[place + 1 :]).strip():
        raise InvalidContent(f"the front matter does not close the list {name}")


def _after_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return place if found is None else found.end()


def _scalar(text: str) -> str:
    """Return a value as it may stand alone: bare where no reader of YAML could take it for something else."""
    is_number = text.replace(".", "", 1).isdecimal()
    is_plain = bool(_PLAIN.match(text)) and text.lower() not in _SPECIAL
    is_meant = text in ("true", "false") or is_number or not text or bool(_MOMENT.match(text))
    return text if is_plain or is_meant else json.dumps(text, ensure_ascii=False)


def _quoted(text: str) -> str:
    is_plain = bool(_PLAIN.match(text)) and text.lower() not in _SPECIAL and not text[0].isdecimal()
    return text if is_plain else json.dumps(text, ensure_ascii=False)
