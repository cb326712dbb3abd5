"""A salvaged store can be read: every memory and turn in it makes sense, whatever bytes were lost."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import apsw
import pytest
from click.testing import CliRunner

from engramdb import Draft, Engram, Scope, Settings
from engramdb.cli.main import app
from engramdb.errors import StoreCorrupt
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb.values.report import SalvageReport

MEMORIES = 120


def open_quietly(path: Path) -> Engram:
    """Open without background threads."""
    return Engram.open(path, settings=Settings(), embedder=TinyEmbedder(), background=False)


def fill(path: Path) -> list[str]:
    """Write a store, and return the ids of its memories."""
    with open_quietly(path) as engram:
        stored = engram.remember_many([Draft(content=f"note {n} on topic q{n}") for n in range(MEMORIES)])
        for number in range(5):
            engram.observe(f"hello number {number}", session="s1")
        return [memory.id for memory in stored]


def salvage(path: Path) -> tuple[Path, SalvageReport]:
    """Salvage a file into a new one beside it."""
    new = path.with_name("saved.db")
    return new, Engram.salvage(path, new, settings=Settings(), embedder=TinyEmbedder())


def pages_but_the_layout(path: Path) -> list[int]:
    """Return the pages of all tables and indexes but those that say which tables there are."""
    connection = apsw.Connection(str(path))
    sql = "SELECT pageno FROM dbstat WHERE name <> 'sqlite_schema' ORDER BY pageno"
    found = [int(str(number)) for (number,) in connection.execute(sql).fetchall()]
    connection.close()
    return found


def alter(path: Path, sql: str) -> None:
    """Write to the file behind Engram's back."""
    connection = apsw.Connection(str(path))
    connection.pragma("ignore_check_constraints", "on")
    connection.execute(sql)
    connection.close()


@pytest.mark.parametrize("seed", range(6))
def test_random_bytes_cost_no_more_than_what_stood_there(store_path: Path, seed: int) -> None:
    """Thirty bytes overwritten anywhere: the salvage ends with its report, and the new store is read."""
    ids = set(fill(store_path))
    chance = Random(seed)  # noqa: S311 - chance, not secrecy
    pages = pages_but_the_layout(store_path)
    with store_path.open("r+b") as file:
        for _ in range(30):
            file.seek((chance.choice(pages) - 1) * 4096 + chance.randrange(4096))
            file.write(chance.randbytes(1))

    new, report = salvage(store_path)

    assert not report.notes
    lost = next(table for table in report.tables if table.name == "memories")
    with open_quietly(new) as engram:
        kept = {memory.id for memory in engram.list(limit=1000)}
        engram.recall("note 7 on topic q7")
        engram.turns(limit=100)
        for memory in kept:
            engram.history(memory)
        engram.remember("written after the salvage")
    assert len(ids - kept) <= lost.lost + len(report.changed) + len(report.mended)
    assert len(ids & kept) > MEMORIES / 2


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "'actXve'"),
        ("layer", "'?'"),
        ("type", "''"),
        ("source", "'hum!n'"),
        ("voice", "'own '"),
        ("traits", "'{'"),
        ("detail", "'{\"x\":1}'"),
        ("turns", "'[1]'"),
        ("flags", "'x'"),
        ("access_recent", "'[99999999999999999999]'"),
        ("created_at", str(2**62)),
        ("valid_to", str(-(2**62))),
        ("confidence", "7.5"),
        ("pinned", "9"),
        ("lasting", "'so'"),
        ("category", "CAST(x'ff41' AS TEXT)"),
        ("box", "'nowhere'"),
    ],
)
def test_a_memory_with_one_senseless_field_is_saved(store_path: Path, column: str, value: str) -> None:
    """The field gets what it can only have been, or a careful default; the statement itself is kept."""
    ids = fill(store_path)
    alter(store_path, f"UPDATE memories SET {column} = {value} WHERE id = '{ids[7]}'")  # noqa: S608

    new, report = salvage(store_path)

    with open_quietly(new) as engram:
        assert engram.get(ids[7]).content == "note 7 on topic q7"
        assert engram.doctor().ok
        assert {memory.id for memory in engram.list(limit=1000)} >= set(ids) - {ids[7]}
    assert report.lost == 0
    assert column in ("box", "category") or report.mended == (ids[7],)


def test_what_was_confidential_or_forgotten_is_not_given_away_by_a_lost_letter(store_path: Path) -> None:
    """An unknown tier counts as confidential, an unknown status as archived."""
    ids = fill(store_path)
    alter(store_path, f"UPDATE memories SET security = '??', status = '??' WHERE id = '{ids[7]}'")  # noqa: S608

    new, _ = salvage(store_path)

    with open_quietly(new) as engram:
        memory = engram.get(ids[7])
    assert (memory.security, memory.status) == ("confidential", "archived")


