"""
Read the labelled text for the guard model into examples: token ids, a label per word, hostile or not.

    python -m training.guard_examples --out guard.jsonl.gz [--check open]

`*/pii.jsonl` say which words are private, `*/injection.jsonl` which texts try to steer an agent. Messages of
conversations stand beside them as harmless, without a label for their words. `--check` adds the open halves
of the evals, which are never trained on, to be judged by the model.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from engramdb.models.guard_model import FIRST, LABELS, MAX_TOKENS, guard_tokens, words_of

KINDS: Final = {
    **dict.fromkeys(("password", "pin", "one_time_code", "api_key", "private_key"), "credential"),
    **dict.fromkeys(("connection_string", "seed_phrase", "hiding_place", "other_secret"), "credential"),
    **dict.fromkeys(("credit_card", "cvv", "bank_account"), "account"),
    **dict.fromkeys(("national_id", "tax_id", "passport", "driving_licence", "medical_id"), "identity"),
    **dict.fromkeys(("phone", "email", "address"), "contact"),
    "health": "health",
    "birth_date": "birth_date",
    "salary": "income",
    "other_personal": "personal",
}
"""What the writers called it, and what a word of it is to the model."""


def private_row(row: dict[str, Any], source: str) -> dict[str, Any]:
    """Return a message with a label for each token."""
    text, before = row["text"], row.get("before") or row.get("asked") or ""
    spans = [
        (place, place + len(span["text"]), LABELS.index(KINDS[span["kind"]]))
        for span in row.get("spans", ())
        for place in _places(text, span["text"])
    ]
    words = _fitting(text)
    tokens, place = guard_tokens(words, before=before), FIRST
    labels = [-1] * len(tokens)
    for word in words:
        own = next((label for start, end, label in spans if word.start < end and word.end > start), 0)
        labels[place : place + len(word.pieces)] = [own] * len(word.pieces)
        place += len(word.pieces)
    return {"source": source, "tokens": tokens, "labels": labels, "hostile": None, "text": text}


def _places(text: str, value: str) -> Iterator[int]:
    place = text.find(value)
    while value and place >= 0:
        yield place
        place = text.find(value, place + 1)


def _fitting(text: str) -> list[Any]:
    words, room = [], MAX_TOKENS
    for word in words_of(text):
        room -= len(word.pieces)
        if room < 0:
            break
        words.append(word)
    return words


def hostile_row(
    text: str, source: str, *, hostile: bool, about: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a text that is hostile or not."""
    tokens = guard_tokens(_fitting(text))
    row = {"source": source, "tokens": tokens, "labels": None, "hostile": int(hostile)}
    return row | {"text": text, "about": about}


def examples(data: Path, capture: Path | None) -> Iterator[dict[str, Any]]:
    """Yield everything to learn from, in a fixed order."""
    chance = random.Random(7)
    for path in sorted(data.glob("*/pii.jsonl")):
        for row in _read(path):
            yield private_row(row, f"train/{row.get('by', path.parent.name)}")
    for path in sorted(data.glob("*/injection.jsonl")):
        for row in _read(path):
            about = {"channel": row["channel"]} if "channel" in row else None
            source = f"train/{row.get('by', path.parent.name)}"
            yield hostile_row(row["text"], source, hostile=bool(row["hostile"]), about=about)
    if capture is not None:
        for row in json.loads(capture.read_text(encoding="utf-8")):
            yield hostile_row(row["text"], "train/capture", hostile=row["label"] != "clean")
    pool = list({row["text"] for path in sorted(data.glob("*/utterances.jsonl")) for row in _read(path)})
    pool.sort()
    chance.shuffle(pool)
    for text in pool:
        yield hostile_row(text, "pool", hostile=False)


def checks(evals: Path, half: str) -> Iterator[dict[str, Any]]:
    """Yield the open halves of the evals."""
    for name in ("cases", "near"):
        for row in _read(evals / "pii_data" / half / f"{name}.jsonl"):
            yield private_row(row, "check/pii")
    for row in _read(evals / "secrets_data" / half / "said.jsonl"):
        spans = [{"text": row["secret"], "kind": "password"}] if row["secret"] else []
        yield private_row({**row, "spans": spans}, "check/life")
    for name in ("attacks", "benign"):
        for row in _read(evals / "injection_data" / half / f"{name}.jsonl"):
            about = {key: row[key] for key in ("kind", "channel", "lang")}
            yield hostile_row(row["text"], "check/injection", hostile=name == "attacks", about=about)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Write the examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("training/data"))
    parser.add_argument("--capture", type=Path, default=Path("evals/capture/data/injection.json"))
    parser.add_argument("--evals", type=Path, default=Path("evals"))
    parser.add_argument("--check", choices=("open",))
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = list(examples(given.data, given.capture))
    if given.check:
        rows += checks(given.evals, given.check)
    with gzip.open(given.out, "wt", encoding="utf-8") as target:
        target.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} examples")


if __name__ == "__main__":
    main()
