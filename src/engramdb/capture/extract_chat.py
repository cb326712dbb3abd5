"""Read turns with a chat model beside the rules: own words stay, what it states of them is checked first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engramdb.capture.extract import Extracted, Extractor, as_said
from engramdb.capture.utterances import SpokenSentence, utterances
from engramdb.errors import ChatError, ChatUnavailable
from engramdb.models.chat import CallLog, ChatModel, Usage, ask
from engramdb.models.prompts import extract as prompt
from engramdb.models.prompts.extract import ExtractedStatement, Record
from engramdb.text.dates import long_date
from engramdb.text.normalize import clean, is_text, lazy, normalize_text
from engramdb.text.relations import canonical
from engramdb.text.terms import query_terms, terms
from engramdb.values import Claim, Kind, Role, SecurityTier, Turn, TurnId, Voice
from engramdb.values.reading import Force
from engramdb.vault.masking import mask_turn, scan_part

# Tell what a model read in the turns from what it made up.
#
# Pure. A statement may bring a few words of its own, since "I'm a nurse" becomes "User works as a nurse",
# but most of its words must have been said. Numbers are held to more: an invented amount is worse than a
# lost statement.

SMALLEST_SHARE: Final = 0.5
"""Of the telling words of a statement, how many must have been said: where "mostly" begins."""

LARGEST_FREE_NUMBER: Final = 100
"""Up to here a number may stand for a word ("ten years", "two kids"), so it counts as any other word does."""

_NUMBER = lazy(r"\d+(?:[.,'’]\d+)*")
_MARKS = lazy(r"\D")

_TURNS_OF_PHRASE = frozenset(
    term
    for word in (
        *("user", "assistant", "person", "name", "call", "use", "work", "live", "want", "plan", "prefer"),
        *("dislike", "favourite", "favorite", "own", "belong", "say", "state", "mention", "decide", "agree"),
        *("currently", "current", "longer", "previously", "previous", "formerly", "instead", "anymore"),
    )
    for term in query_terms(word)
)
"""What turns the first person into the third: these words prove nothing and are not held against anyone."""


class SourceWords(Struct, frozen=True):
    """The words and numbers of the turns that a reply is about, and of what was said before them."""

    own: frozenset[str]
    """The words of the turns alone: a statement needs one of them, or an old turn would be read twice."""
    words: frozenset[str]
    numbers: frozenset[str]
    folded: str

    @classmethod
    def of(
        cls, texts: Sequence[str], *, earlier: Sequence[str] = (), days: Sequence[datetime] = ()
    ) -> SourceWords:
        """Return what the texts hold; the days are those from which "last year" is reckoned."""
        text, before = "\n".join(texts), "\n".join(earlier)
        own = frozenset(terms(text))
        years = {str(year) for day in days for year in (day.year - 1, day.year, day.year + 1)}
        return cls(
            own=own,
            words=own | frozenset(terms(before)),
            numbers=frozenset({*_numbers(text), *_numbers(before), *years}),
            folded=f"{text}\n{before}".casefold(),
        )

    def supports(self, content: str, *, day: datetime | None = None) -> bool:
        """Return whether the statement could have been read out of the turns; `day` is when it happened."""
        if any(int(number) > LARGEST_FREE_NUMBER for number in self._strange_numbers(content, day)):
            return False
        excused = _TURNS_OF_PHRASE | _date_terms(day)
        telling = [term for term in query_terms(content) if term not in excused]
        known = [term for term in telling if term in self.words]
        return len(known) >= SMALLEST_SHARE * len(telling) and any(term in self.own for term in known)

    def mentions(self, name: str) -> bool:
        """Return whether the name was said as it is."""
        return name.casefold() in self.folded

    def _strange_numbers(self, content: str, day: datetime | None) -> set[str]:
        return _numbers(content) - self.numbers - ({str(day.year)} if day else set())


def _date_terms(day: datetime | None) -> frozenset[str]:
    """Return the terms of a date however it is written: nobody says "7 May" who says "yesterday"."""
    if day is None:
        return frozenset()
    return frozenset(terms(f"{day.date().isoformat()} {long_date(day)} {day.month}"))


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text by their digits, so that 5,000 and 5000 are the same one."""
    return {_MARKS.sub("", match).lstrip("0")[:20] or "0" for match in _NUMBER.findall(text)}


