"""
Train the heads that read without a pack, and report them on domains that were left out.

    python -m training.head --data training/data [--held-out training/held_out] [--write]

Linear, over the features of `engramdb.models.reader_head`; a minute on one core. With `--write` the heads of
all data go into the package, in 8 bits.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from engramdb.models.reader import Utterance
from engramdb.models.reader_head import SHIPPED, features
from training.examples import load
from training.report import interval, threshold_for_false_alarms, threshold_for_precision
from training.tasks import TASKS, Example

READ = ("keep", "force", "lasting", "category", "hostile")
STEPS = 120
RATE = 0.1
DECAY = 3e-5
FOLDS = 4
VERSION = "2"
PRECISION = 0.95
MAX_FALSE_ALARMS = 0.02


def train(inputs: torch.Tensor, labels: dict[str, np.ndarray[Any, Any]]) -> dict[str, torch.nn.Linear]:
    """Return one linear head per task, trained on what is labelled for it."""
    torch.manual_seed(7)
    heads = {}
    for task in READ:
        known = torch.from_numpy(np.flatnonzero(labels[task] >= 0))
        right = torch.from_numpy(labels[task])[known]
        head = torch.nn.Linear(inputs.shape[1], len(TASKS[task]))
        optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.0)
        for step in range(STEPS):
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
            loss = functional.cross_entropy(head(inputs[known]), right)
            loss = loss + DECAY * sum((one**2).sum() for one in head.parameters())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        heads[task] = head.eval()
    return heads


def chances(head: torch.nn.Linear, inputs: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return the probabilities of a head."""
    with torch.no_grad():
        return functional.softmax(head(inputs), dim=-1).numpy()


def as_inputs(examples: Sequence[Example]) -> tuple[torch.Tensor, dict[str, np.ndarray[Any, Any]]]:
    """Return features and labels; -1 where a label is unknown or disputed."""
    rows = []
    for one in examples:
        by, _, text = one.first.partition(": ")
        rows.append(features(Utterance(text, by, one.second)))
    labels = {
        task: np.array(
            [one.labels[task][0] if len(one.labels.get(task, [])) == 1 else -1 for one in examples]
        )
        for task in READ
    }
    return torch.from_numpy(np.stack(rows)), labels


def main() -> None:
    """Train, report, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    examples = [one for one in load(arguments.data) if one.kind in ("reading", "scan")]
    inputs, labels = as_inputs(examples)
    domains = sorted({one.domain.partition("/")[0] for one in examples})
    fold = np.array([domains.index(one.domain.partition("/")[0]) % FOLDS for one in examples])
    found = {task: np.zeros((len(examples), len(TASKS[task]))) for task in READ}
    for number in range(FOLDS):
        seen, unseen = fold != number, fold == number
        heads = train(inputs[torch.from_numpy(seen)], {task: one[seen] for task, one in labels.items()})
        for task in READ:
            found[task][unseen] = chances(heads[task], inputs[torch.from_numpy(unseen)])
    messages = np.array([one.domain.endswith("utterances") for one in examples])
    chosen = messages & (labels["keep"] >= 0)
    thresholds = {
        "keep": threshold_for_precision(found["keep"][chosen, 1], labels["keep"][chosen] == 1, PRECISION),
        "hostile": _hostile_threshold(found["hostile"][:, 1], labels["hostile"]),
    }
    _report("left-out domains", found, labels, thresholds, messages)
    heads = train(inputs, labels)
    if arguments.held_out:
        kept = [one for one in load(arguments.held_out) if one.kind in ("reading", "scan")]
        numbers, right = as_inputs(kept)
        outputs = {task: chances(heads[task], numbers) for task in READ}
        is_message = np.array([one.domain.endswith("utterances") for one in kept])
        _report("kept out of everything", outputs, right, thresholds, is_message)
    if arguments.write:
        _write(heads, thresholds)


def _hostile_threshold(scores: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
    known = labels >= 0
    return threshold_for_false_alarms(scores[known], labels[known] == 1, MAX_FALSE_ALARMS)


def _report(
    title: str,
    found: dict[str, np.ndarray[Any, Any]],
    labels: dict[str, np.ndarray[Any, Any]],
    thresholds: dict[str, float],
    messages: np.ndarray[Any, Any],
) -> None:
    print(f"## {title}")
    for task in READ:
        known = (labels[task] >= 0) & (messages if task == "keep" else True)
        scores, right = found[task][known], labels[task][known]
        best = scores.argmax(axis=1) == right
        print(f"{task}: accuracy {interval(int(best.sum()), len(best))}")
        if task in thresholds:
            chosen, hits = scores[:, 1] >= thresholds[task], right == 1
            print(f"  precision {interval(int(hits[chosen].sum()), int(chosen.sum()))}")
            print(f"  recall {interval(int(chosen[hits].sum()), int(hits.sum()))}")
            print(f"  false alarms {interval(int(chosen[~hits].sum()), int((~hits).sum()))}")


def _write(heads: dict[str, torch.nn.Linear], thresholds: dict[str, float]) -> None:
    arrays: dict[str, Any] = {}
    for task, head in heads.items():
        weight = head.weight.detach().numpy().T
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-8) / 127
        arrays[f"{task}.weight"] = np.round(weight / scale).astype(np.int8)
        arrays[f"{task}.scale"] = scale.astype(np.float32)
        arrays[f"{task}.bias"] = head.bias.detach().numpy()
    meta = {
        "version": VERSION,
        "tasks": {task: list(TASKS[task]) for task in heads},
        "thresholds": thresholds,
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez_compressed(SHIPPED, **arrays)


if __name__ == "__main__":
    main()
