"""
Note which changes were one act, so that they can be undone together.

Old rows: they belong to no act, and `undo` says so. `edge_history` has what became of each link from now on,
`withdrawn_words` what other memories quoted of a forgotten one, for as long as that can be undone.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_LAYOUT = """
CREATE TABLE act_groups (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL
) STRICT;

CREATE TABLE acts (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    part_of INTEGER REFERENCES act_groups (key),
    scope INTEGER NOT NULL REFERENCES scopes (id),
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL
) STRICT;

CREATE INDEX acts_by_scope ON acts (scope);
CREATE INDEX acts_by_group ON acts (part_of, scope) WHERE part_of IS NOT NULL;

CREATE TABLE undone_acts (
    act INTEGER NOT NULL REFERENCES acts (key),
    undo INTEGER NOT NULL REFERENCES acts (key),
    PRIMARY KEY (act, undo)
) STRICT, WITHOUT ROWID;

CREATE INDEX undone_acts_by_undo ON undone_acts (undo);

ALTER TABLE history ADD COLUMN act INTEGER REFERENCES acts (key);
CREATE INDEX history_by_act ON history (act) WHERE act IS NOT NULL;

CREATE TABLE edge_history (
    key INTEGER PRIMARY KEY,
    act INTEGER NOT NULL REFERENCES acts (key),
    source INTEGER NOT NULL REFERENCES memories (key),
    target INTEGER NOT NULL REFERENCES memories (key),
    type TEXT NOT NULL,
    old_weight REAL,
    old_created_at INTEGER,
    new_weight REAL
) STRICT;

CREATE INDEX edge_history_by_act ON edge_history (act);

CREATE TABLE withdrawn_words (
    act INTEGER NOT NULL REFERENCES acts (key),
    memory INTEGER NOT NULL REFERENCES memories (key),
    answers TEXT,
    refers_to TEXT NOT NULL,
    PRIMARY KEY (act, memory)
) STRICT, WITHOUT ROWID;

ALTER TABLE feedback ADD COLUMN is_undone INTEGER NOT NULL DEFAULT 0 CHECK (is_undone IN (0, 1));

ALTER TABLE gaps ADD COLUMN closed_act INTEGER REFERENCES acts (key);
CREATE INDEX gaps_by_closed_act ON gaps (closed_act) WHERE closed_act IS NOT NULL;
"""


def up(connection: apsw.Connection) -> None:
    """Add the tables of acts, and which act each change belongs to."""
    connection.execute(_LAYOUT)
