"""
Read actions back out of what the doors for agents stored: which task, how it ended, with which tool.

Called by the steps `procedures` and `crystals`; pure. Knows the sentences that `capture.bridges` writes, as
they stand in the store, and takes nothing else for an action.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.text.lazy import lazy
from engram.text.normal import normalise

if TYPE_CHECKING:
    from engram.values import Memory

TASK, TOOL = "task-1", "tool-1"
"""The doors, as a memory's extractor names them."""
SUCCEEDED, PARTLY, FAILED, AGAIN = "succeeded", "partly succeeded", "failed", "was tried again"

_TASK = lazy(
    rf"Task “(?P<task>.+?)” (?P<outcome>{SUCCEEDED}|{PARTLY}|{FAILED}|{AGAIN}): (?P<result>.*)", re.DOTALL
)
_TOOL = "Tool "


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a task ended, once."""

    memory: Memory
    task: str
    outcome: str
    result: str

    @property
    def name(self) -> str:
        """The task in the form in which two ways of writing it are equal."""
        return normalise(self.task)

    @property
    def is_final(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.outcome != AGAIN


def task_result(memory: Memory) -> TaskResult | None:
    """Return the result of a task that a memory tells of, or None."""
    told = _TASK.fullmatch(memory.content) if memory.extractor == TASK else None
    if told is None:
        return None
    return TaskResult(memory, told["task"].strip(), told["outcome"], " ".join(told["result"].split()))


def tool_step(memory: Memory) -> str:
    """Return what was done with a tool, as a step: `pytest: run the tests`."""
    return memory.content.removeprefix(_TOOL).strip().rstrip(".")
