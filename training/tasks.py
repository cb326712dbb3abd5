"""
The tasks of the reader, and what an example is. Imports nothing of ours, so that a bare GPU machine can
train.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

RELATIONS = ("same", "conflict", "refines", "related", "unrelated")
FORCES = ("asserted", "hedged", "hypothetical", "quoted", "question", "request", "rule")
LASTING = ("permanent", "stable", "passing", "dated", "none")
CATEGORIES = (
    "fact",
    "preference",
    "decision",
    "commitment",
    "correction",
    "relationship",
    "event",
    "procedure",
    "principle",
    "skill",
    "none",
)
TASKS: dict[str, tuple[str, ...]] = {
    "relation": RELATIONS,
    "keep": ("no", "yes"),
    "force": FORCES,
    "lasting": LASTING,
    "category": CATEGORIES,
    "hostile": ("no", "yes"),
    "answers": ("no", "yes"),
    "premise": ("no", "yes"),
    "doubtful": ("no", "yes"),
}
HARMLESS = ("refines", "related", "unrelated")
"""What two memories of one topic may be to each other when nobody has said which."""


@dataclass(slots=True)
class Example:
    """One input, and what is known of it."""

    first: str
    second: str
    domain: str
    kind: str
    labels: dict[str, list[int]] = field(default_factory=dict)
    """For each task the classes that are right; more than one where the data does not say which."""
    tokens: list[int] = field(default_factory=list)
    group: int | None = None
    """The topic of a question, where its memories were written together."""


def label(task: str, *names: str) -> dict[str, list[int]]:
    """Return the label of one task: the classes that are right."""
    return {task: [TASKS[task].index(name) for name in names]}


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """Write examples with their tokens, one to a line."""
    with _open(path, "wt") as target:
        target.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in examples)


def read_examples(path: Path) -> list[Example]:
    """Read what `write_examples` wrote."""
    with _open(path, "rt") as source:
        return [Example(**json.loads(line)) for line in source]


def _open(path: Path, mode: str) -> IO[str]:
    """Open a text file, packed when its name says so."""
    return (gzip.open if path.suffix == ".gz" else open)(path, mode, encoding="utf-8")  # type: ignore[return-value]
