"""The sentence that tells how a task ended is read back as it was told."""

from __future__ import annotations

import time

import pytest

from engramdb.capture.actions import TaskReport, parse_task_report


@pytest.mark.parametrize("parent", [None, "release 2.0", "say “no” to it"])
@pytest.mark.parametrize("task", ["ship it", "read the “of” page", "of “nothing"])
@pytest.mark.parametrize("outcome", ["succeeded", "partly succeeded", "was tried again"])
def test_a_report_is_read_back_as_it_was_told(task: str, parent: str | None, outcome: str) -> None:
    """Quotation marks inside a name end nothing."""
    report = TaskReport(task=task, result="two of three: done", outcome=outcome, parent=parent)

    assert parse_task_report(report.told) == report


@pytest.mark.parametrize(
    ("text", "task", "parent", "result"),
    [
        ("Task “a” failed: b” failed: c", "a", None, "b” failed: c"),
        ("Task “a” failed: b” of “c” failed: d", "a", None, "b” of “c” failed: d"),
        ("Task “a” of “b” of “c” failed: d", "a", "b” of “c", "d"),
        ("Task “a” of “” failed: d", "a” of “", None, "d"),
        ("Task “a” of “” failed: b” failed: d", "a", "” failed: b", "d"),
    ],
)
def test_the_first_marks_that_can_end_a_name_end_it(
    text: str, task: str, parent: str | None, result: str
) -> None:
    """A name is never empty, and what follows the first outcome is the result."""
    assert parse_task_report(text) == TaskReport(task=task, result=result, outcome="failed", parent=parent)


@pytest.mark.parametrize(
    "text", ["", "Task “a”", "Task “” failed: b", "a Task “a” failed: b", "Task “a” fails: b"]
)
def test_other_sentences_are_no_reports(text: str) -> None:
    """Only the whole sentence in its own words is one."""
    assert parse_task_report(text) is None


@pytest.mark.usefixtures("collector_at_rest")
@pytest.mark.parametrize("piece", ["Task “a” of “a", "” of “", "” failed", "“"])
def test_a_hostile_report_costs_little(piece: str) -> None:
    """A quarter of a megabyte of beginnings is read in a blink; a square of it would take minutes."""
    text = "Task “" + piece * (250_000 // len(piece))
    begin = time.thread_time()

    parse_task_report(text)

    assert time.thread_time() - begin < 0.5
