"""
Find private words with something stronger than rules, once, when a text is stored.

Rules run wherever a text is shown; a network takes too long for that. What both find is merged and stored
with the text (`Memory.private`, `Turn.private`), and later readers go by that. Where only rules looked
nothing is stored, so that better rules or a model that is added later still count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from engramdb.text.pii import PiiScan, proven
from engramdb.text.pii_codes import is_chosen
from engramdb.text.pii_numbers import published_examples
from engramdb.text.pii_patterns import public_forms
from engramdb.values.privacy import PersonalData, PiiKind, PiiSpan


class FindsPersonalData(Protocol):
    """Finds what is private in a text."""

    def find(self, text: str, *, before: str = "") -> PersonalData | None:
        """Return what a text holds after what was said `before`; None where it cannot work now."""
        ...


def find_private(
    text: str, rules: PiiScan, finder: FindsPersonalData | None, *, before: str | None = None
) -> PiiScan | None:
    """Return what a text holds by rules and a finder together; None where no finder works."""
    found = finder.find(text, before=before or "") if finder is not None else None
    return None if found is None else merge(text, rules, found)


def merge(text: str, rules: PiiScan, found: PersonalData) -> PiiScan:
    """
    Return what rules and a finder found together; where they overlap, both count.

    A kind that the finder cleared is dropped where only rules suspect it; what is proven stays, and so does
    what looks like nothing but a password. What is public by its form is no secret, and a published example
    is one only where the finder says so too.
    """
    certain = proven(text) if found.cleared & rules.kinds else frozenset()
    public, examples = list(public_forms(text)), set(published_examples(text))
    spans = [one for one in found.spans if not any(_lies_in(one, form) for form in public)]
    kept = [
        one
        for one in rules.findings
        if (one.kind not in found.cleared or _is_password(text, one) or _is_among(one, certain))
        and ((one.start, one.end) not in examples or any(_overlap(one, other) for other in spans))
    ]
    located = {one.kind for one in (*kept, *spans) if one.is_located}
    return PiiScan.of(one for one in (*kept, *spans) if one.is_located or one.kind not in located)


def _is_password(text: str, span: PiiSpan) -> bool:
    return span.kind is PiiKind.CREDENTIAL and is_chosen(text[span.start : span.end])


def _is_among(span: PiiSpan, certain: Iterable[PiiSpan]) -> bool:
    same = (one for one in certain if one.kind is span.kind)
    return any(_overlap(one, span) or not (one.is_located and span.is_located) for one in same)


def _overlap(one: PiiSpan, other: PiiSpan) -> bool:
    return one.start < other.end and other.start < one.end


def _lies_in(span: PiiSpan, form: tuple[int, int]) -> bool:
    return span.is_located and form[0] <= span.start and span.end <= form[1]


def relocate(spans: Iterable[PiiSpan], before: str, after: str) -> Iterator[PiiSpan]:
    """Yield where what stood in one text stands in another that holds some of its words, however often."""
    for span in spans:
        value = before[span.start : span.end].strip()
        if not span.is_located:
            yield span
        elif value:
            for match in re.finditer(rf"(?i)(?<!\w){re.escape(value)}(?!\w)", after):
                yield PiiSpan(match.start(), match.end(), span.kind)
