"""
Reason about a question: recall → judge whether that is enough → ask for parts and gaps → answer.

Level by level, so that a budget of questions goes to what lies near. Whatever a model fails at, the rules of
`evidence` do instead, and the failure is told. An answer names the memories it stands on, or there is none.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.errors import ChatError, ChatUnavailable, InvalidQuery
from engramdb.health import Health
from engramdb.models.capabilities import capabilities
from engramdb.models.chat import CallLog, ChatModel, ChatQuestion, ask, note_invalid_reply
from engramdb.models.prompts import answer as answer_prompt
from engramdb.models.prompts import decompose, sufficiency
from engramdb.policy import Policy
from engramdb.recall.evidence import MOST_PARTS, BudgetedModel, BudgetSpent, gathered, judge, parts_of
from engramdb.recall.gather import Sources
from engramdb.recall.pipeline import recall
from engramdb.settings import Settings
from engramdb.text.dates import long_date, standalone
from engramdb.text.terms import query_terms
from engramdb.values import (
    EvidenceItem,
    EvidenceNode,
    Hit,
    Judgment,
    Memory,
    MemoryId,
    Origin,
    Query,
    Reasoned,
    Recall,
    Scope,
    SecurityTier,
    Sufficiency,
)

T = TypeVar("T")

DEEPEST = 5
ANSWER_CALLS = 2
"""Calls that are reserved for the answer and its second attempt."""
JUDGED_HITS = 10
"""So many memories are shown for a judgement; the answer sees all the evidence that fits."""
NO_MODEL = "no chat model takes part, so no answer was synthesised"
NOTHING = "nothing that is stored fits, so no answer was synthesised"
ALL_CONFIDENTIAL = "what fits is confidential and is sent to no model, so no answer was synthesised"
NOT_THERE = "the model found no answer in the evidence"
_REF = 8


def most_questions(depth: int) -> int:
    """Return how many questions a tree of this depth may ask: 1, 9 and 17 for the depths 1, 3 and 5."""
    return 4 * depth - 3


class Reasoner(Struct, frozen=True, kw_only=True):
    """What a question is reasoned about with."""

    recall: Callable[[str], Recall]
    depth: int
    limit: int
    least_relevance: float
    log: CallLog
    model: BudgetedModel | None = None
    failed: Callable[[ChatError], None] = lambda _: None
    """Hears of a model that failed."""


class _Draft(Struct):
    """A node of the tree while it grows."""

    question: str
    origin: Origin
    level: int
    hits: tuple[Hit, ...] = ()
    node: EvidenceNode | None = None
    children: list[_Draft] = field(default_factory=list)


def reason(question: str, reasoner: Reasoner) -> Reasoned:
    """Return the answer to a question with its evidence tree, or the tree and why there is no answer."""
    started = time.perf_counter()
    inquiry = _Inquiry(reasoner)
    root = inquiry.explore(question)
    followed = [(one.question, one.hits) for one in inquiry.asked if one is not root]
    evidence = gathered(root.hits, followed, limit=reasoner.limit)
    text, cited, why = inquiry.answer(question, evidence)
    model = reasoner.model
    return Reasoned(
        question=question,
        answer=text,
        cited=cited,
        why=why,
        evidence=tuple(evidence),
        tree=_frozen(root)[0],
        calls=model.take_calls() if model else (),
        failures=tuple(inquiry.failures),
        depth=reasoner.depth,
        most_calls=model.most_calls if model else 0,
        most_tokens=model.most_tokens if model else 0,
        milliseconds=(time.perf_counter() - started) * 1000,
    )


class _Inquiry:
    """One question on its way: what was asked and found so far."""

    def __init__(self, reasoner: Reasoner) -> None:
        self._with = reasoner
        self._seen_questions: set[frozenset[str]] = set()
        self._seen_memories: set[MemoryId] = set()
        self._is_out = False
        self.asked: list[_Draft] = []
        self.failures: list[str] = []

    def explore(self, question: str) -> _Draft:
        """Ask the question, and level by level what it leads to."""
        root = _Draft(question, Origin.ASKED, 1)
        waiting = deque([root])
        self._is_new(question)
        while waiting and len(self.asked) < most_questions(self._with.depth):
            draft = waiting.popleft()
            self.asked.append(draft)
            asks, origin = self._look_up(draft)
            new = [ask for ask in asks[:MOST_PARTS] if self._is_new(ask)]
            draft.children = [_Draft(ask, origin, draft.level + 1) for ask in new]
            waiting += draft.children
        return root

    def answer(self, question: str, evidence: Sequence[Hit]) -> tuple[str | None, tuple[MemoryId, ...], str]:
        """Return the answer and the memories that it names, or why there is none."""
        model = self._with.model
        if model is None:
            return None, (), NO_MODEL
        shown = _references([hit.memory for hit in evidence if _may_be_sent(hit.memory)])
        room = model.room(answer_prompt.fill(question, ()))
        records = _fitting(shown, room)
        if not records:
            return None, (), _why_unanswered(evidence, has_shown=bool(shown))
        found = self._try(model, "answer", answer_prompt.question(question, records))
        if found is None:
            return None, (), f"no answer was synthesised: {self.failures[-1]}"
        if found.answer is None:
            return None, (), NOT_THERE
        return found.answer, tuple(shown[ref].id for ref in found.cites), ""

    def _look_up(self, draft: _Draft) -> tuple[tuple[str, ...], Origin]:
        """Recall what fits a question, have it judged where more may be asked, and note all of it."""
        found = self._with.recall(draft.question)
        draft.hits = found.hits
        judgment, origin = None, Origin.ASKED
        if draft.level < self._with.depth:
            judgment, origin = self._judge(draft.question, found.hits)
        draft.node = EvidenceNode(
            question=draft.question,
            origin=draft.origin,
            level=draft.level,
            found=tuple(self._item(hit) for hit in found.hits),
            missing=found.quality.missing,
            judgment=judgment,
            calls=self._with.model.take_calls() if self._with.model else (),
        )
        return (judgment.asks if judgment else ()), origin

    def _judge(self, question: str, hits: Sequence[Hit]) -> tuple[Judgment, Origin]:
        """Return the model's judgement, or that of the rules where there is none."""
        by_rules = judge(question, hits, least_relevance=self._with.least_relevance)
        model = self._with.model
        if model is None or not self._may_judge(model):
            return by_rules
        shown = _references([hit.memory for hit in hits[:JUDGED_HITS] if _may_be_sent(hit.memory)])
        records = _fitting(shown, model.room(sufficiency.fill(question, ())))
        reply = self._try(model, "judging", sufficiency.question(question, records))
        if reply is None:
            return by_rules
        asks = reply.missing if reply.verdict is not Sufficiency.SUFFICIENT else ()
        if reply.verdict is Sufficiency.BROAD and not asks:
            asks = self._parts(question)
        judged = Judgment(
            sufficiency=reply.verdict,
            why=f"asked for {len(asks)} more" if asks else "asked for nothing more",
            judged_by=model.name,
            asks=asks,
        )
        return judged, Origin.PART if reply.verdict is Sufficiency.BROAD else Origin.GAP

    def _parts(self, question: str) -> tuple[str, ...]:
        model = self._with.model
        if model is not None and self._may_judge(model):
            found = self._try(model, "decomposing", decompose.question(question))
            if found is not None:
                return found
        return tuple(parts_of(question))

    def _try(self, model: BudgetedModel, step: str, asked: ChatQuestion[T]) -> T | None:
        """Return the value of a reply, or None and a note of what failed."""
        try:
            return ask(model, asked, log=self._with.log).value
        except BudgetSpent as exc:
            self.failures.append(f"{step}: the budget of {exc} is spent")
        except ChatError as exc:
            self._is_out = self._is_out or isinstance(exc, ChatUnavailable)
            self.failures.append(f"{step}: {exc.code} {exc.message}")
            self._with.failed(exc)
        return None

    def _may_judge(self, model: BudgetedModel) -> bool:
        """
        Return whether a model should judge: two calls and half of the tokens are reserved for the answer.

        One that could not be reached is not asked again before the answer: each time may take its whole
        time-out.
        """
        has_more = model.calls_left > ANSWER_CALLS and 2 * model.tokens_left > model.most_tokens
        return has_more and not self._is_out

    def _is_new(self, question: str) -> bool:
        """Return whether no question with these words was asked before, and keep it in mind."""
        key = frozenset(query_terms(question))
        is_new = bool(key) and key not in self._seen_questions
        self._seen_questions.add(key)
        return is_new

    def _item(self, hit: Hit) -> EvidenceItem:
        is_new = hit.memory.id not in self._seen_memories
        self._seen_memories.add(hit.memory.id)
        return EvidenceItem(memory_id=hit.memory.id, relevance=hit.trust.relevance, is_new=is_new)


