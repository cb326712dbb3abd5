"""
The fault matrix: every part × every fault × every verb.

Each cell works, or degrades and says so, or refuses with a documented error; nothing that was stored is lost,
no thread dies, nothing hangs past its deadline, and once the part is back the store is whole. A sample runs
by default, the same one every time; ENGRAM_FAULTS=all runs all cells, and ENGRAM_FAULTS_REPORT names a file
for the counts.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from faults import (
    COMES_BACK,
    FAULTS,
    LIES,
    MARKER,
    NOT_APPLICABLE,
    PARTS,
    VANISHES,
    Bench,
    all_ids,
    exhaust,
    make_template,
    prepare,
    request_for,
)

from engramdb import Engram, EngramError
from engramdb.health import CHAT, RERANKER
from engramdb.testing import TinyEmbedder
from engramdb.verbs.table import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN_ALL = os.environ.pop("ENGRAM_FAULTS", None) == "all"  # taken out: they are no settings
REPORT = os.environ.pop("ENGRAM_FAULTS_REPORT", None)
ALWAYS = ("remember", "recall", "observe", "flush")
SAMPLED = 2
"""Further verbs of each part and fault, drawn by seed."""
DEADLINE_SECONDS = 10.0
"""No call takes longer, on a busy machine either; the parts' own deadlines here are fractions of a second."""
REMOVING = frozenset({"erase", "forget_turn"})
"""Verbs after which something is rightly gone."""
DOCUMENTED = (Path(__file__).parents[2] / "docs/reference/errors.md").read_text(encoding="utf-8")

CELLS = [(part, fault) for part in PARTS for fault in FAULTS if (part, fault) not in NOT_APPLICABLE]
OUTCOMES: Counter[tuple[str, str, str]] = Counter()


def verbs_of(part: str, fault: str) -> list[str]:
    """Return the verbs that a part's fault is tried with: all, or the same few every time."""
    if RUN_ALL:
        return list(VERBS)
    others = sorted(set(VERBS) - set(ALWAYS))
    return [*ALWAYS, *random.Random(f"{part} {fault}").sample(others, SAMPLED)]  # noqa: S311 - a sample, no secret


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with something for every verb."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    return path, make_template(path)


@pytest.fixture(scope="module")
def baseline(
    template: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str | None]:
    """What each verb gives without a fault: None, or the code that its example is refused with."""
    path, ids = template
    found: dict[str, str | None] = {}
    for verb in VERBS:
        folder = tmp_path_factory.mktemp("baseline")
        with pytest.MonkeyPatch.context() as patch:
            bench = Bench(folder, path, patch)
            bench.path.write_bytes(path.read_bytes())
            with bench.open() as engram:
                try:
                    request_for(verb, ids, folder).call(engram)
                    found[verb] = None
                except EngramError as refused:
                    found[verb] = refused.code
    return found


@pytest.fixture(scope="module", autouse=True)
def _report() -> Iterator[None]:
    yield
    if REPORT:
        rows = [[*cell, count] for cell, count in sorted(OUTCOMES.items())]
        Path(REPORT).write_text(json.dumps(rows, indent=1), encoding="utf-8")


def test_every_verb_can_be_called_and_most_work(baseline: dict[str, str | None]) -> None:
    """A verb that is missing from the matrix, or whose example never works, would prove nothing."""
    assert set(baseline) == set(VERBS)
    assert {verb for verb, code in baseline.items() if code is not None} <= {
        "answer",
        "promote",
        "close_gap",
        "unmerge",
        "undo",
        "entity",
        "imported_from",
        "resume",
    }


