"""
Who stands in which relation to what: subject, predicate, object, and what an object takes the place of.

Used by the heuristic extractor on a clause that it keeps. Predicates come from the small vocabulary, so that settling
can compare "I live in Berlin" with "I moved to Paris"; a verb outside it is its own predicate.
Object and what it replaces are the speaker's words, cut where a side remark begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.capture.extract.clauses import Clause, Who
from engram.capture.extract.verbs import third_person
from engram.capture.extract.vocabulary import PETS, VERBS

MAX_OBJECT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate and its object; `is_ended` where the verb itself says that it holds no more."""

    predicate: str
    object: str | None = None
    replaces: str | None = None
    is_ended: bool = False


_SIDE = re.compile(
    r"\s*(?:[,;:(–—]|\b(?:because|since|when|where|who|which|although|though|while|if|these days|any ?more|anymore|"
    r"right now|at the moment|last|yesterday|today|tomorrow|ago|instead of|rather than|on weekends|every|now|"
    r"currently|lately|recently|until|so that|nowadays|again|too|as well|either|at all)\b).*\Z",
    re.IGNORECASE | re.DOTALL,
)
_PLACE_END = re.compile(r"\s+(?:with|for|as|and|in (?:january|february|march|april|may|june|july|august|september|"
                        r"october|november|december|\d{4})|from|near|on|at|about|over|to)\b.*\Z", re.IGNORECASE)  # fmt: skip
_USE_END = re.compile(r"\s+(?:for|as|on|in|to|with|at|over|from|and)\b.*\Z", re.IGNORECASE)
_DETERMINER = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_CHANGE = re.compile(r"(?:back |over |away )?from (?P<old>.+?) to (?P<new>.+)", re.IGNORECASE)
_CHANGE_TO = re.compile(r"(?:back |over )?to (?P<new>.+)", re.IGNORECASE)
_EXCHANGE = re.compile(r"(?P<old>.+?) (?:with|by|for) (?P<new>.+)", re.IGNORECASE)
_INSTEAD = re.compile(r"\binstead of (?P<old>[^,.;!]+)", re.IGNORECASE)
_NOT_BUT = re.compile(r"\bnot (?P<old>[^,.;!]{1,60}?),? but (?P<new>[^,.;!]+)", re.IGNORECASE)
_COMMA_NOT = re.compile(r"(?P<new>[^,]+), (?:and )?not (?P<old>[^,.;!]{1,60})[.!]?\Z", re.IGNORECASE)
_WORK = re.compile(r"(?P<how>at|for|as|in|on|with)\s+(?P<what>.+)", re.IGNORECASE)
_OCCUPATION = re.compile(
    r"an? (?P<job>(?:[\w-]+ ){0,3}?(?:\w+(?:eer|ist|ician|cian|ologist|graphe?r|maker|keeper|yst)|nurse|doctor|teacher|"
    r"developer|programmer|designer|manager|lawyer|student|chef|cook|writer|carpenter|plumber|electrician|farmer|"
    r"professor|researcher|architect|consultant|founder|driver|pilot|librarian|musician|actor|actress|accountant|"
    r"freelancer|director|admin|analyst|translator|mechanic|barber|baker|author|editor|violinist))\b",
    re.IGNORECASE,
)


def relate(clause: Clause) -> Relation:
    """Return what the clause says of its subject."""
    tail = clause.tail.rstrip(" .!…")
    if change := _changed(clause, tail):
        return change
    old = _replaced(tail)
    if clause.is_copula:
        found = _being(clause, tail)
    elif clause.verb == "work":
        found = _working(tail)
    elif clause.verb == "have":
        found = Relation("has_pet" if PETS.search(tail) else "has", _cut(tail))
    else:
        found = _doing(clause, tail)
    return Relation(found.predicate, found.object, old or found.replaces, found.is_ended or "used to" in clause.auxiliaries)


def subject_of(clause: Clause) -> str:
    """Return the subject without the attribute that the predicate names: "my shell is fish" is about me."""
    return clause.subject


