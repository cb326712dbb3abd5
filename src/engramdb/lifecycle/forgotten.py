"""
Recognize what somebody had forgotten, in the same words or in others, and keep it from coming back.

Every way in asks here before it stores, and every way out before it shows what was said. A wording is found
by its sketch (`sketches`). Where the words of the forgotten memory are still in the store, as they are until
it is erased, and a judge runs on this machine, the judge decides whether both say the same; otherwise the
sketch does. A forgotten memory of a scope counts in that scope and in narrower ones, which see it anyway.
Only the person brings it back: docs/concepts/forgetting.md.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.erasable_cache import ErasableTable
from engramdb.lifecycle.candidates import Candidate
from engramdb.lifecycle.neighbors import JudgesPairs, as_utterance
from engramdb.lifecycle.sketches import (
    LEAST_COSINE,
    EmbedsStatements,
    MeaningSketch,
    Resemblance,
    SketchKey,
    are_apart,
    compare,
    pack,
    unpack,
    unpack_vector,
)
from engramdb.models.reader import Utterance
from engramdb.store.contract import ForgottenRow, Transaction
from engramdb.text.identity import FORGOTTEN_WORDS, MISSING_WORDS, fingerprint_of
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.sentences import sentences
from engramdb.text.terms import retells
from engramdb.values import (
    GLOBAL,
    Actor,
    ActorKind,
    Memory,
    Role,
    Scope,
    Source,
    Status,
    Turn,
    Voice,
)
from engramdb.values.memory import RETURNED
from engramdb.values.reading import PairJudgment, PairRelation
from engramdb.vault.finding import relocate

ALIKE_FROM: Final = 0.8
"""From this resemblance on two wordings count as one, unless they name different things."""
NEAR_FROM: Final = 0.0
"""From this resemblance on a judge is asked, where there is one."""
DOUBTED_SAME: Final = 0.1
"""Alike wordings count as one from this chance of being the same on: what comes back against somebody's will
is worse than what is withheld and can be said again."""
SURELY_SAME: Final = 0.85
"""The chance from which wordings count as one that are only near."""
DENIED_FROM: Final = 2.0
"""From this resemblance on a contradiction tells what was forgotten as well: "no longer has cancer"."""
MAX_ASKED: Final = 3
"""How many forgotten statements a judge is asked about for one wording, the most alike."""
MAX_PARTS: Final = 200
"""Sentences of one text that are looked at."""
MAX_KEYS: Final = 64
MAX_SCOPES: Final = 16
"""Scopes whose sketches are at hand."""
MAX_TURNS_AT_HAND: Final = 4096
_PIECES: Final = lazy(r"\s*[;:•·]\s+|\s+[–—]\s+|\s*\((?=source:)")
_ASKS_TO_FORGET: Final = lazy(
    r"\b(?:forget|erase|delete|remove|unlearn|(?:don['’]?t|do not|never|stop) (?:remember|mention|keep|store)"
    r"\w*|vergiss|lösch\w*|oublie[zr]?|olvida\w*|borra\w*|esquece\w*|dimentica\w*|забуд\w*|удали\w*)\b"
    r"|忘れて|忘记|删除",
    re.IGNORECASE,
)
"""Who asks for something to be forgotten does not say it again."""


class ForgottenMark(Struct, frozen=True, eq=False):
    """What is kept of one forgotten memory."""

    row: ForgottenRow
    sketches: tuple[MeaningSketch, ...]


class Recognition(Struct, frozen=True):
    """What a wording was recognized as."""

    rows: tuple[ForgottenRow, ...]
    """What had been forgotten, at least one."""

    @property
    def at(self) -> datetime:
        """When the latest of it was forgotten."""
        return max(row.at for row in self.rows)

    @property
    def since(self) -> str:
        """Every id that was given after the forgetting is larger."""
        return max(row.since for row in self.rows)

    @property
    def speakers(self) -> frozenset[str]:
        """Who had said it, by name."""
        return frozenset(row.speaker for row in self.rows if row.speaker)


class _KeyedMarks(Struct, frozen=True, eq=False):
    """The marks of one scope, with its key and all their vectors at once."""

    key: SketchKey
    marks: Sequence[ForgottenMark]
    owners: Sequence[int]
    """By row of the vectors, the place of the mark."""
    sketches: Sequence[MeaningSketch]
    vectors: NDArray[np.float32]
    wholes: Mapping[bytes, int] = field(default_factory=dict)

    def resembling(self, new: MeaningSketch) -> Iterator[tuple[int, Resemblance]]:
        """Yield the places of marks that a wording may say, each once or more, with how far."""
        found = self.vectors @ unpack_vector(new.vector)
        for row in np.flatnonzero(found >= LEAST_COSINE).tolist():
            yield self.owners[row], compare(new, self.sketches[row], float(found[row]))


class Wordings(Struct, frozen=True, kw_only=True):
    """The texts in which a statement may say something, whoever they are by, and where it goes."""

    texts: tuple[str, ...]
    scope: Scope = GLOBAL
    own: tuple[str, ...] = ()
    """Names of whoever speaks of themselves."""
    by: str = "user"
    is_digest: bool = False
    """Whether it sums up statements that stand: then only the forgotten words themselves count."""

    @classmethod
    def of(cls, memory: Memory, *, besides: Sequence[str] = ()) -> Wordings:
        """Return what a new statement says, as a whole and one by one, besides what stands anyway."""
        told = [memory.content, memory.statement or "", memory.verbatim or ""]
        if memory.is_session_summary and memory.provenance.voice is Voice.OWN:
            told = []  # a list of statements that stand
        standing = [normalize_text(one) for one in besides]
        texts = [
            part
            for part in dict.fromkeys(part for text in told if text for part in _parts(text))
            if not any(normalize_text(part) in one for one in standing)
        ]
        return cls(
            texts=tuple(texts)[:MAX_PARTS],
            scope=memory.scope,
            own=_own(memory),
            by=as_utterance(memory).by,
            is_digest=memory.is_derived and len(_parts(memory.content)) > 1,
        )


class ForgottenStatements:
    """Knows what was forgotten in each scope, by sketches; safe to share between threads."""

    def __init__(
        self, embeds: EmbedsStatements, judge: Callable[[], JudgesPairs | None] = lambda: None
    ) -> None:
        self._embeds = embeds
        self._open_judge = judge
        self._lock = threading.Lock()
        self._known: OrderedDict[Scope, tuple[tuple[int, str], Sequence[_KeyedMarks]]] = OrderedDict()
        self._keys: dict[int, SketchKey] = {}
        self._turns: ErasableTable[str] = ErasableTable()

    def recognize(self, tx: Transaction, new: Sequence[Wordings]) -> list[Recognition | None]:
        """Return for each statement what it says of all that was forgotten in its scope, if anything."""
        known = {scope: self._marks(tx, scope) for scope in {one.scope for one in new}}
        return [self._recognized(tx, one, known[one.scope]) if known[one.scope] else None for one in new]

    def _judge(self) -> JudgesPairs | None:
        """Return who is asked; forgotten words never leave this machine."""
        judge = self._open_judge()
        return None if judge is None or judge.is_remote else judge

    def _recognized(self, tx: Transaction, new: Wordings, known: Sequence[_KeyedMarks]) -> Recognition | None:
        found = [
            one.marks[place].row
            for one in known
            for place in self._recognized_places(tx, new, one, is_judged=True)
        ]
        return Recognition(tuple(found)) if found else None

    def _recognized_places(
        self, tx: Transaction, new: Wordings, known: _KeyedMarks, *, is_judged: bool
    ) -> set[int]:
        """Return the places of the marks that any of the wordings says."""
        sketched = known.key.sketch(new.texts, self._embeds, own=new.own)
        found = {known.wholes[one.whole] for one in sketched if one.whole in known.wholes}
        best: dict[int, tuple[Resemblance, str]] = {}
        for text, sketch in zip(new.texts, sketched, strict=True):
            for place, alike in known.resembling(sketch):
                if place not in found and _outranks(alike, best.get(place)):
                    best[place] = alike, text
        near = [place for place, (alike, _) in best.items() if alike.score >= NEAR_FROM]
        near.sort(key=lambda place: -best[place][0].score)
        for number, place in enumerate(near):
            alike, text = best[place]
            if new.is_digest:
                if any(_quotes(tx, known.marks[place].row, one) for one in new.texts):
                    found.add(place)
                continue
            alike = _by_words(tx, known.marks[place].row, alike, text, new)
            judge = self._judge() if is_judged and number < MAX_ASKED else None
            if self._says(tx, known.marks[place], alike, Utterance(text, new.by), judge):
                found.add(place)
        return found

    def _says(
        self,
        tx: Transaction,
        mark: ForgottenMark,
        alike: Resemblance,
        said: Utterance,
        judge: JudgesPairs | None,
    ) -> bool:
        """Return whether a wording says what was forgotten: in the judge's view, or else by the sketch."""
        is_alike = alike.score >= ALIKE_FROM
        if is_alike and _quotes(tx, mark.row, said.text):
            return True
        judged = None if judge is None else _judged(tx, mark.row, said, judge)
        if judged is None:
            return is_alike and not alike.is_apart
        if is_alike and judged.relation is PairRelation.REFINES:
            return True
        if judged.relation is PairRelation.CONFLICT and not alike.is_apart:
            return alike.score >= DENIED_FROM
        return judged.same >= (DOUBTED_SAME if is_alike else SURELY_SAME)

    def echoes(self, tx: Transaction, memory: Memory, others: Sequence[Memory]) -> list[Memory]:
        """
        Return those of other memories that tell one that was just forgotten.

        An assistant's "sorry to hear about your miscarriage" tells it as well as the person's own words.
        """
        known = self._marks(tx, memory.scope)
        return [one for one in others if self._is_echo(tx, one, memory, known)]

    def _is_echo(self, tx: Transaction, one: Memory, memory: Memory, known: Sequence[_KeyedMarks]) -> bool:
        """Return whether a memory tells a forgotten one; what was said in one session need not tell all."""
        is_beside = one.provenance.session is not None and one.provenance.session == memory.provenance.session
        if is_beside and any(retells(part, memory.content) for part in sentences(one.content)):
            return True
        said = Wordings.of(one)
        return any(
            mark.row.memory_id == memory.id
            for keyed in known
            for mark in map(
                keyed.marks.__getitem__,
                self._recognized_places(tx, said, keyed, is_judged=not is_beside),
            )
        )

    def sketch(self, tx: Transaction, memory: Memory) -> bytes:
        """Return what is kept of a memory when its words go."""
        key = self._key(tx, tx.scopes.find(memory.scope) or 0)
        return pack(key.sketch(_kept_wordings(memory), self._embeds, own=_own(memory)))

    def _key(self, tx: Transaction, scope_number: int) -> SketchKey:
        """Return what the sketches of a scope are made with; to derive it takes longer than to use it."""
        with self._lock:
            known = self._keys.get(scope_number)
        if known is None:
            known = SketchKey(tx.forgotten.key(), scope_number)
            with self._lock:
                if len(self._keys) >= MAX_KEYS:
                    self._keys.clear()
                self._keys[scope_number] = known
        return known

    def complete(self, tx: Transaction, scope: Scope) -> None:
        """Store the sketches, in a write, of what was forgotten without one."""
        for row in tx.forgotten.visible(scope):
            if row.sketch is None and (memory := _words_of(tx, row)) is not None:
                tx.forgotten.set_sketch(row.number, self.sketch(tx, memory))

    def _marks(self, tx: Transaction, scope: Scope) -> Sequence[_KeyedMarks]:
        """Return what was forgotten in a scope and in wider ones, one entry for each of them."""
        stamp = tx.forgotten.stamp()
        if not stamp[0]:
            return ()
        with self._lock:
            known = self._known.get(scope)
        if known is not None and known[0] == stamp:
            return known[1]
        read = self._read(tx, scope)
        with self._lock:
            self._known[scope] = stamp, read
            self._known.move_to_end(scope)
            while len(self._known) > MAX_SCOPES:
                self._known.popitem(last=False)
        return read

    def _read(self, tx: Transaction, scope: Scope) -> list[_KeyedMarks]:
        by_scope: defaultdict[int, list[ForgottenMark]] = defaultdict(list)
        for row in tx.forgotten.visible(scope):
            stored = row.sketch
            if stored is None and (memory := _words_of(tx, row)) is not None:
                stored = self.sketch(tx, memory)
            if stored is not None:
                by_scope[row.scope_number].append(ForgottenMark(replace(row, sketch=b""), unpack(stored)))
        return [_keyed(self._key(tx, number), marks) for number, marks in by_scope.items()]

    # --- what was said --------------------------------------------------------------------------------------

    def conceal(self, tx: Transaction, turns: Sequence[Turn]) -> list[Turn]:
        """
        Return turns as they may be shown: a sentence that says what was forgotten makes room for a mark.

        What the person has said since stays: it is theirs to bring back.
        """
        return [self._concealed(tx, turn) for turn in turns]

    def is_told(self, tx: Transaction, turn: Turn, excerpt: str) -> bool:
        """Return whether an excerpt of a turn says what was forgotten."""
        left = [_before(tx, turn, one) for one in self._marks(tx, turn.scope)]
        return bool(left) and self._without(tx, excerpt, left, session=turn.session) != excerpt

    def conceal_text(self, tx: Transaction, text: str, *, scope: Scope, session: str | None = None) -> str:
        """Return a text that somebody else than the store holds, as it may be shown in a scope."""
        known = self._marks(tx, scope)
        return self._without(tx, text, known, session=session) if known else text

    def _concealed(self, tx: Transaction, turn: Turn) -> Turn:
        known = self._marks(tx, turn.scope)
        if not known:
            return turn
        name = f"{turn.id} {tx.forgotten.stamp()}"
        content = self._turns.get(name)
        if content is None:
            left = [_before(tx, turn, one) for one in known]
            content = self._without(tx, turn.content, left, session=turn.session)
            if len(self._turns) >= MAX_TURNS_AT_HAND:
                self._turns.clear()
            self._turns[name] = content
        if content == turn.content:
            return turn
        found = turn.private
        if isinstance(found, tuple):
            found = tuple(sorted(set(relocate(found, turn.content, content))))
        return replace(turn, content=content, private=found)

    def _without(
        self, tx: Transaction, text: str, known: Sequence[_KeyedMarks], *, session: str | None
    ) -> str:
        """Return a text without the sentences that say what was forgotten."""
        told = [words for one in known for words in _told_beside(tx, one, session)]
        for one in sentences(text)[:MAX_PARTS]:
            if any(retells(one, words) for words in told) or self._is_recognized(tx, one, known):
                text = _cut_out(text, one)
        return text

    def _is_recognized(self, tx: Transaction, sentence: str, known: Sequence[_KeyedMarks]) -> bool:
        """Return whether a sentence says what was forgotten, by its sketch: nobody waits for a judge."""
        said = Wordings(texts=_parts(sentence))
        return any(self._recognized_places(tx, said, one, is_judged=False) for one in known if one.marks)


