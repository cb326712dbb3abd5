"""
The description of the API for programs: /openapi.json.

Requests, parameters and routes come from the verbs, the schemas of answers from the values, the refusals from
the one table of errors. A field is described by the words in its declaration or below it in the source.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, get_args, get_type_hints

import msgspec
from msgspec import Struct, UnsetType

from engramdb import __version__
from engramdb.http import events, idempotency
from engramdb.http.requests import JSON
from engramdb.http.telemetry import HEALTH, METRICS, HealthReport
from engramdb.values import Memory
from engramdb.values.query import MAX_LIMIT
from engramdb.verbs.errors import ANSWERS
from engramdb.verbs.schema import flat_schema, in_order, is_choice, request_schemas
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Field, Page, Request, Route, Verb, fields_of, flat_fields, is_struct
from engramdb.verbs.wording import field_meanings, summary

TAGS: Final = {
    "memories": "Statements: store, correct, forget, erase and import them, and look at them.",
    "links": "How memories relate to one another.",
    "conversations": "What is said, kept in the words it was said in.",
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
    200: "The answer.",
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
REFERENCE: Final = "#/components/schemas/"
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
_TEXT: Final = {"type": "string"}
_ETAG: Final = {"description": "Names this state of it.", "schema": _TEXT}
_LINK: Final = {
    "description": 'The next page, as `<address>; rel="next"`; not there on the last one.',
    "schema": _TEXT,
}
_TOKEN: Final = {"type": "http", "scheme": "bearer", "description": "A token, where the server asks for one."}


class ServerRoute(Struct, frozen=True, kw_only=True):
    """A route that is no verb, as it is described."""

    name: str
    path: str
    meaning: str
    gives: Any
    """The type of the answer; None where it is no JSON."""
    media_type: str = JSON
    otherwise: frozenset[int] = frozenset()
    """Other statuses that come with the same type of answer."""
    refusals: frozenset[int] = frozenset()
    takes: type[Request] = Request
    tag: str = "server"


SERVER_ROUTES: Final = (
    ServerRoute(
        name="health",
        path=HEALTH,
        tag="state",
        meaning="Return `ok` or `degraded`, the version and what fails; 503 when the store does not answer.",
        gives=HealthReport,
        otherwise=frozenset({503}),
        refusals=EVERYWHERE,
    ),
    ServerRoute(
        name="events",
        path=events.PATH,
        meaning=inspect.getdoc(events.EventsRequest) or "",
        gives=None,
        media_type="text/event-stream",
        refusals=EVERYWHERE,
        takes=events.EventsRequest,
    ),
    ServerRoute(
        name="healthz",
        path="/healthz",
        meaning="Return `ok` while the process answers at all; needs no token.",
        gives=dict[str, str],
    ),
    ServerRoute(
        name="readyz",
        path="/readyz",
        meaning="Return `ready` where the store answers and the server is not about to end, else 503; "
        "needs no token.",
        gives=dict[str, str],
        otherwise=frozenset({503}),
    ),
    ServerRoute(
        name="metrics",
        path=METRICS,
        meaning="Return counts of requests, memories, queues, failures and model calls as Prometheus reads "
        "them.",
        gives=None,
        media_type="text/plain",
        refusals=frozenset({401, 403}),
    ),
)


def describe() -> dict[str, Any]:
    """Return the description of all routes."""
    offered = [(verb, verb.http) for verb in VERBS.values() if verb.http is not None]
    offered.sort(key=lambda pair: list(TAGS).index(pair[1].tag) if pair[1].tag in TAGS else len(TAGS))
    answers = Answers([*(one.gives for one in SERVER_ROUTES), *_given(offered)])
    bodies, asked = _bodies([verb for verb, route in offered if route.method == "POST"], answers.defined)
    paths: dict[str, Any] = {}
    for verb, route in offered:
        operation = _operation(verb, route, answers, bodies.get(verb.name))
        paths[_plain_path(route.path)] = {route.method.lower(): operation}
    for one in SERVER_ROUTES:
        paths[one.path] = {"get": _server_operation(one, answers)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Engram", "description": "Long-term memory for AI agents.", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**asked, "Error": ERROR, **answers.defined},
            "securitySchemes": {"token": _TOKEN},
        },
        "tags": [{"name": name, "description": meaning} for name, meaning in TAGS.items()],
        "security": [{"token": []}, {}],
    }


# The schemas of answers: a field of a value is a field of the answer, always there.


class Answers:
    """The schemas of types as they are written in JSON, and by name those of the values inside them."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        known = list(dict.fromkeys(kind for kind in kinds if kind is not None))
        found, self.defined = msgspec.json.schema_components(known, ref_template=REFERENCE + "{name}")
        self._schemas = dict(zip(known, found, strict=True))
        named = _named_in(known)
        self.defined = {one.__name__: self.defined[one.__name__] for one in named}
        for value in named:
            schema = self.defined[value.__name__]
            if is_choice(value):
                schema |= {"type": "string", "enum": in_order(value)}
            else:
                _describe_value(schema, value)

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type."""
        return dict(self._schemas[kind])

    def with_computed(self, kind: Any, computed: tuple[str, ...]) -> dict[str, Any]:
        """Return the schema of a value together with some of its properties."""
        if not computed:
            return self.of(kind)
        found = {name: self.of(_type_of(kind, name)) | _described(_getter(kind, name)) for name in computed}
        return {"allOf": [self.of(kind), {"type": "object", "properties": found, "required": list(computed)}]}


def _given(offered: Iterable[tuple[Verb, Route]]) -> Iterator[Any]:
    """Yield the types of all answers, and those of what is computed beside them."""
    for verb, route in offered:
        yield verb.gives
        for name in route.computed:
            yield _type_of(verb.gives, name)


def _named_in(kinds: Iterable[Any]) -> set[Any]:
    """Return the values and the choices of words that types are made of."""
    found: set[Any] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if is_choice(kind):
            found.add(kind)
        elif is_struct(kind) and kind not in found:
            found.add(kind)
            waiting += [hint for hint in get_type_hints(kind).values() if not _is_never_shown(hint)]
    return found


def _describe_value(schema: dict[str, Any], value: type[Struct]) -> None:
    """Put in what each field means, and that all of them are there."""
    meanings, hints = field_meanings(value), get_type_hints(value)
    schema["description"] = summary(value)
    shown = {name: one for name, one in schema["properties"].items() if not _is_never_shown(hints[name])}
    schema |= {"properties": shown, "required": list(shown)}
    for name, one in schema["properties"].items():
        one.pop("default", None)
        if datetime in (inside := _types_in(hints[name])) and str not in inside:
            _tell_moments(one)  # msgspec tells them only where a time zone is demanded
        if name in meanings:
            one["description"] = " ".join(meanings[name].split())


def _is_never_shown(hint: Any) -> bool:
    """Return whether a field is kept for ourselves: unset in every answer."""
    return UnsetType in get_args(hint)


def _types_in(kind: Any) -> set[Any]:
    return {kind}.union(*(_types_in(one) for one in get_args(kind)))


def _tell_moments(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "string":
            schema["format"] = "date-time"
        for inner in schema.values():
            _tell_moments(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _tell_moments(inner)


def _getter(kind: type, name: str) -> Any:
    return getattr(kind, name).fget


def _type_of(kind: type, name: str) -> Any:
    return get_type_hints(_getter(kind, name))["return"]


def _described(getter: Any) -> dict[str, str]:
    return {"description": inspect.getdoc(getter) or ""}


# The schemas of requests.


def _bodies(verbs: list[Verb], answered: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Return the schema of each verb's body, and by name the objects inside them.

    An object that answers hold, too, is another one in a request, where fields may be left out.
    """
    bodies, defined = request_schemas(verbs, "http", ref_template=REFERENCE + "{name}")
    twice = {name for name, one in defined.items() if name in answered and "properties" in one}
    names = {REFERENCE + name: f"{REFERENCE}{name}Input" for name in twice}
    for schema in defined.values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    renamed = {f"{name}Input" if name in twice else name: one for name, one in defined.items()}
    return bodies, {name: _renamed(one, names) for name, one in renamed.items() if name not in answered}


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    if isinstance(schema, dict):
        return {
            key: names.get(value, value) if key == "$ref" else _renamed(value, names)
            for key, value in schema.items()
        }
    return [_renamed(one, names) for one in schema] if isinstance(schema, list) else schema


