"""A stranger's text is read by a child with limits; what comes to no end stores nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram
from engramdb.errors import ImportStopped, InvalidContent
from engramdb.importing.contained import ReadLimits, read_contained
from engramdb.importing.read import read_source
from engramdb.values import ImportKind

if TYPE_CHECKING:
    from pathlib import Path

MEM0 = '[{"id": "1", "memory": "Maya is allergic to nuts", "user_id": "maya", "created_at": "2024-05-01"}]'
TEXTS = {
    "notes.md": "---\ndate: 2024-05-01\n---\n# Harbor\n\n- The crane went to [[Maya]]\n\n> quoted words\n",
    "notes.txt": "The crane was sold.\n\nThe pier is closed.",
    "dump.json": MEM0,
    "chat.json": '[{"mapping": {}, "title": "t"}]',
    "log.jsonl": '{"content": "The lease ends in June", "role": "user"}\nnot json\n',
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_child_reads_what_the_server_would_have_read(tmp_path: Path, name: str) -> None:
    """Every field of every record comes back over the pipe as it is."""
    (tmp_path / name).write_text(TEXTS[name], encoding="utf-8")

    def read(path: Path) -> object:
        try:
            return list(read_source(path))
        except InvalidContent as exc:
            return (exc.code, exc.message, exc.hint)

    def contained() -> object:
        try:
            return list(read_contained(name, TEXTS[name], kind=None, mapping=None))
        except InvalidContent as exc:
            return (exc.code, exc.message, exc.hint)

    assert contained() == read(tmp_path / name)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (ReadLimits(seconds=0.01), "one"),
        (ReadLimits(memory_bytes=400_000_000), "A paragraph of some words.\n\n" * 1_500_000),
        (ReadLimits(cpu_seconds=1, memory_bytes=8_000_000_000), "A paragraph of words.\n\n" * 1_500_000),
        (ReadLimits(records_bytes=100), "The crane was sold.\n\n" * 50),
    ],
    ids=["time", "memory", "processor", "answer"],
)
def test_what_goes_beyond_a_limit_is_stopped(limits: ReadLimits, text: str) -> None:
    """By the clock, by memory, by the processor and by what comes back; soon, and with one error."""
    begun = time.monotonic()

    with pytest.raises(ImportStopped):
        list(read_contained("a.txt", text, kind=ImportKind.TEXT, mapping=None, limits=limits))

    assert time.monotonic() - begun < 20


def test_a_text_is_imported_as_a_file_is(engram: Engram) -> None:
    """Once, with its name; what is of no kind, or no text, is refused and stores nothing."""
    with pytest.raises(InvalidContent):
        engram.import_text("harbor", "no kind at all")
    with pytest.raises(InvalidContent):
        engram.import_text("harbor", "a folder?", kind="codebase")

    assert engram.list() == []
    assert engram.import_text("a.txt", "The crane was sold.").added == 1
    assert engram.import_text("a.txt", "The crane was sold.").already == 1


@pytest.mark.parametrize(
    ("name", "text", "mapping"),
    [
        ("a.md", "half \ud800 a pair", None),
        ("a\ud800.md", "whole", None),
        ("a.csv", "a,b\n1,2", {"content": "\ud800"}),
        ("a.csv", "a,b\n1,2", {"\ud800": "a"}),
    ],
    ids=["text", "name", "column", "field"],
)
def test_half_a_surrogate_pair_is_our_error(
    engram: Engram, name: str, text: str, mapping: dict[str, str] | None
) -> None:
    """Wherever it stands, it could be handed to nobody."""
    with pytest.raises(InvalidContent, match="surrogate"):
        engram.import_text(name, text, mapping=mapping)

    assert engram.list() == []
