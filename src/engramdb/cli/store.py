"""Show the store: whether it is well, what waits, who did what; make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from msgspec.structs import replace

from engramdb.cli.derive import Run, runs, shows
from engramdb.cli.errors import engine
from engramdb.cli.options import Shared, shared_options
from engramdb.cli.output import (
    counting,
    minute,
    one_line,
    out,
    present,
    show_doctor,
    show_rows,
    show_table,
    talk,
    warning,
)
from engramdb.errors import StoreCorrupt
from engramdb.hooks.state import deliver_failures
from engramdb.text.normalize import counted, memories
from engramdb.values import (
    AuditEvent,
    Backup,
    Check,
    DoctorReport,
    IndexReport,
    Outcome,
    PartHealth,
    SchedulerState,
    StatusReport,
)
from engramdb.values.report import NOT_IN_LAYOUT, RestoredBackup, SalvageReport
from engramdb.verbs.errors import FAILED
from engramdb.verbs.store import Enriched, Rebuilt
from engramdb.verbs.wording import part

_LEVEL = "level: "
"""What the engine puts before the name of a level where it counts them."""
_UNITS = ((86_400, "day", "days"), (3600, "hour", "hours"), (60, "minute", "minutes"))


@shared_options
def init(shared: Shared) -> None:
    """Make a store, and say where it is."""
    was_there = Path(shared.settings().store_location).expanduser().exists()
    with shared.open_or_create() as engram:
        report = engram.status()

    def show(report: StatusReport) -> None:
        where = f"a store at {report.store}"
        out(f"There is already {where}, with {memories(report.memories)}" if was_there else f"Made {where}")

    present(report, show, as_json=shared.json)


@runs("status")
def status(run: Run) -> None:
    """
    Show the whole store, whatever the scope: counts hold no memory text.

    What fails is part of the result; advice is talk. A command lives for a moment, so how the parts fare is
    told from what every process has noted in the store.
    """
    with run.open() as engram:
        deliver_failures(engram, run.shared.settings().home)
        report: StatusReport = run.call(engram)

    run.present(report, show_status)
    for advice in report.advice:
        talk(advice)


def show_status(report: StatusReport) -> None:
    """Show the whole at a glance."""
    counts = ", ".join(f"{number} {name}" for name, number in report.by_status.items())
    show_rows(
        {
            "store": report.store,
            "size": _size(report),
            "memories": f"{report.memories} ({counts})" if counts else "0",
            "layers": ", ".join(f"{number} {name}" for name, number in report.by_layer.items()) or None,
            "turns": _heard(report),
            "entities": str(report.entities) if report.entities else None,
            "policy": report.policy,
            "embedder": report.embedder,
            "reader": f"{report.reader} (sentences)",
            "judge": f"{report.judge} (pairs of statements)",
            "vector index": _index(report.index),
            "recalls": _answers(report.recalls),
            "to be read": _turns(report.awaiting_reading) if report.awaiting_reading else None,
            "to be embedded": memories(report.awaiting_embedding) if report.awaiting_embedding else None,
            "to be enriched": memories(report.awaiting_enrichment) if report.awaiting_enrichment else None,
            "to be judged": memories(report.awaiting_judgment) if report.awaiting_judgment else None,
            "last dream": ago(report.last_dream),
            "last aging": ago(report.last_aging),
            "background": _background(report.scheduler),
        }
    )
    _show_scopes(report.by_scope)
    _show_spent(report.spent)
    _show_parts(report.all_parts)


def _show_scopes(by_scope: Mapping[str, int]) -> None:
    if by_scope:
        out()
        show_table(
            ["memories", "scope"], [[str(n), one_line(scope)] for scope, n in by_scope.items()], numbers={0}
        )


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago a moment was, in the largest unit that fits."""
    if moment is None:
        return "never"
    seconds = int(((now or datetime.now(UTC)) - moment).total_seconds())
    if seconds < 0:
        return minute(moment)  # another clock than ours wrote it
    for size, one, many in _UNITS:
        if seconds >= size:
            return f"{counted(seconds // size, one, many)} ago"
    return "just now"


def _turns(number: int) -> str:
    return counted(number, "turn", "turns")


def _heard(report: StatusReport) -> str:
    without = report.turns_without_memories
    return f"{report.turns} ({without} read that left no memory)" if without else str(report.turns)


def _size(report: StatusReport) -> str:
    parts = [f"{report.size_bytes / 1_000_000:.1f} MB", f"format {report.format_version}"]
    if report.disk_free_bytes is not None:
        parts.append(f"{report.disk_free_bytes / 1_000_000_000:.1f} GB free beside it")
    return ", ".join([*parts, *(["encrypted"] if report.encrypted else [])])


def _index(index: IndexReport | None) -> str | None:
    if index is None:
        return None
    loading = "" if index.is_loaded else ", still loading"
    return f"{index.kind}, {index.rows} vectors, {index.size_bytes / 1_000_000:.1f} MB{loading}"


