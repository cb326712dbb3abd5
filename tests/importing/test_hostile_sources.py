"""Sources that are broken, huge or meant to harm: each is refused with a code or survived."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.errors import ContentTooLarge, InvalidContent, InvalidQuery
from engramdb.importing import json_stream
from engramdb.importing.json_stream import RawObject, UnfitObject, raw_objects
from engramdb.importing.read import IMPORTERS, read_source
from engramdb.importing.source import (
    TOO_LARGE,
    UNREADABLE,
    BrokenRecord,
    SkippedFile,
    SourceFile,
    SourceMessage,
    SourceStatement,
)
from engramdb.values import ImportKind

from . import sources

if TYPE_CHECKING:
    from pathlib import Path

JSON_KINDS = [kind for kind, importer in IMPORTERS.items() if importer.suits is not None]
OWN_WORDS = (
    *("mapping", "current_node", "message", "author", "role", "content", "parts", "chat_messages", "sender"),
    *("type", "sessionId", "payload", "memory", "namespace", "key", "value", "metadata", "categories", "id"),
    *("user", "assistant", "text", "isLatest", "sessionIds", "strength", "created_at", "timestamp", "parent"),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(OWN_WORDS)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(OWN_WORDS), inner, max_size=6)
    ),
    max_leaves=25,
)


def piece_of(content: bytes, name: str = "x.json") -> SourceFile:
    """A file that exists in memory only."""
    return SourceFile(name, len(content), lambda: io.BytesIO(content))


def found_in(
    path: Path, **options: Any
) -> list[SourceStatement | SourceMessage | BrokenRecord | SkippedFile]:
    """Everything that a source gives."""
    return [record for _, record in read_source(path, **options)]


class SlowStream(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1) -> bytes:
        """Return three bytes at most."""
        return super().read(3 if size is None or size < 0 else min(size, 3))


@settings(max_examples=40)
@given(
    value=st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), max_size=5), wrapped=st.booleans()
)
def test_objects_come_out_of_any_json_whole_and_in_order(value: list[dict[str, Any]], wrapped: bool) -> None:
    """Splitting a stream into its objects loses nothing, wherever the chunks are cut."""
    written = json.dumps({"before": {"a": [1]}, "items": value} if wrapped else value).encode()

    found = list(raw_objects(SlowStream(written)))

    assert [json.dumps(json.loads(one.content)) for one in found if isinstance(one, RawObject)] == [
        json.dumps(one) for one in value
    ]
    assert {one.list_name for one in found if isinstance(one, RawObject)} <= {"items" if wrapped else ""}


@settings(max_examples=40)
@given(value=st.lists(JSON, max_size=4), kind=st.sampled_from(JSON_KINDS))
def test_no_importer_stumbles_over_odd_json(value: list[Any], kind: ImportKind) -> None:
    """Fields of the wrong kind cost a record and never the import."""
    content = json.dumps(value).encode()

    found = list(IMPORTERS[kind].read(piece_of(content), {}))

    assert all(isinstance(one, SourceStatement | SourceMessage | BrokenRecord) for one in found)
    assert all(one.content.strip() for one in found if isinstance(one, SourceStatement | SourceMessage))


@settings(max_examples=40)
@given(content=st.binary(max_size=200), kind=st.sampled_from(sorted(IMPORTERS)))
def test_no_importer_stumbles_over_garbage(content: bytes, kind: ImportKind, tmp_path: Path) -> None:
    """Whatever the bytes, a source ends in records, in broken places, or in a refusal."""
    path = tmp_path / "garbage.bin"
    path.write_bytes(content)

    try:
        found = found_in(path, kind=kind)
    except InvalidContent:  # what begins like an archive and is none
        return

    assert all(isinstance(one, SourceStatement | SourceMessage | BrokenRecord) for one in found)


def test_a_broken_object_costs_itself_only() -> None:
    """What stands behind a malformed record is read all the same."""
    content = b'[{"memory": "one", "id": 1}, {"memory": oops, "id": 2}, {"memory": "three", "id": 3}]'

    found = list(IMPORTERS[ImportKind.MEM0].read(piece_of(content), {}))

    assert [one.content for one in found if isinstance(one, SourceStatement)] == ["one", "three"]
    assert [one for one in found if isinstance(one, BrokenRecord)] == [
        BrokenRecord(place="x.json: record 2", code=UNREADABLE)
    ]


def test_a_file_that_is_cut_off_gives_what_it_has() -> None:
    """A download that broke off is read up to there, and the report says so."""
    content = json.dumps([sources.chatgpt_conversation()] * 2).encode()[:-900]

    found = list(IMPORTERS[ImportKind.CHATGPT].read(piece_of(content), {}))

    assert sum(isinstance(one, SourceMessage) for one in found) == 4
    assert [one for one in found if isinstance(one, BrokenRecord)] == [BrokenRecord(place="x.json: record 2")]


def test_half_an_emoji_does_not_spoil_its_conversation() -> None:
    """Exports hold halves of surrogate pairs; the messages around them are read."""
    content = b'[{"memory": "fine", "id": "1"}, {"memory": "cut \\ud83d", "id": "2"}]'

    found = list(IMPORTERS[ImportKind.MEM0].read(piece_of(content), {}))

    assert [type(one) for one in found] == [SourceStatement, SourceStatement]


def test_deep_nesting_is_survived() -> None:
    """A tower of brackets neither overflows the stack nor takes forever."""
    content = b'[{"memory": ' + b"[" * 50_000 + b"]" * 50_000 + b'}, {"memory": "fine", "id": "1"}]'

    found = list(IMPORTERS[ImportKind.MEM0].read(piece_of(content), {}))

    assert isinstance(found[0], BrokenRecord)
    assert isinstance(found[-1], SourceStatement)


@pytest.mark.parametrize("kind", sorted(IMPORTERS))
@pytest.mark.parametrize(
    "part",
    ["[", "[[", "![", "[a](", "==a ", "<!--", "%%a", '{"a":', "- ", "# ", " ^", "~~ a", '"', "a,", "\t"],
)
def test_no_file_takes_longer_than_its_length(kind: ImportKind, part: str, tmp_path: Path) -> None:
    """A tower of brackets, links that do not end and runs of blanks are read in linear time."""
    path = tmp_path / "tower.md"
    path.write_text(part * (100_000 // len(part)))
    begin = time.process_time()

    found_in(path, kind=kind)

    assert time.process_time() - begin < 3


def test_a_tower_of_brackets_is_left() -> None:
    """What nests deeper than any export is not followed to its top."""
    stream = io.BytesIO(b"[" * 20_000_000)

    assert list(raw_objects(stream)) == [UnfitObject(is_too_large=True)]
    assert stream.tell() < 5_000_000


class Endless(io.RawIOBase):
    """A JSON list that begins with a string without an end; `left` says how much of it was not read."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left
        self._opening = b'[{"a": "'

    def read(self, size: int = -1) -> bytes:
        """Return some more of the same."""
        opening, self._opening = self._opening, b""
        count = min(size, self.left)
        self.left -= count
        return opening or b"x" * count


