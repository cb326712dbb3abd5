"""What is already known near a new statement: neighbors, and echoes of what was recalled."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engramdb.lifecycle.access_log import ECHO_HOURS
from engramdb.lifecycle.candidates import Candidate
from engramdb.lifecycle.pair_rules import (
    ComparesStatements,
    is_negation,
    may_settle,
    same_specifics,
    understood,
)
from engramdb.lifecycle.settle import SURPRISE_NEIGHBORS, Neighbor
from engramdb.models.reader import Utterance
from engramdb.policy import CapturePolicy
from engramdb.store.contract import ScoredKey, Transaction
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.terms import query_terms, terms
from engramdb.values import Filters, Memory, Scope, SecurityTier, Source
from engramdb.values.reading import PairJudgment

ECHO_ABOVE = 0.70
"""An agent's statement this much like what it was just given is an echo, and no news."""

_MOST_HANDED_OUT = 200
_FRAME = """
as I recall remember, you told me said mentioned stated noted earlier before previously that, according to my
memory memories notes, from what I know, I have it in mind, just to remind you, a reminder, for the record
"""
"""How a quotation is led in. Other words beside it are news."""
_TURNING = lazy(
    r"\b(?:if|unless|until|till|when|whenever|while|before|after|only|except|maybe|perhaps|might|may|could|"
    r"would|should|doubts?|denie[sd]|false|untrue|wrong|used to|wenn|falls|bis|nur|si|sauf|solo|если)\b"
)
"""Words in whose company a statement is not held to be true, or not always."""
_CUT = lazy(r"[^\W\u2e80-\uffff]\0[^\W\u2e80-\uffff]|\d[.,:/-]\0\d|\d\0[.,:/-]\d")
"""A cut, shown as NUL, through a word or a number; scripts without spaces may be cut anywhere."""


def echoes(tx: Transaction, memory: Memory, likeness: ComparesStatements, *, now: datetime) -> Memory | None:
    """Return what an assistant's statement repeats or quotes of what readers in its scope were just given."""
    if memory.provenance.source is not Source.ASSISTANT:
        return None
    since = now - timedelta(hours=ECHO_HOURS)
    given = tx.handed_out.since(since, scope=memory.scope, limit=_MOST_HANDED_OUT)
    said = normalize_text(memory.told)
    for known in given:
        if _quotes(said, normalize_text(known.told)):
            return known
    alike = likeness.between(memory.told, [known.told for known in given])
    mine = understood(memory)
    turns = _turns(said)
    pairs = (known for known, value in zip(given, alike, strict=True) if value > ECHO_ABOVE)
    same = (known for known in pairs if _turns(normalize_text(known.told)) == turns)
    return next((known for known in same if same_specifics(mine, understood(known), likeness)), None)


def _quotes(said: str, known: str) -> bool:
    """
    Return whether one is part of the other, and what was said adds only how a quotation is led in.

    A part of what is known is no quotation where the rest of it turns it round or sets a condition.
    """
    rest = _around(said, known)
    if rest is not None:
        return not is_negation(rest) and not _turns(rest)
    added = _around(known, said)
    return added is not None and set(terms(added)) <= _led_in()


def _turns(text: str) -> set[str]:
    """Return the words that keep a text from being held to be true as it stands."""
    return set(_TURNING.findall(text))


def _around(part: str, whole: str) -> str | None:
    """Return what stands around a part, where it stands in whole words and numbers: 1 is no part of 10."""
    before, found, after = whole.partition(part)
    if not found or _CUT.search(f"{before[-2:]}\0{part[:1]}") or _CUT.search(f"{part[-1:]}\0{after[:2]}"):
        return None
    return f"{before} {after}"


@cache
def _led_in() -> frozenset[str]:
    return frozenset(terms(_FRAME))


_MOST_RELATED = 20
_MOST_REPLACED = 10