def _show_spent(spent: Mapping[str, Mapping[str, float]]) -> None:
    if spent:
        out()
        names = ("calls", "failures", "input_tokens", "output_tokens")
        show_table(
            [*("calls", "failed", "tokens in", "tokens out"), "asked the chat model to"],
            [[*(f"{cost.get(name, 0):.0f}" for name in names), purpose] for purpose, cost in spent.items()],
            numbers={0, 1, 2, 3},
        )


def _show_parts(parts: Sequence[PartHealth]) -> None:
    if parts:
        out()
        show_table(
            ["part", "last worked", "last failed", "failures", "what it does"],
            [
                _part_row(one)
                for one in sorted(parts, key=lambda one: (not one.is_failing, part(one.name).name))
            ],
            numbers={3},
        )
    for one in parts:
        if one.is_failing:
            out(warning(f"{part(one.name).name} fails: {one_line(one.failure or '')}"))


def _part_row(one: PartHealth) -> list[str]:
    told = part(one.name)
    return [told.name, ago(one.last_success), ago(one.last_failure), str(one.failures), told.does]


def _answers(recalled: Mapping[str, float]) -> str | None:
    """Return how good the answers of this process were, where it gave any."""
    count = int(recalled.get("answers", 0))
    if not count:
        return None
    found = [f"{count} in this process"]
    if "average_relevancy" in recalled:
        found += [
            f"relevancy {recalled['average_relevancy']:.2f}, NDCG {recalled['ndcg']:.2f}",
            f"{recalled['milliseconds_p50']:.1f} ms, p95 {recalled['milliseconds_p95']:.1f} ms",
            f"{int(recalled['poor_in_a_row'])} poor in a row",
        ]
    levels = [(name, number) for name, number in recalled.items() if name.startswith(_LEVEL)]
    found += [f"{number:g} {name.removeprefix(_LEVEL)}" for name, number in levels if name != _LEVEL + "full"]
    return "; ".join(found)


def _background(state: SchedulerState) -> str | None:
    """Return what the background of this process does, where it has one."""
    if not state.is_on:
        return None
    if state.running is not None and state.running_since is not None:
        stalled = ", STALLED" if state.is_stalled else ""
        return f"{state.running} since {minute(state.running_since)}{stalled}"
    last = f"last {state.last_job} {minute(state.last_run)}" if state.last_run else "nothing done yet"
    return f"{last}; waiting: {state.waiting_for}" if state.waiting_for else last


@runs("doctor")
def doctor(run: Run) -> None:
    """Examine the store; ends with 1 where something is wrong."""
    if run.asked.salvage:
        _salvage(run)
        return
    report = _examine(run)
    run.present(report, show_doctor)
    if report.ok:
        is_waiting = any(check.waits for check in report.checks)
        wait = (
            "Nothing is wrong; what waits is done by a process with a background, or `engram doctor --fix`."
        )
        talk(wait if is_waiting else "Everything is in order.")
        return
    if report.is_damaged:
        talk(_advice(_place(run)))
    elif run.asked.fix:
        talk("Something is wrong.")
    else:
        talk("Something is wrong; `engram doctor --fix` mends what it can.")
    raise click.exceptions.Exit(FAILED)


def _examine(run: Run) -> DoctorReport:
    """Return what the doctor finds; a store that is too damaged to open is a finding, too."""
    place = _place(run)
    was_empty = place.is_file() and place.stat().st_size == 0
    try:
        with run.open() as engram, counting("mending") as progress:
            report: DoctorReport = run.call(engram, progress=progress)
    except StoreCorrupt as exc:
        return DoctorReport(checks=(Check(name="file", ok=False, found=f"{exc.code} {exc.message}"),))
    if was_empty:
        found = "the file was empty, and a new store was begun in it; if it held memories, they are gone"
        return replace(report, checks=(Check(name="empty file", ok=False, found=found), *report.checks))
    return report


def _place(run: Run) -> Path:
    return Path(run.shared.settings().store_location).expanduser().absolute()


def _advice(place: Path) -> str:
    """Say what helps a damaged store: a backup only where there is one."""
    from engramdb.engine.backups import list_backups  # noqa: PLC0415 - few commands need it

    saving = "The store is damaged: `engram doctor --salvage NEW` saves what can be read into a new one"
    if not (backups := list_backups(place)):
        return f"{saving}. There is no backup beside it."
    made = f" of {minute(backups[0].made_at)}" if backups[0].made_at else ""
    return f"{saving}; `engram restore-backup` goes back to the backup{made}."


def _salvage(run: Run) -> None:
    """Save what can be read, whether or not the file opens as a store."""
    settings = run.shared.settings()
    saved = engine().salvage(settings.store_location, run.asked.salvage, settings=settings)
    run.present(saved, show_salvaged)
    if saved.lost or saved.changed or saved.mended or saved.notes:
        talk("The damaged store was left as it is. Look at the new one, then put it in its place.")
        raise click.exceptions.Exit(FAILED)
    talk("Nothing is lost.")


