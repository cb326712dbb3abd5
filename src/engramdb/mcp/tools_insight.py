"""Tools that ask about the knowledge, and the table of all tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from msgspec import Meta

from engramdb.context.lines import inline_name, one_line
from engramdb.mcp.render import (
    as_data,
    day,
    hit_line,
    hit_shape,
    line,
    missing_shape,
    shape,
    short,
    shortfalls,
)
from engramdb.mcp.tool import Answer, Arguments, Tool, Visit
from engramdb.mcp.tools import TOOL as RECALL
from engramdb.mcp.tools import TOOL_CORRECT as CORRECT
from engramdb.mcp.tools import TOOL_FEEDBACK as FEEDBACK
from engramdb.mcp.tools import TOOL_FORGET as FORGET
from engramdb.mcp.tools import TOOL_LIST as LIST
from engramdb.mcp.tools import TOOL_OBSERVE as OBSERVE
from engramdb.mcp.tools import TOOL_PIN as PIN
from engramdb.mcp.tools import TOOL_RELATE as RELATE
from engramdb.mcp.tools import TOOL_REMEMBER as REMEMBER
from engramdb.mcp.tools import TOOL_RESTORE as RESTORE
from engramdb.text.normalize import counted, memories
from engramdb.values import EntityProfile, Gap, Missing, Reasoned, StatusReport, Window
from engramdb.values.dream import DreamReport, StepReport
from engramdb.values.recall import TimelineEntry

# The tool `timeline`: how what is known of a topic changed.


class Topic(Arguments, frozen=True):
    """Which topic."""

    topic: Annotated[str, Meta(description="In a few words")]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


def timeline(visit: Visit, asked: Topic) -> Answer:
    """
    Show how the knowledge of a topic changed: learned, confirmed, corrected, disputed, removed; oldest
    first. For "since when" and "what was it before".
    """
    found = visit.engram.timeline(asked.topic, limit=asked.limit)
    told = as_data(_line(entry) for entry in found.entries) or "Nothing is known of it."
    return Answer(told, {"entries": [_shape(entry) for entry in found.entries]})


def _line(entry: TimelineEntry) -> str:
    instead = f" in place of {short(entry.replaced.id)}" if entry.replaced else ""
    against = f" against {short(entry.disputed.id)}" if entry.disputed else ""
    why = f" ({one_line(entry.reason)})" if entry.reason else ""
    return f"{day(entry.at)} {entry.change}{instead}{against}{why}: {line(entry.memory)}"


def _shape(entry: TimelineEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(),
        "change": entry.change,
        "memory": shape(entry.memory),
        "replaced": entry.replaced.id if entry.replaced else None,
        "reason": entry.reason,
    }


TOOL_TIMELINE = Tool(takes=Topic, does=timeline, reads_only=True, is_idempotent=True)


# The tool `entity`: everything about one person, project or thing.


class Named(Arguments, frozen=True):
    """Who or what."""

    name: Annotated[str, Meta(description="Any name it goes by")]
    limit: Annotated[int, Meta(ge=1, le=50)] = 10


def entity(visit: Visit, asked: Named) -> Answer:
    """
    Show all that is known about one person, project or thing by name: memories, relations, who appears
    with it. For a question about it, `recall` is enough.
    """
    found = visit.engram.entity(asked.name, limit=asked.limit)
    return Answer(_words(found), _values(found))


def _words(found: EntityProfile) -> str:
    names = ", ".join(inline_name(one) for one in (found.entity.name, *found.aliases))
    related = "; ".join(
        one_line(" ".join(part for part in (one.subject, one.predicate, one.object) if part))
        for one in found.relations
    )
    company = ", ".join(f"{inline_name(one.entity.name)} ({one.memories})" for one in found.companions)
    told = {"Names": names, "Relations": related, "Appears with": company}
    return as_data(
        [
            *(f"{title}: {text}" for title, text in told.items() if text),
            *(line(memory) for layer in found.memories.values() for memory in layer),
        ]
    )


def _values(found: EntityProfile) -> dict[str, Any]:
    return {
        "name": found.entity.name,
        "aliases": list(found.aliases),
        "memories": [shape(memory) for layer in found.memories.values() for memory in layer],
        "relations": [
            {"subject": one.subject, "predicate": one.predicate, "object": one.object, "id": one.memory_id}
            for one in found.relations
        ],
        "appears_with": {one.entity.name: one.memories for one in found.companions},
        "months": dict(found.months),
        "namesakes": [{"name": one.name, "id": one.id} for one in found.namesakes],
    }


TOOL = Tool(takes=Named, does=entity, reads_only=True, is_idempotent=True)


# The tool `reason`: follow a question through several recalls.


class Question(Arguments, frozen=True):
    """One question, and how far to follow it."""

    question: Annotated[str, Meta(description="In full")]
    depth: Annotated[int, Meta(ge=1, le=5)] = 3


def reason(visit: Visit, asked: Question) -> Answer:
    """
    Answer a question that needs several memories together: it is split, each part is recalled, and names
    found are followed. Slower than `recall`, and may ask a chat model; try `recall` first.
    """
    found = visit.engram.reason(asked.question, depth=asked.depth, session=visit.session)
    missing = _missing(found)
    return Answer(_words_reason(found, missing), _values_reason(found, missing))


def _words_reason(found: Reasoned, missing: list[Missing]) -> str:
    cited = ", ".join(short(one) for one in found.cited)
    answer = (
        f"Answer: {one_line(found.answer)} [{cited}]" if found.answer else f"No answer: {one_line(found.why)}"
    )
    questions = "; ".join(one_line(node.question) for node in found.tree.walk() if node.level > 1)
    evidence = as_data(hit_line(hit) for hit in found.evidence) or "No stored memory fits."
    also = [f"Also asked: {questions}"] if questions else []
    return "\n".join([*shortfalls(missing), answer, *also, evidence])


def _values_reason(found: Reasoned, missing: list[Missing]) -> dict[str, object]:
    return {
        "answer": found.answer,
        "why": found.why,
        "cited": list(found.cited),
        "evidence": [hit_shape(hit) for hit in found.evidence],
        "missing": missing_shape(missing),
        "failures": list(found.failures),
        "model_tokens": found.tokens,
    }


def _missing(found: Reasoned) -> list[Missing]:
    """Return what could not take part in any of the recalls, each once."""
    return list(dict.fromkeys(one for node in found.tree.walk() for one in node.missing))


TOOL_REASON = Tool(takes=Question, does=reason, reads_only=True)


# The tool `confidence`: whether memory can answer a question at all.


class TopicConfidence(Arguments, frozen=True):
    """Which question."""

    query: Annotated[str, Meta(description="A question or topic")]


def confidence(visit: Visit, asked: TopicConfidence) -> Answer:
    """
    Tell how well a question is covered: confident, uncertain or unknown, and why. For deciding whether
    to answer from memory or to ask; it gives no memories, `recall` does.
    """
    found = visit.engram.confidence(asked.query)
    values = {
        "certainty": found.certainty,
        "confidence": round(found.confidence, 3),
        "evidence": round(found.evidence, 3),
        "supporting": found.supporting,
        "gaps": found.gaps,
        "domain": found.domain.title if found.domain else None,
        "reason": found.reason,
        "missing": list(found.missing),
    }
    incomplete = [f"Incomplete: {one_line(one)}." for one in found.missing]
    fits = counted(found.supporting, "memory fits", "memories fit")
    told = f"{found.certainty}: {one_line(found.reason)} ({fits})"
    return Answer("\n".join([*incomplete, told]), values)


TOOL_CONFIDENCE = Tool(takes=TopicConfidence, does=confidence, reads_only=True, is_idempotent=True)


# The tool `gaps`: what should be known and is not.

NOTHING = "No question is open. Dreams find them; the last one found none, or there was none yet."


class Most(Arguments, frozen=True):
    """How many."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 10


