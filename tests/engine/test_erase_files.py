"""After an erasure no file that we wrote holds the words: each kind of file has a case here."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope
from engramdb.errors import InvalidContent
from engramdb.exporting.export import MARK, line_of
from engramdb.hooks.state import DeliveredLines
from engramdb.notebook.state import STATE_FILE
from engramdb.settings import Settings
from engramdb.store.sqlite.store import SqliteStore
from engramdb.testing import TinyEmbedder
from engramdb.values import FileKind, FileOutcome, SecurityTier, Status
from engramdb.values.files import FILE_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engramdb.testing import ManualClock
    from engramdb.values import Check, Memory

ANN = Scope(user="annika")
SAID = "The zanzibarium of Quentin Falkenrath opens at nine"
WORDS = (b"zanzibarium", b"falkenrath")
KEY = "5a" * 32


def backed_up(engram: Engram, folder: Path) -> None:
    """Write a backup."""
    engram.backup(folder / "backup.db")


def exported(engram: Engram, folder: Path) -> None:
    """Write an export of everything with its history, as the command does."""
    path = folder / "export.jsonl"
    with engram.registered_export(path), path.open("wb") as file:
        for one in engram.export(tiers=list(SecurityTier), history=True, narrower=True):
            file.write(line_of(one))


def kept_notebook(engram: Engram, folder: Path) -> None:
    """Sync a notebook; a person then edits a note, which leaves a copy, and moves another one."""
    for scope in (Scope(), ANN):
        engram.notebook_sync(folder / f"notes-{scope.user}", scope=scope)
    root = folder / f"notes-{ANN.user}"
    for note in sorted(root.rglob("facts/**/*zanzibarium*.md"))[:1]:
        (note.parent / f"{note.stem}.conflict-0a1b2c3d.md").write_text(f"{SAID}, I think", encoding="utf-8")
        (root / ".engram-x.tmp").write_text(SAID, encoding="utf-8")


def saved(engram: Engram, folder: Path) -> None:
    """Save the rows into a new store."""
    engram.doctor(salvage=folder / "saved.db")


def hooked(engram: Engram, folder: Path) -> None:
    """Let a hook note what a session was given."""
    del folder
    settings = engram._own_parts.settings
    DeliveredLines(settings, "s1").filter_new([f"# Memory\n- {SAID}"])


WRITERS: dict[FileKind, Callable[[Engram, Path], None]] = {
    FileKind.STORE: lambda engram, _folder: engram._own_parts.store.scrub(),
    FileKind.BACKUP: backed_up,
    FileKind.EXPORT: exported,
    FileKind.NOTEBOOK: kept_notebook,
    FileKind.HOOK_STATE: hooked,
    FileKind.SALVAGE: saved,
}


@pytest.fixture(params=["plain", "encrypted"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of a plain and of an encrypted store, with a home beside it."""
    (tmp_path / "home").mkdir()
    key = KEY if request.param == "encrypted" else ""
    return Settings(home=tmp_path / "home", store=str(tmp_path / "memory.db"), key=key)


@pytest.fixture
def engram(settings: Settings, clock: ManualClock) -> Iterator[Engram]:
    """An engine in which the words stand in every table that can hold them."""
    with Engram.open(settings=settings, clock=clock, embedder=TinyEmbedder(), background=False) as engram:
        engram.remember(SAID, scope=ANN, category="person")
        engram.remember("Tea is served at four", scope=ANN)
        engram.remember("The harbor closes at nine")
        engram.observe(f"{SAID}, doesn't it?", session="s1", scope=ANN)
        engram.flush()
        engram.end_session("s1", scope=ANN)
        yield engram


