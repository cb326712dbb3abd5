"""The OpenAPI description."""

from __future__ import annotations

import inspect
import json
import shlex
import types
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import Struct

from engramdb import values
from engramdb.http.authorization import READS
from engramdb.http.idempotency import HEADER
from engramdb.http.requests import JSON
from engramdb.http.routes import With
from engramdb.verbs.errors import ANSWERS
from engramdb.verbs.shared import field_meanings, summary

if TYPE_CHECKING:
    from engramdb.http.routes import Told


# Derive the JSON schemas of answers from the values themselves.
#
# Called by `description`; reads type hints and the words below fields. A field of a value is a field of the
# answer, always there, so no schema is written by hand and none can be out of date. The modules of values
# import for type checkers only, so their hints are read with the names of all values at hand.

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
        if isinstance(kind, type) and (issubclass(kind, StrEnum | Struct)):
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
            name: _explained(self.of(hints[name]), meanings.get(name)) for name in kind.__struct_fields__
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


# Read the description of the API as rows and examples, for people.
#
# Called by the page /docs and by the script that writes the reference; takes the description and nothing
# else,
# so neither can say what the server does not. Objects are named in a field's kind, and described elsewhere.

_JSON = "application/json"


class Row(Struct, frozen=True, kw_only=True):
    """One parameter or field."""

    name: str
    place: str
    """Of path, query, header and body; empty for a field of an answer."""
    kind: str
    default: str
    meaning: str


class Operation(Struct, frozen=True, kw_only=True):
    """One route: what it takes, what it gives, how it refuses."""

    name: str
    method: str
    path: str
    tag: str
    meaning: str
    rows: tuple[Row, ...]
    answer: str
    answers: tuple[tuple[str, str], ...]
    """Statuses and what they mean."""
    example: tuple[str, str | None]
    """An address and a body that could be sent."""


class Thing(Struct, frozen=True, kw_only=True):
    """An object or a choice of words that requests or answers hold."""

    name: str
    meaning: str
    rows: tuple[Row, ...] = ()
    words: tuple[str, ...] = ()


def operations(description: dict[str, Any]) -> Iterator[Operation]:
    """Yield every route."""
    for path, methods in description["paths"].items():
        for method, told in methods.items():
            yield Operation(
                name=told["operationId"],
                method=method.upper(),
                path=path,
                tag=told.get("tags", [""])[0],
                meaning=told.get("description", ""),
                rows=tuple(sorted(_rows(told, description), key=lambda row: row.place == "header")),
                answer=_answer(told, description),
                answers=tuple((status, one["description"]) for status, one in told["responses"].items()),
                example=_example(path, told, description),
            )


def things(description: dict[str, Any]) -> Iterator[Thing]:
    """Yield every object and choice of words, by name."""
    for name, schema in sorted(description["components"]["schemas"].items()):
        yield Thing(
            name=name,
            meaning=schema.get("description", ""),
            rows=tuple(_fields(schema, description, place="")),
            words=tuple(schema.get("enum", ())),
        )


def curl(operation: Operation, base: str) -> str:
    """Return a line for a shell that sends the example."""
    address, body = operation.example
    line = f"curl {shlex.quote(base.rstrip('/') + address)}"
    # The option --json is shorter, and unknown to the curl of many a machine.
    return line if body is None else f"{line} -H 'Content-Type: {_JSON}' -d {shlex.quote(body)}"


def _rows(told: dict[str, Any], description: dict[str, Any]) -> Iterator[Row]:
    for one in told.get("parameters", ()):
        yield Row(
            name=one["name"],
            place=one["in"],
            kind=_kind(one["schema"], description),
            default="required" if one["required"] else _shown(one["schema"].get("default")),
            meaning=one.get("description", ""),
        )
    if (body := _body(told, description)) is not None:
        yield from _fields(body, description, place="body")


def _fields(body: dict[str, Any], description: dict[str, Any], *, place: str) -> Iterator[Row]:
    """Yield the fields of an object; in a request those that are required come first."""
    required = body.get("required", ()) if place else ()
    for name, schema in sorted(body.get("properties", {}).items(), key=lambda pair: pair[0] not in required):
        yield Row(
            name=name,
            place=place,
            kind=_kind(schema, description) if place else _told(schema, description),
            default="required" if name in required else _shown(schema.get("default")),
            meaning=schema.get("description", ""),
        )


