"""A notebook as the tests use it: edit files as a person would, and look at what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engramdb.notebook.note import read_note
from engramdb.values import Filters, NotebookAct, Status

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram
    from engramdb.values import Memory, NotebookReport

EVERY_STATUS = Filters(statuses=frozenset(Status))


class Notebook:
    """A folder that is synced with a memory."""

    def __init__(self, engram: Engram, folder: Path) -> None:
        self.engram = engram
        self.folder = folder

    def sync(self, **options: Any) -> NotebookReport:
        """Sync once."""
        return self.engram.notebook_sync(self.folder, **options)

    def files(self) -> list[Path]:
        """The notes, without copies."""
        return [path for path in sorted(self.folder.glob("facts/**/*.md")) if ".conflict-" not in path.name]

    def copies(self) -> list[Path]:
        """The copies that conflicts left."""
        return sorted(self.folder.rglob("*.conflict-*.md"))

    def file(self, words: str) -> Path:
        """The one note with these words in it."""
        (found,) = [path for path in self.files() if words in path.read_text("utf-8")]
        return found

    def edit(self, words: str, new: str) -> Path:
        """Put other words in the place of some, wherever in the notebook they stand."""
        path = self.file(words)
        path.write_text(path.read_text("utf-8").replace(words, new), "utf-8")
        return path

    def write(self, name: str, text: str) -> Path:
        """Save a new file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def words(self) -> set[str]:
        """What the notes say."""
        return {read_note(path.read_bytes()).body for path in self.files()}

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        """Every file with its time and its bytes."""
        return {
            path.relative_to(self.folder).as_posix(): (path.lstat().st_mtime_ns, path.read_bytes())
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


def acts(report: NotebookReport) -> dict[str, int]:
    """What a sync did, by name."""
    return dict(report.counts)


def paths(report: NotebookReport, act: NotebookAct) -> list[str]:
    """Which files something happened to."""
    return [one.path for one in report.changes if one.act is act]


def active(engram: Engram, **options: Any) -> dict[str, Memory]:
    """The active memories by their words."""
    return {one.content: one for one in engram.list(limit=500, **options)}
