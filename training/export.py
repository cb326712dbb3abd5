"""
Turn what was trained into what ships with the package.

    python -m training.export --adapters out/adapters.npz --fitted out/fitted.json --graph e5-small.onnx \
        --examples held.jsonl --version 1 [--towards 0.7]

Writes `reader.npz` (adapters in 8 bits, smoothing, heads, what was fitted) and `reader_reference.json` (what
the float network makes of a few texts, so that a pack can be checked where it is built) into the package.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engramdb.models import encoder_graph, reader_pack
from engramdb.models.e5 import open_session
from engramdb.models.encoder_graph import LAYERS, NORMS, PRODUCTS, Floats, Weights
from engramdb.models.packs import READER_REFERENCE
from training.tasks import TASKS, Example, read_examples

STEPS = 127
ALPHAS = {"attend": 0.8, "mix": 0.85, "widen": 0.65, "narrow": 0.8}
"""How much of an activation's range moves into the weights, by product: the least error (lab 36)."""
CALIBRATED_ON = 300
REFERENCES = 24


def adapters_of(trained: Mapping[str, NDArray[Any]]) -> dict[str, Floats]:
    """Return what was trained in the encoder, under the names of the weights that it changes."""
    found: dict[str, Floats] = {}
    for name, array in trained.items():
        parts = name.split(".")
        if parts[:2] == ["encoder", "norm"]:
            found[f"embeddings.LayerNorm.{parts[-1]}"] = array.astype(np.float32)
        elif parts[0] == "encoder":
            found[_weight_name(parts)] = array.astype(np.float32)
    return found


def _weight_name(parts: Sequence[str]) -> str:
    """Translate `encoder.layers.3.parts.output_dense.down` and `encoder.layers.3.attended.weight`."""
    prefix = f"encoder.layer.{parts[2]}."
    if parts[3] == "parts":
        matrix = next(one for one in encoder_graph.MATRICES if one.replace(".", "_") == parts[4])
        return f"{prefix}{matrix}.{parts[5]}"
    return f"{prefix}{NORMS[0] if parts[3] == 'attended' else NORMS[1]}.{parts[4]}"


def shipped_state(shipped: Path) -> dict[str, NDArray[Any]]:
    """Return a shipped reader under the names of the encoder that was trained: where training may go on."""
    adapters, _ = reader_pack.read_adapters(shipped)
    state: dict[str, NDArray[Any]] = {_trained_name(name): array for name, array in adapters.items()}
    with np.load(shipped) as stored:
        for task in TASKS:
            state[f"heads.{task}.weight"] = stored[f"head.{task}.weight"].T.astype(np.float32)
            state[f"heads.{task}.bias"] = stored[f"head.{task}.bias"].astype(np.float32)
    return state


def _trained_name(name: str) -> str:
    """Translate the name of a weight into that of what was trained for it: `_weight_name` the other way."""
    stem, _, end = name.rpartition(".")
    if stem == "embeddings.LayerNorm":
        return f"encoder.norm.{end}"
    layer, _, part = stem.removeprefix("encoder.layer.").partition(".")
    if part in NORMS:
        return f"encoder.layers.{layer}.{'attended' if part == NORMS[0] else 'finished'}.{end}"
    return f"encoder.layers.{layer}.parts.{part.replace('.', '_')}.{end}"


def between(
    begun: Mapping[str, NDArray[Any]], trained: Mapping[str, NDArray[Any]], share: float
) -> dict[str, NDArray[Any]]:
    """Return what lies between two readers, of which one learnt on from the other: 1 is the trained one."""
    if share == 1:
        return dict(trained)
    return {
        name: (1 - share) * begun[name] + share * array.astype(np.float32) for name, array in trained.items()
    }


def quantized(adapters: Weights) -> dict[str, NDArray[Any]]:
    """Return the adapters as they ship: thin matrices in 8 bits with a scale per thin dimension."""
    stored: dict[str, NDArray[Any]] = {}
    for name, array in adapters.items():
        key = f"adapter.{name}"
        if name.endswith((".down", ".up")):
            axis = 0 if name.endswith(".down") else 1
            scale = np.maximum(np.abs(array).max(axis=axis, keepdims=True), 1e-8) / STEPS
            scale = scale.astype(np.float16)
            stored[key] = np.clip(np.round(array / scale.astype(np.float32)), -STEPS, STEPS).astype(np.int8)
            stored[f"{key}.scale"] = scale
        else:
            stored[key] = array.astype(np.float32)
    return stored