def test_an_object_that_is_too_large_is_not_held_in_memory() -> None:
    """An object above the limit is let go of while it is read; an endless string ends the file."""
    limit = 2 * json_stream.CHUNK_BYTES
    small, endless = b'{"a": 1}', Endless(100 * limit)
    large = b'[{"a": [' + b"[1]," * limit + b"0]}, " + small + b"]"

    found = list(raw_objects(io.BytesIO(large), max_bytes=limit))
    behind = list(raw_objects(endless, max_bytes=limit))  # type: ignore[arg-type]

    assert found == [UnfitObject(is_too_large=True), RawObject(small, "", large.index(small))]
    assert behind == [UnfitObject(is_too_large=True)]
    assert endless.left > 0


def test_a_line_that_is_too_long_is_passed_over() -> None:
    """A session log with a film in it is read around the film."""
    long = b'{"memory": "' + b"x" * json_stream.MAX_LINE_BYTES + b'", "id": 1}\n'
    content = long + b'{"memory": "fine", "id": "2"}\n'

    found = list(IMPORTERS[ImportKind.MEM0].read(piece_of(content, "x.jsonl"), {}))

    assert [type(one) for one in found] == [BrokenRecord, SourceStatement]
    assert found[0] == BrokenRecord(place="x.jsonl: line 1", code=TOO_LARGE)


def test_a_chat_export_is_read_from_its_archive(tmp_path: Path) -> None:
    """What else lies in the archive, such as the page and uploads, is left out and counted."""
    path = sources.write_zip(
        tmp_path / "export.zip",
        {
            "conversations.json": json.dumps([sources.chatgpt_conversation()]),
            "user.json": '{"id": "user-1", "email": "me@example.org"}',
            "chat.html": "<html></html>",
            "file-1.txt": "An upload that nobody said",
        },
    )

    found = found_in(path)

    assert sum(isinstance(one, SourceMessage) for one in found) == 4
    assert {one.place for one in found if isinstance(one, SkippedFile)} == {
        "user.json",
        "chat.html",
        "file-1.txt",
    }


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """An archive that would swell a thousandfold is turned away with a code."""
    path = sources.write_zip(tmp_path / "bomb.zip", {"conversations.json": b"[" + b" " * 40_000_000})

    with pytest.raises(ContentTooLarge) as refused:
        found_in(path)

    assert refused.value.code == TOO_LARGE
    assert path.stat().st_size < 100_000


