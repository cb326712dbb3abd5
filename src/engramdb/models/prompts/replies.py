"""Quote memories inside a prompt, and read what a model replied."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from engramdb.models.chat import BadReply
from engramdb.text.pii_spoken import awaited_secret
from engramdb.vault.disclosure import Audience, disclose_text

# Put other people's words into a prompt so that they stay words, and secrets stay on this machine. Every
# prompt quotes through here: a model may run anywhere, so it is told what a model elsewhere may be told.

MARK_CHARACTERS = 12

# Line ends to some readers though JSON leaves them as they are.
_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


def evidence(asked: str, memories: Iterable[Mapping[str, Any]]) -> str:
    """Return memories and the question that they were found for, both as data."""
    return f"{quote(memories, title='MEMORIES')}\n\n{quote([{'question': asked}], title='QUESTION')}"


def quote(records: Iterable[Mapping[str, Any]], *, title: str) -> str:
    """Return the records between two marker lines, such as `BEGIN TURNS 3f…` and `END TURNS 3f…`."""
    safe = [_without_secrets(record) for record in records]
    lines = [json.dumps(record, ensure_ascii=False).translate(_SEPARATORS) for record in safe]
    body = "\n".join(lines)
    mark = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:MARK_CHARACTERS]
    return "\n".join([f"BEGIN {title} {mark}", *lines, f"END {title} {mark}"])


def conversation(messages: Iterable[tuple[str, str]], *, most: int) -> str:
    """Return messages, each a role and its words, as data, each cut to so many characters."""
    heard: list[str] = []
    told: list[dict[str, str]] = []
    for role, words in messages:
        told.append({"role": role, "words": clip(words, most, answering=awaited_secret(heard))})
        heard.append(words)
    return quote(told, title="CONVERSATION")


def clip(words: str, most: int, *, answering: str | None = None) -> str:
    """Return the beginning of a text; secrets are masked first, since half of one is not recognized."""
    safe = disclose_text(words, Audience.REMOTE_MODEL, answering=answering) or ""
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return disclose_text(value, Audience.REMOTE_MODEL)
    if isinstance(value, Mapping):
        return {name: _without_secrets(one) for name, one in value.items()}
    return [_without_secrets(one) for one in value] if isinstance(value, list | tuple) else value


# Find what a model meant to say in what it said.

LONGEST_REPLY_CHARACTERS: Final = 256 * 1024
MOST_BRACES: Final = 64  # how many opening braces are tried; prose around an answer has few
DEEPEST: Final = "nested too deeply"

_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNENDED = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n(.*?)```\s*", re.DOTALL)


def spoken(text: str) -> str:
    """Return the reply without the thinking in front of it and without a fence around it."""
    if len(text) > LONGEST_REPLY_CHARACTERS:
        raise BadReply("it is too long")
    thought = _THOUGHT.match(text)
    said = text[thought.end() :] if thought else text
    if _UNENDED.match(said):
        raise BadReply("it thinks and never answers")
    fenced = _FENCE.fullmatch(said)
    return (fenced.group(1) if fenced else said).strip()


def find_json(text: str) -> Any:
    """Return the value if the reply is JSON throughout, otherwise the one JSON object that it holds."""
    said = spoken(text)
    if not said:
        raise BadReply("it is empty")
    try:
        return json.loads(said)
    except RecursionError:
        raise BadReply(f"it is {DEEPEST}") from None
    except ValueError:
        pass
    found = _objects_in(said)
    if not found:
        raise BadReply("it holds no JSON object that can be read")
    if any(other != found[0] for other in found[1:]):
        raise BadReply("it holds more than one JSON object")
    return found[0]


def _objects_in(said: str) -> list[dict[str, Any]]:
    """Return the outermost objects; a brace that begins none is passed over."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    place = said.find("{")
    for _ in range(MOST_BRACES):
        if place < 0:
            break
        try:
            value, end = decoder.raw_decode(said, place)
        except RecursionError:
            raise BadReply(f"it is {DEEPEST}") from None
        except ValueError:
            end = place + 1
        else:
            found.append(value)
        place = said.find("{", end)
    return found


# Lines that a model writes about numbered statements, each with the numbers that it rests on.

LINE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "statements": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["text", "statements"],
    "additionalProperties": False,
}
"""The form of one line."""


class Line(Struct, frozen=True):
    """One line, and the places, from 0, of the statements that it rests on."""

    text: str
    places: tuple[int, ...]


def numbered(statements: Sequence[str]) -> list[dict[str, Any]]:
    """Return the statements as records, numbered from 1."""
    return [{"number": number, "statement": one} for number, one in enumerate(statements, start=1)]


def read_lines(value: object, *, count: int, name: str) -> tuple[Line, ...]:
    """Return the lines of a reply about that many statements."""
    if not isinstance(value, list):
        raise BadReply(f'it has no list "{name}"')
    found = tuple(line for line in (_line(entry, count) for entry in value) if line is not None)
    if value and not found:
        raise BadReply(f'no entry of "{name}" has a text and numbers of the list')
    return found


def _line(entry: object, count: int) -> Line | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return None
    numbers = entry.get("statements")
    places = {number - 1 for number in numbers if type(number) is int} if isinstance(numbers, list) else set()
    text = " ".join(entry["text"].split())
    return Line(text, tuple(sorted(places))) if text and places and places <= set(range(count)) else None
