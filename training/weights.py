"""
Take the float weights of e5-small out of its ONNX graph, under the names that the encoder gives them.

    python -m training.weights --graph e5-small.onnx --out weights.npz

The graph was exported without names for its matrices, so they are taken in the order of the MatMul nodes:
query, key, value, attention output, intermediate, output, for each layer. `training.encoder` and the pack
builder read the file; a wrong order would show at once, since the tests compare the encoder with recorded
vectors.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LAYERS = 12
GROUP = 64
MATRIX = 2
SCALE = ".scale"
TINY = 1e-8
MATRICES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def matrix_names() -> list[str]:
    """Return the names of all adapted matrices, in the order of the graph."""
    return [f"encoder.layer.{layer}.{name}" for layer in range(LAYERS) for name in MATRICES]


def read_weights(graph: Path) -> dict[str, NDArray[np.float32]]:
    """Return every weight by name; matrices are `[inputs, outputs]` as in the graph."""
    import onnx  # noqa: PLC0415 - heavy and optional
    from onnx import numpy_helper  # noqa: PLC0415

    network: Any = onnx.load(str(graph))
    arrays = {one.name: numpy_helper.to_array(one) for one in network.graph.initializer}
    named = {name: array for name, array in arrays.items() if name.startswith(("embeddings.", "encoder."))}
    products = [node for node in network.graph.node if node.op_type == "MatMul"]
    matrices = [node.input[1] for node in products if node.input[1] in arrays]
    for name, key in zip(matrix_names(), matrices, strict=True):
        named[f"{name}.weight"] = arrays[key]
    return {name: np.asarray(array, np.float32) for name, array in named.items()}


def pack_weights(weights: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """
    Return the weights in a quarter of the space, to be carried to a machine with a GPU.

    Matrices get 8 bits a number and a scale for every `GROUP` of them. What is trained on these is
    merged into the exact weights later; the difference is far below that of the pack's own 8 bits.
    """
    packed: dict[str, NDArray[Any]] = {}
    for name, array in weights.items():
        if array.ndim != MATRIX or array.size % GROUP:
            packed[name] = array
            continue
        groups = array.reshape(-1, GROUP)
        scale = np.maximum(np.abs(groups).max(axis=1, keepdims=True), TINY) / 127
        packed[name] = np.round(groups / scale).astype(np.int8).reshape(array.shape)
        packed[name + SCALE] = scale.astype(np.float16)
    return packed


def unpack_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return what `pack_weights` wrote, as 32-bit numbers."""
    found: dict[str, NDArray[np.float32]] = {}
    with np.load(path) as stored:
        for name in stored.files:
            if name.endswith(SCALE):
                continue
            array = stored[name].astype(np.float32)
            if name + SCALE in stored.files:
                array = (array.reshape(-1, GROUP) * stored[name + SCALE].astype(np.float32)).reshape(
                    array.shape
                )
            found[name] = array
    return found


def main() -> None:
    """Write the weights of a graph to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    np.savez_compressed(arguments.out, **pack_weights(read_weights(arguments.graph)))


if __name__ == "__main__":
    main()
