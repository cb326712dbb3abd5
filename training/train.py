"""
Train the reader, and let it judge text that it has not seen.

    python -m training.train --examples examples.jsonl --weights weights.npz --out OUT [--leave-out coding …]
    python -m training.train … --start-from src/engramdb/models/reader.npz --new wordings … --replay 0.2

With `--start-from` a shipped reader learns on: all that the domains after `--new` hold, and a share of the
rest, so that it forgets nothing. That takes minutes on two cores, where a reader from scratch takes hours.
Without `--leave-out` it trains on everything and writes the adapters; with it, once for every fold named
(one domain, or several joined by `+`), it trains on the others and writes its logits for that one. `--hide`
trains without the first or the second text: what such a model can still tell is an artefact of the data. The
same seed gives the same result on the same kind of machine.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.encoder import Reader
from training.tasks import RELATIONS, TASKS, Example, read_examples
from training.weights import unpack_weights

BATCH = 64
WARM_UP = 0.06
SYMMETRIC = {RELATIONS.index(one) for one in ("same", "conflict", "related", "unrelated")}
WEIGHTS = {
    "relation": 1.0,
    "keep": 0.7,
    "force": 0.5,
    "lasting": 0.5,
    "category": 0.4,
    "hostile": 0.7,
    "answers": 1.0,
    "premise": 0.7,
    "doubtful": 0.7,
}
"""How much the loss of each task counts."""
SHARES = {"near": 0.35, "far": 0.3, "noise": 0.3, "weak": 0.25, "implied": 0.5, "beside": 0.4}
"""How much of the plentiful kinds an epoch sees: wrong answers, pairs known only to be harmless, and pairs
that follow from others."""
REPORT_EVERY = 200
"""Steps between two lines of progress."""
SEPARATOR = 102
CLASSIFIER = 101
"""The marks between and before texts; a test compares them with the tokenizer, which needs more to load."""


@dataclass(frozen=True)
class Plan:
    """How a reader is trained."""

    epochs: int = 7
    rank: int = 24
    rate: float = 7e-4
    dropout: float = 0.15
    average: float = 0.999
    """How slowly the average of the weights, which is what is kept, follows them; 0 keeps the last ones."""
    smoothing: float = 0.05
    """How much of a label is spread over all classes."""
    swap: float = 0.5
    """How often a pair is shown the other way round, where its relation is the same both ways."""
    replay: float = 1.0
    """How much of what is not new an epoch sees, where a reader learns on."""
    seed: int = 7


def train(
    examples: Sequence[Example],
    weights: dict[str, Any],
    plan: Plan,
    *,
    begun: Mapping[str, Any] | None = None,
    new: Collection[str] = (),
) -> Reader:
    """Return a reader trained on the examples, from scratch or from what was `begun`."""
    torch.manual_seed(plan.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    classes = {task: len(names) for task, names in TASKS.items()}
    reader = Reader(weights, classes, rank=plan.rank, dropout=plan.dropout)
    if begun is not None:
        reader.load_state_dict({name: torch.tensor(array) for name, array in begun.items()}, strict=False)
    reader = reader.to(device).train()
    trained = [one for one in reader.parameters() if one.requires_grad]
    averages = [one.detach().clone() for one in trained]
    optimizer = torch.optim.AdamW(trained, lr=plan.rate, weight_decay=0.01, fused=device == "cuda")
    chance = random.Random(plan.seed)
    epochs = [
        list(_batches(_epoch(examples, chance, replay=plan.replay, new=new), chance, plan.swap))
        for _ in range(plan.epochs)
    ]
    steps = sum(len(one) for one in epochs)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _pace(step, steps))
    for step, batch in enumerate(batch for epoch in epochs for batch in epoch):
        with torch.autocast(device, torch.bfloat16, enabled=_has_short_numbers(device)):
            outputs = reader(*_inputs(batch, device))
        loss = _loss(outputs, batch, device, plan.smoothing)
        if step % REPORT_EVERY == 0:
            print(f"step {step} of {steps}: loss {loss.item():.3f}", flush=True)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        keep = min(plan.average, (1 + step) / (10 + step))
        torch._foreach_lerp_(averages, [one.detach() for one in trained], 1 - keep)
    if plan.average:
        with torch.no_grad():
            for one, mean in zip(trained, averages, strict=True):
                one.copy_(mean)
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


def _has_short_numbers(device: str) -> bool:
    """Return whether products of 16-bit numbers are faster than those of 32-bit ones."""
    return device == "cuda" or torch.cpu.get_capabilities().get("avx512_bf16", False)


def _epoch(
    examples: Sequence[Example], chance: random.Random, *, replay: float, new: Collection[str]
) -> list[Example]:
    """Return what one epoch looks at: everything that is rare, and a fresh sample of what is plentiful."""
    chosen = []
    for one in examples:
        is_sure = len(one.labels.get("relation", [0])) == 1
        share = SHARES.get(one.kind, 1.0 if is_sure else SHARES["weak"])
        share *= 1.0 if in_domains(one, new) else replay
        if chance.random() < share:
            chosen.append(one)
    return chosen


def _batches(chosen: Sequence[Example], chance: random.Random, swap: float) -> Iterator[list[Example]]:
    """Yield batches of about equal length, in random order."""
    chosen = [
        swapped(one) if swap and _is_symmetric(one) and chance.random() < swap else one for one in chosen
    ]
    chance.shuffle(chosen)
    ordered = sorted(chosen, key=lambda one: len(one.tokens) // 8 + chance.random())
    batches = [ordered[begin : begin + BATCH] for begin in range(0, len(ordered), BATCH)]
    chance.shuffle(batches)
    yield from batches


def _inputs(batch: Sequence[Example], device: str) -> tuple[Tensor, Tensor]:
    """Return token ids, and 1 for the first text, 2 for the second, 0 for padding."""
    width = max(len(one.tokens) for one in batch)
    tokens = np.zeros((len(batch), width), np.int64)
    segments = np.zeros_like(tokens)
    for number, one in enumerate(batch):
        end = one.tokens.index(SEPARATOR) + 1
        tokens[number, : len(one.tokens)] = one.tokens
        segments[number, :end] = 1
        segments[number, end : len(one.tokens)] = 2
    return torch.from_numpy(tokens).to(device), torch.from_numpy(segments).to(device)


def _loss(outputs: dict[str, Tensor], batch: Sequence[Example], device: str, smoothing: float) -> Tensor:
    """Return the weighted sum of the tasks' losses: minus the log of what the right classes have together."""
    total = torch.zeros((), device=device)
    for task, logits in outputs.items():
        mask = np.zeros((len(batch), logits.shape[1]), np.float32)
        for row, one in enumerate(batch):
            mask[row, one.labels.get(task, [])] = 1
        if not mask.any():
            continue
        right = torch.from_numpy(mask).to(device)
        known = right.amax(-1)
        chosen = functional.log_softmax(logits.float(), dim=-1)
        hit = torch.logsumexp(chosen + (right.clamp(min=1e-30)).log(), dim=-1)
        loss = -(1 - smoothing) * hit - smoothing * chosen.mean(-1)
        total = total + WEIGHTS[task] * (loss * known).sum() / len(batch)
    return total


