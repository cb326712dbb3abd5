"""Commands on the store: init, status, doctor, backup, rebuild, audit, erase."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from engramdb.cli.options import BeforeNumber, Limit, Reason, Shared
from engramdb.cli.output import (
    bold,
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
from engramdb.errors import InvalidQuery
from engramdb.hooks.state import deliver_failures
from engramdb.text.normalize import counted, memories
from engramdb.values import AuditEvent, Backup, Erasure, IndexReport, PartHealth, SchedulerState, StatusReport
from engramdb.verbs.errors import FAILED
from engramdb.verbs.shared import part

# `engram init`: make a store, and say where it is.


def init(shared: Shared) -> None:
    """
    Make a store and say where it is; one that exists is left as it is.

    Example: engram init --store memory.db
    """
    was_there = Path(shared.settings().store_location).expanduser().exists()
    with shared.open_or_create() as engram:
        report = engram.status()

    def show(report: StatusReport) -> None:
        where = f"a store at {report.store}"
        out(f"There is already {where}, with {memories(report.memories)}" if was_there else f"Made {where}")

    present(report, show, as_json=shared.json)


# `engram status`: a look at the whole.
#
# Calls `Engram.status`. What fails is part of the result; advice is talk and goes to stderr. It shows the
# whole
# store, whatever the scope, because counts hold no memory text. A command lives for a moment, so how the
# parts
# fare is told from what every process has noted in the store.

_LEVEL = "level: "
"""What the engine puts before the name of a level where it counts them."""
_UNITS = ((86_400, "day", "days"), (3600, "hour", "hours"), (60, "minute", "minutes"))


def status(shared: Shared) -> None:
    """
    Show counts, sizes, what waits, what works and what fails, each with its age.

    Example: engram status --store memory.db
    """
    with shared.open_existing() as engram:
        deliver_failures(engram, shared.settings().home)
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


# `engram doctor`: examine the store, and mend what can be made anew.


def doctor(
    shared: Shared,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Rebuild what is derived and wrong.")] = False,
) -> None:
    """
    Examine the store and its parts; with --fix, rebuild what is derived and wrong.

    Example: engram doctor --fix
    """
    with shared.open_existing() as engram, counting("mending") as progress:
        report = engram.doctor(fix=fix, progress=progress)

    present(report, show_doctor, as_json=shared.json)
    if report.ok:
        talk("Everything is in order.")
    else:
        talk("Something is wrong." if fix else "Something is wrong; `engram doctor --fix` mends what it can.")
        raise typer.Exit(FAILED)


# `engram backup`: write a whole copy of the store while others use it.


def backup(
    shared: Shared,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file to write; nothing may be there.")],
) -> None:
    """
    Write a whole copy of the store, while others go on using it.

    To go back, stop what uses the store, remove its -wal and -shm, and put the copy in its place.

    Example: engram backup ~/memory-$(date +%F).db
    """
    with shared.open_existing() as engram:
        done = engram.backup(path)

    present(done, _show, as_json=shared.json)


def _show(done: Backup) -> None:
    out(f"copied {done.size_bytes / 1e6:.1f} MB to {done.path}")


# `engram rebuild`: make every derived index anew.


class Rebuilt(Struct, frozen=True):
    """The answer: how many memories the indexes were made from."""

    memories: int


def rebuild(shared: Shared) -> None:
    """
    Make the text and vector indexes anew from the memories.

    Example: engram rebuild --store memory.db
    """
    with shared.open_existing() as engram, counting("rebuilding") as progress:
        done = engram.rebuild(progress=progress)

    present(Rebuilt(done), lambda found: out(f"rebuilt from {memories(found.memories)}"), as_json=shared.json)


# `engram audit`: who did what in the store.


def audit(shared: Shared, *, limit: Limit = 50, before: BeforeNumber = None) -> None:
    """
    Show who did what in the store, newest first; no line holds a memory's words.

    Example: engram audit --limit 20
    """
    with shared.open_existing() as engram:
        found = engram.audit(limit=limit, before=before)

    present(found, _show_audit, as_json=shared.json)
    if not found:
        talk("Nothing was done." if before is None else "Nothing was done before that.")
    elif len(found) == limit and not shared.json:
        talk(f"There may be more; add --before {found[-1].number}")


def _show_audit(found: Sequence[AuditEvent]) -> None:
    if found:
        header = ["number", "when", "who", "did", "to", "detail"]
        show_table(header, [_row(event) for event in found], numbers={0})


def _row(event: AuditEvent) -> list[str]:
    detail = ", ".join(f"{name}={value}" for name, value in event.detail.items())
    who = f"{event.actor.name} ({event.actor.kind})"
    return [
        str(event.number),
        minute(event.at),
        one_line(who),
        str(event.action),
        event.target or "",
        one_line(detail),
    ]


# `engram erase`: take a memory, or everything of a user, out of the file for good.


def erase(
    shared: Shared,
    memory_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The memory; without one, everything of --user."),
    ] = None,
    *,
    reason: Reason = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
) -> None:
    """
    Erase a memory with all that holds its words, or everything of a user. It cannot be undone.

    Example: engram erase 3f2a9c1b --dry-run

    Example: engram erase --user discord:42 --reason "asked to be forgotten" --yes
    """
    if memory_id is None and shared.user is None:
        raise InvalidQuery("there is nothing to erase", hint="Give a memory's id, or --user NAME.")
    user = shared.user if memory_id is None else None
    with shared.open_existing() as engram:
        if not dry_run and not yes:
            _ask(engram.erase(memory_id, user=user, dry_run=True))
        done = engram.erase(memory_id, user=user, reason=reason, dry_run=dry_run)

    present(done, _show_erase, as_json=shared.json)
    if not dry_run and not done.is_file_clean:
        talk(warning(f"The words are erased, but the file may still hold their bytes: {done.why}"))
        talk("hint: Close what else has the store open, and erase the same again.")
        raise typer.Exit(FAILED)


def _ask(would: Erasure) -> None:
    """Say what would go, and go on only if a person says so."""
    if not sys.stdin.isatty():
        raise InvalidQuery("erasing cannot be undone", hint="Say --yes, or --dry-run to see what would go.")
    talk(_told("This would erase", would))
    if not typer.confirm("It cannot be undone. Go on?", err=True):
        raise typer.Abort


def _show_erase(done: Erasure) -> None:
    out(_told("would erase" if done.dry_run else "erased", done))
    if done.token:
        out(f"{bold(done.token)} stands in the place of the user's name")


def _told(did: str, found: Erasure) -> str:
    went = (
        (len(found.memories), "memory", "memories"),
        (found.turns, "message", "messages"),
        (found.gaps, "open question", "open questions"),
        (found.minds, "agent's working memory", "agents' working memories"),
        (found.scopes, "scope", "scopes"),
    )
    named = [counted(*one) for one in went if one[0]]
    return f"{did} {', '.join(named) or 'nothing: there is nothing left'}"


# `engram enrich`: infer now what waits to be inferred.


class Enriched(Struct, frozen=True, kw_only=True):
    """The answer: how many memories were embedded, and of how many the words were looked at."""

    embedded: int
    enriched: int


def enrich(shared: Shared) -> None:
    """
    Embed what waits for it, and infer people, technologies, feelings and topics from what came in bulk.

    Example: engram enrich --store memory.db
    """
    with shared.open_existing() as engram:
        report = engram.status()
        total = report.awaiting_embedding + report.awaiting_enrichment
        with counting("enriching", total=total) as progress:
            done = Enriched(
                embedded=engram.embed_pending(progress=progress), enriched=engram.enrich(progress=progress)
            )

    present(done, _show_enrich, as_json=shared.json)


def _show_enrich(done: Enriched) -> None:
    embedded = counted(done.embedded, "memory", "memories")
    out(f"embedded {embedded}, looked at the words of {done.enriched}")
