"""One dream: every step in its order, each proposal applied before the next is asked for."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.dream.apply import Applied, Applier, StatementTools, apply, describe_proposal
from engramdb.dream.bridges import BridgesStep
from engramdb.dream.confidence import ConfidenceStep
from engramdb.dream.contradictions import ContradictionsStep
from engramdb.dream.crystals import CrystalsStep
from engramdb.dream.drift import DriftStep
from engramdb.dream.gaps import GapsStep
from engramdb.dream.inference import InferenceStep
from engramdb.dream.merge import MergeStep
from engramdb.dream.patterns import PatternsStep
from engramdb.dream.probe import ProbeStep
from engramdb.dream.procedures import ProceduresStep
from engramdb.dream.profiles import ProfilesStep
from engramdb.dream.prune import PruneStep
from engramdb.dream.replay import ReplayStep
from engramdb.dream.semantic import SemanticStep
from engramdb.dream.step import Dreaming, DreamStep, SaveProgress, Skipped
from engramdb.dream.synthesis import SynthesisStep
from engramdb.dream.tree import TreeStep
from engramdb.errors import EngramError, InvalidQuery, StorageError
from engramdb.lifecycle.lease import Lease, held
from engramdb.store.contract import DreamRun, StepMark, Transaction, scope_term
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AuditEvent,
    DreamChange,
    DreamReport,
    StepOutcome,
    StepReport,
)

LEASE_MINUTES = 5.0
"""For how long a process may be silent before another goes on with its work."""
RESUME_HOURS = 12.0
"""An interrupted run that began earlier than this is not resumed."""

# Every step of a dream, in the order in which they are taken.

STEPS: tuple[DreamStep, ...] = (
    MergeStep(),
    ContradictionsStep(),
    PatternsStep(),
    SemanticStep(),
    ProceduresStep(),
    SynthesisStep(),
    ProfilesStep(),
    CrystalsStep(),
    BridgesStep(),
    InferenceStep(),
    ProbeStep(),
    DriftStep(),
    ReplayStep(),
    GapsStep(),
    TreeStep(),
    ConfidenceStep(),
    PruneStep(),
)


def select_steps(names: Sequence[str] | None) -> tuple[DreamStep, ...]:
    """Return the steps of these names, or all of them, always in their own order."""
    if names is None:
        return STEPS
    known = {step.name: step for step in STEPS}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise InvalidQuery(
            f"no step of the dream is called {unknown[0]!r}" if unknown else "no step was named",
            hint=f"Use some of {', '.join(known)}.",
        )
    return tuple(step for step in STEPS if step.name in names)


# One dream: every step in its order, each proposal applied before the next is asked for.
#
# Called by the engine for `engram.dream()`. Holds the lease, keeps in the store how far it came, and goes
# on from there when it was killed: with the same `now`, in the step that it was in, since taking a step
# again changes only what is still to be changed. Writes are small, and give way to everybody else's.

LEASE_KIND = "dream"
MAX_CHANGES_REPORTED = 1_000
DREAM_ACTOR = Actor(name="dream", kind=ActorKind.RULE)


class DreamRunner(Struct, frozen=True, kw_only=True):
    """What a run works with."""

    dreaming: Dreaming
    steps: Sequence[DreamStep]
    policy_name: str
    clock: Callable[[], datetime]
    tools: StatementTools = StatementTools()
    dry_run: bool = False
    progress: Callable[[str, float], None] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps."""
        return tuple(step.name for step in self.steps)

    def report_progress(self, number: int) -> None:
        """Say which step comes next, and the share of steps that lies behind."""
        if self.progress is not None:
            self.progress(self.steps[number].name, number / len(self.steps))


class _StepTally(Struct):
    """What one step has done so far."""

    counts: Counter[str] = field(default_factory=Counter)
    changes: list[DreamChange] = field(default_factory=list)
    dropped: int = 0
    longest_write: float = 0.0

    def note(self, applied: Applied) -> None:
        """Count what came of a proposal."""
        self.longest_write = max(self.longest_write, applied.seconds)
        self.dropped += applied.is_dropped
        if applied.change is not None:
            self.counts[applied.change.action] += 1
            if len(self.changes) < MAX_CHANGES_REPORTED:
                self.changes.append(applied.change)


