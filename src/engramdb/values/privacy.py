"""Privacy: kinds of personal and secret content, and where it stands in a text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct


class PiiKind(StrEnum):
    """What sort of personal or secret thing a piece of text is."""

    SSN = "ssn"
    EMAIL = "email"
    PAYMENT_CARD = "payment_card"
    PERSON_NAME = "person_name"
    LOCATION = "location"
    CREDENTIAL = "credential"
    PHONE = "phone"
    POSTAL_ADDRESS = "postal_address"
    GOVERNMENT_ID = "government_id"
    BANK_ACCOUNT = "bank_account"
    BIRTH_DATE = "birth_date"
    HEALTH = "health"
    INCOME = "income"
    PERSONAL = "personal"
    """What else a person may want to keep to themselves: religion, sexuality, a criminal record."""


class PiiSpan(Struct, frozen=True, order=True):
    """Where one finding stands: `text[start:end]`; an empty span means somewhere in the text."""

    start: int
    end: int
    kind: PiiKind

    @property
    def is_located(self) -> bool:
        """Whether it is known where the finding stands."""
        return self.end > self.start


class Stretches(Struct, frozen=True):
    """Parts of a text in order, those that overlap joined: asked about each of thousands of findings."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, places: Iterable[tuple[int, int]]) -> Stretches:
        """Return what these places cover together."""
        joined: list[tuple[int, int]] = []
        for start, end in sorted(places):
            if joined and start < joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((start, end))
        return cls(tuple(start for start, _ in joined), tuple(end for _, end in joined))

    def overlap(self, start: int, end: int) -> bool:
        """Return whether one of them shares a character with a place."""
        place = bisect_left(self.starts, end)  # whatever begins later cannot overlap
        return place > 0 and self.ends[place - 1] > start

    def hold(self, start: int, end: int) -> bool:
        """Return whether one of them has the whole of a place in it."""
        place = bisect_right(self.starts, start)
        return place > 0 and self.ends[place - 1] >= end


class PersonalData(Struct, frozen=True):
    """What something stronger than rules found in a text."""

    spans: tuple[PiiSpan, ...] = ()
    cleared: frozenset[PiiKind] = frozenset()
    """Kinds that the text surely does not hold, whatever rules suspect."""
