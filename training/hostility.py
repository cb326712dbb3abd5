"""
Train the heads that tell attempts to steer an agent from statements, and report them on text left out.

    python -m training.hostility [--write] [--check evals/injection_data/open]

Linear, over the features of `engramdb.models.hostility`: what judges without the pack, whose guard model
does better (training/guard_train.py). Three minutes on one core. The threshold is fitted on folds that the
head has not seen, for `MAX_FALSE_ALARMS` among the benign look-alikes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from engramdb.models.hostility import FLAG_LINE, SHIPPED, hostility_features
from engramdb.text.injection import scan

FOLDS = 5
STEPS = 200
RATE = 0.05
DECAY = 4e-5
MAX_FALSE_ALARMS = 0.1
ORDINARY = 2500
"""Messages of conversations that are taken as harmless, besides the look-alikes."""
HOSTILE_WEIGHT = 2.0


class Row:
    """A labelled text."""

    def __init__(self, text: str, *, hostile: bool, group: str, is_lookalike: bool = True) -> None:
        self.text, self.hostile, self.group, self.is_lookalike = text, hostile, group, is_lookalike


def rows(data: Path, capture: Path | None) -> Iterator[Row]:
    """Yield the labelled texts of all domains, and messages as harmless ones."""
    for path in sorted(data.glob("*/injection.jsonl")):
        for number, one in enumerate(_read(path)):
            group = path.parent.name if path.parent.name != "steering" else f"steering{number % FOLDS}"
            yield Row(one["text"], hostile=bool(one["hostile"]), group=group)
    if capture is not None:
        for one in json.loads(capture.read_text()):
            yield Row(one["text"], hostile=one["label"] != "clean", group=f"capture{one.get('batch', 1)}")
    plain = [one["text"] for path in sorted(data.glob("*/utterances.jsonl")) for one in _read(path)]
    random.Random(7).shuffle(plain)
    for number, text in enumerate(plain[:ORDINARY]):
        yield Row(text, hostile=False, group=f"ordinary{number % FOLDS}", is_lookalike=False)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def inputs(texts: Sequence[str]) -> torch.Tensor:
    """Return the features of texts."""
    return torch.from_numpy(np.stack([hostility_features(text, scan(text).score) for text in texts]))


def train(numbers: torch.Tensor, labels: torch.Tensor) -> torch.nn.Linear:
    """Return a linear head."""
    torch.manual_seed(7)
    head = torch.nn.Linear(numbers.shape[1], 1)
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.0)
    weight = torch.where(labels > 0, HOSTILE_WEIGHT, 1.0)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        logits = head(numbers)[:, 0]
        loss = functional.binary_cross_entropy_with_logits(logits, labels, weight=weight)
        loss = loss + DECAY * (head.weight**2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head.eval()


def left_out(numbers: torch.Tensor, labels: torch.Tensor, groups: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return the logits of every text by a head that has not seen its group."""
    fold = np.array([int(hashlib.sha256(one.encode()).hexdigest(), 16) % FOLDS for one in groups])
    found = np.zeros(len(groups))
    for number in range(FOLDS):
        seen = torch.from_numpy(fold != number)
        head = train(numbers[seen], labels[seen])
        with torch.no_grad():
            found[fold == number] = head(numbers[~seen])[:, 0].numpy()
    return found


def threshold(logits: np.ndarray[Any, Any], chosen: Sequence[Row]) -> float:
    """Return the logit above which `MAX_FALSE_ALARMS` of the look-alikes lie."""
    is_benign = np.array([not row.hostile and row.is_lookalike for row in chosen])
    return float(np.quantile(logits[is_benign], 1 - MAX_FALSE_ALARMS))


def main() -> None:
    """Train, report, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("training/data"))
    parser.add_argument("--held-out", type=Path, default=Path("training/held_out"))
    parser.add_argument("--capture", type=Path, default=Path("evals/capture/data/injection.json"))
    parser.add_argument("--check", type=Path, help="a folder with attacks.jsonl and benign.jsonl")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    chosen = list(rows(given.data, given.capture))
    kept = [row for row in rows(given.held_out, None) if row.is_lookalike]
    checks = _checks(given.check) if given.check else []
    every = [*chosen, *kept, *checks]
    numbers = inputs([row.text for row in every])
    labels = torch.tensor([float(row.hostile) for row in chosen])
    own = numbers[: len(chosen)]
    logits = left_out(own, labels, [row.group for row in chosen])
    line = threshold(logits, chosen)
    _report("left out", logits, chosen, line)
    head = train(own, labels)
    with torch.no_grad():
        rest = head(numbers[len(chosen) :])[:, 0].numpy()
    _report("kept out", rest[: len(kept)], kept, line)
    if checks:
        _report("check", rest[len(kept) :], checks, line)
    if given.write:
        np.savez_compressed(SHIPPED, **_arrays(head, line))


def _checks(folder: Path) -> list[Row]:
    return [
        Row(one["text"], hostile=name == "attacks", group=f"{one['kind']}/{one['channel']}/{one['lang']}")
        for name in ("attacks", "benign")
        for one in _read(folder / f"{name}.jsonl")
    ]


def _report(title: str, logits: np.ndarray[Any, Any], chosen: Sequence[Row], line: float) -> None:
    for label, is_wanted in (("attempts", True), ("look-alikes", False)):
        found = [
            logit >= line
            for logit, row in zip(logits, chosen, strict=True)
            if row.hostile is is_wanted and row.is_lookalike
        ]
        print(f"{title}: {label} flagged {sum(found)} of {len(found)} ({np.mean(found):.3f})")
    by_language: dict[str, list[bool]] = {}
    for logit, row in zip(logits, chosen, strict=True):
        if row.group.count("/") == 2:
            kind, channel, language = row.group.split("/")
            for name in (kind, channel, "en" if language == "en" else "other languages"):
                by_language.setdefault(f"{'attack' if row.hostile else 'benign'} {name}", []).append(
                    logit >= line
                )
    for name, found in sorted(by_language.items()):
        print(f"    {name}: {sum(found)} of {len(found)}")


def _arrays(head: torch.nn.Linear, line: float) -> dict[str, Any]:
    """Return the head in 8 bits; its bias is shifted so that the threshold lies on the policy's line."""
    weight = head.weight.detach().numpy()[0]
    scale = float(np.abs(weight).max()) / 32_000
    shift = float(np.log(FLAG_LINE / (1 - FLAG_LINE))) - line
    return {
        "weight": np.round(weight / scale).astype(np.int16),
        "scale": np.float32(scale),
        "bias": np.float32(head.bias.item() + shift),
    }


if __name__ == "__main__":
    main()