# Take from a model's statement what can be trusted.
#
# Pure. Numbers are clamped, names that were not said are left out, exact words are kept only where they are
# exact, and a statement that nobody made, or that admission would refuse, is none at all.

MOST_CONFIDENCE: Final = 0.95
LONGEST_NAME_CHARACTERS: Final = 200
"""Of a subject, an object or an entity: what is longer is a sentence and no name."""


class GroundedStatement(Struct, frozen=True, kw_only=True):
    """What a model states of a turn, with what of it can be trusted."""

    content: str
    category: str
    kind: Kind
    words: str | None = None
    """The words of the turn that it stands on, to the letter."""
    confidence: float | None = None
    importance: float | None = None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    is_negated: bool = False
    replaces: str | None = None
    entities: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    force: Force = Force.ASSERTED

    @property
    def claim(self) -> Claim | None:
        """What it says of whom, where the model put it into three parts."""
        if self.subject is None or self.predicate is None or self.object is None:
            return None
        return Claim(
            subject=self.subject, predicate=self.predicate, object=self.object, is_negated=self.is_negated
        )


def believe(
    statement: ExtractedStatement, turn: Turn, said: SourceWords, *, max_bytes: int
) -> GroundedStatement | None:
    """Return the statement with what can be trusted of it, or None."""
    content = clean(statement.content) if is_text(statement.content) else ""
    day = _day(statement.date)
    if not content or len(content.encode()) > max_bytes or not said.supports(content, day=day):
        return None
    subject, predicate, target = _triple(statement, said, content)
    names = [_name(name, said, content) for name in statement.entities]
    confidence = _share(statement.confidence)
    return GroundedStatement(
        content=content,
        category=statement.category,
        kind=_kind(statement),
        words=_verbatim(statement.verbatim, turn),
        confidence=None if confidence is None else min(confidence, MOST_CONFIDENCE),
        importance=_share(statement.importance),
        subject=subject,
        predicate=predicate,
        object=target,
        is_negated=statement.is_negated,
        replaces=_name(statement.replaces, said, content),
        entities=tuple(name for name in names if name),
        occurred_at=_moment(day, turn),
        force=statement.force or Force.ASSERTED,
    )


def _triple(
    statement: ExtractedStatement, said: SourceWords, content: str
) -> tuple[str | None, str | None, str | None]:
    """Return subject, predicate and object, or none of them: admission reads them from the words."""
    subject, target = _name(statement.subject, said, content), _name(statement.object, said, content)
    predicate = canonical(_short(statement.predicate, LONGEST_NAME_CHARACTERS) or "")
    if subject is None or not predicate or target is None:
        return None, None, None
    return subject, predicate, target


def _name(name: str | None, said: SourceWords, content: str) -> str | None:
    """Return a name that stands in the statement or was said."""
    short = _short(name, LONGEST_NAME_CHARACTERS)
    if short is None or not (short.casefold() in content.casefold() or said.mentions(short)):
        return None
    return short


def _short(text: str | None, longest: int) -> str | None:
    if text is None or len(text) > longest or not is_text(text):
        return None
    return clean(text) or None


def _share(number: float | None) -> float | None:
    return None if number is None else min(max(number, 0.0), 1.0)


def _kind(statement: ExtractedStatement) -> Kind:
    """Return the kind that the model named, or the usual one of the category."""
    named = (statement.kind or "").casefold()
    if named in set(Kind):
        return Kind(named)
    return Kind.EPISODE if statement.category == "moment" else Kind.NOTE


def _day(text: str | None) -> datetime | None:
    """Return the beginning of the day of an ISO date or time; a year or a month alone is no day."""
    try:
        return datetime.fromisoformat((text or "")[:10]).replace(tzinfo=UTC)
    except ValueError:
        return None


