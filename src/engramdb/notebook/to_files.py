"""
The second half of a sync: the memories as they are now become files and pages.

It begins when the person's changes are in the store. A file is written only where it differs, in its place
and with what its owner added; one whose memory is not to be shown any more is removed. The state of the
notebook is written last, so a sync that is killed at any moment can be run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from engramdb.errors import InvalidContent
from engramdb.notebook.file_names import fact_path, wiki_link
from engramdb.notebook.folder import Folder
from engramdb.notebook.from_files import FromFiles
from engramdb.notebook.memories import ScopeMemories
from engramdb.notebook.note import file_mark, labels_of, shows, tags_of, words_mark, write_note
from engramdb.notebook.pages import (
    EntityPage,
    Fact,
    PageFiles,
    entity_pages,
    render_box_pages,
    render_entity_pages,
    render_profile,
)
from engramdb.notebook.state import FileClaim, NoteEntry, State, write_state
from engramdb.values import Entity, Memory, MemoryId, NotebookAct, NotebookChange, NotebookReport
from engramdb.vault.masking import stays_out_of_files

MAX_CHANGES = 1000
"""Changes named in a report; all of them are counted."""
SENSITIVE = "too sensitive for a file; it is in the store"
"""Why a file goes although its memory stays."""


class ToFiles(Struct):
    """Memories on their way into files."""

    memories: ScopeMemories
    folder: Folder
    state: State
    taken: FromFiles
    progress: Callable[[int], None]
    entries: dict[MemoryId, NoteEntry] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    withheld: set[MemoryId] = field(default_factory=set)

    @property
    def _dry_run(self) -> bool:
        return self.taken.dry_run

    def run(self) -> NotebookReport:
        """Write what differs, remove what is gone, and say what was done in both halves."""
        living = list(self.memories.shown() if self.taken.has_changed else self.taken.living.values())
        shown = [memory for memory in living if not stays_out_of_files(memory)]
        self.withheld = {memory.id for memory in living}.difference(memory.id for memory in shown)
        spoken_of = self.memories.entities_of(shown)
        pages = entity_pages(list(zip(shown, spoken_of, strict=True)))
        for memory, entities in zip(shown, spoken_of, strict=True):
            self._write_memory(memory, entities, pages)
            self.progress(1)
        self._remove_gone({memory.id for memory in shown})
        files = PageFiles(self.folder, self.state.pages, self._dry_run)
        files.write(
            render_box_pages(self.facts, self.memories.boxes())
            | render_entity_pages(self.facts, pages)
            | render_profile(self.facts, pages)
        )
        self.taken.changes += files.edited
        if not self._dry_run:
            self.folder.set_state(write_state(self._next_state(files)))
        return self._report(files)

    # --- one memory -----------------------------------------------------------------------------------------

    def _write_memory(
        self, memory: Memory, entities: tuple[Entity, ...], pages: Mapping[str, EntityPage]
    ) -> None:
        entry = self.state.memories.get(memory.id)
        if memory.id in self.taken.pairing.held:
            if entry is not None:
                self.entries[memory.id] = entry
                self.facts.append(Fact(memory=memory, path=entry.path, entities=entities))
            return
        links = _links(entities, pages)
        claim = self.taken.files.get(memory.id)
        path = self._create(memory, links, entry) if claim is None else self._update(memory, links, claim)
        self.facts.append(Fact(memory=memory, path=path, entities=entities))

    def _create(self, memory: Memory, links: Sequence[str], entry: NoteEntry | None) -> str:
        """Write a file that is not there, where it was if it was anywhere."""
        path = self._free_path(memory, entry)
        content = write_note(memory, entities=links, like=None, old_tags=()).encode()
        if self._dry_run and memory.id in self.taken.touched:
            return path
        act = NotebookAct.RESTORED if memory.id in self.taken.restoring else NotebookAct.WRITTEN
        if self._dry_run or self.folder.put(path, content, instead_of=None):
            self._note(act, path, memory.id)
            self._enter(memory, path, content, links, named=memory.id)
        else:
            self._note(NotebookAct.BUSY, path, memory.id)
        return path

    def _update(self, memory: Memory, links: Sequence[str], claim: FileClaim) -> str:
        """Bring a file up to date, unless it shows the memory already."""
        path, mark = claim.found.path, claim.found.mark
        named = memory.id if claim.entry is None else claim.entry.named
        if self._dry_run and memory.id in self.taken.touched:
            return path
        text = write_note(memory, entities=links, like=claim.note, old_tags=self._old_tags(claim, memory))
        if self._tells_of_the_gone(named, memory):
            return self._move(memory, claim, text.encode(), links)
        is_shown = self._is_as_it_was(memory, links, claim) or shows(claim.note, text)
        content = claim.found.content if is_shown else text.encode()
        if not is_shown:
            is_written = self._dry_run or self.folder.put(path, content, instead_of=mark)
            if not is_written:
                self._note(NotebookAct.BUSY, path, memory.id)
                content = claim.found.content
            elif path not in self.taken.said:
                self._note(NotebookAct.UPDATED, path, memory.id)
        self._enter(memory, path, content, links, named=named)
        return path

    def _move(self, memory: Memory, claim: FileClaim, content: bytes, links: Sequence[str]) -> str:
        """Give a file another name, because its own still tells words of a memory that is gone for good."""
        path = self._free_path(memory, None)
        if not self._dry_run:
            self.folder.put(path, content, instead_of=None)
            self.folder.drop(claim.found.path, instead_of=claim.found.mark)
        self._note(NotebookAct.UPDATED, path, memory.id)
        self._enter(memory, path, content, links, named=memory.id)
        return path

    def _remove_gone(self, shown: set[MemoryId]) -> None:
        """Remove the files of memories that are not to be shown any more."""
        gone = [claim for memory_id, claim in self.taken.files.items() if memory_id not in shown]
        for claim in (*self.taken.leaving, *gone):
            path = claim.found.path
            if self._dry_run and claim.memory_id in self.taken.touched:
                continue
            if self._dry_run or self.folder.drop(path, instead_of=claim.found.mark):
                why = SENSITIVE if claim.memory_id in self.withheld else ""
                self._note(NotebookAct.REMOVED, path, claim.memory_id, why=why)
            else:
                self._note(NotebookAct.BUSY, path, claim.memory_id)

    # --- the pieces -----------------------------------------------------------------------------------------

    def _free_path(self, memory: Memory, entry: NoteEntry | None) -> str:
        """Return where a file may be put: where it was, or under its own name, in full if need be."""
        usual = fact_path(memory)
        choices = [usual, fact_path(memory, in_full=True)]
        if entry is not None:
            choices.insert(0, entry.path)
        for path in choices:
            if not self.folder.is_taken(path):
                return path
        raise InvalidContent(
            "no name is free for a note", hint="Look for files that are in each other's way."
        )

    def _is_as_it_was(self, memory: Memory, links: Sequence[str], claim: FileClaim) -> bool:
        """Return whether neither side has changed since the last sync, which is how most are."""
        entry = claim.entry
        return (
            entry is not None
            and claim.memory_id == memory.id
            and entry.file == claim.found.mark
            and entry.words == words_mark(memory.content)
            and entry.labels == labels_of(memory, entities=links)
        )

    def _old_tags(self, claim: FileClaim, memory: Memory) -> tuple[str, ...]:
        """Return the tags that the file has from what it stood for before."""
        old = None if claim.memory_id == memory.id else self.memories.get(claim.memory_id)
        return () if old is None else tags_of(old)

    def _tells_of_the_gone(self, named: MemoryId, memory: Memory) -> bool:
        """Return whether a file is called after a memory whose words must not be found any more."""
        if named == memory.id:
            return False
        first = self.memories.get(named)
        return first is not None and not first.status.is_indexed

    def _enter(
        self, memory: Memory, path: str, content: bytes, links: Sequence[str], *, named: MemoryId
    ) -> None:
        self.entries[memory.id] = NoteEntry(
            path=path,
            file=file_mark(content),
            words=words_mark(memory.content),
            version=memory.version,
            labels=labels_of(memory, entities=links),
            named=named,
        )

    def _next_state(self, pages: PageFiles) -> State:
        held = self.taken.pairing.held & self.state.memories.keys()
        left = {memory_id: self.state.memories[memory_id] for memory_id in held}
        return replace(self.state, memories=left | self.entries, pages=pages.now, passed=self.taken.passed)

    def _note(self, act: NotebookAct, path: str, memory_id: MemoryId, *, why: str = "") -> None:
        self.taken.changes.append(NotebookChange(act=act, path=path, memory_id=memory_id, why=why))

    def _report(self, pages: PageFiles) -> NotebookReport:
        changes = self.taken.changes
        counts = Counter(str(one.act) for one in changes)
        first = sorted(changes, key=lambda one: not one.is_trouble)
        return NotebookReport(
            dry_run=self._dry_run,
            memories=len(self.facts),
            pages=len(pages.now),
            pages_changed=pages.changed,
            withheld=len(self.withheld),
            open_copies=self.folder.copies(),
            counts=dict(sorted(counts.items())),
            changes=tuple(first[:MAX_CHANGES]),
        )


def _links(entities: Sequence[Entity], pages: Mapping[str, EntityPage]) -> list[str]:
    """Return links to the pages of what a memory speaks of."""
    shown = [pages[one.id] for one in entities if one.id in pages]
    return sorted(wiki_link(page.path, page.names[0]) for page in shown)
