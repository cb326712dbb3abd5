"""
What a chat model can hold and do, by its name, and how many tokens it makes of a text.

The longest entry of models.toml that a name begins with fits: names are compared as words and numbers, so
dates, sizes, vendors in front and the marks between do not matter. A user's own entries win; a partial one
completes what was found. An unknown name gets a small window and no tools: a prompt too short works, one too
long fails.
"""

from __future__ import annotations

import importlib
import math
import threading
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from engramdb.errors import MissingExtra
from engramdb.settings import check_models
from engramdb.text.normalize import lazy
from engramdb.text.tokens import TOKENIZERS, count_tokens, most_tokens

Words: TypeAlias = tuple[str, ...]

MODELS_PATH: Final = Path(__file__).parent / "models.toml"

UNKNOWN_CONTEXT: Final = 8_192
UNKNOWN_OUTPUT: Final = 1_024

_WORD = lazy(r"\d+(?:\.\d+)?[bm](?![a-z0-9])|[a-z]+|\d+")
"""A size such as 8b is one word: "qwen3:8b" is no version 3.8."""
_HOSTS = """
ai amazon anthropic apac azure bedrock cohere deepseek eu fireworks ft global google groq hf jp lmstudio meta
microsoft minimax mistral mistralai models moonshot moonshotai nvidia ollama openai openrouter qwen together
us vertex x xai zai
"""
_ROUTES: Final = frozenset(_HOSTS.split())
"""Words that vendors and hosts put in front of a model's name."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a model can hold and do."""

    name: str
    """As it was asked for."""
    context_window: int = UNKNOWN_CONTEXT
    """Tokens of the prompt and the reply together."""
    output_limit: int = UNKNOWN_OUTPUT
    """Tokens of one reply."""
    tools: bool = False
    """Whether it can be given functions to call."""
    vision: bool = False
    """Whether it sees pictures."""
    thinking: bool = False
    """Whether it may think before it answers; that is paid from the reply."""
    tokenizer: str = "unknown"
    """The name of its tokenizer, for `counter_for`."""
    vendor: str = ""
    is_known: bool = False
    """Whether the registry or the user has an entry for it; else these are cautious guesses."""


