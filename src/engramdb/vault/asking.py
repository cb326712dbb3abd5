"""
Choose the secret that a question asks for, and show that one alone.

Each is compared by its words and those of the message that it is from. None may be meant: who asks for the
alarm code of a house without one is not shown the PIN of the bank.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from engramdb.text.pii import CONFIDENTIAL, PiiScan
from engramdb.text.terms import query_terms
from engramdb.values.memory import Memory, MemoryId, SecurityTier
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.vault.masking import mask_found, mask_memory, scan_memory
from engramdb.vault.questions import (
    CREDENTIALS,
    NAMES_OF_KIND,
    AskedSecret,
    asked_secret,
    named_secrets,
    owners_in,
    plain_words,
    secret_names,
)

SHOWN_FROM: Final = 0.3
"""The chance from which a secret is taken for the one that is meant."""
OF_SHARE: Final = 7.0
"""What it counts how much of the question a message says,"""
OF_KIND: Final = 5.0
"""that it holds another kind of secret,"""
OF_NONE: Final = 5.0
"""and that none of them may be meant. Fitted on questions by other hands (docs/lab/0063-guard-model.md)."""
ENOUGH: Final = 2.0
"""Words that only one message says: so much of a long question is all that has to be said."""
OTHER_NAME_COUNTS: Final = 0.3
"""What a name counts that a secret of the kind does not have, where the question says more than its name."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class _Candidate(NamedTuple):
    """What may be meant by a question."""

    memory: Memory
    words: frozenset[str]
    """What its own sentence says,"""
    lent: frozenset[str]
    """and what only its message does."""
    is_other_kind: bool
    is_named: bool
    """Whether anything calls it what it is."""

    def says(self, word: str, asked: AskedSecret) -> float:
        """Return how far it says a word of a question, from 0 to 1."""
        if word in self.words or word in self.lent:
            return 1.0
        is_named_so = word in asked.names and self.is_named and not self.is_other_kind
        return (OTHER_NAME_COUNTS if asked.words else 1.0) * is_named_so


def secrets_asked_for(
    question: str,
    memories: Sequence[Memory],
    *,
    messages: Mapping[MemoryId, str] | None = None,
) -> frozenset[MemoryId]:
    """
    Return which confidential memories hold the very secret that a question asks for.

    `messages` are those that the memories are from, without secrets: what a number is for often stands in
    another sentence than the number.
    """
    asked = asked_secret(question)
    held = [one for one in memories if one.security is SecurityTier.CONFIDENTIAL]
    if asked is None or not held:
        return frozenset()
    known = messages or {}
    found = (_candidate(asked, one, known.get(one.id, "")) for one in held)
    candidates = [one for one in found if one is not None]
    if not candidates:
        return frozenset()
    chances = _chances(asked, candidates)
    values = [secrets_of(one.memory) for one in candidates]
    best = values[max(range(len(chances)), key=chances.__getitem__)]
    is_same = [bool(best & one) for one in values]  # told twice, it is one secret
    rival = max((one for one, same in zip(chances, is_same, strict=True) if not same), default=0.0)
    meant = sum(one for one, same in zip(chances, is_same, strict=True) if same)
    if meant < SHOWN_FROM or rival >= SHOWN_FROM:  # none is, or nobody can tell which
        return frozenset()
    return frozenset(one.memory.id for one, same in zip(candidates, is_same, strict=True) if same)


def _candidate(asked: AskedSecret, memory: Memory, message: str) -> _Candidate | None:
    """Return a secret as what may be meant, or None where it is somebody else's or nothing calls it so."""
    shown = mask_memory(memory)
    own, message = plain_words(_said(shown)), plain_words(" ".join((message, *shown.refers_to)))
    words = frozenset(query_terms(f"{own} {plain_words(shown.provenance.speaker or '')}"))
    lent = frozenset(query_terms(message)) - words
    if _is_anothers(asked, own, words) or not (asked.owners <= words | lent):
        return None
    names = {one.kind for one in named_secrets(own)[0]} or {one.kind for one in named_secrets(message)[0]}
    found = scan_memory(memory).kinds & CONFIDENTIAL
    if not asked.words and not names and found <= {PiiKind.CREDENTIAL}:
        return None  # what nothing calls by a name is no PIN because somebody asks for one
    kinds = _kinds(found, names)
    return _Candidate(
        memory=memory,
        words=words,
        lent=lent,
        is_other_kind=not asked.kinds & (kinds | names),
        is_named=bool(names) or len(kinds) == 1,
    )


