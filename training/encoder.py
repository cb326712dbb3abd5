"""
The encoder of e5-small with low-rank adapters, and one head per task.

Written out instead of taken from a library so that names, shapes and arithmetic are those of the pack: what
is trained here is merged into the same matrices there. Everything but the adapters, the layer norms and the
heads is frozen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from engramdb.models.encoder_graph import (
    ATTENTION_HEADS,
    LAYERS,
    MATRICES,
    MEAN_LENGTH,
    NORM_EPSILON,
    WIDTH,
)

FEATURES = 5


class Adapted(nn.Module):
    """A frozen matrix with a trained product of two thin ones beside it: x·W + b + scale·(x·A)·B."""

    def __init__(
        self, weight: NDArray[np.float32], bias: NDArray[np.float32], *, rank: int, dropout: float
    ) -> None:
        super().__init__()
        inputs, outputs = weight.shape
        self.register_buffer("weight", torch.tensor(weight))
        self.register_buffer("bias", torch.tensor(bias))
        self.down = nn.Parameter(torch.randn(inputs, rank) / math.sqrt(inputs))
        self.up = nn.Parameter(torch.zeros(rank, outputs))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias + self.dropout(x) @ self.down @ self.up


class Layer(nn.Module):
    """One transformer layer, post-norm as in BERT."""

    def __init__(
        self, weights: Mapping[str, NDArray[np.float32]], number: int, *, rank: int, dropout: float
    ) -> None:
        super().__init__()
        prefix = f"encoder.layer.{number}."
        self.parts = nn.ModuleDict(
            {
                name.replace(".", "_"): Adapted(
                    weights[f"{prefix}{name}.weight"],
                    weights[f"{prefix}{name}.bias"],
                    rank=rank,
                    dropout=dropout,
                )
                for name in MATRICES
            }
        )
        self.attended = _norm(weights, f"{prefix}attention.output.LayerNorm")
        self.finished = _norm(weights, f"{prefix}output.LayerNorm")
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            self.parts[f"attention_self_{name}"](x).unflatten(-1, (ATTENTION_HEADS, -1)).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).flatten(2)
        x = self.attended(x + self.dropout(self.parts["attention_output_dense"](mixed)))
        inner = functional.gelu(self.parts["intermediate_dense"](x))
        return self.finished(x + self.dropout(self.parts["output_dense"](inner)))


class Encoder(nn.Module):
    """Token ids in, the last hidden states out."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], *, rank: int, dropout: float) -> None:
        super().__init__()
        types = weights["embeddings.token_type_embeddings.weight"][0]
        self.words = nn.Embedding.from_pretrained(torch.tensor(weights["embeddings.word_embeddings.weight"]))
        self.register_buffer(
            "positions", torch.from_numpy(weights["embeddings.position_embeddings.weight"] + types)
        )
        self.norm = _norm(weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(Layer(weights, one, rank=rank, dropout=dropout) for one in range(LAYERS))
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, present: Tensor) -> Tensor:
        x = self.dropout(self.norm(self.words(tokens) + self.positions[: tokens.shape[1]]))
        mask = present[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Reader(nn.Module):
    """
    The encoder and a linear head for every task.

    A head sees the first state, the mean of each text, how the two means differ and where they agree.
    Both texts are read together, so a mean already knows the other text; untrained, their likeness is
    that of the embedder.
    """

    def __init__(
        self,
        weights: Mapping[str, NDArray[np.float32]],
        classes: Mapping[str, int],
        *,
        rank: int = 24,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(weights, rank=rank, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.heads = nn.ModuleDict(
            {task: nn.Linear(FEATURES * WIDTH, count) for task, count in classes.items()}
        )

    def forward(self, tokens: Tensor, segments: Tensor) -> dict[str, Tensor]:
        """
        Return the logits of every task; `segments` is 1 for the first text, 2 for the second, 0 for
        nothing.
        """
        states = self.encoder(tokens, segments > 0)
        first, second = (_mean(states, segments == number) for number in (1, 2))
        features = torch.cat([states[:, 0], first, second, (first - second).abs(), first * second], dim=-1)
        features = self.dropout(features)
        return {task: head(features) for task, head in self.heads.items()}


def _mean(states: Tensor, chosen: Tensor) -> Tensor:
    """Return the mean of the chosen states scaled to length one, zero where there are none."""
    weight = chosen.unsqueeze(-1).to(states.dtype)
    mean = (states * weight).sum(1) / weight.sum(1).clamp(min=1)
    return functional.normalize(mean, dim=-1) * MEAN_LENGTH


def _norm(weights: Mapping[str, NDArray[np.float32]], name: str) -> nn.LayerNorm:
    norm = nn.LayerNorm(WIDTH, eps=NORM_EPSILON)
    norm.weight = nn.Parameter(torch.from_numpy(weights[f"{name}.weight"].copy()))
    norm.bias = nn.Parameter(torch.from_numpy(weights[f"{name}.bias"].copy()))
    return norm
