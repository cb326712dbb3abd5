"""A chat model as reader and as judge. It says no more than a word, so its chances are 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence

from engramdb.errors import ChatReplyInvalid
from engramdb.models.chat import CallLog, ChatModel, ask
from engramdb.models.prompts import read, relate, which_answer
from engramdb.models.reader import Utterance
from engramdb.values.reading import PairJudgment, PairRelation, Reading

TEXTS_PER_QUESTION = 20
"""Texts or statements in one question."""


class ChatReader:
    """
    Reads and judges by asking a chat model.

    Raises `ChatUnavailable` when it cannot be reached, and for readings and answers `ChatReplyInvalid` when
    its reply cannot be used: no verdict is not a verdict.
    """

    def __init__(self, chat: ChatModel, log: CallLog) -> None:
        self._chat = chat
        self._log = log

    @property
    def name(self) -> str:
        """The model's name, with the version of the question to it."""
        return f"{self._chat.name}/{read.VERSION}.{relate.VERSION}"

    def read(self, texts: Sequence[Utterance]) -> list[Reading]:
        """Return one reading per text."""
        found: list[Reading] = []
        for begin in range(0, len(texts), TEXTS_PER_QUESTION):
            asked = texts[begin : begin + TEXTS_PER_QUESTION]
            replies = ask(self._chat, read.question(asked), log=self._log).value
            found += [
                Reading(
                    by=self.name,
                    keep=None if one.keep is None else float(one.keep),
                    is_kept=one.keep,
                    force=one.force,
                    lasting=one.lasting,
                    hostile=None if one.hostile is None else float(one.hostile),
                    is_hostile=one.hostile,
                )
                for one in replies
            ]
        return found

    @property
    def is_remote(self) -> bool:
        """A chat model is asked over the network, wherever it runs."""
        return True

    def relate(
        self,
        newer: Utterance,
        older: Sequence[Utterance],
        *,
        seconds: float | None = None,  # noqa: ARG002 - one question for all, which has a time-out of its own
    ) -> list[PairJudgment | None]:
        """Return how the newer statement stands to each of the older ones, where the model says so."""
        found: list[PairJudgment | None] = []
        for begin in range(0, len(older), TEXTS_PER_QUESTION):
            known = older[begin : begin + TEXTS_PER_QUESTION]
            for one, relation in zip(known, self._relations(newer, known), strict=True):
                is_whole = not (relate.is_clipped(newer.text) or relate.is_clipped(one.text))
                found.append(self._judgment(relation) if relation is not None and is_whole else None)
        return found

    def _judgment(self, relation: PairRelation) -> PairJudgment:
        is_harmless = relation not in (PairRelation.CONFLICT, PairRelation.SAME)
        return PairJudgment.certain(relation, by=self.name, is_harmless=is_harmless)

    def _relations(self, newer: Utterance, known: Sequence[Utterance]) -> Sequence[PairRelation | None]:
        """Ask once; a reply that cannot be read is counted, and says nothing."""
        try:
            return ask(self._chat, relate.question(newer, known), log=self._log).value
        except ChatReplyInvalid:
            return [None] * len(known)

    def answers(
        self,
        question: str,
        memories: Sequence[str],
        *,
        seconds: float | None = None,  # noqa: ARG002 - its own time-out holds
    ) -> list[float]:
        """Return for each memory 1 where it answers the question and 0 where not."""
        found: list[float] = []
        for begin in range(0, len(memories), TEXTS_PER_QUESTION):
            asked = which_answer.question(question, memories[begin : begin + TEXTS_PER_QUESTION])
            found += [float(one) for one in ask(self._chat, asked, log=self._log).value]
        return found

    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None:  # noqa: ARG002
        """No chat model is asked while somebody waits for an answer; the rules tell."""
        return None

    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None:  # noqa: ARG002
        """It has no opinion: what depends on what is not asked of a chat model yet."""
        return None
