"""A damaged file is reported as damaged: never as a foreign traceback, never as healthy."""

from __future__ import annotations

import math
import os
import random
from typing import TYPE_CHECKING

import apsw
import pytest

from engramdb import Draft, Engram, EngramError, Filters, Status
from engramdb.errors import StorageError, StoreCorrupt
from engramdb.testing import TinyEmbedder
from engramdb.values import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = 4096
TREE_PAGES = (0x02, 0x05, 0x0A, 0x0D)
"""The first bytes of the pages of tables and indexes; others hold what is left of long rows, or nothing."""


@pytest.fixture
def filled(store_path: Path) -> Path:
    """A closed store with a few hundred memories of every status."""
    with open_quietly(store_path) as engram:
        said = Provenance(speaker="Ann")
        drafts = [Draft(content=f"note {n} about topic {n % 7}", provenance=said) for n in range(200)]
        memories = engram.remember_many(drafts)
        engram.forget(memories[0].id)
        engram.correct(memories[1].id, "a corrected note")
        engram.pin(memories[2].id)
        engram.observe("hello there", session="s1")
    return store_path


def open_quietly(path: Path) -> Engram:
    """Open without background threads."""
    return Engram.open(path, embedder=TinyEmbedder(), background=False)


CALLS: list[Callable[[Engram], object]] = [
    lambda engram: engram.recall("note about topic 3"),
    lambda engram: engram.list(limit=1000, filters=Filters(statuses=frozenset(Status))),
    lambda engram: [engram.history(memory.id) for memory in engram.list(limit=3)],
    lambda engram: engram.turns(),
    lambda engram: engram.status(),
    lambda engram: engram.remember("note 5 about topic 5", speaker="Ann"),
    lambda engram: engram.remember("something new"),
    lambda engram: engram.rebuild(),
    lambda engram: engram.doctor(fix=True),
]


def use_everything(path: Path) -> None:
    """Open the store and make every call; only errors of ours are let through quietly."""
    try:
        engram = open_quietly(path)
    except EngramError:
        return
    for call in CALLS:
        try:
            call(engram)
        except EngramError:
            continue
    engram.close()


def is_reported(path: Path) -> bool:
    """Return whether opening or the doctor reports the damage; a lost vector waits to be made again."""
    try:
        with open_quietly(path) as engram:
            report = engram.doctor()
            return not report.ok or any(check.waits for check in report.checks)
    except EngramError:
        return True


def change_row(path: Path, sql: str, *parameters: object) -> None:
    """Write into the file behind Engram's back."""
    connection = apsw.Connection(str(path))
    connection.execute(sql, parameters)
    connection.close()


@pytest.mark.parametrize("seed", range(12))
def test_a_page_of_rubbish_is_reported(filled: Path, seed: int) -> None:
    """Whichever page of a table or index is overwritten, the doctor or the opening says so."""
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    content = bytearray(filled.read_bytes())
    trees = [at for at in range(PAGE, len(content), PAGE) if content[at] in TREE_PAGES]
    at = rng.choice(trees)
    content[at : at + PAGE] = rng.randbytes(PAGE)
    filled.write_bytes(content)

    use_everything_on = filled.with_name("copy.db")
    use_everything_on.write_bytes(content)
    use_everything(use_everything_on)

    assert is_reported(filled)


@pytest.mark.parametrize("seed", range(24))
def test_flipped_bytes_never_end_in_a_foreign_error(filled: Path, seed: int) -> None:
    """A few changed bytes anywhere behind the header give an answer or an error of ours."""
    rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
    content = bytearray(filled.read_bytes())
    start = rng.randrange(100, len(content) - 64)
    for at in range(start, start + rng.choice([1, 8, 64])):
        content[at] ^= rng.randrange(1, 256)
    filled.write_bytes(content)

    use_everything(filled)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_file_is_reported(filled: Path, share: float) -> None:
    """A copy that was cut short is never taken for a smaller store."""
    content = filled.read_bytes()
    pages = int(len(content) / PAGE * share)
    filled.write_bytes(content[: pages * PAGE])

    assert is_reported(filled)


def test_rubbish_in_the_log_does_not_harm_the_store(filled: Path) -> None:
    """A log whose frames do not add up is what a power cut leaves: it is set aside, the store is whole."""
    filled.with_name(filled.name + "-wal").write_bytes(os.urandom(50_000))

    with open_quietly(filled) as engram:
        assert engram.doctor().ok
        assert engram.status().memories == 201


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memories SET detail = '{\"full\": '",
        "UPDATE memories SET detail = '{\"unknown\": 1}'",
        "UPDATE memories SET detail = '[]'",
        "UPDATE memories SET traits = 'nonsense'",
        "UPDATE memories SET turns = '7'",
        "UPDATE memories SET access_recent = '[\"yesterday\"]'",
        "UPDATE memories SET layer = 'attic'",
        "UPDATE memories SET source = 'rumour'",
        "UPDATE memories SET created_at = 9223372036854775807",
        "UPDATE memories SET content = CAST(X'C328' AS TEXT)",
        "UPDATE scopes SET project = ' not a name '",
        "UPDATE history SET changes = 'nonsense'",
        "UPDATE history SET action = 'dance'",
    ],
)
def test_a_row_that_makes_no_sense_is_an_error_of_ours(filled: Path, change: str) -> None:
    """Whatever another tool wrote into a column, reading it is a storage error and not a parser's."""
    change_row(filled, change)

    with open_quietly(filled) as engram:
        failures = []
        for call in CALLS[:5]:
            try:
                call(engram)
            except StorageError as error:
                failures.append(error)

    assert failures
    assert all(isinstance(error, StoreCorrupt) for error in failures)


