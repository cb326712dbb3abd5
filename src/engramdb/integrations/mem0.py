"""
The calls of mem0's `Memory`, on an open Engram.

Every one takes and returns what mem0's does. `user_id`, `agent_id` and `run_id` are a scope, so nobody's
memories are anybody else's. Beyond mem0: the same words are stored once, a contradiction supersedes what it
contradicts, and what was superseded or deleted stays in the history.
"""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb.errors import InvalidContent, InvalidQuery, InvalidScope, MemoryNotFound
from engramdb.integrations.documents import GONE, MORE_TESTS, chain, latest
from engramdb.integrations.transcript import ROLES, in_thread
from engramdb.values import Action, Document, Filters, PutDocument, RemoveDocument, Source, Status
from engramdb.values import Memory as Statement
from engramdb.values.query import MAX_LIMIT
from engramdb.values.turn import Role

if TYPE_CHECKING:
    from engramdb import Engram, Scope
    from engramdb import Memory as StoredMemory


_PARTS = {"user_id": "user", "agent_id": "agent", "run_id": "channel"}


def scope_of(around: Scope, filters: Mapping[str, Any] | None = None, **named_ids: str | None) -> Scope:
    """Return the scope of a user, an agent and a run inside another; raises where none is named."""
    ids = {name: _id(name, one, filters or {}) for name, one in named_ids.items()}
    named = {_PARTS[name]: one for name, one in ids.items() if one is not None and one != "*"}
    if not named:
        raise InvalidScope(
            "none of user_id, agent_id and run_id is given", hint="Name whose memories are meant."
        )
    for part, name in named.items():
        if getattr(around, part) not in (None, name):
            raise InvalidScope(f"{part}={name[:40]!r} is not the {part} of the scope")
    return replace(around, **named)


def _id(name: str, value: object, filters: Mapping[str, Any]) -> str | None:
    """Return an id as mem0 takes it: as an argument, or among the filters, also under an AND."""
    if value is not None:
        return str(value)
    wanted = filters.get(name)
    if wanted is not None and not isinstance(wanted, str):
        raise InvalidContent(f"{name} in filters must be text")
    parts = filters.get("AND")
    inner = parts if wanted is None and isinstance(parts, list) else []
    found = (_id(name, None, one) for one in inner if isinstance(one, Mapping))
    return wanted or next((one for one in found if one is not None), None)


TEXT = "memory"
"""What mem0 calls the words of a memory."""
_ROLES = frozenset(Role)


def spoken(messages: object) -> list[tuple[str, str]]:
    """
    Return who said what: a text is the user's, messages say it themselves.

    A message without words, such as a call of a tool, is passed over; what is no message at all raises.
    """
    listed = [messages] if isinstance(messages, Mapping | str) else messages
    if not isinstance(listed, Sequence):
        raise InvalidContent(f"messages are a text, a message or a list, not {type(messages).__name__}")
    said = [_spoken(one) for one in listed]
    return [(role, content) for role, content in said if role in _ROLES and content.strip()]


def _spoken(message: object) -> tuple[str, str]:
    if isinstance(message, str):
        return "user", message
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(role, str):
        raise InvalidContent("a message is a text or an object with `role` and `content`")
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if content is not None and not isinstance(content, str):
        raise InvalidContent("the content of a message is text")
    return ROLES.get(role, role), content or ""


def record(item: Document, statement: StoredMemory | None) -> dict[str, Any]:
    """Return a memory as mem0 does; without the statement, only what filters may ask for."""
    scope = item.scope
    whose = {"user_id": scope.user, "agent_id": scope.agent, "run_id": scope.channel}
    words = "" if statement is None else statement.told
    return {
        "id": item.key,
        TEXT: words,
        "hash": hashlib.md5(words.encode(), usedforsecurity=False).hexdigest(),
        "metadata": item.value.get("metadata") or None,
        "created_at": _written(item.created_at),
        "updated_at": _written(item.updated_at),
        **{name: one for name, one in whose.items() if one is not None},
    }


