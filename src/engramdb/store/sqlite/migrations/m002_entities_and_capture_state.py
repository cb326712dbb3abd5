"""
Make room for entities and for what capture must not lose: pending turns, boxes, what was handed out, health.

Old rows: turns hold NULL in `extracted_at`, so they are extracted after the next opening; memories hold no
flags, no extractor, no verbatim text and no box, and are enriched, with their entities, in the background.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_ENTITIES = """
CREATE TABLE entities (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    type TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    mentions INTEGER NOT NULL
) STRICT;

CREATE INDEX entities_by_name ON entities (scope, folded);
CREATE INDEX entities_by_time ON entities (scope, last_seen);

CREATE TABLE entity_names (
    scope INTEGER NOT NULL REFERENCES scopes (id),
    folded TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    last_word TEXT NOT NULL,
    PRIMARY KEY (scope, folded, entity)
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_names_by_entity ON entity_names (entity);
CREATE INDEX entity_names_by_last_word ON entity_names (scope, last_word);

CREATE TABLE entity_mentions (
    entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
    folded TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (key),
    at INTEGER NOT NULL,
    PRIMARY KEY (entity, folded, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_mentions_by_memory ON entity_mentions (memory, entity);
"""

_CAPTURE_STATE = """
ALTER TABLE turns ADD COLUMN extracted_at INTEGER;
ALTER TABLE turns ADD COLUMN claimed_until INTEGER;

CREATE INDEX turns_pending ON turns (scope, session) WHERE extracted_at IS NULL;

CREATE TABLE boxes (
    id TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    trace TEXT NOT NULL,
    topics TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    sealed_at INTEGER,
    memories INTEGER NOT NULL
) STRICT;

CREATE INDEX boxes_open ON boxes (scope, last_at) WHERE sealed_at IS NULL;
CREATE INDEX boxes_by_trace ON boxes (scope, trace);

ALTER TABLE memories ADD COLUMN flags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memories ADD COLUMN extractor TEXT;
ALTER TABLE memories ADD COLUMN verbatim TEXT;
ALTER TABLE memories ADD COLUMN enriched INTEGER NOT NULL DEFAULT 0 CHECK (enriched IN (0, 1));
ALTER TABLE memories ADD COLUMN successes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN box TEXT REFERENCES boxes (id) DEFERRABLE INITIALLY DEFERRED;

CREATE INDEX memories_by_relation ON memories (scope, predicate)
    WHERE status = 'active' AND predicate IS NOT NULL;
CREATE INDEX memories_unenriched ON memories (key) WHERE enriched = 0 AND status = 'active';
CREATE INDEX memories_by_session ON memories (session) WHERE session IS NOT NULL;
CREATE INDEX memories_by_box ON memories (box) WHERE box IS NOT NULL;

CREATE TABLE handed_out (
    scope INTEGER NOT NULL REFERENCES scopes (id),
    session TEXT NOT NULL,
    memory_id TEXT NOT NULL REFERENCES memories (id),
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, session, memory_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX handed_out_by_time ON handed_out (at);

CREATE TABLE parts (
    name TEXT PRIMARY KEY,
    last_success INTEGER,
    last_failure INTEGER,
    failure TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    milliseconds REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
"""


def up(connection: apsw.Connection) -> None:
    """Create the tables of entities, then the columns and tables that capture keeps its place in."""
    connection.execute(_ENTITIES)
    connection.execute(_CAPTURE_STATE)