def without_forgotten(tx: Transaction, one: Candidate, known: ForgottenStatements) -> Candidate:
    """Return a candidate without the words of other sentences that say what was forgotten."""
    memory = one.memory
    lent = [words for words in (memory.answers, *memory.refers_to) if words and words not in MISSING_WORDS]
    found = known.recognize(tx, [Wordings(texts=_parts(words), scope=memory.scope) for words in lent])
    gone = {words for words, recognized in zip(lent, found, strict=True) if recognized is not None}
    if not gone:
        return one
    left = (FORGOTTEN_WORDS if words in gone else words for words in (memory.answers, *memory.refers_to))
    answers, *refers_to = left
    bare = memory.evolve(answers=answers, refers_to=tuple(words for words in refers_to if words))
    return replace(one, memory=bare, fingerprint=fingerprint_of(bare))


class Returning:
    """Lets candidates of one write in that say what was forgotten, where the person says it again."""

    def __init__(
        self, tx: Transaction, known: ForgottenStatements | None, *, actor: Actor, is_explicit: bool
    ) -> None:
        self._tx = tx
        self._known = known
        self._actor = actor
        self._is_explicit = is_explicit

    def admitted(self, one: Candidate, found: Recognition) -> Candidate | None:
        """Return the candidate as it may enter; None where it is withheld."""
        memory = one.memory
        if self._tx.memories.active_twin(one.fingerprint, scope=memory.scope) is not None:
            return one  # the same words stand already: nothing comes back
        if not is_said_by_person(self._tx, memory, found, actor=self._actor, is_explicit=self._is_explicit):
            if self._known is not None:
                self._known.complete(self._tx, memory.scope)
            return None
        # What was forgotten in a wider scope stays forgotten there.
        self._tx.forgotten.drop([row.memory_id for row in found.rows if row.scope == memory.scope])
        told = f"{RETURNED}{found.at.date().isoformat()}"
        return replace(one, memory=memory.evolve(flags=(*memory.flags, told)))


