"""
Make room for feedback: which memory helped or did not, and for what kind of question.

Old rows: no memory has had any feedback. A question is kept as its fingerprint and vector, never as words.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE feedback (
    key INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (key),
    at INTEGER NOT NULL,
    helpful INTEGER NOT NULL CHECK (helpful IN (0, 1)),
    question BLOB,
    space INTEGER REFERENCES spaces (id),
    vector BLOB
) STRICT;

CREATE INDEX feedback_by_memory ON feedback (memory);

ALTER TABLE memories ADD COLUMN helped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN unhelpful INTEGER NOT NULL DEFAULT 0;
"""


def up(connection: apsw.Connection) -> None:
    """Add the table of feedback and its counts beside the memories."""
    connection.execute(_LAYOUT)
