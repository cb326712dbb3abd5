"""What rules and choices without a subject mean, outcomes, and facts in other languages, by their pattern."""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.text.clauses import clauses
from engramdb.text.force import bare_words, has_cue
from engramdb.text.lexicons import LANGUAGES
from engramdb.text.normalize import is_like_a_sentence, lazy
from engramdb.text.withdrawals import is_withdrawal

# Read what has no subject of its own: standing rules, "let's go with", "call me", and an assistant's
# outcomes.
#
# "Always run the linter" holds from now on; "run the linter" is done once and forgotten.


class StandingRule(Struct, frozen=True):
    """A rule, a wish or a choice that holds from now on."""

    category: str = "principle"
    predicate: str | None = None
    object: str | None = None
    is_negated: bool = False


_CHOICE = lazy(
    r"(?:ok(?:ay)?,?\s+)?(?:let['’]s|we['’]ll|i['’]ll)\s+(?:go with|stick with|use)\s+"
    r"(?!(?:the (?:time|moment)|this|that|it)\b)(?P<object>.{3,})",
    re.IGNORECASE,
)
_RATHER = lazy(
    r"(?:i|we)(?:['’]d| would) (?:much |really )?(?:rather (?:\w+ )?|"
    r"prefer )(?P<object>.{2,80}?)(?: (?:than|over|to|if)\b.*|\W*)\Z",
    re.IGNORECASE,
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


def read_rule(sentence: str) -> StandingRule | None:
    """Return the standing rule, wish or choice that a sentence sets, if it does."""
    if sentence.rstrip().endswith("?"):
        return None
    if name := _CALL_ME.match(sentence):
        return StandingRule("preference", "is_named", name["name"])
    if choice := _CHOICE.match(sentence):
        return StandingRule("decision", "decided", choice["object"].rstrip(" .!"))
    if wish := _RATHER.match(sentence):
        return StandingRule("preference", "prefers", wish["object"].rstrip(" .!"))
    words = bare_words(sentence)
    if not has_cue("standing_rule", words) or is_withdrawal(sentence):
        return None
    return StandingRule(is_negated=words.startswith(("never", "do not", "don't")))


def read_outcome(sentence: str) -> list[str]:
    """Return the clauses in which an assistant says what it has done or when it will."""
    if sentence.rstrip().endswith("?"):
        return []
    if done := _DONE.match(sentence):
        return clauses(sentence[done.end() :])
    if not _ACTED.match(sentence):
        return []
    return [part for part in clauses(sentence) if _ACTED.match(part)]


# Languages other than English: only what name, home, work, taste, tools and allergies look like is known. The
# words are stored as they were said, with the speaker as the subject, because rewriting a person in six
# languages would invent more than it would help.


class ForeignFact(Struct, frozen=True):
    """A clause in another language, with what it says of the speaker."""

    text: str
    predicate: str
    object: str
    is_negated: bool = False

    @property
    def category(self) -> str:
        """Return the category, which the predicate decides."""
        return "preference" if self.predicate in ("likes", "dislikes", "prefers") else "fact"


_END = r"(?=[,.;!。！，、]|\s+(?:und|et|y|и|aber|mais|pero|но|seit|depuis|desde|als|comme|como)\b|\Z)"
_WORDS = rf"(?P<object>[^,.;!?。！？，、]{{1,60}}?){_END}"
_PATTERNS = tuple(
    (predicate, lazy(rf"(?<!\w)(?P<head>{said}){_WORDS}", re.IGNORECASE) if one.spaced else lazy(said))
    for one in LANGUAGES.values()
    for predicate, said in one.facts.items()
)
_MARKS = lazy(
    r"[^\x00-\x7f]|\b(?:ich|je|j['’]|mein|yo|vivo|trabajo|soy|me|mi|uso|prefiero|arbeite|travaille|mon)\b",
    re.IGNORECASE,
)
_ENGLISH = lazy(r"\b(?:I|I['’]m|the|is|and|my|you|of|that|with|are)\b")
_NOT = lazy(
    r"\b(?:nicht mehr|nicht|kein|keine|ne .{1,20} (?:pas|plus)|no|ya no|не|больше не)\b", re.IGNORECASE
)
_SEPARATE = lazy(r",?\s+(?:und|et|y|и|aber|mais|pero|но)\s+(?=\S)|[,;，；]\s*", re.IGNORECASE)


def read_foreign(sentence: str) -> list[ForeignFact]:
    """Return what a sentence in another language says of its speaker."""
    if not is_like_a_sentence(sentence) or not _MARKS.search(sentence) or _ENGLISH.search(sentence):
        return []
    pieces = _SEPARATE.split(sentence)
    found = [fact for piece in pieces if (fact := _read(piece.strip(" .!。！")))]
    return found if len(found) == len(pieces) or len(pieces) == 1 else _whole(sentence, found)


def _whole(sentence: str, found: list[ForeignFact]) -> list[ForeignFact]:
    """Keep the sentence together where a comma did not separate two facts."""
    if len(found) != 1:
        return found
    only = found[0]
    return [ForeignFact(sentence.strip(" .!。！"), only.predicate, only.object, only.is_negated)]


def _read(piece: str) -> ForeignFact | None:
    for predicate, pattern in _PATTERNS:
        if match := pattern.search(piece):
            return ForeignFact(piece, predicate, match["object"].strip(), bool(_NOT.search(piece)))
    return None
