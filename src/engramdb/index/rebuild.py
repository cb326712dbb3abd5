"""
Derived data: embed what still waits, and rebuild the indexes from what is canonical.

Works in small writes, so that others get their turns, and never empties an index that questions are being
asked of.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from itertools import islice

from engramdb.errors import EmbedderUnavailable, EmbeddingError
from engramdb.models.embedder import Embedder
from engramdb.store.contract import Store
from engramdb.text.normalize import counted
from engramdb.text.pii_spoken import MAX_BETWEEN
from engramdb.text.terms import TERMS_VERSION
from engramdb.values import Memory, Turn
from engramdb.vault.indexing import index_terms, passage, turn_terms

_TERM_ROWS = 500
FOUND_BY_WORDS = "They are found by their words."
_VECTOR_ROWS = 64
"""Vectors that one write stores: others wait no longer for their turn."""


def embed_pending(
    store: Store,
    embedder: Embedder,
    *,
    is_stopped: Callable[[], bool] | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """
    Embed every memory that has no vector in the embedder's space, newest first, and return how many.

    Where a batch fails, its halves are tried: a text that the embedder cannot take keeps no other from its
    vector. Raises in the end where some are left.
    """
    done, unfit, batch = 0, set[int](), embedder.batch
    while is_stopped is None or not is_stopped():
        with store.read() as tx:
            space = tx.vectors.space(embedder.identity)
            found = tx.vectors.pending(space, limit=batch + len(unfit))
        waiting = dict(islice(((key, one) for key, one in found.items() if key not in unfit), batch))
        if not waiting:
            break
        refused = _embed_some(store, embedder, waiting)
        unfit |= refused
        done += len(waiting) - len(refused)
        if progress is not None:
            progress(len(waiting) - len(refused))
    if unfit:
        told = counted(len(unfit), "memory cannot be embedded", "memories cannot be embedded")
        raise EmbedderUnavailable(f"{told}: the embedder takes the others", hint=FOUND_BY_WORDS)
    return done


def rebuild(store: Store, embedder: Embedder, *, progress: Callable[[int], None] | None = None) -> int:
    """Rebuild terms, traits and vectors of every memory, and the index of turns; return how many memories."""
    rebuild_terms(store)
    rebuild_turns(store)
    with store.atomic() as tx:
        tx.vectors.drop_orphans()
        tx.traits.rebuild()
    done, after = 0, 0
    while True:
        with store.read() as tx:
            memories = tx.memories.indexable(after_key=after, limit=embedder.batch)
        if not memories:
            return done
        _embed(store, embedder, memories)
        after = max(memories)
        done += len(memories)
        if progress is not None:
            progress(len(memories))


def rebuild_terms(store: Store) -> None:
    """Rebuild the text index in one write: readers see the old one until it is done."""
    with store.atomic() as tx:
        tx.terms.clear(version=TERMS_VERSION)
        after = 0
        while memories := tx.memories.indexable(after_key=after, limit=_TERM_ROWS):
            for key, memory in memories.items():
                tx.terms.put(key, index_terms(memory))
            after = max(memories)


def rebuild_turns(store: Store) -> None:
    """Rebuild the index of turns, and the note of what each turn left, in one write."""
    with store.atomic() as tx:
        tx.turns.relink()
        tx.turn_terms.clear(version=TERMS_VERSION)
        after = 0
        heard: defaultdict[tuple[object, str | None], deque[Turn]] = defaultdict(_latest_turns)
        while turns := tx.turns.page(after_key=after, limit=_TERM_ROWS):
            for key, turn in turns.items():
                before = heard[turn.scope, turn.session]
                tx.turn_terms.put(key, turn_terms(turn, before=before))
                before.append(turn)
            after = max(turns)


def _latest_turns() -> deque[Turn]:
    return deque(maxlen=MAX_BETWEEN + 1)


def _embed_some(store: Store, embedder: Embedder, memories: dict[int, Memory]) -> set[int]:
    """
    Embed these memories and return the keys of those that the embedder refuses; raises where it takes none.

    Both halves of what failed are tried before a half of a half: one bad text never looks like many failures
    in a row, after which an embedder is left alone.
    """
    refused, parts = set[int](), deque([list(memories)])
    while parts:
        keys = parts.popleft()
        try:
            _embed(store, embedder, {key: memories[key] for key in keys})
        except EmbeddingError:
            middle = len(keys) // 2
            if middle:
                parts += (keys[:middle], keys[middle:])
                continue
            refused |= set(keys)
            if len(refused) == len(memories):
                raise
    return refused


def _embed(store: Store, embedder: Embedder, memories: dict[int, Memory]) -> None:
    """Store vectors for these memories; one that was forgotten meanwhile is left out."""
    vectors = embedder.embed_documents([passage(memory) for memory in memories.values()])
    keys = list(memories)
    for start in range(0, len(keys), _VECTOR_ROWS):
        some = keys[start : start + _VECTOR_ROWS]
        with store.atomic() as tx:
            current = tx.memories.by_keys(some)
            rows = [row for row, key in enumerate(some) if key in current and current[key].status.is_indexed]
            space = tx.vectors.make_space(embedder.identity)
            if rows:
                tx.vectors.put(space, [some[row] for row in rows], vectors[[start + row for row in rows]])