def _frozen(draft: _Draft) -> tuple[EvidenceNode, ...]:
    """Return the node with its children; none for a question that the budget of questions left unasked."""
    if draft.node is None:
        return ()
    children = tuple(node for child in draft.children for node in _frozen(child))
    return (replace(draft.node, children=children),)


def _may_be_sent(memory: Memory) -> bool:
    """Return whether a memory may be shown to a model: nothing confidential, nothing that gives orders."""
    return memory.security is not SecurityTier.CONFIDENTIAL and not memory.is_suspicious


def _why_unanswered(evidence: Sequence[Hit], *, has_shown: bool) -> str:
    if has_shown:
        return "no memory fits into the budget of tokens"
    is_secret = any(hit.memory.security is SecurityTier.CONFIDENTIAL for hit in evidence)
    return ALL_CONFIDENTIAL if is_secret else NOTHING


def _references(memories: Sequence[Memory]) -> dict[str, Memory]:
    """Return the memories by the end of their ids, as the command line does; whole where two end alike."""
    found: dict[str, Memory] = {}
    for memory in memories:
        ref = memory.id[-_REF:]
        found[memory.id if ref in found else ref] = memory
    return found


def _fitting(shown: dict[str, Memory], room: int) -> list[dict[str, str]]:
    """Return as many records, best first, as fit into so many bytes of a prompt."""
    records = []
    for ref, memory in shown.items():
        record = {"id": ref, "when": long_date(memory.when), "statement": standalone(memory)}
        if memory.provenance.speaker:
            record["said by"] = memory.provenance.speaker
        room -= len(json.dumps(record)) + 1  # escapes and all, never shorter than what the prompt will hold
        if room < 0:
            break
        records.append(record)
    return records


