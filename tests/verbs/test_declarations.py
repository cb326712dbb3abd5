"""What a verb declares fits the engine and is complete for every surface."""

from __future__ import annotations

import inspect
from collections import Counter
from datetime import UTC, datetime

import pytest

from engramdb import Engram, Filters, Scope, Status
from engramdb.capture.agents import AgentCapture
from engramdb.errors import InvalidContent, InvalidScope
from engramdb.verbs.decoding import decode, decode_flat
from engramdb.verbs.memories import ListRequest, RememberManyRequest
from engramdb.verbs.questions import RecallRequest
from engramdb.verbs.schema import flat_schemas, request_schemas
from engramdb.verbs.table import VERBS
from engramdb.verbs.verb import Verb, fields_of, flat_fields

OWN_CALLS = {"remember_many", "import_text", "enrich", "working_memory"}
"""Verbs that call the engine in a way of their own."""


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_the_engine_takes_every_field_of_a_request(verb: Verb) -> None:
    """A field that is renamed on one side only is noticed here, not by a caller."""
    owner = AgentCapture if verb.method.startswith("capture.") else Engram
    takes = set(inspect.signature(getattr(owner, verb.method.rpartition(".")[2])).parameters)

    asked = {one.engine_name for one in fields_of(verb.request)}

    assert verb.name in OWN_CALLS or asked <= takes


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_every_verb_and_every_field_says_what_it_is(verb: Verb) -> None:
    """The help, the schema and the reference have nothing else to show."""
    assert verb.summary.endswith(".")
    assert [one.name for one in fields_of(verb.request) if not one.description.endswith(".")] == []


def test_no_two_verbs_share_a_route_a_command_or_a_tool() -> None:
    """What a surface derives is found under one name only."""
    routes = [(one.http.method, one.http.path) for one in VERBS.values() if one.http]
    commands = [one.cli.words for one in VERBS.values() if one.cli]
    tools = [one.mcp for one in VERBS.values() if one.mcp]

    assert max(Counter([*routes, *commands, *tools]).values()) <= 2
    for names in (routes, commands, tools):
        assert len(names) == len(set(names))


@pytest.mark.parametrize("surface", ["cli", "http"])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_flat_names_are_unique(verb: Verb, surface: str) -> None:
    """An option or a parameter means one field; only a GET spreads its filters over the address."""
    if (surface == "cli" and verb.cli) or (verb.http and verb.http.method == "GET"):
        names = [one.flat_name(surface) for one in flat_fields(verb.request, surface)]  # type: ignore[arg-type]
        assert len(names) == len(set(names))


def test_an_address_and_a_body_become_the_same_request() -> None:
    """Scope and filters are objects in a body and stand beside the others in an address."""
    flat = {"limit": "5", "status": ["archived"], "project": "x", "since": "2026-05-08"}
    body = {
        "limit": 5,
        "scope": {"project": "x"},
        "filters": {"statuses": ["archived"], "since": "2026-05-08T02:00+02:00"},
    }

    asked = decode_flat(ListRequest, flat, surface="http")

    assert asked == decode(ListRequest, body, surface="http")
    assert asked.scope == Scope(project="x")
    assert asked.filters == Filters(
        statuses=frozenset({Status.ARCHIVED}), since=datetime(2026, 5, 8, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"query": 1}, "query: Expected"),
        ({}, "query"),
        ({"query": "x", "colour": "red"}, "colour: no such field"),
        ({"query": "x", "filters": {"colour": "red"}}, "filters.colour: no such field"),
        ({"query": "x", "filters": {"statuses": ["secret words"]}}, "filters.statuses"),
        ({"query": "x", "as_of": "yesterday"}, "as_of: that is not a time"),
        ({"query": "\ud800"}, "query: holds half a surrogate pair"),
        ({"query": "x", "dry_run": True}, "cannot be rehearsed"),
        ("x", "not an object"),
    ],
)
def test_a_wrong_request_is_refused_by_the_name_of_the_field(raw: object, told: str) -> None:
    """The message names the field and never shows the value, which may be a memory."""
    with pytest.raises(InvalidContent, match=told) as refused:
        decode(RecallRequest, raw, surface="http")

    assert "secret words" not in refused.value.message


def test_what_a_value_refuses_it_refuses_in_its_own_words() -> None:
    """A scope that is none is an error of scopes."""
    with pytest.raises(InvalidScope):
        decode(RecallRequest, {"query": "x", "scope": {"project": ""}}, surface="http")


def test_statements_among_many_are_checked_too() -> None:
    """An unknown field deep inside is named with its place."""
    raw = {"statements": [{"content": "a"}, {"content": "b", "colour": "red"}]}

    with pytest.raises(InvalidContent, match=r"statements\.1\.colour"):
        decode(RememberManyRequest, raw, surface="http")


def test_schemas_are_described_and_leave_out_what_a_surface_does_not_offer() -> None:
    """HTTP never repairs a store, so its schema does not speak of it."""
    schemas, defined = request_schemas(VERBS.values(), "http", ref_template="#/{name}")

    assert schemas["recall"] == {"$ref": "#/RecallRequest"}
    assert defined["RecallRequest"]["properties"]["limit"]["description"]
    assert defined["DoctorRequest"]["properties"] == {}
    assert flat_schemas(ListRequest, "http")["status"]["items"]["enum"]