def _moment(day: datetime | None, turn: Turn) -> datetime | None:
    """Return the beginning of the day, or the moment of speaking for what happened on the same day."""
    is_today = day is not None and day.date() == turn.occurred_at.date()
    return turn.occurred_at if is_today else day


def _verbatim(words: str | None, turn: Turn) -> str | None:
    """Return the words if the turn has them to the letter; nearly exact is worse than nothing."""
    return words if words and words in turn.content else None


# Attach what a model states to the words that it stands on.
#
# The speaker's own words stay the memory. A statement is put beside the sentence that it was read from; one
# that stands on no sentence, on somebody else's words or on words that were concealed is dropped, and the
# sentence stays as the rules have read it.

LEAST_OF_SENTENCE: Final = 0.6
"""Of several statements of a sentence, one stands for it only if it holds this share of its telling words."""
_BELIEVED = (Force.ASSERTED, Force.RULE)


class SentenceSource(Struct, frozen=True):
    """A sentence as the rules have read it, kept by them or not, and whether a model may add to it."""

    own: Extracted
    is_kept: bool
    turn: Turn

    @property
    def is_open(self) -> bool:
        """Whether it is the speaker's own and holds nothing confidential: the model has seen all of it."""
        found = scan_part(self.turn, self.own.content, answering=self.own.answers)
        return self.own.voice is Voice.OWN and found.tier is not SecurityTier.CONFIDENTIAL


def sources_of(turn: Turn, kept: Sequence[Extracted], said: Sequence[SpokenSentence]) -> list[SentenceSource]:
    """Return the sentences of a turn: those that the rules keep, and the others."""
    held = [normalize_text(one.content) for one in kept]
    passed_over = [
        as_said(one) for one in said if not any(content in normalize_text(one.sentence) for content in held)
    ]
    return [
        *(SentenceSource(one, True, turn) for one in kept),
        *(SentenceSource(one, False, turn) for one in passed_over),
    ]


def place_of(statement: GroundedStatement, sources: Sequence[SentenceSource]) -> int | None:
    """Return which sentence a statement was read from: the one that has its words, or most of them."""
    words = normalize_text(statement.words or "")
    wanted = set(query_terms(f"{statement.content} {statement.words or ''}"))
    scores = []
    for place, source in enumerate(sources):
        content = normalize_text(source.own.content)
        is_exact = bool(words) and (words in content or content in words)
        scores.append((is_exact, len(wanted & set(terms(content))), -place))
    best = max(scores, default=(False, 0, 0))
    return -best[2] if best[0] or best[1] else None


def with_statements(own: Extracted, told: Sequence[GroundedStatement], *, by: str) -> Extracted:
    """Return a sentence with what a model states of it: the best statement, and what all of them say."""
    shares = [_share_of(own.content, one.content) for one in told]
    best = told[shares.index(max(shares))]
    force = best.force if own.force in (Force.ASSERTED, Force.QUESTION, Force.REQUEST) else own.force
    is_believed = force in _BELIEVED
    is_whole = len(told) == 1 or max(shares) >= LEAST_OF_SENTENCE
    entities = dict.fromkeys([*(name for one in told for name in one.entities), *own.entities])
    sentence = replace(
        own,
        category=own.category if own.force is Force.RULE and own.category else best.category,
        kind=best.kind,
        confidence=own.confidence if is_believed else min(own.confidence, best.confidence or own.confidence),
        importance=own.importance if best.importance is None else best.importance,
        entities=tuple(entities),
        occurred_at=best.occurred_at,
        statement=best.content if is_believed and is_whole else None,
        force=force,
        by=by,
    )
    return _with_claims(sentence, best, told) if is_believed else _without_claims(sentence)