def hide(examples: Sequence[Example], side: str) -> list[Example]:
    """Return the examples without their first or second text."""
    hidden = []
    for one in examples:
        end = one.tokens.index(SEPARATOR) + 1
        shown = one.tokens[:end] if side == "second" else [CLASSIFIER, SEPARATOR, *one.tokens[end:]]
        hidden.append(replace(one, tokens=shown))
    return hidden


def swapped(example: Example) -> Example:
    """Return an example with its second text first."""
    end = example.tokens.index(SEPARATOR) + 1
    tokens = [CLASSIFIER, *example.tokens[end:], *example.tokens[1:end]]
    return replace(example, first=example.second, second=example.first, tokens=tokens)


def _is_symmetric(example: Example) -> bool:
    return set(example.labels.get("relation", [-1])) <= SYMMETRIC


def in_fold(example: Example, fold: str) -> bool:
    """Whether an example belongs to one of the domains of a fold (`coding`, or `coding+private`)."""
    return in_domains(example, fold.split("+"))


def in_domains(example: Example, domains: Collection[str]) -> bool:
    """Whether an example belongs to one of these domains; `wordings` names a folder, `wordings/mixed` one."""
    return example.domain in domains or not set(example.domain.split("/")).isdisjoint(domains)


def main() -> None:
    """Train and write what came of it."""
    arguments = _arguments()
    examples, weights = read_examples(arguments.examples), unpack_weights(arguments.weights)
    plan = Plan(**{name: getattr(arguments, name) for name in Plan.__dataclass_fields__})
    begun = _begun(arguments.start_from) if arguments.start_from else None
    if arguments.hide:
        examples = hide(examples, arguments.hide)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for fold in [*arguments.leave_out, *([""] if arguments.held_out or not arguments.leave_out else [])]:
        started = time.monotonic()
        seen = [one for one in examples if not fold or not in_fold(one, fold)]
        unseen = [one for one in examples if fold and in_fold(one, fold)]
        reader = train(seen, weights, plan, begun=begun, new=arguments.new)
        print(
            f"left out {fold or 'nothing'}: {len(seen)} seen, {len(unseen)} unseen,"
            f" {time.monotonic() - started:.0f} s",
            flush=True,
        )
        if unseen:
            _write_predictions(arguments.out / f"fold-{fold}.npz", reader, unseen)
        else:
            _write_adapters(arguments.out / "adapters.npz", reader)
            for path in arguments.held_out:
                kept = read_examples(path)
                kept = hide(kept, arguments.hide) if arguments.hide else kept
                name = path.name.partition(".")[0]
                _write_predictions(arguments.out / f"held-{name}.npz", reader, kept)


