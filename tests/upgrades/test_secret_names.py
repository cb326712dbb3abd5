"""A store from before secrets were kept out of names is cleaned when it is opened, and in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Engram
from engramdb.errors import EngramError
from engramdb.store.sqlite.migrations import MIGRATIONS, m027_secret_names
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = MIGRATIONS.index(m027_secret_names)


def test_a_secret_that_was_a_name_and_a_tag_is_neither_any_more(store_path: Path) -> None:
    """What else is known of the entities stays."""
    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        secret = engram.remember("Zoltan's wifi password is Hunter2!x9")
        engram.remember("Zoltan likes tea")
    connection = apsw.Connection(str(store_path))
    number = connection.execute("SELECT key FROM memories WHERE id = ?", (secret.id,)).fetchall()[0][0]
    connection.execute(
        "INSERT INTO entities (id, scope, name, folded, type, first_seen, last_seen, mentions) "
        "SELECT 'e-1', scope, 'Hunter2', 'hunter2', 'person', 0, 0, 1 FROM memories WHERE key = ?",
        (number,),
    )
    entity = connection.last_insert_rowid()
    connection.execute(
        "INSERT INTO entity_names "
        "SELECT scope, 'hunter2', ?, 'Hunter2', 'hunter2' FROM memories WHERE key = ?",
        (entity, number),
    )
    connection.execute("INSERT INTO entity_mentions VALUES (?, 'hunter2', ?, 0)", (entity, number))
    for table, column in [(one, name) for one in ("memories", "turns") for name in ("private", "checksum")]:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute("DELETE FROM migrations WHERE number > ?", (BEFORE,))
    connection.pragma("user_version", BEFORE)
    connection.close()

    with Engram.open(store_path, embedder=TinyEmbedder(), background=False) as engram:
        engram.enrich()

        with pytest.raises(EngramError):
            engram.entity("Hunter2")
        assert engram.entity("Zoltan").memories
        assert "hunter2" not in str(engram.get(secret.id, reveal=True).traits).lower()
