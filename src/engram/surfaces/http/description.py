"""
Describe the API to programs: /openapi.json with what every route answers, also where it refuses.

Installed by `app`. FastAPI knows the requests; the answers come from what `routes.family` was told of each
route, their schemas from the values, and the refusals from the one table of errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi.openapi.utils import get_openapi

from engram.surfaces.errors import ANSWERS
from engram.surfaces.http.allowed import READS
from engram.surfaces.http.once import HEADER
from engram.surfaces.http.replies import JSON
from engram.surfaces.http.schemas import REFERENCE, Schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

    from engram.surfaces.http.routes.family import Told

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
    found = {"200": _answer("The answer.", schemas.of(told.gives))}
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
        found[str(status)] = _answer(MEANINGS[status], schemas.of(kind))
    return found


def _refusal(status: int) -> dict[str, Any]:
    kinds = [kind for kind, answer in ANSWERS.items() if answer.http_status == status]
    codes = ", ".join(sorted(f"{kind.code} {kind.__name__}" for kind in kinds))
    meaning = f"{MEANINGS[status]} ({codes})" if codes else MEANINGS[status]
    return _answer(meaning, {"$ref": f"{REFERENCE}Error"})


def _answer(meaning: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": meaning, "content": {JSON: {"schema": schema}}}