def gaps(visit: Visit, asked: Most) -> Answer:
    """
    List open questions about what is stored: missing facts, contradictions, beliefs grown old. For a
    pause in which the user may be asked one; put their reply into `answer_gap`.
    """
    found = visit.engram.gaps(limit=asked.limit)
    return Answer(
        in_words(found),
        {
            "gaps": [
                {"id": gap.id, "kind": gap.kind, "question": gap.question, "memories": list(gap.memories)}
                for gap in found
            ]
        },
    )


def in_words(found: Sequence[Gap]) -> str:
    """Return open questions as lines."""
    return as_data(f"[{gap.id}] ({gap.kind}) {one_line(gap.question)}" for gap in found) or NOTHING


TOOL_GAPS = Tool(takes=Most, does=gaps, reads_only=True, is_idempotent=True)


# The tool `answer_gap`: answer an open question.


class Reply(Arguments, frozen=True):
    """Which question, and the answer."""

    gap: Annotated[str, Meta(max_length=200, description="Its id, from `gaps`")]
    answer: Annotated[str, Meta(description="One self-contained sentence, as the user answered")]


def answer_gap(visit: Visit, asked: Reply) -> Answer:
    """
    Remember the user's reply to an open question from `gaps` and close the question. Never make an
    answer up: without a reply, leave it open.
    """
    memory = visit.engram.answer_gap(asked.gap, asked.answer)
    return Answer(f"Answered: {line(memory)}", {"memory": shape(memory)})


TOOL_ANSWER_GAP = Tool(takes=Reply, does=answer_gap)


# The tool `context`: what to have in mind for one message, within a number of tokens.

NOTHING_CONTEXT = "Nothing stored bears on this message."


class Before(Arguments, frozen=True):
    """The message, and the room that there is."""

    message: Annotated[str, Meta(description="The user's message or the task, in its own words")]
    token_budget: Annotated[int, Meta(ge=100, le=50_000)] = 1500


def context(visit: Visit, asked: Before) -> Answer:
    """
    Get what memory holds for the message at hand in one compact block: standing wishes, people, skills,
    recalled facts, open questions. Call it once at the start of a conversation or task. For a single
    question, or to get the ids that other tools take, use `recall`.
    """
    window = visit.engram.context(asked.message, budget=asked.token_budget, history=(), session=visit.session)
    blocks = [block for block in (window.standing, window.present) if block]
    text = "\n\n".join([*shortfalls(window.missing), *(blocks or [NOTHING_CONTEXT])])
    return Answer(text, _values_context(window))


