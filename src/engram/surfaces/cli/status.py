"""
`engram status`: a look at the whole.

Calls `Engram.status`. What fails is part of the result; advice is talk and goes to stderr. It shows the whole
store, whatever the scope, because counts hold no memory text. A command lives for a moment, so how the parts
fare is told from what every process has noted in the store.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import counted, minute, one_line, out, present, talk, warning
from engram.surfaces.cli.show import show_rows
from engram.surfaces.cli.table import show_table
from engram.surfaces.hooks.notes import deliver
from engram.surfaces.parts import part
from engram.text.counted import memories
from engram.values import IndexReport, PartHealth, SchedulerState, StatusReport

_LEVEL = "level: "
"""What the engine puts before the name of a level where it counts them."""
_UNITS = ((86_400, "day", "days"), (3600, "hour", "hours"), (60, "minute", "minutes"))


def status(shared: Shared) -> None:
    """
    Show counts, sizes, what waits, what works and what fails, each with its age.

    Example: engram status --store memory.db
    """
    with shared.open_existing() as engram:
        deliver(engram, shared.settings().home)
        report = engram.status()

    present(report, show_status, as_json=shared.json)
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
            "turns": str(report.turns),
            "entities": str(report.entities) if report.entities else None,
            "policy": report.policy,
            "embedder": report.embedder,
            "vector index": _index(report.index),
            "recalls": _answers(report.recalls),
            "to be read": _turns(report.awaiting_reading) if report.awaiting_reading else None,
            "to be embedded": memories(report.awaiting_embedding) if report.awaiting_embedding else None,
            "to be enriched": memories(report.awaiting_enrichment) if report.awaiting_enrichment else None,
            "last dream": ago(report.last_dream),
            "last ageing": ago(report.last_ageing),
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