def _with_claims(own: Extracted, best: GroundedStatement, told: Sequence[GroundedStatement]) -> Extracted:
    claims = tuple(claim for one in told if (claim := one.claim) is not None)
    own = replace(
        own,
        claims=claims or own.claims,
        is_negated=own.is_negated or best.is_negated,
        replaces=best.replaces or own.replaces,
    )
    if best.claim is None:
        return own
    return replace(own, subject=best.subject, predicate=best.predicate, object=best.object)


def _without_claims(own: Extracted) -> Extracted:
    return replace(own, claims=(), subject=None, predicate=None, object=None, replaces=None)


def _share_of(sentence: str, statement: str) -> float:
    """Return how much of the telling words of a sentence a statement holds."""
    telling = set(query_terms(sentence)) - _TURNS_OF_PHRASE
    return len(telling & set(terms(statement))) / len(telling) if telling else 0.0


# Ask a chat model what turns state.
#
# Asks through `models.chat` with the words of `prompts.extract` and keeps what `believe` lets pass. The rules
# read every turn as well: whatever the model replies, nothing that was said is lost, a failure is reported,
# and what nobody said is dropped and counted. Secrets are concealed before anything is asked.

TOKEN_BUDGET: Final = 2500
"""For the turns of one call: with the prompt and the reply it fits the 8,192 tokens of small local models."""
BYTES_PER_TOKEN: Final = 3
"""Low on purpose: English has four to five, Chinese three, code fewer."""
MOST_PARTS: Final = 4
"""A turn that would take more calls than this is a pasted document; it is left to the rules."""
CONTEXT_TURNS: Final = 6
CONTEXT_CHARACTERS: Final = 400
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class ModelExtractor:
    """Keeps what the rules keep, in the speaker's own words, with what a model states of it."""

    def __init__(
        self,
        chat: ChatModel,
        rules: Extractor,
        on_failure: Callable[[ChatError], None],
        *,
        log: CallLog,
        token_budget: int = TOKEN_BUDGET,
        max_memory_bytes: int = 8 * 1024,
    ) -> None:
        self._chat = chat
        self._rules = rules
        self._on_failure = on_failure
        self._log = log
        self._room = token_budget * BYTES_PER_TOKEN
        self._max_memory_bytes = max_memory_bytes

    @property
    def name(self) -> str:
        """The version of the prompt and the name of the model."""
        return f"model-extract-{prompt.VERSION} ({self._chat.name})"

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """Return the sentences that are kept, in order; each says who has read it, the rules or the model."""
        kept = [replace(one, by=self._rules.name) for one in self._rules.extract(turns, context=context)]
        stated = self._ask_all(turns, context)
        if not any(stated.values()):
            return kept
        said = [one for one in utterances(turns, context=context) if one.turn.id in stated]
        found: list[Extracted] = []
        for turn in turns:
            mine = [one for one in kept if one.turn_id == turn.id]
            spoken = [one for one in said if one.turn.id == turn.id]
            found += self._attached(stated.get(turn.id, []), sources_of(turn, mine, spoken))
        return found

    def _attached(
        self, stated: Sequence[GroundedStatement], sources: Sequence[SentenceSource]
    ) -> Iterator[Extracted]:
        """Yield the sentences of a turn, those that the model stated something of in both words."""
        by_place: dict[int, list[GroundedStatement]] = {}
        for one in stated:
            place = place_of(one, sources)
            if place is None or not sources[place].is_open:
                self._log.note(prompt.PURPOSE, Usage(dropped=1))
            else:
                by_place.setdefault(place, []).append(one)
        for place, source in enumerate(sources):
            if place in by_place:
                yield with_statements(source.own, by_place[place], by=self.name)
            elif source.is_kept:
                yield source.own

    def _ask_all(
        self, turns: Sequence[Turn], context: Sequence[Turn]
    ) -> dict[TurnId, list[GroundedStatement]]:
        """
        Return what the model states of each turn; nothing of those that it fails on.

        A model that cannot be reached is not asked for the rest either: each try may cost a whole time-out.
        """
        stated: dict[TurnId, list[GroundedStatement]] = {}
        heard = concealed([*context, *turns])
        shown = [turn for turn in heard[len(context) :] if turn.role in (Role.USER, Role.ASSISTANT)]
        for group in _groups(shown, self._room):
            if _size(group) > MOST_PARTS * self._room:
                continue
            before = heard[: heard.index(group[0])]
            try:
                stated |= self._ask(group, before)
            except ChatError as exc:
                self._on_failure(exc)
                if isinstance(exc, ChatUnavailable):
                    break
        return stated

    def _ask(self, group: Sequence[Turn], heard: Sequence[Turn]) -> dict[TurnId, list[GroundedStatement]]:
        """Return what the model reads in each turn of the group, each statement once."""
        earlier = [_record(turn, turn.content[:CONTEXT_CHARACTERS]) for turn in heard[-CONTEXT_TURNS:]]
        said = _said(group, earlier)
        found: dict[str, tuple[TurnId, GroundedStatement]] = {}
        for texts in _batches(group, self._room):
            records = [_record(turn, text) for turn, text in zip(group, texts, strict=True)]
            reply = ask(self._chat, prompt.question(records, earlier=earlier), log=self._log).value
            dropped = reply.unusable
            for one in reply.usable:
                turn = group[one.turn]
                grounded = believe(one, turn, said, max_bytes=self._max_memory_bytes)
                if grounded is None:
                    dropped += 1
                else:
                    found.setdefault(normalize_text(grounded.content), (turn.id, grounded))
            self._log.note(prompt.PURPOSE, Usage(dropped=dropped))
        stated: dict[TurnId, list[GroundedStatement]] = {}
        for turn_id, grounded in found.values():
            stated.setdefault(turn_id, []).append(grounded)
        return stated


