"""
The verb that follows a question further than one recall: `reason`.

Part of `Engram`; builds what `recall.reason` needs and calls it. The only verb of the read path that asks a
chat model, and never for more calls and tokens than it may; without a model it gives the evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.engine.handle import Handle
from engram.engine.health import CHAT
from engram.errors import InvalidQuery
from engram.providers.capabilities import capabilities
from engram.recall.pipeline import recall
from engram.recall.purse import Purse
from engram.recall.reason import DEEPEST, Reasoner, reason
from engram.values import Query

if TYPE_CHECKING:
    from engram.values import Reasoned, Recall, Scope

DEPTH = 3
"""Of a tree unless another is asked for; what it is worth: docs/lab/0024-dream.md."""
EVIDENCE = 20
BUDGETS = ((200_000, True, 5, 15), (100_000, False, 3, 8), (0, False, 3, 3))
"""From what window on, whether for thinking models only: the depth and the calls. Seed 002 §15.6."""
MOST_TOKENS = 64_000
"""Half of a model's window may be spent, but never more than this: fifteen prompts with all they can hold."""


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
        deep, purse = self._purse_for(depth, calls=calls, tokens=tokens)
        place, now, policy = self._in(scope), self._now(), self._parts.policy.recall

        def look_up(asked: str) -> Recall:
            query = Query(text=asked, scope=place, limit=limit)
            return recall(query, self._parts.sources, now=now)

        Query(text=question, scope=place, limit=limit)
        with self._parts.health.watch("reason"):
            reasoned = reason(
                question,
                Reasoner(
                    recall=look_up,
                    depth=deep,
                    limit=limit,
                    least_relevance=policy.least_score,
                    log=self._parts.calls,
                    purse=purse,
                    failed=lambda error: self._parts.health.failed(CHAT, error),
                ),
            )
        self._reads.note(
            [hit.memory.id for hit in reasoned.evidence],
            fitting={hit.memory.id for hit in reasoned.evidence if hit.trust.relevance >= policy.least_score},
            scope=place,
            session=session,
            at=now,
            in_background=self._loader is not None,
        )
        return reasoned

    def _purse_for(
        self, depth: int | None, *, calls: int | None, tokens: int | None
    ) -> tuple[int, Purse | None]:
        """Return how deep to go, and the model with what it may cost; None where there is no model."""
        _check(depth, calls=calls, tokens=tokens)
        chat = self._parts.chat
        if chat is None:
            return depth or DEPTH, None
        can = capabilities(chat.name, overrides=self._parts.settings.models)
        deep, often = next(
            (deep, often)
            for window, for_thinking, deep, often in BUDGETS
            if can.context_window >= window and (can.thinking or not for_thinking)
        )
        most = min(can.context_window // 2, MOST_TOKENS)
        purse = Purse(
            chat, calls=often if calls is None else calls, tokens=most if tokens is None else tokens
        )
        return depth or deep, purse


def _check(depth: int | None, *, calls: int | None, tokens: int | None) -> None:
    if depth is not None and not 1 <= depth <= DEEPEST:
        raise InvalidQuery(f"depth={depth} is outside 1 to {DEEPEST}")
    for name, number in (("calls", calls), ("tokens", tokens)):
        if number is not None and number < 0:
            raise InvalidQuery(f"{name}={number} is below 0")
