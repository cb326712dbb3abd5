"""
Find what identifies a person or gives access, and say how well it must be protected.

Finders are in the other `pii_` modules; they also read what a text says once wide
digits and invisible characters in it are undone. Only a tier and positions come out: what was found is
never copied, so it cannot end up in a log. Rules and checksums, no model: each kind must earn its place by
precision as well, because a tier keeps words out of files and prompts. Numbers per kind are in
docs/lab/0007-pii-and-injection.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import UNSET, Struct, UnsetType

from engramdb.text import pii_codes, pii_numbers, pii_patterns, pii_people, pii_personal, pii_spoken
from engramdb.text.pii_patterns import is_exact, undisguised
from engramdb.values import SecurityTier
from engramdb.values.privacy import PiiKind, PiiSpan, Stretches

CONFIDENTIAL = frozenset(
    {PiiKind.SSN, PiiKind.PAYMENT_CARD, PiiKind.CREDENTIAL, PiiKind.GOVERNMENT_ID, PiiKind.BANK_ACCOUNT}
)
"""Kinds with which a stranger can pay, sign in or pass for someone; every other kind is sensitive."""

EVERYDAY = frozenset({PiiKind.PERSON_NAME, PiiKind.LOCATION})
"""Kinds that every life is told with: labelled like the others, but not withheld from the owner's files."""


class PiiScan(Struct, frozen=True):
    """What was found in a text, and the tier that the worst of it asks for."""

    kinds: frozenset[PiiKind]
    tier: SecurityTier
    spans: tuple[PiiSpan, ...]
    """Those whose place is known."""

    @classmethod
    def of(cls, spans: Iterable[PiiSpan]) -> PiiScan:
        """Return what these findings amount to."""
        found = set(spans)
        kinds = frozenset(span.kind for span in found)
        located = tuple(sorted(span for span in found if span.is_located))
        return cls(kinds=kinds, tier=tier_of(kinds), spans=located)

    @property
    def findings(self) -> tuple[PiiSpan, ...]:
        """The spans, and an empty one for each kind that is somewhere in the text: what is stored."""
        located = {span.kind for span in self.spans}
        return (*(PiiSpan(0, 0, kind) for kind in sorted(self.kinds - located)), *self.spans)


_Finder = tuple[PiiKind, Callable[[str], Iterator[tuple[int, int]]]]

# Strongest evidence first: a stretch of text that one kind has claimed is not claimed by a later one, so a
# password in a URL is no e-mail address, a card is no phone number and a street is no mere location.
_FINDERS: tuple[_Finder, ...] = (
    (PiiKind.CREDENTIAL, pii_patterns.credentials),
    (PiiKind.CREDENTIAL, pii_spoken.told_secrets),
    (PiiKind.CREDENTIAL, pii_codes.named_codes),
    (PiiKind.EMAIL, pii_people.emails),
    (PiiKind.BANK_ACCOUNT, pii_numbers.bank_accounts),
    (PiiKind.PAYMENT_CARD, pii_numbers.payment_cards),
    (PiiKind.CREDENTIAL, pii_numbers.card_codes),
    (PiiKind.SSN, pii_numbers.social_security_numbers),
    (PiiKind.GOVERNMENT_ID, pii_numbers.government_ids),
    (PiiKind.GOVERNMENT_ID, pii_codes.named_ids),
    (PiiKind.BANK_ACCOUNT, pii_codes.named_accounts),
    (PiiKind.BIRTH_DATE, pii_personal.birth_dates),
    (PiiKind.INCOME, pii_personal.incomes),
    (PiiKind.POSTAL_ADDRESS, pii_people.postal_addresses),
    (PiiKind.PHONE, pii_numbers.phones),
    (PiiKind.LOCATION, pii_people.locations),
    (PiiKind.PERSON_NAME, pii_people.person_names),
)
_PROOFS: tuple[_Finder, ...] = (
    (PiiKind.CREDENTIAL, pii_patterns.issued_credentials),
    (PiiKind.BANK_ACCOUNT, pii_numbers.issued_ibans),
    (PiiKind.PAYMENT_CARD, pii_numbers.issued_cards),
    (PiiKind.CREDENTIAL, pii_numbers.issued_card_codes),
    (PiiKind.SSN, pii_numbers.social_security_numbers),
    (PiiKind.GOVERNMENT_ID, pii_numbers.checked_ids),
)
"""
What finds the part of it that is certain: a vendor's form, or a number with check digits that fit.

Two have no check digits and count as certain all the same: a social security number, for its form or for the
word before it, and the digits behind the number of a card that a bank may have given out.
"""


