"""Read turns with rules, sentence by sentence: every sentence is kept that says anything, as it was said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from engramdb.capture import worth
from engramdb.capture.keeping import force_of, is_kept, own_part
from engramdb.capture.patterns import ForeignFact, StandingRule, read_foreign, read_rule
from engramdb.capture.utterances import SpokenSentence, utterances
from engramdb.capture.worth import dates_in, is_lasting
from engramdb.errors import EngramError
from engramdb.models.reader import Reader, Utterance
from engramdb.text.clauses import Clause, clauses, has_second_verb, listed, read
from engramdb.text.grammar import name_pronoun, opens_with_pronoun, people, to_third_person
from engramdb.text.lexicons import word_set
from engramdb.text.moment_words import MONTHS
from engramdb.text.moments import find_moments, resolve
from engramdb.text.normalize import lazy
from engramdb.text.relations import ClauseRelation, relate, subject_of
from engramdb.text.sentences import SpeakerCertainty, sentences
from engramdb.values import Claim, Kind, Role, Turn, TurnId, Voice
from engramdb.values.reading import Force, Lasting, Reading


class Extracted(Struct, frozen=True, kw_only=True):
    """One sentence of a turn, in the speaker's words, with what was read in it."""

    content: str
    turn_id: TurnId
    category: str | None = "fact"
    """None where admission is to choose, and so for the kind."""
    confidence: float = 0.7
    importance: float = 0.5
    kind: Kind | None = Kind.NOTE
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    is_negated: bool = False
    """Says that something no longer or never holds: "no longer uses vim"."""
    replaces: str | None = None
    """The object that this one takes the place of: vim in "switched from vim to Helix"."""
    entities: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    statement: str | None = None
    force: Force = Force.ASSERTED
    lasting: Lasting | None = None
    voice: Voice = Voice.OWN
    sender: str | None = None
    answers: str | None = None
    refers_to: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    by: str | None = None
    """Who read it; None for the extractor that was asked."""


class Extractor(Protocol):
    """Reads statements out of turns."""

    @property
    def name(self) -> str:
        """What history and `status` call it, with its version."""
        ...

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """Return what the turns state, in order; `context` are earlier turns that pronouns may point to."""
        ...


# Read a turn: sentence by sentence, each kept as it was said unless it says nothing, with what it means
# beside it. Rules and, where there is one, a reader only annotate and weigh; neither rewrites a word.

_ENTITY = lazy(r"(?<![\w.])(?:[A-Z][\w+#]*(?:[.-][A-Za-z]\w+)*)(?:\s+(?:[A-Z0-9][\w+#]*))*")
_NO_ENTITY = word_set(
    "I A An The My Our We He She It They His Her Their In On At For From Now Always Never This Let's"
)
_CARELESS = lazy(
    r"\b(?:dont|didnt|cant|wont|isnt|doesnt|havent|hasnt|wasnt|arent|couldnt|wouldnt)\b", re.IGNORECASE
)
"""Denials without their apostrophe, which the grammar takes for other words."""
MOST_OF_ASSISTANT: int = 12
"""So many sentences of one assistant's turn are kept, the worthiest."""
_WEIGHTS = {Force.HYPOTHETICAL: 0.6, Force.QUOTED: 0.7, Force.QUESTION: 0.5, Force.REQUEST: 0.5}


class SentenceExtractor:
    """Keeps every sentence that says anything; gives the same answer for the same turns."""

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader

    @property
    def name(self) -> str:
        """What history and `status` call it."""
        return "sentences-1"

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """Return the sentences that are kept, in order; `context` is what they may lean on."""
        spoken = [turn for turn in turns if turn.role is not Role.SYSTEM]
        said = list(utterances(spoken, context=context))
        found: dict[tuple[TurnId, str], tuple[float, Extracted]] = {}
        for one, reading in zip(said, self._readings(said), strict=True):
            for extracted in read_sentence(one, reading):
                keep = 0.5 if reading is None or reading.keep is None else reading.keep
                found.setdefault((one.turn.id, extracted.content), (keep, extracted))
        return _worthiest(spoken, found)

    def _readings(self, said: Sequence[SpokenSentence]) -> list[Reading | None]:
        if self._reader is None:
            return [None] * len(said)
        asked = [Utterance(one.sentence, _by(one), one.before) for one in said]
        try:
            return list(self._reader.read(asked))
        except EngramError:  # noted by whoever watches the reader; the rules alone read on
            return [None] * len(said)


def _by(said: SpokenSentence) -> str:
    return "assistant" if said.turn.role is Role.ASSISTANT else "user"


def _worthiest(
    turns: Sequence[Turn], found: dict[tuple[TurnId, str], tuple[float, Extracted]]
) -> list[Extracted]:
    """Return what was found, of a long reply of an assistant only the worthiest."""
    kept: list[Extracted] = []
    for turn in turns:
        mine = [pair for (turn_id, _), pair in found.items() if turn_id == turn.id]
        if turn.role is Role.ASSISTANT and len(mine) > MOST_OF_ASSISTANT:
            least = sorted((keep for keep, _ in mine), reverse=True)[MOST_OF_ASSISTANT - 1]
            mine = [pair for pair in mine if pair[0] >= least][:MOST_OF_ASSISTANT]
        kept += [extracted for _, extracted in mine]
    return kept


