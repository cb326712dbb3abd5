"""
Cut a conversation into exchanges, and say each in one line: what was wanted → what was done.

Called by `history`; pure. Decisions, files and errors are kept in the words that were used; what tools put
out, long code and filler are dropped. Nothing is invented: a line is made of the sentences that were said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.context.isolation import BREAK, one_line
from engram.errors import InvalidQuery
from engram.text.sentences import sentences
from engram.values import Role, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

INTENT_WORDS = 18
ACTION_WORDS = 22
CODE_LINES = 5
"""Longer blocks of code are dropped."""
READ_CHARACTERS = 6_000
"""Of one message that are read for its line."""
FILES_MOST = 4
MESSAGES_MOST = 8
"""After so many messages a new exchange begins: an agent at work may go on for hundreds."""

_FENCE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ENDINGS = (
    "py|pyi|ipynb|js|mjs|jsx|ts|tsx|vue|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|ex|exs|hs|ml|jl|sh|sql|"
    "html|css|scss|md|rst|txt|json|toml|yaml|yml|ini|cfg|conf|env|xml|csv|log|lock|proto|tf|gradle|pdf|svg"
)
_FILE = re.compile(
    rf"(?<![\w/.:@-])(?:~/|\.{{1,2}}/|/)?(?:[\w.@+-]{{1,80}}/){{0,12}}[\w.@+-]{{1,80}}?\.(?:{_ENDINGS})\b(?!\.\w)"
)
"""What looks like a file: `infer_traits` knows better and takes fifty times as long."""
_FILLER = re.compile(
    r"(?i)\A(?:(?:ok(?:ay)?|sure|great|thanks?(?: you)?|thank you|hi|hello|hey|yes|no problem|of course|"
    r"certainly|alright|perfect|got it|well|right|absolutely|done)\b[,.!\s]*)+"
)
_DECIDED = re.compile(
    r"(?i)\b(?:decid\w+|chose|choose|chosen|agreed?|will use|let'?s|we(?:'ll| will)|switch\w*|instead|must|"
    r"should|prefer\w*|never|always|use|keep|entschieden|nehmen|décid\w+|elegi\w+)\b"
)
_DID = re.compile(
    r"(?i)\b(?:add\w*|creat\w+|implement\w*|fix\w*|remov\w+|delet\w+|renam\w+|updat\w+|chang\w+|wrote|write|mov\w+|"
    r"install\w*|deploy\w*|test\w*|refactor\w*|replac\w+|configur\w+|found|ran|run)\b"
)
_WRONG = re.compile(
    r"(?i)\b(?:\w*error\b|\w*exception|fail\w*|crash\w*|broken?|bug|denied|timeout|timed out|refused|"
    r"traceback|fehler|erreur|ошибк\w+)|エラー|错误"
)
_WANTED = re.compile(
    r"(?i)\?|\b(?:please|can you|could you|how|why|what|where|when|which|need|want|make|add|fix|write|"
    r"show|explain)\b"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one side asked and what came of it, up to the next question."""

    said: tuple[Said, ...]

    @property
    def asked(self) -> str:
        """The user's words."""
        return "\n".join(one.content for one in self.said if one.role is Role.USER)

    @property
    def done(self) -> str:
        """The assistant's words."""
        return "\n".join(one.content for one in self.said if one.role is Role.ASSISTANT)


def heard(history: Iterable[Turn | Mapping[str, Any]]) -> list[Said]:
    """Return the messages of a history, given as turns or as chat interfaces write them."""
    found = []
    for one in history:
        role = one.get("role", Role.USER) if isinstance(one, Mapping) else one.role
        content = _words(one.get("content")) if isinstance(one, Mapping) else one.content
        if content.strip():
            found.append(Said(Role(role) if role in list(Role) else Role.USER, content))
    return found


