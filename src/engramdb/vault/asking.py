"""
Choose the secret that a question asks for, and show that one alone.

Each value is compared by the words of its own sentence and, where those do not say what it is for, by those
of the message that it is from. None may be meant: who asks for the alarm code of a house without one is not
shown the PIN of the bank.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from engramdb.text.pii import CONCEALED, CONFIDENTIAL, PiiScan
from engramdb.text.terms import query_terms
from engramdb.values.memory import Memory, MemoryId, SecurityTier
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.vault.masking import mask_found, mask_memory, scan_memory
from engramdb.vault.questions import (
    CREDENTIALS,
    NAMES_OF_KIND,
    AskedSecret,
    asked_secret,
    is_someone_elses,
    is_the_speakers,
    named_secrets,
    owners_in,
    plain_words,
    tells_which,
    words_of_names,
)

SHOWN_FROM: Final = 0.3
"""The chance from which a secret is taken for the one that is meant."""
SHARE_WEIGHT: Final = 7.0
"""How much it speaks for a secret that all words of the question are said of it."""
OTHER_KIND_PENALTY: Final = 5.0
"""How much it speaks against one that it is of another kind."""
NONE_MEANT: Final = 5.0
"""What speaks for none of them. All three are fitted on questions by other hands (docs/lab/0063)."""
ENOUGH_WORDS: Final = 1.5
"""So many words that only one secret says are enough of a long question, beside names and proper names."""
FEW: Final = 8
"""Among fewer secrets than these, a word that only one says tells little."""
PROPER_COUNTS: Final = 3.0
"""What a proper name counts beside another word: who asks for the code in Oslo means none in Kiel."""
OTHER_NAME_COUNTS: Final = 0.3
"""What a name counts that is not said of a secret that may have it,"""
ONLY_NAME_COUNTS: Final = 0.8
"""and where the question is nothing but that name: "my SSN" for "my social security number"."""
_MASK_WORDS: Final = frozenset(query_terms(CONCEALED))
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BREAK = re.compile(r"[,;.!?\n]|\b(?:and|but|und|aber|y|et|e|en|och|i)\b", re.IGNORECASE)


class _Candidate(NamedTuple):
    """A value that may be meant by a question."""

    memory_id: MemoryId
    value: frozenset[str]
    words: frozenset[str]
    """What is said of it."""
    is_other_kind: bool
    is_named: bool
    """Whether anything calls it what it is."""

    def says(self, word: str, asked: AskedSecret) -> float:
        """Return how far it says a word of a question, from 0 to 1."""
        if word in self.words:
            return 1.0
        if word not in asked.names or self.is_other_kind:
            return 0.0
        if not asked.words:
            return ONLY_NAME_COUNTS * self.is_named
        return OTHER_NAME_COUNTS


def secrets_asked_for(
    question: str, memories: Sequence[Memory], *, messages: Mapping[MemoryId, str] | None = None
) -> dict[MemoryId, frozenset[str]]:
    """
    Return which confidential memories hold the very secret that a question asks for, and its values in each.

    `messages` are those that the memories are from, without secrets: what a number is for often stands in
    another sentence than the number.
    """
    asked = asked_secret(question)
    if asked is None:
        return {}
    known = messages or {}
    candidates = [
        candidate
        for one in memories
        if one.security is SecurityTier.CONFIDENTIAL
        for candidate in _candidates(asked, one, known.get(one.id, ""))
    ]
    if not candidates:
        return {}
    chances = _chances(asked, candidates)
    best = candidates[max(range(len(chances)), key=chances.__getitem__)].value
    meant = sum(chance for one, chance in zip(candidates, chances, strict=True) if one.value == best)
    rivals = [chance for one, chance in zip(candidates, chances, strict=True) if one.value != best]
    if meant < SHOWN_FROM or max(rivals, default=0.0) >= SHOWN_FROM:  # none is, or nobody can tell which
        return {}
    return {one.memory_id: best for one in candidates if one.value == best}


def shown_with(memory: Memory, values: frozenset[str]) -> Memory:
    """Return a memory with some of its secrets, and the others masked."""
    parts = _parts(memory)
    hidden = [span for value, _, spans in parts if value != values for span in spans]
    if not hidden:
        return memory.unmarked
    return mask_memory(memory).evolve(content=mask_found(memory.content, PiiScan.of(hidden)))


def secrets_of(memory: Memory) -> frozenset[str]:
    """Return the values of the secrets in a memory."""
    return frozenset(one for values, _, _ in _parts(memory) for one in values)


def _parts(memory: Memory) -> list[tuple[frozenset[str], str, list[PiiSpan]]]:
    """
    Return the values of a memory, each with the words that are said of it, and where it stands.

    Between two values the last mark or "and" divides. A value of which nobody knows where it stands is like
    no other, and has all words.
    """
    content = memory.content
    found = scan_memory(memory)
    spans = [one for one in found.spans if one.kind in CONFIDENTIAL]
    if not spans or any(one.kind in CONFIDENTIAL for one in found.findings if not one.is_located):
        return [(frozenset({memory.id}), content, [])]
    groups = list(_groups(content, spans))
    parts, begin = [], 0
    for place, group in enumerate(groups):
        following = groups[place + 1][0].start if place + 1 < len(groups) else len(content)
        end = following
        if place + 1 < len(groups):
            breaks = [one.start() for one in _BREAK.finditer(content, group[-1].end, following)]
            end = breaks[-1] if breaks else group[-1].end
        outside = "".join(
            content[start:stop]
            for start, stop in zip(
                (begin, *(one.end for one in group)), (*(one.start for one in group), end), strict=True
            )
        )
        values = frozenset(content[one.start : one.end].casefold() for one in group)
        parts.append((values, outside, group))
        begin = end
    return parts


def _groups(content: str, spans: Sequence[PiiSpan]) -> Iterator[list[PiiSpan]]:
    """Yield values that are one secret: no word stands between their parts."""
    group = [spans[0]]
    for one in spans[1:]:
        if _WORD.search(content, group[-1].end, one.start):
            yield group
            group = [one]
        else:
            group.append(one)
    yield group


def _candidates(asked: AskedSecret, memory: Memory, message: str) -> Iterator[_Candidate]:
    """Yield the secrets of a memory that may be meant: none that is somebody else's."""
    shown = mask_memory(memory)
    whole = " ".join(filter(None, (shown.content, shown.answers, shown.statement)))
    speaker = shown.provenance.speaker or ""
    parts = _parts(memory)
    lent = plain_words(" ".join((message, *shown.refers_to)))
    names_said = _kinds_named(plain_words(whole)) or _kinds_named(lent)
    found = scan_memory(memory).kinds & CONFIDENTIAL
    for value, outside, _ in parts:
        own = whole if len(parts) == 1 else outside
        said = plain_words(own)
        of_own = frozenset(query_terms(f"{said} {plain_words(speaker)}"))
        if _BREAK.match(own.lstrip()) and not _kinds_named(said):  # "Nora's bank PIN is …, Tom's is …"
            of_own |= words_of_names(plain_words(whole))
        is_vague = len(parts) == 1 and not tells_which(said) and not is_the_speakers(own)
        words = of_own | frozenset(query_terms(lent)) if is_vague else of_own
        if asked.owners - words or _is_anothers(asked, own, speaker):
            continue
        names = _kinds_named(said) or names_said
        if not asked.words and not names and found <= {PiiKind.CREDENTIAL}:
            continue  # what nothing calls by a name is no PIN because somebody asks for one
        kinds = _kinds(found, names)
        yield _Candidate(
            memory_id=memory.id,
            value=value,
            words=words - _MASK_WORDS,
            is_other_kind=not asked.kinds & (kinds | names),
            is_named=bool(names) or len(kinds) == 1,
        )


