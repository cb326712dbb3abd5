"""
Write memories as lines of a section: grouped by day, who said it, what, and how far to believe it.

Called by `fill` for every section of memories; pure. A day is written once above its memories, because a date
costs as much as a short fact. Confidence is a word, and only where it is not plain; scores, ids and vectors
are never shown. Tags share a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.context.isolation import name, one_line
from engram.kept import kept
from engram.text.tokens import count_tokens
from engram.values import ConfidenceTier, DetailLevel, SectionName, SecurityTier, Source, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from engram.values import Memory

TITLES = {
    SectionName.IDENTITY: "# Standing",
    SectionName.WORKING: "# In mind now",
    SectionName.RECALLED: "# Recalled",
    SectionName.SCHEMAS: "# Known about those named",
    SectionName.SKILLS: "# How things are done",
    SectionName.TODAY: "# Stored today",
    SectionName.ROSTER: "# Other agents",
    SectionName.HINTS: "# Code",
    SectionName.REFLECTION: "# About this knowledge",
}
TAGS = "Also known of: "
DAY_TOKENS = 7
"""What the line of a day costs; written 2026-05-08 it would be two more."""
TAGS_TOKENS = 5
"""What the line of tags costs before the first of them."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SOURCES = {Source.HUMAN: "user", Source.ASSISTANT: "agent", Source.INGEST: "import"}
_CONFIDENCE = {
    ConfidenceTier.EXPLICIT: "",
    ConfidenceTier.IMPLIED: "implied",
    ConfidenceTier.INFERRED: "inferred",
    ConfidenceTier.SPECULATIVE: "unsure",
}


def is_allowed(memory: Memory) -> bool:
    """Say whether a memory may enter a window without being asked for by name."""
    return "injection" not in memory.flags and memory.status in (Status.ACTIVE, Status.CHALLENGED)


def may_stand(memory: Memory) -> bool:
    """Say whether a memory may be shown whatever the message: a confidential one only where it is pinned."""
    is_confidential = memory.security is SecurityTier.CONFIDENTIAL
    return is_allowed(memory) and (memory.pinned or not is_confidential)


def text_of(memory: Memory, level: DetailLevel) -> str:
    """Return the memory's words at a level; one that was never shortened is whole at every level."""
    detail = memory.detail
    shorter = {
        DetailLevel.FULL: memory.verbatim or memory.content,
        DetailLevel.SUMMARY: detail.summary,
        DetailLevel.KEY_FACT: detail.key_fact,
        DetailLevel.TAG: detail.tag,
    }
    return shorter[level] or memory.content


def stored_tokens(memory: Memory, level: DetailLevel) -> int:
    """Return what the memory's words cost at a level, as it was counted when they were stored."""
    known = None if level is DetailLevel.FULL and memory.verbatim else memory.detail.tokens.get(level)
    return _roughly(text_of(memory, level)) if known is None else known


def lead_tokens(memory: Memory) -> int:
    """Return what a line costs before its words begin, and its end."""
    return 2 + _lead_tokens(lead(memory))


def lead(memory: Memory) -> str:
    """Return who said it and what speaks against taking it for granted, such as `Ann (inferred)`."""
    made = memory.provenance
    is_disputed = memory.status is Status.CHALLENGED
    return _lead(made.speaker, made.source, memory.confidence_tier, is_disputed=is_disputed)


def line(memory: Memory, level: DetailLevel) -> str:
    """Return the memory as one line of its section; a tag is a piece of the line of tags."""
    words = one_line(text_of(memory, level))
    return words.replace(";", ",") if level is DetailLevel.TAG else f"- {lead(memory)}: {words}"


def day_line(day: date) -> str:
    """Return the line above the memories of one day."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}:"


def section_text(
    name_: SectionName, shown: Iterable[tuple[Memory, str]], tags: Sequence[str], also: Sequence[str] = ()
) -> str:
    """Return a section: its title, the lines of each day from the oldest, other lines, and the tags."""
    lines, day = [TITLES[name_]], None
    for memory, written in sorted(shown, key=lambda pair: pair[0].when):
        if memory.when.date() != day:
            day = memory.when.date()
            lines.append(day_line(day))
        lines.append(written)
    lines += also
    if tags:
        lines.append(TAGS + "; ".join(tags))
    return "\n".join(lines)


@kept(64)
def _lead_tokens(written: str) -> int:
    return count_tokens(written)


@kept(64)
def _lead(speaker: str | None, source: Source, tier: ConfidenceTier, *, is_disputed: bool) -> str:
    who = name(speaker) if speaker else _SOURCES[source]
    told = ", ".join(mark for mark in (_CONFIDENCE[tier], "disputed" if is_disputed else "") if mark)
    return f"{who} ({told})" if told else who


def _roughly(text: str) -> int:
    """Return about what a text costs whose count was not stored; it is counted when it is written."""
    return 1 + len(text.encode("utf-8", "replace")) // 4
