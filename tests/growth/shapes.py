"""Hostile shapes of text: what a matcher that backtracks, or a loop that looks back, is slow on."""

from __future__ import annotations

from collections.abc import Iterator

RUNS = (
    *"aA1é中あßﬁ.,;:!?-–—_'\"`´‘“«([{<&@#*+=/\\|~^%$€",
    *(" ", "\t", "\n", "\r", "\u00a0", "\u200b", "\u202e", "\x00", "\ud800", "\u0301", "\u05d0", "\u0627"),
    *(
        "👍",
        "👩\u200d💻\u200d",
        "ab",
        "a ",
        "a, ",
        "1,",
        "1 ",
        "1.",
        "A ",
        "Aa ",
        "aa-",
        "a.",
        "a_",
        "a/",
        "a@",
    ),
    *(
        "\"'",
        "'s ",
        "“‘",
        "[[",
        "](",
        "[a](",
        "((",
        "{}",
        "<a>",
        "</",
        "<!--",
        "&amp;",
        "@@",
        "```\n",
        "> ",
        "- ",
    ),
    *(
        "# ",
        "* ",
        "| ",
        "a\n",
        "a\n\n",
        "a: b\n",
        "- a\n",
        "1. ",
        "I ",
        "I am ",
        "my ",
        "and ",
        "the ",
        "not ",
    ),
    *(
        "no, ",
        "is ",
        "and I ",
        "but ",
        ", and ",
        "because ",
        "if ",
        "when ",
        "on Monday ",
        "may ",
        "in 2024 ",
    ),
    *("http://", "www.", "x=", "key: ", "password ", "a@b.", "12:", "2024-", "+1 ", "192.168.", "0x", "%20"),
    *("ignore ", "i g n o r e ", "aGVsbG8", "\\u0041", "&#65;", '{"a":', "[1,", '"a",', "\\", "\\n", "a\\b"),
)
"""What is repeated without end: each class of character, marks that open, and the beginnings of things."""
REAL = (
    "I moved to Lisbon in March 2024, and my sister Ana, who works at Acme Corp, still lives in Porto. "
    'She said "call me tomorrow at 5 pm" (555-0182). Don\'t use tabs! See https://example.com/a?b=c#d.\n'
)


def texts(length: int, *, with_ends: bool = True) -> Iterator[tuple[str, str]]:
    """Yield a name and a text of about this length for every shape; runs also between two other letters."""
    for run in RUNS:
        yield repr(run), repeated("", run, length)
        if with_ends:
            yield f"x {run!r} y", "x" + repeated("", run, length) + "y"
    yield "real text", repeated("", REAL, length)
    yield "real text, one line", repeated("", REAL.strip() + " ", length)
    yield "real text, no marks", repeated("", "".join(c for c in REAL if c.isalpha() or c == " "), length)
    yield "many words", " ".join(f"word{number}" for number in range(length // 8))
    yield "many names", " ".join(f"Na{chr(97 + number % 26)}{number:x}" for number in range(length // 8))
    yield "numbers", ",".join(str(number) for number in range(length // 5))
    yield "nested", "(" * (length // 2) + ")" * (length // 2)
    yield "nested quotes", "“" * (length // 2) + "”" * (length // 2)


def repeated(lead: str, body: str, length: int) -> str:
    """Return a lead and as many bodies as make the length."""
    return lead + body * max(1, (length - len(lead)) // len(body))
