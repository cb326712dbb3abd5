"""
How well names are found, typed and recognised again.

Run by `python -m evals.capture entities`. Mentions are compared by their text; `type` is the share of those
found that have the right type; `resolution` is end to end: found, and taken for the right known entity or
rightly for a new one; `resolution alone` gives the resolver the labelled mentions and counts the known ones.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engramdb.lifecycle.entities import recognise, resolve
from engramdb.values import Entity, EntityType, Mention
from evals.capture.labelled import HALVES, cases, scores

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_Answer = dict[str, tuple[EntityType, str | None]]


def measure() -> list[dict[str, Any]]:
    """Return one row per half."""
    return [{"half": half, **_row(cases("entities", half))} for half in HALVES]


def _row(labelled: list[dict[str, Any]]) -> dict[str, Any]:
    names, typed, linked, alone = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for case in labelled:
        gold, found = wanted(case), answer(case)
        names += _tally(set(gold), set(found))
        typed += Counter(right=sum(found[t][0] is gold[t][0] for t in gold.keys() & found.keys()))
        linked += _tally({(t, gold[t][1]) for t in gold}, {(t, found[t][1]) for t in found})
        given = _resolved(case, [Mention(text=text, type=kind) for text, (kind, _) in gold.items()])
        alone += _tally(
            {(t, gold[t][1]) for t in gold if gold[t][1]}, {(t, given[t][1]) for t in given if given[t][1]}
        )
    mention = _scores(names)
    resolution = _scores(linked)
    return {
        "cases": len(labelled),
        "mentions P": mention["precision"],
        "mentions R": mention["recall"],
        "mentions F1": mention["F1"],
        "type": typed["right"] / max(1, names["hit"]),
        "resolution P": resolution["precision"],
        "resolution R": resolution["recall"],
        "resolution F1": resolution["F1"],
        "resolution alone F1": _scores(alone)["F1"],
    }


def wanted(case: dict[str, Any]) -> _Answer:
    """Return the labels of a case by the text of each mention."""
    return {one["text"]: (EntityType(one["type"]), one["same_as"]) for one in case["mentions"]}


def answer(case: dict[str, Any]) -> _Answer:
    """Return what Engram finds in a case, in the form of its labels."""
    known = _known(case)
    found = recognise(case["text"], speaker=case["speaker"], candidates=lambda _mention: known)
    return _resolved(case, [mention for mention, _ in found])


def _resolved(case: dict[str, Any], found: Iterable[Mention]) -> _Answer:
    """Resolve mentions in turn; one that is new is known to those after it."""
    known = _known(case)
    originals = {entity.id for entity in known}
    answers: _Answer = {}
    for mention in found:
        entity = resolve(mention, known)
        if entity is None:
            known.append(_entity(f"new {len(known)}", mention.text, mention.type, ()))
        same_as = entity.name if entity is not None and entity.id in originals else None
        answers[mention.text] = (mention.type, same_as)
    return answers


def _known(case: dict[str, Any]) -> list[Entity]:
    return [
        _entity(str(number), one["name"], EntityType(one["type"]), tuple(one["aliases"]))
        for number, one in enumerate(case["known"])
    ]


def _entity(entity_id: str, name: str, kind: EntityType, aliases: tuple[str, ...]) -> Entity:
    return Entity(id=entity_id, name=name, type=kind, aliases=aliases, first_seen=_NOW, last_seen=_NOW)


def _tally(gold: set[Any], found: set[Any]) -> Counter[str]:
    return Counter(hit=len(gold & found), false=len(found - gold), missed=len(gold - found))


def _scores(tally: Counter[str]) -> dict[str, float]:
    return scores(tally["hit"], tally["false"], tally["missed"])