def is_said_by_person(
    tx: Transaction, memory: Memory, found: Recognition, *, actor: Actor, is_explicit: bool
) -> bool:
    """
    Return whether the person says again what was forgotten, and so may.

    Either they state it outright, or they have said it in conversation since; not where they ask for it to be
    forgotten, and not in what a file tells of earlier talk.
    """
    made = memory.provenance
    is_own = made.source is Source.HUMAN and made.voice is Voice.OWN
    if is_explicit and memory.extractor is None:
        is_correction = memory.supersedes is not None  # which keeps the source of what it corrects
        return actor.kind is ActorKind.PERSON and (is_own or is_correction)
    if not is_own or not made.turns or memory.is_session_summary:
        return False
    if not _is_person(made.speaker, memory.scope, found.speakers):
        return False
    is_later = all(turn > found.since for turn in made.turns)
    is_wish = _ASKS_TO_FORGET.search(memory.content) is not None
    return is_later and not is_wish and not tx.imports.are_from_files(made.turns)


def _is_person(speaker: str | None, scope: Scope, known: Collection[str]) -> bool:
    """Return whether a speaker of a conversation is the person, and nobody else who takes part in it."""
    names = {normalize_text(one) for one in (scope.user, *known) if one}
    return speaker is None or normalize_text(speaker) in names


