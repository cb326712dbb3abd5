"""
How often the intent of a question is guessed right, without a model.

Run by `python -m evals.queries intents`; calls `engramdb.recall.intent` on questions labelled with one
intent each, and beside it the few rules that Engram was asked for, as a yardstick. Rows: the halves; the
later voices, which have been tuned on; what was written afterwards, which has not. `failures(name)` shows
mistakes: of the tune half and the voices, please. Write-up: docs/lab/0012-intents.md.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb.recall.intent import Intent, classify
from engramdb.text.moments import find_moments
from evals.capture.labelled import half_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LABELS = Path(__file__).parent / "data" / "intents.json"
SETS = ("tune", "held out", "second voice", "third voice", "fourth voice", "afterwards")
VOICES = {2: "second voice", 3: "third voice", 4: "fourth voice"}
"""Batches written after the code, scored once, and then tuned on; first scores are in the lab note."""

SURE = 0.7
"""From this confidence on, an entity's profile is asked for directly."""

_ROUNDS = 3
"""How often each question is read for the time; the fastest counts, as others share the machine."""

_ANY_NOW = datetime(2026, 1, 1, tzinfo=UTC)

Case = dict[str, Any]


def measure() -> list[dict[str, Any]]:
    """Return a row for each set: all of it, English, other languages; ours and the yardstick."""
    rows = []
    for name in SETS:
        labelled = cases(name)
        english = [case for case in labelled if case["language"] == "en"]
        others = [case for case in labelled if case["language"] != "en"]
        for group, chosen in (("all", labelled), ("English", english), ("other", others)):
            rows.append({"set": name, "language": group, **_row(chosen)})
    return rows


def cases(name: str) -> list[Case]:
    """Return one of the sets, each case with its `text`, `intent` and `language`."""
    return [case for case in _every() if _set_of(case) == name]


def failures(name: str) -> list[tuple[str, str, str]]:
    """Return (labelled, guessed, text) for every mistake in a set."""
    guessed = [(case, classify(case["text"]).intent) for case in cases(name)]
    return [
        (case["intent"], intent.value, case["text"]) for case, intent in guessed if intent != case["intent"]
    ]


def by_intent(name: str) -> list[dict[str, Any]]:
    """Return a row for each intent of a set: how many, how many found, how many claims were right."""
    pairs = [(Intent(case["intent"]), classify(case["text"]).intent) for case in cases(name)]
    actual, claimed = Counter(true for true, _ in pairs), Counter(said for _, said in pairs)
    right = Counter(true for true, said in pairs if true == said)
    return [
        {
            "intent": intent.value,
            "cases": actual[intent],
            "recall": right[intent] / max(1, actual[intent]),
            "precision": right[intent] / max(1, claimed[intent]),
        }
        for intent in Intent
    ]


def yardstick(text: str) -> Intent:
    """Return the intent by a few substrings, time phrases and a count of words, as first described."""
    lower, words = text.lower(), len(text.split())
    points: Counter[Intent] = Counter()
    points[Intent.LOOKUP] = 2 * (words <= 8) + 3 * _any(lower, "what is", "what's")
    points[Intent.EXPLORATORY] = 3 * _any(lower, "tell me about", "what do") + (words > 12)
    points[Intent.COMPARATIVE] = 4 * _any(lower, "compar", "differ", " vs ")
    points[Intent.TEMPORAL] = 5 * bool(_any(lower, "when ") or find_moments(text, now=_ANY_NOW))
    points[Intent.PROCEDURAL] = 4 * _any(lower, "how do", "how to", "steps")
    points[Intent.CAUSAL] = 4 * _any(lower, "why", "cause", "reason")
    return points.most_common(1)[0][0]


def _any(text: str, *pieces: str) -> bool:
    return any(piece in text for piece in pieces)


def _row(labelled: Sequence[Case]) -> dict[str, Any]:
    found = [classify(case["text"]) for case in labelled]
    right = [one.intent == case["intent"] for case, one in zip(labelled, found, strict=True)]
    sure = [is_right for is_right, one in zip(right, found, strict=True) if one.confidence >= SURE]
    return {
        "cases": len(labelled),
        "accuracy": sum(right) / max(1, len(right)),
        "sure": len(sure) / max(1, len(right)),
        "accuracy when sure": sum(sure) / max(1, len(sure)),
        "yardstick": sum(yardstick(case["text"]) == case["intent"] for case in labelled) / max(1, len(right)),
        "ms": _milliseconds(classify, labelled),
    }


def _milliseconds(read: Callable[[str], object], labelled: Sequence[Case]) -> float:
    """Return the median over the questions of the fastest reading of each."""
    fastest = sorted(min(_timed(read, case["text"]) for _ in range(_ROUNDS)) for case in labelled)
    return fastest[len(fastest) // 2] * 1000 if fastest else 0.0


def _timed(read: Callable[[str], object], text: str) -> float:
    start = time.perf_counter()
    read(text)
    return time.perf_counter() - start


def _set_of(case: Case) -> str:
    if case.get("afterwards"):
        return "afterwards"
    return VOICES.get(case.get("batch", 1)) or half_of(case["text"])


@cache
def _every() -> list[Case]:
    found: list[Case] = json.loads(LABELS.read_text("utf-8"))
    return found
