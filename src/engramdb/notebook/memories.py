"""
What a sync of a notebook may do to a store: read memories of one scope, and change them as a person would.

Every change goes the way of all changes: admission for words, the machine of statuses for the rest, each with
its history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from engramdb.capture.agents import AdmitsDrafts
from engramdb.clock import Clock
from engramdb.lifecycle.admission import WritePipeline, correct
from engramdb.lifecycle.change import ChangeRequest, relabel, set_layer, set_pinned, set_status
from engramdb.lifecycle.drafts import Draft
from engramdb.notebook.note import Note, truth
from engramdb.text import fields
from engramdb.values import (
    Action,
    Actor,
    Box,
    Entity,
    Filters,
    Layer,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Source,
    Status,
)
from engramdb.values.query import MAX_LIMIT

LIVING = frozenset({Status.ACTIVE, Status.CHALLENGED})
MAX_HEIRS = 1000
"""Corrections of one memory that are followed; a longer chain is a circle in a broken file."""
_MAX_BOXES = 100_000


class ScopeMemories(Struct, frozen=True, kw_only=True):
    """The memories of one scope, read and changed by one actor."""

    pipeline: WritePipeline
    clock: Clock
    actor: Actor
    scope: Scope
    writer: AdmitsDrafts

    # --- reading --------------------------------------------------------------------------------------------

    def shown(self) -> Iterator[Memory]:
        """Yield the memories of exactly this scope that are held to be true, those to be withheld too."""
        before: MemoryId | None = None
        while True:
            with self.pipeline.store.read() as tx:
                page = tx.memories.list(
                    scope=self.scope, filters=Filters(statuses=LIVING), limit=MAX_LIMIT, before=before
                )
            yield from (memory for memory in page if memory.scope == self.scope)
            if len(page) < MAX_LIMIT:
                return
            before = page[-1].id

    def get(self, memory_id: MemoryId) -> Memory | None:
        """Return a memory of exactly this scope, whatever has become of it."""
        with self.pipeline.store.read() as tx:
            memory = tx.memories.get(memory_id, scope=self.scope)
        return memory if memory is not None and memory.scope == self.scope else None

    def is_known(self, memory_id: MemoryId) -> bool:
        """Return whether this scope has, or had, such a memory."""
        return self.get(memory_id) is not None

    def standing(self, memory_id: MemoryId) -> Memory | None:
        """Return the memory, or what took its place, if either is held to be true."""
        memory = self.get(memory_id)
        for _ in range(MAX_HEIRS):
            if memory is None or memory.status in LIVING:
                return memory
            heir = memory.superseded_by
            memory = None if heir is None or memory.status is not Status.SUPERSEDED else self.get(heir)
        return None

    def entities_of(self, memories: Sequence[Memory]) -> list[tuple[Entity, ...]]:
        """Return what each memory speaks of."""
        with self.pipeline.store.read() as tx:
            return [tuple(tx.entities.of_memory(one.id, scope=self.scope)) for one in memories]

    def boxes(self) -> dict[str, Box]:
        """Return the boxes of the scope by id."""
        with self.pipeline.store.read() as tx:
            current = tx.boxes.open_in(self.scope)
            sealed = tx.boxes.sealed(self.scope, limit=_MAX_BOXES)
        return {box.id: box for box in (*sealed, *([] if current is None else [current]))}

    # --- changing -------------------------------------------------------------------------------------------

    def admit(self, note: Note) -> Memory:
        """Take the words of a new note to the write pipeline, with the labels that it gives itself."""
        told: dict[str, Any] = {name: value for name, value in note.fields.items() if isinstance(value, str)}
        word = str(told.get("layer", "")).strip().lower()
        draft = Draft(
            content=note.body,
            scope=self.scope,
            category=fields.category(told.get("category")),
            layer=Layer(word) if word in {str(one) for one in Layer} else None,
            importance=fields.share(told.get("importance")),
            confidence=fields.share(told.get("confidence")),
            pinned=truth(told.get("pinned", "")) is True,
            occurred_at=fields.moment(told.get("occurred")),
            provenance=Provenance(source=Source.HUMAN),
        )
        return self.writer.admit([draft])[0]

    def correct(self, memory: Memory, words: str, *, reason: str) -> Memory:
        """Put other words in the place of a memory; raises `MemoryChanged` if it is not as given here."""
        return correct(
            memory.id,
            words,
            self.pipeline,
            scope=self.scope,
            reason=reason,
            actor=self.actor,
            now=self.clock.now(),
            expected_version=memory,
        ).memory

    def forget(self, memory: Memory, *, reason: str) -> None:
        """Forget a memory; raises `MemoryChanged` if it is not as given here."""
        request = self._request(reason, expected_version=memory)
        set_status(memory.id, Status.FORGOTTEN, request, action=Action.FORGET)

    def label(self, memory: Memory, name: str, value: str, *, reason: str) -> Memory:
        """Change one label of a memory and return it as it is now."""
        request = self._request(reason)
        if name == "pinned":
            return set_pinned(memory.id, request, pinned=value == "true")
        if name == "layer":
            order = list(Layer)
            is_up = order.index(Layer(value)) > order.index(memory.layer)
            return set_layer(memory.id, Layer(value), request, up=is_up)
        if name == "status":
            new = Status(value)
            action = Action.FORGET if new is Status.FORGOTTEN else Action.SET_STATUS
            moved, _ = set_status(memory.id, new, request, action=action)
            return moved
        given: dict[str, Any] = {name: float(value) if name == "importance" else value}
        return relabel(memory.id, request, **given)

    def _request(self, reason: str, *, expected_version: Memory | None = None) -> ChangeRequest:
        return ChangeRequest(
            store=self.pipeline.store,
            scope=self.scope,
            actor=self.actor,
            now=self.clock.now(),
            reason=reason,
            expected_version=expected_version,
        )
