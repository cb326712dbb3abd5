"""Links travel with the memories that they join, and only with both of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from engramdb import Engram, Scope
from engramdb.capture.writer import BULK_ROWS
from engramdb.exporting.export import line_of
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.values import EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAYA = Scope(user="maya")
TOM = Scope(user="tom")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Engram]:
    """An empty memory of somebody else."""
    path = tmp_path / "other.db"
    with Engram.open(path, clock=ManualClock(), embedder=TinyEmbedder(), background=False) as opened:
        yield opened


def exported(engram: Engram, path: Path, **options: Any) -> Path:
    """Write an export to a file."""
    path.write_bytes(b"".join(line_of(one) for one in engram.export(**options)))
    return path


def lines(path: Path, *objects: dict[str, Any]) -> Path:
    """Write lines of an export by hand."""
    path.write_text("\n".join(json.dumps({"engram": 1} | one) for one in objects))
    return path


def to(name: str, kind: str = "supports", weight: float = 0.5) -> dict[str, Any]:
    """Return a link as a line says it."""
    return {"to": name, "type": kind, "weight": weight}


def said(engram: Engram, *scopes: Scope) -> set[tuple[str, str, str, float]]:
    """Return the links of what scopes hold: from which words to which, of which type, how strong."""
    found = {}
    for scope in scopes or (Scope(),):
        words = {one.id: one.content for one in engram.list(limit=1000, scope=scope)}
        for one in words:
            for edge in engram.links(one, scope=scope):
                found[edge] = (words[edge.source], words[edge.target], edge.type.value, edge.weight)
    return set(found.values())


def test_a_round_trip_keeps_the_links(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """What a person said of two memories is said of them in the other store, with type and weight."""
    boat, storm = engram.remember("The boat is damaged"), engram.remember("A storm came in March")
    engram.link(boat.id, storm.id, type=EdgeType.CAUSED_BY, weight=0.7)

    report = other.import_from(exported(engram, tmp_path / "all.jsonl"))

    assert ("The boat is damaged", "A storm came in March", "caused_by", 0.7) in said(other)
    assert said(other) == said(engram)
    assert report.links == len(said(engram))


def test_an_end_that_stays_behind_takes_its_links_along(engram: Engram, tmp_path: Path) -> None:
    """An export names no memory that is not in it."""
    boat, card = engram.remember("The boat is damaged"), engram.remember("My card is 4111 1111 1111 1111")
    engram.link(boat.id, card.id)

    path = exported(engram, tmp_path / "all.jsonl")

    assert card.id not in path.read_text()


def test_twice_sets_nothing_and_brings_nothing_back(engram: Engram, other: Engram, tmp_path: Path) -> None:
    """A link that was taken away after the first import stays away."""
    boat, storm = engram.remember("The boat is damaged"), engram.remember("A storm came in March")
    engram.link(boat.id, storm.id, type=EdgeType.CAUSED_BY)
    path = exported(engram, tmp_path / "all.jsonl")
    other.import_from(path)
    ids = {one.content: one.id for one in other.list()}
    other.unlink(ids["The boat is damaged"], ids["A storm came in March"], type=EdgeType.CAUSED_BY)

    again = other.import_from(path)

    assert again.links == 0
    assert "caused_by" not in {kind for _, _, kind, _ in said(other)}


@pytest.mark.parametrize("order", [("boat", "storm"), ("storm", "boat")])
def test_the_rest_of_an_interrupted_import_is_linked_to_its_beginning(
    other: Engram, tmp_path: Path, order: Sequence[str]
) -> None:
    """Whichever end had come in, the link is there as soon as the other one is."""
    objects: dict[str, dict[str, Any]] = {
        "boat": {"id": "boat", "content": "The boat is damaged", "links": [to("storm")]},
        "storm": {"id": "storm", "content": "A storm came in March"},
    }
    other.import_from(lines(tmp_path / "begun.jsonl", objects[order[0]]))

    rest = other.import_from(lines(tmp_path / "whole.jsonl", *(objects[name] for name in order)))

    assert (rest.added, rest.already, rest.links) == (1, 1, 1)
    assert said(other) == {("The boat is damaged", "A storm came in March", "supports", 0.5)}


def test_ends_may_stand_far_apart_in_a_file(other: Engram, tmp_path: Path) -> None:
    """Records come in by the hundred; a link waits for its other end however many come between."""
    between = [{"id": f"n{n}", "content": f"Item {n} of house {n * 37}"} for n in range(BULK_ROWS + 1)]
    first = {"id": "boat", "content": "The boat is damaged", "links": [to("storm")]}

    report = other.import_from(
        lines(tmp_path / "all.jsonl", first, *between, {"id": "storm", "content": "A storm came in March"})
    )

    assert report.links == 1


@pytest.mark.parametrize(
    "link",
    [
        to("nowhere"),
        to("boat"),
        to("storm", "supersedes"),
        to("storm", "friend_of"),
        to("storm", weight=7),
        to("tom's"),
        {"to": "storm"},
        {"to": ["storm"], "type": {}, "weight": "much"},
        "storm",
    ],
    ids=["nowhere", "itself", "engine's own", "no type", "too much", "another's", "bare", "odd", "no object"],
)
def test_a_link_that_nobody_could_set_is_not_set(other: Engram, tmp_path: Path, link: object) -> None:
    """A file may claim anything: what `link` would refuse stays away, and the memories come in."""
    path = lines(
        tmp_path / "all.jsonl",
        {"id": "boat", "content": "The boat is damaged", "scope": {"user": "maya"}, "links": [link]},
        {"id": "storm", "content": "A storm came in March", "scope": {"user": "maya"}},
        {"id": "tom's", "content": "Tom sold his bicycle", "scope": {"user": "tom"}},
    )

    report = other.import_from(path)

    assert (report.added, report.links) == (3, 0)
    assert said(other, MAYA, TOM) == set()


def test_a_circle_of_causes_is_not_closed(other: Engram, tmp_path: Path) -> None:
    """Of two links that would let a memory prove itself one comes in."""
    path = lines(
        tmp_path / "all.jsonl",
        {"id": "boat", "content": "The boat is damaged", "links": [to("storm", "caused_by")]},
        {"id": "storm", "content": "A storm came in March", "links": [to("boat", "caused_by")]},
    )

    report = other.import_from(path)

    assert report.links == 1


def test_what_was_forgotten_is_not_linked_again(other: Engram, tmp_path: Path) -> None:
    """The first import brought one end, which was forgotten; the second brings the other."""
    storm = {"id": "storm", "content": "A storm came in March"}
    other.import_from(lines(tmp_path / "first.jsonl", storm))
    other.forget(other.list()[0].id)
    boat = {"id": "boat", "content": "The boat is damaged", "links": [to("storm")]}

    report = other.import_from(lines(tmp_path / "second.jsonl", storm, boat))

    assert (report.added, report.links) == (1, 0)