def _kinds(found: Collection[PiiKind], named: Collection[str]) -> frozenset[str]:
    """Return what a secret may be called: by what was found, and by what the words around it call it."""
    possible = [NAMES_OF_KIND[kind] for kind in found if kind in NAMES_OF_KIND]
    if not possible:
        return frozenset(named) or CREDENTIALS
    return frozenset(kind for kinds in possible for kind in (kinds.intersection(named) or kinds))


def _chances(asked: AskedSecret, candidates: Sequence[_Candidate]) -> list[float]:
    """Return for each candidate the chance that it is meant; the rest is that none is."""
    rarity = _rarity(candidates)
    wanted = asked.words | asked.names
    whole = min(sum(map(rarity, wanted)), ENOUGH * math.log1p(len(candidates))) or 1.0
    shares = [sum(one.says(word, asked) * rarity(word) for word in wanted) / whole for one in candidates]
    scores = [
        OF_SHARE * share - OF_KIND * one.is_other_kind for share, one in zip(shares, candidates, strict=True)
    ]
    highest = max(*scores, OF_NONE)
    powers = [math.exp(score - highest) for score in (*scores, OF_NONE)]
    return [power / sum(powers) for power in powers[:-1]]


def _rarity(candidates: Sequence[_Candidate]) -> Callable[[str], float]:
    """Return what a word counts: the more, the fewer of the candidates say it."""
    counts = Counter(word for one in candidates for word in one.words | one.lent)
    return lambda word: math.log1p(len(candidates) / max(1, counts[word]))


def secrets_of(memory: Memory) -> frozenset[str]:
    """Return the secrets of a memory; one whose place nobody knows is like no other."""
    spans = [one for one in scan_memory(memory).spans if one.kind in CONFIDENTIAL]
    values = frozenset(memory.content[one.start : one.end].casefold() for one in spans)
    return values or frozenset({memory.id})


def _said(shown: Memory) -> str:
    return " ".join(part for part in (shown.content, shown.answers, shown.statement) if part)


def _is_anothers(asked: AskedSecret, own: str, words: Collection[str]) -> bool:
    """Return whether a secret is said to be another's: Nora's for "my", or "my" for Nora's."""
    is_mine = secret_names().own.search(own) is not None
    if asked.owners:
        return is_mine and not asked.owners.intersection(words)
    return (asked.is_own or not asked.words) and not is_mine and bool(owners_in(own) - asked.words)


def shown_to(question: str, memory: Memory) -> Memory:
    """Return a memory with the secret that a question asks for; of several in it, those that fit best."""
    found = scan_memory(memory)
    secrets = [one for one in found.spans if one.kind in CONFIDENTIAL]
    asked = asked_secret(question)
    if (
        asked is None
        or not secrets
        or any(one.kind in CONFIDENTIAL for one in found.findings if not one.is_located)
    ):
        return memory.unmarked
    groups = list(_groups(memory.content, secrets))
    fits = [_fit_of_part(asked, words) for words, _ in groups]
    hidden = [span for fit, (_, spans) in zip(fits, groups, strict=True) if fit < max(fits) for span in spans]
    if not hidden:
        return memory.unmarked
    return mask_memory(memory).evolve(content=mask_found(memory.content, PiiScan.of(hidden)))


def _groups(content: str, secrets: Sequence[PiiSpan]) -> Iterator[tuple[str, list[PiiSpan]]]:
    """Yield the words before each secret of a text, and its parts: no word stands between those."""
    begin, parts = 0, [secrets[0]]
    for one in secrets[1:]:
        between = content[parts[-1].end : one.start]
        if _WORD.search(between):
            yield content[begin : parts[0].start], parts
            begin, parts = parts[-1].end, [one]
        else:
            parts.append(one)
    yield content[begin : parts[0].start], parts


def _fit_of_part(asked: AskedSecret, words: str) -> tuple[bool, int]:
    """Return whether words name a secret of the kind that is asked for, and how much they say of it."""
    plain = plain_words(words)
    is_alike = any(one.kind in asked.kinds for one in named_secrets(plain)[0])
    return is_alike, len((asked.words | asked.names) & set(query_terms(plain)))
