"""The verb `context`."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from engramdb import values
from engramdb.context.budget import Measure, room_for
from engramdb.context.build import WindowRequest, WindowSources, build
from engramdb.context.history import HistoryMessage, ModelSummaries, heard
from engramdb.context.sections import StandingMemories
from engramdb.engine.assemble import Parts
from engramdb.engine.built import built, is_built
from engramdb.engine.handle import Handle
from engramdb.engine.status import CHAT
from engramdb.engine.workers import READING_PATIENCE_SECONDS
from engramdb.errors import EmbeddingError, InvalidQuery
from engramdb.index.domains import summaries as summaries_index
from engramdb.models.capabilities import Capabilities, TokenCounter, capabilities, counter_for
from engramdb.recall.pipeline import recall as recall_recall
from engramdb.recall.pipeline import with_missing
from engramdb.text.tokens import USUAL
from engramdb.values import (
    Actor,
    Breadth,
    Gap,
    Missing,
    Query,
    Recall,
    Role,
    Scope,
    Summary,
    Turn,
    Window,
    WorkingLine,
)
from engramdb.values.query import MAX_QUERY_CHARACTERS

TURNS_MOST = 400
"""So many turns of a session are read for its history."""
SESSIONS_MOST = 256
"""Of so many sessions it is remembered how many questions they were asked."""
GAPS_LOOKED_AT = 20
SUMMARIES_LOOKED_AT = 5


class Contexts(Handle):
    """The verb that makes a prompt."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        super().__init__(parts, scope=scope, actor=actor)
        self._brought_up: OrderedDict[tuple[Scope, str | None], int] = OrderedDict()
        self._bringing_up = threading.Lock()

    @built
    def _standing(self) -> StandingMemories:
        return StandingMemories(self._parts.policy.context)

    @built
    def _summaries(self) -> ModelSummaries | None:
        parts = self._parts
        if parts.chat is None or not parts.policy.context.summarises_with_model:
            return None
        return ModelSummaries(parts.chat, parts.calls, lambda error: parts.health.failed(CHAT, error))

    def _let_go(self) -> None:
        super()._let_go()
        if is_built(self, "_standing"):
            self._standing.clear()

    def context(
        self,
        message: str,
        *,
        model: str | None = None,
        history: Sequence[Turn | Mapping[str, str]] | None = None,
        fixed: str | Sequence[str] = (),
        reserve: int | None = None,
        budget: int | None = None,
        working: Sequence[WorkingLine] = (),
        session: str | None = None,
        scope: Scope | None = None,
        recalled: Callable[[int], Recall] | None = None,
        counter: TokenCounter | None = None,
    ) -> Window:
        """
        Return what a model should have in mind for a message, in sections that fit its window.

        The window of `model` less the `fixed` parts of the prompt, the message and the reply is the budget;
        `budget` gives it outright. `reserve` is what the reply may take. Without a `history` the turns of
        the `session` are it. `recalled` answers in place of a plain recall, asked for so many memories, and
        `counter` counts in place of the model's own. What is shown and fits counts as recalled. Raises where
        fixed parts or working memory do not fit.
        """
        place, now = self._in(scope), self._now()
        measure = Measure(counter or self._counter(model))
        joined = fixed_text(fixed)
        taken = self._taken(message, joined, measure.counter)
        asked = WindowRequest(
            message=message,
            scope=place,
            now=now,
            budget=self._budget(model, budget=budget, taken=taken, reserve=reserve),
            session=session,
            fixed=joined,
            fixed_tokens=taken,
            history=self._heard(message, history, session, place),
            working=working,
        )
        answers: list[Recall] = []
        recalling = recalled or self._recalling(message, place)
        with self._parts.health.watch("context"):
            window = self._built(asked, _kept_in(answers, recalling), measure, session, model)
        self._note(window, answers, place, session)
        return window

    def _built(
        self,
        asked: WindowRequest,
        answer: Callable[[int], Recall],
        measure: Measure,
        session: str | None,
        model: str | None,
    ) -> Window:
        failed = self._unknown(asked, model)
        summaries = self._summaries
        sources = WindowSources(
            store=self._parts.store,
            standing=self._standing,
            recall=answer,
            measure=measure,
            policy=self._parts.policy.context,
            summarise=None if summaries is None else (lambda rest: summaries.of(rest, failed)),
            wider=lambda breadth: self._wider(asked.message, breadth, asked.scope),
            gaps=lambda: self._gaps(asked.scope),
            questions_left=self._questions_left(asked.scope, session),
        )
        window = build(asked, sources)
        self._asked(window.asked, asked.scope, session)
        return replace(window, missing=(*window.missing, *failed)) if failed else window

    def _unknown(self, asked: WindowRequest, model: str | None) -> list[Missing]:
        """Say so where a model was named that nothing is known of: its window is a guess."""
        if not model or self._able(model).is_known:
            return []
        reason = f"it is not known; {asked.budget} tokens are assumed to be left for memories"
        return [values.Missing(index="model", reason=reason)]

    def _able(self, model: str) -> Capabilities:
        return capabilities(model, overrides=self._parts.settings.models)

    def _counter(self, model: str | None) -> TokenCounter:
        """Return the counter of a model; where none is named, of the tokens that are usual."""
        return counter_for(model or USUAL, overrides=self._parts.settings.models)

    def _taken(self, message: str, fixed: str, counter: TokenCounter) -> int:
        """Return what the parts of a prompt take that are not memories."""
        return sum(counter.most(part) for part in (fixed, message) if part)

    def _budget(self, model: str | None, *, budget: int | None, taken: int, reserve: int | None) -> int:
        """Return the tokens that there are for memories; raises where the fixed parts leave none."""
        for name, given in (("budget", budget), ("reserve", reserve)):
            if given is not None and given < 0:
                raise InvalidQuery(f"{name}={given} is below 0")
        if budget is not None:
            return budget
        able = self._able(model or "")
        room = room_for(
            able.context_window,
            output_limit=able.output_limit,
            taken=taken,
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

    def _recalling(self, message: str, place: Scope) -> Callable[[int], Recall]:
        """Return the way to recall for a message; of one that is too long its end is asked."""
        is_read = self._listener.wait(READING_PATIENCE_SECONDS)

        def answer(limit: int) -> Recall:
            query = Query(text=message.strip()[-MAX_QUERY_CHARACTERS:], scope=place, limit=limit)
            found = recall_recall(query, self._parts.sources, now=self._now())
            if is_read:
                return found
            return with_missing(found, "turns", "some are still being read")

        return answer

    def _heard(
        self,
        message: str,
        history: Sequence[Turn | Mapping[str, str]] | None,
        session: str | None,
        place: Scope,
    ) -> Sequence[HistoryMessage]:
        """Return what was said before: as given, or as the session's turns have it, without the message."""
        turns: Sequence[Turn | Mapping[str, str]] = history or ()
        if history is None and session is not None:
            with self._parts.store.read() as tx:
                turns = tx.turns.list(scope=place, session=session, limit=TURNS_MOST)
        said = heard(turns)
        is_repeated = said and said[-1].role is Role.USER and said[-1].content.strip() == message.strip()
        return said[:-1] if is_repeated else said

    def _note(self, window: Window, answers: Sequence[Recall], place: Scope, session: str | None) -> None:
        """Count what the window shows as handed out, and what of it fits the message as recalled."""
        least = self._parts.policy.recall.least_score
        hits = (hit for answer in answers for hit in answer.hits)
        self._reads.note(
            list(dict.fromkeys(held.memory_id for held in window.holds)),
            fitting={hit.memory.id for hit in hits if hit.trust.relevance >= least},
            scope=place,
            session=session,
            at=self._now(),
            in_background=self._loader is not None,
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
            return summaries_index(tx, place, vector, breadth, SUMMARIES_LOOKED_AT, space=space)

    def _gaps(self, place: Scope) -> Sequence[Gap]:
        with self._parts.store.read() as tx:
            return tx.gaps.open_for(place, limit=GAPS_LOOKED_AT)

    def _questions_left(self, place: Scope, session: str | None) -> int:
        most = self._parts.policy.context.gap_questions
        if session is None:  # there is none to count for: once a week is rule enough
            return most
        with self._bringing_up:
            return most - self._brought_up.get((place, session), 0)

    def _asked(self, gaps: Sequence[Gap], place: Scope, session: str | None) -> None:
        """Remember which open questions a window brought up, and in which session."""
        if not gaps:
            return
        with self._bringing_up:
            self._brought_up[place, session] = self._brought_up.get((place, session), 0) + len(gaps)
            while len(self._brought_up) > SESSIONS_MOST:
                self._brought_up.popitem(last=False)
        with self._parts.store.atomic() as tx:
            tx.gaps.asked([gap.id for gap in gaps], at=self._now())


def fixed_text(fixed: str | Sequence[str]) -> str:
    """Return the fixed parts of a prompt as they stand in it."""
    parts = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    return "\n\n".join(part for part in parts if part)


def _kept_in(answers: list[Recall], recalling: Callable[[int], Recall]) -> Callable[[int], Recall]:
    """Return the same way to recall, with its answers kept for whoever counts them."""

    def answer(limit: int) -> Recall:
        answers.append(recalling(limit))
        return answers[-1]

    return answer
