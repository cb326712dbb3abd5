"""A chat model as reader and as judge. It says no more than a word, so its chances are 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence

from engramdb.errors import ChatReplyInvalid
from engramdb.models.chat import CallLog, ChatModel, ask
from engramdb.models.prompts import read, relate, which_answer
from engramdb.models.reader import Utterance
from engramdb.values.reading import PairJudgment, PairRelation, Reading

MOST_AT_ONCE = 20
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
        for begin in range(0, len(texts), MOST_AT_ONCE):
            asked = texts[begin : begin + MOST_AT_ONCE]
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

    def relate(
        self,
        newer: Utterance,
        older: Sequence[Utterance],
        *,
        seconds: float | None = None,  # noqa: ARG002 - one question for all, which has a time-out of its own
    ) -> list[PairJudgment]:
        """Return how the newer statement stands to each of the older ones."""
        found: list[PairJudgment] = []
        for begin in range(0, len(older), MOST_AT_ONCE):
            known = [one.text for one in older[begin : begin + MOST_AT_ONCE]]
            relations = self._relations(newer.text, known)
            found += [
                PairJudgment(
                    by=self.name,
                    relation=relation,
                    conflict=float(relation is PairRelation.CONFLICT),
                    same=float(relation is PairRelation.SAME),
                    is_conflict=relation is PairRelation.CONFLICT,
                    is_same=relation is PairRelation.SAME,
                )
                for relation in relations
            ]
        return found

    def _relations(self, statement: str, known: Sequence[str]) -> list[PairRelation]:
        """Ask once; a reply that cannot be read is counted, and changes nothing."""
        try:
            return ask(self._chat, relate.question(statement, known), log=self._log).value
        except ChatReplyInvalid:
            return [PairRelation.RELATED] * len(known)

    def answers(self, question: str, memories: Sequence[str]) -> list[float]:
        """Return for each memory 1 where it answers the question and 0 where not."""
        found: list[float] = []
        for begin in range(0, len(memories), MOST_AT_ONCE):
            asked = which_answer.question(question, memories[begin : begin + MOST_AT_ONCE])
            found += [float(one) for one in ask(self._chat, asked, log=self._log).value]
        return found
