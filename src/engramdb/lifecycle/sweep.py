"""One aging sweep over the store, page by page."""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.lifecycle.curves import TIERS, retention, tiers
from engramdb.lifecycle.pacing import fitting_rows
from engramdb.lifecycle.questions import stale_question
from engramdb.lifecycle.rules import MOST_ASKED, STAYS, AgingRule, Contest, Verdicts, judge, to_ask
from engramdb.lifecycle.transitions import MemoryWriter
from engramdb.policy import AgingPolicy
from engramdb.store.contract import Store, Sweep, Transaction
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AgeMove,
    AgeReport,
    AuditEvent,
    EmbedderIdentity,
    Memory,
    MemoryId,
    Status,
)
from engramdb.values.aging import LAYERS
from engramdb.values.population import Population, to_microseconds

SessionEnds = Mapping[tuple[int, str], int]


class SessionAccounts(Struct, frozen=True):
    """Which memories the summaries of sessions tell, and what could not be summarized."""

    covered: frozenset[MemoryId] = frozenset()
    failures: tuple[str, ...] = ()


Summarize = Callable[[SessionEnds], SessionAccounts]

PAGE_ROWS = 5_000
"""Memories that are read and judged together."""
PAUSE_SECONDS = 0.001
"""What other processes get between two writes, since the store's own line is fair to threads only."""
RESUME_WITHIN = timedelta(hours=12)
FIRST_WRITE_ROWS, LEAST_WRITE_ROWS = 32, 4
MOST_WRITE_ROWS = 512
MOVES_SHOWN = 1_000
WHOLE_BITS = 8
FADING_PRIORITY = 0.4
"""How much an answer matters about what nobody has used for long."""
AGER = Actor(name="aging", kind=ActorKind.RULE)


class _Tally(Struct):
    """What a sweep has done so far."""

    sweep: Sweep
    by_rule: Counter[str] = field(default_factory=Counter)
    by_tier: Counter[str] = field(default_factory=Counter)
    moves: list[AgeMove] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    longest_write: float = 0.0
    write_rows: int = FIRST_WRITE_ROWS
    requantized: int = 0
    covered: frozenset[MemoryId] | None = None
    """What summaries of sessions tell, and may leave with them; None where nobody sums up."""
    fading: list[tuple[float, int]] = field(default_factory=list)
    """What is left of the knowledge to ask about, and its keys; the most faded."""

    def note(self, moved: AgeMove) -> None:
        """Count a move, and keep it to show."""
        self.by_rule[moved.rule] += 1
        if len(self.moves) < MOVES_SHOWN:
            self.moves.append(moved)

    def took(self, seconds: float, rows: int) -> None:
        """Fit the size of the next write to how long this one took."""
        self.longest_write = max(self.longest_write, seconds)
        self.write_rows = fitting_rows(rows, seconds, least=LEAST_WRITE_ROWS, most=MOST_WRITE_ROWS)


class Sweeper(Struct, frozen=True, kw_only=True):
    """What a sweep works with."""

    store: Store
    policy: AgingPolicy
    policy_name: str
    now: datetime
    dry_run: bool = False
    page_rows: int = PAGE_ROWS
    identity: EmbedderIdentity | None = None
    """Whose vectors are kept with fewer bits as memories cool, where the policy says so."""
    summarize: Summarize | None = None
    """Writes the summaries of sessions about to lose their episodes, and says what they tell."""
    stop: threading.Event | None = None
    progress: Callable[[int], None] | None = None

    @property
    def moment(self) -> int:
        """Now, as the columns count."""
        return to_microseconds(self.now)

    @property
    def is_stopped(self) -> bool:
        """Whether somebody wants the sweep to end early."""
        return self.stop is not None and self.stop.is_set()


