"""
Show what a question found, and with `--explain` how that came about.

Called by `engram recall`; calls `output` and `table`. Without an explanation a hit is two lines: what it
says, and a faint one on why it is here. With one, every signal has a line in the engine's own names, so
that it can be compared with the policy and with `--json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.surfaces import signals
from engram.surfaces.cli.output import bold, dim, indented, minute, one_line, out, short
from engram.surfaces.cli.show import show_rows
from engram.surfaces.cli.table import show_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from engram.values import Hit, Quality, Recall

_UNDER_CONTENT = " " * 16
"""As wide as the score, the short id and the gaps behind them."""
_TRUST_PARTS = ("relevance", "accuracy", "freshness", "utility")


def show_recall(answer: Recall) -> None:
    """Show the hits: score, id and content, and below them why."""
    for hit in answer.hits:
        _show_hit(hit)
        told = f"{_about(hit)} · {_why(hit)} · trust {hit.trust.composite:.2f}"
        out(dim(indented(_UNDER_CONTENT, told, indent=_UNDER_CONTENT)))


def show_recall_explained(answer: Recall) -> None:
    """Show the hits with all that spoke for them, what was left out, and how the answer came about."""
    for hit in answer.hits:
        _show_explained(hit)
        out()
    if answer.also_considered:
        out(bold("left out"))
        for hit in answer.also_considered:
            _show_hit(hit)
            out(_UNDER_CONTENT + dim(_gains(hit)))
        out()
    _show_plan(answer.quality)
    _show_quality(answer.quality)
    _show_stages(answer.quality.stages)


def _show_hit(hit: Hit) -> None:
    first = f"{bold(f'{hit.score:.2f}')}  {short(hit.memory.id)}  "
    out(indented(first, one_line(hit.memory.content), indent=_UNDER_CONTENT))


def _show_explained(hit: Hit) -> None:
    _show_hit(hit)
    out(_UNDER_CONTENT + dim(f"{_about(hit)} · {hit.memory.layer} · {hit.memory.confidence_tier}"))
    rows = [[one.index, str(one.rank), f"{one.score:.3f}", f"{one.contribution:+.3f}"] for one in hit.reasons]
    if rows:
        header = ["signal", "place", "score", "gives"]
        show_table(header, rows, numbers={1, 2, 3}, indent=_UNDER_CONTENT)
    parts = ", ".join(f"{part} {getattr(hit.trust, part):.2f}" for part in _TRUST_PARTS)
    out(f"{_UNDER_CONTENT}trust {hit.trust.composite:.2f}: {parts}")


def _about(hit: Hit) -> str:
    speaker = hit.memory.provenance.speaker
    said_by = f" · {one_line(speaker)}" if speaker else ""
    return f"{minute(hit.memory.when)}{said_by} · {hit.memory.category}"


def _why(hit: Hit) -> str:
    """Return what spoke for a hit; a policy may give one that nothing speaks for, rather than nothing."""
    found_by = signals.words(hit.reasons)
    return f"found by {', '.join(found_by)}" if found_by else "nothing speaks for it"


def _gains(hit: Hit) -> str:
    gains = [f"{one.index} #{one.rank} {one.contribution:+.3f}" for one in hit.reasons]
    return ", ".join([*gains, f"trust {hit.trust.composite:.2f}"])


def _show_plan(quality: Quality) -> None:
    words = quality.text_weight
    show_rows(
        {
            "intent": quality.intent or "not looked at under this policy",
            "period": _between(quality.period),
            "text weight": f"{words:.2f} for words, {1 - words:.2f} for meaning",
            "strategy": quality.strategy,
            "level": quality.level,
        }
    )


def _show_quality(quality: Quality) -> None:
    missing = [f"{one.index}: {one_line(one.reason)}" for one in quality.missing]
    show_rows(
        {
            "answered": ", ".join(quality.answered) or "no index",
            "missing": "; ".join(missing) or "nothing",
            "candidates": str(quality.candidates),
            "relevancy": f"{quality.average_relevancy:.2f} on average, NDCG {quality.ndcg:.2f}",
            "tokens": f"about {quality.tokens}",
            "took": f"{quality.milliseconds:.1f} ms",
        }
    )


def _show_stages(stages: Mapping[str, float]) -> None:
    if not stages:
        return
    slowest = max(stages, key=lambda name: stages[name])
    rows = [[name, f"{spent:.2f}", "slowest" if name == slowest else ""] for name, spent in stages.items()]
    show_table(["stage", "ms", ""], rows, numbers={1}, indent=_UNDER_CONTENT)


def _between(period: tuple[datetime | None, datetime | None] | None) -> str:
    if period is None:
        return "none that the question names"
    start, end = period
    ends = (f"from {minute(start)}" if start else "", f"to before {minute(end)}" if end else "")
    return " ".join(part for part in ends if part) or "hangs on an event whose date is not known"
