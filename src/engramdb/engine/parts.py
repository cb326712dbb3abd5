"""The parts of an engine, each built when first asked for."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from engramdb.acting import current_actor
from engramdb.clock import Clock
from engramdb.errors import DiskFull, EngramError, StorageError, StoreCorrupt, StoreNotFound, StoreUnreadable
from engramdb.health import Health
from engramdb.settings import Settings
from engramdb.store.contract import Store
from engramdb.store.opening import open_store
from engramdb.text.terms import TERMS_VERSION
from engramdb.values import GLOBAL, Actor, Scope, Surface
from engramdb.values.report import WorkerState
from engramdb.worker import CLOSE_SECONDS, Worker

if TYPE_CHECKING:
    from engramdb.capture.agents import AgentCapture, CommandLearner
    from engramdb.capture.pipeline import Capture
    from engramdb.capture.reading import TurnReader
    from engramdb.capture.summaries import SessionSummarizer
    from engramdb.capture.writer import StatementWriter
    from engramdb.context.agents import Agents
    from engramdb.context.service import ContextService
    from engramdb.documents.store import DocumentStore
    from engramdb.engine.assemble import ChatRoles, TextGuard
    from engramdb.engine.idempotency import ReplyStore
    from engramdb.engine.scheduler import Scheduler
    from engramdb.engine.status import HealthStore
    from engramdb.importing.service import ImportService
    from engramdb.index.foreign import ForeignBackend, ProposesRows
    from engramdb.index.graph import GraphIndex
    from engramdb.index.lexical import LexicalIndex
    from engramdb.index.spaces import VectorSpaces
    from engramdb.lifecycle.access_log import AccessRecorder
    from engramdb.lifecycle.admission import WritePipeline
    from engramdb.lifecycle.audit_log import AuditLog
    from engramdb.lifecycle.backlog import Backlog
    from engramdb.lifecycle.forgotten import ForgottenStatements
    from engramdb.lifecycle.service import LifecycleService
    from engramdb.models.chat import CallLog, ChatModel
    from engramdb.models.embedder import Embedder, GuardedEmbedder
    from engramdb.models.guard import ForeignGuard
    from engramdb.models.late_interaction import WordMatcher
    from engramdb.models.reader import GuardedModel, Judge
    from engramdb.policy import Policy
    from engramdb.recall.fuse import GuardedReranker, Reranker
    from engramdb.recall.gather import Sources
    from engramdb.recall.service import AnswerLog, RecallService

Part = TypeVar("Part")


class lazy_property(Generic[Part]):  # noqa: N801 - used as a decorator, like `property`
    """Turns a method into an attribute that is built once."""

    def __init__(self, build: Callable[[Any], Part]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: object, owner: type) -> Part: ...
    def __get__(self, holder: object, owner: type) -> Self | Part:
        if holder is None:
            return self
        held = vars(holder)
        # A lock of this holder, so that no other store waits, and of this process: one that was forked while
        # a thread of its parent was building would wait forever. Parts ask for one another in one direction
        # only, so two threads never wait for each other.
        with held.setdefault(f"{self._name}, built by {os.getpid()}", threading.RLock()):
            if self._name not in held:
                held[self._name] = self._build(holder)
            part: Part = held[self._name]
            return part


def is_built(holder: object, name: str) -> bool:
    """Return whether a lazy attribute was asked for yet: what was never built need not be closed."""
    return name in vars(holder)


UPKEEP_SECONDS = 30.0
"""How often the background saves health, drops expired documents and looks for what is to be embedded."""
OVERDUE_LOOK_SECONDS = 10.0
"""How often it looks for conversations that have gone quiet, whichever process stored their turns."""


LEAST_CLOSE_SECONDS = 0.2
UNFINISHED = "was still under way when the store was closed; what is left is done by the next process"


_MAKING_SECONDS = 0.5
"""How long an empty file with backups may be one that another process is about to fill."""
BACKUP_DELAY_SECONDS = 1.0
"""After so long a process that goes on looks whether the last backup is too old."""
BACKUP_LOOK_SECONDS = 3600.0
"""How often it looks again."""


SEARCHES_AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Searches that compute at the same time: with one on two cores, writes waited least and most was done."""
SEARCH_PATIENCE_SECONDS = 0.5
"""How long one waits for its turn, so that a part that hangs under one search holds up no other."""


