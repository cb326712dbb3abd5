"""
Draft: a statement before it is a memory, as any way in gives it, and the checks that it has to pass.

Light on purpose: `candidates` does the reading.
"""

from __future__ import annotations

from datetime import UTC, datetime
from numbers import Real

from msgspec import UNSET, Struct, UnsetType

from engramdb.errors import ContentTooLarge, InvalidContent
from engramdb.policy import CapturePolicy
from engramdb.text.normalize import clean, is_text, lazy
from engramdb.values import (
    GLOBAL,
    Claim,
    Kind,
    Layer,
    MemoryId,
    MemoryType,
    Moment,
    Provenance,
    Scope,
    SecurityTier,
    TaskOutcome,
)
from engramdb.values.privacy import PiiSpan
from engramdb.values.reading import Force, Lasting

REDUNDANT = "redundant"
"""The flag of a memory that says nothing new."""
_DECODE = "Decode the text properly first."
_CATEGORY = lazy(r"[a-z][a-z0-9_-]{0,39}")


class Draft(Struct, frozen=True, kw_only=True):
    """What is known of a statement; what is left out, the write pipeline decides."""

    content: str
    scope: Scope = GLOBAL
    layer: Layer | None = None
    type: MemoryType | None = None
    category: str | None = None
    kind: Kind | None = None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    provenance: Provenance = Provenance()
    occurred_at: datetime | None = None
    said_at: datetime | None = None
    """When it was said, where that is another moment than the one that it is about."""
    valid_from: datetime | None = None
    """From when on it is true; read from the words where nobody says, or else when it was said."""
    valid_to: datetime | None = None
    """Until when it is true, where that is known."""
    forget_after: datetime | None = None
    confidence: float | None = None
    importance: float | None = None
    pinned: bool = False
    supersedes: MemoryId | None = None
    version: int = 1
    is_negated: bool | None = None
    """Whether it denies something; read from the words where nobody says."""
    replaces: str | None = None
    """The object that it takes the place of: vim in "switched from vim to Helix"."""
    entities: tuple[str, ...] = ()
    """Names that an extractor found in it."""
    statement: str | None = None
    """The same in the third person, complete in itself, where an extractor is certain of it."""
    force: Force | None = None
    """What the speaker did with the words; read from them where nobody says."""
    lasting: Lasting | None = None
    """For how long it can be expected to hold; read from the words where nobody says."""
    answers: str | None = None
    """The question that it answers."""
    refers_to: tuple[str, ...] = ()
    """What "it" or "the second one" in it stands for."""
    moments: tuple[Moment, ...] = ()
    """The times that it names; read from the words where nobody says."""
    claims: tuple[Claim, ...] = ()
    """What it says of whom, one by one."""
    extractor: str | None = None
    verbatim: str | None = None
    passage: str | None = None
    """What stands around it where it was found, which is screened with it and not stored."""
    flags: tuple[str, ...] = ()
    """Warnings that it had where it comes from; they stay."""
    security: SecurityTier = SecurityTier.CLEARTEXT
    """The least protection that it gets, as where it comes from had it."""
    private: tuple[PiiSpan, ...] | UnsetType = UNSET
    """Where private words stand in the content, where the message that it is from has told."""
    outcome: TaskOutcome | None = None
    """How the task went that it reports on, which colors its affect."""


def checked(draft: Draft, policy: CapturePolicy) -> str:
    """Return the content as it will be stored; raises where the draft cannot become a memory."""
    if not isinstance(draft, Draft):
        raise InvalidContent(
            f"a draft is a Draft, not {type(draft).__name__}", hint='Give one, such as Draft(content="…").'
        )
    content = checked_text(draft.content, what="memory", max_bytes=policy.max_memory_bytes)
    if draft.category is not None:
        check_category(draft.category)
    for name, share in (("confidence", draft.confidence), ("importance", draft.importance)):
        if share is not None:
            check_share(name, share)
    made = draft.provenance
    for name, text in (("speaker", made.speaker), ("session", made.session)):
        if text is not None:
            check_label(name, text)
    return content


def check_category(category: str) -> None:
    """Raise where a category is not a usable name."""
    check_label("category", category)
    if not _CATEGORY.fullmatch(category):
        raise InvalidContent(
            f"category {category[:40]!r} is not a usable name",
            hint="Use lower-case letters, digits, - and _, at most 40.",
        )


def check_share(name: str, share: object) -> None:
    """Raise where a confidence or an importance is no number from 0 to 1."""
    if not isinstance(share, Real):
        raise InvalidContent(f"{name} is a number from 0 to 1, not {type(share).__name__}")
    if not 0 <= float(share) <= 1:
        raise InvalidContent(f"{name}={share} is outside 0 to 1")


def check_label(name: str, text: str) -> None:
    """Raise where a speaker, a session or the like is not text that can be written down."""
    if not isinstance(text, str):
        raise InvalidContent(f"the {name} is text, not {type(text).__name__}")
    if not is_text(text):
        raise InvalidContent(f"the {name} holds half a surrogate pair", hint=_DECODE)


def checked_text(text: str, *, what: str, max_bytes: int) -> str:
    """Return cleaned text that is not empty, not too large and can be written as UTF-8."""
    if not isinstance(text, str):
        raise InvalidContent(f"a {what} is text, not {type(text).__name__}")
    if len(text) > max_bytes:  # a character is at least a byte: refuse before any work on a huge text
        raise ContentTooLarge(f"a {what} of at least {len(text)} bytes is too large; at most {max_bytes}")
    if not is_text(text):
        raise InvalidContent(f"the {what} holds half a surrogate pair", hint=_DECODE)
    cleaned = clean(text)
    if not cleaned:
        raise InvalidContent(f"the {what} is empty")
    size = len(cleaned.encode())
    if size > max_bytes:
        raise ContentTooLarge(f"a {what} of {size} bytes is too large; at most {max_bytes}")
    return cleaned


def in_utc(name: str, moment: datetime | None) -> datetime | None:
    """Return the moment as the store will give it back, so that nothing differs after a rebuild."""
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise InvalidContent(f"{name} is a datetime, not {type(moment).__name__}")
    if moment.tzinfo is None:
        raise InvalidContent(f"{name} has no time zone", hint="Give one, such as datetime.UTC.")
    return moment.astimezone(UTC)
