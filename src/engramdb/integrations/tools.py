"""
What a model may do with its memory, as functions: remember, recall, correct and forget.

For frameworks that make tools of functions: names, docstrings and types are what the model reads. Whose
memories they are is set by the program, never by the model. Asynchronous; the work is done in worker threads.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from engramdb.acting import acting_as
from engramdb.errors import EngramError
from engramdb.integrations.transcript import in_thread
from engramdb.text.dates import standalone
from engramdb.values import Actor, ActorKind, CorrectedMemory, Memory, SaidTurn, Source, Surface
from engramdb.verbs.wording import NOT_REPLACED, SAID, speaker_of

if TYPE_CHECKING:
    from engramdb import Engram, Scope

Tool = Callable[..., Awaitable[Any]]

_MAX_RECALLED = 20
_MODEL = Actor(name="agent", kind=ActorKind.AGENT, surface=Surface.INTEGRATION)
"""Who calls the tools, whoever runs the program."""


class MemoryCalls:
    """The four calls; what the model can mend, such as a wrong id, is raised as the framework's `refusal`."""

    def __init__(
        self,
        engram: Engram,
        *,
        session: str | None,
        scope: Scope | None,
        refusal: Callable[[str], Exception] | None = None,
    ) -> None:
        self._engram = engram
        self._session = session
        self._scope = scope
        self._refusal = refusal

    def all(self) -> list[Tool]:
        """Return the functions, to be made tools of."""
        return [self.remember, self.recall, self.correct, self.forget]

    async def remember(self, statement: str, from_user: bool = False) -> dict[str, str]:
        """
        Remember one statement for later conversations.

        Not for what `recall` just gave; where a memory became wrong, use `correct`.

        Args:
            statement: One fact in plain words that can be understood by itself, such as "Maya's flight is
                on 3 May". Names instead of "he", dates instead of "tomorrow".
            from_user: True if the user said it, false if you concluded it.
        """
        source = Source.HUMAN if from_user else Source.ASSISTANT
        return _shown(
            await self._answered(
                self._engram.remember,
                statement,
                source=source,
                session=self._session,
                scope=self._scope,
            )
        )

    async def recall(self, question: str, limit: int = 5) -> list[dict[str, str]]:
        """
        Look up what was remembered in earlier conversations.

        Args:
            question: What you want to know, in plain words.
            limit: How many memories at most, 1 to 20.
        """
        limit = max(1, min(limit, _MAX_RECALLED))
        answer = await self._answered(
            self._engram.recall, question, limit=limit, session=self._session, scope=self._scope
        )
        return [*(_shown(hit.memory) for hit in answer.hits), *map(_said, answer.said)]

    async def correct(self, memory_id: str, statement: str, reason: str = "") -> dict[str, str]:
        """
        Put a new statement in the place of a memory that is wrong or no longer true.

        Args:
            memory_id: The id that `recall` or `remember` gave.
            statement: What is true instead, as one fact that can be understood by itself.
            reason: Why.
        """
        corrected: CorrectedMemory = await self._answered(
            self._engram.correct, memory_id, statement, reason=reason, scope=self._scope
        )
        return _shown(corrected) | ({} if corrected.disputed is None else {"note": NOT_REPLACED})

    async def forget(self, memory_id: str, reason: str = "") -> dict[str, str]:
        """
        Forget one memory, because the user asks for it.

        What is pinned or about health only the user can forget; tell them if it is refused.

        Args:
            memory_id: The id that `recall` or `remember` gave.
            reason: Why.
        """
        return _shown(await self._answered(self._engram.forget, memory_id, reason=reason, scope=self._scope))

    async def _answered(self, verb: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            with acting_as(_MODEL):
                return await in_thread(verb, *arguments, **options)
        except EngramError as exc:
            if self._refusal is None:
                raise
            raise self._refusal(str(exc)) from exc


def _shown(memory: Memory) -> dict[str, str]:
    return {"id": memory.id, "memory": standalone(memory), "when": f"{memory.when:%Y-%m-%d}"}


def _said(said: SaidTurn) -> dict[str, str]:
    """Return what was only said; it has no id, since there is no memory to correct or to forget."""
    return {
        "said": said.excerpt,
        "by": speaker_of(said),
        "when": f"{said.occurred_at:%Y-%m-%d}",
        "note": SAID,
    }
