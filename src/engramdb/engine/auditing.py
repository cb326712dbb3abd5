"""
Audit every verb of the engine: who asked, where, how it ended and how much was shown, never any words.

Writes leave their rows where they are made, in the same transaction. Here follow what leaves none by itself:
searches, denials, failures, and work on the whole store that rules then carry out. A method that is in none
of these tables counts as a search until somebody decides, which a test demands.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from msgspec import Struct

from engramdb.errors import AccessDenied, EngramError, InjectionBlocked, StatementForgotten, StorageError
from engramdb.values import (
    GLOBAL,
    Action,
    AuditEvent,
    Document,
    HistoryEvent,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    SecurityTier,
    Turn,
)
from engramdb.values.window import Brief, Window

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

Params = ParamSpec("Params")
Result = TypeVar("Result")
Kind = TypeVar("Kind")

SEARCHED: Final = {
    "recall": Action.RECALL,
    "confidence": Action.RECALL,
    "timeline": Action.TIMELINE,
    "entity": Action.ENTITY,
    "reason": Action.REASON,
    "get": Action.GET,
    "history": Action.GET,
    "evidence": Action.GET,
    "links": Action.GET,
    "imported_from": Action.GET,
    "list": Action.LIST,
    "acts": Action.LIST,
    "forecast": Action.LIST,
    "turns": Action.TURNS,
    "gaps": Action.INSIGHT,
    "reflect": Action.INSIGHT,
    "domains": Action.INSIGHT,
    "summaries": Action.INSIGHT,
    "context": Action.CONTEXT,
    "brief": Action.CONTEXT,
    "questions_about": Action.CONTEXT,
    "working_memory": Action.CONTEXT,
    "resume": Action.CONTEXT,
    "export": Action.EXPORT,
}
"""What shows memories, or tells of them."""
ASKED_FOR: Final = {
    "flush": Action.FLUSH,
    "end_session": Action.FLUSH,
    "suspend": Action.WORKING_MEMORY,
    "import_from": Action.IMPORT,
    "import_text": Action.IMPORT,
    "dream": Action.DREAM,
    "age": Action.AGE,
    "rebuild": Action.REBUILD,
    "doctor": Action.REBUILD,
    "enrich": Action.REBUILD,
    "embed_pending": Action.REBUILD,
    "judge_pending": Action.REBUILD,
    "notebook_sync": Action.NOTEBOOK,
}
"""What rules carry out, or many writes: the row says who asked for it, where it did anything."""
WRITTEN: Final = {
    "observe": Action.OBSERVE,
    "hear": Action.OBSERVE,
    "read_due": Action.EXTRACT,
    "remember": Action.REMEMBER,
    "remember_many": Action.REMEMBER,
    "remember_stream": Action.REMEMBER,
    "correct": Action.CORRECT,
    "forget": Action.FORGET,
    "forget_turn": Action.FORGET,
    "erase": Action.ERASE,
    "set_status": Action.SET_STATUS,
    "pin": Action.PIN,
    "unpin": Action.UNPIN,
    "feedback": Action.FEEDBACK,
    "restore": Action.RESTORE,
    "release": Action.RELEASE,
    "promote": Action.PROMOTE,
    "demote": Action.DEMOTE,
    "link": Action.LINK,
    "relate": Action.LINK,
    "unlink": Action.UNLINK,
    "unrelate": Action.UNLINK,
    "unmerge": Action.UNMERGE,
    "undo": Action.UNDO,
    "answer": Action.FEEDBACK,
    "close_gap": Action.FEEDBACK,
    "backup": Action.BACK_UP,
    "turn": Action.TURN,
}
"""What leaves a row where it is written; here only what is denied or fails."""
UNAUDITED: Final = frozenset(
    {
        *("close", "schedule", "note_success", "note_failures", "note_denial", "notebook_mark"),
        "note_token",  # it is the audit of what a surface did
        "registered_export",  # the export itself is audited
        "shown_to",  # another look at the same engine
        *("status", "audit", "dreams", "compare_policies", "changes"),  # counts and ids, and no words
    }
)
ACTIONS: Final = {**SEARCHED, **ASKED_FOR, **WRITTEN}
_QUESTIONS: Final = {
    "recall": "query",
    "confidence": "query",
    "timeline": "topic",
    "entity": "name",
    "reason": "question",
    "context": "message",
    "summaries": "query",
}
"""The argument that holds what was asked, which goes into the audit as a keyed hash."""
DENIALS: Final = (AccessDenied, InjectionBlocked, StatementForgotten)
"""Errors that say that somebody may not; any other one is a failure."""
_IS_INSIDE: Final[ContextVar[bool]] = ContextVar("engram_audited", default=False)


def audits(kind: type[Kind]) -> type[Kind]:
    """Let every public verb of a class be audited."""
    for name, method in list(vars(kind).items()):
        if not isinstance(method, FunctionType) or name.startswith("_") or name in UNAUDITED:
            continue
        setattr(kind, name, _audited(name, ACTIONS.get(name, Action.INSIGHT), method))
    return kind


def _audited(name: str, action: Action, method: Callable[Params, Result]) -> Callable[Params, Result]:
    @functools.wraps(method)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        if _IS_INSIDE.get():  # a verb that another verb uses: the outer one is what was asked for
            return method(*args, **kwargs)
        visit = AuditedCall(cast("Engram", args[0]), name, action, kwargs)
        inside = _IS_INSIDE.set(True)
        try:
            answer = method(*args, **kwargs)
        except EngramError as exc:
            visit.note_error(exc)
            raise
        finally:
            _IS_INSIDE.reset(inside)
        if isinstance(answer, Iterator):
            return cast("Result", visit.followed(answer))
        visit.note_answer(answer, question=_question(name, args[1:], kwargs))
        return answer

    return call


def _question(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    if name not in _QUESTIONS:
        return None
    found = args[0] if args else kwargs.get(_QUESTIONS[name])
    return found if isinstance(found, str) else None


class AuditedCall:
    """One call of one verb."""

    def __init__(self, engram: Engram, name: str, action: Action, options: Mapping[str, Any]) -> None:
        self._engram = engram
        self._name = name
        self._action = action
        self._options = options

    def note_answer(self, answer: object, *, question: str | None = None) -> None:
        """Note what was shown, or that something was asked for."""
        if self._action.is_search:
            shown = Shown()
            shown.add(answer)
            self._note_search(shown, question)
        elif self._name in ASKED_FOR and not isinstance(answer, Iterator) and self._has_done(answer):
            self._engram.audit_log.write_now(self._event())

    def note_error(self, error: EngramError) -> None:
        """Note that it was denied, or failed; a store that cannot be written to is told by the error."""
        actor = self._options.get("actor") or self._engram.actor
        is_denied = isinstance(error, DENIALS)
        if isinstance(error, StorageError) or (self._action.is_search and not is_denied):
            return
        self._engram.audit_log.note(
            self._action,
            Outcome.DENIED if is_denied else Outcome.FAILED,
            actor=actor,
            scope=self._scope(),
            reason=error.reason if isinstance(error, AccessDenied) else error.code,
        )

    def followed(self, answer: Iterator[Any]) -> Iterator[Any]:
        """Pass an answer on piece by piece, and note at its end how much of it was taken."""
        shown = Shown()
        try:
            for one in answer:
                shown.add(one)
                yield one
        except EngramError as exc:
            self.note_error(exc)
            raise
        finally:
            if self._action.is_search:
                self._note_search(shown, None)

    def _note_search(self, shown: Shown, question: str | None) -> None:
        detail: dict[str, Any] = shown.detail()
        if question:
            detail["question"] = self._engram.audit_log.hash_of(question)
        self._engram.audit_log.note_search(self._event(target=shown.target, detail=detail))

    def _has_done(self, answer: object) -> bool:
        """Return whether a verb has changed anything: a rehearsal and an empty reading have not."""
        if self._options.get("dry_run") or (self._name == "doctor" and not self._options.get("fix")):
            return False
        return answer not in (0, None) or self._name in ("dream", "age", "suspend")

    def _scope(self) -> Scope | None:
        """Return the scope that it is about; what is no scope is the caller's mistake, and told elsewhere."""
        if self._action in (Action.AGE, Action.REBUILD):
            return None
        named = self._options.get("scope")
        if isinstance(named, Scope):
            return named
        is_whole_store = self._action is Action.DREAM and self._engram.scope == GLOBAL
        return None if is_whole_store else self._engram.scope

    def _event(self, **more: Any) -> AuditEvent:
        return AuditEvent(
            at=self._engram.audit_log.now(),
            action=self._action,
            actor=self._engram.actor,
            scope=self._scope(),
            **more,
        )


