"""Relations that a statement expresses: subject, predicate, object."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from engramdb.text.clauses import Clause, Who, clauses, is_third, read
from engramdb.text.grammar import EXCLUSIVE, PETS, VERBS, bases, third_person, to_third_person
from engramdb.text.normalize import lazy
from engramdb.text.sentences import take_opening

# Bring a model's predicate to the vocabulary that settling compares.

_GAP = lazy(r"[\s_-]+")
_KNOWN: Final = EXCLUSIVE | frozenset(VERBS.values()) | {"has_pet", "is_allergic_to", "is"}
_OTHER_WORDS: Final = {
    **dict.fromkeys(["works_for", "employed_by", "is_employed_by", "employed_at"], "works_at"),
    **dict.fromkeys(["moved_to", "relocated_to", "is_based_in", "based_in", "living_in"], "lives_in"),
    **dict.fromkeys(["switched_to", "migrated_to", "changed_to", "is_using"], "uses"),
    **dict.fromkeys(["name", "named", "is_called", "called", "has_name", "name_is"], "is_named"),
    **dict.fromkeys(["occupation", "profession", "has_job"], "works_as"),
    **dict.fromkeys(["allergic_to", "has_allergy", "has_allergy_to"], "is_allergic_to"),
    **dict.fromkeys(["married_to", "is_the_spouse_of"], "is_married_to"),
    **dict.fromkeys(["was_born_in", "birthplace"], "born_in"),
    **dict.fromkeys(["was_born_on", "birthday", "date_of_birth"], "born_on"),
    **dict.fromkeys(["has_a_pet", "owns_pet"], "has_pet"),
    **dict.fromkeys(["is_age", "has_age"], "age"),
}


def canonical(predicate: str) -> str:
    """Return the slot that the predicate names: "Lives in" → lives_in, "loves" → likes."""
    words = _GAP.sub("_", predicate.casefold()).strip("_").replace("favorite", "favourite")
    if words in _OTHER_WORDS:
        return _OTHER_WORDS[words]
    if words in _KNOWN:
        return words
    verb, _, rest = words.partition("_")
    slots = [VERBS[base] for base in bases(verb) if base in VERBS]
    # A preposition belongs to a verb only where the slot has it too: "lives in", but not "plays for".
    return next((slot for slot in slots if not rest or slot.endswith(f"_{rest}")), words)


# Who stands in which relation to what: subject, predicate, object, and what an object takes the place of.
#
# Predicates come from the small vocabulary, so that settling can compare "I live in Berlin" with "I moved
# to Paris"; a verb outside it is its own predicate. Object and what it replaces are the speaker's words,
# cut where a side remark begins.

MAX_OBJECT_CHARACTERS = 120


class ClauseRelation(Struct, frozen=True):
    """A predicate and its object; `is_ended` where the verb itself says that it holds no more."""

    predicate: str
    object: str | None = None
    replaces: str | None = None
    is_ended: bool = False


_SIDE = lazy(
    r"\s*(?:[;(–—]|[,:](?!\d)|\b(?:(?:an?|one|two|three|four|five|six|\d+|an? few|a couple of|"
    r"several)\s+(?:day|"
    r"week|month|year)s?\s+ago|because|since|when|where|who|which|although|though|while|if|these days|"
    r"any ?more|anymore|right now|at the moment|last|next|yesterday|today|tomorrow|ago|instead of|"
    r"rather than|on weekends|every|now|currently|lately|recently|until|so that|nowadays|again|too|as well|"
    r"either|at all)\b).*\Z",
    re.IGNORECASE | re.DOTALL,
)
_PLACE_END = lazy(
    r"\s+(?:with|for|as|and|in (?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december|\d{4})|from|near|on|at|about|over|to)\b.*\Z",
    re.IGNORECASE,
)
_USE_END = lazy(r"\s+(?:for|as|on|in|to|with|at|over|from|and)\b.*\Z", re.IGNORECASE)
_DETERMINER = lazy(r"(?:an?|the)\s+", re.IGNORECASE)
_CHANGE = lazy(r"(?:back |over |away )?from (?P<old>.+?) to (?P<new>.+)", re.IGNORECASE)
_CHANGE_TO = lazy(r"(?:back |over )?to (?P<new>.+)", re.IGNORECASE)
_EXCHANGE = lazy(r"(?P<old>.+?) (?:with|by|for) (?P<new>.+)", re.IGNORECASE)
_INSTEAD = lazy(r"\binstead of (?P<old>[^,.;!]+)", re.IGNORECASE)
_NOT_BUT = lazy(r"\bnot (?P<old>[^,.;!]{1,60}?),? but (?P<new>[^,.;!]+)", re.IGNORECASE)
_COMMA_NOT = lazy(r"(?P<new>[^,]+), (?:and )?not (?P<old>[^,.;!]{1,60})[.!]?\Z", re.IGNORECASE)
_WORK = lazy(r"(?P<how>at|for|as|in|on|with)\s+(?P<what>.+)", re.IGNORECASE)
_LIKED = lazy(
    r"(?:an? (?:\w+ )?fan of|into|passionate about|obsessed with|fond of|keen on)\s+(?:both\s+)?",
    re.IGNORECASE,
)
_STATES = {
    "allergic to": "is_allergic_to",
    "married to": "is_married_to",
    "born on": "born_on",
    "born in": "born_in",
    "based in": "lives_in",
    "called": "is_named",
    "named": "is_named",
    "part of": "part_of",
    "written in": "written_in",
    "located in": "located_in",
    "owned by": "owned_by",
    "maintained by": "maintained_by",
    "due on": "deadline",
    "due by": "deadline",
}
_STATE = lazy(rf"(?:not |now |also |still )?(?P<what>{'|'.join(_STATES)})\s+(?P<object>.+)", re.IGNORECASE)
_HOME = lazy(r"(?:\b(?:my|our|his|her|their)|['’]s) home\Z", re.IGNORECASE)
_IN_PLACE = lazy(r"in (?P<where>.+)", re.IGNORECASE)
_AGE = lazy(r"(\d{1,3})(?: years? old\b|\s*\Z)", re.IGNORECASE)
_ATTRIBUTE = lazy(
    r"(?:my|our|his|her|their|the|[\w .-]{1,40}?['’]s) (?P<noun>(?:[\w-]+ ){0,2}[\w-]+)(?: for .+)?",
    re.IGNORECASE,
)
_OF = lazy(r"the (?P<noun>(?:[\w-]+ ){0,2}[\w-]+) of (?P<owner>.+)", re.IGNORECASE)
"""The deadline of Atlas: its attribute, whichever way round it is said."""
_NO_VALUE = lazy(r"(?:from|at|in|with|about|under|over|near|not|so|very|[a-z]+ed|rate)\b")
"""Words after "my X is" that do not begin what X is."""
_ATTRIBUTES = {
    "name": "is_named",
    "full name": "is_named",
    "birthday": "born_on",
    "date of birth": "born_on",
    "place of birth": "born_in",
    "employer": "works_at",
    "due date": "deadline",
}
_JOB_AT = lazy(r"an? (?:new )?(?:job|position) (?:at|with)\s+(?P<where>.+)", re.IGNORECASE)
_BIRTHDAY = lazy(r"(?:an?|his|her|their|its|my) birthday (?:on|every)\s+(?P<when>.+)", re.IGNORECASE)
_MUST_BE_DONE = lazy(
    r"(?:has to|have to|must|needs? to) (?:ship|launch|go live|be (?:finished|done|ready|delivered|shipped)) "
    r"(?:on|by)\s+(?P<when>.+)",
    re.IGNORECASE,
)
_SWITCHING = frozenset(["switch", "move", "change", "migrate", "relocate", "convert", "upgrade"])
_EXCHANGING = frozenset(["replace", "swap", "trade", "exchange"])
_EMPLOYER = lazy(
    r"(?-i:[A-Z])|(?:my|an?|the) (?:\w+ ){0,2}(?:job|company|startup|firm|bank|agency|team|position)\b",
    re.IGNORECASE,
)
_GOVERNED = {
    ("report", "to"): "reports_to",
    ("belong", "to"): "belongs_to",
    ("depend", "on"): "depends_on",
    ("rely", "on"): "depends_on",
    ("consist", "of"): "consists_of",
}
"""Verbs that say something else with their preposition than without it."""
_ENDED_DOING = lazy(r"(?P<verb>[a-z]+ing)\b(?:\s+(?!(?:in|on|at|since|after|by)\s)(?P<what>.+))?")
_AHEAD = frozenset(["will", "may", "might", "shall"])
_RATHER = lazy(r"\s+(?:over|to|rather than|than|instead of|for)\s+")
_SHORT_OBJECTS = frozenset(["uses", "owns", "drives", "speaks", "plays", "eats", "drinks", "studies"])
"""Predicates whose object ends where "for", "on" or "with" begins."""
_OCCUPATION = lazy(
    r"an? (?P<job>(?:[\w-]+ ){0,3}?(?:\w+(?:eer|ist|ician|cian|ologist|graphe?r|maker|keeper|yst)|nurse|"
    r"doctor|teacher|developer|programmer|designer|manager|lawyer|student|chef|cook|writer|carpenter|"
    r"plumber|electrician|farmer|professor|researcher|architect|consultant|founder|driver|pilot|librarian|"
    r"musician|actor|actress|accountant|freelancer|director|admin|analyst|translator|mechanic|barber|baker|"
    r"author|editor|violinist))\b",
    re.IGNORECASE,
)


def relate(clause: Clause) -> ClauseRelation:
    """Return what the clause says of its subject."""
    tail = clause.tail.rstrip(" .!…")
    if change := _changed(clause, tail):
        return change
    if clause.who is not Who.SPEAKER and (done := _MUST_BE_DONE.search(clause.text)):
        return ClauseRelation("deadline", _cut(done["when"]))
    old = _replaced(tail)
    if clause.is_copula:
        found = _being(clause, tail)
    elif clause.verb == "work":
        found = _working(tail)
    elif clause.verb == "have" and (job := _JOB_AT.match(tail)):
        found = ClauseRelation("works_at", _place(job["where"]))
    elif clause.verb == "celebrate" and (birthday := _BIRTHDAY.match(tail)):
        found = ClauseRelation("born_on", _cut(birthday["when"]))
    elif clause.verb == "have":
        found = ClauseRelation("has_pet" if PETS.search(tail) else "has", _cut(tail))
    else:
        found = _doing(clause, tail)
    return ClauseRelation(
        found.predicate,
        found.object,
        old or found.replaces,
        found.is_ended or "used to" in clause.auxiliaries,
    )


def subject_of(clause: Clause, relation: ClauseRelation, *, speaker: str) -> str:
    """Return who the statement is about, by name; "my shell is fish" is about me, and fish is my shell."""
    if clause.who is Who.SPEAKER:
        return speaker
    subject = to_third_person(clause.subject, name=speaker)
    is_attribute = clause.is_copula and relation.predicate == _attribute(clause.subject)
    if relation.predicate == "lives_in" and (home := _HOME.search(subject)):
        return subject[: home.start()] or speaker
    if not is_attribute:
        return subject
    if of := _OF.fullmatch(subject):
        return of["owner"]
    owner = re.match(r"(.+?)['’]s\s", subject)
    return owner.group(1) if owner else subject


def _changed(clause: Clause, tail: str) -> ClauseRelation | None:
    """Switched from vim to Helix; moved to Paris; replaced X with Y. Only what is done changes anything."""
    if not clause.is_past:
        return None
    slot = "lives_in" if clause.verb in ("move", "relocate") else "uses"
    if clause.verb in _SWITCHING and (both := _CHANGE.match(tail)):
        return ClauseRelation(slot, _place(both["new"]), _bare(both["old"]))
    if clause.verb in _SWITCHING and (to := _CHANGE_TO.match(tail)):
        return ClauseRelation(slot, _place(to["new"]))
    if clause.verb in _EXCHANGING and (both := _EXCHANGE.match(tail)):
        return ClauseRelation("uses", _bare(_cut(both["new"]) or ""), _bare(both["old"]))
    return _begun_or_ended(clause, tail)


def _begun_or_ended(clause: Clause, tail: str) -> ClauseRelation | None:
    """Joined Acme, left Acme, quit my job, stopped smoking."""
    is_employer = _EMPLOYER.match(tail)
    if clause.verb == "join":
        return ClauseRelation("works_at" if is_employer else "joins", _place(tail))
    if clause.verb in ("leave", "quit") and clause.is_past and is_employer:
        return ClauseRelation("works_at", _place(tail), is_ended=True)
    if clause.verb in ("stop", "quit") and (doing := _ENDED_DOING.match(tail)):
        return ClauseRelation(_predicate_of(doing["verb"]), _cut(doing["what"] or ""), is_ended=True)
    return None


def _replaced(tail: str) -> str | None:
    lower = tail.lower()
    if "instead" not in lower and "not " not in lower:
        return None
    for pattern in (_INSTEAD, _NOT_BUT, _COMMA_NOT):
        if found := pattern.search(tail):
            return _ended(found["old"])
    return None


def _being(clause: Clause, tail: str) -> ClauseRelation:
    """I'm allergic to nuts; I'm a nurse; my shell is fish; Tom is my manager."""
    if named := _STATE.match(tail):
        return ClauseRelation(_STATES[named["what"].lower()], _place(named["object"]))
    if _HOME.search(clause.subject) and (place := _IN_PLACE.match(tail)):
        return ClauseRelation("lives_in", _place(place["where"]))
    if age := _AGE.match(tail):
        return ClauseRelation("age", age.group(1))
    if liked := _LIKED.match(tail):
        return ClauseRelation("likes", _cut(tail[liked.end() :]))
    if job := _OCCUPATION.match(tail):
        return ClauseRelation("works_as", job["job"])
    attribute = _attribute(clause.subject) if _NO_VALUE.match(tail) is None else None
    if clause.who in (Who.SPEAKER, Who.WE) or (clause.who is Who.THING and attribute not in EXCLUSIVE):
        attribute = None
    return (
        ClauseRelation(attribute, _attribute_value(tail)) if attribute else ClauseRelation("is", _cut(tail))
    )


def _attribute(subject: str) -> str | None:
    """Return the attribute that a short subject names: "my favourite color" → favourite_color."""
    found = _OF.fullmatch(subject) or _ATTRIBUTE.fullmatch(subject)
    if found is None:
        return None
    noun = found["noun"].lower().replace("favorite", "favourite")
    return _ATTRIBUTES.get(noun, noun.replace(" ", "_"))


def _attribute_value(tail: str) -> str | None:
    value = _cut(tail)
    return re.sub(r"^(?:called|named|on)\s+", "", value) if value else None


def _working(tail: str) -> ClauseRelation:
    found = _WORK.search(tail)
    if found is None:
        return ClauseRelation("works", _cut(tail))
    how, what = found["how"].lower(), found["what"]
    if how in ("at", "for"):
        return ClauseRelation("works_at", _place(what))
    if how == "as":
        return ClauseRelation("works_as", _bare(_place(what) or ""))
    return ClauseRelation(f"works_{how}", _cut(what))


def _doing(clause: Clause, tail: str) -> ClauseRelation:
    first, _, rest = tail.partition(" ")
    if governed := _GOVERNED.get((clause.verb, first.lower())):
        return ClauseRelation(governed, _cut(rest))
    predicate = _predicate_of(clause.verb)
    if predicate == "lives_in":
        place = re.match(r"(?:in|at|near|on)\s+", tail)
        return (
            ClauseRelation(predicate, _place(tail[place.end() :]))
            if place
            else ClauseRelation("lives", _cut(tail))
        )
    if predicate == "prefers":
        return ClauseRelation(predicate, _ended(_RATHER.split(_cut(tail) or "")[0]))
    if predicate in _SHORT_OBJECTS:
        return ClauseRelation(predicate, _used(tail))
    if clause.auxiliaries & _AHEAD and not clause.is_past:
        predicate = "promised" if "will" in clause.auxiliaries else "plans"
        return ClauseRelation(predicate, _ended(f"{clause.verb} {tail}"))
    return ClauseRelation(predicate, _cut(tail))


def _predicate_of(verb: str) -> str:
    """Return the predicate of a verb in any form; an unknown verb is its own."""
    known = next((VERBS[base] for base in bases(verb) if base in VERBS), None)
    return known or third_person(bases(verb)[0])


def _cut(tail: str) -> str | None:
    return _ended(_SIDE.sub("", tail))


def _place(tail: str) -> str | None:
    return _ended(_PLACE_END.sub("", _SIDE.sub("", tail)))


def _used(tail: str) -> str | None:
    return _ended(_USE_END.sub("", _SIDE.sub("", tail)))


def _bare(words: str) -> str | None:
    return _ended(_DETERMINER.sub("", words, count=1)) if words else None


def _ended(words: str) -> str | None:
    """Return the words without outer punctuation, or none where nothing or too much is left."""
    bare = words.strip(" .,!;:…\"'")
    return bare if 0 < len(bare) <= MAX_OBJECT_CHARACTERS else None


# What a single statement says of whom, read from its words.

_JOINED = lazy(r"[;,–—]|\s-\s|\b(?:and|but)\b", re.IGNORECASE)
"""Without one of these there is one clause."""
_FURTHER = lazy(
    r"\b(?:and|but)\s+(?:also |then |now |never |always |currently |once )?"
    r"(?:(?:is|was|has|had|does|did|will|can)\b|(?P<verb>[a-z]+))"
)
_ENDED = lazy(r"\b(?:no longer|any ?more|never)\b", re.IGNORECASE)
SOMEONE = "User"
"""Who speaks, where nobody has said."""


class Stated(Struct, frozen=True):
    """Subject, relation and object of one statement, and what the object takes the place of."""

    subject: str
    predicate: str
    object: str | None
    replaces: str | None
    is_negated: bool


def read_statement(content: str, *, speaker: str | None = None) -> Stated | None:
    """Return what the statement says, or None where it is not understood."""
    clause = read(_clauses(content)[0])
    if clause is None:
        return None
    found = relate(clause)
    return Stated(
        subject=subject_of(clause, found, speaker=speaker or SOMEONE),
        predicate=found.predicate,
        object=found.object,
        replaces=found.replaces,
        is_negated=clause.is_negated or found.is_ended or bool(_ENDED.search(content)),
    )


def says_more(content: str, other: str) -> bool:
    """Return whether one statement says more than another: "Ann lives in Oslo and works at Acme" says two."""
    return _count(content) > _count(other)


def _count(content: str) -> int:
    """Return how many things are said: the clauses, and further verbs of a subject that has a name."""
    return sum(
        1 + sum(1 for found in _FURTHER.finditer(clause) if found["verb"] is None or is_third(found["verb"]))
        for clause in _clauses(content)
    )


def _clauses(content: str) -> list[str]:
    text = take_opening(content).text
    return (clauses(text) if _JOINED.search(text) else []) or [text]