def concealed(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns as they may be sent: without what is confidential in them."""
    found: list[Turn] = []
    heard: list[str] = []
    for turn in turns:
        found.append(mask_turn(turn, heard=heard))
        if turn.role in (Role.USER, Role.ASSISTANT):
            heard.append(turn.content)
    return found


def _groups(turns: Sequence[Turn], room: int) -> Iterator[list[Turn]]:
    """Yield neighbouring turns that fit into one call together; a turn that is too long stands alone."""
    group: list[Turn] = []
    for turn in turns:
        if group and _size([*group, turn]) > room:
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def _batches(group: Sequence[Turn], room: int) -> Iterator[list[str]]:
    """Yield the texts of each call: one call for a group that fits, one per piece of a turn that does not."""
    if len(group) > 1 or _size(group) <= room:
        yield [turn.content for turn in group]
        return
    rest = group[0].content
    while rest:
        piece = _first_piece(rest, room)
        yield [piece]
        rest = rest[len(piece) :]


def _first_piece(text: str, room: int) -> str:
    """Return the beginning of a text that fits, up to a line's, a sentence's or at least a word's end."""
    piece = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    if len(piece) == len(text):
        return piece
    for end in ("\n", ". ", "。", " "):
        place = piece.rfind(end)
        if place > len(piece) // 2:
            return piece[: place + len(end)]
    return piece


def _size(turns: Sequence[Turn]) -> int:
    return sum(len(turn.content.encode("utf-8", "replace")) for turn in turns)


def _record(turn: Turn, text: str) -> Record:
    return Record(
        speaker=_speaker(turn),
        role=turn.role.value,
        date=f"{WEEKDAYS[turn.occurred_at.weekday()]}, {long_date(turn.occurred_at)}",
        text=text,
    )


def _speaker(turn: Turn) -> str:
    """Return who spoke: the name, or what a statement calls someone without one."""
    return turn.speaker or ("User" if turn.role is Role.USER else turn.role.value.capitalize())


def _said(group: Sequence[Turn], earlier: Sequence[Record]) -> SourceWords:
    """Return what may be stated; the speakers' names count as heard before, since every statement has one."""
    names = [_speaker(turn) for turn in group]
    heard = [text for record in earlier for text in (record.speaker, record.text)]
    days = [turn.occurred_at for turn in group]
    return SourceWords.of([turn.content for turn in group], earlier=[*names, *heard], days=days)