CAPTURED: Final = frozenset({"compaction", "task_result", "finding", "tool_run"})
DOCUMENTS_WRITTEN: Final = frozenset(
    {"put", "write", "remove", "clear", "take_back", "prune", "prune_quietly"}
)
"""Verbs of the parts that write; every other one counts as a search."""


class AuditedPart:
    """A part of the engine with verbs of its own, audited like the engine's."""

    def __init__(
        self, engram: Engram, part: object, *, writes: frozenset[str], reading: Action = Action.INSIGHT
    ) -> None:
        self.part = part
        self._engram = engram
        self._writes = writes
        self._reading = reading

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.part, name)
        if not callable(found) or name.startswith("_"):
            return found
        action = Action.REMEMBER if name in self._writes else self._reading

        @functools.wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            if _IS_INSIDE.get():
                return found(*args, **kwargs)
            visit = AuditedCall(self._engram, name, action, kwargs)
            inside = _IS_INSIDE.set(True)
            try:
                answer = found(*args, **kwargs)
            except EngramError as exc:
                visit.note_error(exc)
                raise
            finally:
                _IS_INSIDE.reset(inside)
            visit.note_answer(answer)
            return answer

        return call


def unwrapped(part: object) -> object:
    """Return the part itself, without what stands around it."""
    while "part" in vars(part):
        part = vars(part)["part"]
    return part


