"""
Tell statements to a memory by one of the ways in, at their dates, and ask it afterwards.

All talks of a suite share a store, each in a scope of its own, and are told in the order of time, so that the
clock never goes back. An import comes at the end, one file to a talk.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from msgspec import Struct

from engramdb import Engram, Filters, Hit, Memory, Scope, Settings, Source, Status
from engramdb.engine.assemble import chosen_embedder
from engramdb.errors import SecurityError
from engramdb.models.embedder import Embedder
from engramdb.testing import ManualClock
from engramdb.text.marks import belief_mark
from engramdb.text.sentences import sentences

DATA = Path(__file__).parent / "data"
TOP = 5
ASKED_DAYS_LATER = 1
"""When questions are asked, counted from the last statement of a suite."""
MAX_MEMORIES = 1000
OUTDATED = re.compile(r"outdated|disputed")
"""What a mark says that warns of what is no longer so."""
RETIRED = frozenset(
    {Status.SUPERSEDED, Status.MERGED, Status.INVALIDATED, Status.ARCHIVED, Status.FORGOTTEN, Status.PRUNED}
)


class Told(Struct, frozen=True):
    """One statement: when it was made, by whom, in which words."""

    at: datetime
    by: str
    text: str


Talks: TypeAlias = Mapping[str, Sequence[Told]]
"""What was told in each scope, oldest first."""


class Shown(Struct, frozen=True):
    """One line of an answer, and whether it is marked as possibly outdated or disputed."""

    text: str
    is_marked: bool = False


class Answers(Protocol):
    """A memory of one scope that can be asked."""

    def best(
        self, question: str, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> list[Shown]:
        """Return the best lines for a question, best first."""
        ...


def rows(name: str, half: str) -> list[dict[str, Any]]:
    """Return the lines of one half of a set."""
    lines = (DATA / f"{half}_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def day(date: str) -> datetime:
    """Return noon of a date."""
    return datetime.fromisoformat(date).replace(hour=12, tzinfo=UTC)


def turns_of(row: Mapping[str, Any]) -> list[Told]:
    """Return the turns of a story, two of one day some minutes apart."""
    return [
        Told(day(date) + timedelta(minutes=number), by, text)
        for number, (date, by, text) in enumerate(row["turns"])
    ]


def says(pattern: str, text: str) -> bool:
    """Return whether a text holds what a regular expression of the data looks for."""
    return re.search(pattern, text, re.IGNORECASE) is not None


# --- telling --------------------------------------------------------------------------------------------


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[Engram, ManualClock]]:
    """Open a new store with a clock that the suite moves."""
    clock = ManualClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Engram.open(Path(folder) / "memory.db", settings=settings, clock=clock, background=False) as engram,
    ):
        yield engram, clock


def tell(engram: Engram, clock: ManualClock, talks: Talks, way: str) -> int:
    """Tell everything by one way, have it read and judged, and return how many statements were refused."""
    refused = WAYS[way](engram, clock, talks)
    last = max(one.at for talk in talks.values() for one in talk)
    clock.set(last + timedelta(days=ASKED_DAYS_LATER))
    drain(engram)
    return refused


def drain(engram: Engram) -> None:
    """Do now what a background thread would do: read, embed, infer and judge what waits."""
    engram.flush()
    engram.embed_pending()
    engram.enrich()
    engram.judge_pending()


def _in_order(talks: Talks) -> Iterator[tuple[Scope, Told]]:
    every = sorted(
        ((one.at, name, one) for name, talk in talks.items() for one in talk), key=lambda it: it[0]
    )
    for number, (_at, name, one) in enumerate(every):
        progress("told", number + 1, len(every))
        yield Scope(user=name), one


def _remember(engram: Engram, clock: ManualClock, talks: Talks) -> int:
    refused = 0
    for scope, one in _in_order(talks):
        clock.set(one.at)
        source = Source.ASSISTANT if one.by == "assistant" else Source.HUMAN
        try:
            engram.remember(one.text, source=source, scope=scope)
        except SecurityError:
            refused += 1
    return refused


def _observe(engram: Engram, clock: ManualClock, talks: Talks) -> int:
    refused = 0
    for scope, one in _in_order(talks):
        clock.set(one.at)
        try:
            engram.observe(one.text, role=one.by, session=f"{one.at:%Y-%m-%d}", scope=scope)
        except SecurityError:
            refused += 1
        engram.flush()
    return refused


def _import(engram: Engram, clock: ManualClock, talks: Talks, *, is_conversation: bool) -> int:
    clock.set(max(one.at for talk in talks.values() for one in talk) + timedelta(hours=1))
    refused = 0
    for number, (name, talk) in enumerate(talks.items()):
        progress("imported", number + 1, len(talks))
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            file.writelines(f"{_line(one, is_conversation)}\n" for one in talk)
            file.flush()
            refused += engram.import_from(file.name, kind="jsonl", scope=Scope(user=name)).refused
    return refused


def _line(told: Told, is_conversation: bool) -> str:
    row = {"content": told.text, "occurred_at": told.at.isoformat()}
    if is_conversation:
        row |= {"role": told.by, "session": f"{told.at:%Y-%m-%d}"}
    elif told.by != "user":
        row |= {"speaker": told.by}
    return json.dumps(row)


WAYS: dict[str, Callable[[Engram, ManualClock, Talks], int]] = {
    "remember": _remember,
    "observe": _observe,
    "import": lambda engram, clock, talks: _import(engram, clock, talks, is_conversation=True),
    "notes": lambda engram, clock, talks: _import(engram, clock, talks, is_conversation=False),
}


def progress(what: str, done: int, total: int) -> None:
    """Say on standard error how far it is."""
    if done % 50 == 0 or done == total:
        end = "\n" if done == total else "\r"
        print(f"  {what} {done} of {total}", end=end, file=sys.stderr, flush=True)


# --- what became of it ----------------------------------------------------------------------------------


def memories_in(engram: Engram, scope: Scope) -> Sequence[Memory]:
    """Return every memory of a scope that states what was told, whatever has become of it."""
    every = engram.list(limit=MAX_MEMORIES, filters=Filters(statuses=frozenset(Status)), scope=scope)
    return [one for one in every if not one.is_derived and not one.is_session_summary]


def told_by(memories: Iterable[Memory], texts: Sequence[str]) -> dict[int, list[Memory]]:
    """Return which memories each text has left: a memory belongs to the text that holds most of its words."""
    words = [_words(text) for text in texts]
    found: dict[int, list[Memory]] = {number: [] for number in range(len(texts))}
    for memory in memories:
        own = _words(memory.content)
        shares = [(len(own & text) / max(1, len(own)), len(own & text) / len(own | text)) for text in words]
        best = max(range(len(texts)), key=shares.__getitem__)
        if shares[best][0] >= LEAST_SHARE:
            found[best].append(memory)
    return found


LEAST_SHARE = 0.5
"""Of a memory's words in the text that it came from: an opener may be cut and a date added, no more."""


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def is_marked(memory: Memory) -> bool:
    """Return whether whoever is shown the memory is warned that it may no longer be so."""
    return memory.status is Status.CHALLENGED or OUTDATED.search(belief_mark(memory)) is not None


