"""Small histories in which something changes, and traps in which nothing does: what is told now and then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engramdb import Engram, Recall, Scope, Settings
from evals.beliefs.counting import Share, Tally
from evals.beliefs.telling import (
    BASELINES,
    HAS_VALID_AT,
    RETIRED,
    TOP,
    Answers,
    AskedEngram,
    Shown,
    answering,
    baseline,
    day,
    is_marked,
    memories_in,
    opened,
    rows,
    says,
    tell,
    told_by,
    turns_of,
    words_of,
)

STORIES_WANTED: dict[str, Share] = {
    "current first": ("≥", 0.8),
    "stale shown unmarked": ("≤", 0.05),
    "as_of right": ("≥", 0.95),
    "valid_at right": ("≥", 0.95),
    "timeline tells both": ("≥", 0.9),
}
PREMISES_WANTED: dict[str, Share] = {
    "outdated premises flagged": ("≥", 0.8),
    "ordinary questions flagged": ("≤", 0.02),
    "dependants marked": ("≥", 0.6),
    "unrelated ones marked": ("≤", 0.05),
}
HAS_PREMISES = "premises" in Recall.__struct_fields__
TRAPS_WANTED: dict[str, Share] = {"right first": ("≥", 0.95)}


def measure_stories(
    half: str, ways: Sequence[str], settings: Settings, limit: int
) -> dict[str, dict[str, Tally]]:
    """Return a column for each way and baseline."""
    every = {f"story {row['id']}": row for row in rows("stories", half)[:limit]}
    talks = {name: turns_of(row) for name, row in every.items()}
    columns: dict[str, Tally] = {}
    premises: dict[str, Tally] = {}
    for way in ways:
        tally = columns[way] = Tally()
        doubts = premises[way] = Tally()
        with opened(settings) as (engram, clock):
            tell(engram, clock, talks, way)
            answers = answering(engram, talks)
            for name, row in every.items():
                _note_ripples(engram, Scope(user=name), row, doubts)
                _ask_premises(engram, Scope(user=name), row, doubts)
                _ask_now(row, answers[name], tally)
                _ask_then(row, answers[name], tally)
                tally.note("timeline tells both", _tells_both(engram, Scope(user=name), row))
    for title in BASELINES:
        tally = columns[title] = Tally()
        for name, asked in baseline(title, settings, talks).items():
            _ask_now(every[name], asked, tally)
            _ask_then(every[name], asked, tally)
    return {"stories": columns, "premises": premises}


def _ask_now(row: Mapping[str, Any], asked: Answers, tally: Tally) -> None:
    found = asked.best(row["question"])
    current = [says(row["current"], one.text) for one in found]
    stale = [says(row["stale"], one.text) and not now for one, now in zip(found, current, strict=True)]
    unmarked = [then and not one.is_marked for one, then in zip(found, stale, strict=True)]
    first = current.index(True) if any(current) else len(found)
    example = f"{row['id']} {row['kind']}: {row['question']} → {[one.text for one in found][:2]}"
    tally.note("current first", current[:1] == [True], missed=example)
    tally.note("current in the top five", any(current))
    tally.note("stale shown unmarked", any(unmarked), held=f"{row['id']} {row['kind']}")
    tally.note("stale unmarked above the current", any(unmarked[:first]))


def _ask_then(row: Mapping[str, Any], asked: Answers, tally: Tally) -> None:
    for past in row["past"]:
        at, believed, true = day(past["at"]), past["believed"], past["true"]
        known = (row["current"], row["stale"], believed, true)
        found = asked.best(row["question"], as_of=at)
        tally.note("as_of right", _tells_first(believed, known, found))
        if HAS_VALID_AT or not isinstance(asked, AskedEngram):
            found = asked.best(row["question"], valid_at=at)
            tally.note("valid_at right", _tells_first(true, known, found))
            if believed != true:
                tally.note("valid_at right, told late", _tells_first(true, known, found))
        else:
            tally.absent.add("valid_at right")


def _tells_first(wanted: str, known: Sequence[str], found: Sequence[Shown]) -> bool:
    """Return whether the first line that answers at all gives this answer."""
    first = next((one.text for one in found if any(says(pattern, one.text) for pattern in known)), "")
    return says(wanted, first)


def _tells_both(engram: Engram, scope: Scope, row: Mapping[str, Any]) -> bool:
    entries = engram.timeline(row["question"], scope=scope).entries
    every = [one for entry in entries for one in (entry.memory, entry.replaced, entry.disputed) if one]
    texts = [words_of(memory) for memory in every]
    return all(any(says(row[name], text) for text in texts) for name in ("current", "stale"))


def _ask_premises(engram: Engram, scope: Scope, row: Mapping[str, Any], tally: Tally) -> None:
    if not HAS_PREMISES:
        tally.absent |= {"outdated premises flagged", "ordinary questions flagged"}
        return
    if row["premise"]:
        is_flagged = _is_flagged(engram, row["premise"], scope)
        tally.note("outdated premises flagged", is_flagged, missed=f"{row['id']} {row['premise']}")
    for question in (*row["ordinary"], row["question"]):
        is_flagged = _is_flagged(engram, question, scope)
        tally.note("ordinary questions flagged", is_flagged, held=f"{row['id']} {question}")


def _is_flagged(engram: Engram, question: str, scope: Scope) -> bool:
    return bool(getattr(engram.recall(question, limit=TOP, scope=scope), "premises", ()))


def _note_ripples(engram: Engram, scope: Scope, row: Mapping[str, Any], tally: Tally) -> None:
    texts = [text for _date, _by, text in row["turns"]]
    found = told_by(memories_in(engram, scope), texts)
    for measure, places in (("dependants", row["depends"]), ("unrelated ones", row["stands"])):
        for place in places:
            if not found[place]:
                tally.note(f"{measure} not stored", True)
                continue
            is_doubted = any(is_marked(one) for one in found[place])
            wrong = {"missed": texts[place]} if measure == "dependants" else {"held": texts[place]}
            tally.note(f"{measure} marked", is_doubted, **wrong)
            tally.note(f"{measure} retired", any(one.status in RETIRED for one in found[place]))


def measure_traps(
    half: str, ways: Sequence[str], settings: Settings, limit: int
) -> dict[str, dict[str, Tally]]:
    """Return a column for each way and baseline."""
    every = {f"trap {row['id']}": row for row in rows("traps", half)[:limit]}
    talks = {name: turns_of(row) for name, row in every.items()}
    columns: dict[str, Tally] = {}
    for way in ways:
        with opened(settings) as (engram, clock):
            tell(engram, clock, talks, way)
            columns[way] = _asked_traps(every, answering(engram, talks))
    for title in BASELINES:
        columns[title] = _asked_traps(every, baseline(title, settings, talks))
    return {"traps": columns}


def _asked_traps(every: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Answers]) -> Tally:
    tally = Tally()
    for name, row in every.items():
        found = answers[name].best(row["question"])
        right = [says(row["right"], one.text) for one in found]
        wrong = [says(row["wrong"], one.text) for one in found]
        example = f"{row['id']} {row['question']} → {[one.text for one in found][:2]}"
        tally.note("right first", right[:1] == [True], missed=example)
        tally.note("right in the top five", any(right))
        tally.note("wrong first", wrong[:1] == [True])
        tally.note(
            "right marked as outdated", any(r and one.is_marked for r, one in zip(right, found, strict=True))
        )
    return tally
