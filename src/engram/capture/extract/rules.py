"""
Read what has no subject of its own: standing rules, "let's go with", "call me", and an assistant's
outcomes.

Used by the heuristic extractor before a sentence is judged as a request, because these look like one.
"Always run the linter" holds from now on; "run the linter" is done once and forgotten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.capture.extract.propositions import clauses
from engram.text.lazy import lazy


@dataclass(frozen=True, slots=True)
class Rule:
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


def read_rule(sentence: str) -> Rule | None:
    """Return the standing rule, wish or choice that a sentence sets, if it does."""
    if sentence.rstrip().endswith("?"):
        return None
    if name := _CALL_ME.match(sentence):
        return Rule(sentence, "preference", "is_named", name["name"])
    if choice := _CHOICE.match(sentence):
        return Rule(choice["choice"], "decision", "decided", choice["object"].rstrip(" .!"))
    if wish := _RATHER.match(sentence):
        return Rule(sentence, "preference", "prefers", wish["object"].rstrip(" .!"))
    standing = _FROM_NOW_ON.match(sentence) or _STANDING.match(sentence)
    standing = standing or _FORBIDDEN.match(sentence) or _ONE_NOT_ANOTHER.match(sentence)
    if standing is None:
        return None
    return Rule(
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
