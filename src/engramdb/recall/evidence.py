"""Evidence for reasoning: what to ask next, whether it is enough, and a model that keeps to its budget."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from engramdb.errors import ChatError
from engramdb.models.chat import ChatModel, ChatPrompt, ChatReply
from engramdb.text.mentions import mentions
from engramdb.text.normalize import is_like_a_sentence, lazy
from engramdb.text.sentences import sentences
from engramdb.text.terms import query_terms
from engramdb.values import Hit, Judgment, Memory, ModelCall, Origin, Sufficiency
from engramdb.vault.indexing import index_terms, open_memory

# A call is made only when the most that it can cost still fits; then what it did cost is counted. A text of n
# bytes never has more than n/2 tokens in the vocabularies in use (English has n/4.4), so a prompt is never
# dearer than its reservation.

LEAST_REPLY_TOKENS = 64
"""A reply that may be no longer than less is not worth asking for."""
FRAME_TOKENS = 32
"""What a server puts around a prompt: roles and separators."""


class BudgetSpent(Exception):
    """A call would not fit into what is left; the message says of what."""


class BudgetedModel:
    """A chat model that makes no call which its budget might not cover."""

    def __init__(self, model: ChatModel, *, calls: int, tokens: int) -> None:
        self._model = model
        self._waiting: list[ModelCall] = []
        self.most_calls = calls
        self.most_tokens = tokens
        self.calls_left = calls
        self.tokens_left = tokens

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._model.name

    def room(self, prompt: ChatPrompt) -> int:
        """Return how many bytes could be added to a prompt that leaves its reply the tokens that it wants."""
        return 2 * (self.tokens_left - _most_tokens(prompt) - prompt.max_tokens)

    def complete(self, prompt: ChatPrompt) -> ChatReply:
        """Return the model's reply, cut to what is left; raises `BudgetSpent` before the model is asked."""
        if self.calls_left < 1:
            raise BudgetSpent("calls")
        reserved = _most_tokens(prompt)
        most = min(prompt.max_tokens, self.tokens_left - reserved)
        if most < min(LEAST_REPLY_TOKENS, prompt.max_tokens):
            raise BudgetSpent("tokens")
        self.calls_left -= 1
        try:
            reply = self._model.complete(replace(prompt, max_tokens=most))
        except ChatError as exc:
            self.tokens_left -= reserved
            self._note(prompt, ModelCall(purpose="", model="", input_tokens=reserved, failure=exc.code))
            raise
        self._note(
            prompt,
            ModelCall(
                purpose="",
                model="",
                input_tokens=reply.input_tokens or reserved,
                output_tokens=reply.output_tokens or min(most, len(reply.text.encode()) // 2 + 1),
                milliseconds=reply.milliseconds,
            ),
        )
        last = self._waiting[-1]
        self.tokens_left -= last.input_tokens + last.output_tokens
        return reply

    def take_calls(self) -> tuple[ModelCall, ...]:
        """Return the calls since the last time, for the step of the tree that they belong to."""
        taken, self._waiting = tuple(self._waiting), []
        return taken

    def _note(self, prompt: ChatPrompt, call: ModelCall) -> None:
        self._waiting.append(replace(call, purpose=prompt.name, model=self.name))


def _most_tokens(prompt: ChatPrompt) -> int:
    return len((prompt.system + prompt.user).encode("utf-8", "replace")) // 2 + 1 + FRAME_TOKENS


# Rules for reasoning without a model: pure functions of a question and its hits. A rule follows only what it
# can point at: the clauses and names of the question, and names that a found memory gives. It never makes up
# an answer. What this is worth and what not: docs/lab/0024-dream.md.

MOST_PARTS = 3
"""Questions that one question may lead to; each costs a recall, and with a model a call."""
LEADS_FROM = 3
"""How many of the best memories are read for a name that a question only describes."""
ENOUGH_SHARE = 0.99
"""A memory with this share of the words that matter answers the question as far as words can tell."""
ROOT_FIRST = 3
"""So many memories found by the question itself stand before those that its parts found."""
PER_CHILD = 2
"""So many memories of one follow-up question are moved forward."""

_CLAUSES = lazy(r"\s+(?:and|because|but|while|whereas|so that)\s+|\s*;\s*", 2)
_HINGES = lazy(r"\s+(?:before|after|since|until|while|when)\s+", 2)
_JOINT = lazy(r"\s*(?:,|and|or|&|,\s*and)\s*", 2)
_BOTH = lazy(r"\bboth\s+", 2)
_OWNED = lazy(r"['’]s?\s+[^\W\d_]+")
_OPENING = lazy(r"\b(?:the|a|an|who(?:ever|mever)?|his|her|their|my|our)\b", 2)
_RELATION = lazy(r"\b(?:of|who|whom|that|which|for|at|in|by|from|whoever)\b", 2)


def judge(question: str, hits: Sequence[Hit], *, least_relevance: float) -> tuple[Judgment, Origin]:
    """Return whether these memories are enough as far as words can tell, and what to ask if they are not."""
    fitting = [hit for hit in hits if hit.trust.relevance >= least_relevance]
    wanted = set(query_terms(question))
    best = max((len(wanted & _terms(hit.memory)) for hit in fitting), default=0)
    seen = f"the best memory has {best} of {len(wanted)} words that matter"
    if best and best >= ENOUGH_SHARE * len(wanted):
        return Judgment(sufficiency=Sufficiency.SUFFICIENT, why=seen), Origin.ASKED
    if parts := parts_of(question):
        why = f"it holds {len(parts)} questions, and {seen}"
        return Judgment(sufficiency=Sufficiency.BROAD, why=why, asks=tuple(parts)), Origin.PART
    leads = leads_from(question, fitting)
    why = seen if fitting else "nothing that is stored fits"
    if not leads:
        why += "; nothing in it leads on"
    return Judgment(sufficiency=Sufficiency.GAPS, why=why, asks=tuple(leads)), Origin.LEAD


def parts_of(question: str) -> list[str]:
    """Return the questions that a question holds: its sentences, names that it joins, clauses; or none."""
    found = sentences(question)
    if len(found) <= 1:
        found = _joined_parts(question) if is_like_a_sentence(question) else []
    return list(_distinct(found, besides=question))[:MOST_PARTS]


def _joined_parts(question: str) -> list[str]:
    return [*_for_each_name(question)] or _clauses(question)


def leads_from(question: str, hits: Sequence[Hit]) -> list[str]:
    """
    Return the question with what it only describes put by name, where a memory gives one.

    Of "where does the lead of Falcon live?" and a memory that Anna leads Falcon this makes "where does Anna
    live?". Memories must hold the name within the description; those that share more of it are read first.
    """
    asked_names = {term for mention in mentions(question) for term in query_terms(mention.text)}
    found = []
    for start, end, anchor in _descriptions(question):
        described = set(query_terms(question[start:end]))
        anchored = [hit for hit in hits if anchor <= _terms(hit.memory)]
        anchored.sort(key=lambda hit: -len(described & _terms(hit.memory)))
        for hit in anchored[:LEADS_FROM]:
            names = [mention.text for mention in mentions(open_memory(hit.memory).content)]
            new = [name for name in names if not asked_names & set(query_terms(name))]
            found += [f"{question[:start]}{name}{question[end:]}" for name in new]
    return list(_distinct(found, besides=question))[:MOST_PARTS]


def gathered(root: Sequence[Hit], followed: Sequence[tuple[str, Sequence[Hit]]], *, limit: int) -> list[Hit]:
    """
    Return the evidence of a whole tree, best first, each memory once.

    What the question itself found comes first; what a follow-up found is moved forward where it states what
    that asked for, and otherwise fills up the end.
    """
    forward = [_stating(question, hits) for question, hits in followed]
    rest = (hits for _, hits in followed)
    ordered = [*root[:ROOT_FIRST], *_in_turns(forward), *root[ROOT_FIRST:], *_in_turns(rest)]
    first_seen: dict[str, Hit] = {}
    for hit in ordered:
        first_seen.setdefault(hit.memory.id, hit)
    return list(first_seen.values())[:limit]


def _stating(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that name all that the question names, those with another word of it before others."""
    names = {term for mention in mentions(question) for term in query_terms(mention.text)}
    others = set(query_terms(question)) - names
    naming = [hit for hit in hits if names <= _terms(hit.memory)]
    exact = [hit for hit in naming if others & _terms(hit.memory)]
    return (exact or naming)[:PER_CHILD]


def _descriptions(question: str) -> Iterator[tuple[int, int, set[str]]]:
    """
    Yield the stretches that describe something by a name, innermost first, and what a memory must hold.

    "The lead of Falcon" must be met by a memory with Falcon: that somebody leads it can be said in many ways.
    "Anna's boss" must be met by one with both words: of Anna alone there are too many.
    """
    for mention in reversed(mentions(question)):
        start = question.find(mention.text)
        if start < 0:
            continue
        end = start + len(mention.text)
        if owned := _OWNED.match(question, end):
            yield start, owned.end(), set(query_terms(question[start : owned.end()]))
        openings = [one.start() for one in _OPENING.finditer(question, 0, start)]
        if openings and _RELATION.search(question, openings[-1], start):
            yield openings[-1], end, set(query_terms(mention.text))


def _in_turns(lists: Iterable[Sequence[Hit]]) -> Iterator[Hit]:
    for row in itertools.zip_longest(*lists):
        yield from (hit for hit in row if hit is not None)


def _for_each_name(question: str) -> Iterator[str]:
    """Yield the question for each of two names that it joins: what did Anna do, what did Tom do."""
    plain = _BOTH.sub("", question)
    names = [mention.text for mention in mentions(plain)]
    for first, second in itertools.pairwise(names):
        start, end = plain.find(first), plain.find(second)
        between = plain[start + len(first) : end]
        if start < end and _JOINT.fullmatch(between):
            yield plain[:start] + first + plain[end + len(second) :]
            yield plain[:start] + second + plain[end + len(second) :]


def _clauses(question: str) -> list[str]:
    """Return the clauses of a question; a later one that names nothing takes the first name of the first."""
    for hinge in (_CLAUSES, _HINGES):
        parts = [part.strip(" ,?") for part in hinge.split(question)]
        if len(parts) > 1 and all(len(_plain_terms(part)) > 1 for part in parts):
            names = " ".join(mention.text for mention in mentions(parts[0])[:1])
            return [
                part if not place or mentions(part) else f"{names} {part}".strip()
                for place, part in enumerate(parts)
            ]
    return []


def _plain_terms(text: str) -> set[str]:
    """Return the words that matter and name nothing."""
    return set(query_terms(text)) - {term for mention in mentions(text) for term in query_terms(mention.text)}


def _distinct(questions: Iterable[str], *, besides: str) -> Iterator[str]:
    seen = {frozenset(query_terms(besides))}
    for question in questions:
        key = frozenset(query_terms(question))
        if key and key not in seen:
            seen.add(key)
            yield question


def _terms(memory: Memory) -> set[str]:
    return set(index_terms(memory))
