"""
Actions of agents as drafts: how tasks ended, which tools ran, what the commands of a session teach.

A task is told in one sentence that can be read back, as a command is (`text.commands`): dreams make stories,
lessons and procedures of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from engramdb.lifecycle.drafts import Draft
from engramdb.text.commands import CommandRun, CommandStep, is_notable, lesson_of, parse_run, telling_steps
from engramdb.text.normalize import lazy, normalize_text
from engramdb.values import (
    Kind,
    Layer,
    Memory,
    MemoryType,
    Provenance,
    Role,
    Scope,
    Source,
    TaskOutcome,
    Turn,
    TurnId,
)

TASK, TOOL, COMMAND = "task-1", "tool-1", "command-1"
"""The extractors of what agents reported, and of what their commands taught."""
SUCCEEDED, PARTLY, FAILED, CANCELLED, AGAIN = (
    *("succeeded", "partly succeeded", "failed", "was cancelled", "was tried again"),
)
_OUTCOMES = {
    TaskOutcome.DONE: SUCCEEDED,
    TaskOutcome.PARTIAL: PARTLY,
    TaskOutcome.FAILED: FAILED,
    TaskOutcome.CANCELLED: CANCELLED,
    TaskOutcome.RETRY: AGAIN,
}
_TASK, _OF = "Task “", "” of “"
_ENDED = lazy(rf"” (?P<outcome>{'|'.join(_OUTCOMES.values())}): ")


class TaskReport(Struct, frozen=True, kw_only=True):
    """How a task ended, once, in the words that a memory has for it."""

    task: str
    result: str
    outcome: str
    parent: str | None = None

    @property
    def told(self) -> str:
        """The report as a sentence."""
        parent = f" of “{shorten(self.parent)}”" if self.parent else ""
        return f"Task “{shorten(self.task)}”{parent} {self.outcome}: {shorten(self.result)}"

    @property
    def name(self) -> str:
        """The task in the form in which two ways of writing it are equal."""
        return normalize_text(self.task)


def parse_task_report(text: str) -> TaskReport | None:
    """
    Return the report that a sentence makes, or None.

    A task and its parent end at the first marks that can end them, and neither is empty. Each end is looked
    for once: a single expression would look for one behind every beginning of a parent.
    """
    begin = len(_TASK)
    ended = _ENDED.search(text, begin + 1) if text.startswith(_TASK) else None
    if ended is None:
        return None
    task_end, parent = ended.start(), None
    middle = text.find(_OF, begin + 1, task_end)
    if middle >= 0 and (above := _ENDED.search(text, middle + len(_OF) + 1)):
        task_end, parent, ended = middle, text[middle + len(_OF) : above.start()], above
    return TaskReport(
        task=text[begin:task_end].strip(),
        result=" ".join(text[ended.end() :].split()),
        outcome=ended["outcome"],
        parent=parent,
    )


def reported_task(turn: Turn) -> Draft | None:
    """Return how a task ended that a turn of a tool tells of; None for other turns."""
    report = parse_task_report(turn.content) if turn.role is Role.TOOL else None
    if report is None:
        return None
    return task_result(
        report.task,
        report.result,
        outcome=next(outcome for outcome, told in _OUTCOMES.items() if told == report.outcome),
        parent=report.parent,
        session=turn.session,
        scope=turn.scope,
        occurred_at=turn.occurred_at,
        turns=(turn.id,),
    )


def task_result(
    task: str,
    result: str,
    *,
    outcome: TaskOutcome,
    session: str | None,
    scope: Scope,
    occurred_at: datetime,
    parent: str | None = None,
    turns: tuple[TurnId, ...] = (),
) -> Draft:
    """Return one statement of how a task ended."""
    report = TaskReport(task=task, result=result, outcome=_OUTCOMES[outcome], parent=parent)
    return Draft(
        content=report.told,
        scope=scope,
        type=MemoryType.NARRATIVE,
        category="context",
        kind=Kind.EPISODE,
        provenance=Provenance(source=Source.ASSISTANT, session=session, turns=turns),
        occurred_at=occurred_at,
        confidence=0.8,
        outcome=outcome,
        extractor=TASK,
    )


def tool_run(
    tool: str, purpose: str, *, outcome: TaskOutcome, session: str | None, scope: Scope, occurred_at: datetime
) -> Draft:
    """Return what a tool is good for, as procedural memory; further runs are counted on the same memory."""
    return Draft(
        content=f"Tool {tool}: {shorten(purpose)}",
        scope=scope,
        layer=Layer.PROCEDURAL,
        type=MemoryType.PROCEDURE,
        category="procedure",
        provenance=Provenance(source=Source.ASSISTANT, session=session),
        occurred_at=None,
        valid_from=occurred_at,
        confidence=0.7,
        outcome=outcome,
        extractor=TOOL,
        entities=(tool,),
    )


_RECORD = lazy(r"Tool [^:]+: `[^`]+`\Z|Task “`")


def is_run_record(memory: Memory) -> bool:
    """Return whether a memory only counts or notes runs of a command; what they taught is stated apart."""
    return memory.extractor in (TASK, TOOL) and bool(_RECORD.match(memory.content))


# What the commands of a session tell: how often each works, what was shipped, what failed and then worked.

LOOKBACK_TURNS = 80
"""How far back in its session a failed command is looked for."""
LESSON_IMPORTANCE = 0.6


class ToolUse(Struct, frozen=True):
    """A tool that a command ran, and what for."""

    tool: str
    purpose: str


def tool_uses(run: CommandRun) -> list[ToolUse]:
    """Return what of a command is worth counting: named tasks of build tools, tests, what ships."""
    names = dict.fromkeys((step.program, step.name) for step in telling_steps(run.command) if _counts(step))
    return [ToolUse(program, f"`{name}`") for program, name in names]


def _counts(step: CommandStep) -> bool:
    return step.name != step.program or step.is_check


def shipped(run: CommandRun, turn: Turn) -> Draft | None:
    """Return how a commit, a release, a deployment or an installation ended; None for other commands."""
    if not is_notable(run.command):
        return None
    step = next(one for one in telling_steps(run.command) if is_notable(one.line))
    came = f": {run.result}" if run.result else ""
    return task_result(
        f"`{step.name}`",
        f"`{run.command}`{came}",
        outcome=TaskOutcome.FAILED if run.is_failed else TaskOutcome.DONE,
        session=turn.session,
        scope=turn.scope,
        occurred_at=turn.occurred_at,
        turns=(turn.id,),
    )


def command_lesson(turns: Sequence[Turn]) -> Draft | None:
    """Return what the last command of a session teaches, where it worked after one that failed."""
    told = [(turn, run) for turn in turns if turn.role is Role.TOOL and (run := parse_run(turn.content))]
    found = lesson_of([run for _, run in told])
    if found is None:
        return None
    text, place = found
    last = told[-1][0]
    return Draft(
        content=text,
        scope=last.scope,
        layer=Layer.PROCEDURAL,
        type=MemoryType.PROCEDURE,
        category="procedure",
        provenance=Provenance(
            source=Source.ASSISTANT, session=last.session, turns=(told[place][0].id, last.id)
        ),
        occurred_at=last.occurred_at,
        confidence=0.8,
        importance=LESSON_IMPORTANCE,
        extractor=COMMAND,
    )


def shorten(text: str, max_characters: int = 400) -> str:
    """Return a text on one line, cut between two words where it is long."""
    whole = " ".join(text.split())
    return whole if len(whole) <= max_characters else whole[:max_characters].rsplit(" ", 1)[0] + " …"
