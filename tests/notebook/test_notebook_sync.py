"""A notebook in quiet times: memories become files, edits become corrections, and nothing moves twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.notebook.note import read_note
from engramdb.values import Action, Filters, Layer, Scope, Status

from .notebooks import Notebook, active, acts

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram
    from engramdb.testing import ManualClock

TEA, BOAT = "Maya likes green tea", "The boat in Porto is red"


@pytest.fixture
def notebook(engram: Engram, tmp_path: Path) -> Notebook:
    """A notebook of two memories, synced once."""
    engram.remember(TEA, category="preference")
    engram.remember(BOAT, category="fact", importance=0.7)
    one = Notebook(engram, tmp_path / "notes")
    one.sync()
    return one


def test_each_memory_is_a_file_with_its_words_and_its_labels(notebook: Notebook) -> None:
    """A file is found by its day and its words, and says below the dashes what the memory says."""
    path = notebook.file(BOAT)
    note = read_note(path.read_bytes())
    memory = active(notebook.engram)[BOAT]

    assert (
        path.relative_to(notebook.folder).as_posix()
        == f"facts/2026-01-01/the-boat-in-porto-is-red-{memory.id[-8:]}.md"
    )
    assert note.body == BOAT
    assert note.fields["id"] == memory.id
    assert (note.fields["category"], note.fields["importance"]) == ("fact", "0.7")
    assert note.fields["created"] == "2026-01-01T12:00:00Z"


def test_a_second_sync_touches_nothing(notebook: Notebook) -> None:
    """Neither a file nor the store changes, not even a file's time."""
    files, mark = notebook.snapshot(), notebook.engram.notebook_mark(notebook.folder)

    report = notebook.sync()

    assert report.is_unchanged
    assert notebook.snapshot() == files
    assert notebook.engram.notebook_mark(notebook.folder) == mark


def test_edited_words_are_a_correction_with_history(notebook: Notebook) -> None:
    """The old words stay in the history, the new ones are recalled, and the file goes on under its name."""
    old = active(notebook.engram)[TEA]
    path = notebook.edit("green tea", "black coffee")

    report = notebook.sync()

    new = active(notebook.engram)["Maya likes black coffee"]
    gone = notebook.engram.get(old.id)
    assert acts(report) == {"corrected": 1}
    assert (gone.status, gone.superseded_by) == (Status.SUPERSEDED, new.id)
    assert notebook.engram.history(old.id)[-1].reason == "edited in the notebook"
    assert read_note(path.read_bytes()).id == new.id
    assert notebook.sync().is_unchanged


def test_edited_labels_are_applied(notebook: Notebook) -> None:
    """Category, importance, pin and layer can be changed where they stand."""
    path = notebook.file(TEA)
    text = path.read_text()
    for old, new in (
        ("category: preference", "category: Principle"),
        ("importance: 0.5", 'importance: "0.90"'),
        ("pinned: false", "pinned: yes"),
        ("layer: semantic", "layer: codebase"),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)

    report = notebook.sync()

    memory = active(notebook.engram)[TEA]
    assert acts(report) == {"relabelled": 4}
    assert (memory.category, memory.importance, memory.pinned) == ("principle", 0.9, True)
    assert (memory.layer, memory.layer_held) == (Layer.CODEBASE, True)
    assert [event.action for event in notebook.engram.history(memory.id)].count(Action.RELABEL) == 2
    assert notebook.sync().is_unchanged


def test_another_category_counts_from_the_moment_of_the_edit(notebook: Notebook, clock: ManualClock) -> None:
    """Filters find the memory under its new category at once, and the past still knows the old one."""
    before = clock.now()
    clock.advance(days=1)
    notebook.edit("category: preference", "category: principle")

    notebook.sync()

    now = notebook.engram.recall("tea", filters=Filters(categories=frozenset({"principle"})))
    then = notebook.engram.recall("tea", as_of=before)
    assert [hit.memory.content for hit in now.hits] == [TEA]
    assert then.hits[0].memory.category == "preference"


