"""
Add what was read in a memory's words beside them, and an index of turns.

Old rows: what they hold was asserted, in the speaker's own voice, and nothing more is known of how it was
said. Turns are indexed when the store is opened next; how many memories an old turn left is not known.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = r"""
ALTER TABLE memories ADD COLUMN voice TEXT NOT NULL DEFAULT 'own';
ALTER TABLE memories ADD COLUMN statement TEXT;
ALTER TABLE memories ADD COLUMN force TEXT NOT NULL DEFAULT 'asserted';
ALTER TABLE memories ADD COLUMN lasting TEXT;
ALTER TABLE memories ADD COLUMN answers TEXT;
ALTER TABLE memories ADD COLUMN refers_to TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN moments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN claims TEXT NOT NULL DEFAULT '[]';

ALTER TABLE turns ADD COLUMN kept INTEGER;
ALTER TABLE turns ADD COLUMN is_hidden INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1));

CREATE VIRTUAL TABLE turn_terms USING fts5 (
    words,
    tokenize = "ascii tokenchars '!#$%&''*+-./:<=>?@\^_`|~'"
);
INSERT INTO turn_terms (turn_terms, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE turn_term_counts USING fts5vocab (turn_terms, row);
CREATE TRIGGER turn_terms_gone AFTER DELETE ON turns BEGIN
    DELETE FROM turn_terms WHERE rowid = old.key;
END;
INSERT INTO counters (name, value) VALUES ('turn_terms_version', 0);
"""


def up(connection: apsw.Connection) -> None:
    """Add the columns and the index."""
    connection.execute(_LAYOUT)