CONCEALED = "[confidential]"
"""Stands for a secret where its text is shown or sent."""


def classify(text: str, *, answering: str | None = None) -> PiiScan:
    """
    Return every kind of personal or secret content in the text, where it stands, and its tier.

    What shows only once a disguise is undone counts for kinds and tier, and has no place. `answering` is what
    was said before that the text may answer: "hunter2" is a secret after "what is the password?".
    """
    spans = _spans(text) + _answered(text, answering)
    kinds = frozenset(span.kind for span in spans)
    if pii_personal.is_about_health(text):
        kinds |= {PiiKind.HEALTH}
    if (plain := undisguised(text)) != text:
        kinds |= {span.kind for span in _spans(plain)}
    return PiiScan(kinds=kinds, tier=tier_of(kinds), spans=tuple(sorted(set(spans))))


def proven(text: str) -> frozenset[PiiSpan]:
    """Return what is certain whatever stands around it; disguised, it has no place."""
    found = {PiiSpan(start, end, kind) for kind, find in _PROOFS for start, end in find(text)}
    if (plain := undisguised(text)) != text:
        found |= {PiiSpan(0, 0, kind) for kind, find in _PROOFS if any(find(plain))}
    if pii_personal.takes_medicine(text):
        found.add(PiiSpan(0, 0, PiiKind.HEALTH))
    return frozenset(found)


def conceal_secrets(text: str, *, answering: str | None = None) -> str:
    """Return a text with what is confidential in it concealed; all of it where no one can say where it is."""
    return conceal(text, classify(text, answering=answering))


def conceal(text: str, found: PiiScan) -> str:
    """Return a text with the secrets found in it concealed; all of it where their place is unknown."""
    if found.tier is not SecurityTier.CONFIDENTIAL:
        return text
    secrets = [span for span in found.spans if span.kind in CONFIDENTIAL]
    if not {span.kind for span in secrets} >= found.kinds & CONFIDENTIAL:
        return CONCEALED
    return conceal_places(text, ((span.start, span.end) for span in secrets))


def conceal_places(text: str, places: Iterable[tuple[int, int]], *, by: str = CONCEALED) -> str:
    """Return a text with some places in it concealed; a number with its name and the number alone are one."""
    covered, kept, begin = Stretches.of(places), [], 0
    for start, end in zip(covered.starts, covered.ends, strict=True):
        kept += [text[begin:start], by]
        begin = end
    return "".join([*kept, text[begin:]])


def _answered(text: str, before: str | None) -> list[PiiSpan]:
    """Return the secrets that a text gives away only as an answer to what was said before."""
    found = list(pii_spoken.answered_secrets(text, before or ""))
    if before:
        found += pii_codes.answered_codes(text, before)
    return [PiiSpan(start, end, PiiKind.CREDENTIAL) for start, end in found]


def _spans(text: str) -> list[PiiSpan]:
    spans: list[PiiSpan] = []
    for kind, find in _FINDERS:
        claimed = Stretches.of((one.start, one.end) for one in spans)
        spans += [PiiSpan(*place, kind) for place in find(text) if not claimed.overlap(*place)]
    return spans


def tier_of(kinds: frozenset[PiiKind]) -> SecurityTier:
    """Return the protection that these kinds need together."""
    if kinds & CONFIDENTIAL:
        return SecurityTier.CONFIDENTIAL
    return SecurityTier.SENSITIVE if kinds else SecurityTier.CLEARTEXT


def is_withheld(text: str, tier: SecurityTier, *, private: tuple[PiiSpan, ...] | UnsetType = UNSET) -> bool:
    """
    Return whether a text of this tier stays out of plain files, such as notes and exports.

    "I live in Oslo" and "my name is Maya" do not: a notebook without them tells nobody's life. Beside them
    nothing may stand that could make them exact, whether a finder knows it or not. Where nothing is found,
    the tier comes from elsewhere and is taken at its word. `private` is what was found when it was stored.
    """
    if tier is not SecurityTier.SENSITIVE:
        return tier is SecurityTier.CONFIDENTIAL
    kinds = {one.kind for one in private} if isinstance(private, tuple) else classify(text).kinds
    return not kinds or not kinds <= EVERYDAY or is_exact(undisguised(text))


def holds_more(words: str, than: str) -> bool:
    """Return whether words hold something private, besides names and towns, of a kind that a text has not."""
    return not classify(words).kinds <= classify(than).kinds | EVERYDAY