@pytest.mark.parametrize("status", ["forgotten", "archived", "invalidated"])
def test_a_status_in_a_note_is_obeyed(notebook: Notebook, status: str) -> None:
    """A memory can be let go of in an editor, and its file goes with it."""
    memory = active(notebook.engram)[TEA]
    path = notebook.edit("status: active\nimportance: 0.5", f"status: {status}\nimportance: 0.5")

    notebook.sync()

    assert notebook.engram.get(memory.id).status == status
    assert not path.exists()
    assert notebook.words() == {BOAT}


def test_what_cannot_be_changed_in_a_note_is_said_and_put_back(notebook: Notebook) -> None:
    """Nothing is swallowed: the report names each label, and the file shows the truth again."""
    path = notebook.file(TEA)
    before = text = path.read_text()
    edits = {
        "confidence": ("confidence: 1", "confidence: 0.2"),
        "source": ("source: human", "source: assistant"),
        "created": ("created: 2026-01-01", "created: 2020-01-01"),
        "status": ("status: active", "status: erased"),
        "layer": ("layer: semantic", "layer: upper"),
        "importance": ("importance: 0.5", "importance: high"),
        "entities": ("[[entities/maya|Maya]]", "[[entities/tom|Tom]]"),
    }
    for old, new in edits.values():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)

    report = notebook.sync()

    assert acts(report) == {"not taken": len(edits)}
    assert {one.why for one in report.changes} == set(edits)
    assert path.read_text() == before
    assert notebook.sync().is_unchanged


def test_a_new_file_is_a_new_memory(notebook: Notebook) -> None:
    """It may be called anything, keeps its name and what its owner added, and is given its id."""
    text = "---\ncategory: decision\ncssclass: wide\npinned: true\n---\n\nWe ship on Thursdays\n"
    path = notebook.write("facts/My idea.md", text)

    report = notebook.sync()

    memory = active(notebook.engram)["We ship on Thursdays"]
    note = read_note(path.read_bytes())
    assert acts(report) == {"added": 1}
    assert (memory.category, memory.pinned) == ("decision", True)
    assert note.id == memory.id
    assert note.extras == ("cssclass: wide",)
    assert notebook.sync().is_unchanged


def test_a_file_may_be_moved_and_renamed(notebook: Notebook) -> None:
    """The id inside counts: no memory is doubled, and the file stays where its owner put it."""
    old, new = notebook.file(TEA), notebook.folder / "facts" / "drinks" / "tea.md"
    new.parent.mkdir()
    old.rename(new)

    report = notebook.sync()
    notebook.engram.correct(active(notebook.engram)[TEA].id, "Maya likes mint tea")
    notebook.sync()

    assert acts(report) == {}
    assert read_note(new.read_bytes()).body == "Maya likes mint tea"
    assert not old.exists()
    assert "drinks/tea.md" in (notebook.folder / "profile.md").read_text()


def test_a_correction_elsewhere_reaches_the_file_with_what_its_owner_added(notebook: Notebook) -> None:
    """The file goes on under the memory that took the place, with other people's lines and tags."""
    path = notebook.file(TEA)
    path.write_text(path.read_text().replace("source: human", "aliases:\n  - tea\nsource: human"))
    notebook.sync()
    memory = active(notebook.engram)[TEA]

    notebook.engram.correct(memory.id, "Maya drinks nothing but water")
    report = notebook.sync()

    assert acts(report) == {"updated": 1}
    assert "aliases:\n  - tea\n" in path.read_text()
    assert read_note(path.read_bytes()).body == "Maya drinks nothing but water"


def test_what_is_forgotten_or_erased_disappears(notebook: Notebook) -> None:
    """A file does not outlive its memory, and neither do its words on the pages and in its name."""
    memories = active(notebook.engram)
    notebook.engram.forget(memories[TEA].id)
    notebook.engram.erase(memories[BOAT].id)

    report = notebook.sync()

    assert acts(report) == {"removed": 1}  # what is erased leaves its notebooks at once
    left = notebook.snapshot()
    assert list(left) == [".engram-notebook.json"]
    assert b"tea" not in left[".engram-notebook.json"][1]
    assert b"boat" not in left[".engram-notebook.json"][1]


