"""
Tell what says nothing worth keeping: filler, output, an agent's talk about its own work.

By lists of words and by shape, in several languages where that is cheap. What is taken for junk here is still
found among the turns.
"""

from __future__ import annotations

import re

from engramdb.text.lexicons import LANGUAGES, any_pattern, word_set
from engramdb.text.line_shapes import plain_words
from engramdb.text.normalize import lazy

_OPENING = " \"'*_-–—("
"""Marks that may stand before the first word."""

_GREETINGS = any_pattern([one.sentences.greetings for one in LANGUAGES.values()])
_GREETING = lazy(rf"(?:{_GREETINGS})\b(?:[\s,]+[\w']+){{0,3}}\W*\Z")
_FILLER = word_set(" ".join(one.sentences.filler for one in LANGUAGES.values()))
_POINTING = word_set(" ".join(one.sentences.pointing for one in LANGUAGES.values()))
_WORDS = lazy(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_REPEATED = lazy(r"(.)\1{2,}")
_LAUGH = lazy(r"(?:[hjx]?[aeiou]h?){2,}\Z|(?:lol)+\Z")
_MASH = lazy(r"(?:[bcdfghjklmnpqrstvwxz]{5,}|(.{1,3})\1{3,}|(?:qwe|asd|zxc|jkl|sdf|dfg)+)", re.IGNORECASE)
_ASIDE = lazy(
    r"(?:brb|bbl|gtg|afk|hang on|hold on|one (?:sec|moment)|(?:just )?(?:a|1) (?:sec|min|moment)|"
    r"gimme a (?:sec|min)|"
    r"(?:sorry,? )?(?:fat fingers|typo|wrong (?:chat|window|tab))|back[.!]|where were we|"
    r"(?:ok )?let me (?:scroll|check|look|see|find|think|try|open|take|read|start|search|run|fix|know)\b|"
    r"bear with me|you there)",
    re.IGNORECASE,
)
"""What is said about the typing itself."""
_PROGRESS = lazy(
    r"(?:(?:sure|okay|ok|great|alright|perfect|right|certainly|of course|absolutely|no problem|done|good)"
    r"[,!. —–-]+(?:thing[,!. ]+)?)*"
    r"(?:(?:now )?(?:let me|let's|i'll|i will|i'm going to|i am going to|i'm|now i'll|next,? i'll|"
    r"first,? i'll)\s+(?:now |just |quickly |first |also |then )*"
    r"(?:take|look|open|check|read|search|start|begin|run|rerun|see|try|find|dig|go|continue|proceed|explore|"
    r"inspect|examine|review|get|do|give|help|add|fix|update|make|write|create|draft|reading|running|"
    r"checking|looking|searching|opening|working|starting|going|adding|fixing|editing)\b"
    r"|(?:running|reading|checking|looking|searching|opening|working|starting|editing|updating|fixing|"
    r"thinking|writing|one moment|here(?:'s| is| are)|below (?:is|are)|i hope|hope (?:this|that)|let me know|"
    r"feel free|happy to|glad|you're (?:very )?welcome|great (?:question|idea|choice|point)|"
    r"good (?:question|idea|point|catch)|apolog\w+|sorry|thank\w*|congrat\w*|would you|do you|should i|"
    r"shall i|want me|anything else|is there anything|give me|hello|hi|goodbye|bye|as an ai|"
    r"(?:nice|good|great|lovely) to (?:meet|see|hear)|good (?:morning|afternoon|evening|night)|"
    r"i can (?:do|help)|i(?: cannot| can't| won't| will not| am unable to|'m unable to|'m not able to) "
    r"(?:look|access|browse|help|do (?:that|this)|see|tell)|"
    r"i (?:have|had) no (?:preferences?|feelings?|opinions?))\b)",
    re.IGNORECASE,
)
"""How an agent talks about what it is about to do, and how it is polite."""


_STATUS = lazy(
    r"(?:(?:ok|okay|done|great|good|and)[,.! ]+)*"
    r"(?:(?:all |the )*(?:\d+ )?(?:\w+ )?(?:tests?|checks?|builds?|ci) (?:now )?"
    r"(?:pass(?:es|ed)?|succeed(?:s|ed)?|(?:is|are) (?:now )?green)(?: now| again)?"
    r"(?:[,.:; ]+\d+ (?:of|/) \d+)?"
    r"|\d+ (?:tests? )?passed(?:[,;] \d+ \w+)*"
    r"|i(?:'ve| have)? (?:now |just )?(?:updated|changed|fixed|edited) (?:the |that |this |both |all )*"
    r"(?:files?|code|tests?|it|them)(?: now| again)?"
    r"|i(?:'ll| will) (?:now )?(?:run|rerun|check|fix|update) (?:the |that |this )*"
    r"(?:files?|code|tests?|it|them)(?: now| again)?)\W*\Z"
)
"""What an agent tells of a moment of its work that the next one overtakes."""
_APPROVAL = lazy(
    r"(?:lgtm\b(?:[,.! ]+(?:ship|merge|push|send) it)?|(?:nice|good|great) (?:work|job|one))\W*\Z"
)


def is_filler(text: str) -> bool:
    """Return whether a sentence says nothing: an acknowledgement, a laugh, a greeting, a mash of keys."""
    lower = text.lower().replace("’", "'")
    if _APPROVAL.match(lower.lstrip(_OPENING)):
        return True
    words = [_REPEATED.sub(r"\1", word) for word in _WORDS.findall(lower)]
    if not words:
        return True
    if _ASIDE.match(lower.lstrip(_OPENING)) and len(words) <= 8:
        return True
    if len(words) <= 3 and all(_MASH.search(word) for word in _WORDS.findall(lower) if len(word) > 2):
        return any(len(word) > 2 for word in words) or not any(sign.isdigit() for sign in text)
    is_plain = not any(sign.isdigit() for sign in text)
    if is_plain and len(words) <= 12 and all(word in _FILLER or _LAUGH.match(word) for word in words):
        return len(words) <= 3 or not all(word in _POINTING for word in words)
    return bool(_GREETING.match(lower.lstrip(_OPENING))) and is_plain and len(words) <= 5


MIN_OUTPUT_WORDS = 5


def is_output(text: str) -> bool:
    """Return whether most of a text is no words: a line of a log, a table, an address."""
    words = text.split()
    return len(words) >= MIN_OUTPUT_WORDS and plain_words(words) * 2 < len(words)


def is_status(text: str) -> bool:
    """Return whether a sentence only tells how far an agent has come: "All tests pass", "I've updated it"."""
    return bool(_STATUS.match(text.lower().replace("’", "'").lstrip(_OPENING)))


def is_progress(text: str) -> bool:
    """Return whether an agent only says what it is about to do, or is polite."""
    return bool(_PROGRESS.match(text.lower().replace("’", "'").lstrip(_OPENING)))
