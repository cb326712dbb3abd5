"""Fields that several requests have, described once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from engramdb.values import Layer
from engramdb.values.query import MAX_LIMIT
from engramdb.verbs.verb import ScopedRequest, about

MAX_TOKENS = 10_000_000
"""More than any window that a model has; a larger number is a mistake."""

Limit = Annotated[
    int,
    about(
        "The maximum number of results.",
        metavar="N",
        options=("--limit", "-n"),
        told={"minimum": 1, "maximum": MAX_LIMIT},
    ),
]
"""The limits are told, and refused by the engine in its own words."""
MemoryName = Annotated[
    str,
    about(
        "The memory's id, or its last 8 characters.",
        metavar="ID",
        positional=True,
        engine="memory_id",
        told={"examples": ["0197c4a8-3f10-7a3e-9c55-5d2f3f2a9c1b"]},
    ),
]
EXAMPLE_ID = "0197c4a8-3f10-7a3e-9c55-5d2f3f2a9c1b"
TurnName = Annotated[
    str,
    about(
        "The message, by its id or its last 8 characters.",
        metavar="ID",
        positional=True,
        told={"examples": [EXAMPLE_ID]},
    ),
]
GapName = Annotated[
    str,
    about(
        "The question, by its id or its last 8 characters; `gaps` shows it.",
        metavar="GAP",
        positional=True,
        engine="gap_id",
        told={"examples": ["4f1c77ab0d52"]},
    ),
]
Text = Annotated[str, about(metavar="TEXT", positional=True, stdin=True)]
"""On the command line `-` reads it from standard input."""
Question = Annotated[str, about(metavar="QUESTION", positional=True, stdin=True)]
Why = Annotated[str, about("Why, for the history.", metavar="TEXT")]
Share = Annotated[float, about(metavar="SHARE", told={"minimum": 0, "maximum": 1})]
Session = Annotated[str, about("The conversation.", metavar="NAME")]
Moment = Annotated[datetime, about(metavar="TIME", told={"format": "date-time"})]
Tokens = Annotated[int, Meta(le=MAX_TOKENS), about(metavar="TOKENS", told={"minimum": 0})]
BeforeNumber = Annotated[
    int, about("Only those before this one, by its `number`.", metavar="NUMBER", told={"minimum": 1})
]
TargetLayer = Annotated[Layer, about("The layer, instead of the next one.", metavar="NAME")]


class OneMemory(ScopedRequest, frozen=True, kw_only=True):
    """A request about one memory."""

    id: MemoryName


class OneMemoryWithReason(OneMemory, frozen=True, kw_only=True):
    """A change of one memory, with the reason for its history."""

    reason: Why = ""
