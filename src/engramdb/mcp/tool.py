"""
What a tool is: a verb in the words that a model reads.

The table of tools is in `tools`. A tool takes its arguments, their types and bounds, and what it does to the
store from the verb; by hand are only the description, the arguments worth showing to a model, and how the
answer is put into words. A verb without words of its own is offered with the verb's own. Nothing here knows
the SDK, so that the handshake can be answered before the SDK is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct

from engramdb.errors import ContentTooLarge, InvalidContent, InvalidQuery
from engramdb.verbs.decoding import decode_flat
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Field, Verb, flat_fields

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

MAX_ARGUMENT_BYTES = 1_500_000
"""Above the largest turn that a policy admits; what is larger is refused before any work on it."""
MAX_NAME_CHARACTERS = 20_000
HIDDEN = frozenset({"project", "squad", "agent", "channel", "user", "session"})
"""Whose memories are meant is chosen by who starts the server, never by the model."""
_UNTOLD = ("title", "minLength", "maxLength", "format", "examples")
_NULL = {"type": "null"}
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


class Visit(Struct, frozen=True, kw_only=True):
    """One client's visit: the engine it speaks to, in the scope it was given, and the conversation."""

    engram: Engram
    session: str | None = None


class ToolAnswer(Struct, frozen=True):
    """What a tool answers: text for the model to read, and the same as values."""

    text: str
    values: Mapping[str, Any]


class Argument(Struct, frozen=True, kw_only=True):
    """What a model is told of one argument; what is left out is as the verb's field has it."""

    description: str | None = None
    """Empty where the name and the bounds say enough."""
    field: str = ""
    """The verb's field, where a model knows it by another name."""
    default: Any = UNSET
    minimum: float | None = None
    maximum: float | None = None
    choices: Any = None
    """A type with fewer choices."""
    type: Any = None
    """For an argument that no field of the verb takes; `adjust` makes something of it."""


MEMORY = Argument(field="id", description="Its id, or its last 8 characters, or its exact words")
WHY = Argument(field="reason", description="Why, for the history")
CATEGORY = Argument(description="Only this one")
SINCE = Argument(description="ISO date; only what happened from then on")


class Tool(Struct, frozen=True, kw_only=True, dict=True):
    """One tool."""

    verb: Verb
    description: str
    """When to call it and when not to."""
    arguments: Mapping[str, Argument]
    render: Callable[[Any, Any], ToolAnswer]
    """Puts the answer to a request into words."""
    adjust: Callable[[dict[str, Any]], Verb] | None = None
    """Turns arguments that no field takes into ones that some do, and chooses the verb."""

    @property
    def name(self) -> str:
        """The word that a model calls it by."""
        return self.verb.mcp or self.verb.name

    @property
    def reads_only(self) -> bool:
        """Whether it changes nothing."""
        return not self.verb.writes

    @property
    def destroys(self) -> bool:
        """Whether it takes away what cannot simply be brought back."""
        return self.verb.destructive

    @property
    def is_idempotent(self) -> bool:
        """Whether doing it twice is doing it once."""
        return self.verb.idempotent

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Struct]:
        """Decodes arguments; small local models send "5" and "true" for 5 and true, and are understood."""
        return msgspec.json.Decoder(_arguments_type(self), strict=False)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, as short as it can be said."""
        takes = _arguments_type(self)
        _, defined = msgspec.json.schema_components([takes], ref_template="{name}")
        found = defined[takes.__name__]
        properties = {name: _shorten(one, defined) for name, one in found["properties"].items()}
        required = {"required": found["required"]} if found.get("required") else {}
        return {"type": "object", "properties": properties, **required, "additionalProperties": False}

    def call(self, visit: Visit, arguments: Mapping[str, Any] | None) -> ToolAnswer:
        """Check the arguments, make the one engine call, and put the answer into words."""
        given = self._fields(self._decode(arguments))
        declared = self.adjust(given) if self.adjust else self.verb
        request = decode_flat(declared.request, given, surface="mcp")
        if "session" in request.__struct_fields__:
            request = msgspec.structs.replace(request, session=visit.session)
        return self.render(request, request.call(visit.engram))

    def _decode(self, arguments: Mapping[str, Any] | None) -> Struct:
        """Return the arguments as values; raises with the name of the one that is wrong."""
        try:
            written = msgspec.json.encode(arguments or {})
            if len(written) > MAX_ARGUMENT_BYTES:
                raise ContentTooLarge(
                    f"arguments of {len(written)} bytes are too large; at most {MAX_ARGUMENT_BYTES}"
                )
            return self.decoder.decode(written)
        except msgspec.ValidationError as exc:
            raise InvalidContent(
                f"the arguments of {self.name} do not fit: {exc}", hint=self._takes()
            ) from exc
        except UnicodeEncodeError as exc:
            raise InvalidContent("a text holds half a surrogate pair", hint="Send whole characters.") from exc

    def _fields(self, decoded: Struct) -> dict[str, Any]:
        """Return the values under the names of the verb's fields, moments read."""
        known = {one.flat_name("mcp"): one for one in flat_fields(self.verb.request, "mcp")}
        found = {}
        for name, argument in self.arguments.items():
            value = getattr(decoded, name)
            one = known.get(argument.field or name)
            if value is None:
                continue
            if one is not None and one.type is datetime:
                value = read_moment(name, value, may_be_duration=bool(one.hints.get("duration")))
            found[argument.field or name] = [value] if one is not None and one.is_many else value
        return found

    def _takes(self) -> str:
        known = self.schema["properties"]
        needed = [name for name in known if name in self.schema.get("required", ())]
        return f"It needs {', '.join(needed) or 'nothing'} and takes {', '.join(known) or 'nothing'}."


