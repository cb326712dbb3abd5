"""
Count the tokens of a text as a given model would.

Called by `context` when it fills a budget; calls `capabilities` for the tokenizer of a model and
`text.tokens` where there is no exact one. Nothing is ever downloaded: o200k and cl100k come inside the
package of the extra `tokens`, whose vocabulary is loaded on the first count and kept for the process. The
others are estimates: fitted to the vendor's own tokenizer where one could be had, a stand-in where not.
"""

from __future__ import annotations

import importlib
import math
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from engram.errors import MissingExtra
from engram.providers.capabilities import capabilities
from engram.text.token_ratios import TOKENIZERS
from engram.text.tokens import count_tokens, most_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        """Say whether counts are those of the tokenizer itself."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of a text: exactly, or about."""
        ...

    def most(self, text: str) -> int:
        """Return a number of tokens that the text hardly ever exceeds: the count itself where it is exact."""
        ...


@dataclass(frozen=True, slots=True)
class EstimatedCounter:
    """Counts by measured ratios."""

    name: str
    column: str
    """The tokenizer whose ratios are used."""
    factor: float = 1.0
    is_exact: bool = field(default=False, init=False)

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
        raise MissingExtra(
            f"there is no exact counter for {name!r}", hint="pip install 'engram-memory[tokens]'"
        )
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
