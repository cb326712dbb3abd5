"""
What a later session is given of earlier ones: coding sessions through the hooks, as agent programs call them.

    python -m evals.sessions [--sealed] [--client codex] [--processes 5] [--show]

Each session is sent event by event to the code behind `engram hook`, a store opened for every event as there.
Later prompts come in fresh sessions, each to its own copy of the store. *Kept*: a memory holds the wanted
item. *Injected*: a line of the block that the session began with, or of the prompt's, holds it (most of its
words). *Useless*: a line that holds nothing that was wanted for the prompt. *Noise*: a line at the start
that a blind reader of all that was kept called worth nothing weeks later (`values_*.jsonl`; `--dump` writes
what is to be valued). Beside it, in the same run, every
sentence of every step stored as it is, and what recall gives with the same filter, and without one. The
sessions and prompts were written blind (evals/sessions).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, field

from engramdb import Draft, Engram, Scope, Settings
from engramdb.context.fitting import fitting
from engramdb.hooks.detached import HookWork, serve
from engramdb.hooks.events import PROGRAMS, HookCall, parse
from engramdb.hooks.respond import MAX_HITS, SESSION_TOKENS
from engramdb.hooks.run import is_wanted
from engramdb.models.capabilities import counter_for
from engramdb.testing import ManualClock
from engramdb.text.sentences import sentences
from engramdb.text.tokens import USUAL
from engramdb.values import Actor, ActorKind
from evals.report import holds
from evals.session_programs import PROGRAM_DOUBLES, Step, ToldEvent
from training.report import interval

SESSIONS = Path(__file__).parent / "sessions"
DAYS_AFTER = 3
"""When the later prompts come, counted from the last session."""
STEP_MINUTES = 2.0
MAX_MEMORIES = 200
TOP = 5
GREETING = "hi"
"""The first prompt to a program that is given what stands with it."""
MODELS = "models"
"""The folder of installed packs in a home."""
VALUED_CHARACTERS = 60
"""So much of a memory tells which one a line is."""
Given: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""The lines that a session began with, and those that its first prompt was given."""


class SessionScore(Struct):
    """What was counted."""

    shares: defaultdict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    seconds: list[float] = field(default_factory=list)
    start_tokens: list[int] = field(default_factory=list)
    values: Mapping[str, int] = field(default_factory=dict)
    """What a blind reader gave each memory: 0 for noise, 1, or 2 for what a colleague should know."""
    dumped: dict[str, str] = field(default_factory=dict)
    """What was kept, and by whom it was said."""


class HookedMemory:
    """A memory behind the hooks of one program, in a folder of its own."""

    def __init__(self, home: Path, client: str, settings: Settings, clock: ManualClock) -> None:
        self._settings = Settings(
            home=home, embedder=settings.embedder, reader=settings.reader, policy=settings.policy
        )
        self._clock = clock
        self.client = client
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        if not (home / MODELS).exists():
            (home / MODELS).symlink_to(settings.home / MODELS)

    def open(self) -> Engram:
        """Open the store as a hook does."""
        return Engram.open(
            settings=self._settings,
            scope=Scope(user="dev"),
            actor=Actor(name=self.client, kind=ActorKind.AGENT),
            clock=self._clock,
            background=False,
        )

    def send(self, told: ToldEvent) -> str:
        """Let one event be served, and return what it was answered with."""
        name, payload = told
        internal = PROGRAMS[self.client].events.get(name)
        if internal is None:
            return ""
        event = parse(json.dumps(payload).encode(), name=internal)
        if not is_wanted(event, PROGRAMS[self.client]):
            return ""
        call = HookCall(event=name, client=self.client, user="dev")
        work = HookWork(call=call, event=event, settings=self._settings, until=time.monotonic() + 60)
        answers: list[bytes] = []
        with self.open() as engram:
            serve(work, engram, answer=answers.append, done=lambda: None)
        return "".join(_block(answer) for answer in answers)


def work_through(project: Mapping[str, Any], memory: HookedMemory, clock: ManualClock, logs: Path) -> None:
    """Let every session happen, event by event."""
    begun = clock.now()
    double = PROGRAM_DOUBLES[memory.client]
    for number, session in enumerate(project["sessions"]):
        clock.set(begun + timedelta(days=session["day"]))
        program = double(f"{project['project']}-{number}", logs)
        memory.send(program.start())
        for step in session["steps"]:
            clock.advance(minutes=STEP_MINUTES)
            for told in program.step(step, clock.now()):
                memory.send(told)
        memory.send(program.end())
    clock.advance(days=DAYS_AFTER)