def _kinds_named(said: str) -> frozenset[str]:
    return frozenset(one.kind for one in named_secrets(said)[0])


def _kinds(found: Collection[PiiKind], named: Collection[str]) -> frozenset[str]:
    """Return what a secret may be called: by what was found, and by what the words around it call it."""
    possible = [NAMES_OF_KIND[kind] for kind in found if kind in NAMES_OF_KIND]
    if not possible:
        return frozenset(named) or CREDENTIALS
    return frozenset(kind for kinds in possible for kind in (kinds.intersection(named) or kinds))


def _is_anothers(asked: AskedSecret, own: str, speaker: str) -> bool:
    """Return whether a secret is said to be another's: Nora's for "my", or "my" for Nora's."""
    if asked.owners:
        told_by_owner = asked.owners <= set(query_terms(plain_words(speaker)))
        return not told_by_owner and is_the_speakers(own) and not (asked.owners & owners_in(own))
    if asked.is_own and speaker:  # whose "my" that is, is known; who asks is not
        return True
    is_open = asked.is_own or not asked.words
    return is_open and is_someone_elses(own) and not (owners_in(own) and owners_in(own) <= asked.words)


def _chances(asked: AskedSecret, candidates: Sequence[_Candidate]) -> list[float]:
    """Return for each candidate the chance that it is meant; the rest is that none is."""
    rarity = _rarity(candidates)
    must = {word: rarity(word) for word in asked.names}
    must |= {word: PROPER_COUNTS * rarity(word) for word in asked.proper}
    may = {word: rarity(word) for word in asked.words - must.keys()}
    rarest = math.log1p(max(len(candidates), FEW))
    enough = min(sum(may.values()), ENOUGH_WORDS * rarest)
    whole = sum(must.values()) + enough or 1.0
    scores = []
    for one in candidates:
        said = sum(one.says(word, asked) * weight for word, weight in must.items())
        said += min(enough, sum(one.says(word, asked) * weight for word, weight in may.items()))
        scores.append(SHARE_WEIGHT * said / whole - OTHER_KIND_PENALTY * one.is_other_kind)
    highest = max(*scores, NONE_MEANT)
    powers = [math.exp(score - highest) for score in (*scores, NONE_MEANT)]
    return [power / sum(powers) for power in powers[:-1]]


def _rarity(candidates: Sequence[_Candidate]) -> Callable[[str], float]:
    """Return what a word counts: the more, the fewer of the candidates say it."""
    counts = Counter(word for one in candidates for word in one.words)
    return lambda word: math.log1p(len(candidates) / max(1, counts[word]))
