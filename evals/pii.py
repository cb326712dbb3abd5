"""
How well personal and secret data in natural messages is classified, through `remember`.

    python -m evals.pii [--half open|sealed|sealed_2|sealed_3] [--reader rules|auto|pack] [--home ~/.engram]

The messages were written from a short brief by somebody who had not seen the rules: `cases.jsonl` hold
something, `near.jsonl` look alike and hold nothing. A case is found when the memory's tier is at least the
labelled one and, where it is confidential, no labelled secret is left in the masked text. The baseline is a
handful of plain patterns, as a store without checks of its own would have them.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from engramdb import Engram, Settings
from engramdb.testing import ManualClock
from engramdb.values import SecurityTier
from evals.report import halves, show

DATA = Path(__file__).parent / "pii_data"
ORDER = {SecurityTier.CLEARTEXT: 0, SecurityTier.SENSITIVE: 1, SecurityTier.CONFIDENTIAL: 2}
MASKED = frozenset(
    {"password", "pin", "api_key", "private_key", "connection_string", "seed_phrase", "one_time_code"}
    | {
        "credit_card",
        "cvv",
        "bank_account",
        "national_id",
        "passport",
        "driving_licence",
        "tax_id",
        "medical_id",
    }
)
"""Labels of what must not be left in the masked text."""
PLAIN_CONFIDENTIAL = re.compile(
    r"(?i)\b\d{3}-\d{2}-\d{4}\b|\b(?:\d[ -]?){13,16}\b|"
    r"(?:password|secret|token|api.?key)\s*(?:is|=|:)\s*\S+|passport number"
)
PLAIN_SENSITIVE = re.compile(
    r"(?i)\b[\w.%+-]+@[\w.-]+\.[a-z]{2,}\b|\b\d{3}[-. ]?\d{3}[-. ]?\d{4}\b|"
    r"\b(?:address|zip code) is\b|my name is \w+"
)
Row = dict[str, Any]


def read(half: str, name: str) -> list[Row]:
    """Return the messages of one file."""
    lines = (DATA / half / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def plain_tier(text: str) -> SecurityTier:
    """Return what the plain patterns say."""
    if PLAIN_CONFIDENTIAL.search(text):
        return SecurityTier.CONFIDENTIAL
    return SecurityTier.SENSITIVE if PLAIN_SENSITIVE.search(text) else SecurityTier.CLEARTEXT


def is_found(case: Row, tier: SecurityTier, shown: str) -> bool:
    """Return whether a case is held back as it must be."""
    if ORDER[tier] < ORDER[SecurityTier(case["tier"])]:
        return False
    return not any(span["kind"] in MASKED and span["text"] in shown for span in case["spans"])


def measure(half: str, *, reader: str, home: Path | None) -> list[Row]:
    """Return a row for us and one for the baseline, and print what was missed by kind."""
    cases, near = read(half, "cases"), read(half, "near")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        settings = Settings(store=str(store), home=home or Path(folder), reader=reader)
        with Engram.open(store, settings=settings, clock=ManualClock(), background=False) as engram:
            stored = {one["text"]: engram.get(engram.remember(one["text"]).id) for one in (*cases, *near)}
    tiers = {text: one.security for text, one in stored.items()}
    shown = {text: one.content for text, one in stored.items()}
    missed: Counter[str] = Counter()
    for case in cases:
        if not is_found(case, tiers[case["text"]], shown[case["text"]]):
            missed.update({span["kind"] for span in case["spans"]})
    print("missed by kind:", dict(missed) or "none")
    plain = {one["text"]: plain_tier(one["text"]) for one in (*cases, *near)}
    return [_row("engram", cases, near, tiers, shown), _row("plain patterns", cases, near, plain, {})]


def _row(
    who: str, cases: list[Row], near: list[Row], tiers: dict[str, SecurityTier], shown: dict[str, str]
) -> Row:
    right = sum(is_found(case, tiers[case["text"]], shown.get(case["text"], "")) for case in cases)
    false = sum(tiers[one["text"]] is not SecurityTier.CLEARTEXT for one in near)
    return {
        "who": who,
        "cases": len(cases),
        "near": len(near),
        "recall": right / len(cases),
        "precision": right / (right + false) if right + false else 1.0,
        "false alarms": false,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m evals.pii")
    parser.add_argument("--half", choices=halves(DATA), default="open")
    parser.add_argument("--reader", choices=("rules", "auto", "pack"), default="auto")
    parser.add_argument("--home", type=Path, help="where the model pack is; without it there is none")
    given = parser.parse_args()
    rows = measure(given.half, reader=given.reader, home=given.home)
    show(f"personal and secret data, {given.half} half", rows)


if __name__ == "__main__":
    main()