class SearchSlots:
    """Lets a few searches compute at a time: a write beside many would get a small share of the processor."""

    def __init__(
        self, at_once: int = SEARCHES_AT_ONCE, patience_seconds: float = SEARCH_PATIENCE_SECONDS
    ) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._patience = patience_seconds

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Run the block when a place is free, or when it has waited long enough."""
        has_place = self._places.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if has_place:
                self._places.release()


class Own(Struct, frozen=True, kw_only=True):
    """What a caller brings along in place of, or beside, the built-in parts."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    vector_index: ProposesRows | None = None


class Parts:
    """Everything that an `Engram` holds; a lazy part is built when it is first asked for."""

    store: Store

    def __init__(self, settings: Settings, *, clock: Clock, own: Own, scope: Scope, actor: Actor) -> None:
        self.settings = settings
        self.clock = clock
        self.scope = scope
        self._actor = actor if actor.surface else replace(actor, surface=Surface.PYTHON)
        self.health = Health(clock)
        self.stop = threading.Event()
        self.in_background = False
        self.erasures_seen = 0
        self.search_slots = SearchSlots()
        self._own = own
        self._workers = {
            name: Worker(name, health=self.health)
            for name in ("reader", "index", "attention", "scheduler", "summaries")
        }

    @property
    def actor(self) -> Actor:
        """Who acts now: the one that a surface has recognized, else the one that it was opened for."""
        return current_actor() or self._actor

    # --- models and indexes ---------------------------------------------------------------------------------

    @lazy_property
    def policy(self) -> Policy:
        """The numbers of the lifecycle."""
        return self.settings.chosen_policy()

    @lazy_property
    def guard(self) -> ForeignGuard:
        """What stands between the engine and foreign code."""
        from engramdb.models.guard import ForeignGuard  # noqa: PLC0415

        return ForeignGuard(self.health)

    @lazy_property
    def embedder(self) -> GuardedEmbedder:
        """What turns text into vectors."""
        from engramdb.engine.assemble import guarded_embedder  # noqa: PLC0415

        return guarded_embedder(self._own.embedder, self.settings, self.guard)

    @lazy_property
    def foreign(self) -> ForeignBackend | None:
        """A caller's own index, audited."""
        from engramdb.engine.assemble import audited_index  # noqa: PLC0415

        return audited_index(self._own.vector_index, self.store, self.clock, self.guard)

    @lazy_property
    def spaces(self) -> VectorSpaces:
        """The vectors of every embedder that was ever used."""
        from engramdb.engine.assemble import older_embedders  # noqa: PLC0415
        from engramdb.index.spaces import VectorSpaces  # noqa: PLC0415

        return VectorSpaces(
            self.embedder,
            memory_bytes=self.settings.vector_memory_megabytes * 1_000_000,
            older=older_embedders(self.settings) if self._own.embedder is None else (),
            foreign=self.foreign,
            snapshots=lambda tx: tx.snapshots,
        )

    @lazy_property
    def graph(self) -> GraphIndex:
        """The links between memories."""
        from engramdb.index.graph import GraphIndex  # noqa: PLC0415

        return GraphIndex()

    @lazy_property
    def calls(self) -> CallLog:
        """What the chat model was asked in this process."""
        from engramdb.models.chat import CallLog  # noqa: PLC0415

        return CallLog()

    @lazy_property
    def chat(self) -> ChatModel | None:
        """The chat model, where there is one."""
        return self._chat_roles.model

    @lazy_property
    def _chat_roles(self) -> ChatRoles:
        from engramdb.engine.assemble import chat_roles  # noqa: PLC0415

        return chat_roles(self)

    @lazy_property
    def judge(self) -> GuardedModel[Judge] | None:
        """What judges pairs of statements beside the rules, where the settings ask for it."""
        from engramdb.engine.assemble import choose_judge  # noqa: PLC0415

        return choose_judge(self)

    @lazy_property
    def forgotten(self) -> ForgottenStatements:
        """What knows what was forgotten, and keeps it from coming back."""
        from engramdb.engine.assemble import statement_likeness  # noqa: PLC0415
        from engramdb.lifecycle.forgotten import ForgottenStatements  # noqa: PLC0415

        return ForgottenStatements(statement_likeness(), lambda: self.judge)

    # --- in: the write path ---------------------------------------------------------------------------------

    @lazy_property
    def lexical(self) -> LexicalIndex:
        """What finds memories by their words."""
        from engramdb.index.lexical import LexicalIndex  # noqa: PLC0415

        return LexicalIndex(self.spaces)

    @lazy_property
    def text_guard(self) -> TextGuard | None:
        """What finds private words and hostile text before anything is stored."""
        from engramdb.engine.assemble import choose_text_guard  # noqa: PLC0415

        return choose_text_guard(self.settings, self.guard, self.health)

    @lazy_property
    def pipeline(self) -> WritePipeline:
        """The write pipeline, which every memory goes through."""
        from engramdb.engine.assemble import statement_likeness  # noqa: PLC0415
        from engramdb.lifecycle.admission import WritePipeline  # noqa: PLC0415

        return WritePipeline(
            store=self.store,
            embedder=self.embedder,
            index=self.spaces,
            likeness=statement_likeness(),
            policy=self.policy.capture,
            judge=self.judge,
            words=self.lexical,
            forgotten=self.forgotten,
            merging=self.policy.dream,
            date_order=self.settings.date_order,
            hostility=self.text_guard,
            personal=self.text_guard,
        )

    @lazy_property
    def capture(self) -> Capture:
        """What reads turns."""
        from engramdb.capture.pipeline import Capture, SensoryBuffer  # noqa: PLC0415

        return Capture(pipeline=self.pipeline, extractor=self._chat_roles.extractor, sensory=SensoryBuffer())

    @lazy_property
    def writer(self) -> StatementWriter:
        """The way of a statement into the store."""
        from engramdb.capture.writer import StatementWriter  # noqa: PLC0415

        return StatementWriter(self)

    @lazy_property
    def turn_reader(self) -> TurnReader:
        """What decides when turns are read."""
        from engramdb.capture.reading import TurnReader  # noqa: PLC0415

        return TurnReader(self, self._worker("reader"))

    @lazy_property
    def summarizer(self) -> SessionSummarizer:
        """What sums up sessions."""
        from engramdb.capture.summaries import SessionSummarizer  # noqa: PLC0415

        return SessionSummarizer(self, self._worker("summaries"))

    @lazy_property
    def agent_capture(self) -> AgentCapture:
        """What agents produce besides talk."""
        from engramdb.capture.agents import AgentCapture  # noqa: PLC0415

        return AgentCapture(
            self.writer,
            reader=self.turn_reader,
            learner=self.command_learner,
            store=self.store,
            clock=self.clock,
            scope=self.scope,
        )

    @lazy_property
    def command_learner(self) -> CommandLearner:
        """What learns from the commands that agents run."""
        from engramdb.capture.agents import CommandLearner  # noqa: PLC0415

        return CommandLearner(self)

    @lazy_property
    def backlog(self) -> Backlog:
        """What enriches and embeds in the background."""
        from engramdb.lifecycle.backlog import Backlog  # noqa: PLC0415

        return Backlog(self, self._workers["index"])

    @lazy_property
    def importing(self) -> ImportService:
        """What takes in the files and talk of other programs."""
        from engramdb.importing.service import ImportService  # noqa: PLC0415

        return ImportService(self)

    @lazy_property
    def documents(self) -> DocumentStore:
        """Documents of other programs."""
        from engramdb.documents.store import DocumentStore  # noqa: PLC0415

        return DocumentStore(self, scope=self.scope)

    # --- out: the read path ---------------------------------------------------------------------------------

    @lazy_property
    def sources(self) -> Sources:
        """What a recall asks."""
        from engramdb.engine.assemble import quick_text_guard  # noqa: PLC0415
        from engramdb.recall.gather import Sources  # noqa: PLC0415

        return Sources(
            hostility=quick_text_guard(self.settings, self.guard),
            store=self.store,
            embedder=self.embedder,
            lexical=self.lexical,
            vector=self.spaces,
            graph=self.graph,
            policy=self.policy.recall,
            reranker=self._reranker(),
            judge=self.judge,
            answering_seconds=self.settings.answering_milliseconds / 1000,
            matcher=self._matcher(),
            date_order=self.settings.date_order,
            forgotten=self.forgotten,
        )

    def _reranker(self) -> GuardedReranker | None:
        """Return the caller's own reranker behind the guard, where there is one."""
        from engramdb.recall.fuse import GuardedReranker  # noqa: PLC0415

        own = self._own.reranker
        return None if own is None else GuardedReranker(own, self.guard)

    def _matcher(self) -> WordMatcher | None:
        """Return what compares word by word, where the embedder is the one that only adds words up."""
        from engramdb.models.late_interaction import WordMatcher  # noqa: PLC0415
        from engramdb.models.static import NAME  # noqa: PLC0415

        try:
            return WordMatcher() if self.embedder.identity.name == NAME else None
        except EngramError:  # recall says that there is no embedder
            return None

    @lazy_property
    def answers(self) -> AnswerLog:
        """How good the latest answers were."""
        from engramdb.recall.service import AnswerLog  # noqa: PLC0415

        return AnswerLog()

    @lazy_property
    def access_log(self) -> AccessRecorder:
        """What readers were given and is not written yet."""
        from engramdb.lifecycle.access_log import AccessRecorder  # noqa: PLC0415

        return AccessRecorder(self, self._worker("reader"))

    @lazy_property
    def audit_log(self) -> AuditLog:
        """What was looked at, denied or failed, on its way into the audit."""
        from engramdb.lifecycle.audit_log import AuditLog  # noqa: PLC0415

        return AuditLog(self)

    @lazy_property
    def recalls(self) -> RecallService:
        """What answers questions."""
        from engramdb.recall.service import RecallService  # noqa: PLC0415

        return RecallService(self)

    @lazy_property
    def contexts(self) -> ContextService:
        """What builds prompts."""
        from engramdb.context.service import ContextService  # noqa: PLC0415

        return ContextService(self)

    @lazy_property
    def agents(self) -> Agents:
        """The working memories and open turns of agents."""
        from engramdb.context.agents import Agents  # noqa: PLC0415

        return Agents(self, self._worker("attention"))

    @lazy_property
    def lifecycle(self) -> LifecycleService:
        """What changes single memories, and tells of them."""
        from engramdb.lifecycle.service import LifecycleService  # noqa: PLC0415

        return LifecycleService(self)

    # --- beside both ----------------------------------------------------------------------------------------

    @lazy_property
    def health_store(self) -> HealthStore:
        """How the parts fare, across processes."""
        from engramdb.engine.status import HealthStore  # noqa: PLC0415

        return HealthStore(self.store, self.health, self.calls)

    @lazy_property
    def replies(self) -> ReplyStore:
        """Answers stored by idempotency key."""
        from engramdb.engine.idempotency import ReplyStore  # noqa: PLC0415

        return ReplyStore(self.store, self.clock)

    @lazy_property
    def scheduler(self) -> Scheduler:
        """What decides when slow work happens."""
        from engramdb.engine.jobs import Maintenance  # noqa: PLC0415
        from engramdb.engine.scheduler import Scheduler  # noqa: PLC0415

        work = Maintenance(self)
        return Scheduler(
            work.jobs(),
            clock=self.clock,
            health=self.health,
            last_use=work.last_use,
            stop=self.stop,
            worker=self._workers["scheduler"],
        )

    @property
    def last_turn_at(self) -> datetime | None:
        """When a turn last came in, in this process."""
        return self.turn_reader.heard_at if is_built(self, "turn_reader") else None

    # --- the background -------------------------------------------------------------------------------------

    def start(self, *, dream: bool) -> None:
        """Load the indexes, read and embed what waits, and with `dream` consolidate, in the background."""
        self.in_background = True
        self._workers["index"].submit("index loading", self._load_indexes, retry=False)
        self._workers["reader"].submit("reading", lambda: self.turn_reader.read(None))
        self._workers["reader"].every(UPKEEP_SECONDS, "upkeep", self._keep_up)
        self._workers["reader"].every(OVERDUE_LOOK_SECONDS, "overdue turns", self._read_overdue)
        summaries = self._workers["summaries"]
        summaries.submit("daily backup", self._back_up, key="first", delay_seconds=BACKUP_DELAY_SECONDS)
        summaries.every(BACKUP_LOOK_SECONDS, "daily backup", self._back_up)
        if dream:
            self.scheduler.start()

    def write_notes(self) -> None:
        """Write what recalls have noted, so that the next write sees it."""
        if is_built(self, "access_log"):
            self.access_log.write()

    def with_room(self, act: Callable[[], Part]) -> Part:
        """Do something that forgets; on a full disk once more, with the room that is kept for it."""
        try:
            return act()
        except DiskFull:
            with self.store.room_for_forgetting() as is_roomier:
                if not is_roomier:
                    raise
                return act()

    def embed_later(self) -> None:
        """Have what waits embedded in the background, where there is one."""
        if self.in_background:
            self.backlog.wake()

    def embed_changed(self) -> None:
        """Have what has lost its vector embedded: in the background, or now where there is none."""
        if self.in_background:
            self.backlog.wake()
            return
        with contextlib.suppress(StorageError):  # what was asked for is done
            with self.store.read() as tx:
                is_lacking = tx.vectors.is_lacking()
            if is_lacking:  # else neither arrays nor the embedder are loaded
                self.backlog.embed_few()

    def wait_for_reading(self) -> bool:
        """Give turns that are being read in the background a moment; return whether all are read."""
        return not self.in_background or self.turn_reader.wait()

    def worker_states(self) -> tuple[WorkerState, ...]:
        """Return the workers that have been given something to do."""
        states = (worker.state() for worker in self._workers.values())
        return tuple(state for state in states if state.jobs)

    def forget_texts(self) -> None:
        """Drop every text that this process holds, because some of it was erased."""
        from engramdb import erasable_cache  # noqa: PLC0415

        self.erasures_seen = self.store.erasures()
        erasable_cache.clear_caches()
        if is_built(self, "capture"):
            self.capture.sensory.clear()
        if is_built(self, "contexts"):
            self.contexts.clear()
        if is_built(self, "agents"):
            self.agents.clear()

    def notice_erasures(self) -> None:
        """Drop every text that this process holds where another one has erased words since the last look."""
        with contextlib.suppress(StorageError):  # whoever asked will be told by what they asked for
            if self.store.erasures() != self.erasures_seen:
                self.forget_texts()

    def close(self) -> None:
        """Finish what is under way and close the store; slow work stops at its next small write."""
        deadline = time.monotonic() + CLOSE_SECONDS
        if is_built(self, "scheduler"):
            self.scheduler.close()
        if is_built(self, "agents"):
            self.agents.close()
        self.stop.set()
        self._end("reader", deadline)
        self._end("summaries", deadline)
        if is_built(self, "turn_reader"):
            self.turn_reader.clear()
        self.write_notes()
        if is_built(self, "audit_log"):
            self.audit_log.close()
        self._end("index", deadline)
        if not self.in_background and is_built(self, "spaces"):
            self._save_index()
        if is_built(self, "foreign") and self.foreign is not None:
            self.foreign.close()
        if is_built(self, "guard"):
            self.guard.close()
        self.health_store.save()
        self.store.close()

    def restart_jobs(self) -> tuple[str, ...]:
        """Give background jobs that were given up, and parts that are left alone, another chance."""
        if is_built(self, "guard"):
            self.guard.half_open()
        names = [name for worker in self._workers.values() for name in worker.restart()]
        return (*names, *(self.scheduler.restart() if is_built(self, "scheduler") else ()))

    def _end(self, name: str, deadline: float) -> None:
        """End a worker; what it could not finish in time is noted, and done by the next process."""
        unfinished = self._workers[name].close(max(LEAST_CLOSE_SECONDS, deadline - time.monotonic()))
        if unfinished is not None:
            self.health.crashed(unfinished, UNFINISHED)

    def _worker(self, name: str) -> Worker | None:
        return self._workers[name] if self.in_background else None

    def _load_indexes(self) -> None:
        try:
            with self.store.background_writes():  # the snapshot of a large index
                self.spaces.load(self.store, stop=self.stop)
            if self.policy.recall.uses_graph:
                self.graph.load(self.store, stop=self.stop)
            with self.store.read() as tx:
                waiting = tx.memories
                is_waiting = any(
                    (waiting.count_unenriched(), waiting.count_unfiled(), waiting.count_unjudged())
                )
            is_waiting = is_waiting or self.backlog.has_unembedded()
        except EngramError:  # noted in health where it is the embedder's; the next call shows the store's own
            is_waiting = True
        if is_waiting and not self.stop.is_set():
            self.backlog.wake()

    def _keep_up(self) -> None:
        """Drop erased words, save how parts fare, drop expired documents, and embed what others have left."""
        self.notice_erasures()
        self.health_store.save()
        self.documents.prune_quietly()
        self.backlog.take_up_few()

    def _read_overdue(self) -> None:
        """Read the turns that should wait no longer, whichever process stored them."""
        self.turn_reader.read_overdue()

    def _back_up(self) -> None:
        """Copy the store where the last copy is too old."""
        from engramdb.engine.backups import back_up_if_due  # noqa: PLC0415

        back_up_if_due(self)

    def _save_index(self) -> None:
        """Save what a short process has read of a large index: the next one starts there."""
        with contextlib.suppress(EngramError), self.health.watch("index snapshot"):
            if self.spaces.state() is not None:
                self.spaces.save_snapshot(self.store)