def _answer(told: dict[str, Any], description: dict[str, Any]) -> str:
    content = told["responses"].get("200", {}).get("content", {})
    if _JSON not in content:
        return ", ".join(content)
    return _told(content[_JSON]["schema"], description)


def _told(schema: dict[str, Any], description: dict[str, Any]) -> str:
    """Return what an answer holds in a few words; unlike what is asked, it says where that may be null."""
    or_null = ", or null" if {"type": "null"} in schema.get("anyOf", ()) else ""
    return _kind(schema, description) + or_null


def _kind(schema: dict[str, Any], description: dict[str, Any]) -> str:
    """Return a schema in a few words; an object is named, and described elsewhere."""
    if "anyOf" in schema:
        kinds = [_kind(one, description) for one in schema["anyOf"] if one != {"type": "null"}]
        return ", or ".join(kinds)
    if "allOf" in schema:
        named, also = schema["allOf"]
        return f"{_kind(named, description)} with {' and '.join(also['properties'])}"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        words = description["components"]["schemas"][name].get("enum")
        return " / ".join(words) if words else str(name)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}), description)}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"{_kind(schema['additionalProperties'], description)} by name"
    return str(schema.get("format", schema.get("type", "any")))


def _body(told: dict[str, Any], description: dict[str, Any]) -> dict[str, Any] | None:
    schema = told.get("requestBody", {}).get("content", {}).get(_JSON, {}).get("schema", {})
    if "$ref" not in schema:
        return None
    found: dict[str, Any] = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _example(path: str, told: dict[str, Any], description: dict[str, Any]) -> tuple[str, str | None]:
    """Return an address and a body, from the examples of what is required."""
    asked = []
    for one in told.get("parameters", ()):
        given = [*one.get("schema", {}).get("examples", ()), *one.get("examples", ())]
        if given and one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", quote(str(given[0])))
        elif given and one["required"]:
            asked.append((one["name"], given[0]))
    address = f"{path}?{urlencode(asked)}" if asked else path
    body = _body(told, description)
    if body is None:
        return address, None
    return address, json.dumps(body.get("examples", [{}])[0], ensure_ascii=False)


def _shown(default: object) -> str:
    if isinstance(default, list):
        return ", ".join(str(one) for one in default)
    if isinstance(default, bool):
        return str(default).lower()  # as JSON writes it
    return "" if default in (None, "") or isinstance(default, dict) else str(default)


# Describe the API to programs: /openapi.json with what every route answers, also where it refuses.
#
# Installed by `app`. FastAPI knows the requests; the answers come from what `routes.family` was told of each
# route, their schemas from the values, and the refusals from the one table of errors.

