"""
What an import may claim: how sure something is and when it was, the same for every importer.

A file is nobody's word. Its confidence is capped by the trust that imports have, and moments that cannot be
(before there were computers to note them, or still to come) become the moment of the import. The report
counts what was changed.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from engramdb.importing.source import SourceMessage, SourceStatement
from engramdb.values import Source

MAX_CONFIDENCE: Final = Source.INGEST.trust
"""An import is as sure as its source is trusted, and no surer."""
EARLIEST: Final = datetime(1900, 1, 1, tzinfo=UTC)
"""What is dated before is an empty date of some program: 0001-01-01, 1601-01-01."""
SLACK: Final = timedelta(days=1)
"""By so much clocks and time zones may differ before a moment counts as still to come."""
MAX_AHEAD: Final = timedelta(days=366)
"""Something may begin to hold within a year from now: a lease, a job. What begins later is a mistake."""


def clamp(
    record: SourceStatement | SourceMessage, *, now: datetime, changed: Counter[str]
) -> SourceStatement | SourceMessage:
    """Return a record with what it claims held to what can be; counts what was changed."""
    occurred = _past(record.occurred_at, now=now, changed=changed)
    if isinstance(record, SourceMessage):
        return replace(record, occurred_at=occurred)
    confidence = record.confidence
    if confidence is not None and confidence > MAX_CONFIDENCE:
        confidence = MAX_CONFIDENCE
        changed["confidence"] += 1
    said = _past(record.said_at, now=now, changed=changed)
    begins, ends = _period(record, now=now, changed=changed)
    return replace(
        record, confidence=confidence, occurred_at=occurred, said_at=said, valid_from=begins, valid_to=ends
    )


def _past(moment: datetime | None, *, now: datetime, changed: Counter[str]) -> datetime | None:
    """Return a moment that has been; another one becomes that of the import."""
    if moment is None or EARLIEST <= _in_utc(moment) <= now + SLACK:
        return moment
    changed["times"] += 1
    return now


def _period(
    record: SourceStatement, *, now: datetime, changed: Counter[str]
) -> tuple[datetime | None, datetime | None]:
    """Return since when and until when it holds; an order that cannot be is no period at all."""
    begins, ends = record.valid_from, record.valid_to
    if begins is not None and not EARLIEST <= _in_utc(begins) <= now + MAX_AHEAD:
        changed["times"] += 1
        begins = now
    if ends is not None and _in_utc(ends) < EARLIEST:
        changed["times"] += 1
        ends = None
    if begins is not None and ends is not None and _in_utc(begins) > _in_utc(ends):
        changed["times"] += 1
        return now, None
    return begins, ends


def _in_utc(moment: datetime) -> datetime:
    """Return a moment that can be compared; one without a zone counts as UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # year 1 or 9999, moved beyond the calendar by its zone
        return datetime.min.replace(tzinfo=UTC)