@pytest.mark.parametrize(("part", "fault"), CELLS, ids=lambda one: one.replace(" ", "-"))
def test_a_fault_is_contained(
    part: str,
    fault: str,
    template: tuple[Path, dict[str, str]],
    baseline: dict[str, str | None],
    tmp_path: Path,
) -> None:
    """Every verb works, says what is missing, or refuses by a documented code, and is whole again later."""
    wrong = []
    for number, verb in enumerate(verbs_of(part, fault)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            bench = Bench(folder, template[0], patch)
            with bench.stack:
                try:
                    prepare(bench, part, fault)
                    run = _killed_cell if part == "process" else _cell
                    cell = Cell(part, fault, verb, template[1], baseline[verb])
                    outcome = run(bench, cell)
                    OUTCOMES[part, fault, outcome] += 1
                except AssertionError as error:
                    wrong.append(f"{part} {fault} {verb}: {error}")
                except Exception as error:  # noqa: BLE001 - whatever it is, it is no error of ours
                    wrong.append(f"{part} {fault} {verb}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


class Cell(NamedTuple):
    """A part, a fault, a verb, the ids of the template, and the code that the verb has without a fault."""

    part: str
    fault: str
    verb: str
    ids: dict[str, str]
    expected: str | None


def _cell(bench: Bench, cell: Cell) -> str:
    """Run one cell and return its outcome."""
    part, fault, verb, ids, expected = cell
    try:
        engram = bench.open(background=part in ("embedder", "chat model") and verb in ("observe", "flush"))
    except EngramError as refused:
        return _after(bench, _refused(refused), verb, ids, kept=set())
    kept = set() if part == "permission" and fault != COMES_BACK else all_ids(engram)
    bench.before()
    if fault == COMES_BACK and bench.part is not None:
        exhaust(engram, bench)
        bench.repair()
        engram._parts.guard.half_open()
        exhaust(engram, bench)
        assert not engram._parts.guard.states(), "it is back, and still left alone"
    elif fault == COMES_BACK:
        bench.repair()
    outcome = _call(bench, engram, verb, ids, expected)
    outcome = outcome if outcome != "works" or not _tells(bench, engram) else "degrades and says so"
    if fault == COMES_BACK:
        is_whole = outcome == "works" or bench.part == CHAT  # its replies fit no question: each is noted
        assert is_whole, f"it is back, and the verb still {outcome}"
    begun = time.monotonic()
    bench.faulty.released.set()
    try:
        engram.close()
    except EngramError:
        assert bench.is_store_fault
    assert time.monotonic() - begun < DEADLINE_SECONDS, "closing took too long"
    lost_by_fault = part == "disk" and fault in (LIES, VANISHES)
    return _after(bench, outcome, verb, ids, kept=set() if lost_by_fault else kept)


def _call(bench: Bench, engram: Engram, verb: str, ids: dict[str, str], expected: str | None) -> str:
    request = request_for(verb, ids, bench.folder, reranked=bench.part == RERANKER)
    begun = time.monotonic()
    try:
        answer = request.call(engram)
        outcome = "degrades and says so" if _is_degraded(answer) else "works"
    except EngramError as refused:
        outcome = "works" if refused.code == expected else _refused(refused)
    assert time.monotonic() - begun < DEADLINE_SECONDS, "the call took too long"
    return outcome


def _is_degraded(answer: object) -> bool:
    quality = getattr(answer, "quality", None)
    return bool(
        getattr(quality, "missing", ()) or getattr(answer, "missing", ()) or getattr(answer, "failures", ())
    )


def _refused(error: EngramError) -> str:
    assert f"`{error.code}`" in DOCUMENTED or error.code in DOCUMENTED, f"{error.code} is not documented"
    assert MARKER not in str(error), "the error quotes a memory"
    return f"refuses with {error.code}"


def _tells(bench: Bench, engram: Engram) -> bool:
    """Return whether status names the part; it must never quote a memory, nor lose a thread."""
    try:
        report = engram.status()
    except EngramError:
        assert bench.is_store_fault, "status failed although the store is fine"
        return True
    told = f"{report.parts} {report.advice} {report.breakers} {report.workers}"
    assert MARKER not in told, "status quotes a memory"
    for worker in report.workers:
        assert worker.is_alive or not worker.waiting, f"the thread {worker.name} is dead"
        assert not [job.name for job in worker.jobs if job.is_given_up], "a job was given up"
    names = {one.name for one in report.parts if one.is_failing}
    return bench.part in names or "E5022" in told


def _after(bench: Bench, outcome: str, verb: str, ids: dict[str, str], *, kept: set[str]) -> str:
    """Mend the part and look at the store with healthy ones: nothing is lost, everything works."""
    bench.repair()
    with Engram.open(bench.path, embedder=TinyEmbedder(), background=False) as engram:
        lost = kept - all_ids(engram)
        assert not lost or verb in REMOVING, f"{len(lost)} memories or turns are lost"
        engram.flush()
        engram.embed_pending()
        answer = engram.recall(f"where is the dog of {MARKER}?")
        assert answer.hits
        assert not answer.quality.is_degraded, f"it is not whole again: {answer.quality.missing}"
        assert engram.remember("and it goes on").id in all_ids(engram)
        report = engram.doctor(fix=True)
        assert report.ok, [check for check in report.checks if not check.ok]
    return outcome


CALL_AND_DIE = """
    import os, random, signal, sys, threading
    sys.path.insert(0, sys.argv[4])
    from faults import request_for
    import json
    from engramdb import Engram
    from engramdb.testing import TinyEmbedder
    path, verb, ids = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    engram = Engram.open(path, embedder=TinyEmbedder(), background=False)
    request = request_for(verb, ids, __import__("pathlib").Path(path).parent)
    delay = random.Random(verb).random() * 0.02
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
    while True:
        try:
            request.call(engram)
        except Exception:
            pass
"""


def _killed_cell(bench: Bench, cell: Cell) -> str:
    """Kill a process without warning in the middle of a verb."""
    _, fault, verb, ids, _ = cell
    if fault != VANISHES:
        return "works"
    with bench.open() as engram:
        kept = all_ids(engram)
    script = [sys.executable, "-c", textwrap.dedent(CALL_AND_DIE), str(bench.path), verb, json.dumps(ids)]
    died = subprocess.run(
        [*script, str(Path(__file__).parents[1])], capture_output=True, check=False, timeout=60
    )
    assert died.returncode == -9, died.stderr[-300:]
    return _after(bench, "was killed, and the next process finds all", verb, ids, kept=kept)
