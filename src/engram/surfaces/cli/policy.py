"""
`engram policy`: see the presets, compare what they would keep of this store, draw their curves.

Calls `Engram.compare_policies` for the comparison; the rest needs no store. What a field means is read from
the source, where it stands once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from engram.surfaces.cli.options import Shared
from engram.surfaces.cli.output import bold, one_line, out, present, talk
from engram.surfaces.cli.picture import Picture, Plot, picture_file, require_plots
from engram.surfaces.cli.table import show_table
from engram.text.counted import memories
from engram.values import Census

if TYPE_CHECKING:
    from engram.policy import Policy

DAYS = (30.0, 90.0, 365.0)
FIRST_POINT_DAYS = 0.01
"""The first moment of the picture: just late enough that what is due now has left."""
POINTS = 52
LONG = 14
"""A value longer than this has a line of its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Preset:
    """One line of `policy list`."""

    name: str
    sentence: str
    is_in_use: bool


def list_presets(shared: Shared) -> None:
    """
    Show the presets, each in a sentence, and which is in use.

    Example: engram policy list
    """
    from engram.policy import PRESETS  # noqa: PLC0415 - not needed for --help
    from engram.surfaces.meanings import preset_sentence  # noqa: PLC0415

    in_use = shared.settings().policy
    found = [Preset(name, preset_sentence(name), name == in_use) for name in PRESETS]
    present(found, _show_presets, as_json=shared.json)


def show(
    shared: Shared,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The preset; else the one in use.")
    ] = None,
) -> None:
    """
    Show every number of a preset and what it means.

    Example: engram policy show cortex
    """
    from engram.policy import choose  # noqa: PLC0415 - not needed for --help

    settings = shared.settings()
    is_own = name in (None, settings.policy)
    policy = settings.chosen_policy() if is_own or name is None else choose(name)
    present(policy, _show_policy, as_json=shared.json)


def compare(
    shared: Shared,
    *,
    days: Annotated[
        list[float] | None, typer.Option(metavar="N", help="After so many days; else 30, 90 and 365.")
    ] = None,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="Count all scopes.")] = False,
    plot: Plot = None,
) -> None:
    """
    Show what each preset would keep of this store, if nothing happens.

    Example: engram policy compare --days 30 --days 365 --plot kept.svg
    """
    require_plots(plot)
    after = sorted(days or DAYS)
    points = [FIRST_POINT_DAYS, *(after[-1] * step / POINTS for step in range(1, POINTS + 1))]
    with shared.open_existing() as engram:
        found = engram.compare_policies(days=after, everywhere=everywhere)
        drawn = engram.compare_policies(days=points, everywhere=everywhere) if plot else {}

    if plot is not None:
        from engram.surfaces.plots.kept import plot_kept  # noqa: PLC0415 - heavy and optional

        plot_kept(drawn, points, plot)
        talk(f"drew {plot}")
    in_use = shared.settings().policy
    present(found, lambda one: _show_compared(one, after, in_use), as_json=shared.json)


def plot(shared: Shared, file: Picture) -> None:
    """
    Draw how memories fade under every preset.

    Example: engram policy plot curves.svg
    """
    path = picture_file(file)
    require_plots(path)
    from engram.surfaces.plots.curves import plot_curves  # noqa: PLC0415 - heavy and optional

    plot_curves(path)
    present({"file": str(path)}, lambda _: out(f"drew {path}"), as_json=shared.json)


def _show_presets(presets: Sequence[Preset]) -> None:
    rows = [[one.name, "in use" if one.is_in_use else "", one.sentence] for one in presets]
    show_table(["", "", ""], rows)


def _show_policy(policy: "Policy") -> None:
    from engram.policy import PRESETS  # noqa: PLC0415 - not needed for --help
    from engram.surfaces.meanings import field_meanings, preset_sentence, summary  # noqa: PLC0415

    usual = PRESETS["balanced"]
    out(f"{bold(policy.name)}  {preset_sentence(policy.name)}")
    out(f"{'':<{len(policy.name)}}  * marks what differs from balanced.")
    for room in (one.name for one in dataclasses.fields(policy) if one.name != "name"):
        part, other = getattr(policy, room), getattr(usual, room)
        meanings = field_meanings(type(part))
        out()
        out(f"{bold(room)}  {summary(type(part))}")
        rows = []
        for one in dataclasses.fields(part):
            value = getattr(part, one.name)
            mark = "" if value == getattr(other, one.name) else "*"
            rows += _field_rows(mark, one.name, _in_words(value), one_line(meanings.get(one.name, "")))
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


def _show_compared(compared: Mapping[str, Sequence[Census]], days: Sequence[float], in_use: str) -> None:
    first = next(iter(compared.values()))[0]
    number = first.kept + sum(first.left.values())
    if not number:
        talk("There are no memories here.")
        return
    out(f"What each policy would keep of {memories(number)}, if nothing happens")
    out()
    rows = []
    for name, counted in compared.items():
        left = sorted(counted[-1].left.items(), key=lambda pair: -pair[1])
        who = ", ".join(f"{number} by {rule}" for rule, number in left) or "nobody"
        mark = "*" if name == in_use else ""
        rows.append([mark, name, *(str(one.kept) for one in counted), who])
    heads = [f"{one:g} days" for one in days]
    header = ["", "", *heads, f"who has left after {days[-1]:g} days"]
    show_table(header, rows, numbers=range(2, 2 + len(heads)))
    out()
    out("* is in use")
