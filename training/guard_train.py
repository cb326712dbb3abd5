"""
Train the guard model: the encoder of e5-small with adapters, a head over words and one over whole texts.

    python -m training.guard_train fold  --number 0 --examples guard.jsonl.gz --weights weights.npz --out OUT
    python -m training.guard_train final --examples guard.jsonl.gz --weights weights.npz --out OUT

Each of four folds leaves a quarter of the writers out and judges their text: from that the thresholds are
fitted (training/guard_export.py), and the final model learns from the labels and, in part, from what the
folds thought of text that they had not seen, messages without labels included. Needs torch and numpy alone.
Four folds side by side and a final model take six and a half minutes on an H200.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.encoder import Encoder
from training.weights import unpack_weights

LABELS: Final = 9
"""Of `engramdb.models.guard_model`, which needs more to load."""
WIDTH: Final = 384
FOLDS: Final = 4
BATCH: Final = 48
WARM_UP: Final = 0.08
MASK: Final = 103
HIDDEN_SHARE: Final = 0.05
"""Of the tokens of a batch, hidden so that no single word decides."""
WORD_WEIGHT: Final = 2.0
SMOOTHING: Final = 0.02
POOL: Final = 2000
"""Messages beside the labelled text that a fold sees as harmless; the final model sees all of them."""
TAUGHT: Final = 0.3
"""How much of a target is what a fold thought that had not seen the text."""
UNLABELED_WEIGHT: Final = 0.5

Row = dict[str, Any]


class Guard(nn.Module):
    """Tokens in; the logits of each word's label, and of the text being hostile."""

    def __init__(self, weights: dict[str, Any], *, rank: int, dropout: float) -> None:
        super().__init__()
        self.encoder = Encoder(weights, rank=rank, dropout=dropout)
        self.word = nn.Linear(WIDTH, LABELS)
        self.hostile = nn.Linear(2 * WIDTH, 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        states = self.encoder(tokens, present)
        mean = (states * present[..., None]).sum(1) / present.sum(1, keepdim=True)
        whole = torch.cat([states[:, 0], mean], dim=-1)
        return self.word(self.dropout(states)), self.hostile(self.dropout(whole))


def train(rows: Sequence[Row], weights: dict[str, Any], given: argparse.Namespace) -> Guard:
    """Return a model trained on the rows; the same seed gives the same one on the same kind of machine."""
    torch.manual_seed(given.seed)
    chance = random.Random(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Guard(weights, rank=given.rank, dropout=given.dropout).to(device).train()
    trained = [one for one in model.parameters() if one.requires_grad]
    averages = [one.detach().clone() for one in trained]
    optimizer = torch.optim.AdamW(trained, lr=given.rate, weight_decay=0.01, fused=device == "cuda")
    steps = given.epochs * math.ceil(len(rows) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _pace(step, steps))
    step = 0
    for epoch in range(given.epochs):
        total = torch.zeros((), device=device)
        for batch in _batches(rows, chance):
            tokens, words, hostile, weight = _inputs(batch, device, hide=True)
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                word_logits, text_logits = model(tokens, tokens > 0)
            loss = _loss(word_logits, words, text_logits, hostile, weight)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            total += loss.detach()
            keep = min(0.998, (1 + step) / (10 + step))
            torch._foreach_lerp_(averages, [one.detach() for one in trained], 1 - keep)
        print(f"epoch {epoch}: loss {total.item() * BATCH / len(rows):.3f}", flush=True)
    with torch.no_grad():
        for one, mean in zip(trained, averages, strict=True):
            one.copy_(mean)
    return model.eval()


def _pace(step: int, steps: int) -> float:
    rise = WARM_UP * steps
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rise) / (steps - rise))))


