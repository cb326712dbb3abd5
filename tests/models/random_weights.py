"""An encoder for tests of training."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engramdb.models.encoder_graph import LAYERS, MATRICES, NORMS, WIDTH, Floats

WORDS = 30_522


def random_weights(rows: Iterable[Iterable[int]]) -> dict[str, Floats]:
    """Return an encoder of the right shape that knows nothing; only the tokens of the rows have vectors."""
    chance = np.random.default_rng(7)
    words = np.zeros((WORDS, WIDTH), np.float32)
    known = sorted({token for row in rows for token in row})
    words[known] = chance.normal(0, 1, (len(known), WIDTH))
    weights: dict[str, Floats] = {
        "embeddings.word_embeddings.weight": words,
        "embeddings.position_embeddings.weight": chance.normal(0, 0.1, (512, WIDTH)).astype(np.float32),
        "embeddings.token_type_embeddings.weight": np.zeros((2, WIDTH), np.float32),
        "embeddings.LayerNorm.weight": np.ones(WIDTH, np.float32),
        "embeddings.LayerNorm.bias": np.zeros(WIDTH, np.float32),
    }
    shapes = dict.fromkeys(MATRICES, (WIDTH, WIDTH)) | {
        "intermediate.dense": (WIDTH, 4 * WIDTH),
        "output.dense": (4 * WIDTH, WIDTH),
    }
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            key = f"encoder.layer.{layer}.{name}"
            weights[f"{key}.weight"] = (chance.normal(0, 1, shape) / np.sqrt(shape[0])).astype(np.float32)
            weights[f"{key}.bias"] = np.zeros(shape[1], np.float32)
        for name in NORMS:
            weights[f"encoder.layer.{layer}.{name}.weight"] = np.ones(WIDTH, np.float32)
            weights[f"encoder.layer.{layer}.{name}.bias"] = np.zeros(WIDTH, np.float32)
    return weights
