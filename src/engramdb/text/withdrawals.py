"""
Read that a person takes a rule back: "forget the uv rule", "we can push to main again", "pip is fine now".

Only what names the rule counts, and of several that it could be none is taken: a rule that stays is a small
nuisance, one that is lost by accident a large one. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from engramdb.text.normalize import lazy
from engramdb.text.segments import segments
from engramdb.text.sentences import sentences
from engramdb.text.terms import query_terms
from engramdb.values.memory import Voice

MAX_READ_CHARACTERS = 2000
CLEARER = 1.5
"""How many times as long another rule must be for a name to mean the shorter one."""
_MAYBE = lazy(
    r"\b(?:rule|convention|policy|restriction|requirement|ban)\b|\b(?:now|again|any ?more|any longer)\b",
    re.IGNORECASE,
)
_WHAT = r"([\w./'`+#-]+(?: [\w./'`+#-]+){0,5}?)"
_RULE = r"(?:rule|convention|policy|restriction|requirement|ban)s?"
_TAKEN_BACK = lazy(
    rf"\b(?:forget|drop|scrap|ignore|lift|cancel|remove|undo|ditch|revoke|disregard|never ?mind)"
    rf"(?: about)? (?:the|that|this|my|our|your) {_WHAT} {_RULE}\b"
    rf"|\b(?:the|that|this|my|our) {_WHAT} {_RULE} (?:no longer|doesn'?t|does not|isn'?t|is not|is gone|"
    rf"is off|is history|is lifted|is cancell?ed|can go)\b",
    re.IGNORECASE,
)
_ALLOWED = lazy(
    rf"\b(?:we|you|i) (?:can|may|are allowed to|are free to) (?:now )?{_WHAT} (?:now|again|any ?more)\b"
    rf"|\bit(?:'s| is) (?:ok|okay|fine|allowed|all right) (?:now )?to {_WHAT} (?:now|again)\b"
    rf"|\b{_WHAT} (?:is|are) (?:ok|okay|fine|allowed|all right) (?:now|again)\b",
    re.IGNORECASE,
)
_FORBIDDEN = lazy(
    r"\b(?:never|don'?t|do not|not|no|avoid|stop|without|nobody|no one)\b(?: ever)?(?P<what>[^.;,!?()]*)",
    re.IGNORECASE,
)
_EMPTY = frozenset(query_terms("use do run make go ever again now just"))


class Withdrawal(Struct, frozen=True):
    """What a sentence takes back: the words that name a rule, or what is allowed from now on."""

    terms: frozenset[str]
    is_permission: bool = False

    def meets(self, rule: str) -> bool:
        """Return whether this is about a rule: it names it, or allows the very thing that it forbids."""
        if not self.is_permission:
            return self.terms <= frozenset(query_terms(rule))
        forbidden = (frozenset(query_terms(found["what"])) - _EMPTY for found in _FORBIDDEN.finditer(rule))
        return any(words and words <= self.terms for words in forbidden)


def withdrawals(text: str) -> list[Withdrawal]:
    """Return what a message of a person takes back, in their own words."""
    if not _MAYBE.search(text):
        return []
    own = [one.text for one in segments(text[:MAX_READ_CHARACTERS]) if one.voice is Voice.OWN]
    return [found for part in own for sentence in sentences(part) for found in _read(sentence)]


def _read(sentence: str) -> Iterator[Withdrawal]:
    if sentence.rstrip().endswith("?"):
        return
    for pattern, is_permission in ((_TAKEN_BACK, False), (_ALLOWED, True)):
        for found in pattern.finditer(sentence.replace("’", "'")):
            what = next(words for words in found.groups() if words)
            terms = frozenset(query_terms(what)) - (_EMPTY if is_permission else frozenset())
            if terms:
                yield Withdrawal(terms, is_permission)


def withdrawn(found: Sequence[Withdrawal], rules: Sequence[str]) -> list[int]:
    """Return the places of the rules that are taken back; of several that are named alike, none."""
    places: list[int] = []
    for one in found:
        met = [place for place, rule in enumerate(rules) if one.meets(rule)]
        places += met if one.is_permission else _clearest(met, rules)
    return sorted(set(places))


def _clearest(met: Sequence[int], rules: Sequence[str]) -> list[int]:
    """Return the one of some rules that says little but what it was named by, where there is one."""
    lengths = sorted((len(query_terms(rules[place])), place) for place in met)
    if len(lengths) > 1 and lengths[1][0] < CLEARER * lengths[0][0]:
        return []
    return [place for _, place in lengths[:1]]
