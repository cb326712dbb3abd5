"""
Read statements out of turns with patterns: always there, deterministic, no model.

Called by `capture.pipeline`, and in the place of a chat model that fails. Sentence by sentence: take off
opening words, drop what states nothing, split into clauses, read each, keep what lasts, write it in the
third person with dates made absolute. Every match is kept, only its own clause, and nothing is added to
what was said. Written for precision; what it misses is in docs/lab/0006-extraction.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.capture.extract import judgement
from engram.capture.extract.clauses import Clause, read
from engram.capture.extract.extracted import Extracted
from engram.capture.extract.foreign import Foreign, read_foreign
from engram.capture.extract.lasting import Dates, is_lasting, is_passing
from engram.capture.extract.openings import Certainty, Opened, take_opening
from engram.capture.extract.person import to_third_person
from engram.capture.extract.pronouns import NEAR_TURNS, Person, name_pronoun, opens_with_pronoun, people
from engram.capture.extract.propositions import clauses, listed
from engram.capture.extract.relations import Relation, relate, subject_of
from engram.capture.extract.rules import Rule, read_outcome, read_rule
from engram.capture.extract.sieve import is_statement, prose
from engram.capture.extract.verbs import word_set
from engram.text.lazy import lazy
from engram.text.moment_words import MONTHS
from engram.text.moments import MomentRange, Precision, find_moments, resolve
from engram.values import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from engram.values import Turn

UNNAMED_USER = "User"
ASSISTANT = "Assistant"

_EXACT = lazy(r"`[^`\n]+`|\"[^\"\n]{2,}\"|“[^“”\n]{2,}”|«[^«»\n]{2,}»")
_ENTITY = lazy(r"(?<![\w.])(?:[A-Z][\w+#]*(?:[.-][A-Za-z]\w+)*)(?:\s+(?:[A-Z0-9][\w+#]*))*")
_NO_ENTITY = word_set(
    "I A An The My Our We He She It They His Her Their In On At For From Now Always Never This Let's"
)


class HeuristicExtractor:
    """Finds statements by patterns; gives the same answer for the same turns."""

    @property
    def name(self) -> str:
        """What history and `status` call it."""
        return "heuristic-1"

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """Return what the turns state, in order; pronouns may point to people named in earlier turns."""
        nearby = [person for turn in context[-NEAR_TURNS:] for person in people(turn.content)]
        found: list[Extracted] = []
        for turn in turns:
            found += _from_turn(turn, nearby)
            nearby = [*nearby, *people(turn.content)]
        return found


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence on its way: who said it and when, what its opening told, who was named before."""

    turn: Turn
    sentence: str
    opened: Opened
    nearby: tuple[Person, ...]

    @property
    def speaker(self) -> str:
        """The name that "I" becomes."""
        return self.turn.speaker or (ASSISTANT if self.turn.role is Role.ASSISTANT else UNNAMED_USER)

    @property
    def now(self) -> datetime:
        """When it was said."""
        return self.turn.occurred_at


def _from_turn(turn: Turn, nearby: list[Person]) -> Iterator[Extracted]:
    """Yield the statements of a turn, none twice; tools and systems state nothing of their own."""
    if turn.role not in (Role.USER, Role.ASSISTANT):
        return
    seen: set[str] = set()
    named = list(nearby)
    for sentence in prose(turn.content):
        said = _Said(turn, sentence, take_opening(sentence), tuple(named))
        reader = _user_statements if turn.role is Role.USER else _assistant_statements
        for extracted in reader(said):
            if extracted.content not in seen and not _tells_own_name(extracted, said.speaker):
                seen.add(extracted.content)
                yield extracted
        named += people(sentence)


def _tells_own_name(extracted: Extracted, speaker: str) -> bool:
    """Say whether a statement is "Maya is Maya": what "I'm Maya" becomes where it is known who speaks."""
    name = speaker.casefold()
    return extracted.content.casefold() in (f"{name} is {name}", f"{name}'s name is {name}")


def _user_statements(said: _Said) -> Iterator[Extracted]:
    text = said.opened.text
    if rule := read_rule(text):
        yield _from_rule(said, rule)
        return
    if not is_statement(text):
        return
    if facts := read_foreign(text):
        yield from (_from_foreign(said, fact) for fact in facts)
        return
    nearby = list(said.nearby)
    for part in clauses(text):
        for single in listed(part):
            if extracted := _from_clause(said, name_pronoun(single, nearby)):
                yield extracted
        nearby += people(part)


def _from_clause(said: _Said, text: str) -> Extracted | None:
    clause = read(text)
    if clause is None:
        return None
    dates = _dates(clause, said.now)
    is_mending = said.opened.is_correction and clause.verb != "mean"
    is_asked = said.opened.certainty is Certainty.EXPLICIT or is_mending
    is_corrected = said.opened.is_correction or clause.verb == "mean"
    is_wanted = (is_asked and _says_enough(clause)) or _corrects(clause)
    if not is_wanted and not is_lasting(clause, dates):
        return None
    relation = relate(clause)
    category = judgement.category_of(clause, dates, is_correction=is_corrected, predicate=relation.predicate)
    return _statement(
        said, clause, relation, category=category, kind=judgement.kind_of(clause, dates, category)
    )


def _says_enough(clause: Clause) -> bool:
    """Say whether a clause that asks to be kept means something to one who was not there."""
    return bool(clause.tail) and not is_passing(clause) and clause.subject.lower() != "it"


