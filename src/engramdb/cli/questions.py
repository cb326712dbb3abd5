"""Show answers: what a question found and how that came about, timelines, entities, gaps, summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from engramdb.cli.derive import Run, runs, shows
from engramdb.cli.memories import elsewhere
from engramdb.cli.output import (
    bold,
    dim,
    feedbacks,
    indented,
    minute,
    one_line,
    out,
    short,
    show_line,
    show_rows,
    show_table,
    spoken,
    talk,
    tell_masked,
    visible,
    warning,
)
from engramdb.policy.aging import RULES
from engramdb.text.dates import readable
from engramdb.text.normalize import counted
from engramdb.text.normalize import memories as counted_memories
from engramdb.values import (
    Answered,
    ArchivedMatch,
    BusyPeriod,
    Confidence,
    Dispute,
    Domain,
    EdgeType,
    Entity,
    EntityProfile,
    EvidenceNode,
    Gap,
    Hit,
    Memory,
    OutdatedPremise,
    Quality,
    Reasoned,
    Recall,
    Reflection,
    SaidTurn,
    Summary,
    Timeline,
    TimelineEntry,
)
from engramdb.values.memory import INJECTION
from engramdb.verbs import wording

_UNDER_CONTENT = " " * 16
"""As wide as the score, the short id and the gaps behind them."""
_UNDER_ENTRY = " " * 44
"""As wide as the moment, the change, the short id and the gaps behind them."""
_TRUST_PARTS = ("relevance", "accuracy", "freshness", "utility")
NONE_YET = "There are none yet; `engram dream` finds them."


@runs("recall")
def recall(run: Run) -> None:
    """
    Show the hits on stdout, and on stderr what did not take part in the answer.

    So that an empty answer is never mistaken for a failed one.
    """
    with run.open() as engram:
        answer: Recall = run.call(engram)
        beyond = None if answer.hits else elsewhere(engram)

    run.present(answer, show_recall_explained if run.asked.explain else show_recall)
    _tell_quality(answer)
    if not run.shared.json:
        tell_masked(hit.memory.content for hit in answer.hits)
    if beyond is not None:
        talk(beyond)
    if run.asked.as_of is not None:
        talk(f"This is what was believed at {minute(run.asked.as_of)}.")
    if run.asked.valid_at is not None:
        talk(f"This is what was true at {minute(run.asked.valid_at)}.")


def _tell_quality(answer: Recall) -> None:
    for missing in answer.quality.missing:
        talk(warning(f"{missing.index} did not take part fully: {one_line(missing.reason)}"))
    if not answer.hits and answer.quality.candidates and not answer.quality.is_known and not answer.said:
        talk("Not known: nothing that is stored answers this.")
    elif not answer.hits:
        talk("No memory was found; this was only said." if answer.said else "Nothing was found.")
    elif not answer.quality.is_known:
        talk("Not known, it seems: this is only what comes nearest.")


def show_recall(answer: Recall) -> None:
    """Show the hits: score, id and content, and below them why."""
    _show_premises(answer.premises)
    for hit in answer.hits:
        _show_hit(hit)
        for dispute in hit.disputes:
            out(_UNDER_CONTENT + warning(_disputed(dispute)))
        told = f"{_about(hit)} · {_why(hit)} · trust {hit.trust.composite:.2f}"
        out(dim(indented(_UNDER_CONTENT, told, indent=_UNDER_CONTENT)))
    _show_said(answer.said)
    _show_archived(answer.archived)


def _show_archived(archived: Sequence[ArchivedMatch]) -> None:
    """Show what has left and fits better than all that is alive, and how to bring it back."""
    for one in archived:
        out(bold("archived: ") + spoken(one.memory) + dim(f"  fits {one.relevance:.2f}"))
        by = f" by the rule {one_line(one.reason)}" if one.reason in RULES else ""
        back = f"engram restore {short(one.memory.id)} brings it back"
        out(f"{_UNDER_CONTENT}left {minute(one.archived_at)}{by}; {back}")


def _show_premises(premises: Sequence[OutdatedPremise]) -> None:
    """Show what the question takes for granted though it has changed, before any answer."""
    for one in premises:
        title = "outdated premise" if one.is_certain else "possibly outdated premise"
        out(bold(f"{title}: ") + spoken(one.was) + dim(f"  {minute(one.was.when)}"))
        out(f"{_UNDER_CONTENT}since then: {spoken(one.now)}" + dim(f"  {minute(one.now.when)}"))


def _disputed(dispute: Dispute) -> str:
    """Return what speaks against a hit, and how to settle it."""
    told = "contradicted by" if dispute.kind is EdgeType.CONTRADICTS else "doubtful since"
    told = "possibly outdated" if dispute.by is None else f"{told} {short(dispute.by)}"
    ask = f"; engram answer {short(dispute.question_id)} settles it" if dispute.question_id else ""
    return f"{told}{ask}"


def _show_said(said: Sequence[SaidTurn]) -> None:
    """Show what was found in turns alone, marked as such."""
    for one in said:
        first = f"{bold(f'{one.score:.2f}')}  {short(one.turn_id)}  "
        out(indented(first, one_line(one.excerpt), indent=_UNDER_CONTENT))
        about = f"{minute(one.occurred_at)} · {one_line(wording.speaker_of(one))} · trust {one.trust:.2f}"
        marked = f" · {wording.FLAGGED}" if INJECTION in one.flags else ""
        out(_UNDER_CONTENT + dim(f"{wording.SAID} · {about}{marked}"))


def show_recall_explained(answer: Recall) -> None:
    """Show the hits with all that spoke for them, what was left out, and how the answer came about."""
    for hit in answer.hits:
        _show_explained(hit)
        out()
    if answer.said:
        _show_said(answer.said)
        out()
    if answer.archived:
        _show_archived(answer.archived)
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
    out(indented(first, spoken(hit.memory), indent=_UNDER_CONTENT))


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
    past = " · past" if hit.is_past else ""
    return f"{minute(hit.memory.when)}{said_by} · {hit.memory.category}{past}"


def _why(hit: Hit) -> str:
    """Return what spoke for a hit; a policy may give one that nothing speaks for, rather than nothing."""
    found_by = wording.words(hit.reasons)
    through = f", through {short(hit.through)}" if hit.through else ""
    return f"found by {', '.join(found_by)}{through}" if found_by else "nothing speaks for it"


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


@runs("reason")
def reason(run: Run) -> None:
    """Show the answer with the memories that it stands on, then the questions that led to it."""
    found: Reasoned = run.answer()
    run.present(found, show_reasoned)
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
        out(indented(first, spoken(hit.memory), indent=_UNDER_CONTENT))
    out()
    for node in found.tree.walk():
        _show_node(node)
    if found.every_call:
        calls = counted(len(found.every_call), "call", "calls")
        out(dim(f"{calls} of {found.most_calls} at most, {found.tokens} tokens"))


def _show_node(node: EvidenceNode) -> None:
    new = sum(item.is_new for item in node.found)
    judged = f"; {node.judgment.sufficiency} ({node.judgment.why})" if node.judgment else ""
    out(f"{'  ' * (node.level - 1)}{node.origin}: {one_line(node.question)}")
    out(dim(f"{'  ' * node.level}{len(node.found)} found, {new} new{judged}"))


@runs("timeline")
def timeline(run: Run) -> None:
    """Show a timeline, or that there is none."""
    found: Timeline = run.answer()
    run.present(found, show_timeline)
    if not found.entries:
        talk("Nothing is known of this topic.")


def show_timeline(found: Timeline) -> None:
    """Show how the knowledge of a topic changed, each change at the time from which on it held."""
    for entry in found.entries:
        _show_entry(entry)
    if len(found.entries) > 1:
        out()
        out(f"{dim('busiest')}  {', '.join(_period_words(period) for period in found.busiest)}")


def _show_entry(entry: TimelineEntry) -> None:
    first = f"{minute(entry.at)}  {bold(f'{entry.change:<13}')}  {short(entry.memory.id)}  "
    out(indented(first, spoken(entry.memory), indent=_UNDER_ENTRY))
    for relation, other in (("in place of", entry.replaced), ("against", entry.disputed)):
        if other is not None:
            _show_below(f"{relation} {_quoted(other)}{_held(other)}")
    if entry.reason:
        _show_below(f"reason: {one_line(entry.reason)}")


def _show_below(text: str) -> None:
    out(indented(_UNDER_ENTRY, text, indent=_UNDER_ENTRY))


def _held(memory: Memory) -> str:
    """Return from when to when a memory was true, once that is over."""
    if memory.valid_to is None:
        return ""
    return dim(f" (true {minute(memory.holds_from)} to {minute(memory.valid_to)})")


def _quoted(memory: Memory) -> str:
    return f"{short(memory.id)}  {spoken(memory)}"


def _period_words(period: BusyPeriod) -> str:
    """Return a day, a week or a month with its number of changes."""
    days = (period.end - period.start).days
    name = f"{period.start:%Y-%m-%d}"
    if days > 1:
        name = f"week of {name}" if days == 7 else f"{period.start:%B %Y}"
    return f"{name} ({counted(period.entries, 'change', 'changes')})"


@shows("entity")
def show_profile(found: EntityProfile) -> None:
    """Show all that is known about one person, project or thing."""
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


@runs("gaps")
def gaps(run: Run) -> None:
    """Show open questions, and how the list goes on."""
    found: Sequence[Gap] = run.answer()
    run.present(found, show_gaps)
    if not found:
        is_first = run.asked.after is None
        talk("No question is open; `engram dream` looks for some." if is_first else "No other is open.")
    elif len(found) == run.asked.limit and not run.shared.json:
        talk(f"There may be more; add --after {found[-1].id}")


def show_gaps(found: Sequence[Gap]) -> None:
    """Show open questions."""
    if found:
        show_table(
            ["id", "weight", "kind", "question"],
            [[gap.id, f"{gap.priority:.2f}", str(gap.kind), one_line(gap.question)] for gap in found],
            numbers={1},
        )


@shows("answer")
def show_answered(answered: Answered) -> None:
    """Show what an answer did, and what it has brought into question."""
    out(f"{bold(wording.answered_in_words(answered))}  {dim(one_line(answered.question.question))}")
    for mark, memories in (("holds", answered.holds), ("gone", answered.retired)):
        for memory in memories:
            out(f"  {mark:<6} {short(memory.id)}  {one_line(readable(memory))}")
    for memory in answered.displaced:
        out(f"  {'before':<6} {short(memory.id)}  {one_line(readable(memory))}")
        talk(f"If that holds again: engram set-status {short(memory.id)} active --reason 'it holds again'")


@shows("close_gap")
def show_closed(gap: Gap) -> None:
    """Show the question that is closed."""
    out(f"{bold('closed')} {gap.id}  {one_line(gap.question)}")


@runs("reflect")
def reflect(run: Run) -> None:
    """Show what a look at the knowledge has found, and how much it saw."""
    found: Reflection = run.answer()
    run.present(found, show_reflection)
    if not found.is_whole and not run.shared.json:
        talk(f"Only the newest {counted_memories(found.memories)} were looked at.")


def show_reflection(found: Reflection) -> None:
    """Show what is there twice, old, disputed, doubtful, open and unused."""
    out(f"{counted_memories(found.memories)}, {found.never_recalled:.0%} of them never recalled")
    for name, lines in wording.reflection_lines(found).items():
        more = found.counts[name] - len(lines)
        out()
        out(f"{bold(name)} ({found.counts[name]})" + (f" {dim(f'and {more} more')}" if more > 0 else ""))
        for line in lines:
            out(f"  {one_line(line)}")
    if found.withheld:
        talk(f"{counted_memories(found.withheld)} of these are confidential or flagged and in no list.")


@runs("domains")
def domains(run: Run) -> None:
    """Show the fields of knowledge, or that there are none yet."""
    found = run.answer()
    run.present(found, show_domains)
    if not found:
        talk(NONE_YET)


@runs("summaries")
def summaries(run: Run) -> None:
    """Show summaries, or that there are none yet."""
    found = run.answer()
    run.present(found, show_summaries)
    if not found:
        talk(NONE_YET)


def show_domains(found: Sequence[Domain]) -> None:
    """Show the fields of knowledge."""
    if found:
        show_table(
            ["confidence", "depth", "fresh", "unsure", "memories", "gaps", "latest", "domain"],
            [_domain_row(one) for one in found],
            numbers={0, 1, 2, 3, 4, 5},
        )


def _domain_row(one: Domain) -> list[str]:
    numbers = (one.confidence, one.depth, one.freshness, one.uncertainty)
    latest = minute(one.latest_at) if one.latest_at else ""
    return [
        *(f"{number:.2f}" for number in numbers),
        str(one.members),
        str(one.gaps),
        latest,
        one_line(one.title),
    ]


def show_summaries(found: Sequence[Summary]) -> None:
    """Show what is known in short."""
    for one in found:
        out(f"{bold(one_line(one.title))}  {dim(f'{one.breadth}, {counted_memories(one.members)}')}")
        out(visible(one.text))
        out()


@runs("confidence")
def confidence(run: Run) -> None:
    """Show how well a question is covered, and what that rests on less."""
    found: Confidence = run.answer()
    run.present(found, show_confidence)
    for missing in found.missing:
        talk(warning(f"this rests on less: {one_line(missing)}"))


def show_confidence(found: Confidence) -> None:
    """Show how well a question is covered."""
    out(f"{bold(found.certainty)}: {one_line(found.reason)}")
    show_rows(
        {
            "confidence": f"{found.confidence:.2f}",
            "best memory": f"fits by {found.evidence:.2f}",
            "supporting": counted_memories(found.supporting),
            "open questions": str(found.gaps) if found.gaps else None,
            "domain": one_line(found.domain.title) if found.domain else None,
        }
    )


@runs("feedback")
def feedback(run: Run) -> None:
    """Note whether a memory helped, and say for how long it stays away from such questions."""
    run.present(run.answer(), show_feedback)
    if not run.asked.helpful and run.asked.query is not None:
        from engramdb.recall.fuse import SUPPRESS_DAYS  # noqa: PLC0415 - loads the index

        talk(f"Such questions do not find it for {SUPPRESS_DAYS:g} days; others do.")


def show_feedback(memory: Memory) -> None:
    """Show how often a memory helped and did not."""
    out(f"{feedbacks(memory)}: {short(memory.id)}  {spoken(memory)}")