def assemble(
    settings: Settings,
    *,
    clock: Clock,
    own: Own,
    must_exist: bool,
    scope: Scope = GLOBAL,
    actor: Actor = Actor(),
) -> Parts:
    """Open the store, and refuse settings that cannot work before anything is written."""
    parts = Parts(settings, clock=clock, own=own, scope=scope, actor=actor)
    if ":" in settings.embedder and own.embedder is None:
        parts.embedder  # noqa: B018 - its server's address may be missing, which is to be told at once
    if settings.chat:
        parts.chat  # noqa: B018 - it may be unknown
    parts.store = _open(settings, clock, must_exist=must_exist)
    parts.erasures_seen = parts.store.erasures()
    return parts


def _refuse_emptied(path: Path) -> None:
    """Raise where an empty file has backups: it was a store, and a new one would pass for it."""
    from engramdb.engine.backups import list_backups  # noqa: PLC0415 - imports this module

    if not (backups := list_backups(path.absolute())):
        return
    deadline = time.monotonic() + _MAKING_SECONDS
    while time.monotonic() < deadline:  # another process may be making it at this moment
        if path.stat().st_size:
            return
        time.sleep(0.01)
    raise StoreCorrupt(
        f"{path} is empty, and there {'is a backup' if len(backups) == 1 else 'are backups'} of what it held",
        hint="`engram restore-backup` goes back to the newest one. To start over, remove the empty file.",
    )


def _open(settings: Settings, clock: Clock, *, must_exist: bool) -> Store:
    path = Path(settings.store_location).expanduser()
    try:
        if must_exist and not path.exists():
            raise StoreNotFound(f"there is no store at {path}")
        if not settings.store:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_file() and not path.stat().st_size:
            _refuse_emptied(path)
    except OSError as exc:
        raise StoreUnreadable(f"{path}: {exc.strerror}") from exc
    store = open_store(settings, now=clock.now())
    if store.unwritable is not None:
        return store  # indexes of an older version answer as well as they can
    try:
        with store.read() as tx:
            is_current = tx.terms.version == TERMS_VERSION
            has_turns = tx.turn_terms.version == TERMS_VERSION
            has_traits = tx.traits.is_current
        if not is_current:
            from engramdb.index.rebuild import rebuild_terms  # noqa: PLC0415

            rebuild_terms(store)
        if not has_turns:
            from engramdb.index.rebuild import rebuild_turns  # noqa: PLC0415

            rebuild_turns(store)
        if not has_traits:
            with store.atomic() as tx:
                tx.traits.rebuild()
    except BaseException:
        store.close()
        raise
    return store