def read_sentence(said: SpokenSentence, reading: Reading | None = None) -> list[Extracted]:
    """Return what becomes of a sentence: nothing, itself, or its clauses where each stands by itself."""
    force = force_of(said, reading)
    if not is_kept(said, force, reading):
        return []
    is_explicit = said.opened.certainty is SpeakerCertainty.EXPLICIT
    text = said.text.rstrip("? ") if is_explicit else said.text  # the mark belongs to the request
    parts = _split(text, said.now) if force is Force.ASSERTED and said.voice is Voice.OWN else [text]
    return [_extracted(said, part, force, reading) for part in parts if not _tells_own_name(part, said)]


def as_said(said: SpokenSentence) -> Extracted:
    """Return a whole sentence with what the rules read in it, whether they would keep it or not."""
    return _extracted(said, said.text, force_of(said, None), None)


def _split(text: str, now: datetime) -> list[str]:
    """Return the clauses of a sentence where each is part of it to the letter and says who it is about."""
    parts = clauses(text)
    if len(parts) < 2:
        return [text]
    for part in parts:
        clause = read(part)
        is_open = opens_with_pronoun(part) or re.match(r"(?:that|this|which|who)\b", part, re.IGNORECASE)
        if part not in text or clause is None or is_open or not is_lasting(clause, dates_in(clause, now)):
            return [text]
    return parts


def _tells_own_name(text: str, said: SpokenSentence) -> bool:
    """Return whether a statement is "Maya is Maya": what "I'm Maya" becomes where it is known who speaks."""
    name = said.speaker.casefold()
    content = to_third_person(text, name=said.speaker).strip(" .!").casefold()
    return content in (f"{name} is {name}", f"{name}'s name is {name}")


class _Meaning(Struct, frozen=True, kw_only=True):
    """What the rules read in one sentence or clause."""

    category: str | None = None
    kind: Kind | None = None
    subject: str | None = None
    relation: ClauseRelation | None = None
    is_negated: bool = False
    statement: str | None = None
    claims: tuple[Claim, ...] = ()
    is_lasting: bool = False


def _extracted(said: SpokenSentence, text: str, force: Force, reading: Reading | None) -> Extracted:
    meaning = _meaning(said, text, force)
    relation = meaning.relation
    lasting = reading.lasting if reading is not None and reading.is_by_network else None
    return Extracted(
        content=_trimmed(text),
        turn_id=said.turn.id,
        category=meaning.category,
        confidence=_confidence(said, force),
        importance=_importance(said, force, meaning, reading),
        kind=meaning.kind,
        subject=meaning.subject,
        predicate=relation.predicate if relation else None,
        object=_third(relation.object, said, text) if relation else None,
        is_negated=meaning.is_negated,
        replaces=_third(relation.replaces, said, text) if relation else None,
        entities=_entities(text, said.speaker),
        statement=meaning.statement,
        force=force,
        lasting=lasting,
        voice=said.voice,
        sender=said.sender,
        answers=said.answers,
        # A rule is understood by itself; what was said just before is seldom about it.
        refers_to=() if force is Force.RULE else said.refers_to,
        claims=meaning.claims,
    )


def _trimmed(text: str) -> str:
    """Return the words without the full stop that ends them."""
    bare = text.strip()
    return bare[:-1].rstrip() if bare.endswith((".", "。")) and not bare.endswith("..") else bare


def _meaning(said: SpokenSentence, text: str, force: Force) -> _Meaning:
    if said.voice is not Voice.OWN:
        return _Meaning()
    if own_part(text) != text:
        return _Meaning()
    if (rule := read_rule(text)) and (rule.predicate or force is Force.RULE):
        return _of_rule(said, rule)
    if facts := read_foreign(text):
        return _of_foreign(said, facts)
    clause = read(name_pronoun(text, list(said.nearby)))
    if clause is None or force in (Force.QUESTION, Force.REQUEST):
        return _Meaning()
    return _of_clause(said, text, clause, force)


def _of_rule(said: SpokenSentence, rule: StandingRule) -> _Meaning:
    relation = ClauseRelation(rule.predicate, rule.object) if rule.predicate else None
    is_named = rule.predicate == "is_named"
    return _Meaning(
        category=rule.category,
        subject=said.speaker if relation else None,
        relation=relation,
        is_negated=rule.is_negated,
        statement=f"{said.speaker} wants to be called {rule.object}" if is_named else None,
        is_lasting=True,
    )