TAGS: Final = {
    "memories": "Statements: store, correct, forget, erase and import them, and look at them.",
    "links": "How memories relate to one another.",
    "conversations": "What is said, from which statements are read.",
    "questions": "Answers, prompts and evidence.",
    "life": "How long memories live, and how a person decides otherwise.",
    "dream": "Consolidation of the whole store.",
    "insight": "What is not known, and what is known in short.",
    "agents": "What agents have in mind and what they produce beside talk.",
    "state": "How the store fares.",
    "server": "What the server tells of itself and of what changes.",
}
EVERYWHERE: Final = frozenset({400, 401, 403, 422, 500, 501, 503})
"""The refusals that any route may answer with."""
WRITES: Final = frozenset({409, 410, 413, 415, 507})
"""Those that only a request with a body may."""
MEANINGS: Final = {
    304: "It is the one that `If-None-Match` names.",
    400: "The request cannot be understood.",
    401: "The server wants to know who asks.",
    403: "This may not be asked or changed from here.",
    404: "There is no such thing in this scope.",
    409: "This cannot be done to it as it is now.",
    410: "What the request was about has been erased since it was first sent.",
    412: "It is no longer as `If-Match` says.",
    413: "It is too large.",
    415: "The body is not JSON.",
    422: "A field or a parameter is wrong, and the message names it.",
    500: "The store cannot be used, or a mistake in Engram itself.",
    501: "An optional part is not installed.",
    502: "A chat model replied with what it should not.",
    503: "Something that is needed does not answer now; try again later.",
    507: "The disk is full. What was saved before is intact.",
}
"""What a status means here."""
ERROR: Final[dict[str, Any]] = {
    "title": "Error",
    "type": "object",
    "description": "Why a request was refused. Programs look at the code, never at the words.",
    "properties": {
        "code": {
            "type": "string",
            "description": "Stable; docs/reference/errors.md lists them.",
            "enum": sorted({kind.code for kind in ANSWERS}),
        },
        "message": {"type": "string", "description": "What happened. Never holds a memory's words."},
        "hint": {"type": "string", "description": "What to do about it; empty where nothing can be said."},
        "request_id": {"type": "string", "description": "The id of the request, as in X-Request-ID."},
    },
    "required": ["code", "message", "hint"],
    "examples": [
        {"code": "E5005", "message": "no memory 'nobody' is visible in scope global", "hint": ""},
    ],
}
_TAG_HEADER: Final = {"description": "Names this state of it.", "schema": {"type": "string"}}
_LINK_HEADER: Final = {
    "description": 'The page that follows, as `<address>; rel="next"`; not there on the last one.',
    "schema": {"type": "string"},
}
_KEY: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]*$"},
    "description": "A name of your own for this write: sent again, it is answered as before and done once.",
}
_TOKEN: Final = {"type": "http", "scheme": "bearer", "description": "A token, where the server asks for one."}
_FRAMEWORKS_OWN: Final = ("HTTPValidationError", "ValidationError")


def install(app: FastAPI, told: Mapping[str, Told]) -> None:
    """Make the application describe itself in full, with what is told of its routes by operation id."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = describe(app, told)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def describe(app: FastAPI, told: Mapping[str, Told]) -> dict[str, Any]:
    """Return the description of all routes."""
    described = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": meaning} for name, meaning in TAGS.items()],
    )
    schemas = Schemas()
    for operations in described["paths"].values():
        for operation in operations.values():
            _complete(operation, told.get(operation["operationId"]), schemas)
    components = described.setdefault("components", {})
    own = {name: one for name, one in components["schemas"].items() if name not in _FRAMEWORKS_OWN}
    components["schemas"] = {**own, "Error": ERROR, **schemas.defined}
    components["securitySchemes"] = {"token": _TOKEN}
    described["security"] = [{"token": []}, {}]
    return described


def _complete(operation: dict[str, Any], told: Told | None, schemas: Schemas) -> None:
    """Add to a route what the framework does not know of it."""
    if told is None:
        operation.setdefault("tags", ["server"])
        if "422" in operation["responses"]:
            operation["responses"]["422"] = _refusal(422)
        return
    operation["responses"] = _responses(told, schemas)
    if told.is_write and operation["operationId"] not in READS:
        operation.setdefault("parameters", []).append(_KEY)


def _responses(told: Told, schemas: Schemas) -> dict[str, Any]:
    """Return every answer of a route by its status."""
    found = {"200": _answer_description("The answer.", schemas.of(told.gives))}
    headers = {"ETag": _TAG_HEADER} if told.is_tagged else {}
    if told.is_paged:
        headers = {**headers, "Link": _LINK_HEADER}
    if headers:
        found["200"]["headers"] = headers
    if told.is_tagged and not told.is_write:
        found["304"] = {"description": MEANINGS[304], "headers": {"ETag": _TAG_HEADER}}
    for status in sorted(EVERYWHERE | told.refusals | (WRITES if told.is_write else frozenset())):
        found[str(status)] = _refusal(status)
    for status, kind in told.otherwise.items():
        found[str(status)] = _answer_description(MEANINGS[status], schemas.of(kind))
    return found


def _refusal(status: int) -> dict[str, Any]:
    kinds = [kind for kind, answer in ANSWERS.items() if answer.http_status == status]
    codes = ", ".join(sorted(f"{kind.code} {kind.__name__}" for kind in kinds))
    meaning = f"{MEANINGS[status]} ({codes})" if codes else MEANINGS[status]
    return _answer_description(meaning, {"$ref": f"{REFERENCE}Error"})


def _answer_description(meaning: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": meaning, "content": {JSON: {"schema": schema}}}
