"""
Mask what is secret in words: in a text, in every field of a memory, in turns, and where it is repeated.

A secret leaves `[confidential]` behind. Of a confidential memory whose secret cannot be located, nothing is
shown. What is found is never stored or logged.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from engramdb.erasable_cache import cached
from engramdb.text.pii import (
    CONCEALED,
    CONFIDENTIAL,
    PiiScan,
    classify,
    conceal,
    conceal_places,
    is_withheld,
)
from engramdb.text.pii_codes import names_code
from engramdb.text.pii_spoken import awaited_secret, awaits_answer
from engramdb.values.memory import ActorKind, Claim, Detail, Memory, SecurityTier, Traits
from engramdb.values.privacy import PiiSpan
from engramdb.values.turn import Role, Turn
from engramdb.vault.finding import find_values, relocate

PERSONAL: Final = "[personal]"
"""Stands for an address or a number of a person in what is sent to a model elsewhere."""
REACHES_A_PERSON: Final = frozenset({"email", "phone", "postal_address", "birth_date"})
"""Kinds of sensitive content, by value, that no model needs to know in full."""
MIN_WORD_CHARACTERS: Final = 3
"""A shorter piece of a secret gives nothing away, and stands in ordinary words."""
MAX_QUESTIONS: Final = 8
"""In one text, to be looked at for what answers them."""
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^\s,;]+")
_DIGIT = re.compile(r"\d")
_ASKED = re.compile(r"[?？]\s+")


@cached(20_000)
def scan_text(text: str, answering: str | None = None) -> PiiScan:
    """Return what was found in a text; scanned once while it is in use."""
    return classify(text, answering=answering)


def scan_memory(memory: Memory) -> PiiScan:
    """
    Return what was found in the words of a memory: alone, as an answer, and after what they lean on.

    "Master code 77 20 93 5" is a secret only after the sentence that speaks of the lock. A number that
    nothing calls a code, after a sentence that asks for none, is an ordinary number. What was found when it
    was stored counts; rules look again only where nobody has looked.
    """
    if isinstance(memory.private, tuple):
        return PiiScan.of(memory.private)
    alone = scan_text(memory.content, memory.answers)
    if alone.tier is SecurityTier.CONFIDENTIAL or not memory.refers_to:
        return alone
    if not (names_code(memory.content) or any(map(awaits_answer, memory.refers_to))):
        return alone
    before = " ".join(memory.refers_to) + " "
    spans = [
        PiiSpan(span.start - len(before), span.end - len(before), span.kind)
        for span in scan_text(before + memory.content).spans
        if span.start >= len(before) and span.kind in CONFIDENTIAL
    ]
    if not spans:
        return alone
    kinds = alone.kinds | {span.kind for span in spans}
    return PiiScan(kinds=kinds, tier=SecurityTier.CONFIDENTIAL, spans=tuple(sorted({*alone.spans, *spans})))


def _content(memory: Memory) -> str:
    """Return the words of a memory with what is confidential in them masked."""
    if isinstance(memory.private, tuple):
        return mask_found(memory.content, scan_memory(memory))
    shown = mask_secrets(memory.content, answering=memory.answers)
    if shown != memory.content:
        return shown
    places = [(one.start, one.end) for one in scan_memory(memory).spans if one.kind in CONFIDENTIAL]
    values = [memory.content[start:end] for start, end in places]
    return _without(conceal_places(memory.content, places), values)


def outside_secrets(memory: Memory) -> str:
    """Return the words of a memory with a mark in the place of each secret that can be located."""
    if memory.security is not SecurityTier.CONFIDENTIAL:
        return memory.content
    places = ((one.start, one.end) for one in scan_memory(memory).spans if one.kind in CONFIDENTIAL)
    return conceal_places(memory.content, places, by="…")


def mask_found(text: str, found: PiiScan) -> str:
    """Return a text with what was found confidential in it masked, however often it is said."""
    values = [text[one.start : one.end] for one in found.spans if one.kind in CONFIDENTIAL]
    return _without(conceal(text, found), values) if found.tier is SecurityTier.CONFIDENTIAL else text


def _without(text: str, values: Iterable[str]) -> str:
    """Return a text without secrets that were found elsewhere in it, however often they are said."""
    told = {value.strip() for value in values}
    long = [value for value in told if len(value) >= MIN_WORD_CHARACTERS]
    return conceal_places(text, ((start, end) for start, end, _ in find_values(text, long))) if long else text


def tier_of_text(text: str, answering: str | None = None) -> SecurityTier:
    """Return the tier of a text that has none stored."""
    return scan_text(text, answering).tier


def mask_secrets(text: str, *, answering: str | None = None) -> str:
    """Return a text with what is confidential in it masked."""
    return mask_found(text, scan_text(text, answering))


def stays_out_of_files(memory: Memory) -> bool:
    """Return whether a memory must not stand in a plain file, such as a note or an export."""
    return is_withheld(memory.content, memory.security, private=memory.private)


def mask_personal(text: str, *, answering: str | None = None) -> str:
    """Return a text for a model elsewhere: no secret, no mail, phone, postal address or birth date."""
    safe = _mask_answers(mask_secrets(text, answering=answering))
    reaching = [one for one in scan_text(safe).spans if one.kind.value in REACHES_A_PERSON]
    return conceal_places(safe, ((one.start, one.end) for one in reaching), by=PERSONAL)


def _mask_answers(text: str) -> str:
    """Return a text without secrets that a question in it gives away: "What is the code? 4711"."""
    for asked in list(_ASKED.finditer(text))[:MAX_QUESTIONS]:
        head, rest = text[: asked.end()], text[asked.end() :]
        shown = mask_secrets(rest, answering=awaited_secret([head]))
        if shown != rest:
            return head + shown
    return text


class Secrets(Struct, frozen=True):
    """The secrets of confidential memories, to be masked wherever else they are repeated."""

    values: tuple[str, ...]
    words: frozenset[str]
    """Words of the secrets that the rest of their memories does not say."""

    @classmethod
    def of(cls, memory: Memory) -> Secrets:
        """Return the secrets in the words of a memory."""
        said = [words for words in (memory.content, memory.statement, memory.verbatim) if words]
        looked_at = said[1:] if isinstance(memory.private, tuple) else said
        values = {value for words in looked_at for value in _values(words, memory.answers)}
        found = scan_memory(memory).spans
        values |= {memory.content[one.start : one.end] for one in found if one.kind in CONFIDENTIAL}
        shown = [_content(memory), *(mask_secrets(words, answering=memory.answers) for words in said[1:])]
        rest = {word for words in shown for word in _words(words)}
        told = frozenset(word for value in values for word in _words(value))
        return cls(tuple(sorted(values, key=len, reverse=True)), told - rest)

    @classmethod
    def of_all(cls, memories: Iterable[Memory]) -> Secrets:
        """Return the secrets in the words of several memories."""
        each = [cls.of(memory) for memory in memories]
        values = {value for one in each for value in one.values}
        words = frozenset(word for one in each for word in one.words)
        return cls(tuple(sorted(values, key=len, reverse=True)), words)

    def masked(self, text: str, *, answering: str | None = None) -> str:
        """Return a text without the secrets; all of it masked where a piece of one is left."""
        shown = mask_secrets(text, answering=answering)
        for value in self.values:
            if len(value) >= MIN_WORD_CHARACTERS:
                shown = shown.replace(value, CONCEALED)
        return CONCEALED if self.words & set(_words(shown)) else shown

    def not_in(self, text: str) -> Secrets:
        """Return the secrets of which a text says nothing."""
        said, low = frozenset(_words(text)), text.casefold()
        return Secrets(tuple(one for one in self.values if one.casefold() not in low), self.words - said)

    def without(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names that hold nothing of the secrets."""
        return tuple(name for name in names if CONCEALED not in self.masked(name))


