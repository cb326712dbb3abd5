"""
The verbs `context` and `brief`: what a model should have in mind for a message, and when work begins.

Budget first, then fill. What is shown and fits the message counts as recalled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.context.brief import LOOKED_AT, BriefSources, build_brief
from engramdb.context.budget import Measure, available_tokens
from engramdb.context.build import WindowRequest, WindowSources, build_window
from engramdb.context.history import HistoryMessage, ModelSummaries, parse_history
from engramdb.context.sections import StandingMemories, choose_questions, question_line
from engramdb.errors import EmbeddingError, InvalidQuery
from engramdb.health import Health
from engramdb.index.domains import find_summaries
from engramdb.lifecycle.access_log import AccessRecorder
from engramdb.lifecycle.forgotten import ForgottenStatements
from engramdb.lifecycle.questions import put_into_words
from engramdb.lifecycle.screening import is_harmless, origin_of_turn
from engramdb.models.capabilities import Capabilities, TokenCounter, capabilities, counter_for
from engramdb.models.chat import CallLog, ChatModel, note_invalid_reply
from engramdb.models.embedder import Embedder
from engramdb.policy import Policy
from engramdb.recall import gather
from engramdb.recall.pipeline import recall
from engramdb.recall.service import message_query, still_reading
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.text.tokens import USUAL
from engramdb.values import (
    Breadth,
    Brief,
    Filters,
    Gap,
    MemoryId,
    Missing,
    Recall,
    Role,
    Scope,
    Summary,
    Turn,
    Window,
    WorkingLine,
)
from engramdb.vault.disclosure import Audience, disclose_turns

LEFT_OUT: Final = "[left out: it reads like an instruction to an agent]"
"""Stands in a prompt for a stored turn that gives orders."""
MAX_TURNS = 400
"""The turns of a session that are read for its history."""
SUMMARIES_LOOKED_AT = 5


class ContextParts(Protocol):
    """What building a prompt needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def store(self) -> Store: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def sources(self) -> gather.Sources: ...
    @property
    def access_log(self) -> AccessRecorder: ...
    @property
    def forgotten(self) -> ForgottenStatements: ...
    @property
    def chat(self) -> ChatModel | None: ...
    @property
    def calls(self) -> CallLog: ...
    def wait_for_reading(self) -> bool:
        """Give turns that are being read a moment; return whether all are read."""


class PromptRequest(Struct, frozen=True, kw_only=True):
    """What a prompt is to be built for, the scope resolved."""

    message: str
    scope: Scope
    model: str | None = None
    history: Sequence[Turn | Mapping[str, str]] | None = None
    fixed: str | Sequence[str] = ()
    reserve: int | None = None
    budget: int | None = None
    working: Sequence[WorkingLine] = ()
    session: str | None = None
    counter: TokenCounter | None = None


