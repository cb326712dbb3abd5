"""
Turn what was trained into what ships with the package: `guard.npz` and `guard_reference.json`.

    python -m training.guard_export --out OUT --name adapters --examples guard.jsonl.gz \
        --graph e5-small.onnx --version 1 [--write]

Fits what may be acted on from what the folds thought of text that they had not seen, prints how often that is
right, and with `--write` writes adapters, heads, thresholds and references into the package.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engramdb.models import encoder_graph, guard_model, reader_pack
from engramdb.models.encoder_graph import Floats
from engramdb.models.guard_model import CLEARED_WITH, LABELS
from engramdb.models.packs import GUARD_REFERENCE
from engramdb.text.pii import classify
from training.export import CALIBRATED_ON, adapters_of, quantized, smoothing_of
from training.guard_train import Row, read_rows, teach

REFERENCES: Final = 24
SECRET: Final = slice(1, 4)
PERSONAL: Final = slice(4, len(LABELS))
FALSE_ALARMS: Final = {"secret": 0.19, "personal": 0.07}
"""
Of harmless look-alikes that were left out of training: how many may be taken for one. Half of them are twins
of a private message in nearly the same words; of text as people write it the share is far smaller.
"""
CLEARED_LOSS: Final = {"secret": 0.03, "personal": 0.06}
"""Of messages whose private words rules find as well: how many may be cleared of them by mistake."""
MISSED_ATTEMPTS: Final = 0.065
"""Of the attempts of third parties that were left out of training: how many may lie below the line."""


def worst(chances: NDArray[Any], labels: Sequence[int], kinds: slice) -> float:
    """Return the highest probability that any token of a text is of some kinds."""
    known = np.array(labels) >= 0
    return float((chances[:, kinds].astype(np.float32).sum(1) * known).max(initial=0.0))


def worst_of(rows: Sequence[Row], kinds: slice) -> NDArray[Any]:
    """Return the same for several texts, by models that had not seen them."""
    return np.array([worst(row["taught"], row["labels"], kinds) for row in rows])


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """
    Return from which probability words are taken for private, and below which a text is cleared.

    Only what rules suspect is cleared, so that line is fitted on what they suspect.
    """
    found = [row for row in rows if row["labels"] is not None and "taught" in row]
    found = [row for row in found if row["source"].startswith("train/")]
    fitted: dict[str, float] = {}
    for name, kinds in (("secret", SECRET), ("personal", PERSONAL)):
        chosen = set(range(kinds.start, kinds.stop))
        own = [row for row in found if chosen & set(row["labels"])]
        clean = [row for row in found if max(row["labels"]) == 0]
        high, low = worst_of(own, kinds), worst_of(clean, kinds)
        suspected = [row for row in own if CLEARED_WITH[name] & classify(row["text"]).kinds] or own
        doubted = [row for row in clean if CLEARED_WITH[name] & classify(row["text"]).kinds] or clean
        fitted[name] = float(np.quantile(low, 1 - FALSE_ALARMS[name]))
        fitted[f"{name}_cleared"] = float(np.quantile(worst_of(suspected, kinds), CLEARED_LOSS[name]))
        caught = (high >= fitted[name]).mean()
        cleared = (worst_of(doubted, kinds) < fitted[f"{name}_cleared"]).mean()
        print(
            f"{name}: from {fitted[name]:.3f}; of {len(own)} left out {caught:.3f} found; cleared below"
            f" {fitted[f'{name}_cleared']:.4f}: {cleared:.3f} of {len(doubted)} that rules suspect wrongly"
        )
        for share in (0.01, 0.03, 0.05, 0.1):
            line = np.quantile(low, 1 - share)
            print(f"    at {share:.0%} false alarms ({line:.3f}): {(high >= line).mean():.3f}")
    return fitted


def fit_hostile(rows: Sequence[Row]) -> float:
    """Return from which logit a text that is not a person's is taken for an attempt to steer."""
    found = [row for row in rows if row["hostile"] is not None and "left_out" in row and row.get("about")]
    for channel in sorted({row["about"]["channel"] for row in found}):
        _print_missed(channel, [row for row in found if row["about"]["channel"] == channel])
    _print_missed("the person", [row for row in found if row["about"]["channel"] == "user"])
    others = [row for row in found if row["about"]["channel"] != "user"]
    _print_missed("third parties", others)
    line = float(np.quantile([row["left_out"] for row in others if row["hostile"]], MISSED_ATTEMPTS))
    ordinary = np.array([row["left_out"] for row in rows if row["source"] == "pool"])
    print(f"line {line:.2f}: {(ordinary >= line).mean():.4f} of {len(ordinary)} ordinary messages lie above")
    return line


