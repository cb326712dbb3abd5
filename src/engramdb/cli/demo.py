"""The demo: a sample life in nine chapters."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from engramdb.cli.output import bold, dim, indented, one_line, out, talk, write_json
from engramdb.errors import InvalidSettings
from engramdb.text.dates import readable
from engramdb.text.normalize import counted
from engramdb.verbs.sample_life import NEWS, NEWS_AFTER_DAYS, SPEAKER, WEEK

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram


# Every line is what a real engine answered at that moment, on a clock that is moved by hand; nothing is
# written down beforehand but what Mira says. The life is small and the embedder built in, so it is quick.

LIFE_DAYS = 388
"""From the first word to the last chapter."""
WHERE = "where does her sister Nora live?"
OFTEN = ("what is Mira allergic to?", "who leads Falcon?")
"""What she asks every month, so that it does not fade."""
TRIP = "Book a trip to her sister for Mira."
TRIP_TOKENS = 300
DISLIKED = "planes"


class Chapter(Struct, frozen=True):
    """One verb of the engine, why it was used, and what came of it."""

    verb: str
    told: str
    on: datetime
    lines: tuple[str, ...]


class StoryClock:
    """A clock that stands still until the story moves on."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        """Return the moment that the story has come to."""
        return self._now

    def move(self, **duration: float) -> None:
        """Move on by a duration given as for `timedelta`."""
        self._now += timedelta(**duration)


def chapters(engram: Engram, clock: StoryClock, file: Path) -> Iterator[Chapter]:
    """Live through the life, and yield each chapter as it is over."""
    told: tuple[tuple[str, str, Callable[[], Iterator[str]]], ...] = (
        (
            "observe",
            "Mira talks for a week; what she says is kept in her own words.",
            lambda: _observe(engram, clock),
        ),
        ("recall", "Ask in other words than hers.", lambda: _recall(engram)),
        ("contradict", "Weeks later something changes; the past stays.", lambda: _contradict(engram, clock)),
        ("context", f"“{TRIP}”, in {TRIP_TOKENS} tokens.", lambda: _context(engram)),
        ("forecast", "What will become of it if nobody asks?", lambda: _forecast(engram)),
        ("age", "A year goes by; two things are asked every month.", lambda: _age(engram, clock)),
        ("dream", "While nobody asks, it puts things in order.", lambda: _dream(engram)),
        ("forget", "Gone from every answer, kept in the history.", lambda: _forget(engram)),
        ("erase", "Gone from the file as well.", lambda: _erase(engram, file)),
    )
    for verb, why, live in told:
        lines = tuple(live())
        yield Chapter(verb, why, clock.now(), lines)


def _observe(engram: Engram, clock: StoryClock) -> Iterator[str]:
    said = 0
    for session, lines in WEEK.items():
        for line in lines:
            engram.observe(line, speaker=SPEAKER, session=session)
            clock.move(minutes=2)
            said += 1
        engram.flush()
        clock.move(days=2)
    memories = engram.list()
    yield f"{said} messages became {counted(len(memories), 'memory', 'memories')}, such as"
    yield from (f"  {one.category}: {readable(one)}" for one in reversed(memories[:4]))


def _recall(engram: Engram) -> Iterator[str]:
    for question in ("which food is dangerous for Mira?", "which database does Falcon use?", WHERE):
        yield from _asked(engram, question)


def _contradict(engram: Engram, clock: StoryClock) -> Iterator[str]:
    before = clock.now()
    clock.move(days=NEWS_AFTER_DAYS)
    engram.observe(NEWS, speaker=SPEAKER, session="later")
    engram.flush()
    yield f"Mira says: {NEWS}"
    yield from _asked(engram, WHERE)
    yield f"as of {before:%d %B}:"
    yield from _asked(engram, WHERE, as_of=before)


def _context(engram: Engram) -> Iterator[str]:
    window = engram.context(TRIP, budget=TRIP_TOKENS)
    parts = ", ".join(f"{one.name} {one.tokens}" for one in window.sections)
    yield f"{window.tokens} tokens with {counted(len(window.holds), 'memory', 'memories')}: {parts}"
    yield from (f"  {line}" for line in window.present.splitlines() if "Nora" in line)


def _forecast(engram: Engram) -> Iterator[str]:
    seen = engram.forecast(days=365)
    last = seen.census[-1]
    tiers = ", ".join(f"{number} {tier}" for tier, number in last.tiers.items() if number)
    yield f"of {counted(seen.population, 'memory', 'memories')}, in a year: {tiers or 'none is left'}"
    for one in seen.soonest[:3]:
        change = one.changes[-1]
        yield f"  leaves on {change.at:%d %B %Y} ({change.what}): {readable(one.memory)}"


def _age(engram: Engram, clock: StoryClock) -> Iterator[str]:
    for month in range(12):
        clock.move(days=30)
        for question in OFTEN:
            engram.recall(question, limit=1, session=f"month {month}")
    report = engram.age()
    moved = ", ".join(f"{rule} {number}" for rule, number in report.by_rule.items())
    yield f"looked at {report.looked_at}: {moved or 'nothing moved'}"
    yield from _asked(engram, OFTEN[0])


def _dream(engram: Engram) -> Iterator[str]:
    report = engram.dream()
    did = [f"{step.step} {sum(step.counts.values())}" for step in report.steps if step.counts]
    yield f"{report.changed} changes in {report.milliseconds / 1000:.1f} s: {', '.join(did)}"
    yield from (f"  it would like to know: {gap.question}" for gap in engram.gaps(limit=3))
    yield from (
        f"  it knows about {one.title}: {counted(one.members, 'memory', 'memories')}, "
        f"confidence {one.confidence:.2f}"
        for one in engram.domains()
    )


def _forget(engram: Engram) -> Iterator[str]:
    for memory in [one for one in engram.list() if DISLIKED in one.content and not one.is_derived]:
        engram.forget(memory.id, reason="she flies now")
        yield f"forgot: {memory.content.splitlines()[0]}"
    left = [hit for hit in engram.recall(f"trains or {DISLIKED}?").hits if DISLIKED in hit.memory.content]
    yield f"trains or {DISLIKED}? {counted(len(left), 'memory says', 'memories say')}"


def _erase(engram: Engram, file: Path) -> Iterator[str]:
    word = "Lisbon"
    doomed = [one.id for one in engram.list() if word in one.content]
    done = [engram.erase(memory_id, reason="the story is over") for memory_id in doomed]
    memories = counted(sum(len(one.memories) for one in done), "memory", "memories")
    yield f"erased {memories} and {counted(sum(one.turns for one in done), 'message', 'messages')}"
    is_there = word.encode() in file.read_bytes()
    yield f"“{word}” is {'still' if is_there else 'not'} among the {file.stat().st_size:,} bytes of the file"


def _asked(engram: Engram, question: str, *, as_of: datetime | None = None) -> Iterator[str]:
    answer = engram.recall(question, limit=1, as_of=as_of)
    for hit in answer.hits:
        found_by = ", ".join(reason.index for reason in hit.reasons)
        yield question
        yield f"  {readable(hit.memory)}  [{hit.score:.2f}; {found_by}; {answer.quality.milliseconds:.0f} ms]"


_UNDER = " " * 4


@click.option("--keep", metavar="PATH", help="Leave the store of the story at this place.")
@click.option("--json", is_flag=True, help="Print one JSON document.")
def demo(*, keep: str | None, json: bool) -> None:
    """
    Tell the story on a store of its own, which is gone afterwards unless `--keep` names a place.

    It opens none of your stores, downloads nothing and asks no model; the year passes on a clock of its own.
    """
    begun = time.monotonic()
    told: list[Chapter] = []
    with _place(keep) as file:
        for chapter in _lived(file):
            told.append(chapter)
            if not json:
                _show(len(told), chapter)
    if json:
        write_json(told)
    talk(f"That was a year in {time.monotonic() - begun:.1f} seconds, on this machine alone.")
    if keep is not None:
        talk(f'The store is at {file}. Ask it: engram recall "who leads Falcon?" --store {file}')


def _lived(file: Path) -> Iterator[Chapter]:
    """Yield the chapters as they are lived, ending today."""
    from engramdb.engine.engram import Engram  # noqa: PLC0415
    from engramdb.settings import Settings  # noqa: PLC0415

    clock = StoryClock(datetime.now(UTC) - timedelta(days=LIFE_DAYS))
    settings = Settings(home=file.parent, store=str(file), embedder="static")
    with Engram.open(settings=settings, clock=clock, background=False) as engram:
        yield from chapters(engram, clock, file)


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    """Yield where the story's store goes: to the named place, or to one that is gone afterwards."""
    if keep is not None:
        file = Path(keep).expanduser().absolute()
        if file.exists():
            raise InvalidSettings(f"{file} is there already", hint="Name a file that is not there yet.")
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        yield Path(folder) / "story.db"


def _show(number: int, chapter: Chapter) -> None:
    out(f"{bold(f'{number}. {chapter.verb}')}  {chapter.told}  {dim(f'{chapter.on:%d %B %Y}')}")
    for line in chapter.lines:
        inner = _UNDER + "  " * (len(line) - len(line.lstrip()))
        out(indented(inner, one_line(line), indent=inner + "  "))
    out()
