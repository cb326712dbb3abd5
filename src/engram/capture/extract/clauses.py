"""
Read a clause as subject, verb and rest.

Used by the heuristic extractor; `relations` and `judgement` read the result. A reading, not a grammar: it knows who is
spoken of (the speaker, "we", something of theirs, a name), the verb's base form, its tense and whether it is denied.
A clause that it cannot read gives none, and so states nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from engram.capture.extract.person import ADVERBS
from engram.capture.extract.verbs import bases, is_participle, is_past
from engram.capture.extract.vocabulary import THING_VERBS, VERBS

MAX_SUBJECT_WORDS = 8


class Who(StrEnum):
    """Who a clause speaks of."""

    SPEAKER = "speaker"
    WE = "we"
    OWNED = "owned"
    OURS = "ours"
    THING = "thing"
    NAMED = "named"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause as it was said, taken apart: `lead` `subject` … `verb` `tail`."""

    text: str
    who: Who
    subject: str
    verb: str
    tail: str
    lead: str = ""
    auxiliaries: frozenset[str] = frozenset()
    is_negated: bool = False
    is_past: bool = False
    is_progressive: bool = False

    @property
    def is_copula(self) -> bool:
        """Whether the clause says what its subject is."""
        return self.verb == "be"


_LEAD = re.compile(
    r"(?:(?:for|at|in|on|during|since|due to|because of|every|each|last|this|next|these|yesterday|today|tomorrow|"
    r"tonight|sometimes|usually|currently|now|nowadays|recently|maybe|perhaps|once|from|with|unlike|until|until|"
    r"right now|at the moment|after|before|two|three|four|five|six|a (?:few|year|week|month)|\d+)\b[^.;:,]{0,60}?,?\s+|"
    r"(?:when|while|as|although|though|because|after|before|since|as of|in my opinion)\b[^.;:,]{0,80},\s+)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"(?P<who>i|we)(?=['’]|\s|\Z)", re.IGNORECASE)
_OWNER = re.compile(r"(?P<owner>my|our|his|her|their|the|this)\s+(?=\S)", re.IGNORECASE)
_PRONOUN = re.compile(r"(?P<who>he|she|they|it)(?=['’]|\s)", re.IGNORECASE)
_NAME = re.compile(
    r"(?!(?:I|We|My|Our|The|This|That|These|Those|It|He|She|They|You|Your|A|An|If|When|What|Who|How|Why|Where|There|"
    r"Here|Please|Yes|No|Not|And|But|So|Or|For|In|On|At|To|From|Everything|Something|Nothing|People|Some|Any|All|"
    r"Every|Each|Both|Most|Many|Let|Just|Only|Then|Also|Is|Are|Was|Do|Does|Did|Can|Always|Never|Someone|Everyone)\b)"
    r"(?P<name>(?:(?:Mr|Mrs|Ms|Dr|Prof|Frau|Herr)\.?\s+)?[A-Z][\w’'-]*(?:\s+(?:[A-Z][\w’-]*|v?\d[\w.]*)){0,3})\s+"
)
_STEP = re.compile(
    rf"\s*(?:(?P<adverb>(?:{ADVERBS})\b)|(?P<no>not\b|n[o']t\b)|(?P<auxiliary>['’](?:m|re|ve|ll|d|s)\b|(?:am|is|are|was|"
    r"were|been|have|has|had|do|does|did|will|would|can|could|shall|should|must|may|might|isn|aren|wasn|weren|haven|"
    r"hasn|hadn|don|doesn|didn|won|wouldn|couldn|shouldn|mustn|used to(?= [a-z])|cannot)\b(?:['’]t\b)?))",
    re.IGNORECASE,
)
_CONTRACTED = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'s": "is", "cannot": "can't"}
_WORD = re.compile(r"\s*(?P<word>[A-Za-z]+(?:-[a-z]+)?)\b")
_BE = frozenset(["am", "is", "are", "was", "were", "been"])
_FORMS = THING_VERBS | VERBS.keys()


def read(clause: str) -> Clause | None:
    """Return the clause taken apart, or none where it has no subject and verb that are understood."""
    text = clause.strip()
    found = _read_at(text, "")
    if found is None and (lead := _LEAD.match(text)):
        found = _read_at(text[lead.end() :], lead.group())
    return found


def _read_at(text: str, lead: str) -> Clause | None:
    if first := _FIRST_PERSON.match(text):
        who = Who.SPEAKER if first.group("who").lower() == "i" else Who.WE
        return _verb_group(text, first.end(), who=who, subject=first.group("who"), lead=lead)
    if pronoun := _PRONOUN.match(text):
        return _verb_group(text, pronoun.end(), who=Who.OTHER, subject=pronoun.group("who"), lead=lead)
    if owner := _OWNER.match(text):
        kinds = {"my": Who.OWNED, "our": Who.OURS, "the": Who.THING, "this": Who.THING}
        who = kinds.get(owner.group("owner").lower(), Who.OTHER)
        return _after_noun(text, owner.end(), who=who, lead=lead)
    if name := _NAME.match(text):
        return _after_noun(text, name.end("name"), who=Who.NAMED, lead=lead, least=0)
    return None


def _after_noun(text: str, begin: int, *, who: Who, lead: str, least: int = 1) -> Clause | None:
    """Read on from the first word that is a verb for what stands before it."""
    place, previous = begin, text[:begin].split()[-1] if least == 0 else ""
    for count, match in enumerate(re.finditer(r"[^\s]+", text[begin:])):
        if count > MAX_SUBJECT_WORDS:
            return None
        place, word = begin + match.start(), match.group().strip(",.:;!").lower()
        if count >= least and _is_verb(word, previous):
            return _verb_group(text, place, who=who, subject=text[:place].strip(" ,"), lead=lead)
        if match.group().endswith((".", ";", ":", "!")) and len(word) > 3:
            return None
        previous = word
    return None


def _is_verb(word: str, previous: str) -> bool:
    """Say whether a word after a noun is its verb; a bare form only after a plural, "our clients prefer"."""
    if _STEP.fullmatch(word):
        return word not in ("all", "both", "first", "only", "once", "too", "later")
    if not any(base in _FORMS for base in bases(word)):
        return False
    if word in _FORMS:
        return previous.endswith("s") and not previous.endswith("ss") or previous in ("kids", "children", "people")
    return word.endswith("s") or is_past(word)


def _verb_group(text: str, begin: int, *, who: Who, subject: str, lead: str) -> Clause | None:
    """Read adverbs, auxiliaries and negation up to the main verb."""
    place, auxiliaries, is_negated = begin, [], False
    while step := _STEP.match(text, place):
        if spoken := step.group("auxiliary"):
            plain = spoken.lower().replace("’", "'")
            auxiliaries.append(_CONTRACTED.get(plain, plain.removesuffix("n't").removesuffix("'t")))
            is_negated |= plain.endswith(("n't", "'t", "cannot"))
        is_negated |= bool(step.group("no")) or (step.group("adverb") or "").lower() in ("never", "no longer")
        place = step.end()
    verb, tail = _main_verb(text, place, auxiliaries)
    if not verb:
        return None
    return Clause(
        text=text,
        who=who,
        subject=subject,
        lead=lead,
        verb=_base(verb),
        tail=tail.strip(),
        auxiliaries=frozenset(auxiliaries),
        is_negated=is_negated,
        is_past=_in_past(verb, auxiliaries),
        is_progressive=verb.endswith("ing") and bool(_BE.intersection(auxiliaries)),
    )


def _main_verb(text: str, place: int, auxiliaries: list[str]) -> tuple[str, str]:
    """Return the main verb as it was said, and the rest; "have", "do" and "be" may be it themselves."""
    found = _WORD.match(text, place)
    word = found.group("word").lower() if found else ""
    last = auxiliaries[-1] if auxiliaries else ""
    rest = text[place:]
    if last in _BE:
        return (word, text[found.end() :]) if found and word.endswith("ing") and len(word) > 5 else ("be", rest)
    if last in ("have", "has", "had"):
        if word == "got":
            return "have", text[found.end() :] if found else ""
        return (word, text[found.end() :]) if found and is_participle(word) else ("have", rest)
    if last in ("do", "does") and not any(base in _FORMS for base in bases(word)):
        return "do", rest
    return (word, text[found.end() :]) if found else ("", "")


def _base(verb: str) -> str:
    """Return the base form that is known, or else the likeliest."""
    candidates = bases(verb)
    return next((base for base in candidates if base in VERBS or base in _FORMS), candidates[0])


def _in_past(verb: str, auxiliaries: list[str]) -> bool:
    if "used to" in auxiliaries or {"was", "were", "did", "had"}.intersection(auxiliaries):
        return True
    is_perfect = {"have", "has"}.intersection(auxiliaries) and verb != "have" and not verb.endswith("ing")
    return bool(is_perfect) or (is_past(verb) and not auxiliaries)