def test_a_turn_with_a_senseless_role_is_saved(store_path: Path) -> None:
    """Its words are kept."""
    fill(store_path)
    alter(store_path, "UPDATE turns SET role = 'us?r' WHERE key = 1")
    alter(store_path, f"UPDATE turns SET role = '', occurred_at = {2**62} WHERE key = 2")  # noqa: S608

    new, report = salvage(store_path)

    with open_quietly(new) as engram:
        found = engram.turns(limit=100)
    assert [turn.role for turn in found][:2] == ["user", "tool"]
    assert len(found) == 5
    assert len(report.mended) == 2


@pytest.mark.parametrize("table", ["memories", "scopes", "turns"])
def test_a_damaged_declaration_costs_no_table(store_path: Path, table: str) -> None:
    """One byte in the layout: the table is declared as in every store, and its rows are saved."""
    ids = fill(store_path)
    content = store_path.read_bytes()
    place = content.index(f"CREATE TABLE {table} (".encode())
    with store_path.open("r+b") as file:
        file.seek(place + len(f"CREATE TABLE {table} ("))
        file.write(b"((")

    new, report = salvage(store_path)

    with open_quietly(new) as engram:
        assert {memory.id for memory in engram.list(limit=1000)} >= set(ids)
        assert len(engram.turns(limit=100)) == 5
    assert report.lost == 0


def test_the_report_lists_only_tables_with_something_saved_or_lost(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that the file no longer names share one line."""
    monkeypatch.setenv("ENGRAM_EMBEDDER", "hashing")
    fill(store_path)
    alter(store_path, "DROP TABLE sweeps")
    alter(store_path, "DROP TABLE dreams")
    command = ["doctor", "--salvage", str(store_path.with_name("saved.db")), "--store", str(store_path)]

    done = CliRunner().invoke(app, command)

    lines = done.output.splitlines()
    assert sum("sweeps" in line for line in lines) == 1
    assert any("dreams" in line and "sweeps" in line for line in lines)
    assert not [line for line in lines if line.split()[1:3] == ["0", "0"]]
    assert any(line.split()[:2] == ["memories", str(MEMORIES)] for line in lines)


def test_a_salvaged_store_with_a_changed_statement_is_sound_and_backed_up(store_path: Path) -> None:
    """The report tells which statement is not as it was stored; the new store goes on with what it says."""
    ids = fill(store_path)
    alter(store_path, f"UPDATE memories SET content = 'note 7 on t?pic' WHERE id = '{ids[7]}'")  # noqa: S608

    new, report = salvage(store_path)

    assert report.changed == (ids[7],)
    with open_quietly(new) as engram:
        assert engram.doctor().ok
        engram.backup(new.with_name("copy.db"))


def make_bytes(path: Path, table: str) -> str:
    """Turn the words of a row into bytes, as a flipped bit in a type does, and return its id."""
    begin = f"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = {{}} WHERE name = '{table}'"  # noqa: S608
    alter(path, begin.format("rtrim(substr(sql, 1, length(sql) - length('STRICT')))"))
    alter(path, f"UPDATE {table} SET content = CAST(content AS BLOB) WHERE key = 3")  # noqa: S608
    alter(path, begin.format("sql || ' STRICT'"))
    connection = apsw.Connection(str(path))
    (found,) = connection.execute(f"SELECT id FROM {table} WHERE key = 3").fetchall()  # noqa: S608
    connection.close()
    return str(found[0])


@pytest.mark.parametrize("table", ["memories", "turns"])
def test_words_that_became_bytes_are_an_error_of_ours_and_are_saved(store_path: Path, table: str) -> None:
    """One flipped bit in the type of a value."""
    fill(store_path)
    row_id = make_bytes(store_path, table)

    with open_quietly(store_path) as engram:
        if table == "turns":
            with pytest.raises(StoreCorrupt):
                engram.turns(limit=50)
        assert not engram.doctor().ok
    new, report = salvage(store_path)

    assert row_id in report.mended
    with open_quietly(new) as saved:
        found = {one.id: one.content for one in (*saved.list(limit=500), *saved.turns(limit=50))}
    assert "number" in found[row_id] or "note" in found[row_id]


def test_what_stood_in_a_lost_scope_is_named(store_path: Path) -> None:
    """Its rows are saved, and the report says where they are."""
    ids = set(fill(store_path))
    alter(store_path, "PRAGMA foreign_keys = OFF; DELETE FROM scopes")

    new, report = salvage(store_path)

    assert any("salvaged-1" in note for note in report.notes)
    with open_quietly(new) as saved:
        found = {one.id for one in saved.list(limit=500, scope=Scope(project="salvaged-1"))}
    assert ids <= found
