"""
Find what a model meant to say in what it said.

Called by the `parse` functions of the prompts; pure.
Models think aloud, wrap JSON in markdown and talk around it, the small ones most. One JSON object is found
wherever it stands; two that differ are a bad reply, because a turn may hold JSON of its own that the model
repeats. A reason never quotes the reply.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from engram.providers.chat import BadReply

LONGEST_REPLY_CHARACTERS: Final = 256 * 1024
MOST_BRACES: Final = 64  # how many opening braces are tried; prose around an answer has few
DEEPEST: Final = "nested too deeply"

_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n(.*?)```\s*", re.DOTALL)


def spoken(text: str) -> str:
    """Return the reply without the thinking in front of it and without a fence around it."""
    if len(text) > LONGEST_REPLY_CHARACTERS:
        raise BadReply("it is too long")
    thought = _THOUGHT.match(text)
    said = text[thought.end() :] if thought else text
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
