"""Commands that ask: recall, reason, timeline, entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

import typer

from engramdb.cli.memories import elsewhere
from engramdb.cli.options import Limit, Narrowing, Shared, among, given_text, moment
from engramdb.cli.output import (
    bold,
    dim,
    indented,
    minute,
    one_line,
    out,
    present,
    short,
    show_line,
    show_rows,
    show_table,
    talk,
    visible,
    warning,
)
from engramdb.text.normalize import counted
from engramdb.text.normalize import memories as counted_memories
from engramdb.values import (
    BusyPeriod,
    Entity,
    EntityProfile,
    EvidenceNode,
    Hit,
    Memory,
    Mode,
    Quality,
    Reasoned,
    Recall,
    Timeline,
    TimelineEntry,
)
from engramdb.verbs import shared
from engramdb.verbs.shared import is_far_off

# Show what a question found, and with `--explain` how that came about.
#
# Called by `engram recall`; calls `output` and `table`. Without an explanation a hit is two lines: what it
# says, and a faint one on why it is here. With one, every signal has a line in the engine's own names, so
# that it can be compared with the policy and with `--json`.

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
    found_by = shared.words(hit.reasons)
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


# `engram recall`: ask a question.
#
# Calls `Engram.recall`. Hits go to stdout; what did not take part in the answer goes to stderr, every time,
# so that an empty answer is never mistaken for a failed one.


def recall(
    narrowing: Narrowing,
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to look for, or - for stdin.")],
    *,
    limit: Limit = 10,
    mode: Annotated[
        Mode, typer.Option(metavar="NAME", help=among("How much of what is known may be given", Mode))
    ] = Mode.FULL_CONTEXT,
    as_of: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", parser=moment, help="Answer from what was believed at this moment."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Order by score, rrf, mmr, rrf_then_mmr or cross_encoder; else as the policy says.",
        ),
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The conversation that asks.")] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the plan, every signal, what was left out, and all timings."),
    ] = False,
) -> None:
    """
    Ask a question and see the memories that fit, best first.

    Example: engram recall "which editor do I use?" --limit 3 --explain
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        answer = engram.recall(
            asked,
            limit=limit,
            mode=mode,
            filters=narrowing.filters,
            session=session,
            as_of=as_of,
            strategy=strategy,
            explain=explain,
        )
        beyond = None if answer.hits else elsewhere(engram)

    present(answer, show_recall_explained if explain else show_recall, as_json=shared.json)
    _tell_quality(answer)
    if beyond is not None:
        talk(beyond)
    if as_of is not None:
        talk(f"This is what was believed at {minute(as_of)}.")


def _tell_quality(answer: Recall) -> None:
    for missing in answer.quality.missing:
        talk(warning(f"{missing.index} did not take part fully: {one_line(missing.reason)}"))
    if not answer.hits:
        talk("Nothing was found.")
    elif is_far_off(answer):
        talk("None of this fits well: it is only what comes nearest.")


# `engram reason`: follow a question further than one recall, and answer from what was found.
#
# Calls `Engram.reason`. The answer first, with the memories that it stands on; then the evidence, and the
# tree
# of questions that led to it. Without a chat model there is no answer, and a line says so.


