"""A file of format 1 is brought up to date when it is opened, and everything in it is still there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import apsw
import pytest
from disks import SmallDisk

from engramdb.errors import StoreReadOnly
from engramdb.store.sqlite.migrations import APPLICATION_ID, FORMAT_VERSION, MIGRATIONS, m001_first_layout
from engramdb.store.sqlite.store import SqliteStore
from engramdb.values import GLOBAL, Filters, Scope, Status

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = 1_700_000_000_000_000

MEMORY = """
INSERT INTO memories VALUES (
    7, 'm1', 3, x'00', 1, 'active', 'episodic', 'fact', 'general', 'note', 'Anna likes tea.', NULL, NULL,
    NULL, 'human', 'Tom', 's1', '["t1"]', '[]', NULL, :at, :at, NULL, NULL, NULL, 0.9, 0.5, 1.0, 1.0, NULL,
    2, 0.0, 0.0, 0.0, 1, :at, '[]', 1, 1, 1, NULL, NULL, 'cleartext', '{}', '{}'
)
"""


@pytest.fixture
def old_file(store_path: Path) -> Path:
    """A file as version 0.1.0 left it: the first step alone, with a turn, a memory and its history."""
    connection = apsw.Connection(str(store_path))
    connection.pragma("journal_mode", "wal")
    m001_first_layout.up(connection)
    columns = "number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL"
    connection.execute(f"CREATE TABLE migrations ({columns}) STRICT")
    connection.execute("INSERT INTO migrations VALUES (1, 'm001_first_layout', :at)", {"at": AT})
    connection.execute("INSERT INTO scopes VALUES (1, 'p', '', '', '', 'u')")
    connection.execute(
        "INSERT INTO turns VALUES (5, 't1', 1, 's1', 'user', 'Tom', 'I met Anna.', :at, :at)", {"at": AT}
    )
    connection.execute(MEMORY, {"at": AT})
    connection.execute(
        "INSERT INTO history VALUES (1, 'm1', :at, 'remember', 'x', 'person', NULL, 'active', '', '{}')",
        {"at": AT},
    )
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", 1)
    connection.close()
    return store_path


SCOPE = Scope(project="p", user="u")


def test_everything_is_still_there(old_file: Path) -> None:
    """Turn, memory and history read as they were written, and nothing of the new is made up."""
    store = SqliteStore.open(str(old_file), now=NOW)

    with store.read() as tx:
        (turn,) = tx.turns.list(scope=SCOPE, session="s1", limit=10)
        memory = tx.memories.get("m1", scope=SCOPE)
        listed = tx.memories.list(scope=SCOPE, filters=Filters(), limit=10, before=None)
        entities = tx.entities.list(scope=SCOPE, limit=10)
    store.close()

    assert (turn.content, turn.speaker) == ("I met Anna.", "Tom")
    assert memory is not None
    assert (memory.content, memory.status, memory.reinforcements, memory.pinned) == (
        "Anna likes tea.",
        Status.ACTIVE,
        2,
        True,
    )
    assert list(listed) == [memory]
    assert entities == []


def test_old_rows_hold_what_the_step_promises(old_file: Path) -> None:
    """Old turns wait to be extracted; old memories have no flags, extractor, verbatim text or box."""
    SqliteStore.open(str(old_file), now=NOW).close()

    connection = apsw.Connection(str(old_file))
    turns = connection.execute("SELECT key, extracted_at, claimed_until FROM turns").fetchall()
    memories = connection.execute("SELECT key, flags, extractor, verbatim, box FROM memories").fetchall()
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    version = connection.pragma("user_version")
    connection.close()

    assert turns == [(5, None, None)]
    assert memories == [(7, "[]", None, None, None)]
    assert broken == []
    assert version == FORMAT_VERSION


def test_the_old_keys_go_on_growing(old_file: Path) -> None:
    """A new memory never takes the number of an old one, so no index mistakes it."""
    store = SqliteStore.open(str(old_file), now=NOW)
    with store.atomic() as tx:
        old = tx.memories.get("m1", scope=SCOPE)
        assert old is not None
        key = tx.memories.add(old.evolve(id="m2", scope=GLOBAL), fingerprint=b"2")
    store.close()

    assert key > 7


def test_opening_again_changes_nothing(old_file: Path) -> None:
    """The step runs once."""
    SqliteStore.open(str(old_file), now=NOW).close()
    after_first = old_file.read_bytes()

    SqliteStore.open(str(old_file), now=NOW).close()

    assert old_file.read_bytes() == after_first


def test_what_was_read_from_a_turn_was_said_with_it(old_file: Path) -> None:
    """A memory that somebody stated was said when it held from, or else when it was stored."""
    connection = apsw.Connection(str(old_file))
    connection.execute("UPDATE turns SET occurred_at = :at", {"at": AT - 5})
    connection.execute("UPDATE memories SET valid_from = :at", {"at": AT - 9})
    connection.close()

    with SqliteStore.open(str(old_file), now=NOW).read() as tx:
        memory = tx.memories.get("m1", scope=SCOPE)

    assert memory is not None
    assert memory.said_at == memory.valid_from


def _merged_before(path: Path) -> None:
    """Bring a file to format 20, in which a was merged into b, b into c, and c forgotten by its person."""
    connection = apsw.Connection(str(path))
    for number, step in enumerate(MIGRATIONS[1:20], 2):
        step.up(connection)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, str(number), AT))
    connection.pragma("user_version", 20)
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(memories)") if name != "key"]
    kept = ", ".join(one for one in columns if one not in ("id", "status", "fingerprint", "change"))
    for key, (name, status) in enumerate({"a": "merged", "b": "merged", "c": "forgotten"}.items(), 10):
        connection.execute(
            f"INSERT INTO memories (key, id, status, fingerprint, change, {kept}) "  # noqa: S608 - a test's own names
            f"SELECT ?, ?, ?, ?, ?, {kept} FROM memories WHERE id = 'm1'",
            (key, name, status, name.encode(), key),
        )
    for keeper, loser in ((11, 10), (12, 11)):
        connection.execute(
            "INSERT INTO merges (keeper, loser, at, given) VALUES (?, ?, ?, '{}')", (keeper, loser, AT)
        )
    connection.execute(
        "INSERT INTO history (memory_id, at, action, actor, actor_kind, new_status, reason, changes) "
        "SELECT 'c', at, 'forget', actor, 'person', 'forgotten', '', '{}' FROM history LIMIT 1"
    )
    connection.close()


def test_wordings_are_taken_over_however_far_they_were_merged(old_file: Path) -> None:
    """What was merged into something forgotten stays away with it, and a memory knows all that it says."""
    _merged_before(old_file)
    SqliteStore.open(str(old_file), now=NOW).close()

    connection = apsw.Connection(str(old_file))
    forgotten = connection.execute("SELECT memory FROM forgotten ORDER BY memory").fetchall()
    wordings = connection.execute("SELECT id, wordings FROM memories WHERE key >= 10 ORDER BY id").fetchall()
    connection.close()

    assert forgotten == [("a",), ("b",), ("c",)]
    assert wordings == [("a", "[]"), ("b", '["a"]'), ("c", '["b","a"]')]


def test_on_a_read_only_disk_it_is_read_from_a_copy(old_file: Path, tmp_path: Path) -> None:
    """Where the file cannot be brought up to date, a private copy is, and the file keeps its bytes."""
    disk = SmallDisk(tmp_path / "disk", 16)
    path = disk.folder / "memory.db"
    path.write_bytes(old_file.read_bytes())
    disk.set_read_only()
    try:
        store = SqliteStore.open(str(path), now=NOW)
        with store.read() as tx:
            found = tx.memories.count()
        reason = store.unwritable
        store.close()
    finally:
        disk.unmount()

    assert found == 1
    assert isinstance(reason, StoreReadOnly)
