"""
Find private words with something stronger than rules, once, when a text is stored.

Rules run wherever a text is shown; a network takes too long for that. What both find is merged and stored
with the text (`Memory.private`, `Turn.private`), and later readers go by that. Where only rules looked
nothing is stored, so that better rules or a model that is added later still count.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, Protocol

from msgspec import Struct, field

from engramdb.text.pii import PiiScan, proven
from engramdb.text.pii_codes import is_chosen
from engramdb.text.pii_numbers import public_numbers, published_examples
from engramdb.text.pii_patterns import public_forms
from engramdb.values.privacy import PersonalData, PiiKind, PiiSpan, Stretches

_NUMBERS: Final = frozenset({PiiKind.BANK_ACCOUNT, PiiKind.PAYMENT_CARD, PiiKind.PHONE})
"""What a published example may be taken for."""
_WORD = re.compile(r"\w+|\W")


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

    A kind that the finder cleared is dropped where only rules suspect it. What is public by its form is no
    secret, and a published example is one only where the finder says so too. What is proven stays, and so
    does what looks like nothing but a password.
    """
    public, numbers = Stretches.of(public_forms(text)), Stretches.of(public_numbers(text))
    examples = Stretches.of(published_examples(text))
    is_doubted = bool(found.cleared & rules.kinds or public.starts)
    certain = _Certain.of(proven(text) if is_doubted else ())
    spans = [
        one
        for one in found.spans
        if not one.is_located or not (public.hold(one.start, one.end) or numbers.hold(one.start, one.end))
    ]
    confirmed = Stretches.of((one.start, one.end) for one in spans)
    kept = [
        one
        for one in rules.findings
        if not (one.kind in _NUMBERS and examples.overlap(one.start, one.end))
        or confirmed.overlap(one.start, one.end)
        if not (one.kind in found.cleared or (one.is_located and public.hold(one.start, one.end)))
        or _is_password(text, one)
        or certain.holds(one)
    ]
    located = {one.kind for one in (*kept, *spans) if one.is_located}
    return PiiScan.of(one for one in (*kept, *spans) if one.is_located or one.kind not in located)


def _is_password(text: str, span: PiiSpan) -> bool:
    return span.kind is PiiKind.CREDENTIAL and is_chosen(text[span.start : span.end])


class _Certain(Struct, frozen=True):
    """What is proven of each kind: where, and of which kinds nobody can say where."""

    located: Mapping[PiiKind, Stretches]
    somewhere: frozenset[PiiKind]

    @classmethod
    def of(cls, spans: Iterable[PiiSpan]) -> _Certain:
        places: defaultdict[PiiKind, list[tuple[int, int]]] = defaultdict(list)
        for one in spans:
            places[one.kind] += [(one.start, one.end)]
        somewhere = frozenset(
            kind for kind, each in places.items() if any(start >= end for start, end in each)
        )
        return cls({kind: Stretches.of(each) for kind, each in places.items()}, somewhere)

    def holds(self, span: PiiSpan) -> bool:
        """Return whether a finding is proven; one without a place is where anything of its kind is."""
        if span.kind not in self.located:
            return False
        if span.kind in self.somewhere or not span.is_located:
            return True
        return self.located[span.kind].overlap(span.start, span.end)


def relocate(spans: Iterable[PiiSpan], before: str, after: str) -> Iterator[PiiSpan]:
    """Yield where what stood in one text stands in another that holds some of its words, however often."""
    kinds: defaultdict[str, set[PiiKind]] = defaultdict(set)
    for span in dict.fromkeys(spans):
        if not span.is_located:
            yield span
        else:
            kinds[before[span.start : span.end].strip()].add(span.kind)
    for start, end, value in find_values(after, kinds):
        yield from (PiiSpan(start, end, kind) for kind in sorted(kinds[value]))


class _Branch(Struct, eq=False):
    """Where the words of values lead that were read so far, and the values that end here."""

    following: dict[str, _Branch] = field(default_factory=dict)
    ending: list[str] = field(default_factory=list)
    word_count: int = 0
    back: _Branch | None = None
    """The longest end of these words with which a value begins, too: from there it goes on."""
    shorter: _Branch | None = None
    """The longest of those ends that is a whole value."""


def find_values(text: str, values: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where values stand in a text as whole words, in any case: in one pass (Aho-Corasick)."""
    written = _WORD.findall(text)
    starts = [0, *accumulate(map(len, written))]
    branch = root = _tree_of(values)
    for place, word in enumerate(map(str.casefold, written), start=1):
        while branch.back is not None and word not in branch.following:
            branch = branch.back
        branch = branch.following.get(word, root)
        found = branch if branch.ending else branch.shorter
        while found is not None:
            for value in found.ending:
                yield starts[place - found.word_count], starts[place], value
            found = found.shorter


def _tree_of(values: Iterable[str]) -> _Branch:
    root = _Branch()
    for value in dict.fromkeys(filter(None, values)):
        branch = root
        for word in _WORD.findall(value):
            longer = _Branch(word_count=branch.word_count + 1)
            branch = branch.following.setdefault(word.casefold(), longer)
        branch.ending.append(value)
    waiting = deque([root])
    while waiting:
        branch = waiting.popleft()
        for word, longer in branch.following.items():
            back = branch.back
            while back is not None and word not in back.following:
                back = back.back
            longer.back = root if back is None else back.following[word]
            longer.shorter = longer.back if longer.back.ending else longer.back.shorter
            waiting.append(longer)
    return root
