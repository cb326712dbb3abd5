"""
Engram: the object that users hold.

Each verb checks and resolves what it is given and hands it to the service that does it. The signatures and
docstrings here are the public interface, which is why this module is longer than others.
"""

from __future__ import annotations

import builtins
import copy
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar, cast

from msgspec.structs import replace

from engramdb.clock import Clock, SystemClock
from engramdb.engine.auditing import CAPTURED, DOCUMENTS_WRITTEN, AuditedPart, audits
from engramdb.engine.disclosing import DisclosingDocuments, DisclosingPart, discloses
from engramdb.engine.parts import Own, Parts, assemble
from engramdb.errors import (
    AccessDenied,
    EngramError,
    InvalidQuery,
    InvalidScope,
    MemoryNotFound,
    StatementForgotten,
    StorageError,
)
from engramdb.settings import Settings
from engramdb.store.contract import FeedPage, Transaction
from engramdb.store.contract.whole import PartTally
from engramdb.text.normalize import fingerprint, is_text
from engramdb.values import (
    BELIEVED,
    GLOBAL,
    Act,
    ActId,
    Action,
    Actor,
    AgeReport,
    Answered,
    AuditEvent,
    AuditFilters,
    Backup,
    Breadth,
    Brief,
    Census,
    Confidence,
    CorrectedMemory,
    DoctorReport,
    Domain,
    DreamReport,
    Edge,
    EdgeType,
    EntityProfile,
    Erasure,
    ExportedMemory,
    FileKind,
    Filters,
    Forecast,
    ForgottenMemory,
    Gap,
    HistoryEvent,
    ImportKind,
    ImportOrigin,
    ImportReport,
    Kind,
    Layer,
    Memory,
    MemoryId,
    MemoryList,
    MemoryType,
    Mode,
    NotebookReport,
    Outcome,
    Provenance,
    Query,
    Reasoned,
    Recall,
    Reflection,
    Role,
    Scope,
    SecurityTier,
    Source,
    Status,
    StatusReport,
    Summary,
    Support,
    Timeline,
    Turn,
    TurnId,
    Undone,
    UnlearnedTurn,
    Window,
    WorkingLine,
    WorkingMemory,
    new_id,
)
from engramdb.values.query import RECALL_LIMIT, Then, check_limit, check_number, checked_filters, parse_enum
from engramdb.values.report import RestoredBackup, SalvageReport
from engramdb.values.window import BRIEF_TOKENS

if TYPE_CHECKING:  # imported by the verbs that use them, so that a process loads only what it needs
    from engramdb.capture.agents import AgentCapture
    from engramdb.context.agents import AgentTurn
    from engramdb.documents.store import DocumentStore
    from engramdb.engine.idempotency import ReplyStore
    from engramdb.importing.source import SourceFile, SourceMessage
    from engramdb.index.foreign import ProposesRows
    from engramdb.lifecycle.audit_log import AuditLog
    from engramdb.lifecycle.drafts import Draft
    from engramdb.models.capabilities import TokenCounter
    from engramdb.models.embedder import Embedder
    from engramdb.recall.fuse import Reranker
    from engramdb.vault.disclosure import Audience, Viewer

_ENDING = 8
"""The characters at the end of an id that may stand for the whole."""


Params = ParamSpec("Params")
Result = TypeVar("Result")