def test_a_name_does_not_tell_what_was_erased(notebook: Notebook) -> None:
    """A file that goes on after a correction is renamed when the words in its name are erased."""
    old = active(notebook.engram)[BOAT]
    notebook.engram.correct(old.id, "The ship has sails")
    notebook.sync()
    assert "boat" in notebook.file("The ship has sails").name

    notebook.engram.erase(old.id)
    notebook.sync()

    assert not [path for path in notebook.folder.rglob("*") if "boat" in path.name]
    assert (notebook.sync().is_unchanged, len(notebook.files())) == (True, 2)


def test_sensitive_memories_are_never_written(notebook: Notebook) -> None:
    """They are counted; what becomes sensitive by an edit leaves the folder, and stays in the store."""
    card = "My card is 4111 1111 1111 1111"
    notebook.engram.remember("Maya's password is hunter2-Tango-9")
    notebook.edit(TEA, card)

    report = notebook.sync()

    assert report.withheld == 2
    assert card in active(notebook.engram, reveal=True)
    assert card not in active(notebook.engram)
    everything = b"".join(content for _, content in notebook.snapshot().values())
    assert b"4111" not in everything
    assert b"hunter2" not in everything
    assert notebook.sync().is_unchanged


def test_a_notebook_is_of_one_scope(engram: Engram, tmp_path: Path) -> None:
    """Neither wider nor narrower memories are written, and another scope cannot take the folder over."""
    maya = Scope(user="maya")
    for scope, words in (
        (Scope(), "Everybody knows"),
        (maya, "Maya knows"),
        (Scope(user="tom"), "Tom knows"),
    ):
        engram.remember(words, scope=scope)
    notebook = Notebook(engram, tmp_path / "maya")

    notebook.sync(scope=maya)
    notebook.write("facts/new.md", "Maya wrote this")
    notebook.sync(scope=maya)

    assert notebook.words() == {"Maya knows", "Maya wrote this"}
    assert "Maya wrote this" not in active(engram, scope=Scope(user="tom"))
    assert "Maya wrote this" not in active(engram)


def test_a_dry_run_tells_and_does_nothing(notebook: Notebook) -> None:
    """It foresees what the sync then does, on both sides."""
    notebook.edit("green tea", "black coffee")
    notebook.write("facts/new.md", "Tom plays chess")
    notebook.engram.forget(active(notebook.engram)[BOAT].id)
    files, mark = notebook.snapshot(), notebook.engram.notebook_mark(notebook.folder)

    told = notebook.sync(dry_run=True)

    assert notebook.snapshot() == files
    assert notebook.engram.notebook_mark(notebook.folder) == mark
    assert acts(told) == acts(notebook.sync()) == {"added": 1, "corrected": 1, "removed": 1}


def test_pages_link_to_the_facts(engram: Engram, tmp_path: Path) -> None:
    """The profile, the entities and the boxes are there to be browsed, and say that they are made."""
    for words in (
        "We work on the Atlas project in Lisbon",
        "I decided to use Postgres for the Atlas project",
    ):
        engram.observe(words, session="s1")
    engram.flush()
    notebook = Notebook(engram, tmp_path / "notes")

    report = notebook.sync()

    pages = {
        path: content.decode() for path, (_, content) in notebook.snapshot().items() if path.endswith(".md")
    }
    made = {path: text for path, text in pages.items() if not path.startswith("facts/")}
    assert len(made) == report.pages
    assert {path.split("/")[0] for path in made} == {"boxes", "entities", "profile.md"}
    assert all("generated: true" in text and "Made by Engram" in text for text in made.values())
    for path, text in made.items():
        for target in [part.split(">)")[0] for part in text.split("](<")[1:]]:
            assert ((notebook.folder / path).parent / target).is_file(), target


def test_a_name_that_only_a_withheld_memory_uses_stands_on_no_page(engram: Engram, tmp_path: Path) -> None:
    """Pages are made of what may be shown, and of nothing else."""
    engram.remember("Zoltan's card is 4111 1111 1111 1111")
    engram.remember("The boat in Porto is red")
    notebook = Notebook(engram, tmp_path / "notes")

    notebook.sync()

    assert b"zoltan" not in b"".join(content for _, content in notebook.snapshot().values()).lower()
