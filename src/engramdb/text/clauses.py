"""Read a clause as subject, verb and rest; split a sentence into clauses."""

from __future__ import annotations

import itertools
import re
from enum import StrEnum

from msgspec import Struct

from engramdb.text.grammar import (
    ADVERBS,
    EVENT_VERBS,
    LISTABLE_VERBS,
    PASSING_VERBS,
    THING_VERBS,
    VERBS,
    bases,
    is_participle,
    is_past,
)
from engramdb.text.lexicons import word_set
from engramdb.text.normalize import is_like_a_sentence, lazy

# Read a clause as subject, verb and rest.
#
# A reading, not a grammar: it knows who is spoken of (the
# speaker, "we", something of theirs, a name), the verb's base form, its tense and whether it is denied. A
# clause that it cannot read gives none, and so states nothing.

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


class Clause(Struct, frozen=True, kw_only=True):
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
    """Return whether a word is what a named person or thing does or did: lives, works, moved."""
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
    """Tell whether a word after a noun is its verb; a bare form only after a plural, "our clients prefer"."""
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


# Tell what is done from what is not: "I always use pnpm and never npm" is two statements.

_OPPOSED = lazy(
    r"(?P<lead>\s*(?:[^;]{0,60}?,\s+)??)(?P<who>i|we)\s+(?:[a-z]+ly\s+|always\s+|never\s+)?(?P<verb>[a-z]+)\s+"
    r"(?P<object>[^\s,;][^,;]{0,59}?)(?:,?\s+(?:and|but)|,)\s+"
    r"(?P<how>never|always|rarely|seldom)\s+(?:ever\s+)?(?P<rest>[^\s,;][^,;]{0,59})",
    re.IGNORECASE | re.DOTALL,
)
_NO_OBJECT = lazy(
    r"\b(?:i|we|you|he|she|they|it|that|to|not|always|never|rarely|seldom|who|which|what|when|if|because|"
    r"why|how|whether)\b",
    re.IGNORECASE,
)
"""Where one of these stands, the verb before it has a clause or a second verb behind it."""
_THING = lazy(
    r"(?:(?:at|by|for|from|in|on|with)\s+)?(?:(?:a|an|the|my|our|any|some|this|these|those)\s+)?"
    r"[\w.+#/\ue000-\uf8ff-]+"
    r"(?:\s+(?:or|and|nor|for|in|on|at|with|during|before|after|from)\s+[^,;]+)?[\s.!]*",
    re.IGNORECASE,
)
_NO_THING = (
    EVENT_VERBS
    | PASSING_VERBS
    | THING_VERBS
    | word_set(
        "again been will would can could shall should must may might does did is are was am be has complain "
        "lie skip worry argue hurry laugh relax as at in for on from with without to about by of off out up "
        "down over under before after during since until because when while than then there here alone "
        "enough too very so just really even quite yet it them him her me us that this one once twice"
    )
)
"""
Words with which no object begins: the second half would lose a verb of its own, or the first half's object.

All verbs count that the vocabulary knows, although some are nouns as well: leaving it whole is never wrong.
"""


def opposed(sentence: str) -> list[str]:
    """Return both halves, each with its verb, or the sentence as it is where it has no such halves."""
    found = _OPPOSED.fullmatch(sentence)
    if found is None or found["verb"].lower() not in VERBS or _NO_OBJECT.search(found["object"]):
        return [sentence]
    first = _first(found["rest"])
    has_verb = first in VERBS or is_past(first)
    if not has_verb and not _is_thing(found["rest"], beside=found["object"]):
        return [sentence]
    verb = "" if has_verb else f"{found['verb']} "
    second = f"{found['lead']}{found['who']} {found['how']} {verb}{found['rest']}"
    return [sentence[: found.end("object")], second]


def _is_thing(rest: str, *, beside: str) -> bool:
    """Tell whether it can stand where the other does: "on Fridays" beside "on Mondays", not beside "vim"."""
    first = _first(rest)
    return bool(_THING.fullmatch(rest)) and (first not in _NO_THING or first == _first(beside))


def _first(words: str) -> str:
    return words.split(maxsplit=1)[0].lower().strip(".!")


# Split a sentence into clauses that can be true or false on their own, and lists of objects into one clause
# each.
#
# "I use Rust for the backend and React for the frontend" is two statements, "I like salt and pepper crisps"
# is one: a split is made only where each side reads as a statement with the same subject. Quotations and
# code are never cut.

MAX_LISTED = 8
"""A longer list is an inventory, and stays one statement."""