def ask_hooks(prompt: str, memory: HookedMemory, clock: ManualClock, logs: Path, number: int) -> Given:
    """Return what a fresh session and its first prompt are given."""
    program = PROGRAM_DOUBLES[memory.client](f"later-{number}", logs)
    start = memory.send(program.start())
    if PROGRAMS[memory.client].begins_with_prompt:
        start = memory.send(program.prompt(GREETING, clock.now()))
    answer = memory.send(program.prompt(prompt, clock.now()))
    return _lines(start), _lines(answer)


def hooked(
    project: Mapping[str, Any], client: str, settings: Settings, score: SessionScore, *, show: bool
) -> Path:
    """Measure what the hooks of a program do, and return the home that they left."""
    home = Path(tempfile.mkdtemp(prefix="engram-sessions-"))
    last = max(session["day"] for session in project["sessions"])
    clock = ManualClock(datetime.now(UTC) - timedelta(days=last + DAYS_AFTER, hours=1))
    memory = HookedMemory(home / "before", client, settings, clock)
    work_through(project, memory, clock, home)
    with memory.open() as engram:
        kept = engram.list(limit=MAX_MEMORIES)
    stored = [_told(one) for one in kept]
    score.dumped |= {one.content: one.provenance.source for one in kept}
    score.shares["memories"] += [True] * len(stored)

    def ask(prompt: str, number: int) -> Given:
        copy = home / f"asked-{number}"
        shutil.copytree(memory.home, copy, symlinks=True)
        begun = time.perf_counter()
        given = ask_hooks(prompt, HookedMemory(copy, client, settings, clock), clock, home, number)
        score.seconds.append(time.perf_counter() - begun)
        shutil.rmtree(copy)
        return given

    _judge(project, ask, stored, score, show=show)
    return home


def verbatim(
    project: Mapping[str, Any], settings: Settings, score: SessionScore, *, is_filtered: bool
) -> None:
    """Measure the baseline: every sentence of every step, and the best of them, or what of these fits."""
    chosen = Settings(home=settings.home, embedder=settings.embedder, policy="notebook")
    clock = ManualClock()
    begun = clock.now()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=chosen, clock=clock, background=False) as engram,
    ):
        drafts = [
            Draft(content=one, occurred_at=begun + timedelta(days=session["day"]))
            for session in project["sessions"]
            for step in session["steps"]
            for one in _step_sentences(step)
        ]
        stored = [one.content for one in engram.remember_many(drafts)]
        clock.advance(days=max(session["day"] for session in project["sessions"]) + DAYS_AFTER)

        def ask(prompt: str, _number: int) -> Given:
            hits = engram.recall(prompt, limit=MAX_HITS).hits
            given = fitting(prompt, hits) if is_filtered else hits[:TOP]
            return (), [hit.memory.content for hit in given]

        score.shares["memories"] += [True] * len(stored)
        _judge(project, ask, stored, score, show=False)


def _step_sentences(step: Step) -> Iterator[str]:
    tool = step.get("tool")
    texts = [tool["command"], tool["stdout"]] if tool else [step.get("prompt") or step.get("reply") or ""]
    for text in texts:
        yield from (one for one in sentences(text) if one.strip())


def _judge(
    project: Mapping[str, Any],
    ask: Callable[[str, int], Given],
    stored: Sequence[str],
    score: SessionScore,
    *,
    show: bool,
) -> None:
    shares, count = score.shares, counter_for(USUAL)
    for number, later in enumerate(project["later"]):
        wanted = [one["words"] for one in later["wanted"]]
        start, given = ask(later["prompt"], number)
        score.start_tokens.append(count.most("\n".join(start)))
        for words in wanted:
            shares["wanted items kept"].append(_holds_any(stored, words))
            shares["wanted items injected"].append(_holds_any([*start, *given], words))
            shares["… with the prompt"].append(_holds_any(given, words))
        useless = [not any(holds(line, words) for words in wanted) for line in given]
        shares["lines with a prompt that are useless"] += useless
        shares["lines at the start that are useless"] += [
            not any(holds(line, words) for words in wanted) for line in start
        ]
        found = [_value(line, score.values) for line in start]
        shares["lines at the start that are noise"] += [one == 0 for one in found if one is not None]
        if show:
            _show(later["prompt"], wanted, stored, start, given)
    for number, prompt in enumerate(project["unrelated"], start=len(project["later"])):
        _start, given = ask(prompt, number)
        shares["unrelated prompts left alone"].append(not given)
        if show and given:
            _show(prompt, [], stored, (), given)