@pytest.mark.parametrize(
    "vector",
    [
        "X'00'",
        "unhex('0000C07F' || hex(substr(vector, 5)))",
        "unhex('0000807F' || hex(substr(vector, 5)))",
        "unhex('FFFFFFFF' || hex(substr(vector, 5)))",
        "substr(vector, 2)",
        "unhex(hex(vector) || hex(vector))",
        "X''",
    ],
    ids=["one byte", "no number", "endless", "minus no number", "short", "long", "empty"],
)
def test_a_damaged_vector_spoils_no_answer(filled: Path, vector: str) -> None:
    """Its memory is found by words, the answer says that something is missing, and `doctor` mends it."""
    change_row(filled, f"UPDATE vectors SET vector = {vector} WHERE memory = 9")  # noqa: S608

    with open_quietly(filled) as engram:
        with engram._parts.store.read() as tx:
            ninth = tx.memories.by_keys([9])[9]
        answer = engram.recall(ninth.content)
        report = engram.doctor(fix=True)

        assert answer.hits
        assert all(math.isfinite(hit.score) for hit in answer.hits)
        assert answer.quality.is_degraded
        assert any(check.name == "vectors whole" and check.repaired for check in report.checks)
        assert not engram.recall(ninth.content).quality.is_degraded


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memories SET traits = 'nonsense' WHERE key = 9",
        "UPDATE memories SET layer = 'attic' WHERE key = 9",
        "UPDATE memories SET content = CAST(X'C328' AS TEXT) WHERE key = 9",
        "UPDATE memories SET content = 'I owe Mallory a thousand pounds' WHERE key = 9",
        "UPDATE vectors SET vector = X'00' WHERE memory = 9",
        "DELETE FROM terms WHERE rowid = 9",
        "DELETE FROM vectors WHERE memory = 9",
        "INSERT INTO terms (rowid, words) VALUES (4711, 'stray')",
        "INSERT INTO terms (rowid, words) VALUES (1, 'forgotten')",
        "INSERT INTO vectors SELECT space, 1, vector FROM vectors WHERE memory = 9",
    ],
)
def test_the_doctor_sees_rows_that_disagree(filled: Path, change: str) -> None:
    """What was changed behind Engram's back, in a memory or in an index of it, is not called healthy."""
    change_row(filled, change)

    assert is_reported(filled)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM terms WHERE rowid = 9",
        "DELETE FROM vectors WHERE memory = 9",
        "UPDATE vectors SET vector = X'00' WHERE memory = 9",
        "INSERT INTO terms (rowid, words) VALUES (4711, 'stray')",
        "INSERT INTO terms (rowid, words) VALUES (1, 'forgotten')",
        "INSERT INTO vectors SELECT space, 1, vector FROM vectors WHERE memory = 9",
        "UPDATE terms_data SET block = X'00' WHERE id > 10",
        "DELETE FROM terms_docsize",
        "DELETE FROM turn_terms",
        "UPDATE turn_terms_data SET block = X'00' WHERE id > 10",
    ],
)
def test_the_doctor_mends_what_is_derived(filled: Path, change: str) -> None:
    """Everything that can be made again from the memories is repaired by `fix`, and stays so."""
    change_row(filled, change)

    with open_quietly(filled) as engram:
        first = engram.doctor(fix=True)
        second = engram.doctor()
        answer = engram.recall("note 8 about topic 1")

    assert first.ok
    assert any(check.repaired for check in first.checks)
    assert all(check.ok for check in second.checks)
    assert answer.hits[0].memory.content == "note 8 about topic 1"
    assert not answer.quality.is_degraded


def test_a_damaged_index_of_turns_takes_no_answer_along(filled: Path) -> None:
    """Memories answer, what did not take part is named, and the doctor makes the index again."""
    change_row(filled, "UPDATE turn_terms_data SET block = X'00' WHERE id > 10")

    with open_quietly(filled) as engram:
        answer = engram.recall("hello note 7 about topic 0", limit=500)
        wrong = {check.name for check in engram.doctor().checks if not check.ok}
        engram.doctor(fix=True)
        healed = engram.recall("hello, who is there?", limit=500)

    assert answer.hits
    assert [one.index for one in answer.quality.missing] == ["turns"]
    assert "turn index" in wrong
    assert [one.excerpt for one in healed.said] == ["hello there"]
