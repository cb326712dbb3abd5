"""Extract statements from turns with rules: deterministic, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from engramdb.capture import worth
from engramdb.capture.worth import Dates, is_lasting, is_passing, is_statement, prose
from engramdb.text.calendar import Precision
from engramdb.text.clauses import Clause, clauses, listed, read
from engramdb.text.grammar import (
    NEAR_TURNS,
    Person,
    name_pronoun,
    opens_with_pronoun,
    people,
    to_third_person,
)
from engramdb.text.lexicons import LANGUAGES, word_set
from engramdb.text.moment_words import MONTHS
from engramdb.text.moments import MomentRange, find_moments, resolve
from engramdb.text.normalize import lazy
from engramdb.text.relations import ClauseRelation, relate, subject_of
from engramdb.text.sentences import Opened, SpeakerCertainty, take_opening
from engramdb.values import Kind, Role, Turn, TurnId

# Languages other than English: only what name, home, work, taste, tools and allergies look like is known. The
# words are stored as they were said, with the speaker as the subject, because rewriting a person in six
# languages would invent more than it would help.


class ForeignFact(Struct, frozen=True):
    """A clause in another language, with what it says of the speaker."""

    text: str
    predicate: str
    object: str
    is_negated: bool = False

    @property
    def category(self) -> str:
        """Return the category, which the predicate decides."""
        return "preference" if self.predicate in ("likes", "dislikes", "prefers") else "fact"


_END = r"(?=[,.;!。！，、]|\s+(?:und|et|y|и|aber|mais|pero|но|seit|depuis|desde|als|comme|como)\b|\Z)"
_WORDS = rf"(?P<object>[^,.;!?。！？，、]{{1,60}}?){_END}"
_PATTERNS = tuple(
    (predicate, lazy(rf"(?<!\w)(?P<head>{said}){_WORDS}", re.IGNORECASE) if one.spaced else lazy(said))
    for one in LANGUAGES.values()
    for predicate, said in one.facts.items()
)
_MARKS = lazy(
    r"[^\x00-\x7f]|\b(?:ich|je|j['’]|mein|yo|vivo|trabajo|soy|me|mi|uso|prefiero|arbeite|travaille|mon)\b",
    re.IGNORECASE,
)
_ENGLISH = lazy(r"\b(?:I|I['’]m|the|is|and|my|you|of|that|with|are)\b")
_NOT = lazy(
    r"\b(?:nicht mehr|nicht|kein|keine|ne .{1,20} (?:pas|plus)|no|ya no|не|больше не)\b", re.IGNORECASE
)
_SEPARATE = lazy(r",?\s+(?:und|et|y|и|aber|mais|pero|но)\s+(?=\S)|[,;，；]\s*", re.IGNORECASE)


def read_foreign(sentence: str) -> list[ForeignFact]:
    """Return what a sentence in another language says of its speaker."""
    if not _MARKS.search(sentence) or _ENGLISH.search(sentence):
        return []
    pieces = _SEPARATE.split(sentence)
    found = [fact for piece in pieces if (fact := _read(piece.strip(" .!。！")))]
    return found if len(found) == len(pieces) or len(pieces) == 1 else _whole(sentence, found)


def _whole(sentence: str, found: list[ForeignFact]) -> list[ForeignFact]:
    """Keep the sentence together where a comma did not separate two facts."""
    if len(found) != 1:
        return found
    only = found[0]
    return [ForeignFact(sentence.strip(" .!。！"), only.predicate, only.object, only.is_negated)]


def _read(piece: str) -> ForeignFact | None:
    for predicate, pattern in _PATTERNS:
        if match := pattern.search(piece):
            return ForeignFact(piece, predicate, match["object"].strip(), bool(_NOT.search(piece)))
    return None


# Extracted: one statement that was found in a turn, before the write pipeline has seen it.

EXTRACTED_CATEGORIES = (
    "fact",
    "preference",
    "correction",
    "entity",
    "decision",
    "relationship",
    "principle",
    "commitment",
    "moment",
    "skill",
)
"""What an extractor may call a statement."""


class Extracted(Struct, frozen=True, kw_only=True):
    """One atomic statement, in the third person, with dates resolved."""

    content: str
    turn_id: TurnId
    category: str = "fact"
    confidence: float = 0.7
    importance: float = 0.5
    kind: Kind = Kind.NOTE
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    is_negated: bool = False
    """Says that something no longer or never holds: "no longer uses vim"."""
    replaces: str | None = None
    """The object that this one takes the place of: vim in "switched from vim to Helix"."""
    entities: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    insight: str | None = None
    verbatim: str | None = None
    """The exact words, where they must not be paraphrased: a quotation, code, a command."""


class Extractor(Protocol):
    """Reads statements out of turns."""

    @property
    def name(self) -> str:
        """What history and `status` call it, with its version."""
        ...

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """Return what the turns state, in order; `context` are earlier turns that pronouns may point to."""
        ...


# Read what has no subject of its own: standing rules, "let's go with", "call me", and an assistant's
# outcomes.
#
# "Always run the linter" holds from now on; "run the linter" is done once and forgotten.


class StandingRule(Struct, frozen=True):
    """A sentence that holds from now on."""

    text: str
    category: str = "principle"
    predicate: str | None = None
    object: str | None = None
    is_negated: bool = False


_STANDING = lazy(
    r"(?:please\s+)?(?P<rule>(?:always|never)\s+(?!mind\b|give up\b|again\b|say never\b|forget\b|been\b|"
    r"had\b|seen\b|heard\b|done\b|thought\b|a\b|the\b|\w+ed\b|knew\b|been\b|\w+ing\b|good\b|nice\b|great\b|"
    r"happy\b|here\b|in\b|up\b|down\b|on\b|at\b|for\b|so\b|too\b|more\b|less\b)[a-z]+\b.{4,}|"
    r"from now on,?\s+.{4,}|do not ever\s+.{4,}|don['’]t ever\s+.{4,})",
    re.IGNORECASE | re.DOTALL,
)
_FORBIDDEN = lazy(
    r"(?:and |but |so |also )?(?:please\s+)?(?P<rule>(?:do not|don['’]t)\s+(?:use|touch|commit|push|deploy|"
    r"edit|modify|change|delete|remove|rename|merge|install|upgrade|hard-?code|log|store|share|expose|mention|"
    r"include|assume|rely on|import|mock|disable|bypass|skip|write|add|put|mix)\b"
    r"(?!.*\b(?:yet|for now|right now|just now|today|tonight|this time|until|anything else|it|that|this|them|"
    r"those|these)\b).{3,})",
    re.IGNORECASE | re.DOTALL,
)
"""What is not to be done, as projects say it; with "yet" or "it" it is about this moment alone."""
_ONE_NOT_ANOTHER = lazy(
    r"(?:please\s+)?(?P<rule>(?:use|prefer|choose|write|name|call|stick (?:to|with))\s+"
    r"(?!(?:this|that|these|those|it|them|one|the (?:first|second|third|other|next|last|new|old)|your|my)\b)"
    r"(?!.*\b(?:for now|right now|today|tonight|this time|yet|here|this|that|these|those)\b)"
    r"[^,;]{1,60}?(?:,? (?:not|instead of|rather than|over|and not|but not|never)) \S.{0,60})\Z",
    re.IGNORECASE | re.DOTALL,
)
"""One thing and not another, as projects say it; what points at something is about this task alone."""
_CHOICE = lazy(
    r"(?:ok(?:ay)?,?\s+)?(?P<choice>(?:let['’]s|we['’]ll|i['’]ll)\s+(?:go with|stick with|use)\s+"
    r"(?!(?:the (?:time|moment)|this|that|it)\b)(?P<object>.{3,}))",
    re.IGNORECASE,
)
_RATHER = lazy(
    r"(?:i|we)(?:['’]d| would) (?:much |really )?(?:rather (?:\w+ )?|"
    r"prefer )(?P<object>.{2,80}?)(?: (?:than|over|to|if)\b.*|\W*)\Z",
    re.IGNORECASE,
)
_FROM_NOW_ON = lazy(
    r"(?:please\s+)?(?P<rule>(?!(?:i|we|he|she|they|it)\b)\w.{3,200}\bfrom now on)\W*\Z", re.IGNORECASE
)
_CALL_ME = lazy(
    r"(?:from now on,?\s+)?(?:please\s+)?(?:(?:you can|you may|just|everyone|people|"
    r"my friends)\s+)*calls?\s+me\s+"
    r"(?P<name>[A-Z][\w’'-]+)\s*[.!]?\Z",
    re.IGNORECASE,
)
_DONE = lazy(r"(?:done|completed|finished|fixed|success|update)\s*[:.!]\s*(?=\S)", re.IGNORECASE)
_ACTED = lazy(
    r"i(?:['’]ve| have)?\s+(?:now |just |also |successfully )?(?:deployed|merged|closed|fixed|updated|"
    r"created|added|removed|deleted|renamed|installed|configured|scheduled|booked|sent|saved|committed|"
    r"pushed|published|released|migrated|upgraded|restarted|rolled back|reverted|enabled|disabled|moved|"
    r"replaced|refactored|opened|set up|started|stopped|ordered|cancelled|canceled|submitted|registered|"
    r"switched|decided|chose|opted)\b|i(?:['’]ll| will)\s+(?:remind|send|notify|check|deploy|update|"
    r"follow up|report|have|finish|fix|let you know|schedule|run|back)\b",
    re.IGNORECASE,
)


def read_rule(sentence: str) -> StandingRule | None:
    """Return the standing rule, wish or choice that a sentence sets, if it does."""
    if sentence.rstrip().endswith("?"):
        return None
    if name := _CALL_ME.match(sentence):
        return StandingRule(sentence, "preference", "is_named", name["name"])
    if choice := _CHOICE.match(sentence):
        return StandingRule(choice["choice"], "decision", "decided", choice["object"].rstrip(" .!"))
    if wish := _RATHER.match(sentence):
        return StandingRule(sentence, "preference", "prefers", wish["object"].rstrip(" .!"))
    standing = _FROM_NOW_ON.match(sentence) or _STANDING.match(sentence)
    standing = standing or _FORBIDDEN.match(sentence) or _ONE_NOT_ANOTHER.match(sentence)
    if standing is None:
        return None
    return StandingRule(
        standing["rule"], is_negated=bool(re.match(r"never|do not|don['’]t", standing["rule"], re.IGNORECASE))
    )


def read_outcome(sentence: str) -> list[str]:
    """Return the clauses in which an assistant says what it has done or when it will."""
    if sentence.rstrip().endswith("?"):
        return []
    if done := _DONE.match(sentence):
        return clauses(sentence[done.end() :])
    if not _ACTED.match(sentence):
        return []
    return [part for part in clauses(sentence) if _ACTED.match(part)]


# Read statements out of turns with patterns: always there, deterministic, no model.
#
# Sentence by sentence: take off opening words, drop what states nothing, split into clauses, read each,
# keep what lasts, write it in the third person with dates made absolute. Every match is kept, only its own
# clause, and nothing is added to what was said. Written for precision; what it misses is in
# docs/lab/0006-extraction.md.

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


class _TurnSentence(Struct, frozen=True):
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
        said = _TurnSentence(turn, sentence, take_opening(sentence), tuple(named))
        reader = _user_statements if turn.role is Role.USER else _assistant_statements
        for extracted in reader(said):
            if extracted.content not in seen and not _tells_own_name(extracted, said.speaker):
                seen.add(extracted.content)
                yield extracted
        named += people(sentence)


def _tells_own_name(extracted: Extracted, speaker: str) -> bool:
    """Return whether a statement is "Maya is Maya": what "I'm Maya" becomes where it is known who speaks."""
    name = speaker.casefold()
    return extracted.content.casefold() in (f"{name} is {name}", f"{name}'s name is {name}")


def _user_statements(said: _TurnSentence) -> Iterator[Extracted]:
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


def _from_clause(said: _TurnSentence, text: str) -> Extracted | None:
    clause = read(text)
    if clause is None:
        return None
    dates = _dates(clause, said.now)
    is_mending = said.opened.is_correction and clause.verb != "mean"
    is_asked = said.opened.certainty is SpeakerCertainty.EXPLICIT or is_mending
    is_corrected = said.opened.is_correction or clause.verb == "mean"
    is_wanted = (is_asked and _says_enough(clause)) or _corrects(clause)
    if not is_wanted and not is_lasting(clause, dates):
        return None
    relation = relate(clause)
    category = worth.category_of(clause, dates, is_correction=is_corrected, predicate=relation.predicate)
    return _statement(said, clause, relation, category=category, kind=worth.kind_of(clause, dates, category))


def _says_enough(clause: Clause) -> bool:
    """Return whether a clause that asks to be remembered means something to one who was not there."""
    return bool(clause.tail) and not is_passing(clause) and clause.subject.lower() != "it"


def _corrects(clause: Clause) -> bool:
    """Return whether the clause is "I meant X, not Y"; without the Y it is not known what was meant."""
    return clause.verb == "mean" and bool(re.search(r"\bnot\b|\binstead of\b|\brather than\b", clause.tail))


def _statement(
    said: _TurnSentence, clause: Clause, relation: ClauseRelation, *, category: str, kind: Kind
) -> Extracted:
    whole = f"{clause.lead}{clause.text}"
    content, moment = resolve(to_third_person(whole, name=said.speaker), now=said.now)
    return Extracted(
        content=_finished(content),
        turn_id=said.turn.id,
        category=category,
        confidence=worth.confidence_of(
            said.opened.certainty,
            is_by_assistant=said.turn.role is Role.ASSISTANT,
            has_open_pronoun=opens_with_pronoun(clause.text),
        ),
        importance=worth.importance_of(category, relation.predicate, said.opened.certainty),
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


def _third(words: str | None, said: _TurnSentence, whole: str) -> str | None:
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


def _from_rule(said: _TurnSentence, rule: StandingRule) -> Extracted:
    content, moment = resolve(to_third_person(rule.text, name=said.speaker), now=said.now)
    return Extracted(
        content=_finished(content),
        turn_id=said.turn.id,
        category=rule.category,
        confidence=worth.confidence_of(said.opened.certainty, is_by_assistant=False, has_open_pronoun=False),
        importance=worth.importance_of(rule.category, rule.predicate, said.opened.certainty),
        kind=Kind.NOTE,
        subject=said.speaker if rule.predicate else None,
        predicate=rule.predicate,
        object=rule.object,
        is_negated=rule.is_negated,
        entities=_entities(content, said.speaker),
        occurred_at=moment,
        verbatim=_verbatim(said.sentence),
    )


def _from_foreign(said: _TurnSentence, fact: ForeignFact) -> Extracted:
    moments = [m for m in find_moments(fact.text, now=said.now) if m.precision is not Precision.VAGUE]
    return Extracted(
        content=fact.text,
        turn_id=said.turn.id,
        category=fact.category,
        confidence=worth.confidence_of(said.opened.certainty, is_by_assistant=False, has_open_pronoun=False),
        importance=worth.importance_of(fact.category, fact.predicate, said.opened.certainty),
        kind=Kind.NOTE,
        subject=said.speaker,
        predicate=fact.predicate,
        object=fact.object,
        is_negated=fact.is_negated,
        occurred_at=moments[0].start if moments else None,
        verbatim=said.sentence,
    )


def _assistant_statements(said: _TurnSentence) -> Iterator[Extracted]:
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
        kind = worth.kind_of(clause, dates, category)
        yield _statement(said, clause, relate(clause), category=category, kind=kind)