def dream(runner: DreamRunner) -> DreamReport:
    """Take every step once and return what was done, or with `dry_run` would be."""
    if runner.dry_run:
        return _dry_run(runner)
    minutes = LEASE_MINUTES
    with held(runner.dreaming.store, LEASE_KIND, minutes=minutes, clock=runner.clock) as lease:
        run, is_resumed = _begin(runner)
        return _run_remaining(runner, run, lease, is_resumed=is_resumed)


def _begin(runner: DreamRunner) -> tuple[DreamRun, bool]:
    """Return the run to go on with, or a new one."""
    now = runner.dreaming.now
    new = DreamRun(
        started_at=now,
        policy=runner.policy_name,
        steps=runner.names,
        report=DreamReport(started_at=now, finished=False, scope=runner.dreaming.scope),
    )
    with runner.dreaming.store.atomic() as tx:
        latest = tx.dreams.latest(runner.dreaming.scope)
        if latest is not None and _can_resume(latest, new):
            return latest, True
        return tx.dreams.put(new), False


def _can_resume(latest: DreamRun, new: DreamRun) -> bool:
    """Return whether an interrupted run is worth finishing: one of long ago would dream of another time."""
    is_recent = new.started_at - latest.started_at < timedelta(hours=RESUME_HOURS)
    is_same = (latest.policy, latest.steps) == (new.policy, new.steps)
    return latest.finished_at is None and is_same and is_recent


def _run_remaining(runner: DreamRunner, run: DreamRun, lease: Lease, *, is_resumed: bool) -> DreamReport:
    """Take the steps from the one that the run is in to the last."""
    started = time.perf_counter() - run.report.milliseconds / 1000
    dreaming = replace(runner.dreaming, now=run.started_at, is_stopped=_stop_check(runner.dreaming, lease))
    first = runner.names.index(run.step) if run.step in runner.names else 0
    run = replace(run, report=replace(run.report, resumed=is_resumed, steps=run.report.steps[:first]))
    for number in range(first, len(runner.steps)):
        runner.report_progress(number)
        run = _save_progress(dreaming, lease, replace(run, step=runner.names[number]))
        report, tally = _run_step(runner, runner.steps[number], dreaming, lease)
        run = replace(run, report=_append_step(run.report, report, tally, started))
        if report.outcome is StepOutcome.STOPPED:
            break
    else:
        whole = replace(run.report, finished=True)
        run = replace(run, step=None, finished_at=runner.clock(), report=whole)
    return _save_progress(dreaming, lease, run, is_end=True).report


def _stop_check(dreaming: Dreaming, lease: Lease) -> Callable[[], bool]:
    """Return how a step asks whether to stop; asking also shows that this run is alive."""

    def is_stopped() -> bool:
        if lease.is_due:
            with dreaming.store.atomic() as tx:
                lease.check(tx)
        return dreaming.is_stopped()

    return is_stopped


def _save_progress(dreaming: Dreaming, lease: Lease, run: DreamRun, *, is_end: bool = False) -> DreamRun:
    """Store how far the run came."""
    with dreaming.store.atomic() as tx:
        lease.check(tx)
        if is_end:
            detail = {"changed": run.report.changed, "finished": run.report.finished}
            tx.audit.add(AuditEvent(at=run.started_at, action=Action.DREAM, actor=DREAM_ACTOR, detail=detail))
        return tx.dreams.put(run)


