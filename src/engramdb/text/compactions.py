"""
Summaries that took the place of older messages, as plain statements.

Agents write them as lists under headings. Marks and headings are taken off, and so is what repeats prompts,
shows code, or plans the next hour: it holds for the session alone.
"""

from __future__ import annotations

import re

from engramdb.text.normalize import lazy

_PUT_IN = lazy(r"<analysis>.*?</analysis>|</?summary>", re.DOTALL)
_PREAMBLE = lazy(r"\A.{0,400}?\bsummar(?:y|ized) [^\n]{0,60}:[^\S\n]*+\n", re.DOTALL | re.IGNORECASE)
"""What a program puts before it, such as that the session is continued."""
_HEADING = lazy(r"\s{0,3}(?:\d{1,2}\.|#{1,4})\s++\W*+(?P<title>[^\n]*)|\*\*(?P<bold>[^\n*]+)\*\*:?\s*\Z")
_PASSING = lazy(
    r"(?:all user messages|pending tasks?|current work|(?:optional )?next steps?|files and code|in progress|"
    r"todos?)\b",
    re.IGNORECASE,
)
_MARK = lazy(r"(?<!\s)\s*+(?:[-*•]|\d{1,2}[.)])\s+")
_MAX_TITLE_WORDS = 8


def plain_summary(text: str) -> str:
    """Return what a summary states, a line each, without headings, marks and what is only for now."""
    told = _PUT_IN.sub("", text)
    if preamble := _PREAMBLE.match(told):
        told = told[preamble.end() :]
    lines: list[str] = []
    is_kept, is_code = True, False
    for line in told.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif title := _title(line):
            is_kept = not _PASSING.match(title)
        elif is_kept and not is_code and (words := _MARK.sub("", line, count=1).replace("**", "").strip()):
            lines.append(words)
    return "\n".join(lines)


def _title(line: str) -> str:
    """Return the title that a line gives to those below it, or nothing."""
    found = _HEADING.match(line)
    if found is None:
        return ""
    title = str(found["title"] or found["bold"] or "").strip("* ")
    is_title = title.endswith(":") or found["bold"] or line.lstrip().startswith("#")
    return title if is_title and len(title.split()) <= _MAX_TITLE_WORDS else ""
