"""
What the indexes hold: the words of no secret.

An index answers everybody alike, so a secret in one could be guessed through it: by what is found, by the
score and by the reason. Terms and passages of a confidential memory are made of its masked words, and so is
whatever compares a question with a memory. Asked for by name, it is found by the other words.
"""

from __future__ import annotations

from collections.abc import Sequence

from engramdb.text import terms
from engramdb.values.memory import Memory, SecurityTier
from engramdb.values.turn import Role, Turn
from engramdb.vault.masking import mask_memory, mask_turn


def open_memory(memory: Memory) -> Memory:
    """Return a memory as a question may be compared with it: masked where it is confidential."""
    return mask_memory(memory) if memory.security is SecurityTier.CONFIDENTIAL else memory


def index_terms(memory: Memory) -> list[str]:
    """Return what the text index finds a memory by."""
    return terms.index_terms(open_memory(memory))


def passage(memory: Memory) -> str:
    """Return the text of a memory to embed."""
    return terms.passage(open_memory(memory))


def open_turn(turn: Turn, *, before: Sequence[Turn]) -> Turn:
    """Return a turn as a question may be compared with it; `before` is what was said just before it."""
    heard = [one.content for one in before if one.role in (Role.USER, Role.ASSISTANT)]
    return mask_turn(turn, heard=heard)


def turn_terms(turn: Turn, *, before: Sequence[Turn]) -> list[str]:
    """Return what the index of turns finds a turn by."""
    return terms.turn_terms(open_turn(turn, before=before))
