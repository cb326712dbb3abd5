"""
Bring a file's layout up to date, one numbered migration at a time.

Called once when a store is opened. All missing steps run in one exclusive transaction each, with their
own record, so two processes never migrate twice and a killed one leaves the file as it was.
A released step is never edited. A file from the future is refused.
"""

from __future__ import annotations

from datetime import datetime
import apsw
from engramdb.store.sqlite.migrations import m001_first_layout
from engramdb.store.sqlite.migrations import m002_entities_and_capture_state
from engramdb.store.sqlite.migrations import m003_ageing
from engramdb.store.sqlite.migrations import m004_graph_feed
from engramdb.store.sqlite.migrations import m005_trait_index
from engramdb.store.sqlite.migrations import m006_feedback
from engramdb.store.sqlite.migrations import m007_index_snapshots
from engramdb.store.sqlite.migrations import m008_attention
from engramdb.store.sqlite.migrations import m009_dreams
from engramdb.store.sqlite.migrations import m010_insight
from engramdb.store.sqlite.migrations import m011_imports
from engramdb.store.sqlite.migrations import m012_doors
from engramdb.store.sqlite.migrations import m013_polarity
from engramdb.store.sqlite.migrations import m014_judged
from engramdb.store.sqlite.migrations import m015_own_words
from engramdb.store.sqlite.migrations import m016_filing
from engramdb.store.sqlite.migrations import m017_summarized_turns
from engramdb.store.sqlite.migrations import m018_askings
from engramdb.store.sqlite.migrations import m019_said_at
from engramdb.store.sqlite.migrations import m020_acts
from engramdb.store.sqlite.migrations import m021_forgotten
from engramdb.store.sqlite.migrations import m022_wordings
from engramdb.store.sqlite.migrations import m023_moments
from engramdb.store.sqlite.migrations import m024_files
from engramdb.store.sqlite.migrations import m025_scope_terms
from engramdb.store.sqlite.migrations import m026_audit
from engramdb.store.sqlite.migrations import m027_secret_names
from engramdb.store.sqlite.migrations import m028_private_words
from typing import Any
from engramdb.errors import MigrationFailed
from engramdb.errors import NotAnEngramStore
from engramdb.errors import StoreTooNew
from engramdb.store.sqlite.rows import to_microseconds

APPLICATION_ID = 0x456E6772
"""`Engr`: what tools such as `file` see in the header."""

MIGRATIONS = (
    m001_first_layout,
    m002_entities_and_capture_state,
    m003_ageing,
    m004_graph_feed,
    m005_trait_index,
    m006_feedback,
    m007_index_snapshots,
    m008_attention,
    m009_dreams,
    m010_insight,
    m011_imports,
    m012_doors,
    m013_polarity,
    m014_judged,
    m015_own_words,
    m016_filing,
    m017_summarized_turns,
    m018_askings,
    m019_said_at,
    m020_acts,
    m021_forgotten,
    m022_wordings,
    m023_moments,
    m024_files,
    m025_scope_terms,
    m026_audit,
    m027_secret_names,
    m028_private_words,
)

FORMAT_VERSION = len(MIGRATIONS)

_RECORD = """
CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


# One statement, one snapshot: another process may lay the file out between two.
_LOOK = (
    "SELECT (SELECT user_version FROM pragma_user_version), "
    "(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)"
)


def version_of(connection: apsw.Connection, location: str) -> int:
    """Return how many steps the file has had; raises if it is not ours or from the future."""
    seen: list[tuple[Any, ...]] = connection.execute(_LOOK).fetchall()
    version, application, tables = seen[0]
    if application != APPLICATION_ID and (tables or version):
        raise NotAnEngramStore(f"{location} is another program's database")
    if version > FORMAT_VERSION:
        raise StoreTooNew(f"{location} has format {version}, this version knows up to {FORMAT_VERSION}")
    return int(version)


def migrate(
    connection: apsw.Connection, location: str, *, now: datetime, until: int = FORMAT_VERSION
) -> None:
    """Run the steps that the file has not had, all or those `until` a version."""
    while version_of(connection, location) < until:
        connection.execute("BEGIN EXCLUSIVE")
        try:
            _step(connection, version_of(connection, location), now)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _step(connection: apsw.Connection, done: int, now: datetime) -> None:
    """Run the next step inside the open transaction, unless another process was faster."""
    if done == FORMAT_VERSION:
        return
    step = MIGRATIONS[done]
    name = step.__name__.rpartition(".")[2]
    connection.execute(_RECORD)
    step.up(connection)
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise MigrationFailed(f"{name} left {len(broken)} rows without what they refer to")
    connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (done + 1, name, to_microseconds(now)))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", done + 1)