def _corrects(clause: Clause) -> bool:
    """Say whether the clause is "I meant X, not Y"; without the Y it is not known what was meant."""
    return clause.verb == "mean" and bool(re.search(r"\bnot\b|\binstead of\b|\brather than\b", clause.tail))


def _statement(said: _Said, clause: Clause, relation: Relation, *, category: str, kind: Kind) -> Extracted:
    whole = f"{clause.lead}{clause.text}"
    content, moment = resolve(to_third_person(whole, name=said.speaker), now=said.now)
    return Extracted(
        content=_finished(content),
        turn_id=said.turn.id,
        category=category,
        confidence=judgement.confidence_of(
            said.opened.certainty,
            is_by_assistant=said.turn.role is Role.ASSISTANT,
            has_open_pronoun=opens_with_pronoun(clause.text),
        ),
        importance=judgement.importance_of(category, relation.predicate, said.opened.certainty),
        kind=kind,
        subject=subject_of(clause, relation, speaker=said.speaker),
        predicate=relation.predicate,
        object=_third(relation.object, said, whole),
        is_negated=clause.is_negated or relation.is_ended,
        replaces=_third(relation.replaces, said, whole),
        entities=_entities(content, said.speaker),
        occurred_at=moment,
        verbatim=_verbatim(said.sentence),
    )


def _third(words: str | None, said: _Said, whole: str) -> str | None:
    """Return part of a clause as the statement says it; the whole clause decides which Friday is meant."""
    if words is None:
        return None
    for moment in find_moments(whole, now=said.now):
        words = words.replace(
            whole[moment.first : moment.last], moment.wording or whole[moment.first : moment.last]
        )
    return to_third_person(words, name=said.speaker)


def _dates(clause: Clause, now: datetime) -> Dates:
    """Return which times the clause names; a day or week that is not over lies where the verb puts it."""
    every = find_moments(f"{clause.lead}{clause.text}", now=now)
    moments = [moment for moment in every if moment.precision is not Precision.VAGUE]
    return Dates(
        has_past=any(_is_behind(moment, clause, now) for moment in moments),
        has_future=any(moment.end > now and not clause.is_past for moment in moments),
        is_relative=any(moment.wording for moment in moments),
    )


def _is_behind(moment: MomentRange, clause: Clause, now: datetime) -> bool:
    is_around = moment.start <= now < moment.end
    is_today = moment.precision in (Precision.DAY, Precision.PART_OF_DAY)
    return moment.end <= now or (is_around and (clause.is_past or is_today))


def _finished(content: str) -> str:
    """Return the statement with a capital and without its last full stop."""
    bare = content.strip().rstrip(".!… ").strip()
    return bare[:1].upper() + bare[1:]


def _verbatim(sentence: str) -> str | None:
    return sentence if _EXACT.search(sentence) else None


def _entities(content: str, speaker: str) -> tuple[str, ...]:
    """Return the names in a statement, the speaker's aside."""
    found = (match.group().strip() for match in _ENTITY.finditer(content))
    names = (name for name in found if name not in _NO_ENTITY and name != speaker)
    return tuple(dict.fromkeys(name for name in names if name.split()[0] not in MONTHS))


def _from_rule(said: _Said, rule: Rule) -> Extracted:
    content, moment = resolve(to_third_person(rule.text, name=said.speaker), now=said.now)
    return Extracted(
        content=_finished(content),
        turn_id=said.turn.id,
        category=rule.category,
        confidence=judgement.confidence_of(
            said.opened.certainty, is_by_assistant=False, has_open_pronoun=False
        ),
        importance=judgement.importance_of(rule.category, rule.predicate, said.opened.certainty),
        kind=Kind.NOTE,
        subject=said.speaker if rule.predicate else None,
        predicate=rule.predicate,
        object=rule.object,
        is_negated=rule.is_negated,
        entities=_entities(content, said.speaker),
        occurred_at=moment,
        verbatim=_verbatim(said.sentence),
    )


def _from_foreign(said: _Said, fact: Foreign) -> Extracted:
    moments = [m for m in find_moments(fact.text, now=said.now) if m.precision is not Precision.VAGUE]
    return Extracted(
        content=fact.text,
        turn_id=said.turn.id,
        category=fact.category,
        confidence=judgement.confidence_of(
            said.opened.certainty, is_by_assistant=False, has_open_pronoun=False
        ),
        importance=judgement.importance_of(fact.category, fact.predicate, said.opened.certainty),
        kind=Kind.NOTE,
        subject=said.speaker,
        predicate=fact.predicate,
        object=fact.object,
        is_negated=fact.is_negated,
        occurred_at=moments[0].start if moments else None,
        verbatim=said.sentence,
    )


def _assistant_statements(said: _Said) -> Iterator[Extracted]:
    """Yield what the assistant says that it has done or will do, and nothing else."""
    for text in read_outcome(said.opened.text):
        clause = read(text)
        if clause is None:
            continue
        dates = _dates(clause, said.now)
        is_promise = bool(clause.auxiliaries & {"will"})
        if is_promise and not dates.has_future:
            continue
        category = "commitment" if is_promise else "moment" if clause.is_past else "fact"
        kind = judgement.kind_of(clause, dates, category)
        yield _statement(said, clause, relate(clause), category=category, kind=kind)
