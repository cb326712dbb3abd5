"""The minds of the agents this process serves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.context.attention import AnticipatedAnswer
from engramdb.context.working_memory import (
    AttentionState,
    awake,
    from_kept,
    items,
    morning,
    place,
    to_keep,
    wipe,
    with_ground,
)
from engramdb.engine.assemble import Parts
from engramdb.engine.background import IN_BACKGROUND
from engramdb.engine.clock import Clock
from engramdb.engine.status import Health, WatchedEmbedder
from engramdb.engine.turns import (
    AgentTurn,
    Expected,
    Surroundings,
    TurnKind,
    TurnLifecycle,
    TurnRequest,
    anticipate,
    working_memory,
)
from engramdb.engine.workers import Anticipator, Listener
from engramdb.errors import EmbeddingError, StoreCorrupt
from engramdb.policy.context import AttentionPolicy
from engramdb.store.contract import AttentionSnapshot, Store, Transaction
from engramdb.values import Actor, EmbedderIdentity, Restored, Scope, WorkingMemory

# The minds of the agents that this process serves: brought in, changed, kept, put away.
#
# Held by `Turns`. A mind is loaded when its agent is first met, saved with every turn that ends well, read
# anew when another process has saved since, and put away when it was silent for long: wiped here, kept in
# the store. One lock per mind: two threads of one agent take turns, and neither loses what the other
# brought to mind.

ATTENTION = "attention"
"""What health calls this part."""


class _Held(Struct, eq=False):
    """One mind in this process, and who is using it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    mind: AttentionState | None = None
    stamp: int = 0
    restored: Restored = Restored.FRESH
    touched_at: datetime | None = None
    open_turns: int = 0
    prepared: AnticipatedAnswer | None = None
    is_away: bool = False


