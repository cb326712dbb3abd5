"""
How often a statement is filed where it belongs: layer, type, kind, category and lasting, by its words.

Run by `python -m evals.capture filing`, through `remember` into a store. The table was written before the
rules; the held-out texts are of other hands (training/README.md), one sentence each and worth keeping, and
what layer they belong to follows from their labels as docs/concepts/filing.md says. `label given` passes
the category, which is what most callers and imports have. The former filing put everything into one layer.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engramdb import Engram
from engramdb.errors import SecurityError
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.text.sentences import sentences
from engramdb.values import Memory, Scope
from evals.capture.labelled import DATA

NOW = datetime(2026, 1, 12, 10, tzinfo=UTC)
HELD_OUT = Path(__file__).parents[2] / "training" / "held_out"
LABELS = ("layer", "type", "kind", "category", "lasting")
FORMER = {"layer": "episodic", "type": "fact", "kind": "note", "category": "general", "lasting": None}
_OTHER_LANGUAGES = frozenset({"dutch", "french", "german", "spanish"})
_ACTING = frozenset({"procedure", "principle", "instruction"})
"""The held-out labels tell these apart by other lines than we do."""


def measure() -> list[dict[str, Any]]:
    """Return a row for the table and two for the held-out texts."""
    table: list[dict[str, Any]] = json.loads((DATA / "filing.json").read_text("utf-8"))
    held = list(held_out())
    named = [case | {"given": case["category"]} for case in held]
    return [
        {"cases": "table", **agreement(table)},
        {"cases": "held out", **agreement(held)},
        {"cases": "held out, label given", **agreement(named)},
    ]


def agreement(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the share of cases that agree with each of their labels, and that did before."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(
            Path(folder) / "memory.db", clock=ManualClock(NOW), embedder=TinyEmbedder(), background=False
        ) as engram,
    ):
        stored = [_filed(engram, case, number) for number, case in enumerate(cases)]
    filed = [(case, memory) for case, memory in zip(cases, stored, strict=True) if memory is not None]
    shares: dict[str, Any] = {"number": len(filed)}
    for name in LABELS:
        labelled = [(case, memory) for case, memory in filed if name in case]
        if labelled:
            right = sum(_agrees(case[name], getattr(memory, name)) for case, memory in labelled)
            shares[name] = right / len(labelled)
            shares[f"{name} before"] = sum(case[name] == FORMER[name] for case, _ in labelled) / len(labelled)
    return shares


def held_out() -> Iterator[dict[str, Any]]:
    """Yield the held-out texts of one sentence that are worth keeping, with the layer they belong to."""
    for path in sorted(HELD_OUT.glob("*/utterances.jsonl")):
        if path.parent.name in _OTHER_LANGUAGES:
            continue
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if row["keep"] and row["by"] != "tool" and len(sentences(row["text"])) == 1:
                category = "moment" if row["category"] == "event" else row["category"]
                layer = layer_of(category, row["force"], row["lasting"])
                yield {
                    "text": row["text"],
                    "layer": layer,
                    "category": category,
                    "lasting": row["lasting"],
                }


def layer_of(category: str, force: str, lasting: str) -> str:
    """Return the layer of a statement of which category, force and lasting are known."""
    if force in ("question", "hypothetical"):
        return "episodic"
    if force == "rule" or category in _ACTING:
        return "procedural"
    is_once = category in ("moment", "commitment") or lasting == "passing"
    return "episodic" if is_once or force in ("quoted", "hedged", "request") else "semantic"


def _filed(engram: Engram, case: dict[str, Any], number: int) -> Memory | None:
    """Return the case as it is stored for somebody who knows nothing else; None where it may not enter."""
    try:
        return engram.remember(case["text"], category=case.get("given"), scope=Scope(user=f"u{number}"))
    except SecurityError:
        return None


def _agrees(wanted: str, found: str) -> bool:
    return found == wanted or (found in _ACTING and wanted in _ACTING)
