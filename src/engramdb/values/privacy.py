"""Privacy: kinds of personal and secret content, and where it stands in a text."""

from __future__ import annotations

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


class PersonalData(Struct, frozen=True):
    """What something stronger than rules found in a text."""

    spans: tuple[PiiSpan, ...] = ()
    cleared: frozenset[PiiKind] = frozenset()
    """Kinds that the text surely does not hold, whatever rules suspect."""
