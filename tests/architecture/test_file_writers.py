"""Code that writes files is known, with the kind of file that it writes: an erasure has to reach each."""

from __future__ import annotations

import re
from pathlib import Path

import engramdb
from engramdb.values import FileKind

SOURCE = Path(engramdb.__file__).parent
WRITES = re.compile(
    r"""\.write_text\(|\.write_bytes\(|NamedTemporaryFile|\bTemporaryFile\(|mkstemp\(|mkdtemp\("""
    r"""|TemporaryDirectory\(|\bopen\([^)]*["'][wax]b?\+?["']|\bopen\([^)]*["']r\+b?["']|O_CREAT"""
    r"""|O_WRONLY|copyfileobj\(|copyfile\(|FileHandler\(|VACUUM INTO|\.backup\(|apsw\.Connection\("""
)
"""What opens a file to write it. A folder that is made holds nothing."""
WRITERS = {
    "store/sqlite/connection.py": FileKind.STORE,
    "store/sqlite/backups.py": FileKind.BACKUP,
    "store/sqlite/salvage.py": FileKind.SALVAGE,
    "exporting/erase.py": FileKind.EXPORT,
    "cli/importing.py": FileKind.EXPORT,
    "notebook/folder.py": FileKind.NOTEBOOK,
    "hooks/state.py": FileKind.HOOK_STATE,
    "cli/plots.py": FileKind.PLOT,
    "http/tokens.py": FileKind.TOKENS,
    "connect/plan.py": FileKind.CLIENT_CONFIG,
    "models/packs.py": FileKind.MODEL_PACK,
    "cli/models.py": FileKind.MODEL_PACK,
    "cli/bench.py": FileKind.SAMPLE,
    "cli/demo.py": FileKind.SAMPLE,
}
PASSING = {
    "store/sqlite/read_only.py": "a private copy, while the process lives; one of a killed process is swept",
    "store/sqlite/reserve.py": "room that is kept free: zeros at most",
    "importing/source.py": "unpacks to memory or to a file that is unlinked",
    "cli/errors.py": "the null device",
    "hooks/detached.py": "the null device",
    "mcp/stdio.py": "the null device",
}


def test_every_writer_of_files_is_known() -> None:
    """A module that begins to write files names their kind here, and `values/files.py` what erasing does."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if WRITES.search(path.read_text(encoding="utf-8"))
    }

    assert found - WRITERS.keys() - PASSING.keys() == set()
    assert WRITERS.keys() <= found


def test_every_kind_of_file_has_a_writer() -> None:
    """No kind is declared that nobody writes."""
    assert set(WRITERS.values()) == set(FileKind)


def test_what_holds_words_is_registered_by_one_function() -> None:
    """Only the engine notes files in the store, before they are written."""
    callers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "tx.files.add(" in path.read_text(encoding="utf-8")
    }

    assert callers <= {"engine/erasing.py", "engine/backups.py"}
