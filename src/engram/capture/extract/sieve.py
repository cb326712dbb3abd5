"""
Leave out what states nothing: code, logs, quotations, questions, requests, thanks, what is only imagined.

Used by the heuristic extractor before it reads a sentence. Better to miss a fact than to remember a joke as
one: a sentence that begins as a request or a supposition is dropped whole, whatever else it says.
"""

from __future__ import annotations

import re

from engram.text.lazy import lazy
from engram.text.sentences import is_code_block, sentences

MAX_SENTENCE_CHARACTERS = 600
"""What is longer is no statement but pasted text that has no sentence ends."""

_LETTERS = lazy(r"[^\W\d_]{2}")
_QUOTED_LINE = lazy(r"\s*>")
_CODE_LINE = lazy(
    r"\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|Traceback \(|File \"|at \S+\(|\w+(?:Error|"
    r"Exception):|[$#%] |>>> |\.\.\. |def \w+\(|class \w+[:(]|import \w+|from \S+ import |return\b|"
    r"const \w+|let \w+ ?=|var \w+ ?=|function\b|public |private |static |(?:select|insert|update|delete|"
    r"create) .*\b(?:from|into|set|table)\b.*|#include|</?\w+|[{}\[\]]|\w+\(.*\);?$|(?:INFO|WARN|WARNING|"
    r"ERROR|DEBUG)\b|exit code)",
    re.IGNORECASE,
)
_CODE_END = lazy(r"[;{}]\s*$|=>|\b\w+ = ['\"\d{\[]")

_QUESTION = lazy(
    r"(?:(?:who|what|when|where|why|how|which|whose)(?:'s| is| are| was| were| do| does| did| can| could|"
    r" should| would"
    r"| will| if| about| come| many| much| long)\b|(?:do|does|did|is|are|was|were|can|could|would|will|"
    r"should|shall|have|has|am|may|isn't|aren't|don't|doesn't|didn't|won't|can't|couldn't|wouldn't) "
    r"(?:i|you|we|they|he|she|it|my|your|there|anyone|someone|the|this|that)\b|i wonder\b|i(?:'m|"
    r" am) wondering\b|i was wondering\b|any idea|¿)"
)
_REQUEST_VERBS = (
    "fix|write|explain|translate|summari[sz]e|show|give|help|run|add|make|create|tell|find|list|check|"
    "delete|remove|rename|refactor|deploy|generate|draft|send|open|close|update|change|convert|compare|"
    "describe|implement|install|search|look|try|test|review|rewrite|suggest|recommend|read|print|play|set|"
    "start|stop|use|put|move|build|design|calculate|compute|format|debug|analy[sz]e|think|imagine|pretend|"
    "suppose|assume|let me|let us|act|continue|go|ignore|repeat|provide|schreib|zeig|erkläre?|hilf|mach|"
    "gib|übersetze|écris|explique|montre|aide|fais|donne|escribe|explica|muestra|ayuda|haz|dame|traduce|"
    "напиши|объясни|покажи|помоги|сделай|переведи"
)
_REQUEST = lazy(
    rf"(?:(?:please|kindly|now|then|ok|okay|and|also|so|hey|hi|bitte|"
    rf"now please)[, ]+)*(?:(?:{_REQUEST_VERBS})\b"
    r"|(?:can|could|would|will) (?:you|we)\b|i(?:'d| would) like\b|i (?:want|need) (?:you|help|to know|"
    r"to ask|to see)\b"
    r"|i(?:'m| am) looking for\b|i have (?:a|another|one|some) (?:quick )?questions?\b|remember to\b|"
    r"don't forget to\b"
    r"|let's (?!go with|use|stick with|agree)|don't\b(?! forget that| ever)|do not\b(?! ever)|请|帮我)"
)
_IMAGINED = lazy(
    r"(?:if|imagine|suppose|pretend|assume|assuming|what if|let's say|say i|hypothetically|"
    r"once upon a time|for example|e\.g\.|as the \w+ (?:goes|says)|in the (?:song|movie|book|story)|i wish|"
    r"i hope|in theory|the (?:article|song|book|movie|quote|lyrics|poem|story)\b)|.*\b(?:if i (?:had|were|"
    r"was|lived|could|knew|told)|in which (?:my|i)|could eat a horse|as if i)\b"
)
_GREETING = lazy(
    r"(?:hi|hello|hey|yo|good (?:morning|afternoon|evening|night)|thanks?|thank you|thx|cheers|welcome|"
    r"congrats|congratulations|sorry|bye|goodbye|see you|take care|have a (?:nice|good|great)|"
    r"happy (?:birthday|new year)|haha|lol|wow|oh|ok|okay|sure|yes|yep|yeah|no|nope|great|nice|cool|"
    r"perfect|awesome|got it|i see|never mind|hmm|merci|danke|gracias|спасибо|谢谢|"
    r"ありがとう)\b[^a-z]*(?:[\w' ]{0,40})[^\w]*$"
)


def prose(text: str) -> list[str]:
    """Return the sentences that a person may have meant as statements: no code, logs or quotes."""
    lines = text.splitlines()
    kept = [line for line in lines if not _QUOTED_LINE.match(line) and not _is_code(line)]
    if len(lines) > 1 and any(line.startswith("Traceback (") for line in lines):
        return []
    return [
        sentence
        for sentence in sentences("\n".join(kept))
        if len(sentence) <= MAX_SENTENCE_CHARACTERS
        and _LETTERS.search(sentence)
        and not is_code_block(sentence)
    ]


def is_statement(sentence: str) -> bool:
    """Say whether a sentence, without its opening words, may state something lasting."""
    lower = sentence.lower().replace("’", "'").lstrip(" \"'*_-–—(")
    if (
        lower.rstrip(" \"')*_").endswith(("?", "？"))
        or "?!" in lower
        or lower.endswith(("吗。", "か。", "呢。"))
    ):
        return False
    return not (
        _QUESTION.match(lower) or _REQUEST.match(lower) or _IMAGINED.match(lower) or _GREETING.match(lower)
    )


def _is_code(line: str) -> bool:
    if line.lstrip().startswith(("```", "~~~")):
        return False  # the fence itself; `sentences` keeps its block whole
    return bool(_CODE_LINE.match(line) or _CODE_END.search(line))
