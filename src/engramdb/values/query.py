"""Query: a question with its scope, filters and mode."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from engramdb.errors import InvalidContent, InvalidQuery
from engramdb.values.memory import BELIEVED, Kind, Layer, Memory, MemoryType, Status
from engramdb.values.scope import GLOBAL, Scope

MAX_LIMIT = 1000
RECALL_LIMIT = 10
"""How many hits a recall gives where nobody says; models are shown fewer (`mcp.tools`)."""
MAX_NUMBER = 2**63 - 1
"""The largest number that a store gives."""
MAX_QUERY_CHARACTERS = 20_000
MAX_WORD_CHARACTERS = 1000
"""Of one word in a filter: the longest path that anyone has."""

SENTIMENTS = ("positive", "negative", "neutral")
_IN_COLUMNS = ("statuses", "layers", "types", "kinds", "categories")
_IN_WORDS = ("entities", "technologies", "paths", "languages", "sentiments", "speakers", "sessions", "flags")


class Mode(StrEnum):
    """How much of what is known an answer may hold."""

    FACTS_ONLY = "facts_only"
    FACTS_PLUS_RULES = "facts_plus_rules"
    FULL_CONTEXT = "full_context"

    @property
    def types(self) -> frozenset[MemoryType]:
        """The types of memories that the mode lets through."""
        return _TYPES[self]


_TYPES = {
    Mode.FACTS_ONLY: frozenset({MemoryType.FACT}),
    Mode.FACTS_PLUS_RULES: frozenset({MemoryType.FACT, MemoryType.PROCEDURE}),
    Mode.FULL_CONTEXT: frozenset(MemoryType),
}


def _filter(description: str, one: str, *, metavar: str = "NAME", options: tuple[str, ...] = ()) -> Meta:
    """Describe a part of the filters, and how it is called where it is given one value at a time."""
    extra = {"flat": one, "metavar": metavar} | ({"options": options} if options else {})
    return Meta(description=f"{description} (repeatable).", extra=extra)


def _moment(description: str) -> Meta:
    return Meta(description=description, extra_json_schema={"format": "date-time"}, extra={"metavar": "TIME"})


class Filters(Struct, frozen=True, kw_only=True):
    """
    What a memory must be to count; an empty part lets everything through, statuses excepted.

    A memory must pass every part, and passes a part by any one of its members. Words are compared
    without case and accents, except those of sessions.
    """

    statuses: Annotated[frozenset[Status], _filter("Filter by status", "status")] = BELIEVED
    layers: Annotated[frozenset[Layer], _filter("Filter by layer", "layer")] = frozenset()
    types: Annotated[frozenset[MemoryType], _filter("Filter by type", "type")] = frozenset()
    kinds: Annotated[frozenset[Kind], _filter("Filter by kind", "kind")] = frozenset()
    categories: Annotated[frozenset[str], _filter("Filter by category, such as preference", "category")] = (
        frozenset()
    )
    since: Annotated[datetime | None, _moment("Only from this moment on.")] = None
    until: Annotated[datetime | None, _moment("Only before this moment.")] = None
    """`since` is included and `until` is not; both look at `Memory.when`."""
    entities: Annotated[
        frozenset[str], _filter("Filter by person or thing mentioned, by name or id", "entity")
    ] = frozenset()
    """As far as this scope knows them."""
    technologies: Annotated[
        frozenset[str], _filter("Filter by technology, in any spelling", "technology")
    ] = frozenset()
    """`k8s` finds what mentions Kubernetes."""
    paths: Annotated[
        frozenset[str], _filter("Filter by file named, or folder of it", "path", metavar="PATH")
    ] = frozenset()
    languages: Annotated[frozenset[str], _filter("Filter by programming language", "language")] = frozenset()
    sentiments: Annotated[
        frozenset[str], _filter(f"Filter by sentiment: {', '.join(SENTIMENTS)}", "sentiment")
    ] = frozenset()
    speakers: Annotated[frozenset[str], _filter("Filter by who said it", "speaker")] = frozenset()
    sessions: Annotated[
        frozenset[str], _filter("Filter by conversation", "session", options=("--from-session",))
    ] = frozenset()

    flags: Annotated[frozenset[str], _filter("Filter by flag, such as quarantined", "flag")] = frozenset()

    def __post_init__(self) -> None:
        for name, moment in (("since", self.since), ("until", self.until)):
            if moment is not None:
                check_moment(name, moment)
        for name in _IN_COLUMNS:
            _check_set(name, getattr(self, name))
        for name in _IN_WORDS:
            _check_words(name, getattr(self, name))
        for word in self.sentiments:
            if word.casefold() not in SENTIMENTS:
                raise InvalidQuery(
                    f"no sentiment is {word[:40]!r}", hint=f"Use one of {', '.join(SENTIMENTS)}."
                )

    @property
    def needs_store(self) -> bool:
        """Whether only the store can tell who passes: an index in memory knows none of the words."""
        return any(getattr(self, name) for name in _IN_WORDS)

    def in_mode(self, mode: Mode) -> Filters:
        """Return the filters that also keep to a mode; raises where nothing could pass both."""
        if mode.types == frozenset(MemoryType):
            return self
        both = mode.types & self.types if self.types else mode.types
        if not both:
            raise InvalidQuery(
                f"mode {mode} leaves out every memory of type {', '.join(sorted(self.types))}",
                hint=f"Ask in mode {Mode.FULL_CONTEXT}, or for other types.",
            )
        return replace(self, types=both)


def check_limit(limit: int) -> None:
    """Raise where `limit` is outside what one answer may hold."""
    if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidQuery(f"limit={str(limit)[:40]} is outside 1 to {MAX_LIMIT}")


def check_number(name: str, number: int) -> None:
    """Raise where this cannot be the number of an entry that the store has numbered."""
    if not isinstance(number, int) or not 1 <= number <= MAX_NUMBER:
        raise InvalidQuery(
            f"{name} is the number of an entry, not {str(number)[:40]!r}", hint="Begin again without it."
        )


def check_moment(name: str, moment: datetime) -> None:
    """Raise where a moment to ask for is none, or could be any of a day's: it has no time zone."""
    if not isinstance(moment, datetime):
        raise InvalidQuery(f"{name} is a datetime, not {type(moment).__name__}")
    if moment.tzinfo is None:
        raise InvalidQuery(f"{name} has no time zone", hint="Give one, such as datetime.UTC.")