_HIDDEN = lazy(r"`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|\([^()\n]*\)|https?://\S+")
_MAY_HIDE = ("`", '"', "“", "«", "(", "http")
_SUBJECTS = (
    r"(?:i|i['’](?:m|ve|ll|d)|we|we['’](?:re|ve|ll)|my|our|he|she|they|his|her|their)\b(?!\s+(?:and|or)\b)"
)
_BOUNDARY = lazy(
    rf"\s*;\s+|\s*[–—]\s*|\s*-\s+"
    rf"|,?\s+but\s+(?:now\s+(?=i\b)|then\s+(?=i\b))?(?=\S)"
    rf"|,?\s+and\s+(?:also\s+|that\s+)?(?={_SUBJECTS}|(?:it|that|this|the\s+\w+)\s+(?:is|are|was|were|has|"
    rf"had|runs|uses)\b|it\s+\w+s\b|it['’]s\b)"
    rf"|,\s+so\s+(?!that\b)"
    rf"|,\s+(?=(?:i|i['’](?:m|ve|ll|d)|we|my|our)\b|(?:it|that)(?:['’]s|\s+(?:is|was|\w+s))\b)",
    re.IGNORECASE,
)
_DEPENDENT = lazy(
    r"(?:when|while|because|although|though|since|as|after|before|if|once|until|for|in|on|at|during|due|"
    r"thanks|with|without|from|to|every|last|next|this|these|yesterday|today|tomorrow|sometimes|usually|"
    r"currently|now|maybe|perhaps|recently|despite|unlike|like|given)\b",
    re.IGNORECASE,
)
_AND = lazy(r"\s*,?\s+and\s+(?:then\s+|also\s+)?(?P<verb>[a-z]+)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_FIRST = lazy(
    r"(?P<head>(?:.{0,60}?,?\s)??(?P<who>i|we)(?P<short>['’](?:m|ve|ll|"
    r"re))?)\s+(?:[a-z]+\s+){0,2}?(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_AFTER_VERB = lazy(
    r"\s+(?:as|at|in|for|on|from|with|to|a|an|the|my|our|it|them|him|her|about|every|some|up|remotely|part|"
    r"full|issue|mostly|[A-Z0-9])"
)
_BOUND = (
    r"salt and pepper|fish and chips|mac and cheese|rock and roll|bread and butter|"
    r"black and white|research and development|arts and crafts|drag and drop|"
    r"peanut butter and jelly|gin and tonic|ham and cheese|track and field|"
    r"dungeons and dragons|trial and error|pros and cons|copy and paste|sweet and sour|"
    r"bed and breakfast|wine and cheese|cookies and cream|science and technology|"
    r"mergers and acquisitions|health and safety|food and drinks?|terms and conditions|"
    r"peace and quiet|cut and paste|back and forth|supply and demand|crime and punishment|"
    r"war and peace|pride and prejudice|rhythm and blues"
)
"""Pairs that are one thing."""
_BOUND_PAIRS = lazy(rf"\b({_BOUND})\b", re.IGNORECASE)
_BOUND_FIRST = frozenset(pair.partition(" and ")[0].split()[-1] for pair in _BOUND.split("|"))
_BEFORE_AND = lazy(r"\w+(?= and )")
_SHARED_HEADS = word_set(
    "red white black green blue hot cold sweet sour old new big small classical jazz indoor outdoor early "
    "late front back left right male female salted unsalted long short"
)
_NOT_LISTED = word_set(
    "i we it they he she so then that not to how what when never always rarely seldom ever"
)
_LIST = lazy(r",\s+(?:and\s+|or\s+)?|\s+and\s+|\s*&\s*")
_TAIL = lazy(
    r"\s+(?:for|in|on|at|with|because|when|since|from|to|as|every|during|about|over|by)\s+.*\Z", re.IGNORECASE
)


_SECOND_VERB = lazy(
    r"\b(?:and|but|or)\s+(?:(?:also|then|now|never|always|really|even)\s+)?(?P<verb>[a-z']+)\b"
)


