"""
Make room for what is known about the knowledge: open questions, the tree of summaries, the last replays.

Old rows: there are none; the next dream asks its first questions and grows the tree. Two triggers keep either
from outliving what it speaks of, whichever path a memory leaves by. docs/reference/file-format.md explains
every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_LAYOUT = """
CREATE TABLE gaps (
    id TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    kind TEXT NOT NULL,
    question TEXT NOT NULL,
    priority REAL NOT NULL,
    found_at INTEGER NOT NULL,
    asked_at INTEGER,
    closed_at INTEGER,
    closed_by TEXT,
    closed_because TEXT
) STRICT;

CREATE INDEX gaps_open ON gaps (scope, priority) WHERE closed_at IS NULL;

CREATE TABLE gap_memories (
    gap TEXT NOT NULL REFERENCES gaps (id) ON DELETE CASCADE,
    memory INTEGER NOT NULL REFERENCES memories (key),
    PRIMARY KEY (gap, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX gap_memories_by_memory ON gap_memories (memory);

CREATE TABLE tree_nodes (
    id TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    level INTEGER NOT NULL CHECK (level BETWEEN 1 AND 3),
    parent TEXT,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    maker TEXT NOT NULL,
    members INTEGER NOT NULL,
    grain INTEGER NOT NULL,
    is_whole INTEGER NOT NULL CHECK (is_whole IN (0, 1)),
    space INTEGER REFERENCES spaces (id),
    centroid BLOB,
    certainty REAL NOT NULL,
    doubted INTEGER NOT NULL,
    latest_at INTEGER NOT NULL,
    built_at INTEGER NOT NULL
) STRICT;

CREATE INDEX tree_nodes_by_level ON tree_nodes (scope, level);
CREATE INDEX tree_nodes_by_parent ON tree_nodes (parent);

CREATE TABLE tree_members (
    memory INTEGER PRIMARY KEY REFERENCES memories (key),
    node TEXT NOT NULL REFERENCES tree_nodes (id) ON DELETE CASCADE,
    quoted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX tree_members_by_node ON tree_members (node);

CREATE TABLE replays (
    memory INTEGER PRIMARY KEY REFERENCES memories (key),
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX replays_by_time ON replays (at);
"""

_CLUSTER = "SELECT node FROM tree_members WHERE memory = NEW.key"
_DOMAIN = f"SELECT parent FROM tree_nodes WHERE id IN ({_CLUSTER})"
_WHOLE = f"SELECT parent FROM tree_nodes WHERE id IN ({_DOMAIN})"
_ABOVE = f"{_CLUSTER} UNION {_DOMAIN} UNION {_WHOLE}"
_GONE = "('forgotten', 'pruned', 'erased')"

_FORGET = f"""
CREATE TRIGGER insight_forgets AFTER UPDATE OF status ON memories
WHEN NEW.status IN {_GONE} AND OLD.status NOT IN {_GONE}
BEGIN
    DELETE FROM gaps WHERE id IN (SELECT gap FROM gap_memories WHERE memory = NEW.key);
    UPDATE tree_nodes SET title = '', summary = '', centroid = NULL WHERE id IN ({_ABOVE});
    DELETE FROM tree_members WHERE memory = NEW.key;
END
"""
_UNQUOTE = f"""
CREATE TRIGGER insight_unquotes AFTER UPDATE OF status ON memories
WHEN OLD.status = 'active' AND NEW.status <> 'active'
BEGIN
    UPDATE tree_nodes SET summary = '' WHERE id IN ({_ABOVE})
    AND level <= (SELECT quoted FROM tree_members WHERE memory = NEW.key);
END
"""


def up(connection: apsw.Connection) -> None:
    """Add the tables of questions and of the tree, and what keeps them from outliving a memory."""
    connection.execute(_LAYOUT)
    connection.execute(_FORGET)
    connection.execute(_UNQUOTE)
