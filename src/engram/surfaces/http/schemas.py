"""
Derive the JSON schemas of answers from the values themselves.

Called by `description`; reads type hints and the words below fields. A field of a value is a field of the
answer, always there, so no schema is written by hand and none can be out of date. The modules of values
import for type checkers only, so their hints are read with the names of all values at hand.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from engram import values
from engram.surfaces.http.routes.family import With
from engram.surfaces.meanings import field_meanings, summary

REFERENCE = "#/components/schemas/"
_PLAIN: dict[Any, dict[str, Any]] = {
    Any: {},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
}


class Schemas:
    """The schemas of some types, and by name those of the values inside them."""

    def __init__(self) -> None:
        self.defined: dict[str, dict[str, Any]] = {}
        # What hints of values may speak of that their modules import for type checkers only.
        self._names = {name: getattr(values, name) for name in dir(values)}
        self._names |= {"datetime": datetime, "Mapping": Mapping, "Sequence": Sequence, "Any": Any}

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type as it is written in JSON."""
        if isinstance(kind, With):
            return self._with_computed(kind)
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if isinstance(kind, type) and (issubclass(kind, StrEnum) or dataclasses.is_dataclass(kind)):
            return self._named(kind)
        return self._composed(get_origin(kind), get_args(kind))

    def _composed(self, origin: Any, inner: tuple[Any, ...]) -> dict[str, Any]:
        """Return the schema of a type that is made of others."""
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in inner]}
        if origin is Literal:
            return {"enum": list(inner)}
        if origin is tuple and inner[-1] is not Ellipsis:
            return self._row(inner)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if isinstance(origin, type) and issubclass(origin, Sequence | AbstractSet):
            return {"type": "array", "items": self.of(inner[0])}
        raise TypeError(f"no schema is known for {origin!r} of {inner!r}")

    def _row(self, inner: tuple[Any, ...]) -> dict[str, Any]:
        parts = [self.of(one) for one in inner]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}

    def _named(self, kind: type) -> dict[str, Any]:
        """Return a reference to a value, which is described once."""
        name = kind.__name__
        if name not in self.defined:
            self.defined[name] = {}  # a value may hold its own kind
            self.defined[name] = _words(kind) if issubclass(kind, StrEnum) else self._fields(kind)
        return {"$ref": REFERENCE + name}

    def _fields(self, kind: Any) -> dict[str, Any]:
        hints, meanings = get_type_hints(kind, localns=self._names), field_meanings(kind)
        fields = {
            one.name: _explained(self.of(hints[one.name]), meanings.get(one.name))
            for one in dataclasses.fields(kind)
        }
        return {
            "title": kind.__name__,
            "type": "object",
            "description": summary(kind),
            "properties": fields,
            "required": list(fields),
        }

    def _with_computed(self, kind: With) -> dict[str, Any]:
        """Return the schema of a value together with some of its properties."""
        found = {}
        for name in kind.computed:
            getter = getattr(kind.value, name).fget
            returns = get_type_hints(getter, localns=self._names)["return"]
            found[name] = _explained(self.of(returns), inspect.getdoc(getter))
        also = {"type": "object", "properties": found, "required": list(found)}
        return {"allOf": [self.of(kind.value), also]}


def _words(kind: type[StrEnum]) -> dict[str, Any]:
    return {
        "title": kind.__name__,
        "type": "string",
        "description": summary(kind),
        "enum": [one.value for one in kind],
    }


def _explained(schema: dict[str, Any], meaning: str | None) -> dict[str, Any]:
    return schema | {"description": meaning} if meaning else schema