def _print_missed(name: str, rows: Sequence[Row]) -> None:
    own = np.array([row["left_out"] for row in rows if row["hostile"]])
    others = np.array([row["left_out"] for row in rows if not row["hostile"]])
    lines = {share: float(np.quantile(others, 1 - share)) for share in (0.01, 0.02, 0.05, 0.1, 0.15)}
    told = {share: f"{(own < line).mean():.3f} ({line:.2f})" for share, line in lines.items()}
    print(f"{name}: attempts missed at false alarms {told} (of {len(own)} and {len(others)})")


def write(
    trained: Mapping[str, NDArray[Any]],
    fitted: Mapping[str, Any],
    rows: Sequence[Row],
    weights: Mapping[str, Floats],
    folder: Path,
) -> None:
    """Write adapters, heads, what was fitted, and references."""
    shipped = folder / guard_model.HEADS_FILE
    arrays: dict[str, Any] = quantized(adapters_of(trained))
    for head in ("word", "hostile"):
        arrays[f"head.{head}.weight"] = trained[f"{head}.weight"].T.astype(np.float16)
        arrays[f"head.{head}.bias"] = trained[f"{head}.bias"].astype(np.float32)
    arrays["meta"] = np.frombuffer(json.dumps(fitted).encode(), np.uint8)
    np.savez_compressed(shipped, **arrays)
    tokens = [row["tokens"] for row in rows if row["source"].startswith("train/")]
    with tempfile.TemporaryDirectory() as workshop:
        adapters, _ = reader_pack.read_adapters(shipped)
        changed = encoder_graph.merged(weights, adapters)
        network = encoder_graph.write_graph(changed, Path(workshop) / "float.onnx", quantize=False)
        smoothing = smoothing_of(changed, network, tokens[:: max(1, len(tokens) // CALIBRATED_ON)])
        arrays |= {f"smooth.{name}": array.astype(np.float16) for name, array in smoothing.items()}
        np.savez_compressed(shipped, **arrays)
        _write_references(guard_model.GuardNetwork(network, shipped), rows, folder / GUARD_REFERENCE.name)


def _write_references(model: guard_model.GuardNetwork, rows: Sequence[Row], target: Path) -> None:
    """Write what the float network makes of a few texts, so that a pack can be checked where it is built."""
    texts = [row["text"] for row in rows if row["source"].startswith("train/") and len(row["text"]) < 200]
    written = []
    for text in texts[:: max(1, len(texts) // REFERENCES)][:REFERENCES]:
        found = model.read(text)
        private = [round(float(1 - one), 3) for one in found.chances[:, 0]]
        written.append({"text": text, "hostile": round(model.chance(found), 4), "private": private})
    target.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Fit, report, and write where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("out", "examples", "graph"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--name", default="adapters")
    parser.add_argument("--version", required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = read_rows(given.examples)
    teach(rows, given.out)
    lines = fit(rows) | {"hostile": fit_hostile(rows)}
    fitted = {"version": given.version, "thresholds": lines}
    if given.write:
        with np.load(given.out / f"{given.name}.npz") as stored:
            write(dict(stored), fitted, rows, encoder_graph.read_weights(given.graph), GUARD_REFERENCE.parent)


if __name__ == "__main__":
    main()
