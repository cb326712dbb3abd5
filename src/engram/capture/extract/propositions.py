"""
Split a sentence into clauses that can be true or false on their own, and lists of objects into one clause
each.

Used by the heuristic extractor. "I use Rust for the backend and React for the frontend" is two statements,
"I like salt and pepper crisps" is one: a split is made only where each side reads as a statement with the
same subject. Quotations and code are never cut.
"""

from __future__ import annotations

import re

from engram.capture.extract.opposed import opposed
from engram.capture.extract.verbs import is_participle, is_past, word_set
from engram.capture.extract.vocabulary import LISTABLE_VERBS, VERBS
from engram.text.lazy import lazy

MAX_LISTED = 8
"""A longer list is an inventory, kept as one statement."""

_HIDDEN = lazy(r"`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|\([^()\n]*\)|https?://\S+")
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
_BOUND_PAIRS = lazy(
    r"\b(salt and pepper|fish and chips|mac and cheese|rock and roll|bread and butter|black and white|"
    r"research and development|arts and crafts|drag and drop|peanut butter and jelly|gin and tonic|"
    r"ham and cheese|track and field|dungeons and dragons|trial and error|pros and cons|copy and paste|"
    r"sweet and sour|bed and breakfast|wine and cheese|cookies and cream|science and technology|"
    r"mergers and acquisitions|health and safety|food and drinks?|terms and conditions|peace and quiet|"
    r"cut and paste|back and forth|supply and demand|crime and punishment|war and peace|"
    r"pride and prejudice|rhythm and blues)\b",
    re.IGNORECASE,
)
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


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence, each with its own subject."""
    masked, hidden = _hide(sentence)
    parts = [
        clause for half in opposed(masked) for part in _independent(half) for clause in _shared_subject(part)
    ]
    return [_reveal(part, hidden).strip(" ,;") for part in parts if part.strip(" ,;")]


def listed(clause: str) -> list[str]:
    """Return one clause for each object of a list, or the clause itself where there is no plain list."""
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
    if any(_is_clause(words) for words in bare):
        return []
    if bare[0].lower().startswith(("the ", "how ", "that ")) and not bare[-1].lower().startswith("the "):
        return []  # "the colours, texture and shape" shares its article
    if tails[-1] and not any(tails[:-1]):
        return [f"{words}{tails[-1]}" for words in bare]
    return pieces


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
    """Say whether the word after "and" is a second verb of the same subject, in the same tense."""
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

    return _BOUND_PAIRS.sub(mark, _HIDDEN.sub(mark, text)), hidden


def _reveal(text: str, hidden: list[str]) -> str:
    for place in range(len(hidden) - 1, -1, -1):
        text = text.replace(f"\ue000{chr(0xE100 + place)}", hidden[place])
    return text
