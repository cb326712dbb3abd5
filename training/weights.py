"""
Take the float weights of e5-small out of its ONNX graph, under the names that the encoder gives them.

    python -m training.weights --graph e5-small.onnx --out weights.npz

They are packed, so that they can be carried to a machine with a GPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engramdb.models.encoder_graph import read_weights

GROUP = 64
MATRIX = 2
SCALE = ".scale"
TINY = 1e-8


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
    packed: dict[str, Any] = dict(pack_weights(read_weights(arguments.graph)))
    np.savez_compressed(arguments.out, **packed)


if __name__ == "__main__":
    main()
