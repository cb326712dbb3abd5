"""Front matter as editors write it: what is read, what is kept, and what is rather not guessed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb.errors import InvalidContent
from engramdb.notebook.file_names import MAX_SLUG_BYTES, copy_path, fact_path, is_copy, slug
from engramdb.notebook.note import read_note, shows, write_note
from engramdb.notebook.state import State, is_inside, read_state, write_state
from engramdb.testing import ManualClock
from engramdb.text import front_matter as front
from engramdb.values import Memory, Scope, Traits
from engramdb.values.memory import new_id

NOW = ManualClock().now()
LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=30)
KNOWN = ("id", "category", "tags", "importance")


def memory(content: str, **fields: object) -> Memory:
    """A memory with these words."""
    return Memory(id=new_id(NOW), content=content, created_at=NOW, updated_at=NOW).evolve(**fields)


@settings(max_examples=60)
@given(word=LINE, tags=st.lists(LINE, max_size=4), extra=LINE)
def test_what_is_written_is_read_back(word: str, tags: list[str], extra: str) -> None:
    """Any value survives a file, whatever YAML would make of it, and a foreign line stays as it is."""
    line = f"mine: {extra.strip()}".rstrip()

    text = front.write({"id": word.strip(), "tags": tuple(tags)}, [line])
    lines, rest = front.split(f"{text}\n\nwords\n")

    assert lines is not None
    found = front.read(lines, KNOWN)
    assert found.fields == {"id": word.strip(), "tags": tuple(tags)}
    assert found.extras == (line,)
    assert rest == "\nwords\n"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("category: fact", "fact"),
        ("category:   fact   # mine", "fact"),
        ('category: "fact: yes"', "fact: yes"),
        ("category: 'it''s'", "it's"),
        ('"category": fact', "fact"),
        ("category:", ""),
        ("category: null", ""),
        ("category: [a, 'b, c', \"d\"]", ("a", "b, c", "d")),
        ("category: []", ()),
        ("category:\n  - a\n  - 'b'\n", ("a", "b")),
        ("category:\n- a\n# a remark\n- b", ("a", "b")),
        ("category: >-\n  a\n  b", "a b"),
        ("category: a\n  b", "a b"),
        ("category: [a,\n  b]", ("a", "b")),
    ],
)
def test_the_ways_of_editors_are_understood(written: str, value: object) -> None:
    """Quotes, comments, lists in brackets and on lines: note editors change them at will."""
    assert front.read(written.split("\n"), ["category"]).fields == {"category": value}


@pytest.mark.parametrize(
    "written",
    [
        "id: {a: b}",
        'id: "a" b',
        "id: [a",
        "id: [[a]]",
        "id: a\nid: b",
        "id: a\n? tags\n: b",
        'id: "a\ntags: b"',
        'id: "\\x"',
        "id: !!python/name:os.system",
        "id: &a b",
        "id: &a b\ntags: *a",
        "id: &a [*a]",
    ],
)
def test_what_would_have_to_be_guessed_is_refused(written: str) -> None:
    """One of our names in a form that is not read here costs the file, and never a memory."""
    with pytest.raises(InvalidContent):
        front.read(written.split("\n"), ["id", "tags"])


def test_nested_values_of_others_are_kept_to_the_letter() -> None:
    """What a plug-in keeps in a note is none of our business."""
    lines = ["plug:", "  deep: {a: [1, 2]}", "  text: |", "    - x", "id: 7", "aliases:", "  - Tea"]

    found = front.read(lines, KNOWN)

    assert found.fields == {"id": "7"}
    assert found.extras == (*lines[:4], *lines[5:])


def test_front_matter_that_is_not_closed_is_not_taken_for_words() -> None:
    """A slip of the hand must not put an id into a memory."""
    with pytest.raises(InvalidContent):
        read_note(b"---\nid: 7\nTea is best\n")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80abc", b"a\0b", b"x" * 4_000_001])
def test_a_file_that_is_no_text_is_refused(content: bytes) -> None:
    """A picture by a wrong name is left alone."""
    with pytest.raises(InvalidContent):
        read_note(content)


@settings(max_examples=60)
@given(
    content=st.binary(max_size=60)
    | st.text(st.sampled_from("---\n:id[]\"', #|\\\tx\r"), max_size=60).map(str.encode)
)
def test_no_file_is_a_riddle(content: bytes) -> None:
    """Whatever stands in a file, it is read as a note or refused as none."""
    for one in (content, b"---\n" + content + b"\n---\nTea\n"):
        try:
            note = read_note(one)
        except InvalidContent:
            continue

        assert note.id is None or note.id.strip()


def test_a_long_line_takes_no_longer_than_it_should() -> None:
    """A line of a hundred thousand blanks is read in a moment, not in a minute."""
    note = read_note(b"---\nx" + b" " * 100_000 + b"y\nid: 7\ntags: [" + b"a, " * 30_000 + b"]\n---\nTea\n")

    assert (note.id, len(note.tags)) == ("7", 30_000)


@pytest.mark.parametrize(
    "bomb", ["[" * 1_000_000, "{" * 1_000_000, "- " * 1_000_000, "!" * 1_000_000, '"' + "\\" * 1_000_001]
)
def test_a_bomb_in_front_matter_is_refused_at_once(bomb: str) -> None:
    """Neither depth nor length takes more than a moment, and none of it reaches the stack."""
    begin = time.process_time()

    with pytest.raises(InvalidContent):
        front.read(["id: 7", f"tags: {bomb}"], KNOWN)

    assert time.process_time() - begin < 2


@settings(max_examples=40)
@given(words=st.text(st.characters(codec="utf-8"), min_size=1, max_size=80))
def test_a_memory_survives_its_file(words: str) -> None:
    """What is written shows what it was written from, with any line ends and with a byte order mark."""
    one = memory(words, traits=Traits(topics=("green tea",)), pinned=True)
    text = write_note(one, entities=["[[entities/tea|Tea]]"], like=None, old_tags=())

    for written in (text, text.replace("\n", "\r\n"), f"\ufeff{text}"):
        note = read_note(written.encode())

        assert note.id == one.id
        assert shows(note, text)


def test_an_editor_may_write_the_same_in_its_own_way() -> None:
    """A note that says the same is not written again: its owner's formatting stays."""
    one = memory("Tea is best", importance=0.5, pinned=True, traits=Traits(topics=("tea", "drinks")))
    text = write_note(one, entities=[], like=None, old_tags=())
    lists = text.replace("[tea, drinks]", "\n  - tea\n  - drinks")
    quoted = lists.replace("importance: 0.5", 'importance: "0.50"').replace("pinned: true", "pinned: yes")

    assert quoted != text
    assert shows(read_note(quoted.encode()), text)


