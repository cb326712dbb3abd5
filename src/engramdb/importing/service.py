"""
Bring in what other programs know: files, and conversations that go on elsewhere.

Conversations become turns, which are read as if they had just been said; everything else goes through
admission as imported. A message of a live conversation has the mark that an import of the same session log
would give it, so a log may be imported as well and adds nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from engramdb.capture.pipeline import Capture, observe, read_turns
from engramdb.capture.reading import READER, READING, CountsReadings
from engramdb.capture.writer import BULK_ROWS
from engramdb.clock import Clock
from engramdb.errors import SecurityError
from engramdb.health import Health
from engramdb.importing.codebase import read_codebase, repository_name
from engramdb.importing.codebase_intake import CodebaseIntake
from engramdb.importing.contained import read_contained
from engramdb.importing.intake import Intake, mark_of
from engramdb.importing.read import KindedRecord, read_source
from engramdb.importing.source import SourceFile, SourceMessage
from engramdb.lifecycle.admission import WritePipeline
from engramdb.models.embedder import Embedder
from engramdb.policy import Policy
from engramdb.store.contract import Imported, Store, Transaction
from engramdb.text.normalize import clean, is_text
from engramdb.values import Action, Actor, ImportKind, ImportReport, Scope, Turn

QUICK_BATCH = 64
"""An embedder that takes fewer texts at once is a model: it embeds what came in bulk afterwards."""
TURNS_LOOKED_AT = 400
"""The turns of a session that are compared with what is heard of it."""


class ImportParts(Protocol):
    """What importing needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def store(self) -> Store: ...
    @property
    def actor(self) -> Actor: ...
    @property
    def embedder(self) -> Embedder: ...
    @property
    def pipeline(self) -> WritePipeline: ...
    @property
    def capture(self) -> Capture: ...
    @property
    def scheduler(self) -> CountsReadings: ...
    def write_notes(self) -> None:
        """Write what recalls have noted, so that the write sees it."""

    def embed_later(self) -> None:
        """Have what waits embedded in the background, where there is one."""


class ImportService:
    """Takes in what other programs have written."""

    def __init__(self, parts: ImportParts) -> None:
        self._parts = parts

    def take_file(
        self,
        path: Path | SourceFile,
        *,
        kind: ImportKind | None,
        mapping: Mapping[str, str] | None,
        speaker: str | None,
        dry_run: bool,
        progress: Callable[[int], None] | None,
        may_enter: Callable[[Scope], bool] | None,
        scope: Scope,
    ) -> ImportReport:
        """Take in a file, a folder or an archive, each record once; a dry run only counts."""
        self._parts.write_notes()
        source = path.expanduser() if isinstance(path, Path) else path
        with self._parts.store.one_act(Action.IMPORT, actor=self._parts.actor, at=self._now()):
            if kind is ImportKind.CODEBASE and isinstance(source, Path):
                return self._take_codebase(source, scope, dry_run=dry_run, progress=progress or _ignore)
            intake = self._intake(scope, speaker=speaker, may_enter=may_enter)
            with closing(read_source(source, kind=kind, mapping=mapping)) as records:
                return self._take_records(intake, records, dry_run=dry_run, report=progress or _ignore)

    def take_text(
        self,
        name: str,
        text: str,
        *,
        kind: ImportKind | None,
        mapping: Mapping[str, str] | None,
        dry_run: bool,
        progress: Callable[[int], None] | None,
        may_enter: Callable[[Scope], bool] | None,
        scope: Scope,
    ) -> ImportReport:
        """Take in a text of a stranger: a child process reads it, all of it, before anything is stored."""
        records = list(read_contained(name, text, kind=kind, mapping=mapping))
        self._parts.write_notes()
        with self._parts.store.one_act(Action.IMPORT, actor=self._parts.actor, at=self._now()):
            intake = self._intake(scope, speaker=None, may_enter=may_enter)
            return self._take_records(intake, iter(records), dry_run=dry_run, report=progress or _ignore)

    def _intake(
        self, scope: Scope, *, speaker: str | None, may_enter: Callable[[Scope], bool] | None
    ) -> Intake:
        parts = self._parts
        return Intake(
            parts.pipeline,
            scope=scope,
            actor=parts.actor,
            embeds_later=parts.embedder.batch < QUICK_BATCH,
            speaker=speaker,
            may_enter=may_enter,
        )

    def _take_records(
        self, intake: Intake, records: Iterator[KindedRecord], *, dry_run: bool, report: Callable[[int], None]
    ) -> ImportReport:
        for batch in _batches(records):
            self._take(intake, batch, dry_run=dry_run)
            report(len(batch))
        if dry_run:
            return intake.tally.report(dry_run=True)
        self._parts.embed_later()
        turns_read = self._read_all(report, intake.scopes)
        return intake.tally.report(dry_run=False, turns_read=turns_read)

    def _take_codebase(
        self, folder: Path, scope: Scope, *, dry_run: bool, progress: Callable[[int], None]
    ) -> ImportReport:
        """Bring what is known of a repository in step with its files; a dry run only counts."""
        parts = self._parts
        records = list(read_codebase(folder))
        intake = CodebaseIntake(
            parts.pipeline, repository=repository_name(folder), scope=scope, actor=parts.actor
        )
        with parts.health.watch("write"):
            intake.take(records, now=self._now(), dry_run=dry_run)
        progress(len(records))
        parts.embed_later()
        return intake.tally.report(dry_run=dry_run)

    def take_messages(
        self,
        messages: Sequence[SourceMessage],
        *,
        kind: ImportKind,
        most_characters: int | None,
        is_logged: bool,
        scope: Scope,
    ) -> Sequence[Turn]:
        """Store messages of one live session, each once, and return the turns that are new."""
        turns: list[Turn] = []
        if not messages:
            return turns
        marked = {mark_of(kind, one, scope): _cut(one, most_characters) for one in messages}
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            noted = []
            held = _stored(tx, messages[0].session, scope) if is_logged else {}
            for mark, message, twin in _unknown(tx, marked, held):
                turn = twin or self._stored_turn(message, scope)
                if turn is None:
                    continue
                if twin is None:
                    turns.append(turn)
                heard = Imported(mark=mark, kind=kind, place=message.place, turn_id=turn.id, is_live=True)
                noted.append(heard)
            tx.imports.add(noted, at=self._now())
        return turns

    def _take(self, intake: Intake, batch: Sequence[KindedRecord], *, dry_run: bool) -> None:
        if dry_run:
            intake.preview(batch, now=self._now())
            return
        with self._parts.health.watch("write"):
            intake.take(batch, now=self._now(), enrich=len(batch) < BULK_ROWS)

    def _read_all(self, report: Callable[[int], None], scopes: Collection[Scope]) -> int:
        """Read the turns of these scopes that wait, also those that an interrupted import has left."""
        total, capture = 0, self._parts.capture
        with self._parts.health.watch(READING):
            for scope in sorted(scopes, key=str):
                while count := read_turns(capture, actor=READER, now=self._now(), owner=scope).turns:
                    total += count
                    report(count)
        if total:
            self._parts.scheduler.extracted()
        return total

    def _stored_turn(self, message: SourceMessage, scope: Scope) -> Turn | None:
        """Store a message as a turn; None for one that no policy admits, such as an empty one."""
        try:
            return observe(
                message.content,
                role=message.role,
                speaker=message.speaker,
                session=message.session,
                occurred_at=message.occurred_at,
                scope=scope,
                store=self._parts.store,
                policy=self._parts.policy.capture,
                actor=self._parts.actor,
                now=self._now(),
            )
        except SecurityError:
            return None

    def _now(self) -> datetime:
        return self._parts.clock.now()


