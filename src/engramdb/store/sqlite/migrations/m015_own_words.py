"""
Add what was read in a memory's words beside them, an index of turns, and which memories each turn left.

Old rows: what they hold was asserted, in the speaker's own voice, and nothing more is known of how it was
said. Turns are indexed when the store is opened next; what they left is taken from the memories' own lists.
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

CREATE INDEX memories_rules ON memories (scope) WHERE force = 'rule' AND status = 'active';

CREATE VIRTUAL TABLE turn_terms USING fts5 (
    words,
    tokenize = "ascii tokenchars '!#$%&''*+-./:<=>?@\^_`|~'"
);
INSERT INTO turn_terms (turn_terms, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER turn_terms_gone AFTER DELETE ON turns BEGIN
    DELETE FROM turn_terms WHERE rowid = old.key;
END;

CREATE TABLE memory_turns (
    turn INTEGER NOT NULL REFERENCES turns (key) ON DELETE CASCADE,
    memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
    PRIMARY KEY (turn, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_turns_by_memory ON memory_turns (memory);
CREATE TRIGGER memory_turns_added AFTER INSERT ON memories WHEN new.turns <> '[]' BEGIN
    INSERT INTO memory_turns SELECT turn, memory FROM turns_read WHERE memory = new.key;
END;
CREATE TRIGGER memory_turns_changed AFTER UPDATE OF turns ON memories WHEN new.turns <> old.turns BEGIN
    DELETE FROM memory_turns WHERE memory = new.key;
    INSERT INTO memory_turns SELECT turn, memory FROM turns_read WHERE memory = new.key;
END;
CREATE VIEW turns_read AS
SELECT DISTINCT t.key AS turn, m.key AS memory
FROM memories m, json_each(m.turns) j JOIN turns t ON t.id = j.value
WHERE m.episodes = '[]' AND coalesce(m.extractor, '') NOT LIKE 'session-%';
INSERT INTO memory_turns SELECT turn, memory FROM turns_read;
INSERT INTO counters (name, value) VALUES ('turn_terms_version', 0);
"""


def up(connection: apsw.Connection) -> None:
    """Add the columns and the index."""
    connection.execute(_LAYOUT)
