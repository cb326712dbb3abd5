"""
EmbedderIdentity: which vectors may be compared with one another.

Named by every embedder, stored with every vector; a change of any part makes a new vector space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Metric: TypeAlias = Literal["cosine", "dot", "euclidean", "hamming"]


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The same name, dimension, revision and metric mean the same space."""

    name: str
    dimension: int
    revision: str
    metric: Metric = "cosine"