def sweep(sweeper: Sweeper) -> AgeReport:
    """Age every memory of the store once and return what was done, or with `dry_run` would be."""
    started = time.perf_counter()
    begun, is_resumed = _begin(sweeper)
    tally = _Tally(begun, by_rule=Counter(begun.by_rule))
    ends = _stale_sessions(sweeper, tally)
    while not sweeper.is_stopped:
        with sweeper.store.read() as tx:
            page = tx.ages.page(after_key=tally.sweep.after_key, limit=sweeper.page_rows, session_ends=ends)
        if not len(page):
            break
        _age_page(sweeper, tally, page, ends)
        _cool(sweeper, tally, page)
        if sweeper.progress is not None:
            sweeper.progress(len(page))
    _ask(sweeper, tally)
    _hold_contests(sweeper, tally, ends)
    _finish(sweeper, tally)
    return _report(sweeper, tally, is_resumed, started)


def _begin(sweeper: Sweeper) -> tuple[Sweep, bool]:
    """Return the sweep to go on with, or a new one; a dry run always looks at everything."""
    new = Sweep(started_at=sweeper.now, policy=sweeper.policy_name)
    if sweeper.dry_run:
        return new, False
    with sweeper.store.atomic() as tx:
        latest = tx.sweeps.latest()
        if latest is not None and _can_go_on(latest, sweeper):
            return latest, True
        return tx.sweeps.put(new), False


def _can_go_on(latest: Sweep, sweeper: Sweeper) -> bool:
    """Return whether an interrupted sweep is worth finishing: what it saw long ago needs a new look."""
    is_recent = sweeper.now - latest.started_at < RESUME_WITHIN
    return latest.finished_at is None and latest.policy == sweeper.policy_name and is_recent


def _stale_sessions(sweeper: Sweeper, tally: _Tally) -> dict[tuple[int, str], int]:
    """Return when the sessions that are over ended, and have them summarised first."""
    if "stale_session" not in sweeper.policy.rules:
        return {}
    oldest = sweeper.moment - int(sweeper.policy.stale_session_days * 86_400e6)
    with sweeper.store.read() as tx:
        ends = tx.ages.session_ends(before=oldest)
    if ends and sweeper.summarize is not None:
        accounts = sweeper.summarize(ends)
        tally.failures += accounts.failures
        tally.covered = accounts.covered
    return ends


def _age_page(sweeper: Sweeper, tally: _Tally, page: Population, ends: Mapping[tuple[int, str], int]) -> None:
    """Judge a page, and write what changes, a few memories to a write."""
    verdicts = judge(page, sweeper.policy, sweeper.moment)
    is_living = page.has(Status.ACTIVE, Status.CHALLENGED)
    for code, number in zip(*np.unique(verdicts.tiers[is_living], return_counts=True), strict=True):
        tally.by_tier[TIERS[code]] += int(number)
    _note_fading(sweeper, tally, verdicts)
    changing = (verdicts.leaving != STAYS) | (verdicts.layers != page.layers)
    keys = page.keys[changing].tolist()
    before, end = tally.sweep.looked_at, int(page.keys[-1])
    while keys and not sweeper.is_stopped:
        now_keys, keys = keys[: tally.write_rows], keys[tally.write_rows :]
        reached = now_keys[-1] if keys else end
        seen = int(np.searchsorted(page.keys, reached, side="right"))
        tally.sweep = replace(tally.sweep, after_key=reached, looked_at=before + seen)
        apply(sweeper, tally, now_keys, lambda tx, chosen: _verdicts(sweeper, tx, chosen, ends))
    if not keys:
        tally.sweep = replace(tally.sweep, after_key=end, looked_at=before + len(page))


def _note_fading(sweeper: Sweeper, tally: _Tally, verdicts: Verdicts) -> None:
    measured = verdicts.measured
    rows = to_ask(measured.population, sweeper.policy, sweeper.moment) & (verdicts.leaving == STAYS)
    found = zip(measured.retention[rows].tolist(), measured.population.keys[rows].tolist(), strict=True)
    tally.fading = heapq.nsmallest(MOST_ASKED, [*tally.fading, *found])


