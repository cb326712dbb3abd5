"""
How well personal and secret data in natural messages is classified, through `remember`.

    python -m evals.pii [--half open|sealed]

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
from engramdb.text.pii import conceal_secrets
from engramdb.values import SecurityTier
from evals.report import show

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


def measure(half: str) -> list[Row]:
    """Return a row for us and one for the baseline, and print what was missed by kind."""
    cases, near = read(half, "cases"), read(half, "near")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        settings = Settings(store=str(store), home=Path(folder))
        with Engram.open(store, settings=settings, clock=ManualClock(), background=False) as engram:
            tiers = {one["text"]: engram.remember(one["text"]).security for one in (*cases, *near)}
    missed: Counter[str] = Counter()
    for case in cases:
        if not is_found(case, tiers[case["text"]], _masked(case["text"], tiers[case["text"]])):
            missed.update({span["kind"] for span in case["spans"]})
    print("missed by kind:", dict(missed) or "none")
    ours = _row("engram", cases, near, tiers)
    return [
        ours,
        _row(
            "plain patterns", cases, near, {one["text"]: plain_tier(one["text"]) for one in (*cases, *near)}
        ),
    ]


def _masked(text: str, tier: SecurityTier) -> str:
    return conceal_secrets(text) if tier is SecurityTier.CONFIDENTIAL else text


def _row(who: str, cases: list[Row], near: list[Row], tiers: dict[str, SecurityTier]) -> Row:
    def shown(case: Row) -> str:
        return _masked(case["text"], tiers[case["text"]]) if who == "engram" else ""

    right = sum(is_found(case, tiers[case["text"]], shown(case)) for case in cases)
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
    parser.add_argument("--half", choices=("open", "sealed"), default="open")
    half = parser.parse_args().half
    show(f"personal and secret data, {half} half", measure(half))


if __name__ == "__main__":
    main()