def has_second_verb(clause: str) -> bool:
    """Return whether a clause goes on with another verb of the same subject: "and live in Bonn"."""
    found = (match["verb"] for match in _SECOND_VERB.finditer(clause))
    return any(verb in VERBS or verb in THING_VERBS or is_past(verb) for verb in found)


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence, each with its own subject."""
    if not is_like_a_sentence(sentence):
        return [sentence.strip(" ,;")]
    masked, hidden = _hide(sentence)
    parts = [
        clause for half in opposed(masked) for part in _independent(half) for clause in _shared_subject(part)
    ]
    return [_reveal(part, hidden).strip(" ,;") for part in parts if part.strip(" ,;")]


def listed(clause: str) -> list[str]:
    """Return one clause for each object of a list, or the clause itself where there is no plain list."""
    if not is_like_a_sentence(clause):
        return [clause]
    masked, hidden = _hide(clause)
    found = LISTABLE_VERBS.match(masked)
    if found is None:
        return [clause]
    head, objects = found.group("head"), masked[found.end("head") :].rstrip(" .!")
    items = _items(objects)
    if len(items) < 2:
        return [clause]
    return [_reveal(f"{head}{item}", hidden) for item in items]


def _items(objects: str) -> list[str]:
    """Return the members of a list; what follows only the last of them belongs to all."""
    pieces = [piece.strip() for piece in _LIST.split(objects)]
    if not 1 < len(pieces) <= MAX_LISTED or not all(pieces):
        return []
    tails = [found.group() if (found := _TAIL.search(f" {piece}")) else "" for piece in pieces]
    bare = [
        f" {piece}"[: len(piece) + 1 - len(tail)].strip() for piece, tail in zip(pieces, tails, strict=True)
    ]
    if any(not 1 <= len(words.split()) <= 4 for words in bare) or bare[0].lower() in _SHARED_HEADS:
        return []
    if any(_is_clause(words) for words in bare) or any(_is_doing(words) for words in bare[1:]):
        return []
    if bare[0].lower().startswith(("the ", "how ", "that ")) and not bare[-1].lower().startswith("the "):
        return []  # "the colours, texture and shape" shares its article
    if tails[-1] and not any(tails[:-1]):
        return [f"{words}{tails[-1]}" for words in bare]
    return pieces


def _is_doing(words: str) -> bool:
    """Return whether words begin with a verb and go on: "live in Bonn", "hate camping", but not "hiking"."""
    first, _, rest = words.partition(" ")
    return bool(rest) and first.lower() in VERBS


def _is_clause(words: str) -> bool:
    first = words.split(maxsplit=1)[0].lower()
    return first in _NOT_LISTED or is_past(first)


def _independent(sentence: str) -> list[str]:
    """Return the parts between ; but, and I, so I; a part that leans on the next stays with it."""
    parts: list[str] = []
    begin = 0
    for match in _BOUNDARY.finditer(sentence):
        before, after = sentence[begin : match.start()], sentence[match.end() :]
        is_splice = match.group().strip() == ","
        is_joint = len(before.split()) <= 2 and match.group().strip() == "and"
        if not before.strip() or is_joint or (is_splice and _DEPENDENT.match(before.strip())):
            continue
        if "but" in match.group().lower() and (carried := _contrast(before, after)):
            parts.append(before)
            return [*parts, *_independent(carried)]
        parts.append(before)
        begin = match.end()
    return [*parts, sentence[begin:]]


def _contrast(before: str, after: str) -> str | None:
    """Return the second half of "I'm good at SQL but bad at CSS" with its subject."""
    copula = re.match(r"\s*(i['’]m|i am|we['’]re|we are|my [\w ]{1,30} is)\b", before, re.IGNORECASE)
    if copula and re.match(r"(?:not |very |really )?[a-z]+ (?:at|in|with|of)\b|not\b", after):
        return f"{copula.group(1)} {after}"
    plain = re.match(r"\s*(i|we)\s+(?:really\s+)?([a-z]+)\b", before, re.IGNORECASE)
    if plain and after.startswith("not ") and plain.group(2).lower() in VERBS:
        return f"{plain.group(1)} don't {plain.group(2)} {after.removeprefix('not ')}"
    if plain and not re.match(rf"{_SUBJECTS}|the\b|it\b|[A-Z]", after, re.IGNORECASE):
        return f"{plain.group(1)} {after}" if after.split(maxsplit=1)[0].lower() in VERBS else None
    return None


def _shared_subject(clause: str) -> list[str]:
    """Return "I live in Lisbon" and "I work as a nurse" for "I live in Lisbon and work as a nurse"."""
    first = _FIRST.match(clause)
    joint = _AND.search(clause)
    if first is None or joint is None:
        return [clause]
    verb, rest = joint.group("verb"), joint.group("rest")
    if not _continues(first, verb.lower(), rest):
        return [clause]
    short = first.group("short") or ""
    has_perfect = short in ("'ve", "’ve") or re.search(r"\b(?:i|we) have\b", clause, re.IGNORECASE)
    lead = f"{first.group('who')}{short if has_perfect or short[1:] in ('ll', 'm', 're') else ''}"
    return [clause[: joint.start()], *_shared_subject(f"{lead} {verb}{rest}")]


def _continues(first: re.Match[str], verb: str, rest: str) -> bool:
    """Return whether the word after "and" is a second verb of the same subject, in the same tense."""
    short = (first.group("short") or "").lstrip("'’")
    if short in ("m", "re"):
        return verb.endswith("ing")
    if short == "ve" or is_past(first.group("verb")):
        return is_past(verb) or is_participle(verb)
    if verb not in VERBS or is_past(verb):
        return False
    return bool(_AFTER_VERB.match(rest)) or (
        not rest.strip(" .!") and verb not in ("work", "play", "love", "drive")
    )


def _hide(text: str) -> tuple[str, list[str]]:
    """Return the text with what must not be cut replaced by marks, and what was replaced."""
    hidden: list[str] = []

    def mark(match: re.Match[str]) -> str:
        hidden.append(match.group())
        return f"\ue000{chr(0xE100 + len(hidden) - 1)}"

    masked = _HIDDEN.sub(mark, text) if any(one in text for one in _MAY_HIDE) else text
    if _BOUND_FIRST.isdisjoint(_BEFORE_AND.findall(masked.lower())):
        return masked, hidden
    return _BOUND_PAIRS.sub(mark, masked), hidden


def _reveal(text: str, hidden: list[str]) -> str:
    for place in range(len(hidden) - 1, -1, -1):
        text = text.replace(f"\ue000{chr(0xE100 + place)}", hidden[place])
    return text
