"""
How much of what is said the extractor by rules finds, and how much of what it finds was said.

Run by `python -m evals.capture extraction`. A found statement counts when it equals an accepted wording or
shares seven tenths of its content words with one; each label is found once at most. `failures(half)` shows
where it went wrong: look at the tune half only. The write-up is docs/lab/0006-extraction.md.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.capture.extract import SentenceExtractor
from engramdb.text.normalize import normalize_text
from engramdb.text.terms import STOP_WORDS
from engramdb.values import Role, Turn
from evals.capture.labelled import DATA, HALVES, cases, scores

if TYPE_CHECKING:
    from engramdb.capture.extract import Extracted
    from evals.capture.labelled import Half

LEAST_JACCARD = 0.7
_PLAIN = STOP_WORDS - {"like", "no", "not", "now", "know"}
_OPTIONAL = {"predicate": "predicate", "object": "object", "subject": "subject", "replaces": "replaces"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One case: what was found, what was wanted, and which found statement answers which label."""

    case: dict[str, Any]
    found: list[Extracted]
    pairs: list[tuple[Extracted, dict[str, Any]]]

    @property
    def spurious(self) -> list[Extracted]:
        """What was found and not wanted."""
        matched = [id(extracted) for extracted, _ in self.pairs]
        return [extracted for extracted in self.found if id(extracted) not in matched]

    @property
    def missed(self) -> list[dict[str, Any]]:
        """What was wanted and not found."""
        matched = [id(label) for _, label in self.pairs]
        return [label for label in self.case["facts"] if id(label) not in matched]


def measure() -> list[dict[str, Any]]:
    """Return a row for each half, for its cases in other scripts, and for the fresh cases."""
    rows = []
    for half in HALVES:
        judged = [judge(case) for case in cases("extraction", half)]
        foreign = [one for one in judged if not one.case["text"].isascii()]
        rows += [_row(half, judged), _row(f"{half}, not ASCII", foreign)]
    return [*rows, _row("fresh", [judge(case) for case in fresh_cases()])]


def fresh_cases() -> list[dict[str, Any]]:
    """Return the cases written after the code; the two halves were written just before it."""
    every: list[dict[str, Any]] = json.loads((DATA / "extraction_fresh.json").read_text("utf-8"))
    return every


def judge(case: dict[str, Any]) -> Judged:
    """Extract from a case and pair what was found with what was wanted."""
    turn = turn_of(case)
    found = SentenceExtractor().extract([turn], context=[])
    pairs, left = [], list(case["facts"])
    for extracted in found:
        label = next((label for label in left if _says(extracted.content, label)), None)
        if label is not None:
            left.remove(label)
            pairs.append((extracted, label))
    return Judged(case, found, pairs)


def turn_of(case: dict[str, Any]) -> Turn:
    """Return the turn that a case describes."""
    now = datetime.fromisoformat(case["now"])
    return Turn(
        id="t",
        content=case["text"],
        role=Role(case["role"]),
        occurred_at=now,
        created_at=now,
        speaker=case["speaker"],
    )


def failures(half: Half) -> list[str]:
    """Return a line for everything that went wrong in a half."""
    lines = []
    for one in (judge(case) for case in cases("extraction", half)):
        lines += [
            f"EXTRA  {one.case['text']!r} -> {extra.content!r} [{extra.category}]" for extra in one.spurious
        ]
        lines += [f"MISSED {one.case['text']!r} -> {label['content']!r}" for label in one.missed]
        for extracted, label in one.pairs:
            lines += [
                f"{name}: {one.case['text']!r} {got!r} != {want!r}"
                for name, got, want in _differences(extracted, label)
            ]
    return lines


def _differences(extracted: Extracted, label: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    checks: list[tuple[str, Any, Any]] = [
        ("category", extracted.category, label["category"]),
        ("kind", str(extracted.kind), label["kind"]),
        ("negated", extracted.is_negated, label.get("negated", False)),
    ]
    checks += [
        (name, getattr(extracted, field), label[name]) for name, field in _OPTIONAL.items() if name in label
    ]
    return [(name, got, want) for name, got, want in checks if not _agrees(got, want)]


def _agrees(got: Any, want: Any) -> bool:
    if isinstance(want, list):
        return got in want
    return bool(got == want)


def _says(content: str, label: dict[str, Any]) -> bool:
    accepted = label["content"] if isinstance(label["content"], list) else [label["content"]]
    return any(_same(content, wording) for wording in accepted)


def _same(content: str, wording: str) -> bool:
    if normalize_text(content) == normalize_text(wording):
        return True
    one, other = _content_words(content), _content_words(wording)
    return bool(one and other) and len(one & other) / len(one | other) >= LEAST_JACCARD


def _content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"[\w@.+#-]*\w", normalize_text(text)) if word not in _PLAIN}


def _row(name: str, judged: list[Judged]) -> dict[str, Any]:
    pairs = [pair for one in judged for pair in one.pairs]
    extra, missed = sum(len(one.spurious) for one in judged), sum(len(one.missed) for one in judged)
    wrong = Counter(field for pair in pairs for field, _, _ in _differences(*pair))
    silent = [one for one in judged if not one.case["facts"]]
    return {
        "half": name,
        "cases": len(judged),
        "facts": len(pairs) + missed,
        **scores(len(pairs), extra, missed),
        "category": _share(wrong["category"], len(pairs)),
        "kind": _share(wrong["kind"], len(pairs)),
        "negation": _share(wrong["negated"], len(pairs)),
        **{name: _labelled_share(name, pairs, wrong) for name in ("predicate", "object", "replaces")},
        "silent when nothing is said": _share(sum(bool(one.found) for one in silent), len(silent)),
        "ms a turn": _milliseconds([one.case for one in judged]),
    }


def _share(wrong: int, total: int) -> float:
    return (total - wrong) / total if total else 1.0


def _labelled_share(name: str, pairs: list[tuple[Extracted, dict[str, Any]]], wrong: Counter[str]) -> float:
    return _share(wrong[name], sum(name in label for _, label in pairs))


def _milliseconds(every: list[dict[str, Any]]) -> float:
    """Return the processor time of one extraction, on average."""
    extractor, turns = SentenceExtractor(), [turn_of(case) for case in every]
    begin = time.process_time()
    for turn in turns:
        extractor.extract([turn], context=[])
    return 1000 * (time.process_time() - begin) / max(1, len(turns))