def mask_reason(reason: str, about: Iterable[Memory], *, by: ActorKind) -> str:
    """
    Return why something was done to memories, without the secrets of those that are confidential.

    What a person or an agent writes about one may name an earlier secret that no memory holds ("was 7788
    before"): every word with a digit is masked there.
    """
    secret = [one for one in about if one.security is SecurityTier.CONFIDENTIAL]
    is_free = by is not ActorKind.RULE
    shown = mask_secrets(reason) if reason and is_free else reason
    if not reason or not secret:
        return shown
    shown = Secrets.of_all(secret).masked(shown)
    return mask_numbers(shown) if is_free else shown


def mask_numbers(text: str) -> str:
    """Return a text with every word masked that holds a digit."""
    return _PIECE.sub(lambda piece: CONCEALED if _DIGIT.search(piece[0]) else piece[0], text)


def _values(text: str, answering: str | None) -> Iterable[str]:
    spans = scan_text(text, answering).spans
    return (text[span.start : span.end] for span in spans if span.kind in CONFIDENTIAL)


def _words(text: str) -> list[str]:
    found = _WORD.findall(text.casefold())
    return [word for word in found if len(word) >= MIN_WORD_CHARACTERS and word != "confidential"]


def mask_memory(memory: Memory) -> Memory:
    """Return a memory without its secrets, in every field that may hold them; masked again it stays."""
    content = _content(memory)
    is_located = content not in (memory.content, CONCEALED)
    if not is_located and not _is_masked(memory):  # it is confidential, nobody can say where
        return _bare(memory)
    found = Secrets.of(memory)
    return memory.evolve(
        content=content,
        private=UNSET,
        statement=_field(memory.statement, found),
        verbatim=_field(memory.verbatim, found),
        answers=_field(memory.answers, found),
        subject=_field(memory.subject, found),
        predicate=_field(memory.predicate, found),
        object=_field(memory.object, found),
        replaces=_field(memory.replaces, found),
        refers_to=tuple(found.masked(words) for words in memory.refers_to),
        claims=tuple(_claim(one, found) for one in memory.claims),
        moments=tuple(one for one in memory.moments if CONCEALED not in found.masked(one.words)),
        detail=_detail(memory.detail, found),
        traits=_traits(memory.traits, found),
    )


