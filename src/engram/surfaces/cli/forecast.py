"""
`engram forecast`: what will fade, move and leave, of all memories or of one.

Calls `Engram.forecast`. It assumes that nothing happens: nobody recalls, confirms or changes anything, and a
sweep comes by every day. Nothing is changed by looking ahead.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.surfaces.cli.ahead import ahead, in_days
from engram.surfaces.cli.loading import engine
from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.outlook import show_outlook
from engram.surfaces.cli.output import minute, one_line, out, present, short, talk
from engram.surfaces.cli.picture import Plot, require_plots
from engram.surfaces.cli.table import show_table
from engram.text.counted import memories
from engram.values import Census, Forecast, Tier

if TYPE_CHECKING:
    from engram.engine.engram import Engram
    from engram.settings import Settings

COLUMNS = (0, 1 / 13, 1 / 4, 1 / 2, 1)
"""The moments that are shown, as shares of the time: of a year, now and after 4, 13, 26 and 52 weeks."""
SHOWN = 10
"""So many memories that leave soon are shown; `--json` gives all that were found."""


def forecast(
    shared: Shared,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="One memory, by its id or its last 8 characters.")
    ] = None,
    *,
    days: Annotated[float, typer.Option(metavar="N", help="How many days ahead.")] = 365,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Count all scopes; shows numbers and no memory.")
    ] = False,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Under this preset instead of the one in use.")
    ] = None,
    plot: Plot = None,
) -> None:
    """
    Say what will fade, move and leave if nothing happens, and what one more recall would change.

    Example: engram forecast --days 90 --plot forecast.png
    """
    if memory_id is not None and everywhere:
        raise typer.BadParameter("--everywhere counts all memories; leave out the id")
    require_plots(plot)
    settings = _under(shared.settings(), policy)
    with _open(settings, shared) as engram:
        found = engram.forecast(memory_id, days=days, everywhere=everywhere)

    if plot is not None:
        _draw(found, settings, plot, is_one=memory_id is not None)
    present(found, _show if memory_id is None else show_outlook, as_json=shared.json)


def _under(settings: "Settings", policy: str | None) -> "Settings":
    """Return the settings with another preset; single fields of the own one do not belong to that."""
    if policy is None or policy == settings.policy:
        return settings
    return replace(settings, policy=policy, overrides={})


def _open(settings: "Settings", shared: Shared) -> "Engram":
    return engine().open(settings=settings, scope=shared.scope, must_exist=True, background=False)


def _draw(found: Forecast, settings: "Settings", plot: Path, *, is_one: bool) -> None:
    from engram.surfaces.plots.outlook import plot_outlook  # noqa: PLC0415 - heavy and optional
    from engram.surfaces.plots.population import plot_population  # noqa: PLC0415

    if is_one:
        policy = settings.chosen_policy()
        plot_outlook(found.soonest[0].memory, policy, plot, now=found.made_at, days=found.days)
    else:
        plot_population(found, plot)
    talk(f"drew {plot}")


def _show(found: Forecast) -> None:
    if not found.population:
        talk("There are no memories here.")
        return
    out(f"{memories(found.population)} under the policy {found.policy}, if nothing happens")
    out()
    shown = _columns(found)
    moments = [in_days(one.at, found.made_at) for one in shown]
    rows = [[tier, *(str(one.tiers.get(tier, 0)) for one in shown)] for tier in Tier]
    rows.append(["kept", *(str(one.kept) for one in shown)])
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
            one_line(memory.content),
        ]
        for memory, leaves in leaving[:SHOWN]
        if leaves is not None
    ]
    if rows:
        out()
        out("first to leave")
        show_table(["when", "", "by the rule", "memory", ""], rows)
