"""
Train the reader, and report how well it reads text that it has not seen.

    python -m training.train --examples examples.jsonl --weights weights.npz --out OUT [--leave-out coding …]

Without `--leave-out` it trains on everything and writes the adapters; with it, once for every domain named,
it trains on the others and reports on that one. The same seed gives the same result on the same kind of
machine.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.encoder import Reader
from training.tasks import TASKS, Example, read_examples
from training.weights import unpack_weights

BATCH = 64
LEARNING_RATE = 1e-3
WARM_UP = 0.06
SMOOTHING = 0.05
RANK = 24
WEIGHTS = {
    "relation": 1.0,
    "keep": 0.7,
    "force": 0.5,
    "lasting": 0.5,
    "category": 0.4,
    "hostile": 0.7,
    "answers": 1.0,
}
"""How much the loss of each task counts."""
SHARES = {"near": 0.35, "far": 0.3, "weak": 0.25}
"""How much of the plentiful kinds an epoch sees: wrong answers, and pairs known only to be harmless."""
SEPARATOR = 102


def train(
    examples: Sequence[Example], weights: dict[str, Any], *, epochs: int, seed: int, rank: int = RANK
) -> Reader:
    """Return a reader trained on the examples."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reader = Reader(weights, {task: len(names) for task, names in TASKS.items()}, rank=rank).to(device)
    trained = [one for one in reader.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=LEARNING_RATE, weight_decay=0.01)
    steps = epochs * math.ceil(len(_epoch(examples, random.Random(seed))) / BATCH + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _pace(step, steps))
    chance = random.Random(seed)
    reader.train()
    for _ in range(epochs):
        for batch in _batches(examples, chance):
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                outputs = reader(*_inputs(batch, device))
            loss = _loss(outputs, batch, device)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
    return reader.eval()


def predict(reader: Reader, examples: Sequence[Example]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the logits of every task, one row per example."""
    device = next(reader.parameters()).device.type
    order = sorted(range(len(examples)), key=lambda one: len(examples[one].tokens))
    rows: dict[str, list[Any]] = {task: [None] * len(examples) for task in TASKS}
    with torch.no_grad():
        for begin in range(0, len(order), 4 * BATCH):
            places = order[begin : begin + 4 * BATCH]
            outputs = reader(*_inputs([examples[place] for place in places], device))
            for task, logits in outputs.items():
                for place, row in zip(places, logits.float().cpu().numpy(), strict=True):
                    rows[task][place] = row
    return {task: np.stack(found) for task, found in rows.items()}


def _pace(step: int, steps: int) -> float:
    """Rise for a while, then fall like a cosine."""
    rise = WARM_UP * steps
    return (
        (step + 1) / rise if step < rise else 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))
    )


def _epoch(examples: Sequence[Example], chance: random.Random) -> list[Example]:
    """Return what one epoch looks at: everything that is rare, and a fresh sample of what is plentiful."""
    chosen = []
    for one in examples:
        share = SHARES.get(one.kind, 1.0) if len(one.labels.get("relation", [0])) == 1 else SHARES["weak"]
        if chance.random() < share:
            chosen.append(one)
    return chosen


def _batches(examples: Sequence[Example], chance: random.Random) -> Iterator[list[Example]]:
    """Yield batches of about equal length, in random order."""
    ordered = sorted(_epoch(examples, chance), key=lambda one: len(one.tokens) // 4 + 3 * chance.random())
    batches = [ordered[begin : begin + BATCH] for begin in range(0, len(ordered), BATCH)]
    chance.shuffle(batches)
    yield from batches


def _inputs(batch: Sequence[Example], device: str) -> tuple[Tensor, Tensor]:
    """Return token ids, and 1 for the first text, 2 for the second, 0 for padding."""
    width = max(len(one.tokens) for one in batch)
    tokens = np.zeros((len(batch), width), np.int64)
    segments = np.zeros((len(batch), width), np.int64)
    for number, one in enumerate(batch):
        end = one.tokens.index(SEPARATOR) + 1
        tokens[number, : len(one.tokens)] = one.tokens
        segments[number, :end] = 1
        segments[number, end : len(one.tokens)] = 2
    return torch.from_numpy(tokens).to(device), torch.from_numpy(segments).to(device)


def _loss(outputs: dict[str, Tensor], batch: Sequence[Example], device: str) -> Tensor:
    """Return the weighted sum of the tasks' losses: minus the log of what the right classes have together."""
    total = torch.zeros((), device=device)
    for task, logits in outputs.items():
        mask = np.zeros((len(batch), logits.shape[1]), np.float32)
        for row, one in enumerate(batch):
            mask[row, one.labels.get(task, [])] = 1
        known = np.flatnonzero(mask.any(axis=1))
        if not len(known):
            continue
        right = torch.from_numpy(mask[known]).to(device)
        chosen = functional.log_softmax(logits[torch.from_numpy(known).to(device)].float(), dim=-1)
        hit = torch.logsumexp(chosen + (right.clamp(min=1e-30)).log(), dim=-1)
        loss = -(1 - SMOOTHING) * hit - SMOOTHING * chosen.mean(-1)
        total = total + WEIGHTS[task] * loss.sum() / len(batch)
    return total


def main() -> None:
    """Train and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[])
    parser.add_argument(
        "--held-out", type=Path, help="examples to judge with the model trained on everything"
    )
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    examples, weights = read_examples(arguments.examples), unpack_weights(arguments.weights)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for domain in [*arguments.leave_out, *([""] if arguments.held_out or not arguments.leave_out else [])]:
        begun = time.monotonic()
        seen = [one for one in examples if not domain or domain not in one.domain]
        unseen = [one for one in examples if domain and domain in one.domain]
        reader = train(seen, weights, epochs=arguments.epochs, seed=arguments.seed, rank=arguments.rank)
        seconds = time.monotonic() - begun
        print(
            f"left out {domain or 'nothing'}: {len(seen)} seen, {len(unseen)} unseen, {seconds:.0f} s",
            flush=True,
        )
        if unseen:
            _write_predictions(arguments.out / f"fold-{domain}.npz", predict(reader, unseen), unseen)
        else:
            _write_adapters(arguments.out / "adapters.npz", reader)
            if arguments.held_out:
                kept = read_examples(arguments.held_out)
                _write_predictions(arguments.out / "held-out.npz", predict(reader, kept), kept)


def _write_adapters(path: Path, reader: Reader) -> None:
    """Write what was trained, and nothing of the weights that everybody has."""
    trained = {name for name, one in reader.named_parameters() if one.requires_grad}
    arrays = {name: one.cpu().numpy() for name, one in reader.state_dict().items() if name in trained}
    np.savez_compressed(path, **{name: array.astype(np.float16) for name, array in arrays.items()})


def _write_predictions(
    path: Path, logits: dict[str, np.ndarray[Any, Any]], examples: Sequence[Example]
) -> None:
    rows = [[one.first, one.second, one.domain, one.kind, one.labels] for one in examples]
    np.savez_compressed(path, rows=np.frombuffer(json.dumps(rows).encode(), np.uint8), **logits)


if __name__ == "__main__":
    main()