def _show(
    prompt: str, wanted: Sequence[str], stored: Sequence[str], start: Sequence[str], given: Sequence[str]
) -> None:
    print(f"\n> {prompt}")
    for words in wanted:
        places = {"prompt": given, "start": start, "stored": stored}
        place = next((name for name, lines in places.items() if _holds_any(lines, words)), "NOWHERE")
        print(f"  wanted ({place}): {words}")
    for line in given:
        print(f"  {'+' if any(holds(line, words) for words in wanted) else '-'} {line[:200]}")


def _value(line: str, values: Mapping[str, int]) -> int | None:
    words = " ".join(line.split())
    return next((value for text, value in values.items() if text in words), None)


def _read_values(half: str) -> dict[str, int]:
    path = SESSIONS / f"values_{half}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    rows = [json.loads(line) for line in lines]
    return {" ".join(row["text"].split())[:VALUED_CHARACTERS]: row["value"] for row in rows}


def _holds_any(lines: Iterable[str], words: str) -> bool:
    return any(holds(line, words) for line in lines)


def _told(memory: Any) -> str:
    return f"{memory.content} {memory.verbatim or ''}"


def _block(answer: bytes) -> str:
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])


def _lines(block: str) -> list[str]:
    return [line.removeprefix("- ") for line in block.splitlines() if line.startswith("- ")]


def processes(home: Path, client: str, prompts: Sequence[str]) -> list[float]:
    """Return how long `engram hook` takes for these prompts, as a process that the agent waits for."""
    seconds = []
    for number, prompt in enumerate(prompts):
        program = PROGRAM_DOUBLES[client](f"process-{number}", home)
        name, payload = program.prompt(prompt, datetime.now(UTC))
        options = ["--client", client, "--home", str(home / "before"), "--user", "dev"]
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "engramdb", "hook", name, *options],
            input=json.dumps(payload).encode(),
            capture_output=True,
            check=True,
        )
        seconds.append(time.perf_counter() - begun)
        if done.stderr:
            raise RuntimeError(done.stderr.decode())
    return seconds


def main() -> None:
    """Print a column for each program and one for the baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sealed", action="store_true", help="the sets that are for the end")
    parser.add_argument("--client", choices=sorted(PROGRAM_DOUBLES), action="append")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--reader", default="auto")
    parser.add_argument("--processes", type=int, default=5, help="prompts that are also timed as a process")
    parser.add_argument("--dump", type=Path, help="write what was kept, for a blind reader to value")
    parser.add_argument("--show", action="store_true", help="each prompt with what it was given")
    arguments = parser.parse_args()
    settings = Settings.load(embedder=arguments.embedder, reader=arguments.reader)
    half = "sealed" if arguments.sealed else "open"
    pattern = f"{half}*.json"
    projects = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SESSIONS.glob(pattern))]
    columns: dict[str, SessionScore] = {}
    for client in arguments.client or PROGRAM_DOUBLES:
        score = columns[client] = SessionScore(values=_read_values(half))
        waited: list[float] = []
        for project in projects:
            home = hooked(project, client, settings, score, show=arguments.show)
            prompts = [one["prompt"] for one in project["later"]][: arguments.processes]
            waited += processes(home, client, prompts)
            shutil.rmtree(home, ignore_errors=True)  # what a hook does behind the agent may go on
        if waited:
            print(f"{client}: a prompt as a process {_median(waited)}")
        if arguments.dump:
            rows = [{"text": text, "by": by} for text, by in score.dumped.items()]
            arguments.dump.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    for name, is_filtered in (("every sentence", True), (f"every sentence, best {TOP}", False)):
        baseline = columns[name] = SessionScore()
        for project in projects:
            verbatim(project, settings, baseline, is_filtered=is_filtered)
    _table(columns)


def _median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def _table(columns: Mapping[str, SessionScore]) -> None:
    print(f"\n| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", sep="\n")
    measures = dict.fromkeys(name for score in columns.values() for name in score.shares)
    for name in measures:
        every = [score.shares.get(name, []) for score in columns.values()]
        cells = [str(len(one)) if name == "memories" else interval(sum(one), len(one)) for one in every]
        print(f"| {name} | {' | '.join(cells)} |")
    tokens = [str(max(score.start_tokens, default=0)) for score in columns.values()]
    print(f"| tokens at the start, at most (budget {SESSION_TOKENS}) | {' | '.join(tokens)} |")


if __name__ == "__main__":
    main()
