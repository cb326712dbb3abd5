"""
How well names are found in text by another hand: precision, recall, types and other names.

Run by `python -m evals.capture blind_names`. Half of the texts are in small letters, and some name nothing;
the open half may be looked at, the sealed half only counted. Each text is remembered in a store of its own,
as said by `by`, and the entities that it is linked to are compared with the labels. Files ("README.md"), the
speaker who speaks of himself and descriptions ("Aarav's sister") are entities to us and no names to the
labels, so they are left out of the count. Beside it every run of capitalised words. Write-up:
docs/lab/0055-topics-and-names.md.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from engramdb import Engram, Settings
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import ManualClock
from engramdb.text.names import fold, fold_name
from engramdb.values import GLOBAL, Entity, EntityType
from evals.capture.labelled import DATA, scores

TYPES = {
    "person": {EntityType.PERSON},
    "organization": {EntityType.ORGANIZATION},
    "place": {EntityType.LOCATION},
    "project": {EntityType.PROJECT, EntityType.SERVICE},
    "product": {EntityType.TECHNOLOGY, EntityType.SERVICE},
}
_CAPITALISED = re.compile(r"[A-ZÀ-Þ][\w'’.-]*\w(?: [A-ZÀ-Þ][\w'’.-]*\w)*")


def measure() -> list[dict[str, Any]]:
    """Return a row for each half, and for its texts in small letters and its texts that name nothing."""
    rows = []
    for half in ("open", "sealed"):
        labelled = read(half)
        if not labelled:
            continue
        small = [case for case in labelled if case["text"] == case["text"].lower()]
        rows += [
            {"half": half, **_baseline(labelled)},
            {"half": half, **_row("engram", labelled)},
            {"half": half, **_row("engram, small letters", small)},
        ]
    return rows


def read(half: str) -> list[dict[str, Any]]:
    """Return the labelled texts of a half; none where it is not there."""
    path = DATA / f"blind_names_{half}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def entities(case: dict[str, Any]) -> list[Entity]:
    """Return what Engram takes a text to name, without what the labels do not count."""
    speaker = None if case["by"] == "user" else case["by"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(home=Path(folder), embedder="static")
        with Engram.open(path, settings=settings, background=False) as engram:
            memory = engram.remember(case["text"], speaker=speaker)
        store = SqliteStore.open(str(path), now=ManualClock().now())
        with store.read() as tx:
            found = tx.entities.of_memory(memory.id, scope=GLOBAL)
        store.close()
    return [one for one in found if not _is_left_out(one, speaker, case["text"])]


def _is_left_out(entity: Entity, speaker: str | None, text: str) -> bool:
    is_silent_speaker = speaker is not None and fold(entity.name) == fold(speaker) and speaker not in text
    return entity.type is EntityType.FILE or is_silent_speaker or "'s " in entity.name


def judge(case: dict[str, Any], found: list[Entity]) -> Counter[str]:
    """Return how many names are found, made up and missed, are of the right type, and have their aliases."""
    tally: Counter[str] = Counter()
    left = list(found)
    for label in case["names"]:
        entity = next((one for one in left if _is_called(one, label)), None)
        if entity is None:
            tally["missed"] += 1
        else:
            left.remove(entity)
            tally["hit"] += 1
            tally["typed"] += entity.type in TYPES[label["type"]]
            own = {fold_name(name, entity.type) for name in (entity.name, *entity.aliases)}
            wanted = {fold_name(name, entity.type) for name in (label["name"], *label["aliases"])}
            tally["aliased"] += len(label["aliases"]) if wanted <= own else 0
        tally["aliases"] += len(label["aliases"])
    tally["false"] += len(left)
    return tally


def _is_called(entity: Entity, label: dict[str, Any]) -> bool:
    wanted = {fold_name(name, entity.type) for name in (label["name"], *label["aliases"])}
    return fold_name(entity.name, entity.type) in wanted


def _row(way: str, labelled: list[dict[str, Any]]) -> dict[str, Any]:
    tally: Counter[str] = Counter()
    for case in labelled:
        tally += judge(case, entities(case))
    return {
        "way": way,
        "texts": len(labelled),
        **scores(tally["hit"], tally["false"], tally["missed"]),
        "made up": tally["false"],
        "type": tally["typed"] / max(1, tally["hit"]),
        "other names": f"{tally['aliased']} of {tally['aliases']}",
    }


def _baseline(labelled: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how far every run of capitalised words gets."""
    hit = false = missed = 0
    for case in labelled:
        wanted = {fold_name(label["name"]) for label in case["names"]}
        found = {fold_name(match.group()) for match in _CAPITALISED.finditer(case["text"])}
        hit, false, missed = (
            hit + len(wanted & found),
            false + len(found - wanted),
            missed + len(wanted - found),
        )
    return {"way": "capitals", "texts": len(labelled), **scores(hit, false, missed), "made up": false}
