"""
Estimate how many tokens a text costs in a model's context.

Called by `detail` on every write and by `context` when it fills a budget; knows no tokenizer, loads nothing.
Words, digits and marks are counted by script, with weights fitted to the o200k vocabulary: 7 % off on average
where a flat 4.5 characters per token is 13 % off, and 40 % off outside English:
docs/lab/0008-affect-and-topics.md.
"""

from __future__ import annotations

from functools import lru_cache

from engram.text.lazy import lazy

# Tokens per piece, fitted by least squares to o200k counts on chat, notes, code and nine languages:
# for the piece itself, and for each character beyond the first few.
_WEIGHTS = {
    "word": (0.96, 0.09, 6),
    "accented": (2.4, 0.09, 6),
    "cyrillic": (1.6, 0.0, 0),  # Greek too
    "han": (0.86, 0.86, 1),
    "kana": (0.74, 0.74, 1),
    "digits": (1.7, 0.57, 3),
    "marks": (0.72, 0.43, 1),
    "line": (1.3, 0.0, 0),
    "other": (0.5, 0.5, 1),
}
_PIECE = lazy(
    r"(?P<word>[A-Za-z]+(?![^\W\d_\u0370-\U0010ffff]))|(?P<accented>[^\W\d_\u0370-\U0010ffff]+)"
    r"|(?P<cyrillic>[\u0370-\u052f]+)|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)|(?P<kana>[\u3040-\u30ff]+)"
    r"|(?P<digits>\d+)|(?P<marks>[!-/:-@\[-`{-~]+)|(?P<line>\s*\n\s*)|(?P<other>\S)"
)


@lru_cache(maxsize=1024)
def count_tokens(text: str) -> int:
    """Return about how many tokens a text costs; 0 for nothing, at least 1 for something."""
    total = 0.0
    for match in _PIECE.finditer(text):
        first, further, included = _WEIGHTS[match.lastgroup or "other"]
        total += first + further * max(0, match.end() - match.start() - included)
    return max(1, round(total)) if text else 0
