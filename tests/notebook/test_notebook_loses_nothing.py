"""Whatever people and programs do to both sides, every saved word is somewhere after the sync."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from engramdb import Engram
from engramdb.notebook.note import read_note
from engramdb.testing import ManualClock, TinyEmbedder
from engramdb.text.normalize import clean

from .notebooks import EVERY_STATUS, Notebook

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = (
    "Maya likes green tea",
    "Maya likes black coffee",
    "Maya does not like green tea",
    "MAYA LIKES GREEN TEA!",
    "The boat in Porto is red",
    "The boat in Porto is blue",
    "We deploy on Thursdays",
    "We deploy on Fridays now",
    "Tom plays chess\n\n- on Mondays\n---\n- with Ann",
    "数据库迁移在星期五进行",
    "My card is 4111 1111 1111 1111",
)


@dataclass(slots=True)
class Life:
    """A notebook, its memory, and what a person has saved and not yet synced."""

    notebook: Notebook
    clock: ManualClock

    def edit(self, place: int, words: str) -> None:
        """Put other words into a file, and keep its front matter."""
        files = self.notebook.files()
        if files:
            path = files[place % len(files)]
            text = path.read_text("utf-8")
            head = text.split("\n---\n", 1)[0]
            path.write_text(f"{head}\n---\n\n{words}\n" if text.startswith("---") else words, "utf-8")

    def strip(self, place: int, words: str) -> None:
        """Put other words into a file, and nothing else."""
        files = self.notebook.files()
        if files:
            files[place % len(files)].write_text(words, "utf-8")

    def create(self, place: int, words: str) -> None:
        """Save a new file."""
        self.notebook.write(f"facts/new {place}.md", words)

    def rename(self, place: int, words: str) -> None:
        """Move a file."""
        files = self.notebook.files()
        if files:
            old = files[place % len(files)]
            old.rename(old.with_name(f"{len(words)}-{place}-{old.stem[-12:]}.md"))

    def copy(self, place: int, _words: str) -> None:
        """Make a second file of one id."""
        files = self.notebook.files()
        if files:
            self.notebook.write(f"facts/copy {place}.md", files[place % len(files)].read_text("utf-8"))

    def delete(self, place: int, _words: str) -> None:
        """Remove a file."""
        files = self.notebook.files()
        if files:
            files[place % len(files)].unlink()

    def remember(self, _place: int, words: str) -> None:
        """State something elsewhere."""
        self.notebook.engram.remember(words)

    def correct(self, place: int, words: str) -> None:
        """Correct something elsewhere."""
        known = self.notebook.engram.list()
        if known:
            self.notebook.engram.correct(known[place % len(known)].id, words)

    def forget(self, place: int, _words: str) -> None:
        """Forget something elsewhere."""
        known = self.notebook.engram.list()
        if known:
            self.notebook.engram.forget(known[place % len(known)].id)

    def sync(self, place: int, _words: str) -> None:
        """Sync, and see that nothing saved is lost and a second sync does nothing."""
        self.clock.advance(minutes=7)
        saved = self.said()
        self.notebook.sync(delete_many=place % 3 == 0)
        kept = self.held() | self.said()
        assert saved <= kept, saved - kept

        before, mark = self.notebook.snapshot(), self.mark()
        report = self.notebook.sync(delete_many=place % 3 == 0)
        assert report.is_unchanged, report
        assert (self.notebook.snapshot(), self.mark()) == (before, mark)

    def said(self) -> set[str]:
        """What all files of the person say, copies too."""
        paths = sorted(self.notebook.folder.glob("facts/**/*.md"))
        return {read_note(path.read_bytes()).body for path in paths}

    def held(self) -> set[str]:
        """What the store holds, in any status."""
        every = self.notebook.engram.list(limit=1000, filters=EVERY_STATUS, reveal=True)
        return {clean(one.content) for one in every}

    def mark(self) -> str:
        """What both sides are known by."""
        return self.notebook.engram.notebook_mark(self.notebook.folder)


STEPS: tuple[Callable[[Life, int, str], None], ...] = (
    Life.edit,
    Life.edit,
    Life.strip,
    Life.create,
    Life.rename,
    Life.copy,
    Life.delete,
    Life.remember,
    Life.correct,
    Life.forget,
    Life.sync,
)
STEP = st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.sampled_from(WORDS))


@settings(max_examples=20)
@given(steps=st.lists(STEP, min_size=3, max_size=10))
def test_no_saved_word_is_lost(steps: list[tuple[Callable[[Life, int, str], None], int, str]]) -> None:
    """It is in an active memory, in the history, or in a file; and twice does nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder, clock = Path(name), ManualClock()
        with Engram.open(folder / "m.db", clock=clock, embedder=TinyEmbedder(), background=False) as engram:
            life = Life(Notebook(engram, folder / "notes"), clock)
            for words in WORDS[:3]:
                engram.remember(words)
            life.sync(0, "")

            for step, place, words in steps:
                step(life, place, words)
            life.sync(1, "")
