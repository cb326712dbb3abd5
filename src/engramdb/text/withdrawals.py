"""
Read that a person takes a rule back: "forget the uv rule", "we can push to main again", "pip is fine now".

Only what names the rule counts, said outright: not what others say, what is doubted, what depends on
something and what holds for the moment. Of several rules that it could be none is taken: a rule that stays is
a small nuisance, one that is lost by accident a large one. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from engramdb.text.force import read_force, rule_parts, sets_rule
from engramdb.text.normalize import lazy
from engramdb.text.quotations import quotations
from engramdb.text.segments import segments
from engramdb.text.sentences import sentences, take_opening
from engramdb.text.terms import STOP_WORDS, query_terms
from engramdb.values.memory import Voice
from engramdb.values.reading import Force

MAX_READ_CHARACTERS = 2000
MAX_WITHDRAWAL_CHARACTERS = 400
"""A longer text tells something else besides."""
CLEARER = 1.5
"""Another rule must say more than so many times as much for a name to mean the shorter one."""
MIN_QUOTED_WORDS = 3
"""Fewer words in quotation marks are a name."""

# The words of taking back. What follows a word for a rule may name it too: "the rule about pip in CI".
_RULE = r"(?:rules?|conventions?|polic(?:y|ies)|restrictions?|bans?|instructions?|guidelines?)"
_THING = (
    rf"(?:{_RULE}|(?:thing|stuff|business)(?= (?:that |which )?i (?:told|said|mentioned|asked|gave|wrote)))"
)
_THE = r"(?:the|that|this|my|our|your|those|these)"
_WORD = r"[\w./'`+#-]+"
_SHORT = rf"{_WORD}(?: {_WORD}){{0,4}}?"
_ABOUT = r"(?:about|on|against|regarding|concerning|that says|for|not to|to|of)"
_REST = r"[^,.;:!?()]+"
_NAMED = (
    rf"(?:{_THE} (?P<name>{_SHORT}) {_THING}\b(?P<scope> (?:for|in|on|from|inside|within|at|with) {_REST})?"
    rf"|{_THE} {_RULE} {_ABOUT} (?P<about>{_REST})"
    rf"|what i (?:said|told you|wrote) about (?P<said>{_REST}))"
)
_WHOLE = (
    rf"(?:{_THE} (?P<name>{_SHORT}) (?:{_RULE}|requirements?)|{_THE} {_RULE} {_ABOUT} (?P<about>{_SHORT}))"
)
_DROP = (
    r"(?:forget|drop|scrap|ignore|lift|cancel|remove|undo|ditch|revoke|disregard|delete|retire|abandon|"
    r"rescind|withdraw|nvm|never ?mind|take back|get rid of|throw out|stop following|don'?t (?:worry|"
    r"bother)(?= about| with))"
)
_ASKED = (
    r"(?:^|[,;:!–—]\s*|\b(?:and|so|ok|okay|then|also|but|please|pls|just|now|actually|well|yes|yeah|alright|"
    r"let'?s|you (?:can|may|should)|we can|(?:can|could|would|will) you|(?:want|like|need) you to|feel free "
    r"to|go ahead and|time to)\s+)(?:(?:please|pls|just|now|safely|also|all|simply|then)\s+)*"
)
_DROPPED = (
    r"\b(?:(?:i|we)(?:'ve| have)?(?: just| now| finally)? (?:dropped|scrapped|lifted|cancell?ed|removed|"
    r"ditched|revoked|retired|withdrawn|rescinded|abandoned)|(?:i'?m|we'?re|i am|we are)(?: now)? "
    r"(?:dropping|scrapping|lifting|cancell?ing|ditching|revoking|retiring|withdrawing|taking back))"
)
_ENDED = (
    r"(?:(?:is|are|has been|have been|was|were|got)(?: now| officially| finally)? (?:gone|off|over|history|"
    r"dead|void|moot|obsolete|outdated|lifted|cancell?ed|dropped|removed|scrapped|withdrawn|retired|revoked|"
    r"abolished|rescinded|no longer (?:needed|necessary|valid|in (?:force|effect|place)|a thing|relevant))|"
    r"can go|(?:no longer|doesn'?t|does not|don'?t|do not|won'?t) (?:appl(?:y|ies)|holds?|stands?|counts?|"
    r"exists?|matters?)|(?:isn'?t|is not|aren'?t|are not) (?:needed|necessary|valid|in (?:force|effect|"
    r"place)|a thing|relevant))\b"
)
_OBSOLETE = r"(?:now|again|any ?more|any longer|after all)"
_TAKEN_BACK = (
    lazy(rf"{_ASKED}{_DROP}(?: about| with)? {_NAMED}", re.IGNORECASE),
    lazy(rf"{_DROPPED} {_NAMED}", re.IGNORECASE),
    lazy(rf"\b{_WHOLE} {_ENDED}", re.IGNORECASE),
)
_ALLOWED = (
    lazy(
        r"\b(?:we|you|i|people|everyone)(?:'re| are|'m| am)? (?:can|may|allowed to|free to) "
        rf"(?:(?:now|finally|all) )?(?P<what>{_SHORT}) {_OBSOLETE}\b",
        re.IGNORECASE,
    ),
    lazy(rf"\b(?:feel free to|go ahead and) (?P<what>{_SHORT}) (?:now|again)\b", re.IGNORECASE),
    lazy(
        rf"\bit(?:'s| is) (?:ok|okay|fine|allowed|all right) (?:now )?to (?P<what>{_SHORT}) (?:now|again)\b",
        re.IGNORECASE,
    ),
    lazy(
        rf"\b(?P<what>{_SHORT}) (?:is|are) (?:now )?(?:ok|okay|fine|allowed|all right|"
        rf"permitted) {_OBSOLETE}\b",
        re.IGNORECASE,
    ),
)
_RELEASED = (
    lazy(
        rf"\b(?:we|you) (?:(?:don'?t|do not) (?:have|need) to (?P<what>{_SHORT}) {_OBSOLETE}|"
        rf"no longer (?:have|need) to (?P<more>{_SHORT})(?=\W*\Z|[,;]))",
        re.IGNORECASE,
    ),
)
_MAYBE = lazy(
    rf"\b(?:{_THING}|requirements?|what i)\b|\b{_OBSOLETE}\b|\bno longer\b",
    re.IGNORECASE,
)

# What makes it no withdrawal, wherever it stands in the sentence.
_REPORTED = lazy(
    r"\b(?:says?|saying|thinks?|thought|claims?|claimed|reckons?|suggest(?:s|ed)?|hears?|heard|according to|"
    r"apparently|supposedly|allegedly|wants?|insists?|argues?|announced|proposes?|proposed|rumou?rs?|"
    r"believes?)\b(?<!i want)|(?<!\bi )\b(?:said|told|asked|asks|wrote|writes|mentioned|tells)\b",
    re.IGNORECASE,
)
_SPOKEN_BY = lazy(
    r"(?!(?i:update|note|news|good news|fyi|ps|edit|also|correction|reminder|important|decision|decided|new "
    r"rule|ok)\b)[A-Z@][\w-]*(?: [A-Z][\w-]*)?:\s"
)
"""A name before a colon."""
_DOUBTED = lazy(
    r"\b(?:if|unless|once|when(?:ever)?|as soon as|after(?! all)|until|till|(?<!like )(?<!as )before|as "
    r"long as|provided|assuming|suppos(?:e|ing)|imagine|in case|whether|depends|maybe|perhaps|possibly|"
    r"probably|might|hopefully|i (?:think|guess|hope|wish|suppose|doubt|wonder)|unsure|seems?|sounds? like|"
    r"looks? like|not (?:convinced|sure|certain|yet|so fast)|don'?t (?:think|believe|know)|do not (?:think|"
    r"believe|know)|doubt|should we|shall we|would be|could be|make sure|check that|are you sure|do you|jk|"
    r"kidding|soon|later|eventually|some ?day|tomorrow|tonight|next \w+|today|for now|for the moment|"
    r"temporarily|(?:this|just) (?:once|time|week|month|sprint|one)|for (?:this|these|that|those)|(?:from|"
    r"on|by|starting|come) (?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?<!-)only|except|unfortunately "
    r"not)\b",
    re.IGNORECASE,
)
_LIMITED = lazy(
    r"\s*(?:,?\s*(?:but|though|however|just not)\b|(?:on|in|for|from|with|during|at|inside|within|as)\b(?! "
    r"(?:good|ever|now on|usual|before)\b))",
    re.IGNORECASE,
)
"""After what is allowed: not all of it is."""
_SOMEWHERE = lazy(r"(?:on|in|for|at|during|under|inside|within)\b", re.IGNORECASE)
_DENIED = lazy(
    r"\b(?:don'?t|do not|never(?! ?mind)|not|without|why|won'?t|can'?t|cannot|shouldn'?t|must|forbid)\b",
    re.IGNORECASE,
)
_DENIED_THEN = lazy(r"(?:not|never|no|hardly|barely|still not)\b", re.IGNORECASE)
_PURPOSE = lazy(r"\b(?:so(?: that)?|in order that|such that)\s*\Z", re.IGNORECASE)
_NEEDED = lazy(r"\b(?:need|needs|must|have to|has to|should|let's|to be|going to|want)\b", re.IGNORECASE)
_ASKS_POLITELY = lazy(r"\W*(?:and |so |ok |okay )*(?:can|could|would|will) you\b", re.IGNORECASE)
_CLAUSE_ENDS = lazy(r"[,;:.!–—]")
_NO_TELLING = frozenset({Force.QUESTION, Force.HYPOTHETICAL, Force.QUOTED})

# What a rule forbids, and words that name none.
_FORBIDDEN = lazy(
    r"(?:\b(?:never|don'?t|do not|no|avoid|stop|without|nobody|no one)\b|(?<!is )(?<!'s )(?<!are )(?<!was "
    r")\bnot\b(?! even\b| only\b))(?: ever)?(?P<what>[^.;,!?()]*)",
    re.IGNORECASE,
)
_BAN = lazy(r"\b(?:no|never|don'?t|do not|not|without|anti)\b", re.IGNORECASE)
_FURTHER = lazy(r"(?:and |but |also )*(?:no|never|don'?t|do not|avoid|always|not)\b", re.IGNORECASE)
_POLITE = lazy(
    r"\s(?:please|pls|thanks|thx|again|now|any ?more|any longer|then|too|as well|completely|entirely|"
    r"altogether|for good|(?:that )?(?:i|we|you) .*|and .*|but .*|because .*|since .*|it'?s? .*|they .*)\Z",
    re.IGNORECASE,
)
_EMPTY = frozenset(
    query_terms("use using do doing run running make making go going ever just exceptions")
) | frozenset(word for stop in STOP_WORDS for word in query_terms(stop))
_NAMELESS = _EMPTY | frozenset(
    query_terms(
        "rule rules thing always never old stupid silly dumb whole earlier previous existing current "
        "standing annoying good yesterday morning today last week told gave said single"
    )
)


class WithdrawalSort(StrEnum):
    """How a rule is taken back."""

    NAMED = "named"
    """By words that name it: "forget the uv rule"."""
    BANNED = "banned"
    """By what it forbids: "the no-pip rule is off"."""
    ALLOWED = "allowed"
    """By allowing what it forbids: "we can use pip now"."""
    RELEASED = "released"
    """By asking for something no longer: "you don't have to open a PR any more"."""


class Withdrawal(Struct, frozen=True):
    """What a sentence takes back: the words that name a rule, or what is allowed from now on."""

    terms: frozenset[str]
    sort: WithdrawalSort = WithdrawalSort.NAMED

    def meets(self, rule: str) -> bool:
        """Return whether this is about a rule, and about all that it lays down."""
        return all(self._meets_part(part) for part in _laid_down(rule))

    def _meets_part(self, part: str) -> bool:
        bans = [words for found in _FORBIDDEN.finditer(part) if (words := _terms(found["what"]) - _EMPTY)]
        match self.sort:
            case WithdrawalSort.NAMED:
                return self.terms <= _terms(part)
            case WithdrawalSort.BANNED:
                return any(self.terms <= words for words in bans)
            case WithdrawalSort.ALLOWED:
                return bool(bans) and all(words <= self.terms for words in bans)
            case WithdrawalSort.RELEASED:
                return self.terms <= _terms(_FORBIDDEN.sub(" ", part))


def _terms(words: str) -> frozenset[str]:
    """Return the terms of words, those with a hyphen in parts: "force-push" is "force push"."""
    return frozenset(query_terms(words.replace("-", " ")))


def _laid_down(rule: str) -> list[str]:
    """Return what a rule lays down, one by one, each with the sentences that explain it."""
    parts: list[str] = []
    for sentence in sentences(rule):
        for part in rule_parts(sentence):
            if parts and not (sets_rule(part) or _FURTHER.match(part)):
                parts[-1] = f"{parts[-1]} {part}"
            else:
                parts.append(part)
    return parts or [rule]


def withdrawals(text: str) -> list[Withdrawal]:
    """Return what a message of a person takes back, in their own words."""
    if not _MAYBE.search(text):
        return []
    own = [one.text for one in segments(text[:MAX_READ_CHARACTERS]) if one.voice is Voice.OWN]
    return [found for part in own for sentence in sentences(part) for found, _ in _read(sentence)]


def is_withdrawal(text: str) -> bool:
    """Return whether a text of the person only takes rules back, and sets none besides."""
    if len(text) > MAX_WITHDRAWAL_CHARACTERS or not _MAYBE.search(text):
        return False
    every = sentences(text)
    return bool(every) and all(_only_takes_back(sentence) for sentence in every)


def _only_takes_back(sentence: str) -> bool:
    ends = [end for _, end in _read(sentence)]
    if not ends:
        return False
    rest = sentence[max(ends) :].lstrip(" ,;:.–—-")
    return not sets_rule(rest) if rest else True


def _read(sentence: str) -> Iterator[tuple[Withdrawal, int]]:
    """Yield what a sentence takes back, each with the place where its words end."""
    words = _own_words(sentence)
    if _REPORTED.search(words) or _DOUBTED.search(words) or _SPOKEN_BY.match(words):
        return
    is_question = words.rstrip().endswith("?")
    if not is_question and read_force(take_opening(words), in_conversation=True) in _NO_TELLING:
        return
    for pattern in _TAKEN_BACK:
        for found in pattern.finditer(words):
            if not _is_denied(words, found) and (not is_question or _ASKS_POLITELY.match(found.group())):
                yield from _named(found)
    for sort, patterns in ((WithdrawalSort.ALLOWED, _ALLOWED), (WithdrawalSort.RELEASED, _RELEASED)):
        for found in (match for pattern in patterns for match in pattern.finditer(words)):
            if not is_question and _is_general(words, found):
                yield from _permitted(found, sort)


def _own_words(sentence: str) -> str:
    """Return a sentence without what it quotes, and names of rules without their marks."""
    words = sentence.replace("’", "'")
    for start, end in reversed(list(quotations(words))):
        is_name = re.match(rf"\s*{_THING}\b", words[end:], re.IGNORECASE) is not None
        if is_name:
            words = f"{words[:start]}{words[start + 1 : end - 1]}{words[end:]}"
        elif len(words[start:end].split()) >= MIN_QUOTED_WORDS:
            words = f"{words[:start]}…{words[end:]}"
    return words.replace('"', "")


def _clause_before(words: str, found: re.Match[str]) -> str:
    return _CLAUSE_ENDS.split(words[: found.start()])[-1].strip()


def _is_denied(words: str, found: re.Match[str]) -> bool:
    """Return whether the words before turn it round: "please don't forget the uv rule"."""
    return _DENIED.search(_clause_before(words, found)) is not None


def _is_general(words: str, found: re.Match[str]) -> bool:
    """Return whether something is allowed outright: not here and there, and not as the aim of something."""
    before = words[: found.start()]
    if _LIMITED.match(words, found.end()) or _DENIED_THEN.match(_what(found)):
        return False
    if _is_denied(words, found) or _SOMEWHERE.match(take_opening(before).text):
        return False
    aimed = _PURPOSE.search(before)
    if aimed is None or not before[: aimed.start()].strip():
        return True
    told = before[: aimed.start()].strip(" ,")
    is_told = read_force(take_opening(told), in_conversation=True) is Force.ASSERTED
    return is_told and not _NEEDED.search(told)


def _what(found: re.Match[str]) -> str:
    return next((words for words in found.groups() if words), "")


def _permitted(found: re.Match[str], sort: WithdrawalSort) -> Iterator[tuple[Withdrawal, int]]:
    if terms := _terms(_what(found)) - _EMPTY:
        yield Withdrawal(terms, sort), found.end()


def _named(found: re.Match[str]) -> Iterator[tuple[Withdrawal, int]]:
    words = found.groupdict("")
    name = words["name"] or _bare(words["about"] or words.get("said", ""))
    spoken = f"{name} {_bare(words.get('scope', ''))}".replace("-", " ")
    is_ban = _BAN.search(spoken) is not None
    if terms := _terms(spoken) - _NAMELESS - frozenset(query_terms("never no not don't dont")):
        yield Withdrawal(terms, WithdrawalSort.BANNED if is_ban else WithdrawalSort.NAMED), found.end()


def _bare(words: str) -> str:
    """Return words that name a rule without what is said after them."""
    while (shorter := _POLITE.sub("", words)) != words:
        words = shorter
    return words


def withdrawn(found: Sequence[Withdrawal], rules: Sequence[str]) -> list[int]:
    """Return the places of the rules that are taken back; of several that are named alike, none."""
    places: list[int] = []
    for one in found:
        met = [place for place, rule in enumerate(rules) if one.meets(rule)]
        places += met if one.sort is WithdrawalSort.ALLOWED else _clearest(met, rules)
    return sorted(set(places))


def _clearest(met: Sequence[int], rules: Sequence[str]) -> list[int]:
    """Return the one of some rules that says little but what it was named by, where there is one."""
    lengths = sorted((len(_terms(rules[place]) - _NAMELESS), place) for place in met)
    if len(lengths) > 1 and lengths[1][0] <= CLEARER * lengths[0][0]:
        return []
    return [place for _, place in lengths[:1]]
