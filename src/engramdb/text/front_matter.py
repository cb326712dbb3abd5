"""
Front matter of Markdown files: read with PyYAML, written so that every reader of YAML agrees.

Only the names that a caller asks for are read. The lines of every other name are kept to the letter, so that
what people and their editors put there is never rewritten, nor has to be valid YAML.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from engramdb.errors import InvalidContent
from engramdb.text.normalize import lazy

Value: TypeAlias = str | tuple[str, ...]

FENCE = "---"
_ENDS = (FENCE, "...")
_NOT_NAMES = frozenset("#-[]{}")
_PLAIN = lazy(r"[^\W_][\w ./+-]*(?<! )\Z")
_SPECIAL = frozenset({"true", "false", "yes", "no", "on", "off", "null", "~", "y", "n"})
_MOMENT = lazy(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z\Z")
_NULLS = frozenset({"~", "null"})
_NOT_IN_YAML = lazy("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""What YAML takes for a line break or forbids, and JSON does not."""


class FrontMatter(Struct, frozen=True):
    """Front matter as it was read: the values that were asked for, and the lines of everything else."""

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


def read(lines: Sequence[str], known: Collection[str]) -> FrontMatter:
    """Return the known names with their values; raises where one of them is not a plain value or a list."""
    ours: dict[str, list[str]] = {}
    extras: list[str] = []
    for name, block in blocks(lines):
        if name not in known:
            extras += block
        elif name in ours:
            raise InvalidContent(f"the front matter names {name} twice")
        else:
            ours[name] = block
            extras += [line for line in block[1:] if line.lstrip().startswith("#")]
    return FrontMatter(values_of(ours), tuple(extras))


def write(fields: Mapping[str, Value], extras: Sequence[str]) -> str:
    """Return front matter, fences included, that `read` gives back as it was."""
    lines = [FENCE]
    for name, value in fields.items():
        shown = _scalar(value) if isinstance(value, str) else f"[{', '.join(_member(one) for one in value)}]"
        lines.append(f"{name}: {shown}".rstrip())
    return "\n".join([*lines, *extras, FENCE])


def blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each name with its lines; comments and empty lines belong to whatever stands before them."""
    name, block = "", list[str]()
    for line in lines:
        found = _name_of(line)
        if found is None:
            block.append(line)
            continue
        if block:
            yield name, block
        name, block = found, [line]
    if block:
        yield name, block


def values_of(named: Mapping[str, Sequence[str]]) -> dict[str, Value]:
    """
    Return the value of each name from its lines; raises for anything but a scalar or a list of scalars.

    Events and not a document are asked for, and the first one that does not fit ends the reading. So a tower
    of brackets costs two of them, and an alias is refused before it can be followed.
    """
    if not named:
        return {}
    import yaml  # noqa: PLC0415 - a tenth of the start of a command that needs none of it

    text = "\n".join(line for lines in named.values() for line in lines)
    events = yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    found: dict[str, Value] = {}
    try:
        _stream, _document, event = next(events), next(events), next(events)
        if isinstance(event, yaml.MappingStartEvent):
            while not isinstance(event := next(events), yaml.MappingEndEvent):
                found[_plain(event, yaml)] = _value(next(events), events, yaml)
    except (yaml.YAMLError, StopIteration, _NotPlain) as exc:
        at = list(named)[min(len(found), len(named) - 1)]
        raise InvalidContent(f"the front matter gives {at} in a form that is not read here") from exc
    if list(found) != list(named):
        raise InvalidContent(f"the front matter does not give {', '.join(named)} line by line")
    return found


class _NotPlain(Exception):
    """A value is neither a scalar nor a list of scalars."""


def _value(first: Any, events: Iterator[Any], yaml: Any) -> Value:
    """Return the value that begins with an event."""
    if not isinstance(first, yaml.SequenceStartEvent) or first.anchor is not None or first.tag is not None:
        return _plain(first, yaml)
    members = list[str]()
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        members.append(_plain(event, yaml))
    return tuple(members)


def _plain(event: Any, yaml: Any) -> str:
    """Return the text of a scalar without an anchor or a tag."""
    if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
        raise _NotPlain
    is_null = event.implicit[0] and event.value in _NULLS
    return "" if is_null else str(event.value)


def _name_of(line: str) -> str | None:
    """Return the name that a line begins with; None for a line that goes on."""
    name, is_named, rest = line.partition(":")
    if not is_named or not name.strip() or name[0].isspace() or name[0] in _NOT_NAMES:
        return None
    return name.strip().strip("\"'") if not rest or rest[0].isspace() else None


def _scalar(text: str) -> str:
    """Return a value as it may stand alone: bare where no reader of YAML could take it for something else."""
    is_number = text.replace(".", "", 1).isdecimal()
    is_plain = bool(_PLAIN.match(text)) and text.lower() not in _SPECIAL
    is_meant = text in ("true", "false") or is_number or not text or bool(_MOMENT.match(text))
    return text if is_plain or is_meant else _quoted(text)


def _member(text: str) -> str:
    is_plain = bool(_PLAIN.match(text)) and text.lower() not in _SPECIAL and not text[0].isdecimal()
    return text if is_plain else _quoted(text)


def _quoted(text: str) -> str:
    escaped = json.dumps(text, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found.group()):04x}", escaped)