def _quotes(tx: Transaction, row: ForgottenRow, text: str) -> bool:
    """Return whether a text holds the forgotten words as they were, whatever stands around them."""
    memory = _words_of(tx, row)
    return memory is not None and f" {normalize_text(memory.content)} " in f" {normalize_text(text)} "


def _by_words(
    tx: Transaction, row: ForgottenRow, alike: Resemblance, text: str, new: Wordings
) -> Resemblance:
    """Return a resemblance in which no two words were taken for one, where the forgotten ones are there."""
    if alike.is_apart or alike.score < ALIKE_FROM or (memory := _words_of(tx, row)) is None:
        return alike
    own = (*new.own, *_own(memory))
    return replace(alike, is_apart=all(are_apart(text, one, own=own) for one in _kept_wordings(memory)))


def _judged(tx: Transaction, row: ForgottenRow, said: Utterance, judge: JudgesPairs) -> PairJudgment | None:
    """Return what a judge makes of a wording and the forgotten words; None where it cannot tell."""
    memory = _words_of(tx, row)
    return None if memory is None else next(iter(judge.relate(said, [as_utterance(memory)])), None)


def _outranks(alike: Resemblance, known: tuple[Resemblance, str] | None) -> bool:
    """Return whether a wording resembles a forgotten one more than another wording of it does."""
    return known is None or (not alike.is_apart, alike.score) > (not known[0].is_apart, known[0].score)