def renamed_argument(old: str, new: str) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
    """Let a method take an argument by its former name as well, for one version."""

    def decorate(method: Callable[Params, Result]) -> Callable[Params, Result]:
        @functools.wraps(method)
        def call(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
            return method(*args, **kwargs)

        return call

    return decorate


def _guarded(clock: Clock) -> Clock:
    from engramdb.models.guard import GuardedClock  # noqa: PLC0415 - loaded with a clock of the caller's own

    return GuardedClock(clock)


@audits
@discloses
class Engram:
    """A long-term memory: give it statements and turns, ask it questions."""

    def __init__(self, parts: Parts) -> None:
        self._own_parts = parts
        self._scope = parts.scope
        self._viewer: Viewer | None = None

    @classmethod
    def open(
        cls,
        store: str | PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
        scope: Scope = GLOBAL,
        actor: Actor = Actor(),
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        vector_index: ProposesRows | None = None,
        must_exist: bool = False,
        background: bool = True,
        dream: bool | None = None,
    ) -> Engram:
        """
        Open a store, or create it; without arguments, the one in your home folder.

        Settings come from the environment and the settings file unless given. With `background=False` nothing
        works in the background, and every process that searches a large store loads the vector index itself.
        A `reranker` serves the strategy `cross_encoder`. A `vector_index` of your own sees only row numbers
        and eight-bit vectors; its calls are limited in rate and audited, and the built-in index takes over
        when it fails. What you bring along may fail, hang or return nonsense: answers say what is missing.
        With `dream`, or the setting `dream_in_background`, the store dreams and ages by itself.
        """
        settings = settings or Settings.load()
        if store is not None:
            settings = replace(settings, store=str(store))
        parts = assemble(
            settings,
            clock=SystemClock() if clock is None else _guarded(clock),
            own=Own(embedder=embedder, reranker=reranker, vector_index=vector_index),
            must_exist=must_exist,
            scope=scope,
            actor=actor,
        )
        if background:
            parts.start(dream=settings.dream_in_background if dream is None else dream)
        return cls(parts)

    def close(self) -> None:
        """Finish what is under way and close the store; slow work stops at its next small write."""
        self._own_parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _parts(self) -> Parts:
        """The parts, free of words that another process has erased: every call begins by asking for them."""
        self._own_parts.notice_erasures()
        return self._own_parts

    @property
    def scope(self) -> Scope:
        """Where it reads and writes unless a call names another scope."""
        return self._scope

    @property
    def actor(self) -> Actor:
        """Who acts now: the one that a surface has recognized, else the one that it was opened for."""
        return self._parts.actor

    @property
    def settings(self) -> Settings:
        """The settings that it was opened with."""
        return self._parts.settings

    @property
    def audit_log(self) -> AuditLog:
        """Notes for the audit that leave no row by themselves."""
        return self._parts.audit_log

    @property
    def viewer(self) -> Viewer:
        """Who sees what the verbs return: a person, or an agent where it was opened for one."""
        if self._viewer is not None:
            return self._viewer
        from engramdb.vault.disclosure import Viewer  # noqa: PLC0415 - loads what finds secrets

        return Viewer.of(self.actor, secrets_for_agents=self._parts.settings.secrets_for_agents)

    def shown_to(self, audience: Audience | str, *, may_see_secrets: bool = False) -> Engram:
        """
        Return the same engine for somebody else to look at, such as the caller of a server.

        `may_see_secrets` says whether a secret is shown that is asked for by name. It shares everything with
        this one; close either once.
        """
        from engramdb.vault.disclosure import Audience, Viewer  # noqa: PLC0415 - loads what finds secrets

        view = copy.copy(self)
        view._viewer = Viewer(audience=Audience(audience), may_see_secrets=may_see_secrets)  # noqa: SLF001
        return view

    @property
    def capture(self) -> AgentCapture:
        """Verbs for what agents produce besides talk: compactions, task results, findings, tool runs."""
        part = DisclosingPart(self, self._parts.agent_capture)
        return cast("AgentCapture", AuditedPart(self, part, writes=CAPTURED))

    @property
    def documents(self) -> DocumentStore:
        """
        Documents that other programs store word for word, and recall among what was remembered of them.

        What an agent finds by `list` and `search` has its secrets masked; by key and place a program gets its
        own back whole.
        """
        part = DisclosingDocuments(self, self._parts.documents)
        audited = AuditedPart(self, part, writes=DOCUMENTS_WRITTEN, reading=Action.DOCUMENTS)
        return cast("DocumentStore", audited)

    @property
    def shelf(self) -> DocumentStore:
        """The former name of `documents`."""
        return self.documents

    @property
    def replies(self) -> ReplyStore:
        """Answers stored by idempotency key."""
        return self._parts.replies

    # --- what comes in --------------------------------------------------------------------------------------

    def observe(
        self,
        content: str,
        *,
        role: str = "user",
        speaker: str | None = None,
        session: str | None = None,
        occurred_at: datetime | None = None,
        scope: Scope | None = None,
    ) -> Turn:
        """
        Store one message as it was said; it is durable and searchable when this returns.

        Its sentences become memories soon after: at once for a rule, a correction, a decision and such,
        otherwise together with the turns around it. `flush` reads what still waits.
        """
        self._parts.write_notes()
        turn = self._parts.writer.observe(
            content,
            role=role,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            scope=self._in(scope),
        )
        self._parts.turn_reader.turn_stored(turn)
        return turn

    def flush(self, *, session: str | None = None, scope: Scope | None = None) -> int:
        """
        Read the turns that still wait, and return how many there were.

        Of one session if given, else of exactly the scope that is named or worked in, or of the whole store.
        """
        conversation = None if session is None else (self._in(scope), session)
        return self._parts.turn_reader.flush(conversation, owner=self._confined(scope))

    def end_session(self, session: str, *, scope: Scope | None = None) -> Memory | None:
        """Read what still waits of a session and store a summary of it; a short or trivial one has none."""
        place = self._in(scope)
        self.flush(session=session, scope=place)
        return self._parts.summarizer.end(session, place)

    def remember(
        self,
        content: str,
        *,
        category: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        layer: Layer | None = None,
        type: MemoryType | None = None,  # noqa: A002 - the word users know
        kind: Kind | None = None,
        source: Source | None = None,
        speaker: str | None = None,
        session: str | None = None,
        occurred_at: datetime | None = None,
        forget_after: datetime | None = None,
        pinned: bool = False,
        scope: Scope | None = None,
        actor: Actor | None = None,
    ) -> Memory:
        """
        Store one statement and return it; one that is already known becomes stronger instead.

        Category, layer, type and kind are read from its words where they are not given. It is durable and can
        be recalled, by every process that has the store open, when this returns. What the person asked to
        forget is not stored again, and raises `StatementForgotten`, unless it is a person who states it:
        then the memory tells when it had been forgotten (`forgotten_before`). `actor` is who states it, where
        that is not the one that the engine was opened for; unless a `source` is named, what an agent states
        is its own conclusion, and with `human` what it reports as the person's words.
        """
        from engramdb.lifecycle.drafts import Draft  # noqa: PLC0415 - loads what reads statements

        stated_by = actor or self._parts.actor
        said = stated_by.own_source if source is None else parse_enum(Source, source)
        draft = Draft(
            content=content,
            scope=self._in(scope),
            category=category,
            importance=importance,
            confidence=confidence,
            layer=layer,
            type=type,
            kind=kind,
            provenance=Provenance(source=said, speaker=speaker, session=session),
            occurred_at=occurred_at,
            forget_after=forget_after,
            pinned=pinned,
        )
        return self._parts.writer.admit([draft], is_explicit=True, actor=actor)[0]

    def remember_many(
        self, drafts: Iterable[Draft], *, progress: Callable[[int], None] | None = None
    ) -> builtins.list[Memory]:
        """
        Store many statements, a few hundred per write, and return them in their order.

        What is inferred from their words (affect, traits, entities) follows in the background; `status` shows
        how many wait, and `enrich` does it now. Repetitions in other words are not looked for in the store.

        A draft that is not valid raises. What was written before it stays stored, and the error's hint says
        how many drafts that was. Where some say what the person asked to forget, all others are stored before
        `StatementForgotten` is raised.
        """
        stored: builtins.list[Memory] = []
        try:
            with self._parts.store.one_act(Action.REMEMBER, actor=self._parts.actor, at=self._now()):
                stored.extend(self.remember_stream(drafts, progress=progress))
        except StatementForgotten:  # which says that the others are stored
            raise
        except EngramError as exc:
            if stored:
                exc.hint = f"{exc.hint} The first {len(stored)} drafts are stored.".lstrip()
            raise
        return stored

    def remember_stream(
        self, drafts: Iterable[Draft], *, progress: Callable[[int], None] | None = None
    ) -> Iterator[Memory]:
        """
        Store many statements as `remember_many` does, but yield each as it is durable.

        Lazy, for more than fits into memory: drafts are read, and stored, only as the result is iterated.
        """
        yield from self._parts.writer.admit_many(drafts, progress)

    def hear(
        self,
        messages: Sequence[SourceMessage],
        *,
        kind: ImportKind = ImportKind.CLAUDE_CODE,
        most_characters: int | None = None,
        is_logged: bool = True,
        scope: Scope | None = None,
    ) -> Sequence[Turn]:
        """
        Store messages of one session, oldest first, each once, and return the turns that are new.

        They are durable when this returns; they are read by `read_due` or `flush`. A
        message is known by its key, and also by its words where the session holds them already without that
        key: an agent tells of a prompt before its log does. Where nothing is logged (`is_logged`), only the
        key counts, so that the same words said later are stored too. One that cannot be stored is skipped,
        and one that is too long loses its middle, down to `most_characters`.
        """
        return self._parts.importing.take_messages(
            messages,
            kind=kind,
            most_characters=most_characters,
            is_logged=is_logged,
            scope=self._in(scope),
        )

    def read_due(self, turns: Sequence[Turn]) -> None:
        """
        Read turns that `hear` has stored, where a signal or their number says so.

        Commands among them are learned from at once: what failed and then worked, and what was shipped.
        """
        for turn in turns:
            self._parts.turn_reader.turn_stored(turn)
        if any(turn.role is Role.TOOL for turn in turns):
            self._parts.command_learner.learn(turns)

    def import_from(
        self,
        path: str | PathLike[str] | SourceFile,
        *,
        kind: str | None = None,
        mapping: Mapping[str, str] | None = None,
        speaker: str | None = None,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
        may_enter: Callable[[Scope], bool] | None = None,
        scope: Scope | None = None,
    ) -> ImportReport:
        """
        Import a file, a folder or a zip archive that another program wrote; `dry_run` only counts.

        The kind is detected from the content unless given. What an earlier import brought is skipped, also
        where it was corrected or forgotten since, so an import may be interrupted and repeated. `mapping`
        names the columns of a table: {"content": "text", "occurred_at": "date"}. `speaker` is the name of the
        user in conversations that do not say it. A record that cannot be imported is reported by its place
        and does not stop the others; so is one whose scope `may_enter` refuses.
        """
        from engramdb.importing.source import SourceFile  # noqa: PLC0415 - few processes import

        return self._parts.importing.take_file(
            path if isinstance(path, SourceFile) else Path(path),
            kind=None if kind is None else parse_enum(ImportKind, kind),
            mapping=mapping,
            speaker=speaker,
            dry_run=dry_run,
            progress=progress,
            may_enter=may_enter,
            scope=self._in(scope),
        )

    def import_text(
        self,
        name: str,
        text: str,
        *,
        kind: str | None = None,
        mapping: Mapping[str, str] | None = None,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
        may_enter: Callable[[Scope], bool] | None = None,
        scope: Scope | None = None,
    ) -> ImportReport:
        """
        Import a text that a stranger sent, as `import_from` does a file of that name.

        A child process with limits on time and memory reads it; where it comes to no end, nothing is
        stored and `ImportStopped` is raised. No copy of the text is written anywhere.
        """
        return self._parts.importing.take_text(
            name,
            text,
            kind=None if kind is None else parse_enum(ImportKind, kind),
            mapping=mapping,
            dry_run=dry_run,
            progress=progress,
            may_enter=may_enter,
            scope=self._in(scope),
        )

    def imported_from(self, memory_id: MemoryId, *, scope: Scope | None = None) -> ImportOrigin | None:
        """Return which file a memory, or the conversation behind it, was imported from, if any."""
        memory = self._parts.lifecycle.get(self._resolve(memory_id, scope), scope=self._in(scope))
        with self._parts.store.read() as tx:
            return tx.imports.origin(memory.id)

    # --- what is asked --------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int = RECALL_LIMIT,
        mode: Mode = Mode.FULL_CONTEXT,
        filters: Filters | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        strategy: str | None = None,
        explain: bool = False,
        turns: bool = True,
        abstain: bool = False,
        scope: Scope | None = None,
    ) -> Recall:
        """
        Return the memories that fit the question, best first, with reasons, and how good the answer is.

        What is given and fits counts as recalled, in this `session` if named. With `as_of` the answer is
        what was believed at that moment, with `valid_at` what was true at one, as known now or `as_of` then;
        either counts as no recall, and what was forgotten since stays forgotten.
        `strategy` puts the candidates in another order than the policy does; `explain` also shows what was
        nearly given. Where memories fall short, `said` is what was said and not kept, unless `turns` is off.
        `quality.answerable` is how likely the answer is among the hits; `abstain` gives none where it is not.
        A secret is masked unless the question asks for it by its name: "what is the alarm code?"; then it is
        looked for among all of the scope, also by the other sentences of the message that it is from.
        """
        narrowed = checked_filters(filters).in_mode(parse_enum(Mode, mode))
        asked = Query(text=query, scope=self._in(scope), filters=narrowed, limit=limit)
        then = Then(as_of=as_of, valid_at=valid_at)
        with self._parts.search_slots.taken():
            answer = self._parts.recalls.recall(
                asked,
                session=session,
                then=then,
                strategy=strategy,
                explain=explain,
                turns=turns,
                abstain=abstain,
            )
        return self._disclosed(answer, is_past=then.is_past)

    def timeline(
        self, topic: str, *, entities: Iterable[str] = (), limit: int = 50, scope: Scope | None = None
    ) -> Timeline:
        """
        Return how the knowledge of a topic came to be: what was added, confirmed, corrected, disputed.

        A topic that names a person or thing covers all memories about it, whatever their words. With
        `entities`, only memories about these count.
        """
        filters = Filters(entities=frozenset(entities))
        return self._parts.recalls.timeline(
            Query(text=topic, scope=self._in(scope), filters=filters, limit=limit)
        )

    def entity(self, name: str, *, limit: int = 20, scope: Scope | None = None) -> EntityProfile:
        """Return everything about a person, project or thing: memories of all layers, relations, company."""
        from engramdb.recall.entity import profile  # noqa: PLC0415 - loads the read path

        check_limit(limit)
        with self._parts.store.read() as tx:
            return profile(tx, name, scope=self._in(scope), limit=limit, now=self._now())

    def reason(
        self,
        question: str,
        *,
        depth: int | None = None,
        limit: int = 20,
        calls: int | None = None,
        tokens: int | None = None,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Reasoned:
        """
        Recall, judge whether that is enough, ask for parts and gaps, and answer from what was found.

        The answer names the memories that it stands on. Without a chat model, or where it fails, there is
        none, and `why` says so; the evidence tree is there at any rate. `depth` is how many levels of
        questions are asked, from 1 to 5; a model is asked `calls` times at most, for `tokens` in all. What is
        not given follows from what the model can do.
        """
        from engramdb.recall.reason import reason_about  # noqa: PLC0415 - loads the prompts

        place = self._in(scope)
        reasoned = reason_about(
            self._parts,
            question,
            depth=depth,
            limit=limit,
            calls=calls,
            tokens=tokens,
            scope=place,
            now=self._now(),
        )
        self._parts.access_log.note_hits(reasoned.evidence, place, session)
        return reasoned

    def confidence(self, query: str, *, scope: Scope | None = None) -> Confidence:
        """Return how sure an answer to the question can be: confident, uncertain or unknown."""
        from engramdb.recall.answerability import confidence  # noqa: PLC0415 - loads the read path

        return confidence(self._parts, query, scope=self._in(scope), now=self._now())

    def get(self, memory_id: MemoryId, *, reveal: bool = False, scope: Scope | None = None) -> Memory:
        """
        Return one memory by its id or the last eight characters of it.

        A secret in it is masked, unless told to `reveal` it, which is audited.
        """
        found = self._parts.lifecycle.get(self._resolve(memory_id, scope), scope=self._in(scope))
        return self._listed([found], reveal=reveal)[0]

    def list(
        self,
        *,
        limit: int = 50,
        before: MemoryId | None = None,
        filters: Filters | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        reveal: bool = False,
        scope: Scope | None = None,
    ) -> MemoryList:
        """
        Return memories, newest first; `before` a memory's id gives the page after it.

        With `as_of` those that were believed at that moment, as they were then; with `valid_at` those that
        were true at one. Secrets are masked, unless told to `reveal` them, which is audited. A memory whose
        row is damaged is left out, and named in the answer's `unreadable`.
        """
        check_limit(limit)
        then = Then(as_of=as_of, valid_at=valid_at)
        then.check()
        place, narrowed = self._in(scope), checked_filters(filters)
        start = None if before is None else self._resolve(before, scope)
        with self._parts.store.read() as tx:
            unreadable = tx.memories.skip_unreadable()
            if start is not None and tx.memories.get(start, scope=place) is None:
                raise MemoryNotFound(f"no memory {start!r} is visible in scope {place}")
            if then.is_past:
                from engramdb.recall.as_of import list_then  # noqa: PLC0415 - loads the read path

                found: Sequence[Memory] = list_then(
                    tx,
                    then=then,
                    scope=place,
                    filters=narrowed,
                    limit=limit,
                    before=start,
                    now=self._now(),
                )
            else:
                found = tx.memories.list(
                    scope=place, filters=narrowed, limit=limit, before=start, alive_at=self._now()
                )
        return MemoryList(self._listed(found, reveal=reveal), unreadable=tuple(unreadable))

    def turns(
        self,
        *,
        session: str | None = None,
        limit: int = 50,
        before: TurnId | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Turn]:
        """
        Return the latest turns, oldest of them first; `before` a turn's id gives those that led to it.

        A sentence that says what was forgotten is not shown, and a secret is masked.
        """
        check_limit(limit)
        place = self._in(scope)
        with self._parts.store.read() as tx:
            start = None if before is None else self._turn_id(tx, before, place)
            found = tx.turns.list(scope=place, session=session, limit=limit, before=start)
            earlier = _said_before(tx, found, session)
            shown = self._parts.forgotten.conceal(tx, found) if tx.forgotten.count() else found
        from engramdb.vault.disclosure import disclose_turns  # noqa: PLC0415 - loads what finds secrets

        return disclose_turns(shown, self.viewer.audience, before=earlier)

    def gaps(self, *, limit: int = 20, after: str | None = None, scope: Scope | None = None) -> Sequence[Gap]:
        """
        Return open questions, the weightiest first: missing facts, contradictions, old beliefs.

        `after` a question's id gives the page after it, also if that one was settled meanwhile.
        """
        from engramdb.lifecycle.questions import find_question, open_questions  # noqa: PLC0415 - few processes ask

        check_limit(limit)
        place = self._in(scope)
        with self._parts.store.read() as tx:
            if after is not None:
                find_question(tx, after, place)
            return open_questions(tx, place, limit=limit, after=after)

    def close_gap(self, gap_id: str, *, reason: str = "", scope: Scope | None = None) -> Gap:
        """Settle a question without an answer; it is not asked again."""
        from engramdb.lifecycle.questions import close_question  # noqa: PLC0415 - few processes ask

        return close_question(
            self._parts.store,
            gap_id,
            scope=self._in(scope),
            reason=reason,
            actor=self._parts.actor,
            now=self._now(),
        )

    def answer(self, gap_id: str, answer: str, *, scope: Scope | None = None) -> Answered:
        """
        Answer an open question, named by its id or the last eight characters of it, and return what follows.

        "Yes" confirms what was asked about and "no" invalidates it; of two that contradict each other "first"
        or "second" chooses, "both" keeps both for good and "neither" none. What is stated instead is stored
        as the person's own words and supersedes what was asked about. "Not now" lets the question rest.
        """
        return self._parts.writer.answer(gap_id, answer, scope=self._in(scope))

    def reflect(self, *, limit: int = 10, scope: Scope | None = None) -> Reflection:
        """
        Return what is there twice, old, disputed, doubtful after a change, open, or never recalled.

        Changes nothing. Of each finding the weightiest `limit` are told, and how many there are.
        """
        from engramdb.dream.reflect import ReflectRequest, reflect  # noqa: PLC0415 - few processes ask

        check_limit(limit)
        self._parts.write_notes()
        request = ReflectRequest(
            scope=self._in(scope),
            policy=self._parts.policy,
            likeness=self._parts.pipeline.likeness,
            now=self._now(),
            limit=limit,
        )
        with self._parts.store.read() as tx:
            return reflect(tx, request)

    def domains(self, *, scope: Scope | None = None) -> Sequence[Domain]:
        """Return the fields of knowledge that the last dream found, the best known first."""
        from engramdb.index.domains import list_domains  # noqa: PLC0415 - few processes ask

        with self._parts.store.read() as tx:
            return list_domains(tx, self._in(scope), self._parts.policy.insight, self._now())

    def summaries(
        self,
        query: str | None = None,
        *,
        breadth: Breadth | str = Breadth.DOMAIN,
        limit: int = 5,
        scope: Scope | None = None,
    ) -> Sequence[Summary]:
        """Return what is known in short: by cluster, by domain or all of it, what fits the question first."""
        from engramdb.index.domains import find_summaries  # noqa: PLC0415 - few processes ask

        if breadth not in [one.value for one in Breadth]:
            raise InvalidQuery(f"no breadth is called {breadth!r}", hint=f"Use one of {', '.join(Breadth)}.")
        place = self._in(scope)
        vector, space = None, None
        if query is not None:
            (vector,) = self._parts.embedder.embed_queries([Query(text=query, scope=place).text])
        with self._parts.store.read() as tx:
            if vector is not None:
                space = tx.vectors.space(self._parts.embedder.identity)
            return find_summaries(tx, place, vector, breadth, limit, space=space)

    # --- prompts and agents ---------------------------------------------------------------------------------

    def context(
        self,
        message: str,
        *,
        model: str | None = None,
        history: Sequence[Turn | Mapping[str, str]] | None = None,
        fixed: str | Sequence[str] = (),
        reserve: int | None = None,
        budget: int | None = None,
        working: Sequence[WorkingLine] = (),
        session: str | None = None,
        scope: Scope | None = None,
        recalled: Callable[[int], Recall] | None = None,
        counter: TokenCounter | None = None,
    ) -> Window:
        """
        Return what a model should have in mind for a message, in sections that fit its window.

        The window of `model` less the `fixed` parts of the prompt, the message and the reply is the budget;
        `budget` gives it outright. `reserve` is what the reply may take. Without a `history` the turns of
        the `session` are it. `recalled` answers in place of a plain recall, given a number of memories, and
        `counter` counts in place of the model's own. What is shown and fits counts as recalled. Raises where
        fixed parts or working memory do not fit.
        """
        from engramdb.context.service import PromptRequest  # noqa: PLC0415 - loads the read path

        request = PromptRequest(
            message=message,
            scope=self._in(scope),
            model=model,
            history=history,
            fixed=fixed,
            reserve=reserve,
            budget=budget,
            working=working,
            session=session,
            counter=counter,
        )
        with self._parts.search_slots.taken():
            return self._parts.contexts.build(request, recalled=recalled)

    def brief(
        self, *, budget: int = BRIEF_TOKENS, session: str | None = None, scope: Scope | None = None
    ) -> Brief:
        """
        Return what to give a model when work begins, before anything is asked, in `budget` tokens.

        The rules that a person has set come first, then what is pinned and preferred, then what matters most
        of what is known. What the `session` itself has said is left out.
        """
        return self._parts.contexts.brief(self._in(scope), budget=budget, session=session)

    def questions_about(
        self,
        memory_ids: Iterable[MemoryId],
        *,
        session: str | None = None,
        limit: int = 1,
        scope: Scope | None = None,
    ) -> Sequence[Gap]:
        """
        Return open questions about memories that may be put to the person now; they count as asked.

        None that was asked in the last week, and no more in a `session` than the policy allows.
        """
        return self._parts.contexts.questions_about(
            frozenset(memory_ids), scope=self._in(scope), session=session, most=limit
        )

    def turn(
        self,
        message: str,
        *,
        agent: str | None = None,
        model: str | None = None,
        session: str | None = None,
        kind: str = "chat",
        speaker: str | None = None,
        history: Sequence[Turn | Mapping[str, str]] | None = None,
        fixed: str | Sequence[str] = (),
        reserve: int | None = None,
        scope: Scope | None = None,
    ) -> AgentTurn:
        """
        Return one turn of an agent, to be used as `with engram.turn(…) as turn:`, or `async with`.

        On the way in the message is stored, what fits it is recalled, and `turn.window` holds the prompt
        for the `model`. Inside, run the model and hand over what it says with `turn.reply`. On the way out
        that is stored, the agent's working memory is brought up to date and kept, and what follows is
        scheduled. A block that raises, or that replies nothing, leaves the working memory as it was. `kind`
        says who calls: chat, task, cron, orchestrator, swarm or flow; the result of all but a chat is
        remembered as well.
        """
        from engramdb.context.turns import TurnKind, TurnRequest  # noqa: PLC0415 - most processes run no agent

        who = parse_enum(TurnKind, kind)
        place = self._of_agent(agent, scope)
        if session is None and who is not TurnKind.CHAT:
            session = f"{who}-{new_id(self._now())}"
        request = TurnRequest(
            message=message,
            scope=place,
            kind=who,
            agent=place.agent,
            model=model,
            session=session,
            speaker=speaker,
            history=history,
            fixed=fixed,
            reserve=reserve,
        )
        return self._parts.agents.turn(request)

    def suspend(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """Save an agent's working memory, drop it from this process, and return what was saved."""
        return self._parts.agents.suspend(self._of_agent(agent, scope))

    def resume(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """
        Bring an agent's working memory back, and say in what state.

        After less than four hours it is as it was, after less than a day fainter; after longer the agent
        starts over with what matters most. What was forgotten meanwhile does not come back. A turn does
        this by itself.
        """
        return self._parts.agents.working_memory(self._of_agent(agent, scope))

    def working_memory(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """Return an agent's working memory as it is now, the most active items first."""
        return self._parts.agents.working_memory(self._of_agent(agent, scope))

    # --- the life of one memory -----------------------------------------------------------------------------

    @renamed_argument("if_still", "expected_version")
    def correct(
        self,
        memory_id: MemoryId,
        content: str,
        *,
        reason: str = "",
        reinstate: bool = False,
        expected_version: Memory | None = None,
        scope: Scope | None = None,
        actor: Actor | None = None,
    ) -> CorrectedMemory:
        """
        Put a new statement in the place of an old one; the old stays in the history.

        The old one is named by its id, by the last eight characters of it, or by its own words. With
        `reinstate`, what it had displaced counts again. What is pinned or about health only a person
        replaces: what an agent states is kept beside it and makes it `disputed`.
        `expected_version`, here and in every verb that changes one memory, is the memory as the caller read
        it: if any process has changed it since, `MemoryChanged` is raised and nothing is written.
        """
        return self._parts.writer.correct(
            self._resolve(memory_id, scope),
            content,
            scope=self._in(scope),
            reason=reason,
            reinstate=reinstate,
            expected_version=expected_version,
            actor=actor,
        )

    @renamed_argument("if_still", "expected_version")
    def forget(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        reinstate: bool = False,
        expected_version: Memory | None = None,
        scope: Scope | None = None,
        actor: Actor | None = None,
    ) -> ForgottenMemory:
        """
        Take a memory out of every answer now; only a person can bring it back.

        What it says is recognized from then on, in these and in other words, and not stored again; what was
        said of it is not shown any more. Returns it with what it had `displaced`, that is superseded. With
        `reinstate` that counts again at once; otherwise `restore` brings it back. What is pinned or about
        health an agent may neither forget nor erase, archive, invalidate or unpin: `AccessDenied`.
        """
        target = self._resolve(memory_id, scope)
        return self._parts.with_room(
            lambda: self._parts.lifecycle.forget(
                target,
                scope=self._in(scope),
                reason=reason,
                reinstate=reinstate,
                expected_version=expected_version,
                actor=actor,
            )
        )

    def undo(
        self,
        memory_id: MemoryId | None = None,
        *,
        act: ActId | None = None,
        with_later: bool = False,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Undone:
        """
        Undo what was done last in this scope by the one who asks, or last to a memory, or an act by its id.

        An act is undone with all that followed from it: what it stored no longer holds, what it displaced
        holds again, and what it changed is as before. Where later acts build on it, it is refused, and they
        are named; `with_later` undoes them first. Undoing an undo puts everything back. A person may undo
        whatever was done, by rules and agents too, except an erasure; an agent neither what a person did or
        said nor what was forgotten on purpose, and of what is guarded only what it did itself.
        """
        return self._parts.lifecycle.undo(
            None if memory_id is None else self._resolve(memory_id, scope),
            act=act,
            with_later=with_later,
            scope=self._in(scope),
            reason=reason,
            expected_version=expected_version,
        )

    def acts(
        self, *, limit: int = 20, before: ActId | None = None, scope: Scope | None = None
    ) -> Sequence[Act]:
        """
        Return what was done in exactly this scope, newest first: when, by whom, to how many memories.

        `before` an act's id gives the page after it. `undo` takes any of them back.
        """
        check_limit(limit)
        return self._parts.lifecycle.acts(scope=self._in(scope), limit=limit, before=before)

    def forget_turn(self, turn_id: TurnId, *, reason: str = "", scope: Scope | None = None) -> UnlearnedTurn:
        """
        Drop a message of this scope, and take back what was learnt from it alone.

        What was said elsewhere too stays; what a forgotten memory had superseded counts again.
        """
        from engramdb.capture.pipeline import find_turn  # noqa: PLC0415 - loads the write path

        place = self._in(scope)
        with self._parts.store.read() as tx:
            turn = find_turn(tx, turn_id, place)
        if turn.scope != place:
            raise AccessDenied(f"turn {turn.id} belongs to scope {turn.scope}, not to {place}")
        return self._parts.with_room(lambda: self._parts.lifecycle.forget_turn(turn, reason=reason))

    @renamed_argument("if_still", "expected_version")
    def erase(
        self,
        memory_id: MemoryId | None = None,
        *,
        user: str | None = None,
        reason: str = "",
        dry_run: bool = False,
        mentions: bool = False,
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Erasure:
        """
        Take the words of a memory, or everything of a user, out of every file for good; nobody can undo it.

        Along with a memory goes what says the same, what was concluded from it and the turns it was read
        from; along with a user every scope of that name inside this one. What else mentions the words, or
        the user, is listed; `mentions` erases it along with a memory. The file is then rewritten, and
        others wait meanwhile. With `dry_run` it only counts. Twice is harmless: it cleans the files
        again where that did not succeed; a user is then named by the token. A user whom no scope names
        raises `UserNotFound`.
        """
        from engramdb.engine.erasing import FileErasure, clean_files  # noqa: PLC0415 - few processes erase

        target = None if memory_id is None else self._resolve(memory_id, scope)
        erased = self._parts.with_room(
            lambda: self._parts.lifecycle.erase(
                target,
                user=user,
                reason=reason,
                dry_run=dry_run,
                mentions=mentions,
                scope=self._in(scope),
                expected_version=expected_version,
            )
        )
        order = FileErasure(
            words=erased,
            user_scope=None if user is None else replace(self._in(scope), user=Scope(user=user).user),
            reason=reason,
            mentions=mentions,
            dry_run=dry_run,
        )
        return clean_files(self._parts, order)

    @renamed_argument("if_still", "expected_version")
    def set_status(
        self,
        memory_id: MemoryId,
        status: Status,
        *,
        reason: str = "",
        reinstate: bool = False,
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Move a memory to another status; bringing one back needs a reason.

        With `reinstate`, what a memory had displaced that leaves now counts again.
        """
        return self._parts.lifecycle.set_status(
            self._resolve(memory_id, scope),
            parse_enum(Status, status),
            scope=self._in(scope),
            reason=reason,
            reinstate=reinstate,
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def pin(
        self, memory_id: MemoryId, *, expected_version: Memory | None = None, scope: Scope | None = None
    ) -> Memory:
        """Make a memory immune to every automatic loss."""
        return self._parts.lifecycle.pin(
            self._resolve(memory_id, scope),
            pinned=True,
            scope=self._in(scope),
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def unpin(
        self, memory_id: MemoryId, *, expected_version: Memory | None = None, scope: Scope | None = None
    ) -> Memory:
        """Let a memory age again."""
        return self._parts.lifecycle.pin(
            self._resolve(memory_id, scope),
            pinned=False,
            scope=self._in(scope),
            expected_version=expected_version,
        )

    def release(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Let a memory that was held back as suspicious, such as a quarantined import, into windows.

        Only a person may: `list` with the flag `quarantined` shows what waits.
        """
        return self._parts.lifecycle.release(
            self._resolve(memory_id, scope),
            reason=reason,
            scope=self._in(scope),
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def feedback(
        self,
        memory_id: MemoryId,
        *,
        helpful: bool,
        query: str | None = None,
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Record whether a memory helped, and for which question.

        One that did not help is not given again to such questions for a while; to others it is. The question
        is stored as a fingerprint and a vector, not as words.
        """
        return self._parts.lifecycle.feedback(
            self._resolve(memory_id, scope),
            helpful=helpful,
            query=query,
            scope=self._in(scope),
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def restore(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """
        Let a memory count again that was removed or superseded; it counts as confirmed now.

        What was removed on purpose, by a person or an agent, only a person brings back.
        """
        return self._parts.lifecycle.restore(
            self._resolve(memory_id, scope),
            scope=self._in(scope),
            reason=reason,
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def promote(
        self,
        memory_id: MemoryId,
        *,
        layer: Layer | None = None,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Put a memory one layer up, or into the layer given; rules then leave it there."""
        return self._parts.lifecycle.set_layer(
            self._resolve(memory_id, scope),
            None if layer is None else parse_enum(Layer, layer),
            up=True,
            scope=self._in(scope),
            reason=reason,
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def demote(
        self,
        memory_id: MemoryId,
        *,
        layer: Layer | None = None,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Put a memory one layer down, or into the layer given; rules then leave it there."""
        return self._parts.lifecycle.set_layer(
            self._resolve(memory_id, scope),
            None if layer is None else parse_enum(Layer, layer),
            up=False,
            scope=self._in(scope),
            reason=reason,
            expected_version=expected_version,
        )

    def history(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[HistoryEvent]:
        """Return everything that happened to a memory, oldest first."""
        return self._parts.lifecycle.history(self._resolve(memory_id, scope), scope=self._in(scope))

    def evidence(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Support:
        """
        Return what a memory rests on: the other wordings that it stands for, and the turns they were said in.

        What says the same becomes evidence of one statement and is not recalled by itself; `unmerge` takes
        it apart again.
        """
        return self._parts.lifecycle.evidence(self._resolve(memory_id, scope), scope=self._in(scope))

    @renamed_argument("if_still", "expected_version")
    def link(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        *,
        type: EdgeType = EdgeType.RELATED_TO,  # noqa: A002 - the word users know
        weight: float = 1.0,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Edge:
        """
        Link a memory to another: it supports or contradicts it, was caused by it, is an instance of it, or
        has to do with it.

        Recall follows the link at once and reports a contradiction. A repeated call replaces the weight.
        """
        return self._parts.lifecycle.link(
            self._resolve(memory_id, scope),
            self._resolve(other, scope),
            parse_enum(EdgeType, type),
            weight=weight,
            scope=self._in(scope),
            reason=reason,
            expected_version=expected_version,
        )

    @renamed_argument("if_still", "expected_version")
    def unlink(
        self,
        memory_id: MemoryId,
        other: MemoryId,
        *,
        type: EdgeType = EdgeType.RELATED_TO,  # noqa: A002 - the word users know
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> bool:
        """Remove a link; return whether it was there."""
        return self._parts.lifecycle.unlink(
            self._resolve(memory_id, scope),
            self._resolve(other, scope),
            parse_enum(EdgeType, type),
            scope=self._in(scope),
            reason=reason,
            expected_version=expected_version,
        )

    relate, unrelate = link, unlink  # the former names, for one version

    def links(self, memory_id: MemoryId, *, scope: Scope | None = None) -> Sequence[Edge]:
        """Return the links that leave or reach a memory and whose other end this scope may see."""
        return self._parts.lifecycle.links(self._resolve(memory_id, scope), scope=self._in(scope))

    @renamed_argument("if_still", "expected_version")
    def unmerge(
        self,
        memory_id: MemoryId,
        *,
        reason: str = "",
        expected_version: Memory | None = None,
        scope: Scope | None = None,
    ) -> Sequence[Memory]:
        """
        Take back every merge into a memory, or the one by which it was merged itself; no dream repeats it.

        What was merged is active again with its own evidence, which the other one gives back. Returns what
        was brought back.
        """
        from engramdb.dream.service import take_apart  # noqa: PLC0415 - loads the dream

        back = take_apart(
            self._parts,
            self._resolve(memory_id, scope),
            scope=self._in(scope),
            actor=self._parts.actor,
            reason=reason or "taken apart",
            expected_version=expected_version,
        )
        self._parts.embed_changed()
        return back

    # --- the whole store ------------------------------------------------------------------------------------

    def dream(
        self,
        *,
        dry_run: bool = False,
        steps: Sequence[str] | None = None,
        progress: Callable[[str, float], None] | None = None,
        scope: Scope | None = None,
    ) -> DreamReport:
        """
        Consolidate memories once: merge, settle, conclude, connect, ask; all steps or those named.

        Concerns the whole store, or exactly one scope: the one named, or the one that the engine was opened
        in. A dream of a scope neither reads nor changes what is outside of it, wider scopes included.

        Works in small writes beside everything else, one dream at a time; an interrupted one goes on where it
        stopped. With `dry_run` it only tells what it would do first. `progress` is told each step and the
        share of them that is done.
        """
        from engramdb.dream.service import dream_once  # noqa: PLC0415 - loads the dream

        self._parts.write_notes()
        return dream_once(
            self._parts, scope=self._confined(scope), steps=steps, dry_run=dry_run, progress=progress
        )

    def dreams(
        self, *, limit: int = 10, before: int | None = None, scope: Scope | None = None
    ) -> Sequence[DreamReport]:
        """
        Return the reports of the latest dreams, newest first; an unfinished one tells how far it came.

        All of them, or those of exactly one scope: the one named, or the one that the engine was opened in.

        `before` a report's `number` gives the page after it.
        """
        check_limit(limit)
        if before is not None:
            check_number("before", before)
        with self._parts.store.read() as tx:
            place = self._confined(scope)
            return [run.report for run in tx.dreams.recent(limit=limit, before=before, scope=place)]

    def age(self, *, dry_run: bool = False, progress: Callable[[int], None] | None = None) -> AgeReport:
        """
        Let the whole store age once: layers change, and what a rule of the policy is due for leaves.

        Works in small writes beside everything else; an interrupted sweep goes on where it stopped. With
        `dry_run` it only tells what it would do. `restore` brings back what a rule removed.
        """
        from engramdb.lifecycle.aging import age_once  # noqa: PLC0415 - loads numpy

        self._parts.write_notes()
        return self._parts.with_room(lambda: age_once(self._parts, dry_run=dry_run, progress=progress))

    def forecast(
        self,
        memory_id: MemoryId | None = None,
        *,
        days: float = 365,
        everywhere: bool = False,
        scope: Scope | None = None,
    ) -> Forecast:
        """
        Forecast what will fade, move and leave within `days` if nothing happens, for one memory or all.

        Covers what the scope sees; `everywhere` counts the whole store instead and shows no memory.
        """
        from engramdb.lifecycle.aging import forecast_memory, forecast_scope  # noqa: PLC0415 - loads numpy

        self._parts.write_notes()
        place = self._in(scope)
        if memory_id is not None:
            target = self._resolve(memory_id, scope)
            return forecast_memory(self._parts, target, scope=place, days=days)
        return forecast_scope(self._parts, None if everywhere else place, days=days)

    def compare_policies(
        self,
        *,
        days: Sequence[float] = (30, 90, 365),
        everywhere: bool = False,
        scope: Scope | None = None,
    ) -> Mapping[str, Sequence[Census]]:
        """Return what each preset would keep of these memories after these numbers of days."""
        from engramdb.lifecycle.aging import compare_presets  # noqa: PLC0415 - loads numpy

        self._parts.write_notes()
        return compare_presets(self._parts, None if everywhere else self._in(scope), days=days)

    def schedule(self, reason: str = "") -> None:
        """Note that something happened after which slow work may be due, such as the end of a turn."""
        self._parts.scheduler.schedule(reason)

    def status(self, *, scope: Scope | None = None) -> StatusReport:
        """
        Return a look at the whole: counts, sizes, what waits, what fails, what the background does.

        With a `scope`, only counts of what it sees and what of that waits.
        """
        from engramdb.engine.status import overview, scope_overview  # noqa: PLC0415 - few processes ask

        return overview(self._parts) if scope is None else scope_overview(self._parts, self._in(scope))

    def doctor(
        self,
        *,
        fix: bool = False,
        salvage: str | PathLike[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> DoctorReport:
        """
        Examine the store and its parts; with `fix`, rebuild what is derived and wrong.

        Parts that are left alone are tried now; with `fix`, background jobs that were given up run again.
        With `salvage`, every row that can still be read is saved into a new store at that path, and the
        report lists what is lost. `Engram.salvage` does so for a file that cannot be opened.
        """
        from engramdb.engine.doctor import examine  # noqa: PLC0415 - loads the models

        self._parts.guard.half_open()
        if fix:
            self._parts.restart_jobs()
        report = examine(self._parts.store, self._parts.embedder, fix=fix, progress=progress)
        if salvage is None:
            return report
        from engramdb.engine.salvage import salvage_open  # noqa: PLC0415 - loads the models

        saved = salvage_open(self._parts, Path(salvage).expanduser().absolute())
        return replace(report, salvaged=saved)

    @classmethod
    def salvage(
        cls,
        store: str | PathLike[str],
        new: str | PathLike[str],
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
    ) -> SalvageReport:
        """
        Save every row of a damaged file that can still be read into a new store, and return what is lost.

        The file need not open as a store, and is left as it is. Nothing in this process may have it open.
        """
        from engramdb.engine.salvage import salvage_file  # noqa: PLC0415 - loads the models

        source, target = (Path(one).expanduser().absolute() for one in (store, new))
        guarded = SystemClock() if clock is None else _guarded(clock)
        return salvage_file(source, target, settings or Settings.load(), guarded, embedder)

    def backup(self, path: str | PathLike[str] | None = None) -> Backup:
        """
        Write a whole copy of the store to a path where nothing is, while others go on using it.

        Without a path it goes into the folder of backups beside the store, where three are kept.
        It is as the store is at one moment, with the same key, and its owner's alone. The copy is read back
        and compared before this returns; a damaged store raises `StoreCorrupt` and leaves no copy.
        """
        self._parts.write_notes()
        from engramdb.engine.backups import back_up, write_backup  # noqa: PLC0415 - few processes copy

        if path is None:
            return back_up(self._parts)
        target = Path(path).expanduser().absolute()
        return write_backup(self._parts, target, given=str(path), actor=self._parts.actor)

    @classmethod
    def restore_backup(
        cls,
        store: str | PathLike[str],
        backup: str | PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> RestoredBackup:
        """
        Put a backup, the newest beside the store unless named, in the place of a store that nobody uses.

        The backup is verified first and stays; what was in its place, damaged or not, is kept aside.
        """
        from engramdb.engine.backups import restore_backup  # noqa: PLC0415 - few processes do it

        place = Path(store).expanduser().absolute()
        copy = None if backup is None else Path(backup).expanduser().absolute()
        guarded = SystemClock() if clock is None else _guarded(clock)
        return restore_backup(place, copy, settings=settings or Settings.load(), clock=guarded)

    def audit(
        self,
        *,
        limit: int = 50,
        before: int | None = None,
        by: str | None = None,
        token: str | None = None,
        action: Action | None = None,
        outcome: Outcome | None = None,
        since: datetime | None = None,
        exact: bool = False,
        scope: Scope | None = None,
    ) -> Sequence[AuditEvent]:
        """
        Return who did what in the store, newest first: ids, counts and reasons, never words.

        `before` an event's `number` gives the page after it. `scope` narrows it to what was done there and
        in scopes inside it, with `exact` to what was done in exactly that one. Of searches the latest
        are kept, as the setting `audited_searches` says.
        """
        from engramdb.lifecycle.drafts import in_utc  # noqa: PLC0415 - few processes ask

        check_limit(limit)
        if before is not None:
            check_number("before", before)
        filters = AuditFilters(
            actor=by,
            token=token,
            action=None if action is None else parse_enum(Action, action),
            outcome=None if outcome is None else parse_enum(Outcome, outcome),
            since=in_utc("since", since),
            scope=self._in(scope),
            is_exact=exact,
        )
        self._parts.write_notes()
        with self._parts.store.read() as tx:
            return tx.audit.recent(limit=limit, before=before, filters=filters)

    def changes(self, *, after: int | None = None, limit: int = 200, scope: Scope | None = None) -> FeedPage:
        """
        Return what changed after a place in the feed, oldest first, and the place to read on from.

        Without a place, nothing but where the feed ends now. Ids and actions only, of what the scope
        sees, whichever process made the change.
        """
        check_limit(limit)
        with self._parts.store.read() as tx:
            latest = tx.feed.latest()
            if after is None or after >= latest:
                return FeedPage(cursor=latest)
            return tx.feed.after(max(0, after), scope=self._in(scope), limit=limit)

    def embed_pending(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Embed now what waits for it, and return how many memories that were."""
        from engramdb.index.rebuild import embed_pending  # noqa: PLC0415 - loads the models

        return embed_pending(self._parts.store, self._parts.embedder, progress=progress)

    def enrich(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Infer now what waits to be inferred from bulk and from an old store, and return of how many."""
        from engramdb.lifecycle import backlog  # noqa: PLC0415 - loads what reads statements

        store, now = self._parts.store, self._now()
        return backlog.enrich_pending(store, now=now, progress=progress) + backlog.refile_pending(
            store, now=now, progress=progress
        )

    def judge_pending(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Compare now what came in bulk with what was known before it, and return how many memories."""
        from engramdb.lifecycle.judging import judge_pending  # noqa: PLC0415 - loads the reader

        return judge_pending(self._parts.pipeline, now=self._now, progress=progress)

    def rebuild(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Rebuild every derived index from the memories, and return how many memories there were."""
        from engramdb.index.rebuild import rebuild  # noqa: PLC0415 - loads the models

        done = rebuild(self._parts.store, self._parts.embedder, progress=progress)
        self._parts.spaces.rebuild(self._parts.store)
        return done

    def note_denial(self, action: Action, *, actor: Actor, reason: str, scope: Scope | None = None) -> None:
        """Audit that a surface has denied something, before the engine was asked."""
        self._parts.audit_log.note(action, Outcome.DENIED, actor=actor, scope=scope, reason=reason)

    def note_token(self, action: Action, token: str, *, scope: Scope, **limits: object) -> None:
        """Audit that a token was made or revoked, by its id; raises where that cannot be written."""
        event = AuditEvent(
            at=self._now(), action=action, actor=self.actor, scope=scope, target=token, detail=limits
        )
        with self._parts.store.atomic() as tx:
            tx.audit.add(event)

    def note_success(self, part: str) -> None:
        """Note for `status` that a part outside the engine has worked; written when the store is closed."""
        with self._parts.health.watch(part):
            return

    def note_failures(self, part: str, *, count: int, last: datetime, why: str) -> None:
        """Note for `status` how often a part outside the engine has failed, when last, and why then."""
        tally = PartTally(name=part, last_failure=last, failure=why, failures=count)
        with self._parts.store.atomic() as tx:
            tx.parts.add(tally)

    # --- files for people -----------------------------------------------------------------------------------

    def notebook_sync(
        self,
        folder: str | PathLike[str],
        *,
        dry_run: bool = False,
        delete: bool = False,
        delete_many: bool = False,
        adopt: bool = False,
        progress: Callable[[int], None] | None = None,
        scope: Scope | None = None,
    ) -> NotebookReport:
        """
        Bring a folder of Markdown files and the memories of a scope to the same state, both ways.

        Edits of a file become corrections, new files memories, and memories that are new or have changed are
        written. What both sides changed is kept twice, the person's words in a copy beside the file. A file
        that was deleted comes back, unless `delete` says that its memory is to be forgotten; where most are
        gone, that stops the sync, unless `delete_many` says so. A folder that holds other things is refused
        unless told to `adopt` it: then they are left alone.
        """
        from engramdb.notebook.sync import folder_at, sync_folder  # noqa: PLC0415 - few processes have a notebook

        self._parts.write_notes()
        root = folder_at(Path(folder)).root
        registered = (
            nullcontext() if dry_run else self._registered(FileKind.NOTEBOOK, root, given=str(folder))
        )
        with registered:
            done = sync_folder(
                self._parts,
                Path(folder),
                scope=self._in(scope),
                dry_run=dry_run,
                delete=delete,
                delete_many=delete_many,
                adopt=adopt,
                progress=progress,
            )
        if not dry_run:
            self._parts.embed_later()
        return done

    def notebook_mark(self, folder: str | PathLike[str]) -> str:
        """Return what changes whenever a sync could have something to do; cheap enough to be asked often."""
        from engramdb.notebook.sync import folder_at  # noqa: PLC0415 - few processes have a notebook

        with self._parts.store.read() as tx:
            change = tx.vectors.latest_change()
        return f"{folder_at(Path(folder)).signature()}:{change}"

    def export(
        self,
        *,
        filters: Filters | None = None,
        tiers: Collection[SecurityTier] = (SecurityTier.CLEARTEXT,),
        history: bool = False,
        narrower: bool = False,
        note_unreadable: Callable[[MemoryId], None] | None = None,
        note_withheld: Callable[[MemoryId], None] | None = None,
        scope: Scope | None = None,
    ) -> Iterator[ExportedMemory]:
        """
        Yield the memories that a scope may see, oldest first, with everything that is known of each.

        Without filters it is what is held to be true. What is sensitive is left out unless its tier is asked
        for, but for mere names and home towns. `narrower` adds those of every scope inside this one, scope by
        scope: of the global one, the whole store. `import_from` takes a file of these back, one JSON object
        to a line. `note_unreadable` is told of each memory whose row is damaged; without it the end is
        `StoreCorrupt` where there was one, after everything that can be read; `note_withheld` of each that
        its tier keeps out.
        """
        from engramdb.exporting.export import ExportRequest, export  # noqa: PLC0415 - few processes export

        wanted = ExportRequest(
            filters=filters or Filters(statuses=BELIEVED), tiers=frozenset(tiers), history=history
        )
        return export(
            self._parts.store,
            self._in(scope),
            wanted,
            narrower=narrower,
            note_unreadable=note_unreadable,
            note_withheld=note_withheld,
        )

    def registered_export(self, path: str | PathLike[str]) -> AbstractContextManager[None]:
        """Note that the block writes an export to a file, so that `erase` reaches it as well."""
        return self._registered(FileKind.EXPORT, Path(path), given=str(path))

    def _registered(self, kind: FileKind, path: Path, *, given: str) -> AbstractContextManager[None]:
        from engramdb.engine.erasing import registered_file  # noqa: PLC0415 - few processes write files

        return registered_file(self._parts, kind, path, given=given)

    # --- who may see what -----------------------------------------------------------------------------------

    def _disclosed(self, answer: Recall, *, is_past: bool) -> Recall:
        """Return an answer as the one who asked may see it; what it asks for by name is shown and audited."""
        shown = self._masked(answer)
        from engramdb.vault.questions import asked_secret  # noqa: PLC0415 - loads lists of names

        if not self.viewer.can_ask_for_secrets or asked_secret(answer.query.text) is None:
            return shown
        from engramdb.engine.asked_secrets import secrets_meant, with_secrets  # noqa: PLC0415 - loads what finds secrets

        now = self._now()
        meant = secrets_meant(self._parts.store, answer, now=None if is_past else now)
        if not meant:
            return shown
        whole = with_secrets(shown, meant, now=now, policy=self._parts.policy.recall)
        given = {hit.memory.id for hit in whole.hits} | {one.turn_id for one in whole.said}
        try:
            self._audit_reveal([one for one in meant.values() if one.id in given])
        except EngramError as exc:
            from engramdb.recall.pipeline import with_missing  # noqa: PLC0415 - loads the whole of recall

            return with_missing(shown, "secrets", f"{_UNAUDITED} ({exc.code})")
        return whole

    def _masked(self, answer: Recall) -> Recall:
        from engramdb.vault.disclosure import disclose  # noqa: PLC0415 - loads what finds secrets

        return disclose(answer, self.viewer.audience)

    def _listed(self, found: Sequence[Memory], *, reveal: bool) -> Sequence[Memory]:
        """Return memories with their secrets masked, or whole where one who may has asked for it."""
        secret = [one for one in found if _is_secret(one)]
        if not secret and not any(one.provenance.speaker or one.provenance.session for one in found):
            return [one.unmarked for one in found]
        from engramdb.vault.disclosure import Audience, disclose  # noqa: PLC0415 - loads what finds secrets

        if not reveal:
            return [disclose(one, Audience.LIST) for one in found]
        if not secret:
            return [one.unmarked for one in found]
        if not self.viewer.can_ask_for_secrets:
            raise AccessDenied(
                "this caller may not see secrets",
                hint="Leave out `reveal`, or use the command line or a token with the permission `secrets`.",
            )
        try:
            self._audit_reveal(secret)
        except StorageError as exc:
            exc.hint = f"{_UNAUDITED}. {exc.hint}"
            raise
        return [one.unmarked for one in found]

    def _named(self, memory_ids: Iterable[MemoryId], scope: Scope | None) -> Sequence[Memory]:
        """Return memories, what they superseded and what superseded them, to mask what is told of them."""
        found: dict[MemoryId, Memory] = {}
        waiting, place = [*memory_ids], self._in(scope)
        with self._parts.store.read() as tx:
            while waiting and len(found) < _MAX_NAMED:
                memory = tx.memories.get(waiting.pop(), scope=place)
                if memory is not None and memory.id not in found:
                    found[memory.id] = memory
                    near = (memory.supersedes, memory.superseded_by)
                    waiting += [one for one in near if one is not None and one not in found]
        return list(found.values())

    def _audit_reveal(self, secret: Collection[Memory]) -> None:
        """Note that secrets are shown, each in the scope that it belongs to."""
        if not secret:
            return
        at, actor = self._now(), self.actor
        with self._parts.store.atomic() as tx:
            for one in sorted({(one.id, one.scope) for one in secret}, key=lambda each: each[0]):
                target, scope = one
                tx.audit.add(AuditEvent(at=at, action=Action.REVEAL, actor=actor, scope=scope, target=target))

    # --- what a call means ----------------------------------------------------------------------------------

    def _resolve(self, memory_id: MemoryId, scope: Scope | None) -> MemoryId:
        """Return the whole id for one that may be given by its last eight characters, or by the words."""
        place = self._in(scope)
        if not isinstance(memory_id, str):
            raise MemoryNotFound(f"an id is text, not {type(memory_id).__name__}")
        if not is_text(memory_id):
            raise MemoryNotFound("the id holds half a surrogate pair")
        with self._parts.store.read() as tx:
            if len(memory_id) == _ENDING:
                found = tx.memories.ids_ending_with(memory_id.lower(), scope=place)
            else:
                twin = tx.memories.active_twin(fingerprint(memory_id), scope=place)
                twin = twin or self._twin_of_today(tx, memory_id, place)
                found = [memory_id if twin is None else twin.id]
        if len(found) > 1:
            raise MemoryNotFound(f"{len(found)} memories end in {memory_id!r}", hint="Give the whole id.")
        return found[0] if found else memory_id

    def _twin_of_today(self, tx: Transaction, words: str, scope: Scope) -> Memory | None:
        """Return the memory of words with a relative time that said now would mean the same day."""
        if " " not in words:  # an id
            return None
        from engramdb.text.moments import named_times  # noqa: PLC0415 - loads the lexicons of all languages

        order = self._parts.settings.date_order
        moments, _ = named_times(words, now=self._parts.clock.now(), date_order=order)
        days = [one.start.date().isoformat() for one in moments if one.is_relative]
        return tx.memories.active_twin(fingerprint(words, days=days), scope=scope) if days else None

    def _turn_id(self, tx: Transaction, turn_id: TurnId, scope: Scope) -> TurnId:
        from engramdb.capture.pipeline import find_turn  # noqa: PLC0415 - loads the write path

        return find_turn(tx, turn_id, scope).id

    def _in(self, scope: Scope | None) -> Scope:
        place = self._scope if scope is None else scope
        if not isinstance(place, Scope):  # a name or a dict would fail far from here, or match nothing
            raise InvalidScope(
                f"a scope is a Scope, not {type(place).__name__}", hint='Give one, such as Scope(user="ann").'
            )
        return place

    def _confined(self, scope: Scope | None) -> Scope | None:
        """Return the scope that a verb of the whole store is confined to; None where it is not."""
        place = self._in(scope)
        return None if scope is None and place == GLOBAL else place

    def _of_agent(self, agent: str | None, scope: Scope | None) -> Scope:
        """Return the scope of an agent inside the one given."""
        place = self._in(scope)
        if agent is None or agent == place.agent:
            return place
        if place.agent is not None:
            raise InvalidScope(
                f"agent={agent[:40]!r} is not the agent of the scope, {place.agent[:40]!r}",
                hint="Name the agent once.",
            )
        return replace(place, agent=agent)

    def _now(self) -> datetime:
        return self._parts.clock.now()


_MAX_NAMED = 500
"""Memories that are looked up to mask what an answer tells of them."""
_UNAUDITED = "secrets stay masked where showing them cannot be noted in the audit"
SAID_BEFORE = 4
"""Turns before a page that may ask for the secret which its first turn tells."""


def _said_before(tx: Transaction, turns: Sequence[Turn], session: str | None) -> Sequence[Turn]:
    if not turns:
        return ()
    first = turns[0]
    return tx.turns.list(
        scope=first.scope, session=session or first.session, limit=SAID_BEFORE, before=first.id
    )


def _is_secret(memory: Memory) -> bool:
    return memory.security is SecurityTier.CONFIDENTIAL
