"""
How a question is followed: how deep, with which model, and for how many calls and tokens.

Called by `Engram.reason`; builds what `recall.reason` needs and calls it. What is not given follows from what
the model can do. Loaded when somebody asks: the prompts are of no use to anybody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.engine.health import CHAT
from engram.errors import InvalidQuery
from engram.providers.capabilities import capabilities
from engram.recall.pipeline import recall
from engram.recall.purse import Purse
from engram.recall.reason import DEEPEST, Reasoner, reason
from engram.values import Query

if TYPE_CHECKING:
    from datetime import datetime

    from engram.engine.assemble import Parts
    from engram.values import Reasoned, Recall, Scope

DEPTH = 3
"""Of a tree unless another is asked for; what it is worth: docs/lab/0024-dream.md."""
BUDGETS = ((200_000, True, 5, 15), (100_000, False, 3, 8), (0, False, 3, 3))
"""From what window on, whether for thinking models only: the depth and the calls. Seed 002 §15.6."""
MOST_TOKENS = 64_000
"""Half of a model's window may be spent, but never more than this: fifteen prompts with all they can hold."""


def reason_once(
    parts: Parts,
    question: str,
    *,
    depth: int | None,
    limit: int,
    calls: int | None,
    tokens: int | None,
    scope: Scope,
    now: datetime,
) -> Reasoned:
    """Follow one question and return what was found, with the answer if there is one."""
    deep, purse = _purse_for(parts, depth, calls=calls, tokens=tokens)

    def look_up(asked: str) -> Recall:
        return recall(Query(text=asked, scope=scope, limit=limit), parts.sources, now=now)

    Query(text=question, scope=scope, limit=limit)
    with parts.health.watch("reason"):
        return reason(
            question,
            Reasoner(
                recall=look_up,
                depth=deep,
                limit=limit,
                least_relevance=parts.policy.recall.least_score,
                log=parts.calls,
                purse=purse,
                failed=lambda error: parts.health.failed(CHAT, error),
            ),
        )


def _purse_for(
    parts: Parts, depth: int | None, *, calls: int | None, tokens: int | None
) -> tuple[int, Purse | None]:
    """Return how deep to go, and the model with what it may cost; None where there is no model."""
    _check(depth, calls=calls, tokens=tokens)
    chat = parts.chat
    if chat is None:
        return depth or DEPTH, None
    can = capabilities(chat.name, overrides=parts.settings.models)
    deep, often = next(
        (deep, often)
        for window, for_thinking, deep, often in BUDGETS
        if can.context_window >= window and (can.thinking or not for_thinking)
    )
    most = min(can.context_window // 2, MOST_TOKENS)
    purse = Purse(chat, calls=often if calls is None else calls, tokens=most if tokens is None else tokens)
    return depth or deep, purse


def _check(depth: int | None, *, calls: int | None, tokens: int | None) -> None:
    if depth is not None and not 1 <= depth <= DEEPEST:
        raise InvalidQuery(f"depth={depth} is outside 1 to {DEEPEST}")
    for name, number in (("calls", calls), ("tokens", tokens)):
        if number is not None and number < 0:
            raise InvalidQuery(f"{name}={number} is below 0")