def _words(content: object) -> str:
    """Return the text of a message as chat interfaces write it: a string, a list of parts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise InvalidQuery(f"a message's content must be text or a list of parts, not {type(content).__name__}")


def exchanges(said: Sequence[Said]) -> list[Exchange]:
    """Return the exchanges, oldest first; each begins where the user speaks after somebody else."""
    cut: list[list[Said]] = []
    for one in said:
        is_answered = bool(cut) and any(before.role is not Role.USER for before in cut[-1])
        is_long = bool(cut) and len(cut[-1]) >= MESSAGES_MOST
        if not cut or is_long or (one.role is Role.USER and is_answered):
            cut.append([])
        cut[-1].append(one)
    return [Exchange(tuple(some)) for some in cut]


def exchange_line(exchange: Exchange) -> str:
    """Return an exchange as one line: what was wanted → what was done, with its files and its error."""
    wanted = telling(exchange.asked, (_WANTED, _DECIDED, _WRONG), words=INTENT_WORDS)
    done = telling(exchange.done, (_DECIDED, _WRONG, _DID), words=ACTION_WORDS)
    plain = without_long_code(exchange.asked[:READ_CHARACTERS]).strip()
    wanted = wanted or clipped(one_line(plain).replace(BREAK, " "), INTENT_WORDS)
    line = f"- {wanted or '(nothing)'}" + (f" → {done}" if done else "")
    named = [path for path in files(exchange) if path not in line][:FILES_MOST]
    failure = _failure(exchange, line)
    return line + (f" [{', '.join(named)}]" if named else "") + (f" [{failure}]" if failure else "")


def telling(text: str, cues: Sequence[re.Pattern[str]], *, words: int) -> str:
    """Return the sentence of a text that says most by these cues, within so many words, on one line."""
    found = [one for one in plain_sentences(text) if one]
    if not found:
        return ""
    best = max(found, key=lambda one: (_says(one, cues), -found.index(one)))
    return clipped(one_line(best).replace(BREAK, " "), words)


def decisions(exchange: Exchange) -> list[str]:
    """Return the sentences of an exchange in which something was decided or went wrong."""
    return [
        clipped(one_line(one).replace(BREAK, " "), ACTION_WORDS).rstrip(".")
        for text in (exchange.asked, exchange.done)
        for one in plain_sentences(text)
        if _says(one, (_DECIDED, _WRONG)) and not one.endswith("?")
    ]


def files(exchange: Exchange) -> list[str]:
    """Return the files that an exchange names, as one-line names."""
    read = without_long_code(f"{exchange.asked}\n{exchange.done}"[: 4 * READ_CHARACTERS])[:READ_CHARACTERS]
    return [one_line(path) for path in dict.fromkeys(_FILE.findall(read))]


def plain_sentences(text: str) -> list[str]:
    """Return the sentences of a text without long code and without filler at their beginning."""
    read = without_long_code(text[: 4 * READ_CHARACTERS])[:READ_CHARACTERS]
    return [left for one in sentences(read) if (left := _FILLER.sub("", one).strip())]


def without_long_code(text: str) -> str:
    """Return the text with blocks of code of more than a few lines left out."""
    if "```" not in text:
        return text
    return _FENCE.sub(lambda block: block[0] if block[1].count("\n") <= CODE_LINES else " ", text)


def clipped(text: str, words: int) -> str:
    """Return at most so many words."""
    parts = text.split(" ")
    if len(parts) > words:
        return " ".join(parts[:words]).rstrip(",;:") + " …"
    return text if len(text) <= words * 12 else text[: words * 12] + "…"


def _failure(exchange: Exchange, line: str) -> str:
    """Return what went wrong where the line does not say so already: from the tools' output, too."""
    if _WRONG.search(line):
        return ""
    for one in exchange.said:
        for row in one.content[:READ_CHARACTERS].splitlines():
            if re.search(r"(?:Error|Exception|FAILED|fatal)\b", row):
                return clipped(one_line(row), 12)
    return ""


def _says(sentence: str, cues: Sequence[re.Pattern[str]]) -> int:
    return sum(cue.search(sentence) is not None for cue in cues)