class ContextService:
    """Builds prompts."""

    def __init__(self, parts: ContextParts) -> None:
        self._parts = parts
        self._standing = StandingMemories(parts.policy.context)
        self._summaries: ModelSummaries | None = None
        if parts.chat is not None and parts.policy.context.summarises_with_model:
            self._summaries = ModelSummaries(
                parts.chat, parts.calls, partial(note_invalid_reply, parts.health)
            )

    def clear(self) -> None:
        """Hold no words of any memory: some of them were erased."""
        self._standing.clear()

    def build(self, request: PromptRequest, *, recalled: Callable[[int], Recall] | None = None) -> Window:
        """Return the prompt in sections; `recalled` answers in place of a plain recall."""
        measure = Measure(request.counter or self.counter(request.model))
        fixed, place = fixed_text(request.fixed), request.scope
        taken = tokens_taken(request.message, fixed, measure.counter)
        asked = WindowRequest(
            message=request.message,
            scope=place,
            now=self._parts.clock.now(),
            budget=self.budget(request.model, budget=request.budget, taken=taken, reserve=request.reserve),
            session=request.session,
            fixed=fixed,
            fixed_tokens=taken,
            history=self._history(request),
            working=request.working,
        )
        answers: list[Recall] = []
        answer = recalled or self._recall_function(request.message, place)
        with self._parts.health.watch("context"):
            window = self._window(asked, _collect_answers(answers, answer), measure, request)
        self._note(window, answers, place, request.session)
        return window

    def brief(self, scope: Scope, *, budget: int, session: str | None) -> Brief:
        """Return what work in a scope begins with; what is shown counts as handed out."""
        if budget < 0:
            raise InvalidQuery(f"budget={budget} is below 0")
        now, left = self._parts.clock.now(), self._questions_left(scope, session)
        self._parts.wait_for_reading()
        with self._parts.health.watch("context"), self._parts.store.read() as tx:
            unreadable = tx.memories.skip_unreadable()
            known_standing = self._standing.of(tx, scope)
            standing = list(known_standing.memories.values())
            newest = tx.memories.list(scope=scope, filters=Filters(), limit=LOOKED_AT, before=None)
        known = {one.id for one in (*standing, *newest)}
        gaps = choose_questions(self._gaps(scope, known), known, left=left, now=now) if left > 0 else []
        sources = BriefSources(standing=standing, newest=newest, questions=gaps, session=session)
        found = build_brief(sources, budget, measure=Measure(self.counter(None)), now=now)
        asked = [gap for gap in gaps if question_line(gap) in found.text]
        self._note_questions(asked, scope, session)
        self._parts.access_log.note(list(found.memories), fitting=frozenset(), scope=scope, session=session)
        lost = [one for one, place in unreadable.items() if scope.sees(place)]
        return replace(found, unreadable=tuple(dict.fromkeys([*known_standing.unreadable, *lost])))

    def working_budget(self, request: PromptRequest) -> int:
        """Return how many tokens of the model's window working memory may take."""
        taken = tokens_taken(request.message, fixed_text(request.fixed), self.counter(request.model))
        budget = self.budget(request.model, budget=None, taken=taken, reserve=request.reserve)
        return int(budget * self._parts.policy.context.working_share)

    def _window(
        self,
        asked: WindowRequest,
        answer: Callable[[int], Recall],
        measure: Measure,
        request: PromptRequest,
    ) -> Window:
        failed = self._unknown_model(asked, request.model)
        model_summaries = self._summaries
        sources = WindowSources(
            store=self._parts.store,
            standing=self._standing,
            recall=answer,
            measure=measure,
            policy=self._parts.policy.context,
            summarize=(None if model_summaries is None else (lambda rest: model_summaries.of(rest, failed))),
            wider=lambda breadth: self._wider(asked.message, breadth, asked.scope),
            gaps=lambda shown: self._gaps(asked.scope, shown),
            questions_left=self._questions_left(asked.scope, request.session),
        )
        window = build_window(asked, sources)
        self._note_questions(window.asked, asked.scope, request.session)
        return replace(window, missing=(*window.missing, *failed)) if failed else window

    def _unknown_model(self, asked: WindowRequest, model: str | None) -> list[Missing]:
        """Say so where a model was named that nothing is known of: its window is a guess."""
        if not model or self._capabilities(model).is_known:
            return []
        reason = f"it is not known; {asked.budget} tokens are assumed to be left for memories"
        return [Missing(index="model", reason=reason)]

    def _capabilities(self, model: str) -> Capabilities:
        return capabilities(model, overrides=self._parts.settings.models)

    def counter(self, model: str | None) -> TokenCounter:
        """Return the counter of a model; where none is named, of the tokens that are usual."""
        return counter_for(model or USUAL, overrides=self._parts.settings.models)

    def budget(self, model: str | None, *, budget: int | None, taken: int, reserve: int | None) -> int:
        """Return the tokens that there are for memories; raises where the fixed parts leave none."""
        for name, given in (("budget", budget), ("reserve", reserve)):
            if given is not None and given < 0:
                raise InvalidQuery(f"{name}={given} is below 0")
        if budget is not None:
            return budget
        able = self._capabilities(model or "")
        room = available_tokens(
            able.context_window,
            output_limit=able.output_limit,
            used_tokens=taken,
            reserve=reserve,
            policy=self._parts.policy.context,
        )
        if room < 0:
            raise InvalidQuery(
                f"the fixed parts and the message take {taken} tokens, {-room} more than "
                f"a window of {able.context_window} has room for beside the reply",
                hint="Use a model with a larger window, reserve less, or shorten the fixed parts.",
            )
        return room

    def _recall_function(self, message: str, scope: Scope) -> Callable[[int], Recall]:
        """Return the way to recall for a message."""
        is_read = self._parts.wait_for_reading()

        def answer(limit: int) -> Recall:
            query = message_query(message, scope, limit)
            found = recall(query, self._parts.sources, now=self._parts.clock.now())
            return found if is_read else still_reading(found)

        return answer

    def _history(self, request: PromptRequest) -> Sequence[HistoryMessage]:
        """Return what was said before: as given, or as the session's turns have it, without the message."""
        turns: Sequence[Turn | Mapping[str, str]] = request.history or ()
        if request.history is None and request.session is not None:
            turns = self.stored_talk(request.scope, request.session)
        said = parse_history(turns)
        if request.history:
            said = self._without_forgotten(said, request.scope)
        message = request.message.strip()
        is_repeated = said and said[-1].role is Role.USER and said[-1].content.strip() == message
        return said[:-1] if is_repeated else said

    def stored_talk(self, scope: Scope, session: str) -> list[Turn]:
        """
        Return the turns of a session as a prompt may hold them: nothing forgotten, no secret, no orders.

        Of a turn that gives orders to a model, such as the output of a tool, a line says that it is left out.
        """
        with self._parts.store.read() as tx:
            stored = tx.turns.list(scope=scope, session=session, limit=MAX_TURNS)
            shown = disclose_turns(self._parts.forgotten.conceal(tx, stored), Audience.PROMPT)
        return [
            one if is_harmless(one.content, origin_of_turn(one.role)) else replace(one, content=LEFT_OUT)
            for one in shown
        ]

    def _without_forgotten(self, said: Sequence[HistoryMessage], scope: Scope) -> list[HistoryMessage]:
        """Return a history that the caller holds, without the sentences that say what was forgotten."""
        known = self._parts.forgotten
        with self._parts.store.read() as tx:
            return [replace(one, content=known.conceal_text(tx, one.content, scope=scope)) for one in said]

    def _note(self, window: Window, answers: Sequence[Recall], place: Scope, session: str | None) -> None:
        """Count what the window shows as handed out, and what of it fits the message as recalled."""
        least = self._parts.policy.recall.least_score
        hits = (hit for answer in answers for hit in answer.hits)
        self._parts.access_log.note(
            list(dict.fromkeys(held.memory_id for held in window.holds)),
            fitting={hit.memory.id for hit in hits if hit.trust.relevance >= least},
            scope=place,
            session=session,
        )

    def _wider(self, message: str, breadth: Breadth, place: Scope) -> Sequence[Summary]:
        """Return what the dream wrote about many memories at once, what fits the message first."""
        with self._parts.store.read() as tx:
            space, vector = None, None
            if not tx.tree.visible(place, breadth):
                return ()
            with contextlib.suppress(EmbeddingError):  # without a vector the largest come first
                (vector,) = self._parts.embedder.embed_queries([message])
                space = tx.vectors.space(self._parts.embedder.identity)
            return find_summaries(tx, place, vector, breadth, SUMMARIES_LOOKED_AT, space=space)

    def questions_about(
        self, memories: Set[MemoryId], *, scope: Scope, session: str | None, most: int
    ) -> list[Gap]:
        """Return open questions about memories that may be put to the person now; they count as asked."""
        left, now = min(most, self._questions_left(scope, session)), self._parts.clock.now()
        if left <= 0 or not memories:
            return []
        gaps = choose_questions(self._gaps(scope, memories), memories, left=left, now=now)
        self._note_questions(gaps, scope, session)
        return gaps

    def _gaps(self, place: Scope, memories: Set[MemoryId]) -> Sequence[Gap]:
        with self._parts.store.read() as tx:
            return put_into_words(tx, tx.gaps.open_about(sorted(memories), scope=place))

    def _questions_left(self, place: Scope, session: str | None) -> int:
        most = self._parts.policy.context.gap_questions
        if session is None:  # there is none to count for: once a week is rule enough
            return most
        with self._parts.store.read() as tx:
            return most - len(tx.gaps.asked_in(session, scope=place))

    def _note_questions(self, gaps: Sequence[Gap], place: Scope, session: str | None) -> None:
        """Remember which open questions a window brought up, and in which session."""
        if not gaps:
            return
        asked, now = [gap.id for gap in gaps], self._parts.clock.now()
        with self._parts.store.atomic() as tx:
            tx.gaps.mark_asked(asked, at=now, scope=place, session=session)


def fixed_text(fixed: str | Sequence[str]) -> str:
    """Return the fixed parts of a prompt as they stand in it."""
    parts = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    return "\n\n".join(part for part in parts if part)


def tokens_taken(message: str, fixed: str, counter: TokenCounter) -> int:
    """Return what the parts of a prompt take that are not memories."""
    return sum(counter.most(part) for part in (fixed, message) if part)


def _collect_answers(answers: list[Recall], recalling: Callable[[int], Recall]) -> Callable[[int], Recall]:
    """Return the same way to recall; its answers are collected, to be counted."""

    def answer(limit: int) -> Recall:
        answers.append(recalling(limit))
        return answers[-1]

    return answer
