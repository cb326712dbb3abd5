"""
Take from a model's statement what can be trusted.

Called by `extract.model`; pure. Numbers are clamped, names that were not said are left out, exact words are
kept only where they are exact, and a statement that nobody made, or that no gate would admit, is none at all.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from engram.capture.extract.extracted import Extracted
from engram.capture.extract.predicate import canonical
from engram.text.normal import clean, is_text
from engram.values import Kind

if TYPE_CHECKING:
    from engram.capture.extract.grounding import Said
    from engram.providers.prompts.extract import Statement
    from engram.values import Turn

MOST_CONFIDENCE: Final = 0.95
DEFAULT_CONFIDENCE: Final = 0.7
DEFAULT_IMPORTANCE: Final = 0.5
LONGEST_NAME_CHARACTERS: Final = 200
"""Of a subject, an object or an entity: what is longer is a sentence and no name."""
LONGEST_INSIGHT_CHARACTERS: Final = 500


def believe(statement: Statement, turn: Turn, said: Said, *, max_bytes: int) -> Extracted | None:
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


def _triple(statement: Statement, said: Said, content: str) -> tuple[str | None, str | None, str | None]:
    """Return subject, predicate and object, or none of them: the gate reads a whole triple from the words."""
    subject, target = _name(statement.subject, said, content), _name(statement.object, said, content)
    predicate = canonical(_short(statement.predicate, LONGEST_NAME_CHARACTERS) or "")
    if subject is None or not predicate or target is None:
        return None, None, None
    return subject, predicate, target


def _name(name: str | None, said: Said, content: str) -> str | None:
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


def _kind(statement: Statement) -> Kind:
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
