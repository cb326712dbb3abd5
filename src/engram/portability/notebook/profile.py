"""
`profile.md`: who and what the notebook is about, on one page.

Made by the sync beside the other pages. A few of the weightiest facts of each sort, each a link to its file:
what is pinned first, then what is important and sure. It has a limit, because a page that grows for ever is
not read; what was warned of and what a dream concluded stay out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from engram.portability.notebook.names import PROFILE
from engram.portability.notebook.pages import label, line, link, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.portability.notebook.pages import EntityPage, Fact

MOST_FACTS = 12
"""Facts of one sort: with the seven sorts below, a page of a hundred lines at most."""
MOST_ENTITIES = 20
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
_WARNED = "injection"
_SORT = {category: heading for heading, categories in SORTS.items() for category in categories}


def profile_written(facts: Sequence[Fact], pages: Mapping[str, EntityPage]) -> dict[str, str]:
    """Return the profile by its path; without facts there is none."""
    if not facts:
        return {}
    usable = [fact for fact in facts if _WARNED not in fact.memory.flags and not fact.memory.is_derived]
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
    lines = [line(fact, up=0) for fact in best[:MOST_FACTS]]
    if len(best) > MOST_FACTS:
        lines.append(f"- and {len(best) - MOST_FACTS} more")
    return "\n".join(lines)


def _weight(fact: Fact) -> tuple[bool, float, str]:
    memory = fact.memory
    return not memory.pinned, -round(memory.importance * memory.confidence, 6), memory.id


def _spoken_of(facts: Iterable[Fact], pages: Mapping[str, EntityPage]) -> str:
    """Return links to what most facts speak of."""
    often = Counter(one.id for fact in facts for one in fact.entities if one.id in pages)
    best = sorted(often, key=lambda one: (-often[one], pages[one].path))[:MOST_ENTITIES]
    return "\n".join(
        f"- {link(label(pages[one].names[0]), pages[one].path, up=0)}: {often[one]}" for one in best
    )
