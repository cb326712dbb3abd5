"""Show aging: sweeps, forecasts, presets and what each would keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from engramdb.cli.derive import Run, runs
from engramdb.cli.errors import engine
from engramdb.cli.options import (
    Shared,
    command_actor,
    picture_file,
    plot_option,
    require_plots,
    shared_options,
)
from engramdb.cli.output import (
    bold,
    counting,
    minute,
    one_line,
    out,
    present,
    recalls,
    short,
    show_rows,
    show_table,
    talk,
    visible,
    warning,
)
from engramdb.text.dates import readable
from engramdb.text.normalize import counted, memories
from engramdb.values import AgeMove, AgeReport, Census, Forecast, ForecastChange, Importance, Outlook, Tier

if TYPE_CHECKING:
    from engramdb.policy import Policy
    from engramdb.settings import Settings

_HOURS_BELOW = timedelta(days=2)
_NOTHING = timedelta(minutes=30)
_UNDER_VALUES = " " * 14
_HEADER = ("it", "if nothing happens", "after one more recall now")
SHOWN = 10
"""The maximum number of moves that are shown; `--json` gives them all."""
COLUMNS = (0, 1 / 13, 1 / 4, 1 / 2, 1)
"""The moments that are shown, as shares of the time: of a year, now and after 4, 13, 26 and 52 weeks."""
FIRST_POINT_DAYS = 0.01
"""The first moment of the picture: just late enough that what is due now has left."""
POINTS = 52
LONG = 14
"""A value longer than this has a line of its own."""


def ahead(moment: datetime, now: datetime) -> str:
    """Return `in 12 days`, `in 5 hours`, or `at once`."""
    span = moment - now
    return "at once" if span < _NOTHING else f"in {_length(span)}"


def in_days(moment: datetime, now: datetime) -> str:
    """Return `now` or `12 days`, for the head of a column."""
    span = moment - now
    return "now" if span < _NOTHING else _length(span)


def shifted(moment: datetime, other: datetime) -> str:
    """Return how much later or sooner another moment is."""
    span = other - moment
    if abs(span) < _NOTHING:
        return "the same"
    return f"{_length(abs(span))} {'later' if span > timedelta() else 'sooner'}"


def _length(span: timedelta) -> str:
    number, unit = (
        (span / timedelta(hours=1), "hour") if span < _HOURS_BELOW else (span / timedelta(days=1), "day")
    )
    return f"{number:.0f} {unit}{'' if round(number) == 1 else 's'}"


@runs("age")
def age(run: Run) -> None:
    """
    Age the whole store once; a sweep that is interrupted goes on where it stopped the next time.

    It concerns the whole store whatever the scope, so it shows ids and rules and never a memory's words.
    """
    with run.open() as engram:
        total = engram.status().memories
        try:
            with counting("aging", total=total) as progress:
                report: AgeReport = run.call(engram, progress=progress)
        except KeyboardInterrupt:
            talk("Stopped. The next `engram age` goes on from here.")
            raise

    run.present(report, show_age)
    if report.dry_run and report.changed and not run.shared.json:
        talk("Nothing was changed; without --dry-run it would be.")


def show_age(report: AgeReport) -> None:
    """Show what a sweep did or would do."""
    living = sum(report.by_tier.values())
    gone = f", {living} of them living," if living != report.looked_at else ""
    out(f"looked at {memories(report.looked_at)}{gone} under the policy {report.policy}")
    if report.resumed:
        out(f"went on with the sweep that began at {minute(report.started_at)} and was interrupted")
    if not report.finished:
        out(warning("stopped before the end; the next `engram age` goes on from here"))
    _show_counts(report)
    _show_moves(report)
    for failure in report.failures:
        out(warning(f"failed: {one_line(failure)}"))
    out()
    longest = f"; the longest write held the store for {report.longest_write_milliseconds:.1f} ms"
    out(f"took {report.milliseconds / 1000:.2f} s{'' if report.dry_run else longest}")


def _show_counts(report: AgeReport) -> None:
    out()
    show_table(
        ["tier", "memories"],
        [[tier, str(report.by_tier.get(tier, 0))] for tier in Tier],
        numbers={1},
    )
    if report.asked:
        asked = counted(report.asked, "memory fades", "memories fade")
        out(f"{asked}, and may leave in two weeks. Does it still hold? See engram gaps")
    if report.requantized:
        out(counted(report.requantized, "vector was", "vectors were") + " stored in another precision")
    out()
    if not report.by_rule:
        out("no rule would change a memory" if report.dry_run else "no rule changed a memory")
        return
    counts = sorted(report.by_rule.items(), key=lambda pair: -pair[1])
    show_table(["rule", "memories"], [[rule, str(number)] for rule, number in counts], numbers={1})


def _show_moves(report: AgeReport) -> None:
    if not report.moves:
        return
    out()
    becomes = "would become" if report.dry_run else "became"
    show_table(
        ["memory", becomes, "by the rule"],
        [[short(one.memory_id), _new_state(one), one.rule] for one in report.moves[:SHOWN]],
    )
    if report.changed > SHOWN:
        out(f"and {report.changed - SHOWN} more; --json shows up to a thousand")


def _new_state(moved: AgeMove) -> str:
    return str(moved.status or moved.layer or "")


@runs(
    "forecast",
    click.Option(["--policy"], metavar="NAME", help="Under this preset instead of the one in use."),
    plot_option,
)
def forecast(run: Run) -> None:
    """Look ahead under the policy in use or another; nothing is changed by looking."""
    plot: Path | None = run.extra["plot"]
    is_one = run.asked.id is not None
    if is_one and run.asked.everywhere:
        raise click.BadParameter("--everywhere counts all memories; leave out the id")
    require_plots(plot)
    settings = _under(run.shared.settings(), run.extra["policy"])
    with engine().open(
        settings=settings,
        scope=run.shared.scope,
        actor=command_actor(),
        must_exist=True,
        background=False,
    ) as engram:
        found: Forecast = run.call(engram)

    if plot is not None:
        _draw(found, settings, plot, is_one=is_one)
    run.present(found, show_outlook if is_one else show_forecast)


def _under(settings: Settings, policy: str | None) -> Settings:
    """Return the settings with another preset; single fields of the own one do not belong to that."""
    if policy is None or policy == settings.policy:
        return settings
    return replace(settings, policy=policy, overrides={})


def _draw(found: Forecast, settings: Settings, plot: Path, *, is_one: bool) -> None:
    from engramdb.cli.plots import plot_outlook, plot_population  # noqa: PLC0415

    if is_one:
        policy = settings.chosen_policy()
        plot_outlook(found.soonest[0].memory, policy, plot, now=found.made_at, days=found.days)
    else:
        plot_population(found, plot)
    talk(f"drew {plot}")


def show_forecast(found: Forecast) -> None:
    """Show what becomes of all memories, and which leave first."""
    if not found.population:
        talk("There are no memories here.")
        return
    out(f"{memories(found.population)} under the policy {found.policy}, if nothing happens")
    out()
    shown = _columns(found)
    moments = [in_days(one.at, found.made_at) for one in shown]
    rows = [[tier, *(str(one.tiers.get(tier, 0)) for one in shown)] for tier in Tier]
    rows.append(["kept", *(str(one.remaining) for one in shown)])
    rules = sorted({rule for one in shown for rule in one.left})
    rows += [[f"left by {rule}", *(str(one.left.get(rule, 0)) for one in shown)] for rule in rules]
    show_table(["", *moments], rows, numbers=set(range(1, len(moments) + 1)))
    _show_soonest(found)
    due = sum(found.census[0].left.values())
    if due:
        talk(f"{due} of them are due now; the next `engram age` lets them go.")


def _columns(found: Forecast) -> list[Census]:
    """Return the moments to show: those of the census that lie nearest to the wanted shares."""
    last = len(found.census) - 1
    return [found.census[place] for place in dict.fromkeys(round(share * last) for share in COLUMNS)]


def _show_soonest(found: Forecast) -> None:
    leaving = [(one.memory, one.leaves) for one in found.soonest]
    rows = [
        [
            minute(leaves.at),
            ahead(leaves.at, found.made_at),
            leaves.what,
            short(memory.id),
            one_line(readable(memory)),
        ]
        for memory, leaves in leaving[:SHOWN]
        if leaves is not None
    ]
    if rows:
        out()
        out("first to leave")
        show_table(["when", "", "by the rule", "memory", ""], rows)


def show_outlook(found: Forecast) -> None:
    """Show the outlook of the one memory that a forecast was asked for."""
    (outlook,) = found.soonest
    memory = outlook.memory
    out(visible(readable(memory)))
    out()
    show_rows(
        {
            "id": memory.id,
            "status": memory.status + (", pinned" if memory.pinned else ""),
            "policy": found.policy,
            "retention": f"{outlook.retention:.2f}, {outlook.tier}",
            "layer": memory.layer + (", chosen by hand" if memory.layer_held else ""),
            "recalled": recalls(memory) or "never",
            "importance": f"{outlook.importance.value:.2f}, made of",
        }
    )
    _show_factors(outlook.importance)
    out()
    _show_changes(outlook, found)


def _show_factors(importance: Importance) -> None:
    rows = [[_UNDER_VALUES, name, f"{part:+.2f}"] for name, part in importance.factors.items()]
    show_table(["", "", ""], rows, numbers={2})


def _show_changes(outlook: Outlook, found: Forecast) -> None:
    """Show what will happen, and how one more recall would move it; what has left is not recalled."""
    alone = [[_named(one), _dated(one.at, found.made_at)] for one in outlook.changes]
    rows = alone if outlook.memory.status.is_terminal else _both_futures(outlook, found)
    if rows:
        show_table(_HEADER[: len(rows[0])], rows)
    else:
        out(f"nothing changes within {found.days:g} days")


def _both_futures(outlook: Outlook, found: Forecast) -> list[list[str]]:
    horizon = f"within {found.days:g} days"
    rows = []
    for change in outlook.changes:
        same = _same(change, outlook.after_recall)
        later = "no longer " + horizon if same is None else _moved(change, same)
        rows.append([_named(change), _dated(change.at, found.made_at), later])
    new = [change for change in outlook.after_recall if _same(change, outlook.changes) is None]
    return rows + [[_named(one), "not " + horizon, _dated(one.at, found.made_at)] for one in new]


def _same(change: ForecastChange, others: Sequence[ForecastChange]) -> ForecastChange | None:
    return next((one for one in others if (one.kind, one.what) == (change.kind, change.what)), None)


def _moved(change: ForecastChange, other: ForecastChange) -> str:
    shift = shifted(change.at, other.at)
    return shift if shift == "the same" else f"{minute(other.at)}, {shift}"


def _named(change: ForecastChange) -> str:
    if change.kind == "leaves":
        return f"is {change.status} by the rule {change.what}"
    return f"turns {change.what}" if change.kind == "tier" else f"becomes {change.what}"


def _dated(moment: datetime, now: datetime) -> str:
    return f"{minute(moment)}, {ahead(moment, now)}"


class Preset(Struct, frozen=True):
    """One line of `policy list`."""

    name: str
    sentence: str
    is_in_use: bool


@shared_options
def list_presets(shared: Shared) -> None:
    """Show the presets."""
    from engramdb.policy import PRESETS  # noqa: PLC0415 - few commands show presets
    from engramdb.verbs.wording import preset_sentence  # noqa: PLC0415

    in_use = shared.settings().policy
    found = [Preset(name, preset_sentence(name), name == in_use) for name in PRESETS]
    present(found, show_presets, as_json=shared.json)


@click.argument("name", metavar="NAME", required=False, help="The preset; else the one in use.")
@shared_options
def show_preset(shared: Shared, name: str | None) -> None:
    """Show the preset of a name, else the one in use with its overrides."""
    from engramdb.policy import choose  # noqa: PLC0415 - few commands show presets

    settings = shared.settings()
    is_own = name in (None, settings.policy)
    policy = settings.chosen_policy() if is_own or name is None else choose(name)
    present(policy, show_policy, as_json=shared.json)


@click.argument("file", metavar="FILE", help="The picture to write, as .png or .svg.")
@shared_options
def plot_presets(shared: Shared, file: str) -> None:
    """Draw the curves of all presets."""
    path = picture_file(file)
    require_plots(path)
    from engramdb.cli.plots import plot_curves  # noqa: PLC0415 - matplotlib is optional

    plot_curves(path)
    present({"file": str(path)}, lambda _: out(f"drew {path}"), as_json=shared.json)


@runs("compare_policies", plot_option)
def compare(run: Run) -> None:
    """Compare the presets on this store, and draw it where asked to."""
    plot: Path | None = run.extra["plot"]
    require_plots(plot)
    asked = replace(run.asked, days=tuple(sorted(run.asked.days)))
    last = asked.days[-1]
    points = (FIRST_POINT_DAYS, *(last * step / POINTS for step in range(1, POINTS + 1)))
    with run.open() as engram:
        found = asked.call(engram)
        drawn = replace(asked, days=points).call(engram) if plot else {}

    if plot is not None:
        from engramdb.cli.plots import plot_kept  # noqa: PLC0415 - matplotlib is optional

        plot_kept(drawn, points, plot)
        talk(f"drew {plot}")
    in_use = run.shared.settings().policy
    run.present(found, lambda one: show_compared(one, asked.days, in_use))


def show_presets(presets: Sequence[Preset]) -> None:
    """Show the presets, a row for each."""
    rows = [[one.name, "in use" if one.is_in_use else "", one.sentence] for one in presets]
    show_table(["", "", ""], rows)


def show_policy(policy: Policy) -> None:
    """Show every number of a preset with its meaning."""
    from engramdb.policy import PRESETS  # noqa: PLC0415
    from engramdb.verbs.wording import field_meanings, preset_sentence, summary  # noqa: PLC0415

    usual = PRESETS["balanced"]
    out(f"{bold(policy.name)}  {preset_sentence(policy.name)}")
    out(f"{'':<{len(policy.name)}}  * marks what differs from balanced.")
    for section in (name for name in policy.__struct_fields__ if name != "name"):
        part, other = getattr(policy, section), getattr(usual, section)
        meanings = field_meanings(type(part))
        out()
        out(f"{bold(section)}  {summary(type(part))}")
        rows = []
        for name in part.__struct_fields__:
            value = getattr(part, name)
            mark = "" if value == getattr(other, name) else "*"
            rows += _field_rows(mark, name, _in_words(value), one_line(meanings.get(name, "")))
        show_table(["", "", "", ""], rows)


def _field_rows(mark: str, name: str, value: str, meaning: str) -> list[list[str]]:
    """Return the row of a field; a long value stands in the last column, above the meaning."""
    if len(value) <= LONG:
        return [[mark, name, value, meaning]]
    return [[mark, name, "", value], ["", "", "", meaning]]


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value) or "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def show_compared(compared: Mapping[str, Sequence[Census]], days: Sequence[float], in_use: str) -> None:
    """Show what each preset would keep."""
    first = next(iter(compared.values()))[0]
    number = first.remaining + sum(first.left.values())
    if not number:
        talk("There are no memories here.")
        return
    out(f"What each policy would keep of {memories(number)}, if nothing happens")
    out()
    rows = []
    for name, census in compared.items():
        left = sorted(census[-1].left.items(), key=lambda pair: -pair[1])
        who = ", ".join(f"{number} by {rule}" for rule, number in left) or "nobody"
        mark = "*" if name == in_use else ""
        rows.append([mark, name, *(str(one.remaining) for one in census), who])
    heads = [f"{one:g} days" for one in days]
    header = ["", "", *heads, f"who has left after {days[-1]:g} days"]
    show_table(header, rows, numbers=range(2, 2 + len(heads)))
    out()
    out("* is in use")
