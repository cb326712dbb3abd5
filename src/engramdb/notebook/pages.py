"""
The generated pages of a notebook: one for each box and each entity, and `profile.md`.

Every sync makes them from the memories that have a file, and from nothing else: a name that only a withheld
memory uses stands on no page. The same memories give the same pages, so an unchanged notebook is not written
to. Each page says that it is generated, because an edit of it is not read back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from engramdb.notebook.file_names import BOXES, ENTITIES, PROFILE, SUFFIX, short_id, slug
from engramdb.notebook.folder import Folder
from engramdb.notebook.note import file_mark, tags_of
from engramdb.text.names import fold
from engramdb.values import Box, Entity, EntityType, Memory
from engramdb.values.notebook import NotebookAct, NotebookChange

GENERATED = (
    "> Made by Engram from the facts that it links to. Edit those: what is written here is not read back,\n"
    "> and the next sync makes this page again."
)
LABEL_CHARACTERS = 140
MAX_TOPICS = 5
MIN_FACTS_IN_BOX = 2
"""A box with one memory in it says nothing that its fact does not."""


class Fact(Struct, frozen=True, kw_only=True):
    """A memory, the path of its file, and what it speaks of."""

    memory: Memory
    path: str
    entities: tuple[Entity, ...] = ()


class EntityPage(Struct, frozen=True):
    """Where an entity has its page, and the names of it that memories with a file use."""

    path: str
    names: tuple[str, ...]


def entity_pages(spoken_of: Sequence[tuple[Memory, Sequence[Entity]]]) -> dict[str, EntityPage]:
    """Return the page of each entity that the words of a memory name, by its id."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    known: dict[str, Entity] = {}
    for memory, some in spoken_of:
        for one in some:
            known[one.id] = one
            told[one.id].append(words_of(memory))
    named = {one.id: _names(one, "\n".join(told[one.id])) for one in known.values()}
    slugs = Counter(slug(names[0], otherwise="thing") for names in named.values() if names)
    pages = {}
    for entity_id, names in named.items():
        if names:
            name = slug(names[0], otherwise="thing")
            ending = f"-{short_id(entity_id)}" if slugs[name] > 1 else ""
            pages[entity_id] = EntityPage(f"{ENTITIES}/{name}{ending}{SUFFIX}", tuple(names))
    return pages


def render_entity_pages(facts: Sequence[Fact], pages: Mapping[str, EntityPage]) -> dict[str, str]:
    """Return the pages of what the facts speak of, by path."""
    told: defaultdict[str, list[Fact]] = defaultdict(list)
    known: dict[str, Entity] = {}
    for fact in facts:
        for one in fact.entities:
            known[one.id] = one
            told[one.id].append(fact)
    return {
        pages[one.id].path: _entity_page(one, pages[one.id].names, told[one.id])
        for one in known.values()
        if one.id in pages
    }


def render_box_pages(facts: Sequence[Fact], boxes: Mapping[str, Box]) -> dict[str, str]:
    """Return the pages of boxes with more than one fact, by path."""
    inside: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.memory.box is not None:
            inside[fact.memory.box].append(fact)
    shown = {box: _by_time(some) for box, some in inside.items() if len(some) >= MIN_FACTS_IN_BOX}
    paths = {box: _box_path(box, some) for box, some in shown.items()}
    traces: defaultdict[str, list[str]] = defaultdict(list)
    for box in sorted(shown):
        traces[boxes[box].trace if box in boxes else box].append(box)
    pages = {}
    for along in traces.values():
        for place, box in enumerate(along):
            earlier = [(paths[one], _title(shown[one])) for one in along[:place]]
            is_open = box in boxes and boxes[box].sealed_at is None
            pages[paths[box]] = _box_page(shown[box], earlier, is_open=is_open)
    return pages


def words_of(memory: Memory) -> str:
    """Return what a name may stand in: the words of a memory and who said them."""
    return f"{memory.content}\n{memory.provenance.speaker or ''}"


def line(fact: Fact, *, up: int) -> str:
    """Return a point of a list that links to a fact, from a page so many folders below the top."""
    return f"- {link(label(fact.memory.content), fact.path, up=up)}"


def link(text: str, path: str, *, up: int) -> str:
    """Return a link that every reader of Markdown follows, whatever the owner has called the file."""
    target = "".join(f"%{ord(one):02X}" if one in "%<>\\" else one for one in path)
    return f"[{text}](<{'../' * up}{target}>)"


def label(content: str) -> str:
    """Return the words of a memory in one line that cannot end the link or begin another."""
    words = " ".join(content.split())
    if len(words) > LABEL_CHARACTERS:
        words = f"{words[: LABEL_CHARACTERS - 1].rstrip()}…"
    return "".join(f"\\{one}" if one in "\\[]<>`*_" else one for one in words)


