"""
The API for people: routes and objects as rows and examples, and the page /docs that shows them.

Everything is read from the description for programs, so neither the page nor the reference can say what the
server does not. The page loads nothing from elsewhere and runs no scripts.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse
from starlette.routing import Route

from engramdb import __version__
from engramdb.http.requests import JSON


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
    return line if body is None else f"{line} -H 'Content-Type: {JSON}' -d {shlex.quote(body)}"


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
    if JSON not in content:
        return ", ".join(content)
    return _told(content[JSON]["schema"], description)


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
    name = schema.get("$ref", "").rpartition("/")[2]
    if words := description["components"]["schemas"].get(name, schema).get("enum"):
        return " / ".join(words)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items') or {}, description)}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"{_kind(schema['additionalProperties'], description)} by name"
    return name or str(schema.get("format", schema.get("type", "any")))


def _body(told: dict[str, Any], description: dict[str, Any]) -> dict[str, Any] | None:
    schema = told.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema", {})
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


# The page /docs: every route with its parameters, its answer and a line to copy.

_TEMPLATES: Final = Path(__file__).parents[1] / "web" / "templates"
_MAX_ADDRESSES: Final = 8
"""For this many addresses of the server the page is cached."""


def docs_routes(describe: Callable[[], dict[str, Any]]) -> list[Route]:
    """Return the page about the API that is described."""

    @lru_cache(maxsize=_MAX_ADDRESSES)
    def written(base: str) -> str:
        return _render(describe(), base)

    def docs(request: HttpRequest) -> HTMLResponse:
        return HTMLResponse(written(f"{request.url.scheme}://{request.url.netloc}"))

    return [Route("/docs", docs, methods=["GET"])]


def _render(described: dict[str, Any], base: str) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found = list(things(described))
    environment.globals["curl"] = lambda operation: curl(operation, base)
    environment.filters |= {"linked": _Linker([one.name for one in found]), "code": _code}
    tags = {one["name"]: one["description"] for one in described.get("tags", ())}
    routes = sorted(operations(described), key=lambda one: _place(one.tag, list(tags)))
    return environment.get_template("docs.html").render(
        families=[
            (tag, tags.get(tag, ""), list(group)) for tag, group in groupby(routes, key=lambda one: one.tag)
        ],
        things=found,
        version=__version__,
        base=base,
    )


def _place(tag: str, tags: list[str]) -> int:
    return tags.index(tag) if tag in tags else len(tags)


def _code(text: str) -> Markup:
    """Return prose with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


class _Linker:
    """Turns the names of objects into links to where they are described."""

    def __init__(self, names: list[str]) -> None:
        self._names = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")

    def __call__(self, kind: str) -> Markup:
        """Return a kind in words with its links."""
        return Markup(self._names.sub(r'<a href="#\1">\1</a>', str(escape(kind))))  # noqa: S704 - escaped before
