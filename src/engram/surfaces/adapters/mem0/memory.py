"""
The calls of mem0's `Memory`, on an open Engram.

Every one takes and returns what mem0's does. `user_id`, `agent_id` and `run_id` are a scope, so nobody's
memories are anybody else's. Beyond mem0: the same words are stored once, a contradiction replaces what
it contradicts, and what was replaced or deleted stays in the history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.errors import MemoryNotFound
from engram.surfaces.adapters.lineage import chain, latest
from engram.surfaces.adapters.mem0.hearing import hear
from engram.surfaces.adapters.mem0.shapes import TEXT, events, passes, record, spoken
from engram.surfaces.adapters.mem0.whose import scope_of
from engram.values import Putting, Removing, Source
from engram.values.query import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram import Engram, Scope
    from engram.values import Memory as Statement
    from engram.values import ShelfItem

PLACE = ("mem0",)
DELETED = ("mem0-deleted",)
"""Where it is noted whose a deleted memory was, so that its history can be told; holds no words."""
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
        place = scope_of(self._scope, filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        most = limit if top_k is None else top_k
        hits = self._engram.shelf.search(
            query,
            PLACE,
            limit=min(most, MAX_LIMIT),
            keep=_kept_by(filters),
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
        items = self._engram.shelf.list(PLACE, keep=_kept_by(filters), within=True, scope=place)
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
        self._delete(self._engram.shelf.list(PLACE, within=True, scope=place))
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what happened to a memory, oldest first."""
        item = self._item(memory_id) or next(iter(self._found(DELETED, memory_id)), None)
        if item is None:
            raise MemoryNotFound(f"no memory {memory_id[:40]!r} is known here")
        return events(memory_id, chain(self._engram, memory_id, item.scope))

    def reset(self) -> None:
        """Forget everything that came in through this door, of all users."""
        self._delete(self._engram.shelf.list(PLACE, within=True, scope=self._scope))

    def _noted(self, statement: Statement, about: dict[str, Any]) -> list[dict[str, Any]]:
        """Note a statement under the id of what it replaces, or its own; a known one is no event."""
        if self._holders(statement.id, statement.scope):
            return []
        old = statement.supersedes
        replaced = [] if old is None else self._holders(old, statement.scope)
        if not replaced or old is None:
            putting = Putting(
                place=PLACE, key=None, value={"metadata": about, "role": "user"}, memory_id=statement.id
            )
            self._engram.shelf.write([putting], scope=statement.scope)
            return [{"id": statement.id, TEXT: statement.content, "event": "ADD"}]
        item = replaced[0]
        before = self._engram.get(old, scope=statement.scope).content
        self._point(item, statement, {**item.value, "metadata": item.value["metadata"] | about})
        return [{**self._event(item, "UPDATE", statement), "previous_memory": before}]

    def _holders(self, memory_id: str, scope: Scope) -> list[ShelfItem]:
        return [item for item in self._engram.shelf.holders(memory_id, scope=scope) if item.place == PLACE]

    def _point(self, item: ShelfItem, statement: Statement, value: dict[str, Any]) -> None:
        putting = Putting(place=PLACE, key=item.key, value=value, memory_id=statement.id)
        self._engram.shelf.write([putting], scope=item.scope)

    def _delete(self, items: Sequence[ShelfItem]) -> None:
        """Take away what is noted here in one write, then forget what was read out of messages."""
        stated = [(item.scope, self._current(item)) for item in items]
        changes: list[Putting | Removing] = []
        for item in items:
            changes.append(Removing(place=PLACE, key=item.key, scope=item.scope))
            changes.append(Putting(place=DELETED, key=item.key, value={}, scope=item.scope))
        self._engram.shelf.write(changes, scope=self._scope)
        for scope, statement in stated:
            if statement is not None and statement.scope == scope:
                self._forget(statement.id, scope)

    def _forget(self, memory_id: str, scope: Scope) -> None:
        """Forget a memory, unless it is gone already or another document points to it."""
        is_gone = self._engram.get(memory_id, scope=scope).status.is_terminal
        if not is_gone and not self._engram.shelf.holders(memory_id, scope=scope):
            self._engram.forget(memory_id, reason="deleted", scope=scope)

    def _known(self, memory_id: str) -> tuple[ShelfItem, Statement]:
        item = self._item(memory_id)
        statement = None if item is None else self._current(item)
        if item is None or statement is None:
            raise MemoryNotFound(f"no memory {memory_id[:40]!r} is known here")
        return item, statement

    def _item(self, memory_id: str) -> ShelfItem | None:
        return next(iter(self._found(PLACE, memory_id)), None)

    def _found(self, place: tuple[str, ...], memory_id: str) -> Sequence[ShelfItem]:
        return self._engram.shelf.find(place, memory_id, scope=self._scope)

    def _current(self, item: ShelfItem) -> Statement | None:
        return None if item.memory_id is None else latest(self._engram, item.memory_id, item.scope)

    def _event(self, item: ShelfItem, event: str, statement: Statement | None = None) -> dict[str, Any]:
        stated = statement or self._current(item)
        return {"id": item.key, TEXT: "" if stated is None else stated.content, "event": event}


def _kept_by(filters: Mapping[str, Any] | None) -> Callable[[ShelfItem], bool] | None:
    return (lambda item: passes(record(item, None), filters)) if filters else None