def test_names_that_lead_out_of_an_archive_are_not_read(tmp_path: Path) -> None:
    """Paths upwards, absolute paths and links are reported and nothing is written anywhere."""
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside.md", "Outside")
        archive.writestr("/etc/outside.md", "Outside")
        link = zipfile.ZipInfo("link.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/hostname")
        archive.writestr("inside.md", "Inside the archive")

    found = found_in(path)

    assert [one.content for one in found if isinstance(one, SourceStatement)] == [
        "inside: Inside the archive"
    ]
    assert sum(isinstance(one, BrokenRecord) for one in found) == 3
    assert sorted(one.name for one in tmp_path.iterdir()) == ["odd.zip"]


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    """A vault can neither be left through a link nor walked in circles; hidden folders stay hidden."""
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    (vault / ".obsidian").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.md").write_text("A secret")
    (vault / ".obsidian" / "config.md").write_text("A setting")
    (vault / "note.md").write_text("A note")
    (vault / "link.md").symlink_to(outside / "secret.md")
    (vault / "loop").symlink_to(vault)

    found = found_in(vault)

    assert [one.content for one in found if isinstance(one, SourceStatement)] == ["note: A note"]


@pytest.mark.parametrize("name", ["absent.json", "\0"])
def test_a_path_that_is_not_there_is_an_error_with_a_code(tmp_path: Path, name: str) -> None:
    """A mistyped path is no empty import."""
    with pytest.raises(InvalidContent):
        found_in(tmp_path / name)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """Only files and folders are read."""
    os.mkfifo(tmp_path / "pipe.json")

    with pytest.raises(InvalidContent):
        found_in(tmp_path / "pipe.json")


def test_a_file_of_no_known_kind_is_refused_with_the_kinds(tmp_path: Path) -> None:
    """The hint says what could be imported."""
    path = tmp_path / "photo.jpeg"
    path.write_bytes(b"\xff\xd8\xff\xe0" + bytes(range(256)))

    with pytest.raises(InvalidContent) as refused:
        found_in(path)

    assert "chatgpt" in refused.value.hint


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("Grüße aus Köln".encode("latin-1"), 0),
        ("Grüße aus Köln".encode("utf-16"), 1),
        ("Grüße aus Köln".encode("utf-8-sig"), 1),
        (b"text with \0 inside", 0),
    ],
    ids=["latin-1", "utf-16", "bom", "nul"],
)
def test_an_encoding_is_never_guessed(tmp_path: Path, content: bytes, count: int) -> None:
    """Text is read where it says what it is, and otherwise refused by name; the rest of a folder goes on."""
    (tmp_path / "a.txt").write_bytes(content)
    (tmp_path / "b.txt").write_text("Fine")

    found = found_in(tmp_path)

    assert [one.content for one in found if isinstance(one, SourceStatement)] == [
        "Grüße aus Köln"
    ] * count + ["Fine"]
    assert [one for one in found if isinstance(one, BrokenRecord)] == [BrokenRecord(place="a.txt")] * (
        1 - count
    )


def test_an_encrypted_or_damaged_pdf_is_named_and_passed_over(tmp_path: Path) -> None:
    """A folder of papers is read around the one that cannot be."""
    (tmp_path / "bad.pdf").write_bytes(sources.pdf_bytes(["Lost"])[:120])
    (tmp_path / "good.pdf").write_bytes(sources.pdf_bytes(["Kept for good"]))

    found = found_in(tmp_path)

    assert [one.content for one in found if isinstance(one, SourceStatement)] == ["Kept for good"]
    assert [one for one in found if isinstance(one, BrokenRecord)] == [BrokenRecord(place="bad.pdf")]


def test_a_field_that_does_not_exist_cannot_be_mapped(tmp_path: Path) -> None:
    """A misspelt field would be lost without a word."""
    (tmp_path / "rows.csv").write_text("text\nFine\n")

    with pytest.raises(InvalidQuery):
        found_in(tmp_path / "rows.csv", mapping={"contents": "text"})
