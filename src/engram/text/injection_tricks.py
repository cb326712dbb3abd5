"""
Find the tricks themselves: characters and markup that keep words from a reader's eye.

Called by `injection.scan` with the text as it came; calls nothing. Invisible characters are normal between
emoji, Persian or Devanagari letters, so only those inside Latin words count; a comment in HTML counts when
it talks to a model. A trick is rarely proof: its weight adds to that of what was found behind it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.text.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAGS = lazy("(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0020-\U000e007e]{2,}")
_OVERRIDES = lazy("[\u202d\u202e]")
_INSIDE_WORDS = lazy("(?<=[A-Za-z])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+(?=[A-Za-z ])")
_MIXED_WORD = lazy(
    "(?=[A-Za-z]*[\u0370-\u03ff\u0400-\u052f])(?=[\u0370-\u03ff\u0400-\u052f]*[A-Za-z])"
    "[A-Za-z\u0370-\u03ff\u0400-\u052f]{3,40}"
)
_STYLED = lazy("[\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\U0001d400-\U0001d7ff]")

_COMMENTS = (("<!--", "-->"), ("[//]: # (", ")"), ("/*", "*/"))
_HIDDEN_ELEMENT = lazy(
    r"<[a-z]{1,12}\b[^<>]{0,300}?(?:display\s?:\s?none|visibility\s?:\s?hidden|"
    r"font-size\s?:\s?[01](?:px|pt|em)?\b|opacity\s?:\s?0(?![.\d]*[1-9])|"
    r"color\s?:\s?(?:#fff(?:fff)?|white)\b|(?:left|top|text-indent)\s?:\s?-\d{3,5}|\shidden\b|"
    r"aria-hidden=\"true\")[^<>]{0,300}>(?P<inner>[^<]{1,2000})",
    re.IGNORECASE,
)
_ATTRIBUTE = lazy(
    r"<(?:img|meta|input|a)\b[^<>]{0,300}?\b(?:alt|content|title|value)"
    r"\s?=\s?[\"'](?P<inner>[^\"'<>]{5,500})[\"']",
    re.IGNORECASE,
)
_TALKS_TO_A_MODEL = lazy(
    r"\b(?:ai|a\.i\.|llms?|gpt|chatgpt|claude|gemini|copilot|assistants?|agents?|chatbots?|"
    r"bots?|language models?|models?|prompt|instructions?|"
    r"ignore|disregard|summari[sz]er)\b",
    re.IGNORECASE,
)


def tricks(text: str) -> Iterator[tuple[str, float]]:
    """Yield (reason, weight) for every way in which this text hides something."""
    if not text.isascii():
        yield from _hidden_characters(text)
    if "<" in text or "[//]" in text or "/*" in text:
        for inner in hidden_markup(text):
            if _TALKS_TO_A_MODEL.search(inner):
                yield "hidden markup speaks to a model", 0.6
                return


def _hidden_characters(text: str) -> Iterator[tuple[str, float]]:
    if _TAGS.search(text):
        yield "tag characters", 0.9
    if _OVERRIDES.search(text):
        yield "text direction override", 0.5
    if inside := len(_INSIDE_WORDS.findall(text)):
        yield "invisible characters inside words", 0.5 if inside >= 3 else 0.2
    if mixed := len(_MIXED_WORD.findall(text)):
        yield "words of mixed alphabets", 0.4 if mixed >= 3 else 0.15
    if len(_STYLED.findall(text)) >= 12:
        yield "styled letters", 0.2


def hidden_markup(text: str) -> Iterator[str]:
    """Yield what stands in comments, in elements that are not shown and in attributes."""
    for opening, closing in _COMMENTS:
        yield from _between(text, opening, closing)
    for pattern in (_HIDDEN_ELEMENT, _ATTRIBUTE):
        for match in pattern.finditer(text):
            yield match["inner"]


def _between(text: str, opening: str, closing: str) -> Iterator[str]:
    """Yield what stands between two marks; searched for, as a pattern would be slow on many openings."""
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start + len(opening) : end]
        start = text.find(opening, end)
