"""Read requests: objects, query strings and options become request structs, or errors that name a field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from engramdb.errors import InvalidContent
from engramdb.text.normalize import is_text
from engramdb.verbs.verb import Asked, Field, Surface, fields_of, is_struct

_VALUE: Final = re.compile(r" value ['\"]")
"""Where msgspec begins to quote a value, in the quotes that it needs least."""
REHEARSED: Final = "age, dream, erase and import"
"""The verbs that take `dry_run`, in the words of the refusal."""


def decode(request: type[Asked], raw: object, *, surface: Surface) -> Asked:
    """Return a request from JSON values; raises with the name of the field that is wrong, not its value."""
    if not isinstance(raw, Mapping):
        raise InvalidContent("the request is not an object", hint="Send its fields by name.")
    return _converted(request, _prepared(request, raw, surface, path=()))


def decode_flat(request: type[Asked], given: Mapping[str, Any], *, surface: Surface) -> Asked:
    """Return a request from flat names and texts, as a query string or a shell gives them."""
    nested = _nested(request, dict(given), surface)
    return decode(request, nested, surface=surface)


def _converted(request: type[Asked], values: Mapping[str, Any]) -> Asked:
    try:
        return msgspec.convert(values, request, strict=False)
    except msgspec.ValidationError as exc:
        raise InvalidContent(_plain(str(exc)), hint=_takes(request)) from exc


def _plain(message: str) -> str:
    """Return msgspec's message with the field in front and without the value, which may be a memory."""
    told, _, place = message.partition(" - at `$")
    name = place.rstrip("`").lstrip(".")
    told = _VALUE.split(told, maxsplit=1)[0]
    return f"{name}: {told}" if name else told


def _takes(request: type[Struct]) -> str:
    needed = [one.name for one in fields_of(request) if one.is_required]
    known = [one.name for one in fields_of(request)]
    return f"It needs {', '.join(needed) or 'nothing'} and takes {', '.join(known) or 'nothing'}."


def _prepared(
    owner: type[Struct], raw: Mapping[str, Any], surface: Surface, *, path: tuple[str, ...]
) -> dict[str, Any]:
    """Return the values with moments read and texts checked; raises for a name that is not known."""
    known = {one.name: one for one in fields_of(owner) if one.is_on(surface)}
    for name in sorted(raw, key=lambda name: name != "dry_run"):
        if name not in known:
            raise InvalidContent(_unknown((*path, str(name))), hint=_takes(owner))
    return {name: _checked(known[name], value, surface, path=(*path, name)) for name, value in raw.items()}


def _unknown(path: tuple[str, ...]) -> str:
    if path == ("dry_run",):  # who asks for a rehearsal must not get the real thing
        return f"this cannot be rehearsed; dry_run is for {REHEARSED}"
    name = ".".join(path)[:80].encode(errors="replace").decode()  # half a surrogate pair cannot be answered
    return f"{name}: no such field"


def _checked(one: Field, value: Any, surface: Surface, *, path: tuple[str, ...]) -> Any:
    if isinstance(value, Mapping) and is_struct(one.item):
        return _prepared(one.item, value, surface, path=path)
    if isinstance(value, list | tuple) and is_struct(one.item):
        return [_checked(one, part, surface, path=(*path, str(place))) for place, part in enumerate(value)]
    if one.type is datetime:
        return moment(value, ".".join(path))
    if not all(is_text(text) for text in _texts(value)):
        raise InvalidContent(f"{'.'.join(path)}: holds half a surrogate pair", hint="Send whole characters.")
    return value


def moment(value: object, name: str) -> object:
    """Return the moment that a text names in UTC; one without a time zone is taken to be in it."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(found, datetime):
            return found
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise InvalidContent(
            f"{name}: that is not a time", hint="Write it as 2026-05-08 or 2026-05-08T14:30Z."
        ) from exc


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return (one for pair in value.items() for one in pair if isinstance(one, str))
    if isinstance(value, list | tuple | set | frozenset):
        return (one for one in value if isinstance(one, str))
    return ()


def _nested(owner: type[Struct], given: dict[str, Any], surface: Surface) -> dict[str, Any]:
    """Return flat names as the request nests them; what no field takes stays, to be refused by name."""
    found = _taken(owner, given, surface)
    return found | given


def _taken(owner: type[Struct], given: dict[str, Any], surface: Surface) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields_of(owner):
        if not one.is_on(surface):
            continue
        if is_struct(one.type):
            if inner := _taken(one.type, given, surface):
                found[one.name] = inner
        elif (name := one.flat_name(surface)) in given:
            found[one.name] = given.pop(name)
    return found
