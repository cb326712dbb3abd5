"""
Numbers with their nouns: 1 memory, 2 memories.

Used by whatever tells a person how many there are. One function, so that no line says "1 memories".
"""

from __future__ import annotations


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun, in groups of three digits where it is long."""
    return f"{number if number < 10_000 else f'{number:,}'} {one if number == 1 else many}"


def memories(number: int) -> str:
    """Return a number of memories, the most frequent of all."""
    return counted(number, "memory", "memories")