def _ignore(_count: int) -> None:
    """Stand in where nobody asks for progress."""


def _batches(source: Iterator[KindedRecord]) -> Iterator[list[KindedRecord]]:
    while batch := list(islice(source, BULK_ROWS)):
        yield batch


def _unknown(
    tx: Transaction, marked: Mapping[bytes, SourceMessage], held: Mapping[tuple[str, str], Sequence[Turn]]
) -> Iterator[tuple[bytes, SourceMessage, Turn | None]]:
    """
    Yield the messages whose marks are not known, each with the turn that holds its words already.

    Turns and messages of the same words are paired off by number: a person may well say "yes" twice.
    """
    known = tx.imports.known_marks(list(marked))
    spoken_for = Counter(_words(message) for mark, message in marked.items() if mark in known)
    for mark, message in marked.items():
        if mark in known:
            continue
        words = _words(message)
        twins = held.get(words, ())
        is_held = len(twins) > spoken_for[words]
        yield mark, message, twins[spoken_for[words]] if is_held else None
        spoken_for[words] += is_held


def _stored(tx: Transaction, session: str | None, place: Scope) -> Mapping[tuple[str, str], Sequence[Turn]]:
    """Return the latest turns of a session by who said what."""
    found: defaultdict[tuple[str, str], list[Turn]] = defaultdict(list)
    if session is not None:
        for turn in tx.turns.list(scope=place, session=session, limit=TURNS_LOOKED_AT):
            found[_words(turn)].append(turn)
    return found


LEFT_OUT = "\n…\n"


def _cut(message: SourceMessage, most: int | None) -> SourceMessage:
    """Return a message without its middle if it is too long: people write above or below what they paste."""
    content = message.content
    if most is None or len(content) <= most:
        return message
    half = (most - len(LEFT_OUT)) // 2
    return replace(message, content=f"{content[:half]}{LEFT_OUT}{content[-half:]}")


def _words(said: SourceMessage | Turn) -> tuple[str, str]:
    """Return who said what, as it is compared: without regard to blanks and to what is never stored."""
    content = clean(said.content) if is_text(said.content) else said.content
    return said.role, " ".join(content.split())
