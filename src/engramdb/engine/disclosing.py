"""
Hold every verb of the engine to what the one who asks may see.

Each public method of `Engram` discloses what it returns, unless it is named here with the reason. A verb that
is added later is held to it without a word, so that no surface has to think of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from engramdb.values import Gap, HistoryEvent, Memory, MemoryId, Scope, Turn

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

Params = ParamSpec("Params")
Result = TypeVar("Result")
Kind = TypeVar("Kind")

SAID_BY_CALLER: Final = frozenset(
    {"observe", "remember", "remember_many", "remember_stream", "correct", "hear", "end_session"}
)
"""What these return, the caller has just said: a person gets it back whole, an agent masked."""
DISCLOSED_WITHIN: Final = frozenset(
    {"recall", "get", "list", "context", "brief", "turn", "turns", "export", "shown_to", "audit"}
)
"""These disclose inside: by what was asked, by tier, or where a prompt is filled; an audit holds no words."""
LISTED: Final = {
    "entity": "entity",
    "timeline": "list",
    "working_memory": "working memory",
    "suspend": "working memory",
    "resume": "working memory",
}
"""The audience of verbs that show more than an answer."""
DOCUMENTS_FOUND: Final = frozenset({"list", "search"})
"""What these find, an agent sees masked: whoever asks reaches them. What is named by place and key, or is
written or taken back, is the program's own and given back whole; so is everything to a person's program."""


def discloses(kind: type[Kind]) -> type[Kind]:
    """Let every public verb of a class disclose what it returns."""
    for name, method in list(vars(kind).items()):
        if isinstance(method, FunctionType) and not name.startswith("_") and name not in DISCLOSED_WITHIN:
            setattr(kind, name, _disclosing(name, method))
    return kind


def _disclosing(name: str, method: Callable[Params, Result]) -> Callable[Params, Result]:
    @functools.wraps(method)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        answer = method(*args, **kwargs)
        if answer is None or isinstance(answer, bool | int):
            return answer
        engram, scope = cast("Engram", args[0]), cast("Scope | None", kwargs.get("scope"))
        return cast("Result", as_shown(engram, name, answer, scope=scope))

    return call


def as_shown(engram: Engram, name: str, answer: Any, *, scope: Scope | None = None) -> Any:
    """Return the answer of a verb as the one who asked may see it; `scope` is where it was asked."""
    from engramdb.vault.disclosure import Audience, disclose  # noqa: PLC0415 - loads what finds secrets

    viewer = engram.viewer
    if name in SAID_BY_CALLER and viewer.audience is Audience.PERSON:
        return _unmarked(answer)
    audience = Audience(LISTED[name]) if name in LISTED else viewer.audience
    if isinstance(answer, Iterator):
        return (disclose(one, audience) for one in answer)
    named = dict.fromkeys(_named_in(answer))
    about = engram._named(named, scope) if named else ()  # noqa: SLF001 - no verb, which would be disclosed
    return disclose(answer, audience, about=about)


def _unmarked(answer: Any) -> Any:
    """Return an answer whole, without where private words stand in its memories and turns."""
    if isinstance(answer, Memory | Turn):
        return answer.unmarked
    if isinstance(answer, Iterator):
        return (_unmarked(one) for one in answer)
    if isinstance(answer, list | tuple):
        return type(answer)(_unmarked(one) for one in answer)
    if isinstance(answer, Struct):
        held = {name: getattr(answer, name) for name in answer.__struct_fields__}
        shown = {name: _unmarked(one) for name, one in held.items() if isinstance(one, Struct | list | tuple)}
        return replace(answer, **shown) if shown else answer
    return answer


def _named_in(answer: Any) -> Iterator[MemoryId]:
    """Yield the memories that an answer tells about and names by id alone."""
    if isinstance(answer, HistoryEvent):
        yield answer.memory_id
    elif isinstance(answer, Gap):
        yield from answer.memories
    elif isinstance(answer, list | tuple):
        for one in answer:
            yield from _named_in(one)


class DisclosingPart:
    """A part of the engine with verbs of its own, which disclose what they return like the engine's."""

    def __init__(self, engram: Engram, part: object) -> None:
        self.part = part
        self._engram = engram

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.part, name)
        if not callable(found):
            return found

        @functools.wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._shown(name, found(*args, **kwargs))

        return call

    def _shown(self, name: str, answer: Any) -> Any:
        return as_shown(self._engram, name, answer)


class DisclosingDocuments(DisclosingPart):
    """The document store, whose documents are masked where an agent finds them."""

    def _shown(self, name: str, answer: Any) -> Any:
        from engramdb.vault.disclosure import Audience, disclose  # noqa: PLC0415 - loads what finds secrets

        audience = self._engram.viewer.audience
        is_own = name not in DOCUMENTS_FOUND or audience is Audience.PERSON
        return answer if is_own else disclose(answer, audience)