class Attending:
    """Minds by scope."""

    def __init__(
        self,
        store: Store,
        embedder: WatchedEmbedder,
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
        """Return an agent's mind as it is now, brought in if need be, and in what state it came."""
        self.sweep()
        with self._holding(scope) as held:
            mind = self._present(scope, held)
            return mind, held.restored

    def begin(self, scope: Scope) -> None:
        """Note that a turn begins: its mind stays until the turn is over."""
        with self._holding(scope) as held:
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
        Change a mind and keep it, in one write with whatever else belongs to it.

        If the write fails, nothing of it is stored and the mind is what it was.
        """
        with self._holding(scope) as held:
            before = self._present(scope, held)
            after = changed(before)
            with self._health.watch(ATTENTION), self._store.atomic() as tx:
                write(tx)
                after = with_ground(tx, after, scope=scope, now=self._clock.now())
                stamp = tx.attention.put(scope, self._at_rest(after))
            held.mind, held.stamp, held.restored = after, stamp, Restored.HELD
            return after

    def put_away(self, scope: Scope) -> None:
        """Keep a mind in the store as it is and let go of it here."""
        with self._holding(scope) as held:
            mind = self._present(scope, held)
            with self._store.atomic() as tx:
                tx.attention.put(scope, self._at_rest(replace(mind, at=self._clock.now())))
            self._let_go(scope, held)

    def prepare(self, scope: Scope, prepared: AnticipatedAnswer | None) -> None:
        """Have an answer ready for the next question of an agent that is still here, or none."""
        with self._lock:
            held = self._held.get(scope)
        if held is not None:
            with held.lock:
                held.prepared = None if held.is_away else prepared

    def take_prepared(self, scope: Scope) -> AnticipatedAnswer | None:
        """Return what was prepared, once."""
        with self._holding(scope) as held:
            prepared, held.prepared = held.prepared, None
            return prepared

    def sweep(self) -> int:
        """Put away the minds that were silent for too long, or are too many; return how many."""
        now = self._clock.now()
        idle = timedelta(minutes=self._policy.idle_minutes)
        with self._lock:
            oldest = sorted(self._held.items(), key=lambda pair: pair[1].touched_at or now)
        over = max(0, len(oldest) - self._policy.most_minds)
        gone = 0
        for number, (scope, held) in enumerate(oldest):
            if not held.lock.acquire(blocking=False):
                continue  # whoever holds it is using it
            try:
                is_idle = now - (held.touched_at or now) > idle or number < over
                if is_idle and not held.open_turns and not held.is_away:
                    self._let_go(scope, held)  # every change was kept as it was made
                    gone += 1
            finally:
                held.lock.release()
        return gone

    def let_go(self) -> None:
        """
        Hold no words: every mind is read from the store when it is next used, and nothing is prepared.

        Not inside a write, as with `forget`.
        """
        with self._lock:
            known = list(self._held.values())
        for held in known:
            with held.lock:
                held.mind, held.prepared = None, None  # every change was kept as it was made

    def close(self) -> None:
        """Let go of every mind; what they hold is in the store."""
        with self._lock:
            known = list(self._held.items())
        for scope, held in known:
            with held.lock:
                self._let_go(scope, held)

    @contextmanager
    def _holding(self, scope: Scope) -> Iterator[_Held]:
        """Hold an agent's mind alone; one that was put away between two lines is fetched again."""
        while True:
            with self._lock:
                held = self._held.setdefault(scope, _Held())
            with held.lock:
                if not held.is_away:
                    held.touched_at = self._clock.now()
                    yield held
                    return

    def _present(self, scope: Scope, held: _Held) -> AttentionState:
        """Return the mind, read from the store if it is not here or somebody else has saved it since."""
        with self._store.read() as tx:
            stamp = tx.attention.stamp(scope)
            if held.mind is not None and held.stamp == stamp:
                return held.mind
            held.mind, held.restored = self._woken(tx, scope)
            held.stamp = stamp
            return held.mind

    def _woken(self, tx: Transaction, scope: Scope) -> tuple[AttentionState, Restored]:
        now = self._clock.now()
        try:
            kept = tx.attention.get(scope)
        except StoreCorrupt as exc:  # an agent that lost its thread can still work
            self._health.failed(ATTENTION, exc)
            kept = None
        asleep = AttentionState() if kept is None else from_kept(kept, identity=self._identity())
        mind, restored = awake(asleep, self._policy, now=now)
        if restored is not Restored.FRESH:
            return with_ground(tx, mind, scope=scope, now=now), restored
        first = morning(tx, scope=scope, now=now)
        return AttentionState(slots=place((), first, self._policy), at=now), restored

    def _at_rest(self, mind: AttentionState) -> AttentionSnapshot:
        return to_keep(mind, identity=self._identity(), now=self._clock.now())

    def _let_go(self, scope: Scope, held: _Held) -> None:
        """Wipe a mind and drop it; its lock is held."""
        if held.mind is not None:
            wipe(held.mind)
        held.mind, held.prepared, held.is_away = None, None, True
        with self._lock:
            if self._held.get(scope) is held:
                del self._held[scope]

    def _identity(self) -> EmbedderIdentity | None:
        try:
            return self._embedder.identity
        except EmbeddingError:
            return None


# The minds of agents and the turns that are open, together.
#
# Held by the verbs of `turns` and loaded when the first of them is used: most processes run no agent. Puts
# together who attends (`attending`), what happens in a turn (`lifecycle`) and who looks ahead
# (`anticipating`).

__all__ = ["Agents", "Surroundings", "TurnKind", "TurnRequest"]

ANTICIPATION = f"anticipation{IN_BACKGROUND}"
"""What health calls this part; it is at work without anybody waiting for it."""


class Agents:
    """What the agents of this process have in mind, and their turns."""

    def __init__(self, parts: Parts, listener: Listener, around: Surroundings, *, actor: Actor) -> None:
        self._parts = parts
        self._attending = Attending(
            parts.store,
            parts.embedder,
            policy=parts.policy.attention,
            clock=parts.clock,
            health=parts.health,
        )
        self._anticipator = Anticipator[Expected](self._prepare, self._attending.sweep)
        self._lifecycle = TurnLifecycle(parts, self._attending, listener, around, actor=actor)

    def turn(self, request: TurnRequest) -> AgentTurn:
        """Return a turn that has not begun yet."""
        return AgentTurn(self._lifecycle, request)

    def in_mind(self, place: Scope) -> WorkingMemory:
        """Return what an agent has in mind, brought back if need be."""
        self._lifecycle.bury()
        mind, restored = self._attending.look(place)
        with self._parts.store.read() as tx:
            held = items(tx, mind.slots, scope=place, now=self._parts.clock.now())
        return working_memory(place, held, mind, restored)

    def put_away(self, place: Scope) -> None:
        """Keep what an agent has in mind, and let go of it here."""
        self._attending.put_away(place)

    def look_ahead(self, scope: Scope, expected: Expected) -> None:
        """Prepare in the background what an agent will ask for next."""
        self._anticipator.start()
        if self._parts.policy.attention.anticipates:
            self._anticipator.wish(scope, expected)

    def let_go(self) -> None:
        """Hold no words of any mind; the store has them."""
        self._attending.let_go()

    def close(self) -> None:
        """Close the turns that are open, and put every mind away."""
        self._lifecycle.close_all()
        self._anticipator.close()
        self._attending.close()

    def _prepare(self, scope: Scope, expected: Expected) -> None:
        with self._parts.health.watch(ANTICIPATION):
            self._attending.prepare(scope, anticipate(self._parts, scope, expected))