class ComparesPairs(Protocol):
    """The part of likeness that gathering needs."""

    def pairwise(self, statements: Sequence[str], others: Sequence[str]) -> list[float]: ...


class FindsByWords(Protocol):
    """The part of the lexical index that gathering needs."""

    def search(
        self, tx: Transaction, text: str, *, scope: Scope, filters: Filters, limit: int
    ) -> list[ScoredKey]: ...


class NeighborIndex(Protocol):
    """The part of the vector index that the write pipeline needs."""

    def neighbors(
        self, tx: Transaction, vectors: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[list[ScoredKey]]: ...


def gather(
    tx: Transaction,
    candidates: Mapping[int, Candidate],
    vectors: Mapping[int, NDArray[np.float32]],
    *,
    index: NeighborIndex,
    floor: float,
    likeness: ComparesPairs,
    words: FindsByWords | None = None,
    reach: int = 1,
) -> tuple[dict[int, list[Neighbor]], dict[int, int]]:
    """
    Return each candidate's neighbors by its place, and how many of the nearest were too far to look at.

    A cosine below the `floor` is as far as any: reading such a memory would cost time and decide nothing.
    For a judge, which reads what it is given, those count that share rare `words`, and the nearest however
    far they are: what ends a fact need not sound like it (docs/lab/0044-beliefs.md). With `reach`, so many
    times as many are found, where the caller will leave some out.
    """
    floor, limit = (-1.0, reach * MAX_NEAREST) if words is not None else (floor, SURPRISE_NEIGHBORS)
    nearest = _nearest(tx, candidates, vectors, index, limit=limit)
    keys = {place: [one.key for one in found if one.score >= floor] for place, found in nearest.items()}
    far = {place: len(found) - len(keys[place]) for place, found in nearest.items()}
    for place, candidate in candidates.items():
        most = reach * MAX_SHARING_WORDS
        found_by_words = _sharing_words(tx, candidate, words, most=most) if words is not None else []
        keys[place] = [*_in_turns(found_by_words, keys.get(place, [])), *_structured(tx, candidate)]
    own = _of_own_scope(tx, candidates, keys)
    alike = likeness.pairwise(
        [candidates[place].memory.told for place, _ in own], [memory.told for _, memory in own]
    )
    found: dict[int, list[Neighbor]] = {place: [] for place in keys}
    for (place, memory), similarity in zip(own, alike, strict=True):
        found[place].append(Neighbor(memory, similarity))
    return found, far


def _of_own_scope(
    tx: Transaction, candidates: Mapping[int, Candidate], keys: Mapping[int, Sequence[int]]
) -> list[tuple[int, Memory]]:
    """Return each candidate's place with each memory of its keys that lives in exactly its scope."""
    memories = tx.memories.by_keys(sorted({key for each in keys.values() for key in each}))
    homes: defaultdict[Scope, dict[int, Memory]] = defaultdict(dict)
    for key, memory in memories.items():
        if may_settle(memory):
            homes[memory.scope][key] = memory
    found: list[tuple[int, Memory]] = []
    for place, each in keys.items():
        home = homes[candidates[place].memory.scope]
        # The index may already know what this snapshot does not: such a neighbor is left out.
        found += [(place, home[key]) for key in dict.fromkeys(each) if key in home]
    return found


class JudgesPairs(Protocol):
    """The part of a judge that settling needs; see `models.reader.Judge`."""

    @property
    def name(self) -> str: ...
    @property
    def is_remote(self) -> bool: ...
    def relate(
        self, newer: Utterance, older: Sequence[Utterance], *, seconds: float | None = None
    ) -> list[PairJudgment | None]: ...
    def rests_on(self, question: str, changes: Sequence[tuple[str, str]]) -> list[bool] | None: ...
    def makes_doubtful(self, change: tuple[str, str], statements: Sequence[str]) -> list[bool] | None: ...


MAX_NEAREST = 8
"""How many of the nearest a judge is shown,"""
MAX_SHARING_WORDS = 6
"""how many of those that share rare words,"""
MAX_JUDGED = 16
"""and how many in all: 130 ms of a pack's time, mostly after the write."""


def ask_judge(
    memory: Memory,
    neighbors: Sequence[Neighbor],
    judge: JudgesPairs,
    policy: CapturePolicy,
    *,
    seconds: float | None = None,
) -> tuple[list[Neighbor], bool]:
    """
    Return the neighbors with what the judge says of the first, and whether it got through with them.

    They are judged in their order, the nearest first; with `seconds` the rest is left for later when the time
    is up. What is confidential is never given to a judge that is asked over the network.
    """
    close = [one for one in neighbors if _may_judge(memory, one, judge, policy)][:MAX_JUDGED]
    if not close:
        return list(neighbors), True
    said = judge.relate(as_utterance(memory), [as_utterance(one.memory) for one in close], seconds=seconds)
    found = {one.memory.id: judgment for one, judgment in zip(close, said, strict=False)}
    return [replace(one, judgment=found.get(one.memory.id)) for one in neighbors], len(said) == len(close)


def _may_judge(memory: Memory, near: Neighbor, judge: JudgesPairs, policy: CapturePolicy) -> bool:
    """Return whether two statements are by one speaker and may be shown to the judge."""
    is_secret = SecurityTier.CONFIDENTIAL in (memory.security, near.memory.security)
    is_by_one = memory.provenance.speaker == near.memory.provenance.speaker
    return policy.conflict_above < 1 and is_by_one and not (is_secret and judge.is_remote)


def as_utterance(memory: Memory) -> Utterance:
    """Return a memory as a judge takes it: its words and who said them."""
    source = memory.provenance.source
    by = memory.provenance.speaker or ("assistant" if source is Source.ASSISTANT else "user")
    return Utterance(memory.content, by)


def _nearest(
    tx: Transaction,
    candidates: Mapping[int, Candidate],
    vectors: Mapping[int, NDArray[np.float32]],
    index: NeighborIndex,
    *,
    limit: int,
) -> dict[int, list[ScoredKey]]:
    """Return the nearest memories by vector, scope by scope, so that many are looked up in one pass."""
    places: defaultdict[Scope, list[int]] = defaultdict(list)
    for place in vectors:
        places[candidates[place].memory.scope].append(place)
    found: dict[int, list[ScoredKey]] = {}
    for scope, wanted in places.items():
        rows = np.stack([vectors[place] for place in wanted])
        answers = index.neighbors(tx, rows, scope=scope, limit=limit)
        found.update(zip(wanted, answers, strict=True))
    return found


def _in_turns(first: Sequence[int], second: Sequence[int]) -> Iterator[int]:
    """Yield one of each in turn, so that the first few hold the best of both."""
    for pair in itertools.zip_longest(first, second):
        yield from (key for key in pair if key is not None)


def _sharing_words(tx: Transaction, candidate: Candidate, words: FindsByWords, *, most: int) -> list[int]:
    """Return the memories that share most words with a statement, rare ones counting for more."""
    memory = candidate.memory
    found = words.search(tx, memory.content, scope=memory.scope, filters=Filters(), limit=most + 1)
    return [one.key for one in found]


def _structured(tx: Transaction, candidate: Candidate) -> list[int]:
    """Return memories with the same relation, and those that name what the statement replaces."""
    memory, keys = candidate.memory, []
    if memory.predicate is not None:
        keys += tx.memories.with_predicate(memory.predicate, scope=memory.scope, limit=_MOST_RELATED)
    if memory.replaces is not None:
        weights = dict.fromkeys(query_terms(memory.replaces), 1.0)
        if weights:
            found = tx.terms.search(weights, scope=memory.scope, filters=Filters(), limit=_MOST_REPLACED)
            keys += [one.key for one in found]
    return keys
