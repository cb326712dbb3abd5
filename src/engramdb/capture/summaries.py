"""
Sum up sessions: by a chat model, stretch by stretch while they go on, or by the rules when they end.

Either way a summary is an episode that points to the turns it covers, and states nothing: it is no claim, no
rule and no fact about anyone. Turns are marked in the same write, so none is summed up twice, by however many
processes; those of a stretch that was trivial, or that the model made nothing of, are marked as well.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from msgspec import Struct

from engramdb.capture.actions import shorten
from engramdb.capture.extract_chat import SourceWords, concealed
from engramdb.capture.pipeline import refused_event
from engramdb.capture.reading import READER, Conversation
from engramdb.clock import Clock
from engramdb.errors import ChatError, ChatReplyInvalid, EngramError, InjectionBlocked
from engramdb.health import Health
from engramdb.lifecycle.admission import Prepared, WritePipeline, prepare, prepared_write, save
from engramdb.lifecycle.drafts import Draft
from engramdb.lifecycle.pair_rules import is_negation
from engramdb.models.chat import CallLog, ChatModel, ChatQuestion, ask, note_invalid_reply
from engramdb.models.prompts import consolidate as prompt
from engramdb.policy import Policy
from engramdb.store.contract import Store, Transaction
from engramdb.text.lexicons import word_set
from engramdb.text.mentions import mentions, possible_names
from engramdb.text.normalize import lazy
from engramdb.text.pii import conceal_secrets
from engramdb.text.pii_spoken import MAX_BETWEEN
from engramdb.text.sentences import sentences
from engramdb.text.telling import weight
from engramdb.text.terms import query_terms, retells, terms
from engramdb.text.tokens import count_tokens
from engramdb.values import (
    Action,
    AuditEvent,
    EntityType,
    Kind,
    Memory,
    MemoryId,
    MemoryType,
    Provenance,
    Role,
    Scope,
    Source,
    Turn,
    TurnId,
    Voice,
)
from engramdb.values.memory import SUMMED_UP
from engramdb.values.query import MAX_LIMIT
from engramdb.values.reading import Force, Lasting
from engramdb.vault.indexing import open_memory
from engramdb.worker import Worker

BY_RULES: Final = f"{SUMMED_UP}1"
"""The extractor of a summary that the rules have made."""
SUMMARY_STATEMENTS: Final = 3
COVER_TOKENS: Final = 300
"""What a summary may cost under which the statements themselves are archived."""
COVERED_CHARACTERS: Final = 240
"""A longer statement is not told whole in a summary, so it is not archived under one."""
STRETCH_TURNS: Final = 60
"""Messages that are summed up together at most; so many are summed up whoever spoke."""
MAX_STRETCHES: Final = 4
"""Questions to the model at a time; a session that is behind catches up when more of it is read."""
JOB: Final = "consolidation"
ChoosesStatements = Callable[[Sequence[Memory]], Mapping[str, Sequence[Memory]]]
NARRATION: Final = (
    "conversation discuss talk ask answer explain tell mention describe report suggest recommend propose "
    "share help confirm note plan decide agree want intend later also about"
)
"""Words of a narrator, which need not have been said."""


class WritesSummaries(Protocol):
    """Takes a summary that the rules have made to the write pipeline."""

    def admit(self, drafts: Sequence[Draft]) -> Sequence[Memory]: ...
    def renew(self, before: Memory, draft: Draft, *, reason: str) -> Memory: ...


class SummaryParts(Protocol):
    """What summing up needs of the engine."""

    @property
    def clock(self) -> Clock: ...
    @property
    def health(self) -> Health: ...
    @property
    def store(self) -> Store: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def pipeline(self) -> WritePipeline: ...
    @property
    def writer(self) -> WritesSummaries: ...
    @property
    def chat(self) -> ChatModel | None: ...
    @property
    def calls(self) -> CallLog: ...
    def embed_later(self) -> None:
        """Have what waits embedded in the background, where there is one."""


class SessionStretch(Struct, frozen=True):
    """Turns of a session that nobody has summed up, and what a model may be told of them."""

    turns: Sequence[Turn]
    shown: Sequence[Turn]
    """Without what is confidential, and without turns that tell what was forgotten."""

    @property
    def ids(self) -> list[TurnId]:
        """The turns that a summary of it covers."""
        return [turn.id for turn in self.turns]


class SessionSummarizer:
    """Sums up sessions, with the chat model where there is one."""

    def __init__(self, parts: SummaryParts, worker: Worker | None) -> None:
        self._parts = parts
        self._worker = worker
        self._asking = threading.Lock()

    def turns_read(self, conversation: Conversation) -> None:
        """Sum up what is new in a conversation if that is enough, in the background where there is one."""
        if self._model() is None:
            return
        if self._worker is None:
            self.consolidate(conversation)
        else:
            self._worker.submit(JOB, lambda: self.consolidate(conversation), key=conversation, retry=False)

    def end(self, session: str, scope: Scope) -> Memory | None:
        """Sum up what is left of a session, and return its latest summary; a trivial one has none."""
        self.consolidate((scope, session), is_over=True)
        return self.summarize(session, scope)

    # --- by the rules, of the whole session -----------------------------------------------------------------

    def summarize(self, session: str, scope: Scope) -> Memory | None:
        """
        Store a summary of a session out of what was stated in it, unless a model has summed it up.

        One that was resumed and ends again has one such summary all the same: the new supersedes the old.
        """
        return self._summarize(session, scope, _weightiest)[0]

    def cover(self, session: str, scope: Scope, *, dry_run: bool = False) -> frozenset[MemoryId]:
        """
        Sum up a session whose episodes are about to be archived, and return which memories the summary tells.

        What it has no room for is not told of, and must stay. A dry run stores nothing.
        """
        return self._summarize(session, scope, _coverable, dry_run=dry_run)[1]

    def _summarize(
        self, session: str, scope: Scope, choose: ChoosesStatements, *, dry_run: bool = False
    ) -> tuple[Memory | None, frozenset[MemoryId]]:
        """Return the summary of a session, and the memories that it tells of."""
        least = self._parts.policy.capture.summary_turns
        with self._parts.store.read() as tx:
            known = tx.memories.summaries_of(session, scope=scope)
            left = tx.turns.unsummarized(session, scope=scope, limit=least)
            turns = tx.turns.list(scope=scope, session=session, limit=MAX_LIMIT)
            stated = tx.memories.of_session(session, scope=scope)
        is_models = self._model() is not None or any(one.extractor != BY_RULES for one in known)
        if is_models and len(left) < least:
            return known[-1] if known else None, frozenset()
        before = next((one for one in reversed(known) if one.extractor == BY_RULES), None)
        spoken = [turn for turn in turns if turn.role in (Role.USER, Role.ASSISTANT)]
        if len(spoken) < least or not stated:
            return None, frozenset()
        chosen = choose(stated)
        told = frozenset(one.id for some in chosen.values() for one in some)
        if dry_run:
            return None, told
        content = _listed(list(chosen), more=len({_told(one) for one in stated}) - len(chosen))
        content = f"Session {session}, {len(spoken)} turns: {content}"
        draft = _summary(content, turns, session=session, scope=scope, occurred_at=turns[-1].occurred_at)
        if before is None:
            return self._parts.writer.admit([draft])[0], told
        if draft.content == before.content:
            return before, told
        return self._parts.writer.renew(before, draft, reason="the session went on"), told

    # --- by a model, stretch by stretch ---------------------------------------------------------------------

    def consolidate(self, conversation: Conversation, *, is_over: bool = False) -> None:
        """Have the model sum up what is new in a session, once that is enough or the session is over."""
        scope, session = conversation
        model = self._model()
        if model is None or session is None:
            return
        with self._asking:  # what another thread is summing up is not asked for twice
            for _ in range(MAX_STRETCHES):
                stretch = self._stretch(session, scope)
                if not self._is_due(stretch, is_over=is_over) or not self._consolidate(stretch, model):
                    return

    def _model(self) -> ChatModel | None:
        return self._parts.chat if self._parts.policy.capture.summarizes_with_model else None

    def _is_due(self, stretch: SessionStretch, *, is_over: bool) -> bool:
        policy, count = self._parts.policy.capture, len(stretch.turns)
        asked = sum(turn.role is Role.USER for turn in stretch.turns)
        is_enough = is_over or asked >= policy.summary_every or count == STRETCH_TURNS
        return count >= policy.summary_turns and is_enough

    def _stretch(self, session: str, scope: Scope) -> SessionStretch:
        with self._parts.store.read() as tx:
            turns = tx.turns.unsummarized(session, scope=scope, limit=STRETCH_TURNS)
            silent = _retelling_forgotten(tx, turns)
            shown = [_concealed(tx, turn) for turn in turns if turn.id not in silent]
            known = self._parts.pipeline.forgotten
            shown = shown if known is None else known.conceal(tx, shown)
        return SessionStretch(turns, shown)

    def _consolidate(self, stretch: SessionStretch, model: ChatModel) -> bool:
        """Return whether the stretch is done with: what the model makes nothing of is not asked again."""
        summary = None
        if len(stretch.shown) >= self._parts.policy.capture.summary_turns:
            try:
                summary = ask(model, _question(stretch.shown), log=self._parts.calls).value
            except ChatReplyInvalid as exc:  # the turns have been read, and stay
                note_invalid_reply(self._parts.health, exc)
            except ChatError:
                return False
        return self._store(stretch, summary, by=f"{SUMMED_UP}chat-{prompt.VERSION} ({model.name})")

    def _store(self, stretch: SessionStretch, summary: str | None, *, by: str) -> bool:
        """Store a summary, and mark its turns, in one write; not where one of them is gone or done."""
        now, pipeline = self._parts.clock.now(), self._parts.pipeline
        refused: list[EngramError] = []
        if summary is not None and not pipeline.screen.is_clean(summary):
            refused.append(InjectionBlocked("the summary gives orders"))  # nobody needs a model's
            summary = None
        drafts = [] if summary is None else [_account(summary, stretch, by=by)]
        rejected: list[EngramError] = []

        def prepare_again() -> Prepared:
            rejected.clear()
            return prepare(drafts, pipeline, now=now, on_rejection=rejected.append)

        with prepared_write(pipeline, prepare_again) as (tx, prepared):
            told = {turn.id for turn in stretch.shown}
            if told & _retelling_forgotten(tx, stretch.turns):
                return False  # forgotten while the model was asked
            if not tx.turns.mark_summarized(stretch.ids, now=now):
                return False
            admissions = save(tx, prepared, pipeline, actor=READER, now=now)
            detail = {"turns": len(stretch.turns), "summaries": len(admissions), "extractor": by}
            where = stretch.turns[0].scope
            tx.audit.add(AuditEvent(at=now, action=Action.EXTRACT, actor=READER, scope=where, detail=detail))
            for one in (*refused, *rejected):
                tx.audit.add(refused_event(one, actor=READER, scope=where, now=now))
        if not all(one.is_embedded for one in admissions):
            self._parts.embed_later()
        return True


def _question(turns: Sequence[Turn]) -> ChatQuestion[str | None]:
    said = SourceWords.of(
        [turn.content for turn in turns],
        earlier=[NARRATION, *(turn.speaker for turn in turns if turn.speaker)],
        days=[turn.occurred_at for turn in turns],
    )
    messages = [(turn.speaker or turn.role.value, turn.content) for turn in turns]
    told = "\n".join(f"{name}: {words}" for name, words in messages)
    return prompt.question(
        messages, is_grounded=lambda one: said.supports(one) and not invents(one, told, said)
    )


# What a summary must not bring: a name, a number or a denial that nobody has spoken.

_CAPITAL = lazy(r"(?<=[\w,;:)] )[(\"“]?(?P<name>[A-ZÀ-ÖØ-Þ][\w’'-]+)")
_SPOKEN_WORD = lazy(r"[^\W_]+")
_GERMAN = lazy(r"\b(?:der|die|das|und|nicht|wurde|eine?n?|ist)\b")
"""Where every noun has a capital letter, only known names are looked at."""
_ORDINARY_ENDING = lazy(r"(?:ing|s|ed|ion|ment|ly)\Z")
"""Of a first word that is hardly a name: "Permits are needed.", "Debugging went on."."""
_DIGITS = lazy(r"\d+")
_LEFT_OPEN = lazy(
    r"(?:\b(?:not|no|never)|n['’]t)\b(?:\s\w+){0,3}?\s(?:decid|clear|settl|known|resolv|answer|discuss|"
    r"mention|specif|decision|conclusion|agree|further|yet)",
    re.IGNORECASE,
)
"""A narrator says so of what stayed open."""
_NARRATED = word_set("user assistant users assistants i")
_NUMBER_WORDS = {
    **{str(one): word for one, word in enumerate(("zero", "one", "two", "three", "four", "five", "six"))},
    **{str(one): word for one, word in enumerate(("seven", "eight", "nine", "ten", "eleven", "twelve"), 7)},
    **{str(10 * one): word for one, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty"), 2)},
    **{str(10 * one): word for one, word in enumerate(("seventy", "eighty", "ninety", "hundred"), 7)},
}
_FREE_COUNTS = 3
"""A narrator may count so far: "two questions"."""


def invents(summary: str, told: str, said: SourceWords) -> bool:
    """Return whether a summary names, counts or denies what the turns do not."""
    heard = set(_SPOKEN_WORD.findall(told.casefold()))
    return (
        any(name not in heard for name in _names(summary))
        or _counts_more(summary, heard, said)
        or any(_denies_more(sentence, told) for sentence in sentences(summary))
    )


def _names(summary: str) -> set[str]:
    found = [mention.text for mention in mentions(summary) if mention.type is not EntityType.UNKNOWN]
    found += [name for name in possible_names(summary) if not _ORDINARY_ENDING.search(name)]
    if not _GERMAN.search(summary):
        found += [match["name"] for match in _CAPITAL.finditer(summary)]
    words = {word for name in found for word in _SPOKEN_WORD.findall(name.casefold()) if len(word) > 1}
    return {word for word in words if word not in _NARRATED and not word.isdigit()}


def _counts_more(summary: str, heard: set[str], said: SourceWords) -> bool:
    digits = {number.lstrip("0") or "0" for number in _DIGITS.findall(summary)}
    strange = {one for one in digits if one not in said.numbers and one not in heard}
    if any(_NUMBER_WORDS.get(one) not in heard for one in strange):
        return True
    spoken = _SPOKEN_WORD.findall(summary.casefold())
    counts = {word: number for number, word in _NUMBER_WORDS.items() if int(number) >= _FREE_COUNTS}
    return any(word in counts and word not in heard and counts[word] not in heard for word in spoken)


def _denies_more(sentence: str, told: str) -> bool:
    """Return whether a sentence denies something of which nobody has denied anything."""
    if not is_negation(sentence) or _LEFT_OPEN.search(sentence):
        return False
    about = set(query_terms(sentence)) - set(query_terms(NARRATION))
    denied = (one for one in sentences(told) if is_negation(one))
    return not any(about & set(terms(one)) for one in denied)


def _concealed(tx: Transaction, turn: Turn) -> Turn:
    """Return a turn as it may be sent; it may answer "what is the password?", asked in another stretch."""
    before = tx.turns.list(scope=turn.scope, session=turn.session, limit=MAX_BETWEEN + 1, before=turn.id)
    return concealed([*before, turn])[-1]


def _retelling_forgotten(tx: Transaction, turns: Sequence[Turn]) -> set[TurnId]:
    """Return the turns that tell what was forgotten, word for word or in other words."""
    ids = [turn.id for turn in turns]
    words = tx.erasures.forgotten_words(ids)
    found = tx.erasures.retelling_forgotten(ids)
    for turn in turns:
        told = words.get(turn.id, ())
        if told and any(retells(one, gone) for one in sentences(turn.content) for gone in told):
            found.add(turn.id)
    return found


# Which statements of a session a summary by the rules tells, by their words, with the memories that say them.


def _weightiest(stated: Sequence[Memory]) -> dict[str, list[Memory]]:
    """Return the few statements that weigh most, for one who asks what a session was about."""
    return dict(list(_by_weight(stated).items())[:SUMMARY_STATEMENTS])


def _coverable(stated: Sequence[Memory]) -> dict[str, list[Memory]]:
    """Return the statements that a summary has room to tell whole, the weightiest first."""
    chosen: dict[str, list[Memory]] = {}
    room = COVER_TOKENS
    for words, memories in _by_weight(stated).items():
        cost = count_tokens(words)
        if cost <= room and len(words) <= COVERED_CHARACTERS:
            chosen[words] = memories
            room -= cost
    return chosen


def _told(memory: Memory) -> str:
    """Return what a memory tells, without a secret."""
    return conceal_secrets(open_memory(memory).told)


def _by_weight(stated: Sequence[Memory]) -> dict[str, list[Memory]]:
    """Return what was stated, each wording once, the weightiest first, and those that say it."""
    found: defaultdict[str, list[Memory]] = defaultdict(list)
    for one in sorted(stated, key=lambda one: -weight(one)):
        found[_told(one)].append(one)
    return dict(found)


def _listed(statements: Sequence[str], *, more: int) -> str:
    """Return statements in a row, and how many there are besides."""
    row = "; ".join(shorten(one) for one in statements)
    return f"{row} and {more} more" if more > 0 else row


def _summary(
    content: str,
    turns: Sequence[Turn],
    *,
    session: str | None,
    scope: Scope,
    occurred_at: datetime,
    voice: Voice = Voice.OWN,
    by: str = BY_RULES,
) -> Draft:
    return Draft(
        content=content,
        scope=scope,
        type=MemoryType.NARRATIVE,
        category="context",
        kind=Kind.EPISODE,
        provenance=Provenance(
            source=Source.INGEST, voice=voice, session=session, turns=tuple(turn.id for turn in turns)
        ),
        occurred_at=occurred_at,
        confidence=0.7,
        # It tells of a conversation, whatever rules and birthdays were spoken of in it.
        force=Force.ASSERTED,
        lasting=Lasting.STABLE,
        extractor=by,
    )


def _account(summary: str, stretch: SessionStretch, *, by: str) -> Draft:
    """Return a model's words about a stretch: generated, so never a claim, a rule or evidence for one."""
    last = stretch.turns[-1]
    return _summary(
        summary,
        stretch.turns,
        session=last.session,
        scope=last.scope,
        occurred_at=last.occurred_at,
        voice=Voice.GENERATED,
        by=by,
    )