def _is_masked(memory: Memory) -> bool:
    """
    Return whether a memory was masked before, so that nothing can be located in it any more.

    Somebody may write the placeholder, too; but what is stored knows what its words cost.
    """
    return CONCEALED in memory.content and not memory.detail.tokens


def _bare(memory: Memory) -> Memory:
    """Return a memory that says nothing but that it is confidential."""
    return memory.evolve(
        content=CONCEALED,
        private=UNSET,
        **dict.fromkeys(("statement", "verbatim", "answers", "subject", "predicate", "object", "replaces")),
        **dict.fromkeys(("refers_to", "claims", "moments"), ()),
        detail=Detail(),
        traits=Traits(sentiment=memory.traits.sentiment),
    )


def _field(words: str | None, found: Secrets) -> str | None:
    return None if words is None else found.masked(words)


def _claim(claim: Claim, found: Secrets) -> Claim:
    return replace(
        claim,
        subject=found.masked(claim.subject),
        predicate=found.masked(claim.predicate),
        object=found.masked(claim.object),
        qualifiers=tuple(found.masked(one) for one in claim.qualifiers),
    )


def _detail(detail: Detail, found: Secrets) -> Detail:
    shorter: dict[str, Any] = {
        name: _field(getattr(detail, name), found) for name in ("summary", "key_fact", "tag")
    }
    return Detail(**shorter)  # tokens are counted of what is shown


def _traits(traits: Traits, found: Secrets) -> Traits:
    lists = ("people", "technologies", "paths", "dates", "urls", "topics")
    kept: dict[str, Any] = {name: found.without(getattr(traits, name)) for name in lists}
    return replace(traits, **kept)


def mask_session(session: str) -> str:
    """Return the name of a session without secrets; one that is nothing but an id stays one."""
    shown = mask_secrets(session)
    return session if shown == CONCEALED else shown


def mask_names(memory: Memory) -> Memory:
    """Return a memory without secrets in the names of who spoke and of the session."""
    made = memory.provenance
    speaker = None if made.speaker is None else mask_secrets(made.speaker)
    session = None if made.session is None else mask_session(made.session)
    if (speaker, session) == (made.speaker, made.session):
        return memory
    return memory.evolve(provenance=replace(made, speaker=speaker, session=session))


def scan_turn(turn: Turn, *, heard: Sequence[str]) -> PiiScan:
    """Return what was found in a turn when it was read; until then what rules find after what was `heard`."""
    if isinstance(turn.private, tuple):
        return PiiScan.of(turn.private)
    return scan_text(turn.content, awaited_secret(heard))


def mask_turn(turn: Turn, *, heard: Sequence[str]) -> Turn:
    """Return a turn without the secrets in its words."""
    return replace(turn.unmarked, content=mask_found(turn.content, scan_turn(turn, heard=heard)))


def scan_part(turn: Turn, words: str, *, answering: str | None = None) -> PiiScan:
    """Return what was found in some words of a turn when it was read; until then what rules find in them."""
    if not isinstance(turn.private, tuple):
        return scan_text(words, answering)
    located = [one for one in turn.private if one.is_located]
    found = [*relocate(located, turn.content, words), *_cut_through(turn, words, located)]
    if len(located) == len(turn.private) and words in turn.content:
        return PiiScan.of(found)
    return PiiScan.of([*found, *scan_text(words, answering).findings])  # of some the place is not known


def _cut_through(turn: Turn, words: str, spans: Sequence[PiiSpan]) -> Iterator[PiiSpan]:
    """Yield the parts of findings that stand in some words of a turn, wherever in it these stand."""
    in_order = sorted(spans)
    starts = [one.start for one in in_order]
    reached = list(accumulate((one.end for one in in_order), max))
    start = turn.content.find(words)
    while start >= 0 and spans and words:
        end = start + len(words)
        for one in in_order[bisect_right(reached, start) : bisect_left(starts, end)]:
            if start < one.end:
                yield PiiSpan(max(one.start - start, 0), min(one.end, end) - start, one.kind)
        start = turn.content.find(words, start + 1)


def mask_part(turn: Turn, words: str, *, answering: str | None = None) -> str:
    """Return some words of a turn without the secrets in them."""
    return mask_found(words, scan_part(turn, words, answering=answering))


def mask_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns, oldest first, without secrets, also those that only a question before gives away."""
    shown: list[Turn] = []
    heard: dict[tuple[Any, str | None], list[str]] = {}
    for turn in turns:
        said = heard.setdefault((turn.scope, turn.session), [])
        changes = {
            "content": mask_turn(turn, heard=said).content,
            "private": UNSET,
            "speaker": turn.speaker and mask_secrets(turn.speaker),
            "session": turn.session and mask_session(turn.session),
        }
        is_same = all(getattr(turn, name) == words for name, words in changes.items())
        shown.append(turn if is_same else replace(turn, **changes))
        if turn.role in (Role.USER, Role.ASSISTANT):
            said.append(turn.content)
    return shown