def holders(folder: Path) -> list[str]:
    """Return the files below a folder that hold one of the words, in bytes or in their names."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if any(word in path.name.encode().lower() for word in WORDS)
        or (path.is_file() and any(word in path.read_bytes().lower() for word in WORDS))
    ]


def write_all(engram: Engram, folder: Path) -> None:
    """Have every kind of file written."""
    for write in WRITERS.values():
        write(engram, folder)


def secret(engram: Engram) -> Memory:
    """Return the memory whose words are to go."""
    return next(one for one in engram.list(scope=ANN, limit=50) if one.content == SAID)


def texts_in(path: Path, settings: Settings, clock: ManualClock) -> str:
    """Return all text of a store, of one that is encrypted too."""
    key = bytes.fromhex(settings.key)
    with (
        closing(SqliteStore.open(str(path), now=clock.now(), key=key)) as store,
        store._turn() as connection,
    ):
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        rows = [connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables]  # noqa: S608
    return repr(rows).lower()


def test_every_kind_that_holds_words_has_a_case() -> None:
    """A new kind of file is written by a test here, or holds no words of a memory."""
    assert set(WRITERS) == {
        kind for kind, rule in FILE_RULES.items() if rule.holds_text or kind is FileKind.HOOK_STATE
    }
    assert set(FILE_RULES) == set(FileKind)


@pytest.mark.parametrize("what", ["memory", "user"])
def test_erased_words_are_in_no_file_that_we_wrote(
    engram: Engram, settings: Settings, tmp_path: Path, clock: ManualClock, what: str
) -> None:
    """Home, store, log, backups, exports, notebooks: not a byte, and not a row of what is encrypted."""
    write_all(engram, tmp_path)
    assert holders(tmp_path)

    if what == "user":
        done = engram.erase(user=ANN.user)
    else:
        memory = secret(engram)
        done = engram.erase(memory.id, scope=ANN, mentions=True)
    engram.close()

    assert holders(tmp_path) == []
    assert {one.kind for one in done.files} == set(WRITERS)
    assert [one for one in done.files if one.outcome is FileOutcome.NAMED] == []
    for store in (Path(settings.store), tmp_path / "backup.db"):
        assert not any(word.decode() in texts_in(store, settings, clock) for word in WORDS)


def test_an_export_loses_what_other_memories_lean_on(engram: Engram, tmp_path: Path) -> None:
    """Nobody leans on erased words any more, in the file as in the store; the other lines stay."""
    said = "I was diagnosed with epilepsy in March"
    engram.observe(said, session="s2", scope=ANN)
    engram.observe("my brother Paul lives in Braga with two dogs", session="s2", scope=ANN)
    engram.flush()
    exported(engram, tmp_path)
    memory = next(one for one in engram.list(scope=ANN, limit=50) if one.content == said)
    path = tmp_path / "export.jsonl"
    before = path.read_bytes()
    lean = [line for line in before.splitlines() if b"Braga" in line]

    done = engram.erase(memory.id, scope=ANN)

    (told,) = [one for one in done.files if one.kind is FileKind.EXPORT]
    assert said.encode() in lean[0]
    assert told.outcome is FileOutcome.REWRITTEN
    assert told.why.endswith("1 shortened")
    assert b"epilepsy" not in path.read_bytes()
    assert b"Paul lives in Braga" in path.read_bytes()
    assert "epilepsy" not in str(engram.list(scope=ANN, limit=50))
    assert path.read_bytes().splitlines()[0] == before.splitlines()[0], "a line without it stays as it was"


def test_what_is_not_erased_stays_in_every_file(engram: Engram, tmp_path: Path) -> None:
    """The other lines, notes and memories are as they were, and a sync goes on."""
    write_all(engram, tmp_path)
    memory = secret(engram)

    engram.erase(memory.id, scope=ANN, mentions=True)

    assert b"Tea is served" in (tmp_path / "export.jsonl").read_bytes()
    assert list((tmp_path / f"notes-{ANN.user}").rglob("*tea-is-served*.md"))
    assert list((tmp_path / "notes-None").rglob("*harbor*.md"))
    report = engram.notebook_sync(tmp_path / f"notes-{ANN.user}", scope=ANN)
    assert not [one for one in report.changes if one.is_trouble]
    engram.close()
    settings = engram._own_parts.settings
    backup = Settings(home=settings.home, store=str(tmp_path / "backup.db"), key=settings.key)
    with Engram.open(settings=backup, embedder=TinyEmbedder(), background=False) as old:
        assert [one.content for one in old.list(scope=Scope())] == ["The harbor closes at nine"]
        assert old.doctor().ok


def test_a_dry_run_names_the_files_and_changes_none(engram: Engram, tmp_path: Path) -> None:
    """All of it is listed first, with what would be done."""
    write_all(engram, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
    before[tmp_path / "export.jsonl"] = (tmp_path / "export.jsonl").read_bytes()

    told = engram.erase(user=ANN.user, dry_run=True)

    assert {one.kind for one in told.files} == set(WRITERS)
    assert {path: path.read_bytes() for path in before} == before
    done = engram.erase(user=ANN.user)
    assert [(one.path, one.outcome) for one in done.files] == [(one.path, one.outcome) for one in told.files]


@pytest.mark.parametrize("kind", ["backup.db", "export.jsonl", "notes-annika"])
def test_a_file_that_is_gone_is_named(engram: Engram, tmp_path: Path, kind: str) -> None:
    """Whoever carried it away is told to delete it there; the rest is cleaned."""
    write_all(engram, tmp_path)
    (tmp_path / kind).rename(tmp_path / "elsewhere")

    done = engram.erase(user=ANN.user)

    (named,) = [one for one in done.files if one.outcome is FileOutcome.NAMED]
    assert Path(named.path).name == kind
    assert "delete it" in named.why


def test_a_file_that_became_another_is_not_touched(engram: Engram, tmp_path: Path) -> None:
    """What somebody put in the place of an export or a backup is theirs."""
    write_all(engram, tmp_path)
    (tmp_path / "export.jsonl").write_text("my own notes\n", encoding="utf-8")
    (tmp_path / "backup.db").unlink()
    with closing(sqlite3.connect(tmp_path / "backup.db")) as other:
        other.execute("CREATE TABLE theirs (words TEXT)")

    done = engram.erase(user=ANN.user)

    named = {Path(one.path).name for one in done.files if one.outcome is FileOutcome.NAMED}
    assert named == {"export.jsonl", "backup.db"}
    assert (tmp_path / "export.jsonl").read_text(encoding="utf-8") == "my own notes\n"


def test_what_could_not_be_written_is_not_registered(engram: Engram, tmp_path: Path) -> None:
    """Nobody is told to delete a file of theirs that a backup was refused for."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine", encoding="utf-8")

    with pytest.raises(InvalidContent):
        engram.backup(mine)

    done = engram.erase(user=ANN.user)
    assert [one.kind for one in done.files] == [FileKind.STORE]