def capabilities(name: str, *, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Capabilities:
    """
    Return what a model can hold and do.

    `overrides` are the `[models.…]` tables of the settings: by name, any of context, output, tools, vision,
    thinking, tokenizer and vendor. One applies to its name and to those that begin with it, unless the
    registry has a longer entry: an override of gpt-4 leaves gpt-4o alone.
    """
    registered, length = _longest(name, registry())
    found = replace(registered, name=name) if registered else Capabilities(name=name)
    check_models(overrides or {})
    own = {_words(key): entry for key, entry in (overrides or {}).items()}
    entry, own_length = _longest(name, own)
    if entry is None or own_length < length:
        return found
    return _completed(found, entry)


def _completed(found: Capabilities, entry: Mapping[str, Any]) -> Capabilities:
    """Return the capabilities with the entry's fields; a smaller window takes the reply along."""
    fields = {_FIELDS.get(field, field): value for field, value in entry.items()}
    window = fields.get("context_window", found.context_window)
    fields.setdefault("output_limit", min(found.output_limit, window))
    return replace(found, **fields, is_known=found.is_known or "context" in entry)


_FIELDS: Final = {"context": "context_window", "output": "output_limit"}


@cache
def registry() -> Mapping[Words, Capabilities]:
    """Return every entry of models.toml by its words, in the order of the file."""
    listed = tomllib.loads(MODELS_PATH.read_text("utf-8"))
    return {_words(one.name): one for vendor, group in listed.items() for one in _entries(vendor, group)}


def _entries(vendor: str, group: Mapping[str, Any]) -> Iterator[Capabilities]:
    for entry in group["models"]:
        can = entry.get("can", ())
        yield Capabilities(
            name=entry["name"],
            context_window=entry["context"],
            output_limit=entry["output"],
            tools="tools" in can,
            vision="vision" in can,
            thinking="thinking" in can,
            tokenizer=entry.get("tokenizer", group["tokenizer"]),
            vendor=vendor,
            is_known=True,
        )


def _words(name: str) -> Words:
    return tuple(_WORD.findall(name.lower()))


def _longest(name: str, entries: Mapping[Words, Any]) -> tuple[Any, int]:
    """Return the entry with the most words that a name begins with, hosts in front or not, and how many."""
    best: Any = None
    most = 0
    for words in _beginnings(name):
        for length in range(len(words), most, -1):
            if words[:length] in entries:
                best, most = entries[words[:length]], length
                break
    return best, most


def _beginnings(name: str) -> Iterator[Words]:
    """Yield the words of a name, whole and without each of the hosts in front of it."""
    yield _words(name)
    words = _words(name.rstrip("/").rpartition("/")[2])
    yield words
    while words and words[0] in _ROUTES:
        words = words[1:]
        yield words


# Token counts. Nothing is ever downloaded: o200k and cl100k come inside the package of the extra `tokens`,
# whose vocabulary is loaded on the first count. The others are estimates: fitted to the vendor's own
# tokenizer where one could be had, a stand-in where not.

EXACT: Final = ("o200k", "cl100k")

STAND_INS: Final = {
    "gemini": "tekken",  # Gemini and Gemma: twice the vocabulary, digits one by one too
    "grok": "tekken",
    "cohere": "tekken",
    "gpt6": "o200k",
    "qwen3.5": "qwen",
    "other": "qwen",
    "unknown": "mistral",  # the smallest vocabulary that was measured and so nearly the most tokens
}
"""Tokenizers that nobody could measure offline, and the measured one that each is reckoned as."""
STAND_IN_FACTOR: Final = 1.1
"""What a stand-in's count is raised by: a guess on the safe side, and called one."""


class TokenCounter(Protocol):
    """What can count tokens."""

    @property
    def name(self) -> str:
        """Return the name of the tokenizer."""
        ...

    @property
    def is_exact(self) -> bool:
        """Return whether counts are those of the tokenizer itself."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of a text: exactly, or about."""
        ...

    def most(self, text: str) -> int:
        """Return a number of tokens that the text hardly ever exceeds: the count itself where it is exact."""
        ...


class EstimatedCounter(Struct, frozen=True):
    """Counts by measured ratios."""

    name: str
    column: str
    """The tokenizer whose ratios are used."""
    factor: float = 1.0
    is_exact: bool = False

    def count(self, text: str) -> int:
        """Return about how many tokens a text has."""
        return round(self.factor * count_tokens(text, self.column))

    def most(self, text: str) -> int:
        """Return what the text hardly ever exceeds."""
        return math.ceil(self.factor * most_tokens(text, self.column))


class ExactCounter:
    """Counts with the tokenizer itself; threads may share one."""

    is_exact: Final = True

    def __init__(self, name: str, package: Any) -> None:
        self.name: Final = name
        self._package = package
        self._lock = threading.Lock()
        self._tokenizer: Any = None

    def count(self, text: str) -> int:
        """Return how many tokens a text has; special tokens that are spelled out in it are ordinary text."""
        tokenizer = self._tokenizer or self._load()
        try:
            return int(tokenizer.count(text))
        except UnicodeEncodeError:  # half of a surrogate pair is no text; what is sent in its place is
            return int(tokenizer.count(text.encode("utf-8", "replace").decode()))

    def most(self, text: str) -> int:
        """Return the count: there is nothing to be careful about."""
        return self.count(text)

    def _load(self) -> Any:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = getattr(self._package, f"{self.name}_base")()
        return self._tokenizer


def counter_for(name: str, *, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> TokenCounter:
    """
    Return the counter of a tokenizer or of a model: exact if it can be, an estimate otherwise.

    A name that is neither counts as that of an unknown model. `overrides` are the user's own models.
    """
    tokenizer = name if name in known_tokenizers() else capabilities(name, overrides=overrides).tokenizer
    return _counter(tokenizer if tokenizer in known_tokenizers() else "unknown")


def known_tokenizers() -> tuple[str, ...]:
    """Return the names of all tokenizers that something is known about."""
    return (*TOKENIZERS, *STAND_INS)


def exact_counter(name: str) -> ExactCounter:
    """Return the exact counter of a tokenizer, or say which extra it needs."""
    counter = _counter(name)
    if not isinstance(counter, ExactCounter):
        raise MissingExtra(f"there is no exact counter for {name!r}", hint="pip install 'engramdb[tokens]'")
    return counter


@cache
def _counter(tokenizer: str) -> TokenCounter:
    if tokenizer in EXACT:
        try:
            return ExactCounter(tokenizer, importlib.import_module("rs_bpe").bpe.openai)
        except ImportError:
            return EstimatedCounter(tokenizer, tokenizer)
    if tokenizer in STAND_INS:
        return EstimatedCounter(tokenizer, STAND_INS[tokenizer], STAND_IN_FACTOR)
    return EstimatedCounter(tokenizer, tokenizer)