def _run_step(
    runner: DreamRunner, step: DreamStep, dreaming: Dreaming, lease: Lease
) -> tuple[StepReport, _StepTally]:
    """Take one step to its end, and note up to where it has looked."""
    started, tally = time.perf_counter(), _StepTally()
    with dreaming.store.read() as tx:
        name = _mark_name(tx, step, dreaming)
        mark, cursor = tx.dreams.mark(name), tx.vectors.latest_change()
    looked = replace(dreaming, since=mark.started_at if mark else None, cursor=mark.cursor if mark else 0)
    applier = Applier(
        store=dreaming.store,
        policy=dreaming.policy.dream,
        now=dreaming.now,
        tools=runner.tools,
        in_write=lease.check,
        scope=dreaming.scope,
    )

    def take() -> Iterator[None]:
        for proposal in step.propose(looked):
            tally.note(apply(proposal, applier, step=step.name))
            yield

    with dreaming.store.one_act(Action.DREAM, actor=DREAM_ACTOR, at=dreaming.now):
        outcome, why = _run_to_outcome(take(), dreaming.is_stopped)
    if outcome is StepOutcome.DONE:
        with dreaming.store.atomic() as tx:
            lease.check(tx)
            tx.dreams.set_mark(name, StepMark(dreaming.now, cursor))
    return _report(step, tally, outcome, why, started), tally


def _mark_name(tx: Transaction, step: DreamStep, dreaming: Dreaming) -> str:
    """Return under which name it is noted how far a step has looked: of the whole store, or of a scope."""
    if dreaming.scope is None:
        return step.name
    return f"{step.name} {scope_term(tx.scopes.find(dreaming.scope) or 0)}"


def _run_to_outcome(taking: Iterator[None], is_stopped: Callable[[], bool]) -> tuple[StepOutcome, str]:
    """Take a step proposal by proposal, and return how it ended and why."""
    try:
        if is_stopped():
            return StepOutcome.STOPPED, "stopped before it began"
        for _ in taking:
            if is_stopped():
                return StepOutcome.STOPPED, "stopped before its end"
    except Skipped as skipped:
        return StepOutcome.SKIPPED, str(skipped)
    except StorageError:
        raise
    except EngramError as exc:
        return StepOutcome.FAILED, f"{exc.code} {exc.message}"
    # A step that was told to stop may have ended early without another proposal.
    return (StepOutcome.STOPPED, "stopped before its end") if is_stopped() else (StepOutcome.DONE, "")


def _dry_run(runner: DreamRunner) -> DreamReport:
    """Return what every step would propose to the store as it is now."""
    started = time.perf_counter()
    report = DreamReport(started_at=runner.dreaming.now, dry_run=True, scope=runner.dreaming.scope)
    for number, step in enumerate(runner.steps):
        runner.report_progress(number)
        begun, tally = time.perf_counter(), _StepTally()
        with runner.dreaming.store.read() as tx:
            mark = tx.dreams.mark(_mark_name(tx, step, runner.dreaming))
        looked = replace(
            runner.dreaming, since=mark.started_at if mark else None, cursor=mark.cursor if mark else 0
        )
        outcome, why = _run_to_outcome(_log_failures(step, looked, tally), runner.dreaming.is_stopped)
        report = _append_step(report, _report(step, tally, outcome, why, begun), tally, started)
        if outcome is StepOutcome.STOPPED:
            return replace(report, finished=False)
    return report


def _log_failures(step: DreamStep, dreaming: Dreaming, tally: _StepTally) -> Iterator[None]:
    for proposal in step.propose(dreaming):
        if not isinstance(proposal, SaveProgress):
            tally.note(Applied(describe_proposal(proposal, step=step.name)))
        yield


def _report(step: DreamStep, tally: _StepTally, outcome: StepOutcome, why: str, started: float) -> StepReport:
    return StepReport(
        step=step.name,
        outcome=outcome,
        why=why,
        counts=dict(tally.counts),
        dropped=tally.dropped,
        milliseconds=(time.perf_counter() - started) * 1000,
    )


def _append_step(report: DreamReport, step: StepReport, tally: _StepTally, started: float) -> DreamReport:
    room = MAX_CHANGES_REPORTED - len(report.changes)
    return replace(
        report,
        steps=(*report.steps, step),
        changes=(*report.changes, *tally.changes[:room]),
        longest_write_milliseconds=max(report.longest_write_milliseconds, tally.longest_write * 1000),
        milliseconds=(time.perf_counter() - started) * 1000,
    )
