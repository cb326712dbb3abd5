"""The description of the API is true: what it promises, the routes keep, whatever they are sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks as promises
from surfaces.in_process import client_of, opened

from engramdb.http.app import Access, create_app
from engramdb.http.openapi import REFERENCE, TAGS, Answers
from engramdb.values import ChatMessage, Filters, Memory, Reasoned, Status, Window
from engramdb.verbs.errors import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb import Engram

EXAMPLES = 3
"""Requests of each kind that are made up for each route; a longer look is EXAMPLES = 60, in two minutes."""
CHECKS = [
    not_a_server_error,
    promises.status_code_conformance,
    promises.content_type_conformance,
    promises.response_headers_conformance,
    promises.response_schema_conformance,
]
ENDLESS = {"/v1/events"}
EVERY_STATUS = Filters(statuses=frozenset(Status))


@pytest.fixture(scope="module")
def engram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """An engine with a few memories of two scopes; every test may do to them what it likes."""
    with opened(tmp_path_factory.mktemp("described")) as engine:
        for number in range(6):
            engine.remember(f"Ada Lovelace drinks tea number {number}", speaker="Ada", session="s1")
        engine.observe("I switched from vim to Helix", session="s1")
        yield engine


@pytest.fixture(scope="module")
def described(engram: Engram) -> Any:
    """The application as schemathesis sees it."""
    app = create_app(engram, access=Access(hosts=("testserver",)))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.fixture(scope="module")
def description(described: Any) -> dict[str, Any]:
    """The description itself."""
    raw: dict[str, Any] = described.raw_schema
    return raw


def operations(described: Any, tag: str) -> list[Any]:
    """Return the routes of a family."""
    found = [one.ok() for one in described.get_all_operations()]
    return [one for one in found if tag in (one.tags or ()) and one.path not in ENDLESS]


def modes(operation: Any) -> list[schemathesis.GenerationMode]:
    """Return in which ways requests can be made up; what takes nothing cannot be sent nonsense."""
    takes = {"parameters", "requestBody"} & set(operation.definition.raw)
    return list(schemathesis.GenerationMode) if takes else [schemathesis.GenerationMode.POSITIVE]


def with_a_real_id(case: Any, memory_id: str) -> None:
    """Make a request speak of a memory that there is, in the scope that it is in."""
    if isinstance(case.body, dict) and "id" in case.body:
        case.body["id"] = memory_id
        case.body.pop("scope", None)
    if "id" in (case.path_parameters or {}):
        case.path_parameters["id"] = memory_id
        case.query = {}


@pytest.mark.parametrize("tag", TAGS)
def test_the_routes_keep_what_the_description_promises(engram: Engram, described: Any, tag: str) -> None:
    """No server error, no status, content type, header or field that is not described."""
    for operation in operations(described, tag):
        for mode in modes(operation):
            # What depends on chance would fail for somebody else: the same requests every time.
            @seed(20261115)
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(mode), is_real=st.booleans(), which=st.integers(0, 5))
            def keeps(case: Any, is_real: bool, which: int) -> None:
                if is_real:
                    known = engram.list(limit=6, filters=EVERY_STATUS)
                    with_a_real_id(case, known[which % len(known)].id)
                case.call_and_validate(checks=CHECKS)

            keeps()


def test_every_route_is_named_and_explained(description: dict[str, Any]) -> None:
    """An operation id of its own, a family that is told of, a sentence, and what it may answer."""
    told = [one for methods in description["paths"].values() for one in methods.values()]
    ids = [one["operationId"] for one in told]
    tags = {tag for one in told for tag in one.get("tags", ())}

    assert len(set(ids)) == len(ids)
    assert set(TAGS) <= tags
    assert {one["name"] for one in description["tags"]} >= set(TAGS)
    assert all(one["description"] for one in told)


def test_every_field_and_parameter_says_what_it_means(description: dict[str, Any]) -> None:
    """Parameters, headers, the fields of requests and those of answers."""
    mute = []
    for path, methods in description["paths"].items():
        for told in methods.values():
            mute += [f"{path} {one['name']}" for one in told.get("parameters", ()) if not one["description"]]
    for name, schema in description["components"]["schemas"].items():
        fields = schema.get("properties", {})
        mute += [f"{name}.{one}" for one, told in fields.items() if not told.get("description")]

    assert mute == []


def test_every_body_has_an_example_that_is_taken(description: dict[str, Any], tmp_path: Path) -> None:
    """A reader who copies it meets no complaint about its form; at most there is no such memory or turn."""
    answers = {}
    with opened(tmp_path) as engram:  # in the shared one another test may have forgotten what one says
        client = client_of(create_app(engram))
        for path, methods in description["paths"].items():
            body = methods.get("post", {}).get("requestBody")
            if body is not None:
                name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                (example,) = description["components"]["schemas"][name]["examples"]
                answers[path] = client.post(path, json=example)

    refused = {
        path: answer.text
        for path, answer in answers.items()
        if answer.status_code not in (200, 404)
        and not any(one in answer.text for one in ("question", "no turn"))
    }
    assert len(answers) > 25
    assert refused == {}


def test_an_error_has_one_shape_and_known_codes(description: dict[str, Any]) -> None:
    """Every refusal of ours refers to it, and it knows every code."""
    error = description["components"]["schemas"]["Error"]
    shapes = set()
    for path, methods in description["paths"].items():
        for told in methods.values():
            for status, one in told["responses"].items():
                if path.startswith("/v1/") and status >= "400":
                    shapes.add(one["content"]["application/json"]["schema"].get("$ref"))

    assert shapes == {"#/components/schemas/Error"}
    assert set(error["properties"]["code"]["enum"]) == {kind.code for kind in ANSWERS}


def test_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    """Nothing of the framework's own shapes is left, and nothing is missing."""
    text = json.dumps(description)
    named = set(description["components"]["schemas"])
    referred = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}

    assert referred <= named
    assert not {"HTTPValidationError", "ValidationError"} & named


@pytest.mark.parametrize("kind", [Memory, Window, Reasoned])
def test_a_schema_has_every_field_of_its_value(kind: type) -> None:
    """All of them are always there, so all of them are required."""
    found = Answers([kind]).defined[kind.__name__]

    shown = [name for name in kind.__struct_fields__ if name != "private"]  # type: ignore[attr-defined]
    assert list(found["properties"]) == found["required"] == shown


def test_a_schema_says_what_is_computed() -> None:
    """A window's text and messages are no fields of it, and are there all the same."""
    found = Answers([Window, str, tuple[ChatMessage, ...]]).with_computed(Window, ("text", "messages"))

    assert found["allOf"][0] == {"$ref": f"{REFERENCE}Window"}
    assert found["allOf"][1]["required"] == ["text", "messages"]


def test_a_schema_tells_moments(description: dict[str, Any]) -> None:
    """Also where they may be null, and never of a text."""
    memory = description["components"]["schemas"]["Memory"]["properties"]

    assert memory["created_at"]["format"] == "date-time"
    assert memory["occurred_at"]["anyOf"][0]["format"] == "date-time"
    assert "format" not in memory["content"]


def test_the_whole_description_is_plain_json(description: dict[str, Any]) -> None:
    """It survives being written and read."""
    assert msgspec.json.decode(msgspec.json.encode(description)) == description
    assert description["openapi"].startswith("3.1")