def _check_set(name: str, members: object) -> None:
    if not isinstance(members, frozenset | set):  # a text would be taken for its letters, and match nothing
        raise InvalidQuery(f"{name} must be a set of texts, not {type(members).__name__}")


def _check_words(name: str, words: frozenset[str]) -> None:
    _check_set(name, words)
    for word in words:
        if not isinstance(word, str) or not word.strip() or len(word) > MAX_WORD_CHARACTERS:
            raise InvalidQuery(
                f"{name} holds {str(word)[:40]!r}",
                hint=f"Use texts of 1 to {MAX_WORD_CHARACTERS} characters.",
            )
        _check_surrogates(name, word)


def _check_surrogates(what: str, text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidQuery(f"{what} holds half a surrogate pair", hint="Decode the text properly first.")


class Query(Struct, frozen=True, kw_only=True):
    """One question, ready to be asked."""

    text: str
    """The question."""
    scope: Scope = GLOBAL
    """Who asks."""
    filters: Filters = Filters()
    """What a memory must be to count."""
    limit: int = RECALL_LIMIT
    """The maximum number of hits."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidQuery(f"a query is text, not {type(self.text).__name__}")
        if not self.text.strip():
            raise InvalidQuery("the query is empty", hint="Ask for something, or use `list`.")
        _check_surrogates("the query", self.text)
        if len(self.text) > MAX_QUERY_CHARACTERS:
            raise InvalidQuery(f"the query has {len(self.text)} characters, at most {MAX_QUERY_CHARACTERS}")
        if not isinstance(self.limit, int):
            raise InvalidQuery(f"limit is a whole number, not {type(self.limit).__name__}")
        check_limit(self.limit)


_TRUE_ONCE = BELIEVED | {Status.SUPERSEDED, Status.ARCHIVED}
"""What a memory may be that was true in its time."""


class Then(Struct, frozen=True, kw_only=True):
    """The moments that a question looks back to; None is the present."""

    as_of: datetime | None = None
    """Answer from what was believed at this moment."""
    valid_at: datetime | None = None
    """Answer with what was true at this moment."""

    @property
    def is_past(self) -> bool:
        """Whether it looks back at all."""
        return self.as_of is not None or self.valid_at is not None

    def check(self) -> None:
        """Raise where a moment is none, or could be any of a day's."""
        for name, moment in (("as_of", self.as_of), ("valid_at", self.valid_at)):
            if moment is not None:
                check_moment(name, moment)

    def counts(self, memory: Memory, filters: Filters, *, now: datetime) -> bool:
        """Return whether a memory, as it was believed then, is one to answer with."""
        statuses = filters.statuses
        if self.valid_at is not None:
            statuses = _TRUE_ONCE if statuses == BELIEVED else statuses
            if not memory.holds_at(self.valid_at):
                return False
        is_asked = memory.status in statuses and (not filters.layers or memory.layer in filters.layers)
        return is_asked and not memory.is_over(self.as_of or now)


PRESENT = Then()


_Choice = TypeVar("_Choice", bound=StrEnum)


def parse_enum(kind: type[_Choice], word: str) -> _Choice:
    """Return the member of an enumeration that a caller named; raises with the words that there are."""
    try:
        return kind(word)
    except ValueError as exc:
        raise InvalidContent(
            f"{word!r} is not a {kind.__name__.lower()}", hint=f"Use one of {', '.join(kind)}."
        ) from exc


def checked_filters(filters: Filters | None) -> Filters:
    """Return the filters, or those that let everything true through; raises where they are something else."""
    if filters is not None and not isinstance(filters, Filters):
        raise InvalidQuery(
            f"filters are Filters, not {type(filters).__name__}",
            hint='Give Filters(categories=frozenset({"fact"})); whose memories is told by `scope`.',
        )
    return filters or Filters()
