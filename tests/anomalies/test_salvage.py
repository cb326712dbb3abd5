"""Damage is survivable: the doctor isolates it, what is derived is made again, the rest is salvaged."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NoReturn

import apsw
import pytest
from click.testing import CliRunner

from engramdb import Draft, Engram, Settings
from engramdb.cli.main import app
from engramdb.errors import InvalidContent, StoreCorrupt
from engramdb.testing import TinyEmbedder
from engramdb.values.report import SalvageReport

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGE = 4096
KEY = "5c" * 32
MEMORIES = 300


def open_quietly(path: Path, key: str = "") -> Engram:
    """Open without background threads."""
    return Engram.open(path, settings=Settings(key=key), embedder=TinyEmbedder(), background=False)


def fill(path: Path, key: str = "") -> list[str]:
    """Write a store, and return the ids of its memories."""
    with open_quietly(path, key) as engram:
        stored = engram.remember_many([Draft(content=f"note {n} on topic q{n}") for n in range(MEMORIES)])
        engram.pin(stored[5].id)
        for number in range(20):
            engram.observe(f"hello number {number}", session="s1")
        return [memory.id for memory in stored]


def pages_of(path: Path, table: str) -> list[int]:
    """Return the pages of a table, but its first one."""
    connection = apsw.Connection(str(path))
    sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
    found = [int(str(number)) for (number,) in connection.execute(sql, (table,)).fetchall()]
    connection.close()
    return found


def ruin(path: Path, *pages: int, seed: int = 0) -> None:
    """Overwrite pages with rubbish."""
    chance = Random(seed)  # noqa: S311 - chance, not secrecy
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(chance.randbytes(PAGE))


def salvage(path: Path, key: str = "") -> tuple[Path, SalvageReport]:
    """Salvage a file into a new one beside it."""
    new = path.with_name("saved.db")
    report = Engram.salvage(path, new, settings=Settings(key=key), embedder=TinyEmbedder())
    return new, report


def test_one_damaged_page_of_memories_costs_only_its_rows(store_path: Path) -> None:
    """All other memories, their history and every turn are in the new store, which is sound."""
    ids = fill(store_path)
    pages = pages_of(store_path, "memories")
    ruin(store_path, pages[len(pages) // 2])

    report = Engram.salvage(store_path, store_path.with_name("new.db"), embedder=TinyEmbedder())

    lost = next(table for table in report.tables if table.name == "memories")
    with open_quietly(store_path.with_name("new.db")) as engram:
        kept = {memory.id for memory in engram.list(limit=1000)}
        assert engram.doctor().ok
        assert len(engram.turns(limit=100)) == 20
        survivor = sorted(kept)[0]
        assert engram.history(survivor)
        assert engram.recall(engram.get(survivor).content).hits[0].memory.id == survivor
    assert 0 < lost.lost < 30
    assert set(lost.ids) == set(ids) - kept


def test_the_doctor_names_the_damaged_table_and_goes_on(store_path: Path) -> None:
    """One damaged page is one finding; the other looks are taken too."""
    fill(store_path)
    ruin(store_path, pages_of(store_path, "memories")[1])

    with open_quietly(store_path) as engram:
        report = engram.doctor()

    wrong = {check.name: check.found for check in report.checks if not check.ok}
    assert "memories" in wrong["file"]
    assert {check.name for check in report.checks} >= {"references", "turn index complete", "embedder"}


@pytest.mark.parametrize("table", ["vectors", "terms_data", "turn_terms_data", "memory_traits"])
def test_a_damaged_derived_table_is_made_again(store_path: Path, table: str) -> None:
    """Nothing is lost with it: the doctor puts a new one in its place, and everything is found again."""
    fill(store_path)
    found = pages_of(store_path, table)
    if not found:
        pytest.skip(f"{table} has no page of its own")
    ruin(store_path, found[0])

    with open_quietly(store_path) as engram:
        before = engram.doctor()
        first = engram.doctor(fix=True)
        second = engram.doctor()
        answer = engram.recall("note 7 on topic q7")

    assert not before.ok
    assert first.ok
    assert all(check.ok for check in second.checks)
    assert answer.hits[0].memory.content == "note 7 on topic q7"


@pytest.mark.parametrize("key", ["", KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("seed", range(4))
def test_what_can_be_read_is_saved_from_random_damage(store_path: Path, seed: int, key: str) -> None:
    """Three pages of rubbish anywhere: what is saved or told as lost is all there was."""
    ids = set(fill(store_path, key))
    count = store_path.stat().st_size // PAGE
    pages = Random(seed).sample(range(2, count + 1), 3)  # noqa: S311
    ruin(store_path, *pages, seed=seed)

    new, report = salvage(store_path, key)

    with open_quietly(new, key) as engram:
        kept = {memory.id for memory in engram.list(limit=1000)}
        assert engram.doctor().ok
    lost = next(table for table in report.tables if table.name == "memories")
    assert len(ids - kept) <= lost.lost
    assert len(kept & ids) > len(ids) / 2 or lost.lost


def test_a_file_without_its_header_is_salvaged(store_path: Path) -> None:
    """The first hundred bytes are the same in every store: their loss costs nothing."""
    ids = fill(store_path)
    with store_path.open("r+b") as file:
        file.write(Random(1).randbytes(100))  # noqa: S311

    new, report = salvage(store_path)

    assert report.lost == 0
    with open_quietly(new) as engram:
        assert {memory.id for memory in engram.list(limit=1000)} >= set(ids)


def test_a_salvage_replaces_nothing(store_path: Path) -> None:
    """A path where something lies is refused, and both files keep their bytes."""
    fill(store_path)
    new = store_path.with_name("saved.db")
    new.write_text("mine")

    with pytest.raises(InvalidContent):
        Engram.salvage(store_path, new, embedder=TinyEmbedder())

    assert new.read_text() == "mine"


def test_an_open_store_is_salvaged_by_the_doctor(store_path: Path) -> None:
    """`doctor(salvage=…)` saves what the open store shows, and the store can still be written."""
    fill(store_path)
    with open_quietly(store_path) as engram:
        report = engram.doctor(salvage=store_path.with_name("saved.db"))
        engram.remember("still here")
    assert report.salvaged is not None
    assert report.salvaged.lost == 0


def test_a_damaged_store_is_not_backed_up(store_path: Path) -> None:
    """A copy of damage is no backup: the command fails, and leaves no file."""
    fill(store_path)
    ruin(store_path, pages_of(store_path, "memories")[1])
    target = store_path.with_name("copy.db")

    with open_quietly(store_path) as engram, pytest.raises(StoreCorrupt):
        engram.backup(target)

    assert not target.exists()
    assert not list(store_path.parent.glob(".copy*"))


FOUND = """private = '[{"start":0,"end":1,"kind":"ssn"}]'"""
"""A finding where there was none."""


@pytest.mark.parametrize("change", ["content = upper(content)", FOUND])
@pytest.mark.parametrize("table", ["memories", "turns"])
def test_words_that_were_changed_are_noticed(store_path: Path, table: str, change: str) -> None:
    """The doctor names the row, no copy is made of it, and a salvage keeps it and says so."""
    fill(store_path)
    connection = apsw.Connection(str(store_path))
    connection.execute(f"UPDATE {table} SET {change} WHERE key = 8")  # noqa: S608
    (row_id,) = connection.execute(f"SELECT id FROM {table} WHERE key = 8").fetchone() or ("",)  # noqa: S608
    connection.close()

    with open_quietly(store_path) as engram:
        (found,) = [check for check in engram.doctor().checks if not check.ok]
        with pytest.raises(StoreCorrupt, match=str(row_id)):
            engram.backup(store_path.with_name("copy.db"))
    new, report = salvage(store_path)

    assert found.name == table
    assert str(row_id) in found.found
    assert report.changed == (row_id,)
    with open_quietly(new) as saved:
        assert all(check.ok for check in saved.doctor().checks)


def test_the_command_line_salvages_what_cannot_be_opened(store_path: Path) -> None:
    """`engram doctor --salvage` needs no store that opens, lists what is lost, and ends with 1."""
    fill(store_path)
    page = pages_of(store_path, "memories")[1]
    with store_path.open("r+b") as file:
        file.write(bytes(100))
    ruin(store_path, page)
    new = store_path.with_name("saved.db")

    done = CliRunner().invoke(app, ["doctor", "--salvage", str(new), "--store", str(store_path)])

    assert done.exit_code == 1
    assert "memories" in done.output
    assert new.exists()


class HostileEmbedder(TinyEmbedder):
    """Raises what no embedder should."""

    def embed_documents(self, texts: Sequence[str]) -> NoReturn:
        """Fail with the texts in the message."""
        raise RuntimeError(f"cannot embed {texts[0]}")


def test_a_foreign_embedder_spoils_no_salvage(store_path: Path) -> None:
    """Whatever it raises, the rows are saved and wait to be embedded."""
    ids = fill(store_path)
    with apsw.Connection(str(store_path)) as connection:
        connection.execute("DELETE FROM vectors")

    Engram.salvage(store_path, store_path.with_name("new.db"), embedder=HostileEmbedder())

    with open_quietly(store_path.with_name("new.db")) as engram:
        assert {memory.id for memory in engram.list(limit=1000)} >= set(ids)


def test_a_salvage_that_fails_can_be_run_again(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves nothing at the new path."""
    fill(store_path)
    new = store_path.with_name("new.db")
    fail = RuntimeError("a mistake of ours")
    monkeypatch.setattr("engramdb.engine.salvage.rebuild_terms", lambda _store: raise_it(fail))
    with pytest.raises(RuntimeError):
        Engram.salvage(store_path, new, embedder=TinyEmbedder())
    assert not list(store_path.parent.glob("new.db*"))
    monkeypatch.undo()

    assert Engram.salvage(store_path, new, embedder=TinyEmbedder()).lost == 0


def raise_it(error: Exception) -> NoReturn:
    """Raise, where only an expression may stand."""
    raise error
