"""
Count tokens with whatever counter there is, and never too few.

Used by every file of this room; the counters themselves live in `providers.tokenizers`. Of a counter that is
not exact the safe number is taken, so that "never over budget" holds for the model's own count, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.providers.tokenizers import TokenCounter


@dataclass(frozen=True, slots=True)
class Measure:
    """A counter, and how its counts compare with those that are stored with memories."""

    counter: TokenCounter
    ratio: float = 1.0

    def of(self, text: str) -> int:
        """Return what a text costs at most."""
        return self.counter.most(text) if text else 0

    def planned(self, stored: int) -> int:
        """Return what a text with this stored count is likely to cost."""
        return math.ceil(stored * self.ratio)

    def fitted(self, samples: Sequence[tuple[str, int]]) -> Measure:
        """Return the measure with the ratio of these texts' counts to the counts stored with them."""
        stored = sum(tokens for _, tokens in samples)
        return replace(self, ratio=sum(self.of(text) for text, _ in samples) / stored) if stored else self