def _changed(clause: Clause, tail: str) -> Relation | None:
    """Switched from vim to Helix; moved to Paris; replaced X with Y; joined, left, stopped."""
    verb = clause.verb
    slot = {"move": "lives_in", "relocate": "lives_in"}.get(verb, "uses")
    if verb in ("switch", "move", "change", "migrate", "relocate", "convert", "upgrade"):
        if both := _CHANGE.match(tail):
            return Relation(slot, _place(both["new"]), _bare(both["old"]))
        if to := _CHANGE_TO.match(tail):
            return Relation(slot, _place(to["new"]))
    if verb in ("replace", "swap", "trade", "exchange") and (both := _EXCHANGE.match(tail)):
        return Relation("uses", _bare(_cut(both["new"]) or ""), _bare(both["old"]))
    if verb == "join":
        return Relation("works_at", _place(tail))
    if verb in ("leave", "quit") and clause.is_past and clause.who is Who.SPEAKER:
        return Relation("works_at", _place(tail), is_ended=True)
    if verb in ("stop", "quit") and (doing := re.match(r"(?P<verb>[a-z]+ing)\s+(?P<what>.+)", tail)):
        return Relation(_predicate_of(doing["verb"]), _cut(doing["what"]), is_ended=True)
    return None


def _replaced(tail: str) -> str | None:
    for pattern in (_INSTEAD, _NOT_BUT, _COMMA_NOT):
        if found := pattern.search(tail):
            return _ended(found["old"])
    return None


def _being(clause: Clause, tail: str) -> Relation:
    """I'm allergic to nuts; I'm a nurse; my shell is fish; Tom is my manager."""
    lower = tail.lower()
    if named := re.match(r"(?:not )?(?P<what>allergic to|married to|born (?:on|in)|based in|called|named)\s+(?P<object>.+)", lower):
        predicate = {"allergic to": "is_allergic_to", "married to": "is_married_to", "born on": "born_on",
                     "born in": "born_in", "based in": "lives_in"}.get(named["what"], "is_named")  # fmt: skip
        return Relation(predicate, _place(tail[named.start("object") :]))
    if age := re.match(r"(\d{1,3})(?: years? old\b|\s*\Z)", lower):
        return Relation("age", age.group(1))
    if job := _OCCUPATION.match(tail):
        return Relation("works_as", job["job"])
    if clause.who in (Who.OWNED, Who.OURS, Who.OTHER, Who.THING) and (noun := _attribute(clause.subject)):
        return Relation(noun, _attribute_value(tail))
    return Relation("is", _cut(tail))


def _attribute(subject: str) -> str | None:
    """Return the attribute that a short subject names: "my favourite color" → favourite_color."""
    found = re.fullmatch(r"(?:my|our|his|her|their|the) ((?:[\w-]+ ){0,2}[\w-]+)(?: for .+)?", subject, re.IGNORECASE)
    if found is None:
        return None
    noun = found.group(1).lower().replace("favorite", "favourite")
    known = {"name": "is_named", "full name": "is_named", "birthday": "born_on", "date of birth": "born_on"}
    return known.get(noun, noun.replace(" ", "_"))


def _attribute_value(tail: str) -> str | None:
    value = _cut(tail)
    return re.sub(r"^(?:called|named|on)\s+", "", value) if value else None


def _working(tail: str) -> Relation:
    found = _WORK.search(tail)
    if found is None:
        return Relation("works", _cut(tail) or None)
    how, what = found["how"].lower(), found["what"]
    if how in ("at", "for"):
        return Relation("works_at", _place(what))
    if how == "as":
        return Relation("works_as", _bare(_place(what) or ""))
    return Relation(f"works_{how}", _cut(what))


def _doing(clause: Clause, tail: str) -> Relation:
    predicate = _predicate_of(clause.verb)
    if predicate == "lives_in":
        return Relation(predicate, _place(re.sub(r"^(?:in|at|near|on)\s+", "", tail)))
    if predicate in ("uses", "owns", "drives"):
        return Relation(predicate, _used(tail))
    if predicate == "prefers":
        return Relation(predicate, re.split(r"\s+(?:over|to|rather than|than|instead of|for)\s+", _cut(tail) or "")[0] or None)
    if predicate in ("speaks", "plays", "eats", "drinks", "studies"):
        return Relation(predicate, _used(tail))
    if clause.auxiliaries & {"will"} and not clause.is_past:
        return Relation("promised", _ended(f"{clause.verb} {tail}"))
    return Relation(predicate, _cut(tail) or None)


def _predicate_of(verb: str) -> str:
    """Return the predicate of a verb in any form; an unknown verb is its own."""
    from engram.capture.extract.verbs import bases  # noqa: PLC0415

    for base in bases(verb):
        if base in VERBS:
            return VERBS[base]
    return third_person(bases(verb)[0])


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
