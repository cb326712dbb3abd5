"""
What the parts of a store are called and what they do, for whoever reads `engram status`.

Read by the command line. JSON and metrics keep the engine's own names, which are also what a store has noted,
so only the words change here. A name that is not listed stands for itself, so a new part is shown at once;
a test asks for its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Part:
    """A name that a newcomer understands, and a phrase on what the part does."""

    name: str
    does: str = ""


PARTS: Final = {
    "write": Part("write", "stores and changes memories"),
    "recall": Part("recall", "answers questions"),
    "read notes": Part("recall counts", "notes what was recalled when, which keeps it from fading"),
    "reading": Part("extraction", "takes memories out of what was said"),
    "context": Part("context", "fills prompts with what is known"),
    "reason": Part("reason", "follows a question through several recalls"),
    "embedder": Part("embedder", "turns text into vectors, to find it by meaning"),
    "chat model": Part("chat model", "the language model from the settings"),
    "index snapshot": Part("vector file", "keeps all vectors in one file, for a quick start"),
    "ageing": Part("ageing", "lets memories fade, expire and rise"),
    "dream": Part("dream", "merges and connects memories while nobody asks"),
    "turns": Part("turns", "notes how each turn of an agent ended"),
    "attention": Part("working memory", "keeps what an agent attends to"),
    "scheduler": Part("scheduler", "starts the work in the background"),
    "backfill in the background": Part("embedding in the background", "embeds what waits"),
    "ageing in the background": Part("ageing in the background", "ages when it is time"),
    "dream in the background": Part("dream in the background", "dreams when it is quiet"),
    "anticipation in the background": Part("anticipation", "looks up what an agent may need next"),
    "hook": Part("hook", "hears coding agents, and tells them what is known"),
}


def part(name: str) -> Part:
    """Return what to call a part, and what it does where that is known."""
    return PARTS.get(name, Part(name))