def page(title: str, parts: Sequence[str]) -> str:
    """Return a generated page."""
    return "\n\n".join(["---\ngenerated: true\n---", f"# {label(title)}", GENERATED, *parts]) + "\n"


def _entity_page(entity: Entity, names: Sequence[str], facts: Sequence[Fact]) -> str:
    parts = []
    if entity.type is not EntityType.UNKNOWN:
        parts.append(f"A {entity.type}." if entity.type[0] not in "aeiou" else f"An {entity.type}.")
    if len(names) > 1:
        parts.append(f"Also called {', '.join(label(name) for name in names[1:])}.")
    parts.append("\n".join(line(fact, up=1) for fact in reversed(_by_time(facts))))
    return page(names[0], parts)


def _box_page(facts: Sequence[Fact], earlier: Sequence[tuple[str, str]], *, is_open: bool) -> str:
    first, last = facts[0].memory.created_at, facts[-1].memory.created_at
    span = f"{first:%Y-%m-%d %H:%M}" + (f" to {last:%Y-%m-%d %H:%M}" if last != first else "")
    parts = [f"{span} UTC{', still open' if is_open else ''}."]
    parts.append("\n".join(line(fact, up=2) for fact in facts))
    if earlier:
        told = "\n".join(f"- {link(label(title), path, up=2)}" for path, title in earlier)
        parts.append(f"## Earlier on the same\n\n{told}")
    return page(_title(facts), parts)


def _title(facts: Sequence[Fact]) -> str:
    """Return what a box is about: the topics that most of its facts have, or else its first words."""
    topics = Counter(tag for fact in facts for tag in tags_of(fact.memory))
    best = sorted(topics, key=lambda topic: (-topics[topic], topic))[:MAX_TOPICS]
    return ", ".join(best) or " ".join(facts[0].memory.content.split()[:6])


def _box_path(box: str, facts: Sequence[Fact]) -> str:
    return f"{BOXES}/{facts[0].memory.created_at:%Y-%m-%d}/box-{short_id(box)}{SUFFIX}"


def _by_time(facts: Sequence[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (fact.memory.when, fact.memory.id))


def _names(entity: Entity, words: str) -> list[str]:
    """Return the names of an entity that stand in the words, the canonical one first."""
    held = fold(words)
    return [one for one in (entity.name, *entity.aliases) if fold(one) in held]


# `profile.md`: who and what the notebook is about, on one page.

MAX_FACTS = 12
"""Facts of one sort: with the seven sorts below, a page of a hundred lines at most."""
MAX_ENTITIES = 20
SORTS: Mapping[str, tuple[str, ...]] = {
    "What holds": ("principle", "instruction", "correction"),
    "Preferences": ("preference",),
    "Decisions": ("decision",),
    "Promises": ("commitment",),
    "Skills and ways": ("skill", "procedure"),
    "People": ("relationship", "person"),
}
"""Headings, and the categories below them; the rest stands under facts."""
REST = "Facts"
_SORT = {category: heading for heading, categories in SORTS.items() for category in categories}


def render_profile(facts: Sequence[Fact], pages: Mapping[str, EntityPage]) -> dict[str, str]:
    """Return the profile by its path; without facts there is none."""
    if not facts:
        return {}
    usable = [fact for fact in facts if not fact.memory.is_suspicious and not fact.memory.is_derived]
    sorts: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in usable:
        sorts[_SORT.get(fact.memory.category, REST)].append(fact)
    parts = [f"{len(facts)} facts in this notebook."]
    parts += [f"## {one}\n\n{_listed(sorts[one])}" for one in (*SORTS, REST) if sorts[one]]
    about = _spoken_of(usable, pages)
    if about:
        parts.append(f"## Often spoken of\n\n{about}")
    return {PROFILE: page("Profile", parts)}


def _listed(facts: Sequence[Fact]) -> str:
    best = sorted(facts, key=_weight)
    lines = [line(fact, up=0) for fact in best[:MAX_FACTS]]
    if len(best) > MAX_FACTS:
        lines.append(f"- and {len(best) - MAX_FACTS} more")
    return "\n".join(lines)


def _weight(fact: Fact) -> tuple[bool, float, str]:
    memory = fact.memory
    return not memory.pinned, -round(memory.importance * memory.confidence, 6), memory.id


def _spoken_of(facts: Iterable[Fact], pages: Mapping[str, EntityPage]) -> str:
    """Return links to what most facts speak of."""
    often = Counter(one.id for fact in facts for one in fact.entities if one.id in pages)
    best = sorted(often, key=lambda one: (-often[one], pages[one].path))[:MAX_ENTITIES]
    return "\n".join(
        f"- {link(label(pages[one].names[0]), pages[one].path, up=0)}: {often[one]}" for one in best
    )


# Write the generated pages of a notebook, and take nobody's words off them.


class PageFiles(Struct):
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
