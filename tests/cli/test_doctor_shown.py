"""How `engram doctor` tells what it found: in columns, and each deed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb.cli.output import show_doctor
from engramdb.values import Check, DoctorReport

if TYPE_CHECKING:
    import pytest


def test_what_was_done_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """One rebuild mends several things; every verdict is as wide as the others."""
    done = "rebuilt every derived index"
    report = DoctorReport(
        checks=(
            Check(name="file", ok=True, found="adds up"),
            Check(name="text index", ok=True, found="agrees", repaired=True, did=done),
            Check(name="vectors", ok=True, found="complete", repaired=True, did=done),
            Check(name="embedder", ok=False, found="does not answer"),
            Check(name="embedded", ok=True, found="1 memory waits", waits=True),
        )
    )

    show_doctor(report)

    assert capsys.readouterr().out.splitlines() == [
        "ok        file: adds up",
        "repaired  text index: agrees",
        "repaired  vectors: complete",
        "WRONG     embedder: does not answer",
        "waits     embedded: 1 memory waits",
        f"done      {done}",
    ]
