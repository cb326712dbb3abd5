"""
Write the JSON schema of a tool's arguments as short as it can be said.

Called by `tool`; calls msgspec. Every client puts the schemas of all tools into the model's context at
every turn, so titles, references and the "or null" of what may be left out are taken away: what is not
in `required` may be left out, and a null is taken for left out all the same. Limits are checked, and
told when broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from engram.surfaces.mcp.tool import Arguments

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