# How deep a question is followed, and at what cost; what is not given follows from the model.

DEPTH = 3
"""Of a tree unless another is asked for; what it is worth: docs/lab/0024-dream.md."""
BUDGETS = ((200_000, True, 5, 15), (100_000, False, 3, 8), (0, False, 3, 3))
"""From what window on, whether for thinking models only: the depth and the calls. Seed 002 §15.6."""
MOST_TOKENS = 64_000
"""Half of a model's window may be spent, but never more than this: fifteen prompts with all they can hold."""


class ReasoningParts(Protocol):
    """What reasoning needs of the engine."""

    @property
    def health(self) -> Health: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def chat(self) -> ChatModel | None: ...
    @property
    def calls(self) -> CallLog: ...


def reason_about(
    parts: ReasoningParts,
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
    deep, model = _budget_for(parts, depth, calls=calls, tokens=tokens)

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
                model=model,
                failed=partial(note_invalid_reply, parts.health),
            ),
        )


def _budget_for(
    parts: ReasoningParts, depth: int | None, *, calls: int | None, tokens: int | None
) -> tuple[int, BudgetedModel | None]:
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
    model = BudgetedModel(
        chat, calls=often if calls is None else calls, tokens=most if tokens is None else tokens
    )
    return depth or deep, model


def _check(depth: int | None, *, calls: int | None, tokens: int | None) -> None:
    if depth is not None and not 1 <= depth <= DEEPEST:
        raise InvalidQuery(f"depth={depth} is outside 1 to {DEEPEST}")
    for name, number in (("calls", calls), ("tokens", tokens)):
        if number is not None and number < 0:
            raise InvalidQuery(f"{name}={number} is below 0")
