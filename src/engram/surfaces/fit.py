"""
Say when an answer holds nothing that fits well, so that nobody relies on the nearest of what does not.

Called by the surfaces that show answers in words. Only scores of the strategy `score` are compared: those of
the others are ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engram.values import Recall

FITS_FROM: Final = 0.4
"""
The best of an answer seldom scores less where the answer is known, and mostly where it is not.

docs/lab/0018-recall.md: 1.6 % of a conversation's own questions, 75 % of another's.
"""


def is_far_off(answer: Recall) -> bool:
    """Say whether there are hits, and none that fits well."""
    return bool(answer.hits) and answer.quality.strategy == "score" and answer.hits[0].score < FITS_FROM