def _values_context(window: Window) -> dict[str, object]:
    return {
        "tokens": window.tokens,
        "sections": {section.name: section.tokens for section in window.sections},
        "memories": [held.memory_id for held in window.holds],
        "left_out": [
            {"section": loss.section, "fate": loss.fate, "count": loss.count, "reason": loss.reason}
            for loss in window.losses
        ],
        "missing": missing_shape(window.missing),
    }


TOOL_CONTEXT = Tool(takes=Before, does=context, reads_only=True)


# The tool `dream`: consolidate the store.


class Night(Arguments, frozen=True):
    """Whether to do it, or only to tell."""

    dry_run: Annotated[bool, Meta(description="True only tells what would change")] = False


def dream(visit: Visit, asked: Night) -> Answer:
    """
    Consolidate the memory: merge duplicates, settle contradictions, draw conclusions, connect. Call it
    when the user asks or the work is done, not in the middle of a conversation: it may take a while.
    """
    report = visit.engram.dream(dry_run=asked.dry_run)
    done = "would make" if report.dry_run else "made"
    heading = f"The dream {done} {report.changed} changes{'' if report.finished else ' and was interrupted'}."
    return Answer("\n".join([heading, *(_line_dream(step) for step in report.steps)]), _values_dream(report))


def _line_dream(step: StepReport) -> str:
    counted = ", ".join(f"{action} {count}" for action, count in step.counts.items())
    why = one_line(step.why)
    return f"{step.step}: {step.outcome}" + "".join(f"; {part}" for part in (counted, why) if part)


def _values_dream(report: DreamReport) -> dict[str, object]:
    return {
        "changed": report.changed,
        "dry_run": report.dry_run,
        "finished": report.finished,
        "steps": [
            {"step": step.step, "outcome": step.outcome, "why": step.why, "counts": dict(step.counts)}
            for step in report.steps
        ],
    }


TOOL_DREAM = Tool(takes=Night, does=dream, destroys=True)


# The tool `status`: how the memory fares.
#
# Calls `Engram.status`. Counts and states only, and nothing of what other scopes hold.


class Nothing(Arguments, frozen=True):
    """It takes no arguments."""


def status(visit: Visit, _asked: Nothing) -> Answer:
    """
    Show how the memory fares: counts, what waits, what fails and since when. Call it when recalls look
    wrong or empty, or the user asks about the memory itself.
    """
    report = visit.engram.status()
    return Answer(in_words_status(report), in_values(report))


def in_words_status(report: StatusReport) -> str:
    """Return the state of the store in lines."""
    waiting = report.awaiting_reading, report.awaiting_embedding, report.awaiting_enrichment
    return "\n".join(
        [
            f"{memories(report.memories)}, {counted(report.turns, 'turn', 'turns')}, "
            f"policy {report.policy}, {report.embedder}.",
            f"Waiting: {waiting[0]} turns to be read, {waiting[1]} memories to be embedded, "
            f"{waiting[2]} to be enriched.",
            *(
                f"Fails: {part.name}: {one_line(part.failure or '')}"
                for part in report.parts
                if part.is_failing
            ),
            *(one_line(advice) for advice in report.advice),
        ]
    )


def in_values(report: StatusReport) -> dict[str, Any]:
    """
    Return the same as values; scopes are left out, since their names are not this client's business.
    """
    return {
        "memories": report.memories,
        "turns": report.turns,
        "by_status": dict(report.by_status),
        "by_layer": dict(report.by_layer),
        "policy": report.policy,
        "embedder": report.embedder,
        "waiting": {
            "reading": report.awaiting_reading,
            "embedding": report.awaiting_embedding,
            "enrichment": report.awaiting_enrichment,
        },
        "recalls": dict(report.recalls),
        "parts": [
            {
                "name": part.name,
                "failing": part.is_failing,
                "last_success": part.last_success.isoformat() if part.last_success else None,
                "failure": part.failure,
            }
            for part in report.parts
        ],
        "advice": list(report.advice),
    }


TOOL_STATUS = Tool(takes=Nothing, does=status, reads_only=True, is_idempotent=True)


# The table of tools: the few that every client is shown, and those that come with `--tools all`.

CORE: Final[tuple[Tool, ...]] = (
    REMEMBER,
    RECALL,
    TOOL_CONTEXT,
    CORRECT,
    FORGET,
    FEEDBACK,
    LIST,
)
ALL: Final[tuple[Tool, ...]] = (
    *CORE,
    TOOL_TIMELINE,
    TOOL,
    TOOL_REASON,
    TOOL_CONFIDENCE,
    TOOL_GAPS,
    TOOL_ANSWER_GAP,
    RELATE,
    PIN,
    RESTORE,
    OBSERVE,
    TOOL_DREAM,
    TOOL_STATUS,
)
SETS: Final = {"core": CORE, "all": ALL}
"""The sets by the word that chooses them."""
