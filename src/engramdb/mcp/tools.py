"""
The tools: for each verb that models get, the words that they read and how the answer is told.

`core` are the few that every client is shown; `all` has every verb that is offered to models, those without
words of their own included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from engramdb.context.lines import inline_name, one_line
from engramdb.mcp.render import (
    archived_line,
    archived_shape,
    as_data,
    day,
    hit_line,
    hit_shape,
    line,
    listed,
    missing_shape,
    said_line,
    said_shape,
    shape,
    short,
    shortfalls,
)
from engramdb.mcp.tool import CATEGORY, HIDDEN, MEMORY, SINCE, WHY, Argument, Tool, ToolAnswer, verb
from engramdb.text.dates import readable
from engramdb.text.normalize import counted, memories
from engramdb.values import (
    Act,
    Answered,
    Confidence,
    CorrectedMemory,
    EntityProfile,
    ForgottenMemory,
    Gap,
    Memory,
    MemoryList,
    Missing,
    Reasoned,
    Recall,
    Reflection,
    Source,
    StatusReport,
    Timeline,
    Turn,
    Undone,
    Window,
)
from engramdb.values.insight import DreamReport, StepReport
from engramdb.values.recall import TimelineEntry, unreadable_notes
from engramdb.verbs.memories import Unlinked
from engramdb.verbs.table import in_order
from engramdb.verbs.verb import Verb, flat_fields
from engramdb.verbs.wording import (
    NOT_REPLACED,
    answered_in_words,
    is_said_otherwise,
    reflection_lines,
)

# --- memories -----------------------------------------------------------------------------------------------


def _source(given: dict[str, Any]) -> Verb:
    given["source"] = Source.HUMAN if given.pop("from_user", False) else Source.ASSISTANT
    return verb("remember")


def _remembered(request: Any, memory: Memory) -> ToolAnswer:
    happened = "Remembered:"
    if memory.forgotten_before:
        happened = f"Remembered; the person had asked to forget this on {memory.forgotten_before}:"
    elif memory.reinforcements and is_said_otherwise(memory, request.content):
        happened = "It was known already in these words, which count for more now:"
    elif memory.reinforcements:
        happened = "It was known already and counts for more now:"
    elif memory.supersedes:
        happened = "Remembered in place of an older memory:"
    return ToolAnswer(f"{happened} {line(memory)}", {"memory": shape(memory)})


REMEMBER = Tool(
    verb=verb("remember"),
    description=(
        "Store one lasting statement for later conversations: a fact, preference, decision or lesson. Call "
        "it when you learn something worth knowing next month or the user asks to remember; one call per "
        "statement. Not for small talk, secrets, or what `recall` just gave you; if a stored memory became "
        "wrong, use `correct`."
    ),
    arguments={
        "content": Argument(
            description="One self-contained sentence: names instead of pronouns, dates instead of 'today'"
        ),
        "category": Argument(
            description="fact, preference, decision, instruction, person, project, procedure, …"
        ),
        "from_user": Argument(
            type=bool, default=False, description="True if the user said it; false if you concluded it"
        ),
        "importance": Argument(description="0 to 1"),
        "occurred_at": Argument(description="When it happened, if not now"),
        "forget_after": Argument(description="When it stops mattering"),
    },
    adjust=_source,
    render=_remembered,
)

NOTHING_FITS = "No stored memory fits. That is an answer, not an error: say that you do not know."
ONLY_SAID = "No stored memory fits. This was said and never confirmed: say so if you use it."
ARCHIVED = (
    "A line marked archived fits better than all that is remembered, but has left and may no longer hold: "
    "ask the user, and if it does, `restore` it by its id or `remember` it again."
)
NOT_KNOWN = (
    "Not known, as it seems: none of these answers it, they are only the nearest. Say so, or ask the user."
)


def recall_text(answer: Recall) -> str:
    """Return an answer as lines, what was missing from it first."""
    lines = [*(hit_line(hit) for hit in answer.hits), *(said_line(one) for one in answer.said)]
    lines += [archived_line(one) for one in answer.archived]
    warned = [NOT_KNOWN] if answer.hits and not answer.quality.is_known else []
    warned += [ONLY_SAID] if answer.said and not answer.hits else []
    warned += [ARCHIVED] if answer.archived else []
    return "\n".join([*shortfalls(answer.quality.missing), *warned, as_data(lines) or NOTHING_FITS])


def _recalled(_request: Any, answer: Recall) -> ToolAnswer:
    values: dict[str, Any] = {
        "hits": [hit_shape(hit) for hit in answer.hits],
        "missing": missing_shape(answer.quality.missing),
    }
    if answer.said:
        values["said"] = [said_shape(one) for one in answer.said]
    if answer.archived:
        values["archived"] = [archived_shape(one) for one in answer.archived]
    return ToolAnswer(recall_text(answer), values)


RECALL = Tool(
    verb=verb("recall"),
    description=(
        "Search long-term memory by meaning, words, names and time; best first, with trust. Call it before "
        "you answer about the user, their projects, people, preferences or anything said earlier, and before "
        "you ask what may be known. Not for general knowledge or for what this conversation already holds."
    ),
    arguments={
        "query": Argument(description="A question or topic"),
        "limit": Argument(description="", default=8, minimum=1, maximum=50),
        "category": CATEGORY,
        "since": SINCE,
        "until": Argument(description="ISO date; only before"),
        "as_of": Argument(description="ISO date; as believed then"),
        "valid_at": Argument(description="ISO date; as true then"),
    },
    render=_recalled,
)


def _corrected(_request: Any, memory: CorrectedMemory) -> ToolAnswer:
    values: dict[str, Any] = {"memory": shape(memory)}
    if memory.disputed is None:
        return ToolAnswer(f"Corrected; from now on: {line(memory)}", values)
    return ToolAnswer(f"{NOT_REPLACED}\nStored: {line(memory)}", values | {"disputed": memory.disputed})


def _told_about(before: str) -> Any:
    """Return what tells of one memory after some words."""
    return lambda _request, memory: ToolAnswer(f"{before} {line(memory)}", {"memory": shape(memory)})


CORRECT = Tool(
    verb=verb("correct"),
    description=(
        "Replace a stored memory that is wrong or out of date. Find it with `recall` first. Prefer this to "
        "`remember` plus `forget`: the old statement stays in the history and stops being recalled."
    ),
    arguments={
        "memory": MEMORY,
        "content": Argument(description="The whole statement as it is true now"),
        "reason": WHY,
    },
    render=_corrected,
)


def _forgotten(_request: Any, memory: ForgottenMemory) -> ToolAnswer:
    """Tell what is gone, without its words: they were to be gone."""
    values: dict[str, Any] = {"id": memory.id, "status": memory.status}
    told = f"Forgotten: {short(memory.id)}."
    if memory.displaced:
        values["displaced"] = list(memory.displaced)
        told += f" What it had superseded stays superseded: {', '.join(map(short, memory.displaced))}."
    return ToolAnswer(told, values)


FORGET = Tool(
    verb=verb("forget"),
    description=(
        "Make one memory unfindable at once; only a person can bring it back. For what the user asks to "
        "forget, or rubbish; if it is out of date, use `correct`. What is pinned or about health only the "
        "user forgets."
    ),
    arguments={"memory": MEMORY, "reason": WHY},
    render=_forgotten,
)


def _undone(_request: Any, done: Undone) -> ToolAnswer:
    told = "; ".join(_act_words(act) for act in done.undone)
    changed = (("holds again", done.back), ("no longer holds", done.gone), ("as before", done.changed))
    parts = [f"{what}: {', '.join(map(short, ids))}" for what, ids in changed if ids]
    text = ". ".join([f"Undone: {told}", *parts, f"To take that back: act={short(done.act)}"])
    return ToolAnswer(f"{text}.", msgspec.to_builtins(done))


def _act_words(act: Act) -> str:
    return f"[{short(act.id)}] {act.action} by {inline_name(act.actor.name)}, {memories(act.memories)}"


UNDO = Tool(
    verb=verb("undo"),
    description=(
        "Undo what you did last, or what happened last to a memory, with all that followed from it: what it "
        "displaced holds again. For your own mistakes and those of automatic steps; what a person did or "
        "said, what was forgotten on purpose, and what is pinned or about health only a person undoes."
    ),
    arguments={
        "memory": MEMORY,
        "act": Argument(description="Its id, from `acts`"),
        "with_later": Argument(description="True also undoes later acts that build on it"),
        "reason": WHY,
    },
    render=_undone,
)


def _acts(request: Any, found: Sequence[Act]) -> ToolAnswer:
    rows = [f"{day(act.at)} {_act_words(act)}{', undone' if act.undone_by else ''}" for act in found]
    following = found[-1].id if len(found) == request.limit else None
    values = {"acts": msgspec.to_builtins(list(found)), "next": following}
    return ToolAnswer("\n".join(rows) or "Nothing was done here.", values)


ACTS = Tool(
    verb=verb("acts"),
    description="List what was done to memories here, newest first: when, by whom, to how many; for `undo`.",
    arguments={
        "limit": Argument(description="", default=10, minimum=1, maximum=50),
        "before": Argument(description="The last id of the page before, for the next page"),
    },
    render=_acts,
)


def _listed(request: Any, found: MemoryList) -> ToolAnswer:
    following = found[-1].id if len(found) == request.limit else None
    text = listed(found) or "There are no such memories."
    if following:
        text += f"\nThere may be more: before={short(following)}"
    values: dict[str, Any] = {"memories": [shape(memory) for memory in found], "next": following}
    if found.unreadable:
        missing = unreadable_notes(found.unreadable)
        text = "\n".join([text, *shortfalls(missing)])
        values["missing"] = missing_shape(missing)
    return ToolAnswer(text, values)


LIST = Tool(
    verb=verb("list"),
    description=(
        "List memories, newest first, page by page. For an overview or an audit of what is stored; to find "
        "something, use `recall`."
    ),
    arguments={
        "limit": Argument(description="", default=20, minimum=1, maximum=100),
        "before": Argument(description="The last id of the page before, for the next page"),
        "category": CATEGORY,
        "since": SINCE,
    },
    render=_listed,
)


PIN = Tool(
    verb=verb("pin"),
    description=(
        "Keep a memory from fading and every other automatic loss. Only for what must never be lost, such as "
        "an allergy or a standing rule; most memories should be free to age. Only the user unpins it."
    ),
    arguments={"memory": MEMORY},
    render=_told_about("Pinned:"),
)

RESTORE = Tool(
    verb=verb("restore"),
    description=(
        "Bring back a memory that aging archived or pruned and that turns out to be needed. Not for what was "
        "forgotten on purpose: only a person brings that back."
    ),
    arguments={"memory": MEMORY, "reason": WHY},
    render=_told_about("Restored:"),
)


def _feedback(_request: Any, memory: Memory) -> ToolAnswer:
    values = {"id": memory.id, "helped": memory.helped, "unhelpful": memory.unhelpful}
    told = f"helped {memory.helped}, did not help {memory.unhelpful}"
    return ToolAnswer(f"Noted for {short(memory.id)}: {told}.", values)


FEEDBACK = Tool(
    verb=verb("feedback"),
    description=(
        "Report whether a recalled memory helped, so that later answers rank better. Unhelpful with `query` "
        "keeps it from such questions for a while. For a memory that is wrong, use `correct`."
    ),
    arguments={
        "memory": MEMORY,
        "helpful": Argument(description="Whether it helped"),
        "query": Argument(description="The question it was recalled for"),
    },
    render=_feedback,
)


def _link_or_unlink(given: dict[str, Any]) -> Verb:
    return verb("link" if given.pop("linked", True) else "unlink")


def _linked(request: Any, outcome: Any) -> ToolAnswer:
    words = f"{short(request.id)} {request.type} {short(request.other)}"
    if not isinstance(outcome, Unlinked):
        return ToolAnswer(f"Linked: {words}.", {"linked": True})
    done = "Unlinked" if outcome.was_there else "There was no such link"
    return ToolAnswer(f"{done}: {words}.", {"linked": False})


LINK = Tool(
    verb=verb("link"),
    description=(
        "Link two memories, so that recalling one brings the other: a cause and its effect, evidence for a "
        "claim, two statements that cannot both be true."
    ),
    arguments={
        "memory": MEMORY,
        "other": Argument(description=MEMORY.description),
        "type": Argument(
            choices=Literal["related_to", "supports", "contradicts", "caused_by", "instance_of"],
            description="What the first is to the other",
            default="related_to",
        ),
        "linked": Argument(type=bool, default=True, description="False takes the link away"),
    },
    adjust=_link_or_unlink,
    render=_linked,
)


def _observed(_request: Any, turn: Turn) -> ToolAnswer:
    return ToolAnswer(f"Kept as turn {short(turn.id)}.", {"turn": turn.id, "session": turn.session})


OBSERVE = Tool(
    verb=verb("observe"),
    description=(
        "Keep one message of the conversation word for word; memories are drawn from it in the background. "
        "For agents that record whole conversations. To store a single statement, use `remember`."
    ),
    arguments={
        "content": Argument(description="The message, word for word"),
        "role": Argument(description="Who spoke"),
        "speaker": Argument(description="Who said it, by name"),
        "occurred_at": Argument(description="When, if not now"),
    },
    render=_observed,
)

REPORT_TASK = Tool(
    verb=verb("capture_task_result"),
    description=(
        "Report how a task that you worked on ended, done or not, so that later work can learn from it. Call "
        "it once for each task at its end. Not for single commands: use `report_tool_run`."
    ),
    arguments={
        "task": Argument(description="What was to be done, in the same words each time"),
        "result": Argument(description="What came of it: what worked, or why it did not"),
        "outcome": Argument(description="How it ended"),
        "parent": Argument(description="The larger task that it is part of"),
    },
    render=_told_about("Noted:"),
)

REPORT_TOOL_RUN = Tool(
    verb=verb("capture_tool_run"),
    description=(
        "Report a run of a tool or command that built, tested or shipped something. With `command` and "
        "`output`, what failed and then worked is learned; steps that recur become a procedure. Not for "
        "looking around."
    ),
    arguments={
        "tool": Argument(description="The program, such as pytest"),
        "purpose": Argument(description="What it was run for, in the same words each time"),
        "outcome": Argument(description="How it ended"),
        "command": Argument(description="The command line, where there was one"),
        "output": Argument(description="The end of what it printed"),
    },
    render=_told_about("Counted:"),
)

# --- questions ----------------------------------------------------------------------------------------------


def _timeline(_request: Any, found: Timeline) -> ToolAnswer:
    told = as_data(map(_entry_line, found.entries)) or "Nothing is known of it."
    return ToolAnswer(told, {"entries": [_entry_shape(entry) for entry in found.entries]})


def _entry_line(entry: TimelineEntry) -> str:
    instead = f" in place of {_was(entry.replaced)}" if entry.replaced else ""
    against = f" against {short(entry.disputed.id)}" if entry.disputed else ""
    why = f" ({one_line(entry.reason)})" if entry.reason else ""
    return f"{day(entry.at)} {entry.change}{instead}{against}{why}: {line(entry.memory)}"


def _was(old: Memory) -> str:
    """Return what held before, and from when to when."""
    until = "" if old.valid_to is None else f" (true {day(old.holds_from)} to {day(old.valid_to)})"
    return f'[{short(old.id)}] "{one_line(readable(old))}"{until}'


def _entry_shape(entry: TimelineEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(),
        "change": entry.change,
        "memory": shape(entry.memory),
        "replaced": shape(entry.replaced) if entry.replaced else None,
        "reason": entry.reason,
    }


TIMELINE = Tool(
    verb=verb("timeline"),
    description=(
        "Show how the knowledge of a topic changed: learned, confirmed, corrected, disputed, removed; oldest "
        'first. For "since when" and "what was it before".'
    ),
    arguments={
        "topic": Argument(description="In a few words"),
        "limit": Argument(description="", default=20, minimum=1, maximum=100),
    },
    render=_timeline,
)


def _entity(_request: Any, found: EntityProfile) -> ToolAnswer:
    names = ", ".join(inline_name(one) for one in (found.entity.name, *found.aliases))
    related = "; ".join(
        one_line(" ".join(part for part in (one.subject, one.predicate, one.object) if part))
        for one in found.relations
    )
    company = ", ".join(f"{inline_name(one.entity.name)} ({one.memories})" for one in found.companions)
    told = {"Names": names, "Relations": related, "Appears with": company}
    known = [memory for layer in found.memories.values() for memory in layer]
    headings = (f"{title}: {text}" for title, text in told.items() if text)
    return ToolAnswer(as_data([*headings, *map(line, known)]), _entity_values(found, known))


def _entity_values(found: EntityProfile, known: Sequence[Memory]) -> dict[str, Any]:
    return {
        "name": found.entity.name,
        "aliases": list(found.aliases),
        "memories": [shape(memory) for memory in known],
        "relations": [
            {"subject": one.subject, "predicate": one.predicate, "object": one.object, "id": one.memory_id}
            for one in found.relations
        ],
        "appears_with": {one.entity.name: one.memories for one in found.companions},
        "months": dict(found.months),
        "namesakes": [{"name": one.name, "id": one.id} for one in found.namesakes],
    }


ENTITY = Tool(
    verb=verb("entity"),
    description=(
        "Show all that is known about one person, project or thing by name: memories, relations, who appears "
        "with it. For a question about it, `recall` is enough."
    ),
    arguments={
        "name": Argument(description="Any name it goes by"),
        "limit": Argument(description="", default=10, minimum=1, maximum=50),
    },
    render=_entity,
)


def _reasoned(_request: Any, found: Reasoned) -> ToolAnswer:
    missing: list[Missing] = list(dict.fromkeys(one for node in found.tree.walk() for one in node.missing))
    cited = ", ".join(short(one) for one in found.cited)
    answer = (
        f"Answer: {one_line(found.answer)} [{cited}]" if found.answer else f"No answer: {one_line(found.why)}"
    )
    questions = "; ".join(one_line(node.question) for node in found.tree.walk() if node.level > 1)
    evidence = as_data(hit_line(hit) for hit in found.evidence) or "No stored memory fits."
    also = [f"Also asked: {questions}"] if questions else []
    values = {
        "answer": found.answer,
        "why": found.why,
        "cited": list(found.cited),
        "evidence": [hit_shape(hit) for hit in found.evidence],
        "missing": missing_shape(missing),
        "failures": list(found.failures),
        "model_tokens": found.tokens,
    }
    return ToolAnswer("\n".join([*shortfalls(missing), answer, *also, evidence]), values)


REASON = Tool(
    verb=verb("reason"),
    description=(
        "Answer a question that needs several memories together: it is split, each part is recalled, and "
        "names found are followed. Slower than `recall`, and may ask a chat model; try `recall` first."
    ),
    arguments={
        "question": Argument(description="In full"),
        "depth": Argument(description="", default=3, minimum=1, maximum=5),
    },
    render=_reasoned,
)


def _confidence(_request: Any, found: Confidence) -> ToolAnswer:
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
    return ToolAnswer("\n".join([*incomplete, told]), values)


CONFIDENCE = Tool(
    verb=verb("confidence"),
    description=(
        "Tell how well a question is covered: confident, uncertain or unknown, and why. For deciding whether "
        "to answer from memory or to ask; it gives no memories, `recall` does."
    ),
    arguments={"query": Argument(description="A question or topic")},
    render=_confidence,
)

NO_GAPS = "No question is open. Dreams find them; the last one found none, or there was none yet."


def gaps_text(found: Sequence[Gap]) -> str:
    """Return open questions as lines."""
    return as_data(f"[{gap.id}] ({gap.kind}) {one_line(gap.question)}" for gap in found) or NO_GAPS


def _gaps(_request: Any, found: Sequence[Gap]) -> ToolAnswer:
    shown = [
        {"id": gap.id, "kind": gap.kind, "question": gap.question, "memories": list(gap.memories)}
        for gap in found
    ]
    return ToolAnswer(gaps_text(found), {"gaps": shown})


GAPS = Tool(
    verb=verb("gaps"),
    description=(
        "List open questions about what is stored: missing facts, contradictions, beliefs grown old. For a "
        "pause in which the user may be asked one; put their reply into `answer`."
    ),
    arguments={"limit": Argument(description="", default=10, minimum=1, maximum=50)},
    render=_gaps,
)


def _answered(_request: Any, answered: Answered) -> ToolAnswer:
    told = [f"{_capitalized(answered_in_words(answered))}."]
    told += [f"Holds: {line(memory)}" for memory in answered.holds]
    told += [f"Gone: {line(memory)}" for memory in answered.retired]
    told += [f"It had superseded: {line(one)}" for one in answered.displaced]
    values = {
        "outcome": answered.outcome,
        "gap": answered.question.id,
        "holds": [shape(memory) for memory in answered.holds],
        "retired": [shape(memory) for memory in answered.retired],
        "displaced": [shape(memory) for memory in answered.displaced],
    }
    return ToolAnswer("\n".join(told), values)


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]


def _reflected(_request: Any, found: Reflection) -> ToolAnswer:
    lines = reflection_lines(found)
    rest = {name: found.counts[name] - len(told) for name, told in lines.items()}
    told = [
        f"({name}) {one_line(line)}"
        for name, group in lines.items()
        for line in [*group, *([f"and {rest[name]} more"] if rest[name] else [])]
    ]
    seen = memories(found.memories) + ("" if found.is_whole else ", the newest")
    head = f"Looked at {seen}; {found.never_recalled:.0%} were never recalled."
    values = {
        "memories": found.memories,
        "is_whole": found.is_whole,
        "never_recalled": found.never_recalled,
        "withheld": found.withheld,
        **{name: list(group) for name, group in lines.items()},
    }
    return ToolAnswer("\n".join([head, as_data(told)] if told else [head]), values)


REFLECT = Tool(
    verb=verb("reflect"),
    description=(
        "Look at the memory itself: what is stored twice, old and unconfirmed, disputed, doubtful after a "
        "change, open as a question, never recalled. For tidying up with the user; it changes nothing."
    ),
    arguments={"limit": Argument(description="", default=5, minimum=1, maximum=50)},
    render=_reflected,
)

ANSWER = Tool(
    verb=verb("answer"),
    description=(
        "Pass on the user's reply to an open question, from `gaps` or a context: it confirms, retires or "
        "replaces what was asked about. Never make an answer up: without a reply, leave it open."
    ),
    arguments={
        "gap": Argument(field="id", description="Its id, or the last 8 characters"),
        "answer": Argument(
            description="yes, no, first, second, both, neither, not now, or what holds instead"
        ),
    },
    render=_answered,
)

NOTHING_BEARS = "Nothing stored bears on this message."


def _context(_request: Any, window: Window) -> ToolAnswer:
    blocks = [block for block in (window.standing, window.present) if block]
    values = {
        "tokens": window.tokens,
        "sections": {section.name: section.tokens for section in window.sections},
        "memories": [held.memory_id for held in window.holds],
        "left_out": [
            {"section": loss.section, "fate": loss.fate, "count": loss.count, "reason": loss.reason}
            for loss in window.losses
        ],
        "missing": missing_shape(window.missing),
    }
    return ToolAnswer("\n\n".join([*shortfalls(window.missing), *(blocks or [NOTHING_BEARS])]), values)


CONTEXT = Tool(
    verb=verb("context"),
    description=(
        "Get what memory holds for the message at hand in one compact block: standing wishes, people, "
        "skills, recalled facts, open questions. Call it once at the start of a conversation or task. For a "
        "single question, or to get the ids that other tools take, use `recall`."
    ),
    arguments={
        "message": Argument(description="The user's message or the task, in its own words"),
        "token_budget": Argument(field="budget", description="", default=1500, minimum=100, maximum=50_000),
    },
    render=_context,
)

# --- the whole store ----------------------------------------------------------------------------------------


def _dreamed(_request: Any, report: DreamReport) -> ToolAnswer:
    done = "would make" if report.dry_run else "made"
    heading = f"The dream {done} {report.changed} changes{'' if report.finished else ' and was interrupted'}."
    values = {
        "changed": report.changed,
        "dry_run": report.dry_run,
        "finished": report.finished,
        "steps": [
            {"step": step.step, "outcome": step.outcome, "why": step.why, "counts": dict(step.counts)}
            for step in report.steps
        ],
    }
    return ToolAnswer("\n".join([heading, *map(_step_line, report.steps)]), values)


def _step_line(step: StepReport) -> str:
    counts = ", ".join(f"{action} {count}" for action, count in step.counts.items())
    return f"{step.step}: {step.outcome}" + "".join(
        f"; {part}" for part in (counts, one_line(step.why)) if part
    )


DREAM = Tool(
    verb=verb("dream"),
    description=(
        "Consolidate the memory: merge duplicates, settle contradictions, draw conclusions, connect. Call it "
        "when the user asks or the work is done, not in the middle of a conversation: it may take a while."
    ),
    arguments={"dry_run": Argument(description="True only tells what would change")},
    render=_dreamed,
)


def status_text(report: StatusReport) -> str:
    """Return the state of the store in lines."""
    fails = (
        f"Fails: {part.name}: {one_line(part.failure or '')}" for part in report.parts if part.is_failing
    )
    return "\n".join(
        [
            f"{memories(report.memories)}, {counted(report.turns, 'turn', 'turns')} "
            f"({report.turns_without_memories} read that left no memory), "
            f"policy {report.policy}, {report.embedder}.",
            f"Waiting: {report.awaiting_reading} turns to be read, {report.awaiting_embedding} memories to "
            f"be embedded, {report.awaiting_enrichment} to be enriched, {report.awaiting_judgment} to be "
            "judged.",
            *fails,
            *map(one_line, report.advice),
        ]
    )


def _status(_request: Any, report: StatusReport) -> ToolAnswer:
    """Tell counts and states; the names of scopes are not this client's business."""
    values = {
        "memories": report.memories,
        "turns": report.turns,
        "turns_without_memories": report.turns_without_memories,
        "by_status": dict(report.by_status),
        "by_layer": dict(report.by_layer),
        "policy": report.policy,
        "embedder": report.embedder,
        "reader": report.reader,
        "judge": report.judge,
        "waiting": {
            "reading": report.awaiting_reading,
            "embedding": report.awaiting_embedding,
            "enrichment": report.awaiting_enrichment,
            "judgment": report.awaiting_judgment,
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
    return ToolAnswer(status_text(report), values)


STATUS = Tool(
    verb=verb("status"),
    description=(
        "Show how the memory fares: counts, what waits, what fails and since when. Call it when recalls look "
        "wrong or empty, or the user asks about the memory itself."
    ),
    arguments={},
    render=_status,
)

# --- the table ----------------------------------------------------------------------------------------------

CORE: Final[tuple[Tool, ...]] = (REMEMBER, RECALL, CONTEXT, CORRECT, FORGET, FEEDBACK, LIST, ANSWER)
ALL: Final[tuple[Tool, ...]] = (
    *CORE,
    TIMELINE,
    ENTITY,
    REASON,
    CONFIDENCE,
    GAPS,
    REFLECT,
    LINK,
    PIN,
    RESTORE,
    UNDO,
    ACTS,
    OBSERVE,
    REPORT_TASK,
    REPORT_TOOL_RUN,
    DREAM,
    STATUS,
)


def tool_set(name: str) -> tuple[Tool, ...]:
    """Return the tools of `core`, or of `all` with those that have no words of their own."""
    if name == "core":
        return CORE
    known = {tool.name for tool in ALL}
    return (*ALL, *(plain_tool(one) for one in in_order() if one.mcp and one.mcp not in known))


def plain_tool(declared: Verb) -> Tool:
    """Return the tool of a verb that has no words of its own for models."""
    names = [one.flat_name("mcp") for one in flat_fields(declared.request, "mcp")]
    shown = {("memory" if name == "id" else name): name for name in names if name not in HIDDEN}
    arguments = {name: MEMORY if field == "id" else Argument() for name, field in shown.items()}
    return Tool(
        verb=declared, description=" ".join(declared.help.split()), arguments=arguments, render=_as_data
    )


def _as_data(_request: Any, answer: Any) -> ToolAnswer:
    """Return any answer as JSON, one value to a line, quoted as data."""
    values = msgspec.to_builtins(answer, str_keys=True)
    rows = values if isinstance(values, list) else [values]
    text = as_data(one_line(msgspec.json.encode(row).decode()) for row in rows)
    return ToolAnswer(text or "Nothing.", values if isinstance(values, Mapping) else {"result": values})
