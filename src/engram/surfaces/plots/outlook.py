"""
What becomes of one memory: its retention day by day, left alone and recalled once more.

Drawn by `engram forecast ID --plot`. The dates are those of the outlook; the lines between them are computed
from the same memory and policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces.plots.canvas import BLUE, GREEN, day_axis, share_axis, sheet
from engram.surfaces.plots.curves import draw_trace, name_rule, name_tiers, shade_tiers
from engram.surfaces.plots.trace import trace

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from engram.policy import Policy
    from engram.values import Memory


def plot_outlook(memory: Memory, policy: Policy, path: Path, *, now: datetime, days: float) -> None:
    """Draw how one memory fades into a file; what lies after it has left is only hinted at."""
    recalled = trace(memory, policy.aging, start=now, days=days, recalls=(0.0,))
    alone = trace(memory, policy.aging, start=now, days=days)
    with sheet(path, height_inches=4.2) as figure:
        axes = figure.subplots()
        lines = []
        for found, colour, dashes in ((recalled, GREEN, "--"), (alone, BLUE, "-")):
            axes.plot(found.days, found.retention, color=colour, linestyle=dashes, alpha=0.3, linewidth=1)
            lines.append(draw_trace(axes, found, colour=colour, dashes=dashes))
        axes.set_title(f"Memory …{memory.id[-8:]} under the policy {policy.name}")
        axes.set_xlabel("days from now")
        axes.set_ylabel("retention")
        day_axis(axes, days)
        share_axis(axes)
        shade_tiers(axes, policy.aging)
        name_tiers(axes, policy.aging)
        for found, offset in ((alone, (-5, -13)), (recalled, (4, 6))):
            if found.rule is not None:
                name_rule(axes, found, offset=offset)
        axes.legend(lines, ["recalled once more, now", "if nothing happens"], loc="upper right")
