"""
How often the stretch of time that a question asks for is found, exact to the day.

Run by `python -m evals.queries times`; calls `engramdb.recall.period` on questions labelled with the
first and the last day that they mean, both included, seen from their own now. `failures(half)` shows
where it went wrong: look at the tune half only. The write-up is docs/lab/0013-time-in-questions.md.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb.recall.period import find_period, resolve_anchor
from evals.capture.labelled import HALVES, half_of

if TYPE_CHECKING:
    from engramdb.recall.period import Period

LABELS = Path(__file__).parent / "data" / "times.json"
LATER = {1: "afterwards, learned from", 2: "after that, learned from", 3: "last of all"}
_ROUNDS = 5
"""How often each question is timed; the fastest counts, as others share the machine."""

_Days = tuple[str | None, str | None]


def measure() -> list[dict[str, Any]]:
    """Return rows for all, English and other languages: of each half, and of each later batch."""
    rows = []
    for name in (*HALVES, *LATER.values()):
        labelled = cases(name)
        english = [case for case in labelled if case["language"] == "en"]
        others = [case for case in labelled if case["language"] != "en"]
        groups = {"all": labelled, "English": english, "other": others}
        rows += [{"half": name, "language": group, **_row(chosen)} for group, chosen in groups.items()]
    return rows


def cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of a half, or of a batch that was written when the code was there."""
    every: list[dict[str, Any]] = json.loads(LABELS.read_text("utf-8"))
    if name in HALVES:
        return [case for case in every if not case.get("afterwards") and half_of(case["text"]) == name]
    return [case for case in every if LATER.get(case.get("batch", 0)) == name]


def failures(name: str) -> list[str]:
    """Return a line for every question that was misread."""
    return [
        f"{verdict}: {case['text']!r} [{case['language']}] {_wanted(case)} got {_found(case)}"
        for case in cases(name)
        if (verdict := judge(case)) not in ("exact", "silent")
    ]


def judge(case: dict[str, Any]) -> str:
    """Return exact, wrong or missed where a time is asked for, and silent or invented where none is."""
    found = _period(case)
    if "start" not in case:
        return "silent" if found is None else "invented"
    if found is None:
        return "missed"
    return "exact" if _found(case) == _wanted(case) else "wrong"


def _row(labelled: list[dict[str, Any]]) -> dict[str, Any]:
    verdicts = Counter(judge(case) for case in labelled)
    asking = verdicts["exact"] + verdicts["wrong"] + verdicts["missed"]
    idle = verdicts["silent"] + verdicts["invented"]
    times = [_milliseconds(case) for case in labelled]
    return {
        "with a time": asking,
        "exact": _share(verdicts["exact"], asking),
        "wrong": verdicts["wrong"],
        "missed": verdicts["missed"],
        "without": idle,
        "silent": _share(verdicts["silent"], idle),
        "ms": sum(times) / max(1, len(times)),
        "ms worst": max(times, default=0.0),
    }


def _share(count: int, total: int) -> float | str:
    return count / total if total else "none"


def _period(case: dict[str, Any]) -> Period | None:
    return find_period(case["text"], now=datetime.fromisoformat(case["now"]))


def _found(case: dict[str, Any]) -> tuple[_Days, str | None]:
    """Return the days and the event of a question; a labelled moment dates what hangs on the event."""
    found = _period(case)
    if found is None:
        return (None, None), None
    anchor = found.anchor.casefold() if found.anchor else None
    if "happened_at" in case:
        found = resolve_anchor(found, datetime.fromisoformat(case["happened_at"]))
    last = found.end - timedelta(microseconds=1) if found.end else None
    return (_day(found.start), _day(last)), anchor


def _wanted(case: dict[str, Any]) -> tuple[_Days, str | None]:
    anchor = case.get("anchor")
    return (case.get("start"), case.get("end")), anchor.casefold() if anchor else None


def _day(moment: datetime | None) -> str | None:
    return moment.date().isoformat() if moment else None


def _milliseconds(case: dict[str, Any]) -> float:
    now = datetime.fromisoformat(case["now"])
    fastest = float("inf")
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        find_period(case["text"], now=now)
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest * 1000