def reason(
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question, or - for stdin.")],
    *,
    depth: Annotated[
        int | None, typer.Option(metavar="LEVELS", help="Levels of questions to ask, from 1 to 5.")
    ] = None,
    limit: Limit = 20,
    calls: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Calls of the chat model at most.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Tokens of the chat model at most.")
    ] = None,
) -> None:
    """
    Ask a question that one recall does not answer: follow its parts and gaps, and answer with evidence.

    Example: engram reason "where does the lead of Falcon live?" --depth 3
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        found = engram.reason(asked, depth=depth, limit=limit, calls=calls, tokens=tokens)

    present(found, show_reasoned, as_json=shared.json)
    if not found.is_answered:
        talk(f"There is no answer: {one_line(found.why)}")
    for failure in found.failures:
        talk(one_line(failure))


def show_reasoned(found: Reasoned) -> None:
    """Show the answer if there is one, the evidence, and the questions that led to it."""
    if found.answer is not None:
        out(visible(found.answer))
        out(dim(f"from {', '.join(map(short, found.cited))}"))
        out()
    for hit in found.evidence:
        first = f"{bold(f'{hit.score:.2f}')}  {short(hit.memory.id)}  "
        out(indented(first, one_line(hit.memory.content), indent=_UNDER_CONTENT))
    out()
    for node in found.tree.walk():
        _show_node(node)
    if found.every_call:
        calls = counted(len(found.every_call), "call", "calls")
        out(dim(f"{calls} of {found.most_calls} at most, {found.tokens} tokens"))


def _show_node(node: EvidenceNode) -> None:
    new = sum(item.is_new for item in node.found)
    judged = f"; {node.judgement.sufficiency} ({node.judgement.why})" if node.judgement else ""
    out(f"{'  ' * (node.level - 1)}{node.origin}: {one_line(node.question)}")
    out(dim(f"{'  ' * node.level}{len(node.found)} found, {new} new{judged}"))


# `engram timeline`: tell how what is known of a topic came to be.
#
# Calls `Engram.timeline`. Oldest first, one line per change, and below it what was replaced or doubted and
# why.
# The times are those at which the store learned of something, which may be long after it happened.

_UNDER_CONTENT_TIMELINE = " " * 44
"""As wide as the moment, the change, the short id and the gaps behind them."""


def timeline(
    shared: Shared,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What it is about, or - for stdin.")],
    *,
    entity: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only what speaks of this person or thing.")
    ] = None,
    limit: Limit = 50,
) -> None:
    """
    Show how what is known of a topic came to be, oldest first.

    Example: engram timeline "the deployment" --entity Falcon
    """
    asked = given_text(topic)
    with shared.open_existing() as engram:
        found = engram.timeline(asked, entities=entity or (), limit=limit)

    present(found, _show, as_json=shared.json)
    if not found.entries:
        talk("Nothing is known of this topic.")


def _show(found: Timeline) -> None:
    for entry in found.entries:
        _show_entry(entry)
    if len(found.entries) > 1:
        out()
        out(f"{dim('busiest')}  {', '.join(_named(period) for period in found.busiest)}")


def _show_entry(entry: TimelineEntry) -> None:
    first = f"{minute(entry.at)}  {bold(f'{entry.change:<13}')}  {short(entry.memory.id)}  "
    out(indented(first, one_line(entry.memory.content), indent=_UNDER_CONTENT_TIMELINE))
    for relation, other in (("in place of", entry.replaced), ("against", entry.disputed)):
        if other is not None:
            _show_below(f"{relation} {_quoted(other)}")
    if entry.reason:
        _show_below(f"reason: {one_line(entry.reason)}")


def _show_below(text: str) -> None:
    out(indented(_UNDER_CONTENT_TIMELINE, text, indent=_UNDER_CONTENT_TIMELINE))


def _quoted(memory: Memory) -> str:
    return f"{short(memory.id)}  {one_line(memory.content)}"


def _named(period: BusyPeriod) -> str:
    """Return a day, a week or a month with its number of changes."""
    days = (period.end - period.start).days
    name = f"{period.start:%Y-%m-%d}"
    if days > 1:
        name = f"week of {name}" if days == 7 else f"{period.start:%B %Y}"
    return f"{name} ({counted(period.entries, 'change', 'changes')})"


# `engram entity`: everything about one person, project or thing.
#
# Calls `Engram.entity`. Memories by layer, the newest first; then what they say it does, with whom it
# appears,
# and how much was told of it month by month. Others of the same name are shown with the id to ask for them
# by.


def entity(
    shared: Shared,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the id of an entity.")],
    *,
    limit: Limit = 20,
) -> None:
    """
    Show everything about a person, project or thing: memories of all layers, relations, company, months.

    Example: engram entity "Project Alpha" --limit 5
    """
    asked = given_text(name)
    with shared.open_existing() as engram:
        found = engram.entity(asked, limit=limit)

    present(found, _show_profile, as_json=shared.json)


def _show_profile(found: EntityProfile) -> None:
    _show_entity(found.entity)
    for layer, held in found.memories.items():
        _head(layer)
        for memory in held:
            show_line(memory)
    if found.relations:
        _head("relations")
        show_table(
            ["memory", "subject", "predicate", "object"],
            [
                [short(one.memory_id), *map(_cell, (one.subject, one.predicate, one.object))]
                for one in found.relations
            ],
        )
    _show_counts("together with", {one.entity.name: one.memories for one in found.companions})
    _show_counts("by month", found.months)
    _show_namesakes(found.namesakes)


def _show_entity(one: Entity) -> None:
    out(f"{bold(one_line(one.name))}  {one.type}, id {one.id}")
    if one.aliases:
        out(f"also called {', '.join(map(one_line, one.aliases))}")
    out(f"{counted_memories(one.mentions)}, from {minute(one.first_seen)} to {minute(one.last_seen)}")


def _show_counts(title: str, counted: Mapping[str, int]) -> None:
    if counted:
        _head(title)
        show_table(
            ["memories", ""],
            [[str(number), one_line(name)] for name, number in counted.items()],
            numbers={0},
        )


def _show_namesakes(others: Sequence[Entity]) -> None:
    if others:
        _head("others of that name")
        show_table(
            ["id", "type", "name"],
            [[one.id, str(one.type), one_line(one.name)] for one in others],
        )


def _head(title: str) -> None:
    out()
    out(dim(title))


def _cell(text: str | None) -> str:
    return one_line(text) if text else ""
