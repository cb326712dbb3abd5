"""Export memories: which ones travel, with what is known of each, and as a line of JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from engramdb.errors import StoreCorrupt
from engramdb.lifecycle.change import SAID
from engramdb.store.contract import Store, Transaction
from engramdb.text.identity import WITHHELD_WORDS
from engramdb.text.pii import classify, is_withheld
from engramdb.values import BELIEVED, ExportedMemory, Filters, Memory, MemoryId, Scope, SecurityTier, Status
from engramdb.values.memory import Claim, Detail, Traits
from engramdb.vault.masking import stays_out_of_files

Part = TypeVar("Part", Detail, Traits)

MARK = "engram"
"""The name by which a line is known as ours; its value is the version of the form."""
FORM = 1
PAGE = 100
"""Memories of an export that are read in one go: a few milliseconds, so that nobody waits for it."""


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an export is to hold."""

    filters: Filters = Filters(statuses=BELIEVED)
    tiers: frozenset[SecurityTier]
    history: bool

    @property
    def is_open(self) -> bool:
        """Whether private things may be in it."""
        return self.tiers >= {SecurityTier.SENSITIVE, SecurityTier.CONFIDENTIAL}

    def covers(self, memory: Memory) -> bool:
        """Return whether a memory, as it is by now, is to be in it."""
        return memory.status in self.filters.statuses and self.admits(memory)

    def admits(self, memory: Memory) -> bool:
        """Return whether a memory's tier was asked for; a mere name or home town counts as cleartext."""
        if memory.security in self.tiers:
            return True
        return SecurityTier.CLEARTEXT in self.tiers and not stays_out_of_files(memory)


def export(
    store: Store,
    scope: Scope,
    request: ExportRequest,
    *,
    narrower: bool,
    note_unreadable: Callable[[MemoryId], None] | None = None,
    note_withheld: Callable[[MemoryId], None] | None = None,
) -> Iterator[ExportedMemory]:
    """
    Yield what a scope may see, oldest first; `narrower` adds every scope inside it, scope by scope.

    What cannot be read is noted, or raises `StoreCorrupt` at the end: never is less exported without a word.
    What its tier keeps out is noted too.
    """
    unreadable: dict[MemoryId, None] = {}
    withheld: dict[MemoryId, None] = {}
    yield from _of_scope(store, scope, request, unreadable, withheld)
    if narrower:
        with store.read() as tx:
            inside = [one for one in tx.erasures.scopes_within(scope) if one != scope]
        for one in inside:
            found = _of_scope(store, one, request, unreadable, withheld)
            yield from (each for each in found if each.memory.scope == one)
    if note_withheld is not None:
        for kept in withheld:
            note_withheld(kept)
    if unreadable and note_unreadable is None:
        raise StoreCorrupt(f"cannot be read, and are not in the export: memory {', '.join(unreadable)}")
    for lost in unreadable:
        if note_unreadable is not None:
            note_unreadable(lost)


def _of_scope(
    store: Store,
    scope: Scope,
    request: ExportRequest,
    unreadable: dict[MemoryId, None],
    withheld: dict[MemoryId, None],
) -> Iterator[ExportedMemory]:
    """Yield what one scope sees, a page at a time."""
    ids = list(_exportable(store, scope, request, unreadable, withheld))
    travelling = frozenset(ids)
    for start in range(0, len(ids), PAGE):
        with store.read() as tx:
            some = [tx.memories.get(one, scope=scope) for one in ids[start : start + PAGE]]
            page = [
                _exported(tx, one, scope, among=travelling, history=request.history)
                for one in some
                if one is not None and request.covers(one)
            ]
        yield from page if request.is_open else map(discreet, page)