def _begun(shipped: Path) -> dict[str, Any]:
    from training.export import shipped_state  # noqa: PLC0415 - a bare machine trains from scratch without it

    return shipped_state(shipped)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[])
    parser.add_argument(
        "--held-out", type=Path, nargs="*", default=[], help="to judge with the model trained on everything"
    )
    parser.add_argument("--hide", choices=("first", "second"))
    parser.add_argument("--start-from", type=Path, help="a shipped reader that learns on")
    parser.add_argument("--new", nargs="*", default=[], help="domains that it has not seen yet")
    for name, default in ((name, one.default) for name, one in Plan.__dataclass_fields__.items()):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


def _write_adapters(path: Path, reader: Reader) -> None:
    """Write what was trained, and nothing of the weights that everybody has."""
    trained = {name for name, one in reader.named_parameters() if one.requires_grad}
    arrays = {name: one.cpu().numpy() for name, one in reader.state_dict().items() if name in trained}
    small: dict[str, Any] = {name: array.astype(np.float16) for name, array in arrays.items()}
    np.savez_compressed(path, **small)


def _write_predictions(path: Path, reader: Reader, examples: Sequence[Example]) -> None:
    """Write the logits of every task, and those of the relation with the two texts the other way round."""
    arrays: dict[str, Any] = {name: one.astype(np.float16) for name, one in predict(reader, examples).items()}
    pairs = [place for place, one in enumerate(examples) if "relation" in one.labels]
    arrays["backwards"] = np.zeros_like(arrays["relation"])
    if pairs:
        back = predict(reader, [swapped(examples[place]) for place in pairs])
        arrays["backwards"][pairs] = back["relation"]
    rows = [[one.first, one.second, one.domain, one.kind, one.labels, one.group] for one in examples]
    arrays["rows"] = np.frombuffer(json.dumps(rows).encode(), np.uint8)
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    main()
