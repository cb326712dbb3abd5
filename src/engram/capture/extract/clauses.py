"""
Read a clause as subject, verb and rest.

Used by the heuristic extractor; `relations` and `judgement` read the result. A reading, not a grammar: it
knows who is spoken of (the speaker, "we", something of theirs, a name), the verb's base form, its tense and
whether it is denied. A clause that it cannot read gives none, and so states nothing.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import StrEnum

from engram.capture.extract.person import ADVERBS
from engram.capture.extract.verbs import bases, is_participle, is_past, word_set
from engram.capture.extract.vocabulary import THING_VERBS, VERBS
from engram.text.lazy import lazy

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


_NEXT_SUBJECT = r"(?:,\s+|\s+(?=(?:i|we|my|our|i['’]\w+|we['’]\w+)\s))"
_LEAD = lazy(
    r"(?:(?:every|each|last|next|this (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|"
    r"spring|autumn|time)|these days|yesterday|today|tomorrow|tonight|sometimes|usually|currently|now|"
    r"nowadays|recently|lately|maybe|perhaps|right now|at the moment|two|three|four|five|six|a (?:few|year|"
    r"week|month)|\d+)\b"
    rf"[^.;:,]{{0,60}}?{_NEXT_SUBJECT}"
    r"|(?:for|at|in|on|during|due to|because of|since|from|with|unlike|until|after|before|once)\b"
    rf"(?!\s+(?:i|we|he|she|they)\b)[^.;:,]{{0,60}}?{_NEXT_SUBJECT}"
    r"|(?:when|while|as|although|though|because|after|before|since|as of|in my opinion)\b[^.;:,]{0,80},\s+)",
    re.IGNORECASE,
)
_FIRST_PERSON = lazy(r"(?P<who>i|we)(?=['’]|\s|\Z)", re.IGNORECASE)
_JOINT = lazy(r"(?P<who>(?:my [\w-]+|[A-Z]\w+)(?: [A-Z]\w+)? and (?:I|me))(?=\s)")
_PAIR = lazy(r"(?P<who>[A-Z][a-z]+ and [A-Z][a-z]+)(?=\s+(?:are|were|have|will)\b)")
_OWNER = lazy(r"(?P<owner>my|our|his|her|their|the|this)\s+(?=\S)", re.IGNORECASE)
_PRONOUN = lazy(r"(?P<who>he|she|they|it)(?=['’]|\s)", re.IGNORECASE)
_NAME = lazy(
    r"(?!(?:I|We|My|Our|The|This|That|These|Those|It|He|She|They|You|Your|A|An|If|When|What|Who|How|Why|"
    r"Where|There|Here|Please|Yes|No|Not|And|But|So|Or|For|In|On|At|To|From|Everything|Something|Nothing|"
    r"People|Some|Any|All|Every|Each|Both|Most|Many|Let|Just|Only|Then|Also|Is|Are|Was|Do|Does|Did|Can|"
    r"Always|Never|Someone|Everyone|Yesterday|Today|Tomorrow|Tonight|Last|Next|Since|Now|Currently|"
    r"Sometimes|Usually|Maybe|Perhaps|Recently|Lately|After|Before|While|Because|Although|Though|During|"
    r"Due|With|Without|Until|Once|As|Later|Finally|Glad|Lucky|Sorry|Thanks|Good|Great|Nice|Happy|Sure|One|"
    r"Anything|Whatever|Which|Whoever|Life|Nature|Looks|Seems|Sounds|Feels|Hope|Art|Music|Love|Time|Work|"
    r"Part|Being|Kind|Well)\b)(?!\w+ing\b)"
    r"(?P<name>(?:(?:Mr|Mrs|Ms|Dr|Prof|Frau|Herr)\.?\s+)?[A-Z][\w-]*(?:\s+(?:(?!I\b)[A-Z][\w-]*|"
    r"v?\d[\w.]*)){0,3})\s+"
)
_NAMED_OWNER = lazy(
    r"(?P<owner>(?!(?:It|That|This|What|Here|There|Let|He|She|"
    r"Who)\b)[A-Z][\w-]*(?:\s+[A-Z][\w-]*)?)['’]s\s+(?=\S)"
)
_OWNERS = {
    "my": Who.OWNED,
    "our": Who.OURS,
    "the": Who.THING,
    "this": Who.THING,
    "his": Who.OTHER,
    "her": Who.OTHER,
    "their": Who.OTHER,
}
_STEP = lazy(
    rf"\s*(?:(?P<adverb>(?:{ADVERBS})\b)|(?P<no>not\b)|(?P<auxiliary>['’](?:m|re|ve|ll|d|s)\b|"
    r"(?:is|are|was|were|have|has|had|do|does|did|would|could|should|must|wo|ca)n['’]t\b|used to(?= [a-z])|"
    r"(?:am|is|are|was|were|been|have|has|had|do|does|did|will|would|can|could|shall|should|must|may|might|"
    r"cannot)\b))",
    re.IGNORECASE,
)
_CONTRACTED = {
    "'m": "am",
    "'re": "are",
    "'ve": "have",
    "'ll": "will",
    "'d": "would",
    "'s": "is",
    "cannot": "can",
    "can't": "can",
    "won't": "will",
}
_WORD = lazy(r"\s*(?P<word>[A-Za-z]+(?:-[a-z]+)?)\b")
_BE = frozenset(["am", "is", "are", "was", "were", "been"])
_NO_NOUN = word_set("i we you it they me us he she that which who what how if because")
"""Where one of these comes first, what stands before it is not the subject of the next verb."""
_ADVERB = lazy(ADVERBS)
_SINGULAR = word_set("is was has will can must should does doesn't isn't wasn't hasn't won't can't")
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
    for pattern, who in ((_JOINT, Who.WE), (_PAIR, Who.NAMED), (_PRONOUN, Who.OTHER)):
        if found := pattern.match(text):
            return _verb_group(text, found.end(), who=who, subject=found.group("who"), lead=lead)
    if owner := _OWNER.match(text) or _NAMED_OWNER.match(text):
        who = _OWNERS.get(owner.group("owner").lower(), Who.NAMED)
        return _after_noun(text, owner.end(), who=who, lead=lead)
    name = _NAME.match(text)
    return _after_name(text, name.end("name"), lead=lead) if name else None


def _after_name(text: str, begin: int, *, lead: str) -> Clause | None:
    """Read on from the verb of one person or thing, which follows the name at once: "Tom really likes"."""
    clause = _verb_group(text, begin, who=Who.NAMED, subject=text[:begin], lead=lead)
    first = next((word for word in text[begin:].lower().split() if not _ADVERB.fullmatch(word)), "")
    is_singular = first in _SINGULAR or is_third(first)
    return clause if clause and is_singular and (clause.verb in _FORMS or clause.is_copula) else None


def is_third(word: str) -> bool:
    """Say whether a word is what a named person or thing does or did: lives, works, moved."""
    return (word.endswith("s") or is_past(word)) and any(base in _FORMS for base in bases(word))


def _after_noun(text: str, begin: int, *, who: Who, lead: str) -> Clause | None:
    """Read on from the first word that is a verb for what stands before it."""
    place, previous = begin, ""
    spoken = list(itertools.islice(re.finditer(r"\S+", text[begin:]), MAX_SUBJECT_WORDS + 2))
    for match, following in itertools.pairwise([*spoken, None]):
        if match is None:
            break
        place, word = begin + match.start(), match.group().strip(",.:;!").lower()
        is_compound = word in _FORMS and following is not None and following.group().lower() in _SINGULAR
        if previous and not is_compound and _is_verb(word, previous):
            return _verb_group(text, place, who=who, subject=text[:place].strip(" ,"), lead=lead)
        if word in _NO_NOUN or (match.group().endswith((".", ";", ":", "!")) and len(word) > 3):
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
        return (previous.endswith("s") and not previous.endswith("ss")) or previous in (
            "kids",
            "children",
            "people",
        )
    return word.endswith("s") or is_past(word)


def _verb_group(text: str, begin: int, *, who: Who, subject: str, lead: str) -> Clause | None:
    """Read adverbs, auxiliaries and negation up to the main verb."""
    place, auxiliaries, is_negated = begin, [], False
    while step := _STEP.match(text, place):
        if spoken := step.group("auxiliary"):
            plain = spoken.lower().replace("’", "'")
            auxiliaries.append(_CONTRACTED.get(plain, plain.removesuffix("n't")))
            is_negated |= plain.endswith(("n't", "'t", "cannot"))
        is_negated |= bool(step.group("no")) or (step.group("adverb") or "").lower() in ("never", "no longer")
        place = step.end()
    verb, tail = _main_verb(text, place, auxiliaries)
    if not verb:
        return None
    if verb == "stand" and is_negated and "can" in auxiliaries:
        verb, is_negated, auxiliaries = "hate", False, []  # "can't stand" denies nothing
    return Clause(
        text=text,
        who=who,
        subject=subject,
        lead=lead,
        verb=_base(verb),
        tail=tail.strip(" \t\n.!…"),
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
        return (
            (word, text[found.end() :]) if found and word.endswith("ing") and len(word) > 4 else ("be", rest)
        )
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
    known = next((base for base in candidates if base in VERBS or base in _FORMS), None)
    if known or len(candidates) == 1:
        return known or candidates[0]
    with_e, without = candidates[1], candidates[2]
    ends_heavily = re.search(r"(?:[aeiou]{2}|[^aeiou])[^aeiou]\Z", without)
    return without if ends_heavily else with_e


def _in_past(verb: str, auxiliaries: list[str]) -> bool:
    if "used to" in auxiliaries or {"was", "were", "did", "had"}.intersection(auxiliaries):
        return True
    is_perfect = {"have", "has"}.intersection(auxiliaries) and verb != "have" and not verb.endswith("ing")
    return bool(is_perfect) or (is_past(verb) and not auxiliaries)