def _batches(rows: Sequence[Row], chance: random.Random) -> list[list[Row]]:
    ordered = sorted(rows, key=lambda row: len(row["tokens"]) // 12 + chance.random())
    batches = [ordered[begin : begin + BATCH] for begin in range(0, len(ordered), BATCH)]
    chance.shuffle(batches)
    return batches


def _inputs(rows: Sequence[Row], device: str, *, hide: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return tokens, targets of the words, targets of the texts, and how much each row's words count."""
    width = max(len(row["tokens"]) for row in rows)
    tokens = np.zeros((len(rows), width), np.int64)
    words = np.zeros((len(rows), width, LABELS), np.float32)
    hostile = np.zeros((len(rows), 2), np.float32)
    weight = np.ones(len(rows), np.float32)
    for number, row in enumerate(rows):
        length = len(row["tokens"])
        tokens[number, :length] = row["tokens"]
        if row["labels"] is not None:
            known = [place for place, one in enumerate(row["labels"]) if one >= 0]
            words[number, known] = np.eye(LABELS, dtype=np.float32)[[row["labels"][one] for one in known]]
        if row.get("taught") is not None:
            known_mask = words[number, :length].max(-1) > 0
            taught = row["taught"].astype(np.float32)
            if row["labels"] is None:
                words[number, :length] = taught
                weight[number] = UNLABELED_WEIGHT
            else:
                mixed = (1 - TAUGHT) * words[number, :length] + TAUGHT * taught
                words[number, :length] = np.where(known_mask[:, None], mixed, 0)
        if row["hostile"] is not None:
            hostile[number, row["hostile"]] = 1
            if row.get("taught_hostile") is not None:
                hostile[number] *= 1 - TAUGHT
                hostile[number, 1] += TAUGHT * row["taught_hostile"]
                hostile[number, 0] += TAUGHT * (1 - row["taught_hostile"])
    if hide:
        hidden = (np.random.default_rng(int(tokens.sum()) % 2**31).random(tokens.shape) < HIDDEN_SHARE) & (
            tokens > 1000
        )
        tokens = np.where(hidden, MASK, tokens)
    arrays = (tokens, words, hostile, weight)
    return tuple(torch.from_numpy(one).to(device) for one in arrays)


def _loss(words: Tensor, wanted: Tensor, texts: Tensor, hostile: Tensor, weight: Tensor) -> Tensor:
    known = wanted.sum(-1) > 0
    total = texts.sum() * 0.0
    if known.any():
        smooth = (1 - SMOOTHING) * wanted + SMOOTHING / LABELS
        each = -(smooth * functional.log_softmax(words.float(), -1)).sum(-1) * known * weight[:, None]
        total = total + WORD_WEIGHT * each.sum() / (known * weight[:, None]).sum()
    labeled = hostile.sum(-1) > 0
    if labeled.any():
        smooth = (1 - SMOOTHING) * hostile + SMOOTHING / 2
        each = -(smooth * functional.log_softmax(texts.float(), -1)).sum(-1) * labeled
        total = total + each.sum() / labeled.sum()
    return total


def predict(model: Guard, rows: Sequence[Row]) -> list[tuple[np.ndarray[Any, Any], float]]:
    """Return for each row the probabilities of its tokens' labels, and the logit of it being hostile."""
    device = next(model.parameters()).device.type
    found: list[Any] = [None] * len(rows)
    order = sorted(range(len(rows)), key=lambda one: len(rows[one]["tokens"]))
    with torch.no_grad():
        for begin in range(0, len(order), 4 * BATCH):
            places = order[begin : begin + 4 * BATCH]
            tokens, *_ = _inputs([rows[one] for one in places], device)
            words, texts = model(tokens, tokens > 0)
            chances = words.float().softmax(-1).cpu().numpy().astype(np.float16)
            logits = (texts[:, 1] - texts[:, 0]).float().cpu().numpy()
            for row, place in enumerate(places):
                found[place] = (chances[row, : len(rows[place]["tokens"])], float(logits[row]))
    return found


def fold_of(rows: Sequence[Row]) -> list[int | None]:
    """Return the fold that leaves each row out, by who wrote it; None for what is not trained on."""
    writers = sorted({row["source"] for row in rows if row["source"].startswith("train/")})
    number = {writer: place % FOLDS for place, writer in enumerate(writers)}
    return [number.get(row["source"]) for row in rows]


def read_rows(path: Path) -> list[Row]:
    """Read what `training.guard_examples` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as source:
        return [json.loads(line) for line in source]


def write_predictions(path: Path, places: Sequence[int], found: Sequence[tuple[Any, float]]) -> None:
    """Write what a model made of some rows."""
    lengths = np.array([len(one[0]) for one in found])
    np.savez_compressed(
        path,
        places=np.array(places),
        lengths=lengths,
        words=np.concatenate([one[0] for one in found]),
        hostile=np.array([one[1] for one in found], np.float32),
    )


def read_predictions(path: Path) -> dict[int, tuple[np.ndarray[Any, Any], float]]:
    """Return what a model made of some rows, by their place."""
    with np.load(path) as stored:
        ends = np.cumsum(stored["lengths"])
        words, hostile = stored["words"], stored["hostile"]
        return {
            int(place): (words[end - length : end], float(logit))
            for place, length, end, logit in zip(
                stored["places"], stored["lengths"], ends, hostile, strict=True
            )
        }


def run_fold(given: argparse.Namespace) -> None:
    """Train without a quarter of the writers, and judge them, the pool and the checks."""
    rows = read_rows(given.examples)
    folds = fold_of(rows)
    pool = [place for place, row in enumerate(rows) if row["source"] == "pool"]
    seen = [place for place, fold in enumerate(folds) if fold is not None and fold != given.number]
    started = time.monotonic()
    model = train([rows[one] for one in (*seen, *pool[:POOL])], unpack_weights(given.weights), given)
    print(f"fold {given.number}: {len(seen)} seen, {time.monotonic() - started:.0f} s", flush=True)
    unseen = [place for place, fold in enumerate(folds) if fold is None or fold == given.number]
    write_predictions(
        given.out / f"fold-{given.number}.npz", unseen, predict(model, [rows[one] for one in unseen])
    )


def teach(rows: list[Row], out: Path) -> None:
    """Add to each row what the folds thought that had not seen it."""
    chances: dict[int, list[tuple[Any, float]]] = {}
    for number in range(FOLDS):
        for place, found in read_predictions(out / f"fold-{number}.npz").items():
            chances.setdefault(place, []).append(found)
    for place, thought in chances.items():
        rows[place]["taught"] = np.mean([one[0].astype(np.float32) for one in thought], axis=0)
        logit = float(np.mean([one[1] for one in thought]))
        rows[place]["taught_hostile"] = 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
        rows[place]["left_out"] = logit


def run_final(given: argparse.Namespace) -> None:
    """Train on everything, and judge the checks."""
    rows = read_rows(given.examples)
    teach(rows, given.out)
    model = train(
        [row for row in rows if not row["source"].startswith("check/")], unpack_weights(given.weights), given
    )
    trained = {name for name, one in model.named_parameters() if one.requires_grad}
    arrays: dict[str, Any] = {
        name: one.cpu().numpy().astype(np.float16)
        for name, one in model.state_dict().items()
        if name in trained
    }
    np.savez_compressed(given.out / f"{given.name}.npz", **arrays)
    kept = [place for place, row in enumerate(rows) if row["source"].startswith("check/")]
    found = predict(model, [rows[one] for one in kept])
    write_predictions(given.out / f"{given.name}-checks.npz", kept, found)
    report([rows[one] for one in kept], found)


def report(rows: Sequence[Row], found: Sequence[tuple[Any, float]]) -> None:
    """Print how a model does on the checks."""
    pairs = [(row, one) for row, one in zip(rows, found, strict=True) if row["source"] == "check/injection"]
    if pairs:
        own = np.array([one[1] for row, one in pairs if row["hostile"]])
        others = np.array([one[1] for row, one in pairs if not row["hostile"]])
        missed = {share: float((own < np.quantile(others, 1 - share)).mean()) for share in (0.03, 0.08, 0.15)}
        print(f"attempts missed at false alarms: {missed}", flush=True)
    for source in ("check/pii", "check/life"):
        chosen = [(row, one[0]) for row, one in zip(rows, found, strict=True) if row["source"] == source]
        for least in (0.5, 0.7, 0.85):
            print(source, least, _counts(chosen, least), flush=True)


def _counts(chosen: Sequence[tuple[Row, Any]], least: float) -> str:
    hit = secret = soft_hit = soft = false = clean = 0
    for row, chances in chosen:
        labels = np.array(row["labels"])
        known = labels >= 0
        strong = chances[:, 1:4].astype(np.float32).sum(1) * known
        every = chances[:, 1:].astype(np.float32).sum(1) * known
        is_secret = (labels >= 1) & (labels <= 3)
        if is_secret.any():
            secret += 1
            hit += bool((strong[is_secret] >= least).mean() > 0.5)
        elif (labels > 3).any():
            soft += 1
            soft_hit += bool(every.max() >= least)
        else:
            clean += 1
            false += bool(every.max() >= least)
    return f"secret {hit}/{secret} personal {soft_hit}/{soft} false {false}/{clean}"


def main() -> None:
    """Train a fold or the final model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("fold", "final"))
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--name", default="adapters")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (run_fold if given.what == "fold" else run_final)(given)


if __name__ == "__main__":
    main()
