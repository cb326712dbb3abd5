"""What a tool is: arguments, schema, answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from engramdb.errors import ContentTooLarge, InvalidContent

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


# Write the JSON schema of a tool's arguments as short as it can be said.

_UNTOLD = ("title", "minLength", "maxLength")
_NULL = {"type": "null"}


def schema_of(takes: type[Arguments]) -> dict[str, Any]:
    """Return the schema of the arguments."""
    _, defined = msgspec.json.schema_components([takes], ref_template="{name}")
    found = defined[takes.__name__]
    properties = {name: _short(one, defined) for name, one in found["properties"].items()}
    required = {"required": found["required"]} if found.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _short(schema: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    """Return one argument's schema without what says nothing to a model."""
    told = {name: value for name, value in schema.items() if name not in _UNTOLD}
    if told.get("default", "") is None:
        del told["default"]
    if "$ref" in told:
        named = defined[told.pop("$ref")]
        told |= {"type": "string", "enum": named["enum"]}
    if "anyOf" in told:
        (meant,) = (one for one in told.pop("anyOf") if one != _NULL)
        told |= _short(meant, defined)
    if "items" in told:
        told["items"] = _short(told["items"], defined)
    return told


# What a tool is: a name, the arguments it takes, what it does, and what it does to the store.
#
# Each file under `tools` makes one; `table` lists them, `server` shows and calls them. Nothing here knows
# the SDK, so the table can be read without its second of imports. What the model reads about a tool is the
# docstring of its function, and about an argument its description: each is written once.

MOST_ARGUMENT_BYTES = 1_500_000
"""Above the largest turn that a policy admits; what is larger is refused before any work on it."""

MemoryName = Annotated[
    str, msgspec.Meta(max_length=20_000, description="Its id, or its last 8 characters, or its exact words")
]
Why = Annotated[str, msgspec.Meta(max_length=2_000, description="Why, for the history")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool takes; a name that it does not know is an error, never ignored."""


class Visit(Struct, frozen=True, kw_only=True):
    """One client's visit: the engine it speaks to, in the scope it was given, and the conversation."""

    engram: Engram
    session: str | None = None


class Answer(Struct, frozen=True):
    """What a tool answers: text for the model to read, and the same as values."""

    text: str
    values: Mapping[str, Any]


class Tool(Struct, frozen=True, kw_only=True, dict=True):
    """One tool."""

    takes: type[Arguments]
    does: Callable[[Visit, Any], Answer]
    name: str = ""
    """The name of the function, unless Python has that word for itself."""
    reads_only: bool = False
    destroys: bool = False
    is_idempotent: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "name", self.name or self.does.__name__)

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Arguments]:
        """Decodes the arguments; small local models send "5" and "true" for 5 and true, and are understood."""
        return msgspec.json.Decoder(self.takes, strict=False)

    @cached_property
    def description(self) -> str:
        """When to call it and when not to."""
        return " ".join((inspect.getdoc(self.does) or "").split())

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return schema_of(self.takes)

    def call(self, visit: Visit, arguments: Mapping[str, Any] | None) -> Answer:
        """Check the arguments and do it."""
        return self.does(visit, self.understood(arguments))

    def understood(self, arguments: Mapping[str, Any] | None) -> Arguments:
        """Return the arguments as values; raises with the name of the one that is wrong."""
        try:
            written = msgspec.json.encode(arguments or {})
            if len(written) > MOST_ARGUMENT_BYTES:
                raise ContentTooLarge(
                    f"arguments of {len(written)} bytes are too large; at most {MOST_ARGUMENT_BYTES}"
                )
            return self.decoder.decode(written)
        except msgspec.ValidationError as exc:
            raise InvalidContent(
                f"the arguments of {self.name} do not fit: {exc}", hint=_takes(self)
            ) from exc
        except UnicodeEncodeError as exc:
            raise InvalidContent("a text holds half a surrogate pair", hint="Send whole characters.") from exc


def _takes(tool: Tool) -> str:
    known = tool.schema["properties"]
    needed = [name for name in known if name in tool.schema.get("required", ())]
    return f"It needs {', '.join(needed) or 'nothing'} and takes {', '.join(known) or 'nothing'}."
