"""
Let a chat model put a domain, and the whole, into better words than statements in a row.

Called by the step `tree` for what has changed, a bounded number of times a run. The model is given what may
be quoted and nothing else; where it fails or says more than it was given, the statements in a row stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.dream.insight.canopy import Foliage
from engram.dream.insight.gist import DOMAIN_TOKENS
from engram.errors import ChatError
from engram.providers.chat import CallLog
from engram.providers.prompts.retell import VERSION, retold

if TYPE_CHECKING:
    from engram.dream.step import Dreaming

CALLS_MOST = 20
"""So many calls a run for summaries; what is left over is worded without it until it changes again."""
LEAST_FACTS = 3


class Teller:
    """A chat model with a budget of calls, or nobody."""

    def __init__(self, dreaming: Dreaming) -> None:
        self._chat = dreaming.chat
        self._log = dreaming.calls or CallLog()
        self._left = CALLS_MOST if dreaming.chat is not None else 0

    def domain(self, foliage: Foliage) -> Foliage:
        """Return a domain in the model's words, where it found good ones."""
        facts = [fact for node in foliage.clusters for fact in node.summary.split("; ") if fact]
        text = self._told(facts, foliage.domain.title, DOMAIN_TOKENS)
        if text is None:
            return foliage
        quoted = {
            cluster: {key: max(level, 2) if level else 0 for key, level in members.items()}
            for cluster, members in foliage.quoted.items()
        }
        domain = replace(foliage.domain, summary=text, maker=self._maker())
        return Foliage(domain, foliage.clusters, quoted)

    def whole(self, text: str, *, tokens: int) -> str:
        """Return the text over everything in the model's words, where it found good ones."""
        told = self._told(text.split("; "), "everything", tokens)
        return text if told is None else told

    def _told(self, facts: list[str], title: str, tokens: int) -> str | None:
        if self._chat is None or self._left == 0 or len(facts) < LEAST_FACTS:
            return None
        self._left -= 1
        try:
            return retold(self._chat, facts, title=title, tokens=tokens, log=self._log)
        except ChatError:  # counted in the log; the statements in a row say the same
            return None

    def _maker(self) -> str:
        return f"{self._chat.name} summary/{VERSION}" if self._chat else ""