def _of_foreign(said: SpokenSentence, facts: Sequence[ForeignFact]) -> _Meaning:
    first = facts[0]
    claims = tuple(
        Claim(subject=said.speaker, predicate=fact.predicate, object=fact.object, is_negated=fact.is_negated)
        for fact in facts
    )
    return _Meaning(
        category=first.category,
        subject=said.speaker,
        relation=ClauseRelation(first.predicate, first.object),
        is_negated=first.is_negated,
        claims=claims,
        is_lasting=True,
    )


def _of_clause(said: SpokenSentence, text: str, clause: Clause, force: Force) -> _Meaning:
    dates = dates_in(clause, said.now)
    relation = relate(clause)
    is_corrected = said.opened.is_correction or clause.verb == "mean"
    category = worth.category_of(clause, dates, is_correction=is_corrected, predicate=relation.predicate)
    is_single = len(sentences(text)) == 1 and len(clauses(text)) == 1 and not has_second_verb(text)
    is_single = is_single and not opens_with_pronoun(clause.text)
    # What is not known to last is no claim: "could do Tuesdays", "haven't asked" are too easily misread.
    is_known = is_lasting(clause, dates) and not _CARELESS.search(text)
    is_certain = force is Force.ASSERTED and is_single and is_known
    is_believed = force in (Force.ASSERTED, Force.RULE) and is_known
    is_claimed = is_believed or (force is Force.HEDGED and is_known)
    return _Meaning(
        category=category,
        kind=worth.kind_of(clause, dates, category),
        subject=subject_of(clause, relation, speaker=said.speaker) if is_believed else None,
        relation=relation if is_believed else None,
        is_negated=clause.is_negated or relation.is_ended,
        statement=_statement(said, clause) if is_certain else None,
        claims=tuple(_claims(said, text, is_hedged=force is Force.HEDGED)) if is_claimed else (),
        is_lasting=is_lasting(clause, dates),
    )


def _claims(said: SpokenSentence, text: str, *, is_hedged: bool) -> list[Claim]:
    """Return what the clauses of a sentence say, each list of objects one by one."""
    found: list[Claim] = []
    parts = [part for sentence in sentences(text) for part in clauses(sentence)]
    for part in parts:
        for single in listed(part) if not has_second_verb(part) else []:
            clause = read(name_pronoun(single, [*said.nearby, *people(text)]))
            relation = relate(clause) if clause else None
            is_known = clause is not None and is_lasting(clause, dates_in(clause, said.now))
            if clause is None or relation is None or not relation.object or not is_known:
                continue
            claim = Claim(
                subject=subject_of(clause, relation, speaker=said.speaker),
                predicate=relation.predicate,
                object=_third(relation.object, said, text) or "",
                is_negated=clause.is_negated or relation.is_ended,
                is_hedged=is_hedged,
            )
            found.append(claim)
    return found


def _statement(said: SpokenSentence, clause: Clause) -> str:
    content, _ = resolve(to_third_person(f"{clause.lead}{clause.text}", name=said.speaker), now=said.now)
    bare = content.strip().rstrip(".!… ").strip()
    return bare[:1].upper() + bare[1:]


def _confidence(said: SpokenSentence, force: Force) -> float:
    """Return how far to believe it: what was said outright is as sure as its speaker."""
    if said.voice is not Voice.OWN:
        return worth.FOREIGN_CONFIDENCE
    confidence = min(worth.CONFIDENCE[said.opened.certainty], worth.FORCE_CONFIDENCE.get(force, 1.0))
    return min(confidence, worth.ASSISTANT_CONFIDENCE) if said.turn.role is Role.ASSISTANT else confidence


def _importance(said: SpokenSentence, force: Force, meaning: _Meaning, reading: Reading | None) -> float:
    """Return how much it matters: what the rules know by its kind, the rest by how worth keeping it seems."""
    certainty = said.opened.certainty
    predicate = meaning.relation.predicate if meaning.relation else None
    known = worth.importance_of(meaning.category or "fact", predicate, certainty)
    keep = 0.5 if reading is None or reading.keep is None else reading.keep
    by_worth = 0.2 + 0.4 * keep
    weight = _WEIGHTS.get(force, 1.0)
    is_known = meaning.is_lasting or certainty is SpeakerCertainty.EXPLICIT
    if said.voice is not Voice.OWN:
        return 0.2
    return round(weight * (max(known, by_worth) if is_known else by_worth), 2)


def _third(words: str | None, said: SpokenSentence, whole: str) -> str | None:
    """Return part of a clause as the statement says it; the whole clause decides which Friday is meant."""
    if words is None:
        return None
    for moment in find_moments(whole, now=said.now):
        words = words.replace(
            whole[moment.first : moment.last], moment.wording or whole[moment.first : moment.last]
        )
    return to_third_person(words, name=said.speaker)


def _entities(content: str, speaker: str) -> tuple[str, ...]:
    """Return the names in a statement, the speaker's aside."""
    found = (match.group().strip() for match in _ENTITY.finditer(content))
    names = (name for name in found if name not in _NO_ENTITY and name != speaker)
    return tuple(dict.fromkeys(name for name in names if name.split()[0] not in MONTHS))