class Shown:
    """How much an answer shows, counted by tier; it remembers no words."""

    def __init__(self) -> None:
        self._tiers: Counter[SecurityTier] = Counter()
        self._others = 0
        self._revealed = 0
        self._ids: set[MemoryId] = set()

    def add(self, value: object) -> None:
        """Count what a value shows, however deep."""
        if isinstance(value, Memory):
            if value.id not in self._ids:
                self._ids.add(value.id)
                self._tiers[value.security] += 1
                self._revealed += int(is_revealed(value))
        elif isinstance(value, HistoryEvent):
            self._ids.add(value.memory_id)
        elif isinstance(value, Turn | Document):
            self._others += 1
        elif isinstance(value, Brief):
            self._others += len(value.memories)
        elif isinstance(value, Window):
            self._others += sum(len(section.holds) for section in value.sections)
        elif isinstance(value, Struct):
            for name in value.__struct_fields__:
                self._descend(getattr(value, name))
        else:
            self._descend(value)

    def _descend(self, value: object) -> None:
        if isinstance(value, list | tuple | frozenset):
            for one in value:
                self.add(one)
        elif isinstance(value, Mapping):
            for one in value.values():
                self.add(one)
        elif isinstance(value, Struct):
            self.add(value)

    @property
    def target(self) -> MemoryId | None:
        """The one memory that was shown, where it was one."""
        return next(iter(self._ids)) if len(self._ids) == 1 else None

    def detail(self) -> dict[str, int]:
        """Return counts for the audit, those of nothing left out."""
        counts = {"results": sum(self._tiers.values()) + self._others, "revealed": self._revealed}
        counts |= {str(tier): number for tier, number in self._tiers.items()}
        return {name: number for name, number in counts.items() if number or name == "results"}


def is_revealed(memory: Memory) -> bool:
    """Return whether a secret is shown: a confidential memory in words that are not masked."""
    if memory.security is not SecurityTier.CONFIDENTIAL:
        return False
    from engramdb.vault.masking import mask_memory  # noqa: PLC0415 - loads what finds secrets

    return mask_memory(memory).content != memory.content
