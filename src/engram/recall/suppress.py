"""
Leave out what was of no help for such a question before; for other questions it stays.

Called by `recall.pipeline` with the candidates. A memory may be wrong here and right there, so the
feedback is kept with the question that it was given for, and it wears off.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engram.text.normal import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from engram.policy import RecallPolicy
    from engram.providers.calibration import Calibration
    from engram.store.contract import Transaction
    from engram.values import EmbedderIdentity


class ComparesQuestions(Protocol):
    """The part of an embedder that says how alike two questions are."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    @property
    def calibration(self) -> Calibration: ...


def unhelpful(
    tx: Transaction,
    keys: Sequence[int],
    question: str,
    vector: NDArray[np.float32] | None,
    *,
    embedder: ComparesQuestions,
    policy: RecallPolicy,
    now: datetime,
) -> set[int]:
    """Return which of these memories were of no help for this question or one much like it."""
    since = now - timedelta(days=policy.suppress_days)
    asked = fingerprint(question)
    found = set()
    for one in tx.feedback.against(keys, since=since):
        is_alike = one.question == asked
        if not is_alike and vector is not None and one.vector is not None:
            is_alike = one.space == tx.vectors.space(embedder.identity) and (
                embedder.calibration.similarity(float(np.dot(vector, one.vector))) > policy.suppress_above
            )
        if is_alike:
            found.add(one.key)
    return found
