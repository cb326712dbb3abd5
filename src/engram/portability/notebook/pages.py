"""
The generated pages of a notebook: one for each box and each thing that is spoken of.

Made anew by every sync from the memories that have a file, and from nothing else: a name that only a
withheld memory uses stands on no page. Pure, and the same for the same memories, so an unchanged notebook is
not written to. Each page says that it is generated, because an edit of it is not read back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.portability.notebook.names import BOXES, ENTITIES, SUFFIX, short_id, slug
from engram.portability.notebook.note import tags_of
from engram.text.entity_names import fold
from engram.values import EntityType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.values import Box, Entity, Memory

GENERATED = (
    "> Made by Engram from the facts that it links to. Edit those: what is written here is not read back,\n"
    "> and the next sync makes this page anew."
)
LABEL_CHARACTERS = 140
MOST_TOPICS = 5
LEAST_IN_BOX = 2
"""A box with one memory in it says nothing that its fact does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A memory, the path of its file, and what it speaks of."""

    memory: Memory
    path: str
    entities: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityPage:
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


def entities_written(facts: Sequence[Fact], pages: Mapping[str, EntityPage]) -> dict[str, str]:
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


def boxes_written(facts: Sequence[Fact], boxes: Mapping[str, Box]) -> dict[str, str]:
    """Return the pages of boxes with more than one fact, by path."""
    inside: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.memory.box is not None:
            inside[fact.memory.box].append(fact)
    shown = {box: _by_time(some) for box, some in inside.items() if len(some) >= LEAST_IN_BOX}
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
    best = sorted(topics, key=lambda topic: (-topics[topic], topic))[:MOST_TOPICS]
    return ", ".join(best) or " ".join(facts[0].memory.content.split()[:6])


def _box_path(box: str, facts: Sequence[Fact]) -> str:
    return f"{BOXES}/{facts[0].memory.created_at:%Y-%m-%d}/box-{short_id(box)}{SUFFIX}"


def _by_time(facts: Sequence[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (fact.memory.when, fact.memory.id))


def _names(entity: Entity, words: str) -> list[str]:
    """Return the names of an entity that stand in the words, the canonical one first."""
    held = fold(words)
    return [one for one in (entity.name, *entity.aliases) if fold(one) in held]