def _keyed(key: SketchKey, marks: Sequence[ForgottenMark]) -> _KeyedMarks:
    owned = [(place, sketch) for place, mark in enumerate(marks) for sketch in mark.sketches]
    vectors = [unpack_vector(sketch.vector) for _, sketch in owned]
    return _KeyedMarks(
        key=key,
        marks=marks,
        owners=[place for place, _ in owned],
        sketches=[sketch for _, sketch in owned],
        vectors=np.stack(vectors) if vectors else np.zeros((0, 1), np.float32),
        wholes={sketch.whole: place for place, sketch in reversed(owned)},
    )


def _before(tx: Transaction, turn: Turn, known: _KeyedMarks) -> _KeyedMarks:
    """Return the marks that a turn falls under: not those of before the person said so again."""
    later = [mark for mark in known.marks if _is_later(turn, mark.row)]
    is_wish = turn.role is not Role.USER or _ASKS_TO_FORGET.search(turn.content) is not None
    if not later or is_wish or tx.imports.are_from_files([turn.id]):
        return known
    return _keyed(known.key, [mark for mark in known.marks if mark not in later])


def _is_later(turn: Turn, row: ForgottenRow) -> bool:
    """Return whether a turn was stored after the forgetting, and nobody else is named who said it."""
    return turn.id > row.since and _is_person(turn.speaker, turn.scope, [row.speaker] if row.speaker else [])


