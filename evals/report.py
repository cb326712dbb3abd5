"""
Show rows of numbers as a table and keep them as JSON.

Used by every eval, so that all of them look alike and can be compared by a script.
"""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "results"


LEAST_OVERLAP = 0.6
"""Of the words that are looked for, as many must stand in one text."""


def holds(told: str, words: str) -> bool:
    """Return whether a text holds most of some words, in whatever order."""
    own, wanted = (set(re.findall(r"\w+", text.casefold())) for text in (told, words))
    return len(own & wanted) >= LEAST_OVERLAP * len(wanted)


def halves(data: Path) -> list[str]:
    """Return the names of the sets of an eval: `open`, which may be read, and those that stay sealed."""
    return sorted(one.name for one in data.iterdir() if one.is_dir())


def show(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows as a Markdown table."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    print(f"\n## {title}\n")
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names))
    for row in rows:
        print("| " + " | ".join(_text(row.get(name, "")) for name in names) + " |")


def keep(name: str, found: dict[str, Any], *, path: Path | None = None) -> Path:
    """Write the numbers and the machine that they come from to a JSON file, and return where it is."""
    path = path or RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "system": platform.system(), "cores": _cores()}
    path.write_text(json.dumps({"eval": name, "machine": machine, **found}, indent=1, default=str) + "\n")
    return path


def _text(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _cores() -> int:
    return os.cpu_count() or 1