def _ask(sweeper: Sweeper, tally: _Tally) -> None:
    """Ask whether knowledge still holds that a rule may take once there was time for an answer."""
    keys = [key for _, key in tally.fading]
    if not keys or sweeper.dry_run or sweeper.is_stopped:
        return
    with sweeper.store.atomic() as tx:
        for memory in tx.memories.by_keys(keys).values():
            tx.gaps.put(stale_question(memory, priority=FADING_PRIORITY, now=sweeper.now))
        detail = {"questions": len(keys)}
        tx.audit.add(AuditEvent(at=sweeper.now, action=Action.AGE, actor=AGER, detail=detail))


def _verdicts(
    sweeper: Sweeper, tx: Transaction, keys: Sequence[int], ends: Mapping[tuple[int, str], int]
) -> list[tuple[int, AgingRule | None, int]]:
    """Return for each key the rule by which it leaves, if any, and the layer that it belongs to."""
    page = tx.ages.of(keys, session_ends=ends)
    verdicts: Verdicts = judge(page, sweeper.policy, sweeper.moment)
    return [
        (int(key), verdicts.rules[place] if place != STAYS else None, int(layer))
        for key, place, layer in zip(page.keys, verdicts.leaving, verdicts.layers, strict=True)
    ]


def apply(
    sweeper: Sweeper,
    tally: _Tally,
    keys: Sequence[int],
    decide: Callable[[Transaction, Sequence[int]], Sequence[tuple[int, AgingRule | None, int]]],
) -> None:
    """Decide once more inside a write, and do it; a dry run only tells."""
    opened = sweeper.store.read() if sweeper.dry_run else sweeper.store.atomic()
    with opened as tx:
        started = time.perf_counter()
        memories = tx.memories.by_keys(keys)
        done: Counter[str] = Counter()
        for key, rule, layer in decide(tx, keys):
            allowed = rule if rule is None or _may_leave(tally, tx, memories[key], rule) else None
            for moved in _change(sweeper, tx, memories[key], allowed, layer):
                tally.note(moved)
                done[moved.rule] += 1
        if not sweeper.dry_run:
            tx.sweeps.put(replace(tally.sweep, by_rule=dict(tally.by_rule)))
            tx.audit.add(AuditEvent(at=sweeper.now, action=Action.AGE, actor=AGER, detail=dict(done)))
    tally.took(time.perf_counter() - started, len(keys))
    if not sweeper.dry_run:
        time.sleep(PAUSE_SECONDS)


def _change(
    sweeper: Sweeper, tx: Transaction, memory: Memory, rule: AgingRule | None, layer: int
) -> list[AgeMove]:
    moves, writer = [], MemoryWriter(tx, AGER, sweeper.now)
    tx.acts.end()  # each memory can be brought back by itself
    wanted = LAYERS[layer]
    if rule is None and wanted is not memory.layer:
        name = f"{memory.layer}_to_{wanted}"
        moves.append(AgeMove(memory_id=memory.id, rule=name, layer=wanted))
        if not sweeper.dry_run:
            writer.set_layer(memory, wanted, reason=name, is_held=False)
    if rule is not None:
        to = _target(sweeper.policy, rule)
        moves.append(AgeMove(memory_id=memory.id, rule=rule.name, status=to))
        if not sweeper.dry_run:
            writer.set_status(memory, to, action=Action.AGE, reason=rule.name)
    return moves


def _target(policy: AgingPolicy, rule: AgingRule) -> Status:
    is_final = rule.name == "archive_ended" and policy.erase_pruned
    return Status.ERASED if is_final else rule.to


