"""Judge a clause: whether it lasts, its category and kind, how sure and how important it is."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

from engramdb.text.calendar import Precision
from engramdb.text.clauses import Clause, Who
from engramdb.text.force import bare_words, has_cue
from engramdb.text.grammar import (
    EVENT_VERBS,
    KIN,
    PASSING_VERBS,
    PETS,
    ROLES,
    STATE_CHANGES,
    THING_VERBS,
    VAGUE_EVENTS,
    VERBS,
)
from engramdb.text.lexicons import word_set
from engramdb.text.moments import MomentRange, find_moments
from engramdb.text.normalize import lazy
from engramdb.text.sentences import SpeakerCertainty
from engramdb.values import Kind
from engramdb.values.reading import Force

# Decide whether a clause is known to last.
#
# What dates itself, changes something, or tells who someone is does: it is kept whatever a reader makes of
# it, weighs more, and may be cut out of its sentence. What passes ("I'm tired", "it works now") is left to
# the reader. Written for precision: a verb or adjective that is not known to last needs a date.


class Dates(Struct, frozen=True):
    """Which times a clause names, seen from when it was said."""

    has_past: bool = False
    has_future: bool = False
    is_relative: bool = False

    @property
    def any(self) -> bool:
        """Whether it names any."""
        return self.has_past or self.has_future


def dates_in(clause: Clause, now: datetime) -> Dates:
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


_LASTING_STATE = lazy(
    r"(?:not |also |now |originally |still |currently |severely |deeply |very |really |a |an )*"
    r"(?:an? (?!bit\b|little\b|mess\b|mix\b|lot\b|idiot\b|fool\b|wreck\b|moment\b|sec\b)|"
    r"the (?:\w+ ){1,3}(?:of|at|for)\b|one of |from\b|based (?:in|out of)\b|allergic|intolerant|married|"
    r"engaged|divorced|single\b|widowed|pregnant|vegan|vegetarian|pescatarian|kosher|halal|fluent|good at|"
    r"bad at|great at|terrible at|experienced|proficient|left-handed|right-handed|colou?r ?-?blind|deaf|"
    r"blind|diabetic|autistic|dyslexic|gluten|lactose|celiac|retired|unemployed|self-employed|freelance|"
    r"in charge of|responsible for|interested in|passionate about|afraid of|scared of|into (?!the)|"
    r"obsessed with|fond of|diagnosed with|raised in|trained as|(?-i:to [A-Z])|born|called|named|"
    r"\d{1,3}(?: years? old)?\b|off on|in my (?:\w+ties|early|late|"
    r"mid)|short-sighted|near-?sighted|asthmatic|bilingual|an only child|taller|shorter|\d)|(?-i:(?!OK\b|"
    r"Ok\b|I\b)(?:Dr\.? )?[A-Z][a-zà-ÿ]+)",
    re.IGNORECASE,
)
_PASSING_STATE = lazy(
    r"(?:not |now |still |so |very |really |too |just |all |a bit |a little |completely |totally )*"
    r"(?:failing|broken|down|slow|working|ready|done|stuck|wrong|great|good|fine|empty|gone|missing|nice|"
    r"bad|ok|okay|true|false|correct|right|clear|weird|strange|odd|here|there|back|up|over|off|better|"
    r"worse|perfect|awesome|cool|amazing|terrible|awful|beautiful|important|interesting|easy|hard|"
    r"difficult|simple|happy|sad|tired|sure|sorry|killing|going|getting|being|trying|that\b|because|what|"
    r"how|why|it\b|to \w+|hot|cold|late|early|busy|open|closed|excited|thrilled|proud|grateful|lucky|glad|"
    r"always|awesome|roller|a roller|messy|confusing|boring|fun|funny|hilarious|complete|finished|fixed|"
    r"useless|useful|possible|impossible|running|loading|pending|crashing|hanging|returning|"
    r"throwing|complaining|acting)\b"
)
_PASSING_SUBJECT = lazy(
    r"(?:the|this|my|our|his|her|their) (?:\w+ )?(?:problem|issue|error|code|tests?|answer|output|result|"
    r"question|thing|point|reason|idea|bug|above|following|file|function|line|page|link|weather|food|movie|"
    r"song|book|story|article|deploy|build|image|picture|screenshot|difference|solution|trick|same|bad|"
    r"guess|fault|apologies|turn)\b",
    re.IGNORECASE,
)
_LASTING_PROGRESSIVES = word_set(
    "learn study work live build write train research use date teach run save raise develop renovate "
    "manage take read practise practice code program lead prepare"
)
_PLANNED = word_set("learn move study quit marry start join buy switch retire visit travel leave become")
_POINTING = lazy(
    r"(?:of |with |on |about |to |that |in |at |for )?(?:it|this|that|them|those|these|you|there|here|"
    r"when (?:that|this|it))\b",
    re.IGNORECASE,
)
"""A tail that begins so says nothing to someone who was not there."""
_TRAILING = lazy(r"\b(?:those|these|them)\W*\Z", re.IGNORECASE)
_TELLING = word_set("likes dislikes prefers uses lives_in works speaks studies eats drinks owns plays drives")
"""What is worth keeping even of someone who is only "she"."""
_HABITS = frozenset(["go", "take", "put", "keep", "start", "do", "run", "read", "save"])
_HABITUAL = lazy(r"\b(?:every|always|usually|on \w+days|a (?:shop|company|business|\w+ called)|my own)\b")
"""What makes a habit of something that is otherwise done in passing."""
_HAD_IN_PASSING = lazy(
    r"(?:such |something|anything|everything|nothing|stuff|some |so many |loads |a few |a lot|lots |our |"
    r"it |the (?:same|time|"
    r"feeling)|no |to |a (?:quick )?(?:question|problem|feeling|look|go)|an? (?:issue|error|idea)|been)"
)
_ABILITIES = frozenset(
    ["play", "speak", "swim", "drive", "cook", "code", "sing", "ride", "bake", "juggle", "ski", "type"]
)
_INABILITIES = frozenset(["eat", "drink", "swim", "drive", "stand", "lift", "tolerate", "digest", "ride"])


def is_lasting(clause: Clause, dates: Dates) -> bool:
    """Return whether the clause is known to hold for longer, by itself."""
    if clause.auxiliaries & {"would", "could", "should"} and not _is_rule(clause):
        return False
    if clause.who in (Who.SPEAKER, Who.WE):
        return _first_person(clause, dates)
    return _of_others(clause, dates)


def _is_rule(clause: Clause) -> bool:
    return clause.who is not Who.OTHER and has_cue("rule", bare_words(clause.text))


def _first_person(clause: Clause, dates: Dates) -> bool:
    if _says_little(clause, dates):
        return False
    if clause.is_copula:
        is_passing_state = _PASSING_STATE.match(clause.tail.lower())
        return bool(_LASTING_STATE.match(clause.tail)) or (dates.any and not is_passing_state)
    if clause.auxiliaries & {"will", "may", "might", "shall"}:
        return dates.has_future or (clause.verb in _PLANNED and not clause.is_negated)
    if clause.is_progressive or clause.is_past:
        return _progressive(clause, dates) if clause.is_progressive else _past(clause, dates)
    return _ability(clause) if "can" in clause.auxiliaries else _present(clause, dates)


def _says_little(clause: Clause, dates: Dates) -> bool:
    """Return whether nothing follows the verb, or only what points to something that is not said."""
    if clause.tail.lower() in ("in", "up", "out", "over", "off"):
        return not dates.any
    if not clause.tail:
        return not dates.any and not (clause.is_negated and clause.verb in VERBS and clause.verb != "have")
    if re.match(r",|to\W*\Z", clause.tail) or _TRAILING.search(clause.tail):
        return True
    return not clause.is_copula and not dates.any and bool(_POINTING.match(clause.tail))


def _progressive(clause: Clause, dates: Dates) -> bool:
    if clause.tail.startswith("to ") and clause.verb == "go":
        return dates.has_future or any(clause.tail.startswith(f"to {verb} ") for verb in _PLANNED)
    if "have" in clause.auxiliaries:
        return bool(re.search(r"\b(?:for|since)\b", clause.tail))
    return dates.has_future or clause.verb in _LASTING_PROGRESSIVES


def _past(clause: Clause, dates: Dates) -> bool:
    if "used to" in clause.auxiliaries or (clause.verb == "grow" and clause.tail.startswith("up")):
        return True
    if clause.is_negated:
        return dates.any and clause.verb in EVENT_VERBS
    if clause.verb in ("get", "be"):
        return dates.any or bool(
            re.match(r"(?:married|engaged|promoted|divorced|hired|fired|a (?:new )?\w+)", clause.tail)
        )
    if clause.verb in ("decide", "choose", "agree", "settle", "pick", "promise", "mean"):
        return clause.verb != "mean"
    if clause.verb in STATE_CHANGES or (clause.verb in EVENT_VERBS and clause.verb not in VAGUE_EVENTS):
        return len(clause.tail.split()) >= 2 or dates.any or clause.verb in STATE_CHANGES
    return dates.any and clause.verb not in ("try", "ask", "say", "think", "want", "tell")


def _ability(clause: Clause) -> bool:
    if clause.verb in ("read", "write", "understand"):
        return bool(re.match(r"[A-Z][a-z]+\Z", clause.tail))  # a language
    return clause.verb in (_INABILITIES if clause.is_negated else _ABILITIES)


def _present(clause: Clause, dates: Dates) -> bool:
    tail, verb = clause.tail.lower(), clause.verb
    if verb == "have":
        return bool(tail) and not _HAD_IN_PASSING.match(tail)
    if verb in ("want", "need"):
        return dates.has_future and not tail.startswith("you")
    if verb == "know":
        return not clause.is_negated and bool(re.match(r"(?:how to |(?!I\b)[A-Z])", clause.tail))
    if verb in _HABITS:
        is_business = verb == "run" and bool(re.match(r"(?:an? |my |[A-Z])", clause.tail))
        return is_business or bool(_HABITUAL.search(clause.text))
    is_about_this = verb in ("like", "love", "hate", "enjoy") and re.match(
        r"(?:your|the way|how|when)\b", tail
    )
    return verb not in PASSING_VERBS and not is_about_this


def _of_others(clause: Clause, dates: Dates) -> bool:
    is_passing_subject = clause.who is not Who.OTHER and _PASSING_SUBJECT.match(clause.subject)
    if clause.subject.lower() in ("it", "this", "that") or not clause.tail or is_passing_subject:
        return False
    if clause.is_progressive:
        return dates.has_future
    if clause.auxiliaries & {"will", "can", "may", "might", "must", "should", "shall"}:
        return dates.has_future or _is_rule(clause)
    return _other_being(clause, dates) if clause.is_copula else _other_doing(clause, dates)


def _other_doing(clause: Clause, dates: Dates) -> bool:
    if clause.who is Who.OTHER:
        if _POINTING.match(clause.tail):
            return False
        return VERBS.get(clause.verb) in _TELLING or (clause.verb in THING_VERBS and dates.any)
    if clause.is_negated or clause.tail.startswith("such "):
        return clause.is_negated and clause.verb in VERBS
    if clause.is_past:
        is_of_kin = clause.who is Who.OWNED and KIN.search(clause.subject)
        return dates.any or (bool(is_of_kin) and clause.verb in EVENT_VERBS)
    return clause.verb in THING_VERBS or clause.verb in VERBS


def _other_being(clause: Clause, dates: Dates) -> bool:
    tail, has_owner = clause.tail, bool(re.search(r"['’]s ", clause.subject))
    if _PASSING_STATE.match(tail.lower()):
        return dates.has_future and not dates.has_past
    if clause.who in (Who.OWNED, Who.OURS) or (clause.who is Who.NAMED and has_owner):
        return len(tail) > 1
    if clause.who is Who.OTHER:
        is_of_them = clause.subject.lower().startswith(("his ", "her ", "their "))
        return clause.subject.lower() != "they" and bool(
            (_NAMING if is_of_them else _PERSON_STATE).match(tail)
        )
    if clause.who is Who.NAMED:
        return bool(ROLES.match(tail) or _NAME_STATE.match(tail))
    return dates.any or bool(_THING_STATE.match(tail))


_NAMING = lazy(r"[A-Z]|an? |called|named|\d")
_PERSON_STATE = lazy(r"(?:not )?(?:an? |my |our |from |married|allergic|\d)", re.IGNORECASE)
_NAME_STATE = lazy(
    r"(?:an? |the (?!best|most|only|same|worst|way)|our |my |from |based in|married to|allergic|"
    r"(?:now |also |still )?(?:part of|written in|built (?:in|on|with)|hosted|located|owned by|"
    r"maintained by))",
    re.IGNORECASE,
)
_THING_STATE = lazy(
    r"(?:our|my|called|named|written in|written on|due|hosted|located|part of|owned by|maintained by|"
    r"based on|at [\w-]+[.:@/]|on (?:port|"
    r"the)|(?-i:[A-Z])|\d)",
    re.IGNORECASE,
)


# Name what was found: one of the ten categories, episode or note, how sure, how important.
#
# The kind follows these steps in order of priority: a true temporal marker, the category, (tags, which an
# extractor has none of,) a past doing, and otherwise note.

CONFIDENCE = {
    SpeakerCertainty.EXPLICIT: 1.0,
    SpeakerCertainty.PLAIN: 0.95,
    SpeakerCertainty.HEDGED: 0.5,
    SpeakerCertainty.GUESSED: 0.45,
}
"""By how sure the speaker sounded; below 0.40 a memory is speculative and expires unless it is confirmed."""
FORCE_CONFIDENCE = {Force.HYPOTHETICAL: 0.45, Force.QUOTED: 0.5, Force.HEDGED: 0.5, Force.QUESTION: 0.4}
"""What is not simply told is believed no more than this."""
ASSISTANT_CONFIDENCE = 0.7
FOREIGN_CONFIDENCE = 0.5
"""Of what was pasted or quoted: it was said by somebody, somewhere."""

IMPORTANCE = {
    "correction": 0.8,
    "decision": 0.75,
    "commitment": 0.75,
    "principle": 0.7,
    "relationship": 0.65,
    "preference": 0.6,
    "skill": 0.5,
    "fact": 0.5,
    "entity": 0.5,
    "moment": 0.45,
}
PREDICATE_IMPORTANCE = {
    "is_allergic_to": 0.9,
    "is_named": 0.8,
    "lives_in": 0.7,
    "works_at": 0.7,
    "born_on": 0.7,
    "deadline": 0.8,
    "is_married_to": 0.75,
    "works_as": 0.65,
}
EXPLICIT_BONUS = 0.15

_NOTE_CATEGORIES = frozenset({"preference", "decision", "commitment", "principle", "skill", "correction"})
_RULE = lazy(
    r"(?:please\s+)?(?:always|never)\b|from now on\b|.*\b(?:should|must) (?:never|always|not|be|keep|use|"
    r"have)\b|we (?:must|never|always)\b|.*\bmotto\b|in my opinion\b",
    re.IGNORECASE,
)
_APPOINTMENT = lazy(
    r"\b(?:appointment|meeting|flight|interview|exam|deadline|due|birthday|wedding|retro|standup|demo|"
    r"release|call|trip|goal|launch|presentation|party|concert|surgery|review)\b",
    re.IGNORECASE,
)
_TASTES = frozenset(["likes", "dislikes", "prefers"])
_SKILL_STATE = lazy(
    r"(?:not |very |really )*(?:fluent|good at|bad at|great at|terrible at|proficient|experienced)", re.I
)


def category_of(clause: Clause, dates: Dates, *, is_correction: bool, predicate: str) -> str:
    """Return one of the ten categories; the more telling ones come first."""
    telling = (
        ("correction", is_correction or clause.verb == "mean"),
        ("decision", predicate == "decided"),
        ("commitment", _is_commitment(clause, dates, predicate)),
        ("principle", _is_principle(clause)),
        ("preference", predicate in _TASTES or predicate.startswith(("favourite", "hobby"))),
        ("relationship", _is_relationship(clause, predicate)),
        ("skill", _is_skill(clause, predicate)),
        ("fact", clause.verb in STATE_CHANGES or "used to" in clause.auxiliaries),
        ("moment", _is_moment(clause, dates)),
        ("entity", _is_entity(clause, predicate)),
    )
    return next((category for category, applies in telling if applies), "fact")


def _is_principle(clause: Clause) -> bool:
    return clause.verb == "believe" or (clause.who is not Who.NAMED and bool(_RULE.match(clause.text)))


def _is_moment(clause: Clause, dates: Dates) -> bool:
    """Return whether something happens once: done, or dated from where the speaker stands."""
    if clause.is_past and not clause.is_copula and clause.verb not in ("grow", "have"):
        return True
    return dates.is_relative and (clause.is_past or dates.has_future)


def _is_entity(clause: Clause, predicate: str) -> bool:
    is_thing = clause.who in (Who.NAMED, Who.THING, Who.OURS) and predicate != "works_as"
    return is_thing and clause.is_copula and bool(re.match(r"(?:an?|our|the|called|named)\b", clause.tail))


def _is_commitment(clause: Clause, dates: Dates, predicate: str) -> bool:
    if predicate in ("promised", "deadline", "plans") or "deadline" in clause.subject.lower():
        return True
    if clause.who in (Who.SPEAKER, Who.WE) and clause.auxiliaries & {"will", "shall"}:
        return True
    if clause.is_past:
        return False
    if clause.verb in ("need", "have") and clause.tail.startswith("to "):
        return dates.has_future
    return dates.has_future and (bool(_APPOINTMENT.search(clause.text)) or clause.is_progressive)


def _is_relationship(clause: Clause, predicate: str) -> bool:
    if predicate == "is_married_to":
        return True
    if clause.who is Who.OWNED and KIN.search(clause.subject) and not PETS.search(clause.subject):
        return True
    if clause.is_copula and ROLES.match(clause.tail):
        return True
    return clause.verb == "have" and bool(KIN.search(clause.tail)) and clause.who in (Who.SPEAKER, Who.WE)


def _is_skill(clause: Clause, predicate: str) -> bool:
    if predicate in ("speaks", "learns", "knows"):
        return not clause.is_past and not re.match(r"(?:to|with|about|that)\b", clause.tail)
    if clause.is_copula and clause.who is Who.SPEAKER and _SKILL_STATE.match(clause.tail):
        return True
    if "can" in clause.auxiliaries and not clause.is_negated and clause.who is Who.SPEAKER:
        return True
    return (
        clause.is_progressive
        and "have" in clause.auxiliaries
        and clause.verb in ("code", "program", "play", "work", "cod")
    )


_CHRONIC = word_set("be have grow live work")


def kind_of(clause: Clause, dates: Dates, category: str) -> Kind:
    """Return episode or note, by the first of the steps that applies."""
    if dates.is_relative and dates.has_past:
        return Kind.EPISODE
    if category in _NOTE_CATEGORIES:
        return Kind.NOTE
    if category == "moment":
        return Kind.NOTE if dates.has_future else Kind.EPISODE
    if clause.is_past and "used to" not in clause.auxiliaries and clause.verb not in _CHRONIC:
        return Kind.EPISODE
    return Kind.NOTE  # what is said in the present holds until it is replaced


def importance_of(category: str, predicate: str | None, certainty: SpeakerCertainty) -> float:
    """Return how much the statement matters, by what it is and whether it was asked to be kept."""
    base = max(IMPORTANCE[category], PREDICATE_IMPORTANCE.get(predicate or "", 0.0))
    return round(min(0.95, base + EXPLICIT_BONUS * (certainty is SpeakerCertainty.EXPLICIT)), 2)
