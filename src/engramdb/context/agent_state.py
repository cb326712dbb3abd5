"""
The working memories of the agents that this process serves: loaded, changed, saved, put away.

One is loaded when its agent is first met, saved with every turn that ends well, read again when another
process has saved since, and put away when silent for long: wiped here, saved in the store. One lock per
working memory: two threads of one agent take turns, and neither loses what the other added.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.clock import Clock
from engramdb.context.attention import AnticipatedAnswer
from engramdb.context.working_memory import (
    AttentionState,
    add_slots,
    drop_ungrounded,
    from_snapshot,
    morning_slots,
    to_snapshot,
    wake_up,
    wipe_state,
)
from engramdb.errors import EmbeddingError, StoreCorrupt
from engramdb.health import Health
from engramdb.models.embedder import Embedder
from engramdb.policy.context import AttentionPolicy
from engramdb.store.contract import AttentionSnapshot, Store, Transaction
from engramdb.values import EmbedderIdentity, Restored, Scope

ATTENTION = "attention"
"""What health calls this part."""


class _Held(Struct, eq=False):
    """One agent's state in this process, and who is using it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    state: AttentionState | None = None
    stamp: int = 0
    restored: Restored = Restored.FRESH
    touched_at: datetime | None = None
    open_turns: int = 0
    prepared: AnticipatedAnswer | None = None
    is_away: bool = False


class WorkingMemories:
    """Working memories by scope."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        policy: AttentionPolicy,
        clock: Clock,
        health: Health,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._policy = policy
        self._clock = clock
        self._health = health
        self._lock = threading.Lock()
        self._held: dict[Scope, _Held] = {}

    def look(self, scope: Scope) -> tuple[AttentionState, Restored]:
        """Return an agent's state as it is now, loaded if need be, and how it was restored."""
        self.sweep()
        with self._locked(scope) as held:
            state = self._current_state(scope, held)
            return state, held.restored

    def begin(self, scope: Scope) -> None:
        """Note that a turn begins: its state stays loaded until the turn is over."""
        with self._locked(scope) as held:
            held.open_turns += 1

    def end(self, scope: Scope) -> None:
        """Note that a turn is over, however it went."""
        with self._lock:
            held = self._held.get(scope)
        if held is not None:
            with held.lock:
                held.open_turns = max(0, held.open_turns - 1)

    def change(
        self,
        scope: Scope,
        changed: Callable[[AttentionState], AttentionState],
        write: Callable[[Transaction], object],
    ) -> AttentionState:
        """
        Change a state and save it, in one write with whatever else belongs to it.

        If the write fails, nothing of it is stored and the state is unchanged.
        """
        with self._locked(scope) as held:
            before = self._current_state(scope, held)
            after = changed(before)
            with self._health.watch(ATTENTION), self._store.atomic() as tx:
                write(tx)
                after = drop_ungrounded(tx, after, scope=scope, now=self._clock.now())
                stamp = tx.attention.put(scope, self._snapshot(after))
            held.state, held.stamp, held.restored = after, stamp, Restored.HELD
            return after

    def put_away(self, scope: Scope) -> None:
        """Save a state to the store and drop it here."""
        with self._locked(scope) as held:
            state = self._current_state(scope, held)
            with self._store.atomic() as tx:
                tx.attention.put(scope, self._snapshot(replace(state, at=self._clock.now())))
            self._drop_state(scope, held)

    def prepare(self, scope: Scope, prepared: AnticipatedAnswer | None) -> None:
        """Have an answer ready for the next question of an agent that is still here, or none."""
        with self._lock:
            held = self._held.get(scope)
        if held is not None:
            with held.lock:
                held.prepared = None if held.is_away else prepared

    def take_prepared(self, scope: Scope) -> AnticipatedAnswer | None:
        """Return what was prepared, once."""
        with self._locked(scope) as held:
            prepared, held.prepared = held.prepared, None
            return prepared

    def sweep(self) -> int:
        """Put away the working memories that were silent for too long, or are too many; return how many."""
        now = self._clock.now()
        idle = timedelta(minutes=self._policy.idle_minutes)
        with self._lock:
            oldest = sorted(self._held.items(), key=lambda pair: pair[1].touched_at or now)
        over = max(0, len(oldest) - self._policy.most_minds)
        gone = 0
        for number, (scope, held) in enumerate(oldest):
            if not held.lock.acquire(blocking=False):
                continue  # it is in use
            try:
                is_idle = now - (held.touched_at or now) > idle or number < over
                if is_idle and not held.open_turns and not held.is_away:
                    self._drop_state(scope, held)  # every change was saved as it was made
                    gone += 1
            finally:
                held.lock.release()
        return gone

    def let_go(self) -> None:
        """
        Hold no words: every state is read from the store when it is next used, and nothing is prepared.

        Not inside a write, as with `forget`.
        """
        with self._lock:
            known = list(self._held.values())
        for held in known:
            with held.lock:
                held.state, held.prepared = None, None  # every change was saved as it was made

    def close(self) -> None:
        """Release every state; what they hold is in the store."""
        with self._lock:
            known = list(self._held.items())
        for scope, held in known:
            with held.lock:
                self._drop_state(scope, held)

    @contextmanager
    def _locked(self, scope: Scope) -> Iterator[_Held]:
        """Lock an agent's state; one that was put away in between is loaded again."""
        while True:
            with self._lock:
                held = self._held.setdefault(scope, _Held())
            with held.lock:
                if not held.is_away:
                    held.touched_at = self._clock.now()
                    yield held
                    return

    def _current_state(self, scope: Scope, held: _Held) -> AttentionState:
        """Return the state, read from the store if it is not here or was saved by another since."""
        with self._store.read() as tx:
            stamp = tx.attention.stamp(scope)
            if held.state is not None and held.stamp == stamp:
                return held.state
            held.state, held.restored = self._restore(tx, scope)
            held.stamp = stamp
            return held.state

    def _restore(self, tx: Transaction, scope: Scope) -> tuple[AttentionState, Restored]:
        now = self._clock.now()
        try:
            snapshot = tx.attention.get(scope)
        except StoreCorrupt as exc:  # an agent that lost its thread can still work
            self._health.failed(ATTENTION, exc)
            snapshot = None
        asleep = AttentionState() if snapshot is None else from_snapshot(snapshot, identity=self._identity())
        state, restored = wake_up(asleep, self._policy, now=now)
        if restored is not Restored.FRESH:
            return drop_ungrounded(tx, state, scope=scope, now=now), restored
        first = morning_slots(tx, scope=scope, now=now)
        return AttentionState(slots=add_slots((), first, self._policy), at=now), restored

    def _snapshot(self, state: AttentionState) -> AttentionSnapshot:
        return to_snapshot(state, identity=self._identity(), now=self._clock.now())

    def _drop_state(self, scope: Scope, held: _Held) -> None:
        """Wipe a state and drop it; its lock is held."""
        if held.state is not None:
            wipe_state(held.state)
        held.state, held.prepared, held.is_away = None, None, True
        with self._lock:
            if self._held.get(scope) is held:
                del self._held[scope]

    def _identity(self) -> EmbedderIdentity | None:
        try:
            return self._embedder.identity
        except EmbeddingError:
            return None