def _may_leave(tally: _Tally, tx: Transaction, memory: Memory, rule: AgingRule) -> bool:
    """
    Return whether a rule may take a memory that it is due for.

    Not with its session where the summary does not tell it; not further where a person has let it leave.
    """
    if rule.name == "stale_session":
        return tally.covered is None or memory.id in tally.covered
    if rule.name != "archive_ended":
        return True
    moves = [event for event in tx.history.of(memory.id) if event.new_status is memory.status]
    return bool(moves) and moves[-1].actor.kind is ActorKind.RULE


def _cool(sweeper: Sweeper, tally: _Tally, page: Population) -> None:
    """Keep the vectors of cooler memories with fewer bits, where the policy says so; bits never come back."""
    policy = sweeper.policy
    bits = np.array([getattr(policy, f"embedding_bits_{tier}") for tier in TIERS])
    if sweeper.dry_run or sweeper.identity is None or (bits == WHOLE_BITS).all():
        return
    wanted = bits[tiers(retention(page, policy, sweeper.moment), policy)]
    for few in np.unique(wanted[wanted < WHOLE_BITS]):
        keys = page.keys[wanted == few].tolist()
        while keys and not sweeper.is_stopped:
            chosen, keys = keys[: tally.write_rows], keys[tally.write_rows :]
            with sweeper.store.atomic() as tx:
                started = time.perf_counter()
                space = tx.vectors.space(sweeper.identity)
                if space is not None:
                    tally.requantized += tx.vectors.requantize(space, chosen, int(few))
            tally.took(time.perf_counter() - started, len(chosen))


def _hold_contests(sweeper: Sweeper, tally: _Tally, ends: Mapping[tuple[int, str], int]) -> None:
    """Let the rules choose that take only some of those who are due, in a second look at everything."""
    contest = Contest(sweeper.policy, already=tally.by_rule)
    if sweeper.is_stopped or not contest.is_needed:
        return
    after = 0
    while True:
        with sweeper.store.read() as tx:
            page = tx.ages.page(after_key=after, limit=sweeper.page_rows, session_ends=ends)
        if not len(page):
            break
        after = int(page.keys[-1])
        contest.enter(judge(page, sweeper.policy, sweeper.moment))
    for rule, losers in contest.losers():
        keys = losers
        while keys and not sweeper.is_stopped:
            now_keys, keys = keys[: tally.write_rows], keys[tally.write_rows :]
            apply(
                sweeper,
                tally,
                now_keys,
                lambda tx, chosen, rule=rule: _still_due(sweeper, tx, chosen, rule),  # type: ignore[misc]
            )


def _still_due(
    sweeper: Sweeper, tx: Transaction, keys: Sequence[int], rule: AgingRule
) -> list[tuple[int, AgingRule | None, int]]:
    page = tx.ages.of(keys)
    verdicts = judge(page, sweeper.policy, sweeper.moment)
    return [
        (int(key), rule if is_due else None, int(layer))
        for key, is_due, layer in zip(page.keys, verdicts.due[rule.name], verdicts.layers, strict=True)
    ]


def _finish(sweeper: Sweeper, tally: _Tally) -> None:
    if sweeper.dry_run or sweeper.is_stopped:
        return
    tally.sweep = replace(tally.sweep, finished_at=sweeper.now, by_rule=dict(tally.by_rule))
    with sweeper.store.atomic() as tx:
        tx.sweeps.put(tally.sweep)


def _report(sweeper: Sweeper, tally: _Tally, is_resumed: bool, started: float) -> AgeReport:
    return AgeReport(
        started_at=tally.sweep.started_at,
        policy=sweeper.policy_name,
        dry_run=sweeper.dry_run,
        looked_at=tally.sweep.looked_at,
        by_rule=dict(tally.by_rule),
        by_tier=dict(tally.by_tier),
        moves=tuple(tally.moves),
        asked=len(tally.fading),
        requantized=tally.requantized,
        resumed=is_resumed,
        finished=not sweeper.is_stopped,
        milliseconds=(time.perf_counter() - started) * 1000,
        longest_write_milliseconds=tally.longest_write * 1000,
        failures=tuple(tally.failures),
    )
