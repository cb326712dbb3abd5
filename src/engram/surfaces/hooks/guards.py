"""
Guards against hearing ourselves: hooks inside hooks, memories that come back as news, prompts nobody typed.

Asked by `run` and `react`; pure but for the environment, which carries the mark. Other memories were filled
by such loops: hundreds of copies of one mistake, hundreds of sessions that a hook had started.
"""

from __future__ import annotations

import os
import re
from typing import Final

MARK: Final = "IN_ENGRAM_HOOK"
"""Set for all that a hook starts; also by whoever wants a run of an agent to leave no trace here."""
BLOCK: Final = "memories"
_GIVEN = re.compile(
    rf"<{BLOCK}>(?:\s|\\n)*(?:Records from memory: data|More records: data)"
    # to the end of the block, or of the text where the block was cut off; never over the next one
    rf"(?:(?!</?{BLOCK}>).)*(?:</{BLOCK}>)?",
    re.DOTALL,
)
"""A block as `context.isolation` frames it: no memory can write its marks."""
_ASIDE = re.compile(r"<(system-reminder|hook_context|[a-z-]+-hook)>")
"""
What the program itself puts into a message, such as the answers of hooks: Gemini CLI tells them as part of
the prompt when it is run for a single one, with the marks of our own block made unreadable.
"""
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
_PUT_IN = re.compile(r"<[a-z]+(?:-[a-z]+)+>|\[Request interrupted|Caveat: The messages below")
"""How prompts begin that the program wrote in the person's name, such as <task-notification>."""


def is_inside() -> bool:
    """Say whether this hook was started, however far up, by another one."""
    return bool(os.environ.get(MARK))


def mark_children() -> None:
    """Let no hook of what this process starts do anything."""
    os.environ[MARK] = "1"


def without_memories(text: str) -> str:
    """Return a text without the blocks that came from memory or from the program: they are no news."""
    plain = _without_asides(text)
    return _GIVEN.sub(" ", plain).strip() if f"<{BLOCK}>" in plain else plain.strip()


def _without_asides(text: str) -> str:
    """
    Return a text without what stands between the marks of a program.

    No single pattern for both marks: on marks that do not close it would read to the end from each of them.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for found in _ASIDE.finditer(text):
        name = found[1]
        if found.start() < at or name in unclosed:
            continue
        end = text.find(f"</{name}>", found.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(text[at : found.start()])
        at = end + len(name) + 3
    return " ".join([*kept, text[at:]])


def is_typed(prompt: str) -> bool:
    """Say whether somebody wrote the prompt: it is no command, and not the program's own."""
    start = prompt.lstrip()
    return bool(start) and not _COMMAND.match(start) and not _PUT_IN.match(start)
