"""Extract statements with a chat model, and keep only what is grounded in the turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from engramdb.capture.extract import Extracted, Extractor
from engramdb.errors import ChatError, ChatUnavailable
from engramdb.models.chat import CallLog, ChatModel, Usage, ask
from engramdb.models.prompts import extract as prompt
from engramdb.models.prompts.extract import ExtractedStatement, Record
from engramdb.text.dates import long_date
from engramdb.text.normalize import clean, is_text, lazy, normalize_text
from engramdb.text.relations import canonical
from engramdb.text.terms import query_terms, terms
from engramdb.values import Kind, Role, Turn

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
DEFAULT_CONFIDENCE: Final = 0.7
DEFAULT_IMPORTANCE: Final = 0.5
LONGEST_NAME_CHARACTERS: Final = 200
"""Of a subject, an object or an entity: what is longer is a sentence and no name."""
LONGEST_INSIGHT_CHARACTERS: Final = 500


def believe(
    statement: ExtractedStatement, turn: Turn, said: SourceWords, *, max_bytes: int
) -> Extracted | None:
    """Return the statement with what can be trusted of it, or None."""
    content = clean(statement.content) if is_text(statement.content) else ""
    day = _day(statement.date)
    if not content or len(content.encode()) > max_bytes or not said.supports(content, day=day):
        return None
    subject, predicate, target = _triple(statement, said, content)
    names = [_name(name, said, content) for name in statement.entities]
    return Extracted(
        content=content,
        turn_id=turn.id,
        category=statement.category,
        confidence=min(_share(statement.confidence, DEFAULT_CONFIDENCE), MOST_CONFIDENCE),
        importance=_share(statement.importance, DEFAULT_IMPORTANCE),
        kind=_kind(statement),
        subject=subject,
        predicate=predicate,
        object=target,
        is_negated=statement.is_negated,
        replaces=_name(statement.replaces, said, content),
        entities=tuple(name for name in names if name),
        occurred_at=_moment(day, turn),
        insight=_short(statement.insight, LONGEST_INSIGHT_CHARACTERS),
        verbatim=_verbatim(statement.verbatim, turn),
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


def _share(number: float | None, default: float) -> float:
    return default if number is None else min(max(number, 0.0), 1.0)


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


# Read statements out of turns by asking a chat model.
#
# Asks through `providers.chat` with the words of `prompts.extract` and keeps what `believe` lets pass. When
# the model fails, the fallback reads the same turns and the failure is reported: nothing is lost, nothing
# is hidden, and what nobody said is dropped and counted.

TOKEN_BUDGET: Final = 2500
"""For the turns of one call: with the prompt and the reply it fits the 8,192 tokens of small local models."""
BYTES_PER_TOKEN: Final = 3
"""Low on purpose: English has four to five, Chinese three, code fewer."""
MOST_PARTS: Final = 4
"""A turn that would take more calls than this is a pasted document; it is read by the fallback."""
CONTEXT_TURNS: Final = 6
CONTEXT_CHARACTERS: Final = 400
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class ModelExtractor:
    """An extractor that asks a model, and leaves to another extractor what the model fails on."""

    def __init__(
        self,
        chat: ChatModel,
        fallback: Extractor,
        on_failure: Callable[[ChatError], None],
        *,
        log: CallLog,
        token_budget: int = TOKEN_BUDGET,
        max_memory_bytes: int = 8 * 1024,
    ) -> None:
        self._chat = chat
        self._fallback = fallback
        self._on_failure = on_failure
        self._log = log
        self._room = token_budget * BYTES_PER_TOKEN
        self._max_memory_bytes = max_memory_bytes

    @property
    def name(self) -> str:
        """The version of the prompt and the name of the model."""
        return f"model-extract-{prompt.VERSION} ({self._chat.name})"

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """
        Return what the turns state, in order; turns that the model fails on are read by the fallback.

        A model that cannot be reached is not asked for the rest either: each try may cost a whole time-out.
        """
        found: list[Extracted] = []
        heard = list(context)
        is_reachable = True
        for group in _groups(turns, self._room):
            if is_reachable and _size(group) <= MOST_PARTS * self._room:
                try:
                    found += self._ask(group, heard)
                except ChatError as exc:
                    is_reachable = not isinstance(exc, ChatUnavailable)
                    self._on_failure(exc)
                    found += self._fallback.extract(group, context=heard)
            else:
                found += self._fallback.extract(group, context=heard)
            heard += group
        return found

    def _ask(self, group: Sequence[Turn], heard: Sequence[Turn]) -> list[Extracted]:
        """Return what the model reads in the group, each statement once, in the order of the turns."""
        earlier = [_record(turn, turn.content[:CONTEXT_CHARACTERS]) for turn in heard[-CONTEXT_TURNS:]]
        said = _said(group, earlier)
        found: dict[str, tuple[int, Extracted]] = {}
        for texts in _batches(group, self._room):
            records = [_record(turn, text) for turn, text in zip(group, texts, strict=True)]
            reply = ask(self._chat, prompt.question(records, earlier=earlier), log=self._log).value
            dropped = reply.unusable
            for one in reply.usable:
                extracted = believe(one, group[one.turn], said, max_bytes=self._max_memory_bytes)
                if extracted is None:
                    dropped += 1
                else:
                    found.setdefault(normalize_text(extracted.content), (one.turn, extracted))
            self._log.note(prompt.PURPOSE, Usage(dropped=dropped))
        return [extracted for _, extracted in sorted(found.values(), key=lambda pair: pair[0])]


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
