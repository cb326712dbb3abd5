"""SQLite's locks on the file hold as long as the store is open, whatever else this process looks at."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

PASSER_BY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("select count(*) from memories")
connection.close()
"""


def pass_by(path: Path) -> None:
    """Let another program look into the file and go: the last one to go would take the log along."""
    subprocess.run([sys.executable, "-c", PASSER_BY, str(path)], check=True, timeout=30)


def open_one(path: Path) -> Engram:
    """A memory without threads."""
    return Engram.open(path, embedder=TinyEmbedder(), background=False)


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="the passer-by cannot read strict tables")
def test_a_passer_by_does_not_take_the_log_along(store_path: Path) -> None:
    """Nothing that was acknowledged before or after is lost, for this process and for the next."""
    log = store_path.with_name(store_path.name + "-wal")
    with open_one(store_path) as engram:
        engram.remember("said before somebody passed by")
        engram.recall("somebody")
        engram.status()
        pass_by(store_path)
        assert log.exists()

        with open_one(store_path) as second:
            second.remember("said by a second handle")
        pass_by(store_path)
        assert log.exists()

        engram.remember("said after somebody passed by")

    with open_one(store_path) as again:
        assert len(again.list()) == 3