def _exportable(
    store: Store,
    scope: Scope,
    request: ExportRequest,
    unreadable: dict[MemoryId, None],
    withheld: dict[MemoryId, None],
) -> Iterator[MemoryId]:
    """Yield the ids to export, oldest first; what is erased has no words to give."""
    pages: list[list[MemoryId]] = []
    before: MemoryId | None = None
    while True:
        with store.read() as tx:
            lost = tx.memories.skip_unreadable()
            page = tx.memories.list(scope=scope, filters=request.filters, limit=PAGE, before=before)
        unreadable |= dict.fromkeys(lost)
        held = [one for one in page if one.status is not Status.ERASED]
        pages.append([one.id for one in held if request.admits(one)])
        withheld |= dict.fromkeys(one.id for one in held if not request.admits(one))
        if len(page) < PAGE:
            break
        before = page[-1].id
    for ids in reversed(pages):
        yield from reversed(ids)


def _exported(
    tx: Transaction, memory: Memory, scope: Scope, *, among: Collection[MemoryId], history: bool
) -> ExportedMemory:
    return ExportedMemory(
        memory=memory.unmarked,
        entities=tuple(one.name for one in tx.entities.of_memory(memory.id, scope=scope)),
        history=tuple(tx.history.of(memory.id)) if history else (),
        links=tuple(
            edge
            for edge in tx.edges.of(memory.id)
            if edge.source == memory.id and edge.target in among and edge.type in SAID
        ),
    )


def discreet(exported: ExportedMemory) -> ExportedMemory:
    """
    Return it without what is private beside its statement, for a file that is to hold nothing of the kind.

    The exact words may be of a sentence that says more than the memory does, what it leans on was another
    statement, and as a reason people write whatever they like.
    """
    memory = exported.memory
    private = partial(_is_private, beside=memory.content)
    gone: dict[str, Any] = {
        name: None for name in ("verbatim", "statement", "replaces") if private(getattr(memory, name))
    }
    if private(" ".join(filter(None, (memory.subject, memory.predicate, memory.object)))):
        gone |= dict.fromkeys(("subject", "predicate", "object"))
    if private(memory.answers):
        gone["answers"] = WITHHELD_WORDS
    refers_to = tuple(WITHHELD_WORDS if private(words) else words for words in memory.refers_to)
    memory = memory.evolve(
        **gone,
        refers_to=refers_to,
        claims=tuple(one for one in memory.claims if not private(_words_of(one))),
        moments=tuple(one for one in memory.moments if not private(one.words)),
        detail=_without_private(memory.detail, private),
        traits=_without_private(memory.traits, private),
    )
    entities = tuple(name for name in exported.entities if not private(name))
    events = tuple(replace(one, reason="") if private(one.reason) else one for one in exported.history)
    return replace(exported, memory=memory, entities=entities, history=events)


def _words_of(claim: Claim) -> str:
    return " ".join((claim.subject, claim.predicate, claim.object, *claim.qualifiers))


def _without_private(part: Part, private: Callable[[str | None], bool]) -> Part:
    """Return the forms or the traits of a memory without those that are private."""
    kept: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(part).items():
        if isinstance(value, tuple):
            kept[name] = tuple(one for one in value if not private(one))
        elif isinstance(value, str) and private(value):
            kept[name] = None
    return replace(part, **kept)


def _is_private(words: str | None, *, beside: str) -> bool:
    """Return whether words are to stay out of a file that holds the statement beside which they stand."""
    if not words or words in beside:
        return False
    return is_withheld(words, classify(words).tier)


def line_of(exported: ExportedMemory) -> bytes:
    """Return a memory as a line, its end included; what is empty is left out."""
    told = msgspec.to_builtins(exported.memory)
    kept = {name: value for name, value in told.items() if value not in (None, [], {}, "")}
    line = {MARK: FORM, **kept, "entities": list(exported.entities)}
    if exported.links:
        line["links"] = [
            {"to": edge.target, "type": edge.type.value, "weight": edge.weight} for edge in exported.links
        ]
    if exported.history:
        line["history"] = [msgspec.to_builtins(event) for event in exported.history]
    return msgspec.json.encode(line) + b"\n"