def test_tags_of_the_owner_stay_and_outgrown_ones_go() -> None:
    """Tags that a person adds are kept; those of words that are no longer there are not."""
    old, new = memory("Tea", traits=Traits(topics=("tea",))), memory("Milk", traits=Traits(topics=("milk",)))
    note = read_note(
        write_note(old, entities=[], like=None, old_tags=()).replace("[tea]", "[tea, mine]").encode()
    )

    written = write_note(new, entities=[], like=note, old_tags=("tea",))

    assert read_note(written.encode()).tags == ("milk", "mine")


@settings(max_examples=60)
@given(words=st.text(max_size=300))
def test_every_memory_has_a_name_that_every_system_takes(words: str) -> None:
    """No separators, no reserved names, no dots, and short enough whatever the script."""
    name = slug(words)

    assert name
    assert len(name.encode()) <= MAX_SLUG_BYTES
    assert not set(name) & set('<>:"/\\|?*. ')
    assert slug("con") == slug("../..") == "memory"
    assert is_inside(fact_path(memory(words or "x")))


def test_names_of_copies_are_known_as_such() -> None:
    """A copy of a conflict is never read as a note."""
    path = "facts/2026-01-01/tea-12345678.md"

    assert is_copy(copy_path(path, "0123456789abcdef"))
    assert not is_copy(path)


def test_the_state_survives_its_file_and_a_strange_one_is_refused() -> None:
    """Nothing but what a sync wrote is believed, and no path in it leads out of the folder."""
    state = State(scope=Scope(user="maya"), pages={"profile.md": "00"})

    assert read_state(write_state(state)) == state
    for broken in (b"", b"[]", b'{"format": 2}', b'{"scope": {"user": " "}}', b'{"pages": {"../x.md": "0"}}'):
        with pytest.raises(InvalidContent):
            read_state(broken)


@pytest.mark.parametrize(
    "path", ["/x.md", "../x.md", "facts/../../x.md", "a\\b.md", ".git/x.md", "x.txt", "c:/x.md"]
)
def test_paths_stay_inside(path: str) -> None:
    """What leads out of the folder, or into hidden places, is no path of a notebook."""
    assert not is_inside(path)
