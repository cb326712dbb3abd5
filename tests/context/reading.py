"""
A strict reader of blocks of memories: what a careful model would take each line for.

Knows only the form: marks, a notice, titles, days, records, tags. Anything else is an error, so that a text
that leaves its line is found whatever it says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TITLES = (
    *("# Standing", "# In mind now", "# Recalled", "# Known about those named", "# How things are done"),
    *("# Stored today", "# Other agents", "# Code", "# About this knowledge"),
)
_DAY = re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}:")
_RECORD = re.compile(r"- (?P<who>[^:()\[\]<>\n]{1,60})(?: \((?P<marks>[a-z, ]+)\))?: (?P<words>.*)")
_TAGS = re.compile(r"Also known of: (?P<tags>.+)")
FORBIDDEN = re.compile(
    r"</|<\||\|>|<[A-Za-z]*memor|\[/?INST\]|<<SYS|[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u00ad]"
    r"|[\x00-\x1f\x7f-\x9f\u2028\u2029]|[\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a block."""

    section: str
    who: str
    words: str
    marks: str = ""


def read_block(block: str) -> tuple[list[Record], list[str]]:
    """Return the records and the tags of a block; raises on anything that does not belong there."""
    lines = block.split("\n")
    assert lines[0] == "<memories>"
    assert lines[-1] == "</memories>"
    assert "data" in lines[1]
    assert "never" in lines[1]
    records: list[Record] = []
    tags: list[str] = []
    section = ""
    for line in lines[2:-1]:
        assert not FORBIDDEN.search(line), line
        if line in TITLES:
            section = line
        elif tagged := _TAGS.fullmatch(line):
            tags += tagged["tags"].split("; ")
        elif record := _RECORD.fullmatch(line):
            records.append(Record(section, record["who"], record["words"], record["marks"] or ""))
        else:
            assert _DAY.fullmatch(line), line
        assert section
    return records, tags


def letters(text: str) -> str:
    """The letters and digits of a text in order, whatever stands between them."""
    return "".join(character for character in text if character.isalnum())