def _words_of(tx: Transaction, row: ForgottenRow) -> Memory | None:
    """Return a forgotten memory, or one that it stood for, as long as its words are in the store."""
    memory = tx.memories.get(row.memory_id, scope=row.scope)
    return memory if memory is not None and memory.status is not Status.ERASED else None


def _told_beside(tx: Transaction, known: _KeyedMarks, session: str | None) -> list[str]:
    """Return the words of what was forgotten in a session: what is said there in part is meant as well."""
    if session is None:
        return []
    found = (_words_of(tx, mark.row) for mark in known.marks if mark.row.session == session)
    return [one.content for one in found if one is not None]


def _kept_wordings(memory: Memory) -> list[str]:
    """Return the wordings of a memory that are sketched: as it was said, as it was understood, in parts."""
    if memory.is_derived or memory.is_session_summary:  # what it repeats was not forgotten by itself
        return [memory.content]
    asked = memory.answers if memory.answers not in MISSING_WORDS else None
    whole = f"{asked} {memory.content}" if asked else memory.content
    told = [whole, memory.statement or "", memory.verbatim or ""]
    return list(dict.fromkeys(part for text in told if text for part in _parts(text)))[:MAX_PARTS]


def _parts(text: str) -> tuple[str, ...]:
    """Return a text and, where it has several, its sentences and what stands between colons and the like."""
    single = [piece for one in sentences(text) for piece in _PIECES.split(one) if piece.strip()]
    several = [one for one in single if len(one.split()) > 2] if len(single) > 1 else []
    return tuple(dict.fromkeys([text, *several]))[:MAX_PARTS]


def _own(memory: Memory) -> tuple[str, ...]:
    names = (memory.provenance.speaker, memory.scope.user)
    return tuple(name for name in names if name)


def _cut_out(text: str, sentence: str) -> str:
    """Return a text with a mark in the place of a sentence, however its lines are wrapped."""
    words = r"\s+".join(map(re.escape, sentence.split()))
    shorter, count = re.subn(words, FORGOTTEN_WORDS, text)
    return shorter if count else FORGOTTEN_WORDS