# Operations.


def _operation(verb: Verb, route: Route, answers: Answers, body: dict[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tags": [route.tag],
        "summary": verb.summary,
        "description": verb.help,
        "operationId": verb.name,
        "responses": _responses(verb, route, answers),
    }
    if parameters := [*_parameters(verb, route), *_headers_taken(verb, route)]:
        found["parameters"] = parameters
    if body is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    return found


def _server_operation(one: ServerRoute, answers: Answers) -> dict[str, Any]:
    content = _TEXT if one.gives is None else answers.of(one.gives)
    responses = {str(status): _refusal(status) for status in sorted(one.refusals)}
    for status in (200, *one.otherwise):
        responses[str(status)] = _answer(MEANINGS[status], content, media_type=one.media_type)
    parameters = [_query_parameter(field) for field in flat_fields(one.takes, "http")]
    if one.path == events.PATH:
        parameters.append(_header("Last-Event-ID", "The id of the last event seen."))
    return {
        "tags": [one.tag],
        "summary": one.meaning.partition("\n\n")[0],
        "description": one.meaning,
        "operationId": one.name,
        "responses": dict(sorted(responses.items())),
    } | ({"parameters": parameters} if parameters else {})


def _parameters(verb: Verb, route: Route) -> Iterator[dict[str, Any]]:
    """Yield what stands in the address of a GET, the path first."""
    if route.method == "POST":
        return
    in_path = {one.name for one in fields_of(verb.request) if f"{{{one.name}}}" in _plain_path(route.path)}
    for one in sorted(flat_fields(verb.request, "http"), key=lambda one: one.name not in in_path):
        parameter = _query_parameter(one, example=verb.example.get(one.name))
        yield parameter | ({"in": "path", "required": True} if one.name in in_path else {})
    if route.page is not None and route.page.cut:
        yield from _page_parameters(route.page)


def _query_parameter(one: Field, *, example: Any = None) -> dict[str, Any]:
    schema = flat_schema(one)
    if example is not None:
        schema.setdefault("examples", [example])
    return {
        "name": one.flat_name("http"),
        "in": "query",
        "required": one.is_required,
        "description": schema.pop("description", ""),
        "schema": schema,
    }


def _page_parameters(page: Page) -> Iterator[dict[str, Any]]:
    size = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": page.default}
    cursor = "The cursor of a page, as the `Link` of the page before it gives it."
    for name, meaning, schema in (
        (page.size, "The maximum number of entries.", size),
        (page.cursor, cursor, _TEXT),
    ):
        yield {"name": name, "in": "query", "required": False, "description": meaning, "schema": schema}


def _headers_taken(verb: Verb, route: Route) -> Iterator[dict[str, Any]]:
    if verb.changes_one_memory:
        yield _header(
            "If-Match", "An ETag of the memory: change it only if it still states what it stated then."
        )
    if route.method == "GET" and _has_etag(verb, route):
        yield _header("If-None-Match", "An ETag: answer 304 and nothing else if it still is the one.")
    if route.method == "POST" and verb.writes:
        meaning = "A name of your own for this write: sent again, it is answered as before and done once."
        limits = {"minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]*$"}
        yield _header(idempotency.HEADER, meaning, **limits)


def _header(name: str, meaning: str, **limits: Any) -> dict[str, Any]:
    schema = {**_TEXT, **limits}
    return {"name": name, "in": "header", "required": False, "description": meaning, "schema": schema}


def _responses(verb: Verb, route: Route, answers: Answers) -> dict[str, Any]:
    """Return every answer of a verb by its status."""
    found = {"200": _answer(MEANINGS[200], answers.with_computed(verb.gives, route.computed))}
    headers = {"ETag": _ETAG} if _has_etag(verb, route) else {}
    if route.page is not None:
        headers["Link"] = _LINK
    if headers:
        found["200"]["headers"] = headers
    if route.method == "GET" and "ETag" in headers:
        found["304"] = {"description": MEANINGS[304], "headers": {"ETag": _ETAG}}
    for status in sorted(_refusals(verb, route)):
        found[str(status)] = _refusal(status)
    return found


def _refusals(verb: Verb, route: Route) -> frozenset[int]:
    names_memory = any(one.engine_name == "memory_id" for one in fields_of(verb.request))
    return (
        EVERYWHERE
        | route.refusals
        | (WRITES if route.method == "POST" else frozenset())
        | (frozenset({404}) if names_memory else frozenset())
        | (frozenset({412}) if verb.changes_one_memory else frozenset())
    )


def _has_etag(verb: Verb, route: Route) -> bool:
    return route.has_etag or verb.gives is Memory


def _refusal(status: int) -> dict[str, Any]:
    kinds = [kind for kind, answer in ANSWERS.items() if answer.http_status == status]
    codes = ", ".join(sorted(f"{kind.code} {kind.__name__}" for kind in kinds))
    meaning = f"{MEANINGS[status]} ({codes})" if codes else MEANINGS[status]
    return _answer(meaning, {"$ref": f"{REFERENCE}Error"})


def _answer(meaning: str, schema: dict[str, Any], *, media_type: str = JSON) -> dict[str, Any]:
    return {"description": meaning, "content": {media_type: {"schema": schema}}}


def _plain_path(path: str) -> str:
    """Return a path without what only the router understands."""
    return path.replace(":path}", "}")