def passes(shown: Mapping[str, Any], filters: Mapping[str, Any] | None) -> bool:
    """Return whether a memory passes mem0's filters, on its ids, its times and its metadata."""
    return all(_passes(shown, name, wanted) for name, wanted in (filters or {}).items())


def _passes(shown: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name in ("AND", "OR", "NOT"):
        parts = [passes(shown, one) for one in (wanted if isinstance(wanted, list) else [wanted])]
        return {"AND": all(parts), "OR": any(parts), "NOT": not any(parts)}[name]
    value = shown.get(name, (shown.get("metadata") or {}).get(name))
    if wanted == "*":
        return value is not None
    if isinstance(wanted, list):
        return value in wanted
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    unknown = wanted.keys() - MORE_TESTS.keys()
    if unknown:
        raise InvalidQuery(
            f"no filter is called {sorted(unknown)[0][:40]!r}", hint=f"Use one of {', '.join(MORE_TESTS)}."
        )
    return all(MORE_TESTS[test](value, one) for test, one in wanted.items())


def events(memory_id: str, versions: Sequence[StoredMemory]) -> list[dict[str, Any]]:
    """Return what happened to a memory, as mem0 tells it."""
    found = [_event(memory_id, None, versions[0].told, "ADD", versions[0].created_at)]
    for old, new in itertools.pairwise(versions):
        found.append(_event(memory_id, old.told, new.told, "UPDATE", old.valid_to or new.created_at))
    last = versions[-1]
    if last.status in GONE:
        found.append(_event(memory_id, last.told, None, "DELETE", last.updated_at))
    return found


def _event(memory_id: str, old: str | None, new: str | None, event: str, at: datetime) -> dict[str, Any]:
    return {
        "id": f"{memory_id}/{event.lower()}/{_written(at)}",
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "created_at": _written(at),
        "is_deleted": int(event == "DELETE"),
    }


def _written(moment: datetime) -> str:
    return moment.isoformat()


LATEST_EVENTS = 500
"""How many audit events are searched for what was reinforced; one reading writes far fewer."""


def hear(
    engram: Engram, said: Sequence[tuple[str, str]], *, session: str | None, scope: Scope
) -> list[StoredMemory]:
    """Keep who said what as turns, and return the statements in them, oldest memory first."""
    session = session or f"mem0-{uuid.uuid4().hex}"
    turns = {engram.observe(content, role=role, session=session, scope=scope).id for role, content in said}
    if not turns:
        return []
    engram.flush(session=session, scope=scope)
    filters = Filters(sessions=frozenset({session}))
    stated = {one.id: one for one in engram.list(filters=filters, limit=MAX_LIMIT, scope=scope)}
    stated |= {one.id: one for one in _reinforced(engram, scope) if one.status is Status.ACTIVE}
    spoken_of = [one for one in stated.values() if one.scope == scope and turns & set(one.provenance.turns)]
    return sorted(spoken_of, key=lambda one: one.id)


def _reinforced(engram: Engram, scope: Scope) -> Iterator[StoredMemory]:
    """Yield what was lately stated again, as far as this scope may see it."""
    events = engram.audit(limit=LATEST_EVENTS, action=Action.REINFORCE)
    for target in dict.fromkeys(event.target for event in events if event.target is not None):
        try:
            yield engram.get(target, scope=scope)
        except MemoryNotFound:  # somebody else's
            continue


PLACE = ("mem0",)
DELETED = ("mem0-deleted",)
"""Where it is noted whose a deleted memory was, for its history; holds no words."""
_SOURCES = {"assistant": Source.ASSISTANT, "user": Source.HUMAN}


class Memory:
    """A memory that is called like mem0's; `scope`, or the engine's own, lies around all its users."""

    def __init__(self, engram: Engram, *, scope: Scope | None = None) -> None:
        self._engram = engram
        self._scope = engram.scope if scope is None else scope

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = True,
    ) -> dict[str, Any]:
        """
        Take in a text or messages, and return what became of them.

        With `infer` the statements in them are read out, by rules or by the chat model that is
        configured; without, every message is stored as it is.
        """
        place = scope_of(self._scope, user_id=user_id, agent_id=agent_id, run_id=run_id)
        said, about = spoken(messages), dict(metadata or {})
        if infer:
            stated = hear(self._engram, said, session=run_id, scope=place)
            return {"results": [event for one in stated for event in self._noted(one, about)]}
        puttings = [
            PutDocument(
                place=PLACE,
                key=None,
                value={"metadata": about, "role": role},
                text=content,
                source=_SOURCES.get(role, Source.INGEST),
            )
            for role, content in said
            if role != "system"
        ]
        items = [item for item in self._engram.documents.write(puttings, scope=place) if item is not None]
        return {"results": [self._event(item, "ADD") for item in items if item.memory_id is not None]}

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
    ) -> dict[str, Any]:
        """Return the memories that fit a question, best first, each with its score in [0, 1]."""
        place = scope_of(self._scope, filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        hits = self._engram.documents.search(
            query,
            PLACE,
            limit=min(limit if top_k is None else top_k, MAX_LIMIT),
            keep=_filter_of(filters),
            follow=True,
            within=True,
            scope=place,
        )
        shown: dict[str, dict[str, Any]] = {}
        for hit in hits:
            statement = self._current(hit.item)
            if statement is None or not hit.score or hit.score < (threshold or 0):
                continue
            shown.setdefault(statement.id, {**record(hit.item, statement), "score": hit.score})
        return {"results": list(shown.values())}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return one memory, or None."""
        item = self._item(memory_id)
        statement = None if item is None else self._current(item)
        return None if item is None or statement is None else record(item, statement)

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        filters: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the memories of a user, an agent or a run, the first stored first."""
        place = scope_of(self._scope, filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        items = self._engram.documents.list(PLACE, keep=_filter_of(filters), within=True, scope=place)
        shown: dict[str, dict[str, Any]] = {}
        for item in items:
            if len(shown) >= limit:
                break
            statement = self._current(item)
            if statement is not None:
                shown.setdefault(statement.id, record(item, statement))
        return {"results": list(shown.values())}

    def update(
        self, memory_id: str, data: str | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        """Put other words in the place of a memory, which keeps its id, or other metadata beside it."""
        item, statement = self._known(memory_id)
        if data is not None and data.strip() != statement.content:
            statement = self._engram.correct(statement.id, data, reason="updated", scope=item.scope)
        about = item.value.get("metadata", {}) if metadata is None else dict(metadata)
        self._point(item, statement, {**item.value, "metadata": about})
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory; its history stays."""
        item, _ = self._known(memory_id)
        self._delete([item])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget everything of a user, an agent or a run."""
        place = scope_of(self._scope, user_id=user_id, agent_id=agent_id, run_id=run_id)
        self._delete(self._engram.documents.list(PLACE, within=True, scope=place))
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what happened to a memory, oldest first."""
        item = self._item(memory_id) or next(iter(self._found(DELETED, memory_id)), None)
        if item is None:
            raise MemoryNotFound(f"no memory {memory_id[:40]!r} is known here")
        return events(memory_id, chain(self._engram, memory_id, item.scope))

    def reset(self) -> None:
        """Forget everything that came in through this interface, of all users."""
        self._delete(self._engram.documents.list(PLACE, within=True, scope=self._scope))

    def _noted(self, statement: Statement, about: dict[str, Any]) -> list[dict[str, Any]]:
        """Note a statement under the id of what it replaces, or its own; a known one is no event."""
        if self._holders(statement.id, statement.scope):
            return []
        old = statement.supersedes
        replaced = [] if old is None else self._holders(old, statement.scope)
        if not replaced or old is None:
            putting = PutDocument(
                place=PLACE, key=None, value={"metadata": about, "role": "user"}, memory_id=statement.id
            )
            self._engram.documents.write([putting], scope=statement.scope)
            return [{"id": statement.id, TEXT: statement.told, "event": "ADD"}]
        item = replaced[0]
        before = self._engram.get(old, scope=statement.scope).told
        self._point(item, statement, {**item.value, "metadata": item.value["metadata"] | about})
        return [{**self._event(item, "UPDATE", statement), "previous_memory": before}]

    def _holders(self, memory_id: str, scope: Scope) -> list[Document]:
        return [
            item for item in self._engram.documents.holders(memory_id, scope=scope) if item.place == PLACE
        ]

    def _point(self, item: Document, statement: Statement, value: dict[str, Any]) -> None:
        putting = PutDocument(place=PLACE, key=item.key, value=value, memory_id=statement.id)
        self._engram.documents.write([putting], scope=item.scope)

    def _delete(self, items: Sequence[Document]) -> None:
        """Take away what is noted here in one write, then forget what was read out of messages."""
        stated = [(item.scope, self._current(item)) for item in items]
        changes: list[PutDocument | RemoveDocument] = []
        for item in items:
            changes.append(RemoveDocument(place=PLACE, key=item.key, scope=item.scope))
            changes.append(PutDocument(place=DELETED, key=item.key, value={}, scope=item.scope))
        self._engram.documents.write(changes, scope=self._scope)
        for scope, statement in stated:
            if statement is not None and statement.scope == scope:
                self._forget(statement.id, scope)

    def _forget(self, memory_id: str, scope: Scope) -> None:
        """Forget a memory, unless it is gone already or another document points to it."""
        is_gone = self._engram.get(memory_id, scope=scope).status.is_terminal
        if not is_gone and not self._engram.documents.holders(memory_id, scope=scope):
            self._engram.forget(memory_id, reason="deleted", scope=scope)

    def _known(self, memory_id: str) -> tuple[Document, Statement]:
        item = self._item(memory_id)
        statement = None if item is None else self._current(item)
        if item is None or statement is None:
            raise MemoryNotFound(f"no memory {memory_id[:40]!r} is known here")
        return item, statement

    def _item(self, memory_id: str) -> Document | None:
        return next(iter(self._found(PLACE, memory_id)), None)

    def _found(self, place: tuple[str, ...], memory_id: str) -> Sequence[Document]:
        return self._engram.documents.find(place, memory_id, scope=self._scope)

    def _current(self, item: Document) -> Statement | None:
        return None if item.memory_id is None else latest(self._engram, item.memory_id, item.scope)

    def _event(self, item: Document, event: str, statement: Statement | None = None) -> dict[str, Any]:
        stated = statement or self._current(item)
        return {"id": item.key, TEXT: "" if stated is None else stated.told, "event": event}


def _filter_of(filters: Mapping[str, Any] | None) -> Callable[[Document], bool] | None:
    return (lambda item: passes(record(item, None), filters)) if filters else None


# The mem0-shaped memory for programs with an event loop.


class AsyncMemory:
    """The same as `Memory`, to be awaited."""

    def __init__(self, engram: Engram, *, scope: Scope | None = None) -> None:
        self._memory = Memory(engram, scope=scope)

    async def add(self, messages: Any, **options: Any) -> dict[str, Any]:
        """Take in a text or messages, and return what became of them."""
        return await in_thread(self._memory.add, messages, **options)

    async def search(self, query: str, **options: Any) -> dict[str, Any]:
        """Return the memories that fit a question, best first."""
        return await in_thread(self._memory.search, query, **options)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return one memory, or None."""
        return await in_thread(self._memory.get, memory_id)

    async def get_all(self, **options: Any) -> dict[str, Any]:
        """Return the memories of a user, an agent or a run."""
        return await in_thread(self._memory.get_all, **options)

    async def update(self, memory_id: str, data: str | None = None, **options: Any) -> dict[str, str]:
        """Put other words in the place of a memory, which keeps its id."""
        return await in_thread(self._memory.update, memory_id, data, **options)

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory; its history stays."""
        return await in_thread(self._memory.delete, memory_id)

    async def delete_all(self, **options: Any) -> dict[str, str]:
        """Forget everything of a user, an agent or a run."""
        return await in_thread(self._memory.delete_all, **options)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what happened to a memory, oldest first."""
        return await in_thread(self._memory.history, memory_id)

    async def reset(self) -> None:
        """Forget everything that came in through this interface, of all users."""
        await in_thread(self._memory.reset)