def show_salvaged(saved: SalvageReport) -> None:
    """Show what was saved and what is lost, table by table."""
    gone = [one.name for one in saved.tables if one.why == NOT_IN_LAYOUT and not one.rows]
    told = [one for one in saved.tables if (one.rows or one.lost) and one.name not in gone]
    rows = [[one.name, str(one.rows), str(one.lost), one_line(one.why)] for one in told]
    show_table(["table", "saved", "lost", "why"], rows, numbers={1, 2})
    if gone:
        out(f"not found in the file, with whatever they held: {', '.join(sorted(gone))}")
    for one in saved.tables:
        if one.ids and one.name in ("memories", "turns"):
            out(f"lost {one.name}: {', '.join(one.ids)}")
    if saved.changed:
        out(f"saved, but not as they were stored: {', '.join(saved.changed)}")
    if saved.mended:
        out(f"saved with a default for what made no sense: {', '.join(saved.mended)}")
    for note in saved.notes:
        out(one_line(note))
    out(f"saved to {saved.path}")


@click.argument("backup", metavar="[PATH]", required=False, help="The backup; else the newest one.")
@click.option("--list", "only_list", is_flag=True, help="Show the backups and restore nothing.")
@shared_options
def restore_backup(shared: Shared, backup: str | None, *, only_list: bool) -> None:
    """Put a backup in the place of the store."""
    from engramdb.engine.backups import list_backups  # noqa: PLC0415 - few commands need it

    settings = shared.settings()
    place = Path(settings.store_location).expanduser().absolute()
    if only_list:
        found = list_backups(place)
        present(found, _show_backups, as_json=shared.json)
        if not found:
            talk(f"There is no backup beside {place}")
        return
    done = engine().restore_backup(place, backup, settings=settings)
    present(done, _show_restored, as_json=shared.json)


def _show_backups(found: Sequence[Backup]) -> None:
    for one in found:
        out(f"{minute(one.made_at) if one.made_at else ''}  {one.size_bytes / 1e6:.1f} MB  {one.path}")


def _show_restored(done: RestoredBackup) -> None:
    out(f"restored {done.store} from {done.backup}")
    if done.aside:
        out(f"what was there is kept at {done.aside}")


@shows("backup")
def show_backup(done: Backup) -> None:
    """Show what was copied where."""
    out(f"copied and verified {done.size_bytes / 1e6:.1f} MB at {done.path}")


@runs("rebuild")
def rebuild(run: Run) -> None:
    """Rebuild the indexes, with progress."""
    with run.open() as engram, counting("rebuilding") as progress:
        done: Rebuilt = run.call(engram, progress=progress)

    run.present(done, lambda found: out(f"rebuilt from {memories(found.memories)}"))


@runs("enrich")
def enrich(run: Run) -> None:
    """Infer what waits to be inferred, with progress."""
    with run.open() as engram:
        report = engram.status()
        total = report.awaiting_embedding + report.awaiting_enrichment + report.awaiting_judgment
        with counting("enriching", total=total) as progress:
            done: Enriched = run.call(engram, progress=progress)

    run.present(done, show_enriched)


def show_enriched(done: Enriched) -> None:
    """Show how many memories were embedded, looked at and judged, and what came of that."""
    embedded = counted(done.embedded, "memory", "memories")
    out(f"embedded {embedded}, looked at the words of {done.enriched}, judged {done.judged}")
    if done.superseded or done.merged:
        where = "engram list --status superseded --status merged"
        out(f"{done.superseded} outdated, {done.merged} merged: {where}")


@runs("audit")
def audit(run: Run) -> None:
    """Show who did what, and how the list goes on."""
    found: Sequence[AuditEvent] = run.answer()
    run.present(found, show_audit)
    if not found:
        talk("Nothing was done." if run.asked.before is None else "Nothing was done before that.")
    elif len(found) == run.asked.limit and not run.shared.json:
        talk(f"There may be more; add --before {found[-1].number}")


def show_audit(found: Sequence[AuditEvent]) -> None:
    """Show who did what, a row for each event."""
    if found:
        header = ["number", "when", "who", "did", "where", "to", "detail"]
        show_table(header, [_event_row(event) for event in found], numbers={0})


def _event_row(event: AuditEvent) -> list[str]:
    detail = ", ".join(f"{name}={value}" for name, value in event.detail.items())
    by = event.actor
    way = ", ".join(str(part) for part in (by.kind, by.surface, by.token) if part)
    did = str(event.action) if event.outcome is Outcome.DONE else f"{event.action}: {event.outcome}"
    return [
        str(event.number),
        minute(event.at),
        one_line(f"{by.name} ({way})"),
        did,
        "" if event.scope is None else one_line(str(event.scope)),
        event.target or "",
        one_line(detail),
    ]
