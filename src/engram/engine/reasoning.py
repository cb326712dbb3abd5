"""
The verb that follows a question further than one recall: `reason`.

Part of `Engram`; `reason_wiring` does it and is loaded when somebody asks. The only verb of the read path
that asks a chat model, and never for more calls and tokens than it may; without one it gives evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import engine
from engram.engine.handle import Handle

if TYPE_CHECKING:
    from engram.values import Reasoned, Scope

EVIDENCE = 20


class Reasoning(Handle):
    """The verb that reasons."""

    def reason(
        self,
        question: str,
        *,
        depth: int | None = None,
        limit: int = EVIDENCE,
        calls: int | None = None,
        tokens: int | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Reasoned:
        """
        Recall, judge whether that is enough, ask for parts and gaps, and answer from what was found.

        The answer names the memories that it stands on. Without a chat model, or where it fails, there is
        none, and `why` says so; the evidence tree is there at any rate. `depth` is how many levels of
        questions are asked, from 1 to 5; a model is asked `calls` times at most, for `tokens` in all. What is
        not given follows from what the model can do.
        """
        place, now = self._in(scope), self._now()
        reasoned = engine.reason_wiring.reason_once(
            self._parts, question, depth=depth, limit=limit, calls=calls, tokens=tokens, scope=place, now=now
        )
        least = self._parts.policy.recall.least_score
        self._reads.note(
            [hit.memory.id for hit in reasoned.evidence],
            fitting={hit.memory.id for hit in reasoned.evidence if hit.trust.relevance >= least},
            scope=place,
            session=session,
            at=now,
            in_background=self._loader is not None,
        )
        return reasoned
