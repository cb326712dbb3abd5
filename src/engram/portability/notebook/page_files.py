"""
Write the generated pages of a notebook, and take nobody's words off them.

Used by the engine's sync with what `pages` and `profile` made. A page that is as it should be is not touched;
one that somebody wrote on is kept beside itself before it is made anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.portability.notebook.note import file_mark
from engram.values.notebook import NotebookAct, NotebookChange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.portability.notebook.folder import Folder


@dataclass(slots=True)
class PageFiles:
    """The pages as the last sync left them, and as this one leaves them."""

    folder: Folder
    before: Mapping[str, str]
    """Paths, and the marks of what was written there."""
    dry_run: bool
    now: dict[str, str] = field(default_factory=dict)
    changed: int = 0
    edited: list[NotebookChange] = field(default_factory=list)

    def write(self, wanted: Mapping[str, str]) -> None:
        """Write the pages that differ, and remove those that nothing is left to say on."""
        for path, text in sorted(wanted.items()):
            self._write(path, text.encode())
        for path in sorted(self.before.keys() - wanted.keys()):
            self._drop(path)

    def _write(self, path: str, content: bytes) -> None:
        there = self.folder.read(path)
        self.now[path] = file_mark(content)
        if there == content:
            return
        self.changed += 1
        if there is not None:
            self._keep(path, there)
        if not self.dry_run:
            self.folder.put(path, content, instead_of=None if there is None else file_mark(there))

    def _drop(self, path: str) -> None:
        there = self.folder.read(path)
        if there is None:
            return
        self.changed += 1
        self._keep(path, there)
        if not self.dry_run:
            self.folder.drop(path, instead_of=file_mark(there))

    def _keep(self, path: str, there: bytes) -> None:
        """Keep a page beside itself where somebody has written on it."""
        if file_mark(there) != self.before.get(path):
            copy = None if self.dry_run else self.folder.keep(path, there)
            self.edited.append(NotebookChange(act=NotebookAct.PAGE_EDITED, path=path, copy=copy))