def smoothing_of(weights: Weights, network: Path, texts: Iterable[Sequence[int]]) -> dict[str, Floats]:
    """Return for each product how much of its input's range is to move into its matrix, per column."""
    ranges = _input_ranges(network, texts)
    found: dict[str, Floats] = {}
    for layer in range(LAYERS):
        for product, names in PRODUCTS.items():
            matrix = np.concatenate([weights[f"encoder.layer.{layer}.{one}.weight"] for one in names], axis=1)
            share = np.maximum(ranges[f"{layer}.{product}"], 1e-4) ** ALPHAS[product]
            share /= np.maximum(np.abs(matrix).max(axis=1), 1e-4) ** (1 - ALPHAS[product])
            found[f"{layer}.{product}"] = np.maximum(share / np.exp(np.log(share).mean()), 1e-3)
    return found


def _input_ranges(network: Path, texts: Iterable[Sequence[int]]) -> dict[str, Floats]:
    import onnx  # noqa: PLC0415 - heavy and optional

    graph: Any = onnx.load(str(network))
    inputs = {node.output[0]: node.input[0] for node in graph.graph.node if node.op_type == "MatMul"}
    wanted = {name.removesuffix(".product"): one for name, one in inputs.items()}
    for name in sorted(set(wanted.values())):
        graph.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "open.onnx"
        onnx.save(graph, str(path))
        session = open_session(path, threads=2)
    names = sorted(set(wanted.values()))
    largest: dict[str, Floats] = {}
    for tokens in texts:
        row = np.array([tokens], np.int64)
        outputs = session.run(names, {"tokens": row, "places": np.arange(len(tokens))[None]})
        for name, states in zip(names, outputs, strict=True):
            largest[name] = np.maximum(largest.get(name, 0.0), np.abs(states[0]).max(axis=0))
    return {product: largest[name] for product, name in wanted.items()}


def references(network: Path, heads: Path, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Return what the float network makes of some texts that it was not trained on."""
    reader = reader_pack.ReaderNetwork(network, heads)
    rows = []
    for one in examples:
        found = reader.probabilities(one.first, one.second)
        kept = {task: np.round(found[task], 4).tolist() for task in one.labels}
        rows.append({"first": one.first, "second": one.second, "probabilities": kept})
    return rows


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("adapters", "fitted", "graph", "examples"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument(
        "--towards",
        type=float,
        default=1.0,
        help="how far to go from the shipped reader, which it began from",
    )
    arguments = parser.parse_args()
    with np.load(arguments.adapters) as stored:
        trained = between(shipped_state(reader_pack.SHIPPED), dict(stored), arguments.towards)
    fitted = json.loads(arguments.fitted.read_text(encoding="utf-8"))
    examples = read_examples(arguments.examples)
    weights = encoder_graph.read_weights(arguments.graph)
    write(trained, fitted, weights, examples, version=arguments.version)


def write(
    trained: Mapping[str, NDArray[Any]],
    fitted: Mapping[str, Any],
    weights: Weights,
    examples: Sequence[Example],
    *,
    version: str,
    folder: Path = reader_pack.SHIPPED.parent,
) -> None:
    """Write adapters, heads and references into a folder, by default that of the package."""
    shipped = folder / reader_pack.SHIPPED.name
    meta = {"version": version, "tasks": {task: list(names) for task, names in TASKS.items()}, **fitted}
    arrays = quantized(adapters_of(trained))
    for task in TASKS:
        arrays[f"head.{task}.weight"] = trained[f"heads.{task}.weight"].T.astype(np.float16)
        arrays[f"head.{task}.bias"] = trained[f"heads.{task}.bias"].astype(np.float32)
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez_compressed(shipped, **arrays)  # type: ignore[arg-type]
    step = max(1, len(examples) // CALIBRATED_ON)
    with tempfile.TemporaryDirectory() as workshop:
        adapters, _ = reader_pack.read_adapters(shipped)
        changed = encoder_graph.merged(weights, adapters)
        network = encoder_graph.write_graph(changed, Path(workshop) / "float.onnx", quantize=False)
        smoothing = smoothing_of(changed, network, [one.tokens for one in examples[::step]])
        arrays |= {f"smooth.{name}": array.astype(np.float16) for name, array in smoothing.items()}
        np.savez_compressed(shipped, **arrays)  # type: ignore[arg-type]
        chosen = examples[:: max(1, len(examples) // REFERENCES)][:REFERENCES]
        rows = references(network, shipped, chosen)
    target = folder / READER_REFERENCE.name
    target.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
