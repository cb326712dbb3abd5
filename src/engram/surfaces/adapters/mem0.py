"""
Engram in the shape of mem0's `Memory`, for programs that were written for it.

Every method takes and returns what mem0's does, without needing that package. `user_id`, `agent_id` and
`run_id` are a scope, so nobody's memories are anybody else's. Beyond mem0: the same words are stored once, a
contradiction replaces what it contradicts, and what was replaced or deleted stays in the history.
docs/guides/adapters.md names what differs.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidContent, InvalidScope, MemoryNotFound
from engram.surfaces.adapters.mem0_shapes import (
    TEXT,
    chain,
    events,
    latest,
    passes,
    record,
    spoken,
)
from engram.surfaces.adapters.transcript import in_thread
from engram.values import Filters, Putting, Removing, Scope, Source
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram import Engram
    from engram.values import Memory as Statement
    from engram.values import ShelfItem

PLACE = ("mem0",)
DELETED = ("mem0-deleted",)
"""Where it is noted whose a deleted memory was, so that its history can still be told; holds no words."""
_IDS = {"user_id": "user", "agent_id": "agent", "run_id": "channel"}
_SOURCES = {"assistant": Source.ASSISTANT, "user": Source.HUMAN}


class Memory:
    """A memory that is called like mem0's; `scope`, or else the engine's own, lies around all its users."""

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

        With `infer` the statements in them are read out, by rules or by the chat model that is configured;
        without, every message is stored as it is.
        """
        place = self._place({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        said, about = spoken(messages), dict(metadata or {})
        if infer:
            return {"results": self._read(said, place, about, session=run_id)}
        puttings = [
            Putting(
                place=PLACE,
                key=None,
                value={"metadata": about, "role": role},
                text=content,
                source=_SOURCES.get(role, Source.INGEST),
            )
            for role, content in said
            if role != "system"
        ]
        items = [item for item in self._engram.shelf.write(puttings, scope=place) if item is not None]
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
        ids = _ids(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        most = limit if top_k is None else top_k
        hits = self._engram.shelf.search(
            query,
            PLACE,
            limit=min(most, MAX_LIMIT),
            keep=lambda item: passes(record(item, None), filters),
            follow=True,
            within=True,
            scope=self._place(ids),
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
        ids = _ids(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        items = self._engram.shelf.list(
            PLACE,
            keep=lambda item: passes(record(item, None), filters),
            within=True,
            scope=self._place(ids),
        )
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
        self._delete(item)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget everything of a user, an agent or a run."""
        place = self._place({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        for item in self._engram.shelf.list(PLACE, within=True, scope=place):
            self._delete(item)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what happened to a memory, oldest first."""
        item = self._item(memory_id) or next(
            iter(self._engram.shelf.find(DELETED, memory_id, scope=self._scope)), None
        )
        if item is None:
            raise MemoryNotFound(f"no memory {memory_id[:40]!r} is known here")
        return events(memory_id, chain(self._engram, memory_id, item.scope))

    def reset(self) -> None:
        """Forget everything that came in through this door, of all users."""
        for item in self._engram.shelf.list(PLACE, within=True, scope=self._scope):
            self._delete(item)

    def _read(
        self, said: Sequence[tuple[str, str]], place: Scope, about: dict[str, Any], *, session: str | None
    ) -> list[dict[str, Any]]:
        """Hear messages, read the statements out of them, and note each that is new or replaces another."""
        session = session or f"mem0-{uuid.uuid4().hex}"
        turns = {
            self._engram.observe(content, role=role, session=session, scope=place).id
            for role, content in said
        }
        self._engram.flush(session=session, scope=place)
        filters = Filters(sessions=frozenset({session}))
        stated = self._engram.list(filters=filters, limit=MAX_LIMIT, scope=place)
        new = [one for one in stated if one.scope == place and turns & set(one.provenance.turns)]
        return [self._noted(one, about) for one in reversed(new)]

    def _noted(self, statement: Statement, about: dict[str, Any]) -> dict[str, Any]:
        """Note a statement under the id of what it replaces, or under its own."""
        old = statement.supersedes
        known = [] if old is None else self._engram.shelf.holders(old, scope=statement.scope)
        mine = [item for item in known if item.place == PLACE]
        if not mine or old is None:
            value = {"metadata": about, "role": "user"}
            putting = Putting(place=PLACE, key=None, value=value, memory_id=statement.id)
            (item,) = self._engram.shelf.write([putting], scope=statement.scope)
            return {"id": statement.id, "memory": statement.content, "event": "ADD"} if item else {}
        before = self._engram.get(old, scope=statement.scope).content
        self._point(mine[0], statement, {**mine[0].value, "metadata": mine[0].value["metadata"] | about})
        return {**self._event(mine[0], "UPDATE", statement), "previous_memory": before}

    def _point(self, item: ShelfItem, statement: Statement, value: dict[str, Any]) -> None:
        putting = Putting(place=PLACE, key=item.key, value=value, memory_id=statement.id)
        self._engram.shelf.write([putting], scope=item.scope)

    def _delete(self, item: ShelfItem) -> None:
        statement = self._current(item)
        if statement is not None and statement.scope == item.scope:
            others = [one for one in self._engram.shelf.holders(statement.id) if one.id != item.id]
            if not others and not statement.status.is_terminal:
                self._engram.forget(statement.id, reason="deleted", scope=item.scope)
        self._engram.shelf.write(
            [Removing(place=PLACE, key=item.key), Putting(place=DELETED, key=item.key, value={})],
            scope=item.scope,
        )

    def _known(self, memory_id: str) -> tuple[ShelfItem, Statement]:
        item = self._item(memory_id)
        statement = None if item is None else self._current(item)
        if item is None or statement is None:
            raise MemoryNotFound(f"no memory {memory_id[:40]!r} is known here")
        return item, statement

    def _item(self, memory_id: str) -> ShelfItem | None:
        return next(iter(self._engram.shelf.find(PLACE, memory_id, scope=self._scope)), None)

    def _current(self, item: ShelfItem) -> Statement | None:
        return None if item.memory_id is None else latest(self._engram, item.memory_id, item.scope)

    def _event(self, item: ShelfItem, event: str, statement: Statement | None = None) -> dict[str, Any]:
        stated = statement or self._current(item)
        return {"id": item.key, TEXT: "" if stated is None else stated.content, "event": event}

    def _place(self, ids: Mapping[str, str | None]) -> Scope:
        """Return the scope of a user, an agent and a run; raises where none of them is named."""
        named = {_IDS[name]: str(one) for name, one in ids.items() if one is not None and one != "*"}
        if not named:
            raise InvalidScope(
                "none of user_id, agent_id and run_id is given", hint="Name whose memories are meant."
            )
        for part, name in named.items():
            if getattr(self._scope, part) not in (None, name):
                raise InvalidScope(f"{part}={name[:40]!r} is not the {part} of the scope")
        return replace(self._scope, **named)


class AsyncMemory:
    """The same for programs with an event loop: every call runs in a worker thread."""

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
        """Forget everything that came in through this door, of all users."""
        await in_thread(self._memory.reset)


def _ids(filters: Mapping[str, Any] | None, **given: str | None) -> dict[str, str | None]:
    """Return whose memories are meant, as mem0 takes it: as arguments, or among the filters."""
    found = dict(given)
    for name in _IDS:
        wanted = (filters or {}).get(name)
        if found[name] is None and wanted is not None:
            if not isinstance(wanted, str):
                raise InvalidContent(f"{name} in filters must be text")
            found[name] = wanted
    return found