def words_of(memory: Memory) -> str:
    """Return what a memory says, with the exact words where it has them."""
    return f"{memory.content} {memory.verbatim or ''}"


# --- asking ---------------------------------------------------------------------------------------------

HAS_VALID_AT = "valid_at" in inspect.signature(Engram.recall).parameters


class AskedEngram(Struct, frozen=True):
    """A scope of a store."""

    engram: Engram
    scope: Scope

    def best(
        self, question: str, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> list[Shown]:
        """Return what recall gives first."""
        then: dict[str, Any] = {} if valid_at is None else {"valid_at": valid_at}
        answer = self.engram.recall(question, limit=TOP, as_of=as_of, scope=self.scope, **then)
        return [_shown(hit) for hit in answer.hits]


def _shown(hit: Hit) -> Shown:
    return Shown(words_of(hit.memory), is_marked(hit.memory))


class EverySentence:
    """The baseline: every sentence of a talk as it was said, found by the embedder alone."""

    def __init__(self, embedder: Embedder, talk: Sequence[Told], *, newest_first: bool) -> None:
        self._embedder = embedder
        self._newest_first = newest_first
        self._said = [(told.at, one) for told in talk for one in sentences(told.text) if one.strip()]
        self._vectors = embedder.embed_documents([one for _at, one in self._said])

    def best(
        self, question: str, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> list[Shown]:
        """Return the sentences said by then that are most alike, or the newest of these first."""
        until = as_of or valid_at
        alike = self._vectors @ self._embedder.embed_queries([question])[0]
        order = [int(place) for place in np.argsort(-alike, kind="stable")]
        found = [self._said[place] for place in order if until is None or self._said[place][0] <= until][:TOP]
        if self._newest_first:
            found.sort(key=lambda pair: pair[0], reverse=True)
        return [Shown(text) for _at, text in found]


BASELINES = {"every sentence": False, "every sentence, newest of five": True}
"""The baselines by name, and whether the newest comes first."""


def baseline(name: str, settings: Settings, talks: Talks) -> dict[str, Answers]:
    """Return what answers for each talk where nothing is settled."""
    embedder = chosen_embedder(settings)
    return {
        scope: EverySentence(embedder, talk, newest_first=BASELINES[name]) for scope, talk in talks.items()
    }


def answering(engram: Engram, talks: Talks) -> dict[str, Answers]:
    """Return what answers for each talk in a store."""
    return {name: AskedEngram(engram, Scope(user=name)) for name in talks}