def verb(name: str) -> Verb:
    """Return a verb by its name."""
    return VERBS[name]


def read_moment(name: str, text: str, *, may_be_duration: bool = False) -> datetime:
    """Return the moment that an argument names: an ISO date, or where allowed `30d` from now."""
    number, unit = text[:-1], text[-1:]
    try:
        if may_be_duration and unit in _UNITS and number.isdigit():
            return datetime.now(UTC) + timedelta(**{_UNITS[unit]: int(number)})
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        hint = "Write 2026-05-08 or 2026-05-08T14:30Z" + (", or 30d from now." if may_be_duration else ".")
        raise InvalidQuery(f"{name}={text!r} is not a time", hint=hint) from exc


def _arguments_type(tool: Tool) -> type[Struct]:
    """Return the struct of a tool's arguments, made of the fields of its verb."""
    known = {one.flat_name("mcp"): one for one in flat_fields(tool.verb.request, "mcp")}
    defined = [
        _argument_field(name, one, known.get(one.field or name)) for name, one in tool.arguments.items()
    ]
    title = "".join(part.title() for part in tool.name.split("_")) + "Arguments"
    return msgspec.defstruct(title, defined, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _argument_field(name: str, argument: Argument, declared: Field | None) -> Any:
    if declared is None:
        own: Any = Annotated[argument.type, Meta(description=argument.description)]
        return (name, own, argument.default)
    default = declared.default if argument.default is UNSET else argument.default
    hint = _hint(argument, declared)
    if declared.is_many:
        return (name, hint | None, None)
    if argument.default is UNSET and declared.is_required:
        return (name, hint)
    return (name, hint | None if declared.is_optional else hint, default)


def _hint(argument: Argument, declared: Field) -> Any:
    """Return the type of an argument with what is said of it."""
    kind: Any = argument.choices or declared.item
    told = declared.description if argument.description is None else argument.description
    said: dict[str, Any] = {"description": told or None}
    if kind in (int, float):
        said["ge"] = declared.told.get("minimum") if argument.minimum is None else argument.minimum
        said["le"] = declared.told.get("maximum") if argument.maximum is None else argument.maximum
    if argument.field == "id":
        said["max_length"] = MAX_NAME_CHARACTERS
    return Annotated[str if kind is datetime else kind, Meta(**said)]


def _shorten(schema: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    """Return one argument's schema without what says nothing to a model."""
    told = {name: value for name, value in schema.items() if name not in _UNTOLD}
    if told.get("default", "") is None:
        del told["default"]
    if "$ref" in told:
        named = defined[told.pop("$ref")]
        told |= {"type": "string", "enum": named["enum"]}
    if "anyOf" in told:
        (meant,) = (one for one in told.pop("anyOf") if one != _NULL)
        told |= _shorten(meant, defined)
    if "items" in told:
        told["items"] = _shorten(told["items"], defined)
    return told
