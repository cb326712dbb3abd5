"""JSON schemas of requests: what a surface shows of a verb's fields, described and without the others."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct

from engramdb.verbs.verb import Field, Request, Surface, Verb, fields_of, flat_fields, is_struct


@cache
def shown_type(request: type[Request], surface: Surface) -> type[Struct]:
    """Return the request with the fields that a surface offers, under the same name."""
    shown = [one.name for one in fields_of(request) if one.is_on(surface)]
    if len(shown) == len(fields_of(request)):
        return request
    hints = typing.get_type_hints(request, include_extras=True)
    defined: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        (one.name, hints[one.name]) if one.is_required else (one.name, hints[one.name], one.default)
        for one in fields_of(request)
        if one.name in shown
    ]
    return msgspec.defstruct(
        request.__name__,
        defined,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": request.__doc__},
    )


def request_schemas(
    declared: Iterable[Verb], surface: Surface, *, ref_template: str
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schema of each verb's request by its name, and the objects that they refer to."""
    verbs = list(declared)
    found, defined = msgspec.json.schema_components(
        [shown_type(one.request, surface) for one in verbs], ref_template=ref_template
    )
    for one in verbs:
        _describe_fields(one.request, defined)
        described = defined[one.request.__name__]
        described["description"] = one.help
        if one.example:
            described["examples"] = [dict(one.example)]
    return {one.name: schema for one, schema in zip(verbs, found, strict=True)}, defined


def _describe_fields(owner: type[Struct], defined: dict[str, Any]) -> None:
    """Put the description of a field where a reader looks for it, also where the field may be null."""
    shown = defined[owner.__name__]["properties"]
    for one in fields_of(owner):
        if one.name in shown and one.description:
            shown[one.name]["description"] = one.description
        if one.name in shown and isinstance(one.default, frozenset):
            shown[one.name]["default"] = msgspec.to_builtins(one.default, order="deterministic")
        if one.name in shown and is_struct(one.item):
            _describe_fields(one.item, defined)


def flat_schema(field: Field) -> dict[str, Any]:
    """Return the described schema of one field of a flat surface, without references."""
    kind: Any = field.type
    schema = msgspec.json.schema(kind)
    defined = schema.pop("$defs", {})
    inlined = _inlined(schema, defined)
    if is_choice(field.item):
        (inlined["items"] if field.is_many else inlined)["enum"] = in_order(field.item)
    if field.description:
        inlined["description"] = field.description
    if field.default is not NODEFAULT and field.default is not None:
        inlined["default"] = msgspec.to_builtins(field.default, order="deterministic")
    return inlined | dict(field.told)


def is_choice(kind: Any) -> bool:
    """Return whether a type is a choice of words."""
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def in_order(choice: type[StrEnum]) -> list[str]:
    """Return the words of a choice as they are declared; msgspec sorts them."""
    return [one.value for one in choice]


def flat_schemas(request: type[Request], surface: Surface) -> dict[str, dict[str, Any]]:
    """Return the schemas of all fields of a flat surface, by the names that they have there."""
    return {one.flat_name(surface): flat_schema(one) for one in flat_fields(request, surface)}


def _inlined(schema: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        named = dict(defined[schema["$ref"].rpartition("/")[2]])
        named.pop("title", None)
        return named
    if "items" in schema:
        return schema | {"items": _inlined(schema["items"], defined)}
    return dict(schema)
