"""
Lay out an empty file: scopes, turns, memories, their links and history, and the two derived indexes.

Old rows: there are none. Canonical tables are `scopes`, `turns`, `memories`, `edges`, `history` and
`audit`; `terms`, `spaces` and `vectors` are derived and can be rebuilt. docs/reference/file-format.md
explains every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

LAYOUT = r"""
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('change', 0), ('terms_version', 0);

CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    squad TEXT NOT NULL,
    agent TEXT NOT NULL,
    channel TEXT NOT NULL,
    user TEXT NOT NULL,
    UNIQUE (project, squad, agent, channel, user)
) STRICT;

CREATE TABLE turns (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    session TEXT,
    role TEXT NOT NULL,
    speaker TEXT,
    content TEXT NOT NULL,
    occurred_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX turns_by_session ON turns (session, scope) WHERE session IS NOT NULL;

CREATE TABLE memories (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    change INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    status TEXT NOT NULL,
    layer TEXT NOT NULL,
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    subject TEXT,
    predicate TEXT,
    object TEXT,
    source TEXT NOT NULL,
    speaker TEXT,
    session TEXT,
    turns TEXT NOT NULL,
    episodes TEXT NOT NULL,
    occurred_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    forget_after INTEGER,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    stability REAL NOT NULL,
    strength REAL NOT NULL,
    surprise REAL,
    reinforcements INTEGER NOT NULL,
    valence REAL NOT NULL,
    intensity REAL NOT NULL,
    arousal REAL NOT NULL,
    access_count INTEGER NOT NULL,
    access_last_at INTEGER,
    access_recent TEXT NOT NULL,
    access_sessions INTEGER NOT NULL,
    pinned INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    version INTEGER NOT NULL,
    supersedes TEXT,
    superseded_by TEXT,
    security TEXT NOT NULL,
    detail TEXT NOT NULL,
    traits TEXT NOT NULL,
    when_at INTEGER GENERATED ALWAYS AS (coalesce(occurred_at, created_at)) VIRTUAL
) STRICT;

CREATE UNIQUE INDEX memories_one_active ON memories (scope, fingerprint) WHERE status = 'active';
CREATE UNIQUE INDEX memories_by_change ON memories (change);
CREATE INDEX memories_by_ending ON memories (substr(id, -8));
CREATE INDEX memories_by_scope ON memories (scope, status);

CREATE TABLE history (
    key INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL REFERENCES memories (id),
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    old_status TEXT,
    new_status TEXT,
    reason TEXT NOT NULL,
    changes TEXT NOT NULL
) STRICT;

CREATE INDEX history_by_memory ON history (memory_id);

CREATE TABLE audit (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    target TEXT,
    detail TEXT NOT NULL
) STRICT;

CREATE TABLE edges (
    source TEXT NOT NULL REFERENCES memories (id),
    target TEXT NOT NULL REFERENCES memories (id),
    type TEXT NOT NULL,
    weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (source, type, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX edges_by_target ON edges (target);

CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    revision TEXT NOT NULL,
    metric TEXT NOT NULL,
    UNIQUE (name, dimension, revision, metric)
) STRICT;

CREATE TABLE vectors (
    space INTEGER NOT NULL REFERENCES spaces (id),
    memory INTEGER NOT NULL REFERENCES memories (key),
    vector BLOB NOT NULL,
    PRIMARY KEY (space, memory)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE terms USING fts5 (
    words,
    tokenize = "ascii tokenchars '!#$%&''*+-./:<=>?@\^_`|~'"
);

INSERT INTO terms (terms, rank) VALUES ('secure-delete', 1);

CREATE VIRTUAL TABLE term_counts USING fts5vocab (terms, row);
"""


def up(connection: apsw.Connection) -> None:
    """Create every table of the first layout."""
    connection.execute(LAYOUT)