def test_a_second_erasure_reaches_a_backup_that_was_away(engram: Engram, tmp_path: Path) -> None:
    """Erasing the same again cleans what could not be cleaned before."""
    backed_up(engram, tmp_path)
    memory = secret(engram)
    (tmp_path / "backup.db").rename(tmp_path / "away.db")
    engram.erase(memory.id, scope=ANN, mentions=True)
    (tmp_path / "away.db").rename(tmp_path / "backup.db")

    engram.erase(memory.id, scope=ANN, mentions=True)

    assert engram.get(memory.id, scope=ANN).status is Status.ERASED
    assert holders(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["memory.db.backups/a.db", "memory.db.before-restore-20260101T000000.000000Z"]
)
def test_copies_beside_the_store_are_found_without_being_registered(
    engram: Engram, tmp_path: Path, name: str
) -> None:
    """A process that was killed, or a restored store, registers nothing: the names tell."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    engram._own_parts.store.back_up(tmp_path / name)

    done = engram.erase(user=ANN.user)

    assert (FileKind.BACKUP, FileOutcome.REWRITTEN) in [(one.kind, one.outcome) for one in done.files]
    assert holders(tmp_path) == []


def test_doctor_sees_a_file_that_holds_erased_memories(engram: Engram, tmp_path: Path) -> None:
    """An old export that came back to its place is found by the ids in it."""
    exported(engram, tmp_path)
    old = (tmp_path / "export.jsonl").read_bytes()
    memory = secret(engram)
    engram.erase(memory.id, scope=ANN)
    assert engram.doctor().ok

    (tmp_path / "export.jsonl").write_bytes(old)

    (check,) = [one for one in engram.doctor().checks if one.name == "files"]
    assert not check.ok
    assert "export.jsonl" in check.found


def test_an_export_loses_copies_under_another_id(engram: Engram, tmp_path: Path) -> None:
    """Whichever field of a line holds the words, and whatever stands in its other fields."""
    path, said = tmp_path / "export.jsonl", json.dumps(SAID)
    lines = [
        f'{{"{MARK}": 1, "id": "x1", "content": {said}, "verbatim": "He told me so"}}\n',
        f'{{"{MARK}": 1, "id": "x2", "content": "It opens early", "verbatim": {said}}}\n',
        f'{{"{MARK}": 1, "id": "x3", "content": "It opens early", "statement": {said}}}\n',
    ]
    with engram.registered_export(path):
        path.write_text("".join(lines) + f'{{"{MARK}": 1, "id": "x4", "content": "Tea is at four"}}\n')

    engram.erase(secret(engram).id, scope=ANN)

    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["x4"]


def test_a_store_that_was_saved_from_another_is_erased_from(
    settings: Settings, tmp_path: Path, clock: ManualClock
) -> None:
    """From either of the two, also where the file was not open; the new one does not know itself."""
    opened = {"settings": settings, "clock": clock, "embedder": TinyEmbedder()}
    with Engram.open(background=False, **opened) as engram:  # type: ignore[arg-type]
        memory = engram.remember(SAID, scope=ANN)
    Engram.salvage(settings.store, tmp_path / "new.db", **opened)  # type: ignore[arg-type]

    with Engram.open(tmp_path / "new.db", background=False, **opened) as engram:  # type: ignore[arg-type]
        done = engram.erase(memory.id, scope=ANN)

    assert [(one.kind, Path(one.path).name) for one in done.files] == [
        (FileKind.STORE, "new.db"),
        (FileKind.SALVAGE, "memory.db"),
    ]
    assert all(one.outcome is FileOutcome.REWRITTEN for one in done.files)
    for name in ("memory.db", "new.db"):
        assert "zanzibarium" not in texts_in(tmp_path / name, settings, clock)


def test_a_sound_store_knows_what_was_saved_from_it(
    settings: Settings, tmp_path: Path, clock: ManualClock
) -> None:
    """Whoever stays with the old store erases from the new one as well."""
    opened = {"settings": settings, "clock": clock, "embedder": TinyEmbedder()}
    with Engram.open(background=False, **opened) as engram:  # type: ignore[arg-type]
        memory = engram.remember(SAID, scope=ANN)
    Engram.salvage(settings.store, tmp_path / "new.db", **opened)  # type: ignore[arg-type]

    with Engram.open(background=False, **opened) as engram:  # type: ignore[arg-type]
        engram.erase(memory.id, scope=ANN)

    assert "zanzibarium" not in texts_in(tmp_path / "new.db", settings, clock)


def files_found(engram: Engram) -> Check:
    """Return what the doctor found of files."""
    return next(one for one in engram.doctor().checks if one.name == "files")


def test_the_doctor_looks_into_backups(engram: Engram, tmp_path: Path) -> None:
    """An old copy that was put back after the erasure is found."""
    engram.backup(tmp_path / "backup.db")
    kept = (tmp_path / "backup.db").read_bytes()
    engram.erase(secret(engram).id, scope=ANN)
    assert files_found(engram).found == "1 written, none holds anything erased"

    (tmp_path / "backup.db").write_bytes(kept)

    assert not files_found(engram).ok
    assert "backup.db" in files_found(engram).found
    assert not (tmp_path / "backup.db-shm").exists()


@pytest.mark.parametrize("kind", [FileKind.BACKUP, FileKind.EXPORT, FileKind.NOTEBOOK])
def test_the_doctor_says_what_it_did_not_look_into(engram: Engram, tmp_path: Path, kind: FileKind) -> None:
    """It promises nothing about a file that cannot be read as what it was."""
    WRITERS[kind](engram, tmp_path)
    with engram._own_parts.store.read() as tx:
        (*_, file) = tx.files.list()
    rubbish = Path(file.path) / STATE_FILE if kind is FileKind.NOTEBOOK else Path(file.path)
    rubbish.write_bytes(b"\xff rubbish")

    found = files_found(engram)

    assert found.ok
    assert "none holds" not in found.found
    assert "not looked into: 1" in found.found
